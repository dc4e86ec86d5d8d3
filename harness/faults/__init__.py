"""One event a file: what injects it, and what heals it."""
