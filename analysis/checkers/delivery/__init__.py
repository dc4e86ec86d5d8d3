"""Messages: lost, doubled, out of order, late, in which queue."""
