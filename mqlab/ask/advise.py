"""``mqlab explain sends``: which settings help against a failure, on a release, by what the record has of each."""

from __future__ import annotations

import argparse
import dataclasses
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from analysis.verdicts.numbers import quantity
from harness.errors import EXIT_OK
from harness.language import ENGLISH, joined, language, phrase, translated
from harness.model.findings import Finding, PartResult
from harness.model.rules import Kind
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import FREEZE
from mqlab.ask.carried import beside, ledger_on
from mqlab.kinds import one_of
from mqlab.options import print_json
from scenarios.send_advice import FAILURES, Shown, Tried

FAILURE = one_of("failure", lambda: tuple(FAILURES))
WIDTH = 100

Parts = Mapping[tuple[str, str], PartResult]
"""By claim and part, of one release."""
LateShares = Mapping[tuple[str, str], float]
"""The largest one of a deployment by claim and producer, of one release."""
LATE, DURING = "late_of_producer_share", "during"


@dataclass(frozen=True, kw_only=True)
class Said:
    """One finding's part in words. ``speaks_for`` is None where it is undecided."""

    claim: str
    part: str
    says: str
    measured: str
    speaks_for: bool | None
    values: tuple[float, ...] = ()
    has_harmed: bool = False
    """In a deployment more sends were late with the setting than without it."""

    def __str__(self) -> str:
        return str(self.told)

    @property
    def told(self) -> str:
        """With the claim that it is by."""
        return phrase("{says} ({claim}: {measured})", says=phrase(self.says), claim=self.claim, measured=self.measured)


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What comes of one setting against one failure."""

    failure: str
    what: str
    release: str
    setting: str
    sends: str
    answer: str
    because: tuple[Said, ...]
    costs: tuple[Said, ...]
    failed_share: float | None
    """Of its sends in its worst deployment: those that failed for good, by the verdicts' parts."""
    late_share: float | None
    """The same of sends that failed or took over a second, among producers that share an outage."""
    late_by: str
    may_harm: bool
    """Not every part is decided for it, or in a deployment more sends were late with it than without."""

    @property
    def late(self) -> str:
        """The share in words; empty where nobody asked."""
        if self.late_share is None:
            return ""
        share = quantity(self.late_share, "share")
        return phrase(
            "{share} of its sends failed or took over a second in a deployment ({by})", share=share, by=self.late_by
        )


BEST, HELPS, OPEN, DOES_NOT, NO_USE = ANSWERS = (
    phrase("best"), phrase("helps, too"), phrase("not decided yet"), phrase("does not help"), phrase("of no use"),
)  # fmt: skip
"""In the order in which they are told."""
NOT_MEASURED = phrase("not measured")
PRICE = {True: phrase("cost"), False: phrase("no cost"), None: phrase("open")}
"""Of something that a setting may cost, by what the record says of it."""


def advise(options: argparse.Namespace, console: Console) -> int:
    """Say it by the committed ledger."""
    found = advice(
        ledger_on(options.release), options.release, [options.failure] if options.failure else list(FAILURES)
    )
    if options.json:
        print_json([dataclasses.asdict(one) for one in found])
    else:
        print("\n".join(lines(found)))
    return EXIT_OK


def advice(ledger: Sequence[Finding], release: str, failures: Sequence[str]) -> list[Advice]:
    """What was measured on that release with local processes, failure by failure, and of each the best setting first."""
    of_release = [
        line for line in ledger if (line.release, line.backend) == (release, "local") and line.injection != FREEZE
    ]
    told = [((line.claim, part.name), part) for line in of_release for part in line.parts]
    # What is decided by one way of injecting a fault holds, where another is not.
    parts = dict(sorted(told, key=lambda one: one[1].verdict is not VerdictKind.UNDECIDED))
    carried = {line.claim: line.provenance for line in of_release}
    late = {
        (line.claim, str(figure.params["producer"])): figure.max
        for line in of_release
        for figure in line.figures
        if figure.name == LATE and figure.params.get("when") == DURING and figure.max is not None
    }
    found: list[Advice] = []
    for name in failures:
        tried_on_it = [tried for tried in FAILURES[name].tried if {*beside(release)} & {*tried.releases}]
        of_it = [_advice(name, release, tried, parts, late, carried) for tried in tried_on_it]
        best = [_best(of) for of in _alike(one for one in of_it if one.answer == HELPS)]
        answered = [replace(one, answer=BEST) if one in best else one for one in of_it]
        found += sorted(answered, key=lambda one: ANSWERS.index(one.answer))
    return found


def _alike(found: Iterable[Advice]) -> Iterable[list[Advice]]:
    """Those of the same sends together, which one may choose among."""
    by_sends: dict[str, list[Advice]] = {}
    for one in found:
        by_sends.setdefault(one.sends, []).append(one)
    return by_sends.values()


def _best(found: Sequence[Advice]) -> Advice:
    """The one that left the fewest sends late or, where that was not measured of all, failed; none that may harm, if it can be."""
    is_of_all = all(one.late_share is not None for one in found)

    def rank(one: Advice) -> tuple[bool, float]:
        share = one.late_share if is_of_all else one.failed_share
        return one.may_harm, math.inf if share is None else share

    return min(found, key=rank)


def _advice(
    failure: str, release: str, tried: Tried, parts: Parts, late: LateShares, carried: Mapping[str, str]
) -> Advice:
    because, costs = (
        tuple(_said(one, parts, carried.get(one.claim, "")) for one in shown) for shown in (tried.helps, tried.costs)
    )
    spoken = {one.speaks_for for one in because} - {None}
    has_harmed = any(one.has_harmed for one in because)
    is_open = any(one.speaks_for is None for one in because)
    if not because:
        answer = NO_USE
    elif False in spoken:
        answer = DOES_NOT
    else:
        answer = HELPS if spoken and not (is_open and has_harmed) else OPEN
    return Advice(
        failure=failure,
        what=FAILURES[failure].what,
        release=release,
        setting=tried.setting,
        sends=tried.sends,
        answer=answer,
        because=because,
        costs=costs,
        failed_share=max((value for said in because for value in said.values), default=None),
        late_share=late.get((tried.late.claim, tried.late.producer)) if tried.late else None,
        late_by=joined("; ", filter(None, (tried.late.claim, carried.get(tried.late.claim)))) if tried.late else "",
        may_harm=is_open or has_harmed,
    )


def _said(shown: Shown, parts: Parts, provenance: str) -> Said:
    part = parts.get((shown.claim, shown.part))
    if part is None or part.verdict is VerdictKind.UNDECIDED:
        says: str = phrase("whether {says}", says=phrase(shown.says))
        speaks_for: bool | None = None
        measured: str = (
            phrase("undecided, {words}", words=part.words) if part is not None and part.deployments else NOT_MEASURED
        )
    else:
        speaks_for = part.verdict is shown.verdict
        says, measured = shown.says if speaks_for else shown.otherwise, _measured(shown, part)
    return Said(
        claim=shown.claim,
        part=shown.part,
        says=says,
        measured=joined("; ", (measured, provenance)) if provenance else measured,
        speaks_for=speaks_for,
        values=part.values if part is not None and shown.unit else (),
        has_harmed=part is not None and part.kind == Kind.COMPARISON and any(value > 1 for value in part.values),
    )


def _measured(shown: Shown, part: PartResult) -> str:
    """A number, or in how many deployments it was so; of what is not so a part says that it is in none."""
    if shown.unit and part.values:
        low, high = (quantity(end(part.values), shown.unit) for end in (min, max))
        values = low if low == high else phrase("{low} to {high}", low=low, high=high)
        return phrase("{values} in {count} deployments", values=values, count=part.deployments)
    counts = part.words.startswith("in ") and part.deployments
    return phrase("in {count} deployments", count=part.deployments) if counts else part.words


def lines(found: Sequence[Advice]) -> Iterator[str]:
    """For a terminal."""
    before = ""
    for one in found:
        if one.failure != before:
            yield translated(
                "{failure}: {what} (RocketMQ {release})",
                failure=one.failure, what=phrase(one.what), release=one.release,
            )  # fmt: skip
            before = one.failure
        yield translated("  {answer}: {setting}", answer=phrase(one.answer), setting=phrase(one.setting))
        for said in one.because:
            yield from _wrapped(PRICE[None] if said.speaks_for is None else phrase("because"), said.told)
        if one.late:
            yield from _wrapped(phrase("at worst"), one.late)
        for said in one.costs:
            yield from _wrapped(PRICE[said.speaks_for], said.told)


def _wrapped(word: str, said: str) -> Iterator[str]:
    if language() != ENGLISH:
        # It has no blanks to part lines at.
        yield translated("    {word}: {said}", word=word, said=said)
        return
    start, more = f"    {word:<8} ", " " * 13
    # A claim's name is not broken, so that it can be copied.
    yield from textwrap.wrap(said, WIDTH, initial_indent=start, subsequent_indent=more, break_on_hyphens=False)
