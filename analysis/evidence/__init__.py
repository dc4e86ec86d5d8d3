"""What was recorded, as tables: records, trials, and who consumed what."""
