"""What became of a claim, and why it is undecided."""

from __future__ import annotations

from enum import StrEnum


class VerdictKind(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """Why a claim is undecided."""

    NOT_EXERCISED = "not exercised"
    TOO_NOISY = "too noisy"
    TOO_FEW_TRIALS = "too few trials"
    STRADDLES = "interval straddles the bound"
    MISSING_EVIDENCE = "missing evidence"
    CHECKER_FAILED = "checker failed"
    NOT_MEASURABLE = "not measurable"
