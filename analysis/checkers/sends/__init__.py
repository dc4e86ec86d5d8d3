"""Sends: refused, tried again, late, and what stalled them."""
