"""Slow appends as ``mqlab diagnose --appends`` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.diagnosis.moments import words_of
from analysis.diagnosis.slow_appends import LOGGED_FROM_MS, SlowAppends
from harness.language import phrase
from harness.printable import counted

SHOWN = 10
BAR = 40


def report(found: SlowAppends) -> Iterator[str]:
    """As lines of text."""
    yield phrase(
        "{appends} of more than {threshold_ms:,} ms",
        appends=counted(len(found.appends), "append"),
        threshold_ms=found.threshold_ms,
    )
    if found.threshold_ms < LOGGED_FROM_MS:
        yield phrase(
            "RocketMQ logs an append from {least_ms} ms on: shorter ones are in the counts by duration only",
            least_ms=LOGGED_FROM_MS,
        )
    for one in sorted(found.appends, key=lambda append: -append.ms)[:SHOWN]:
        at = words_of(one.at_s) or phrase("no time")
        yield phrase("  {at}  {ms:g} ms  {file}:{line}", at=at, ms=one.ms, file=one.file, line=one.line)
    yield from _bars(phrase("appends over the threshold, by minute"), found.by_minute)
    yield from _bars(
        phrase("all appends, by duration"), {name: count for name, count in found.durations.items() if count}
    )
    if (gone := found.unreachable) is not None:
        during = (
            phrase(", {start} to {end}", start=words_of(gone.from_s), end=words_of(gone.to_s))
            if gone.from_s is not None
            else ""
        )
        yield ""
        yield phrase(
            "a broker or name server could not be reached: {lines}{during}, first {file}:{line}",
            lines=counted(gone.lines, "line"),
            during=during,
            file=gone.file,
            line=gone.line,
        )


def _bars(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    if not counts:
        return
    most, width = max(counts.values()), max(map(len, counts))
    yield ""
    yield title
    for name, count in counts.items():
        yield f"  {name:{width}}  {count:>9}  {'#' * max(1, BAR * count // most)}"
