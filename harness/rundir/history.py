"""The records of client processes."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How an operation ended. ``UNKNOWN`` may or may not have happened: a timeout, a one-way send."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"
