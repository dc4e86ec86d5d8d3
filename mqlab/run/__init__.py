"""Runs: planned, carried out, judged, gone on with, packed, and shown."""
