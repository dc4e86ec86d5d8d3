"""Locust, which paces and counts what a load sends. Its own process is started by name and imported by nobody."""
