"""Reads a run directory and decides. Never imports Docker, JPype or Locust."""
