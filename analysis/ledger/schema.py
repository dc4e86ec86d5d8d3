"""The schema of the ledger."""

from __future__ import annotations

LEDGER_SCHEMA = 1
"""Version of ``ledger.json``."""
