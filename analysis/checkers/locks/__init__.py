"""Queue locks of ordered consumers: who held which queue when."""
