"""Incidents of the user's own: read, checked, and told where they are wrong."""
