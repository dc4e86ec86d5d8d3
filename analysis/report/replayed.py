"""A run beside the one that it replays: verdicts that are the same or not, and figures that agree or not."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from analysis.ledger.agreement import TOLERANCE
from analysis.report.document import Distribution, ReportData
from analysis.report.injections import claim_name, told_apart
from analysis.verdicts.numbers import cell_label, printable, quantity
from harness.model.cells import cell_of
from harness.model.findings import Finding

K = TypeVar("K")
V = TypeVar("V")

DIFFERING_SHOWN = 20
MS = {"ms": 1.0, "s": 0.001}
"""Units of what a hiccup of the machine moves."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """``verdicts`` and ``figures`` are how many both runs have, the tuples say in words which of them differ."""

    verdicts: int
    figures: int
    other_verdicts: tuple[str, ...]
    other_figures: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs, of something that could be compared."""
        return bool(self.verdicts + self.figures) and not self.other_verdicts and not self.other_figures

    def lines(self) -> Iterator[str]:
        """For the terminal."""
        same = self.verdicts - len(self.other_verdicts)
        agreeing = self.figures - len(self.other_figures)
        yield f"Verdicts as in the bundle: {same} of {self.verdicts}; figures that agree with it: {agreeing} of {self.figures}."
        yield from map(printable, self.other_verdicts)
        yield from map(printable, self.other_figures[:DIFFERING_SHOWN])
        if len(self.other_figures) > DIFFERING_SHOWN:
            yield f"and {len(self.other_figures) - DIFFERING_SHOWN} more figures"


def compared(now: ReportData, then: ReportData) -> Compared:
    """``now`` beside ``then``, which it replays. What only one of them has differs.

    A figure agrees when its median lies within the range of the other one's values, widened by 5 % of their median and, of a
    time, by the worst hiccup of the trials that count in either run.
    """
    verdicts = _paired({_key(one): one for one in now.findings}, {_key(one): one for one in then.findings})
    figures = _paired({_place(one): one for one in now.distributions}, {_place(one): one for one in then.distributions})
    apart = told_apart((*now.findings, *then.findings))
    hiccup_ms = max((one.hiccup_ms for data in (now, then) for one in data.trials if one.counts), default=0.0)
    return Compared(
        verdicts=len(verdicts),
        figures=len(figures),
        other_verdicts=tuple(
            f"{claim_name(known, apart)} {known.release}: {_verdict(there)} in the bundle, {_verdict(here)} here"
            for here, there in verdicts
            for known in [here or there]
            if known is not None and (here is None or there is None or here.verdict is not there.verdict)
        ),
        other_figures=tuple(
            f"{known.measure} of {known.arm} on {known.release} ({cell_label(known.params)}): "
            f"{_median(there)} in the bundle, {_median(here)} here"
            for here, there in figures
            for known in [here or there]
            if known is not None and not (here and there and _agree(here, there, hiccup_ms))
        ),
    )


def _paired(now: Mapping[K, V], then: Mapping[K, V]) -> list[tuple[V | None, V | None]]:
    return [(now.get(key), then.get(key)) for key in dict.fromkeys((*then, *now))]


def _key(one: Finding) -> tuple[str, ...]:
    return one.claim, one.release, one.backend, one.injection


def _place(one: Distribution) -> tuple[object, ...]:
    return one.incident, one.release, one.injection, one.arm, one.measure, cell_of(one.params)


def _verdict(one: Finding | None) -> str:
    return "not judged" if one is None else f"{one.status} ({one.reason})" if one.reason else one.status


def _median(one: Distribution | None) -> str:
    return "nothing" if one is None else quantity(statistics.median(one.values), one.unit)


def _agree(here: Distribution, there: Distribution, hiccup_ms: float) -> bool:
    known: Sequence[float] = there.values
    slack = TOLERANCE * abs(statistics.median(known)) + hiccup_ms * MS.get(here.unit, 0.0)
    return min(known) - slack <= statistics.median(here.values) <= max(known) + slack
