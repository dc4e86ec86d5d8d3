"""What a load came to, as a person reads it first: how many sends failed, when and why, what held, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from analysis.load.judged import ERRORS_MAX, JudgedLoad, unavailable_told
from analysis.report.document import Headline, Series
from analysis.verdicts.numbers import printable, quantity
from analysis.verdicts.words import listed
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind

_KEYWORD = re.compile(r"\[[A-Z_]+\]")


def headline_of(judged: JudgedLoad, series: Series | None = None) -> Headline:
    """The load in sentences, the worst first. ``series`` says when sends failed; without it no time is told."""
    by = {kind: {name: one for name, one in judged.named().items() if one.verdict is kind} for kind in VerdictKind}
    says = [
        *(f"{one.says} That does not hold: {one.summary}." for one in by[VerdictKind.REFUTED].values()),
        *(f"{one[:1].upper()}{one[1:]}." for one in unavailable_told(judged.unavailable, judged.figures.ok_per_s)),
        *_of_sends(judged, series),
        *([f"Holds: {_named(by[VerdictKind.CONFIRMED])}."] if by[VerdictKind.CONFIRMED] else []),
        *_open(by[VerdictKind.UNDECIDED]),
    ]
    sent = f"{judged.figures.sends:,} sends to RocketMQ {judged.release}" if judged.figures.sends else "a load"
    faults = f", with {listed([one.name for one in judged.faults])}" if judged.faults else ""
    return Headline(title=f"What became of {sent}{faults}", says=tuple(says), do=tuple(_do(judged)))


def _of_sends(judged: JudgedLoad, series: Series | None) -> Iterator[str]:
    f = judged.figures
    if not f.sends:
        return
    latency = (
        f"half of the accepted within {quantity(f.latency_ms[0], 'ms')}, 99 % within {quantity(f.latency_ms[1], 'ms')}"
    )
    if not f.failed and not f.unknown:
        yield f"All {f.sends:,} sends were accepted: {latency}."
        return
    commonest = sorted(judged.errors.items(), key=lambda one: one[1], reverse=True)[:ERRORS_MAX]
    why = f": {', '.join(f'{printable(name)} {count:,}' for name, count in commonest)}" if commonest else ""
    yield f"{f.failed:,} of {f.sends:,} sends failed ({quantity(f.failed / f.sends, 'share', short=True)}){_when(series)}{why}."
    if f.unknown:
        yield f"Of {f.unknown:,} more the outcome is unknown; {f.unknown_arrived:,} of them were consumed."
    yield f"{f.ok:,} were accepted: {latency}."


def _when(series: Series | None) -> str:
    """In which part of the load, by the series' bins."""
    if series is None:
        return ""
    at = [(t_s, failed) for t_s, failed in zip(series.t_s, series.failed, strict=True) if failed]
    if not at:
        return ""
    return f", from {at[0][0]:.1f} s to {at[-1][0] + series.bin_ms / 1000:.1f} s of the load"


def _named(names: Iterable[str]) -> str:
    return listed([name.replace("Locust agrees", "Locust's own count agrees") for name in names])


def _open(findings: Mapping[str, Finding]) -> Iterator[str]:
    """What is not settled, by why."""
    by: dict[str, list[str]] = {}
    for name, one in findings.items():
        by.setdefault(one.summary, []).append(name)
    yield from (f"Not settled, as {why}: {_named(of)}." for why, of in by.items())


def _do(judged: JudgedLoad) -> Iterator[str]:
    keywords = dict.fromkeys(found[0] for name in judged.errors if (found := _KEYWORD.search(name)))
    return (f"mqlab explain '{one}'" for one in keywords)
