"""What became of a claim, and why it is undecided."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol


class VerdictKind(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


HOLDS_IN_PART, REFUTED_IN_PART = "holds in part", "refuted in part"


class OfScope(Protocol):
    """A part of a claim: a run's own, or the ledger's."""

    @property
    def verdict(self) -> VerdictKind:
        """What became of it."""

    @property
    def scope(self) -> str:
        """The cell that it speaks of; empty where that is no other than the claim's."""

    @property
    def reason(self) -> str:
        """Why it is undecided."""

    @property
    def role(self) -> str:
        """Of the claim, or a control."""


def scopes_that_hold(parts: Iterable[OfScope]) -> tuple[str, ...]:
    """The scopes all of whose parts are confirmed."""
    found: dict[str, bool] = {}
    for part in parts:
        if part.scope and part.role != "control":
            found[part.scope] = found.get(part.scope, True) and part.verdict is VerdictKind.CONFIRMED
    return tuple(scope for scope, holds in found.items() if holds)


def scopes_not_settled(parts: Iterable[OfScope]) -> tuple[str, ...]:
    """The scopes that no part refutes and some part leaves undecided, each with why."""
    found: dict[str, list[OfScope]] = {}
    for part in parts:
        if part.scope and part.role != "control":
            found.setdefault(part.scope, []).append(part)
    return tuple(
        f"{scope} ({', '.join(dict.fromkeys(part.reason for part in of if part.verdict is VerdictKind.UNDECIDED))})"
        for scope, of in found.items()
        if {part.verdict for part in of} in ({VerdictKind.UNDECIDED}, {VerdictKind.UNDECIDED, VerdictKind.CONFIRMED})
    )


def status_of(verdict: VerdictKind, parts: Iterable[OfScope]) -> str:
    """The verdict in a word.

    A claim that is refuted as worded, in some of its scopes alone, holds in part where another one bears it out. Where none does
    and one is not settled it is refuted in part.
    """
    own = [part for part in parts if part.role != "control"]
    refuted = [part for part in own if part.verdict is VerdictKind.REFUTED]
    if verdict is not VerdictKind.REFUTED or not refuted or not all(part.scope for part in refuted):
        return str(verdict)
    return HOLDS_IN_PART if scopes_that_hold(own) else REFUTED_IN_PART if scopes_not_settled(own) else str(verdict)


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
    UNPROVED = "seen, by one record alone"
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
