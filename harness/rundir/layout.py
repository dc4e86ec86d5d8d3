"""Where everything lies in a run directory."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

RUN_SCHEMA = 1
"""Version of the run directory's layout; a reader refuses any other."""


def new_run_id() -> str:
    """Sorts by time: 20261121T081500Z-ab12."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
