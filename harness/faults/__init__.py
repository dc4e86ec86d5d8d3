"""One event per file: what injects it and what heals it."""
