"""One incident a file: its topology, load, arms and claims, as values."""
