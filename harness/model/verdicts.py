"""What became of a claim, and why it is undecided."""

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
    MISSING_EVIDENCE = "missing evidence"
    CHECKER_FAILED = "checker failed"
    NOT_MEASURABLE = "not measurable"
    TOO_FEW_DEPLOYMENTS = "too few deployments"
    TOO_FEW_TRIES = "too few tries"
    DIFFERS = "differs between deployments"
    CLOSE = "too few deployments on one side"
    UNVERIFIED = "unverified counterexample"
    CONTROL_FAILED = "control failed"
    TOO_MANY_DISCARDED = "too many discarded"
    FRAGILE = "fragile"
    DAMAGED = "evidence damaged"
    CODE_NOT_RUN = "code not run"


class Discard(StrEnum):
    """The only reasons for which a trial does not count. Whatever the system under test did is a result."""

    NOISE = "the host's probe was above the limit"
    CLOCK = "the wall clock stepped"
    HARNESS = "the harness failed before the fault began"
    HOST = "the host had no disk or memory"
    INJECTOR = "the injector's own stamps say that it did not do what was asked"
    DAMAGED = "its evidence is damaged"
    """Not a reason to leave it out: each part that asks for it is undecided, so that nobody confirms a claim by losing what speaks
    against it."""
