"""What is read, kept and written of a record of runs."""
