"""What is running or broken on purpose is written down first, and ends even if this program dies."""
