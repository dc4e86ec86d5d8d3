"""What maintainers run, ``python -m tools.NAME``; it is not in the wheel."""
