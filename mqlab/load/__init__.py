"""``mqlab load``: options, faults on it, and how it is carried out."""
