"""The run directory: its layout and its records, written and read."""
