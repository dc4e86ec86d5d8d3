"""Ledger lines of the same claims from two sets of runs, laid side by side part by part: do they say the same?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.ledger.recompute import NO_INJECTION
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding, PartResult
from harness.model.rules import BY_SIDES
from harness.model.verdicts import VerdictKind

UNEXPLAINED = "nobody has said why yet"
AGREEMENT = """In {same} of their {parts} parts neither contradicts the other: most deployments of each do not
lie on different sides, and what may or may never happen was seen by both or by none. {other} differ."""

Pair = tuple[Finding, Finding]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One part of a line, judged by one set of runs and by the other."""

    line: Finding
    first: PartResult
    other: PartResult

    @property
    def differs(self) -> bool:
        """They lie on different sides, or what may or may never happen was seen by one of them alone."""
        verdicts = {self.first.verdict, self.other.verdict}
        if verdicts >= {VerdictKind.CONFIRMED, VerdictKind.REFUTED}:
            return True
        if self.first.kind in BY_SIDES:
            return _side(self.first) * _side(self.other) < 0
        return bool(self.first.events) != bool(self.other.events)


def _side(part: PartResult) -> int:
    """Above 0 where most deployments are on the claim's side."""
    return (part.right or 0) - (part.wrong or 0)


def paired(first: Iterable[Finding], other: Iterable[Finding]) -> list[Pair]:
    """The lines that have trials of both, each of one claim and release with its faults made one way."""
    ones, others = _by_claim(first), _by_claim(other)
    return [pair for claim, lines in ones.items() for pair in _of_claim(lines, others.get(claim, {}))]


def _by_claim(lines: Iterable[Finding]) -> dict[tuple[str, str], dict[str, Finding]]:
    found: dict[tuple[str, str], dict[str, Finding]] = defaultdict(dict)
    for line in lines:
        if line.trials:
            found[line.claim, line.release][line.injection] = line
    return found


def _of_claim(ones: Mapping[str, Finding], others: Mapping[str, Finding]) -> Iterator[Pair]:
    """A line lists what its trials made, in their order: not all have to be the same where a claim has no more than one way."""
    yield from ((ones[injection], others[injection]) for injection in ones.keys() & others.keys())
    left, right = ones.keys() - others.keys(), others.keys() - ones.keys()
    if len(left) == len(right) == 1:
        (one,), (two,) = left, right
        names = set(one.split(", ")), set(two.split(", "))
        if names[0] & names[1] or {NO_INJECTION} in names:
            yield ones[one], others[two]


def tried_by_both(pairs: Iterable[Pair]) -> list[Compared]:
    """The parts of these lines, of the same claim and release, that have tries of both."""
    return [
        Compared(line=first, first=one, other=two)
        for first, other in pairs
        for one, two in zip(first.parts, other.parts, strict=True)
        if one.tries and two.tries
    ]


def agreement(parts: Sequence[Compared]) -> str:
    """How many of them differ, and what that means."""
    other = sum(one.differs for one in parts)
    return AGREEMENT.format(parts=len(parts), same=len(parts) - other, other=other)


def rows_of_differing(parts: Sequence[Compared], because: Mapping[str, str]) -> list[str]:
    """A row of a table for each part that differs; ``because`` says why, by claim and part."""
    differing = sorted(
        (one for one in parts if one.differs),
        key=lambda one: (natural_key(one.line.claim), natural_key(one.line.release), one.line.injection),
    )
    return [_row(one, because) for one in differing]


def _row(one: Compared, because: Mapping[str, str]) -> str:
    injection = f" ({one.line.injection})" if one.line.injection else ""
    why = because.get(f"{one.line.claim} {one.first.name}", UNEXPLAINED)
    return (
        f"| {one.line.claim}{injection} | {one.line.release} | {one.first.name} | {_words(one.first)} | {_words(one.other)} "
        f"| {why} |\n"
    )


def _words(part: PartResult) -> str:
    return f"{part.verdict}: {part.words}"
