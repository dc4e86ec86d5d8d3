"""``mqlab tune`` and its sweeps, and which settings help."""
