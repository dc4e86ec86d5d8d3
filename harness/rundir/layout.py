"""Where everything lies in a run directory."""

from __future__ import annotations

RUN_SCHEMA = 1
"""Version of the run directory's layout; a reader refuses any other."""
