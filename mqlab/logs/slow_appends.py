"""Slow appends as ``mqlab diagnose --appends`` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.diagnosis.moments import words_of
from analysis.diagnosis.slow_appends import LOGGED_FROM_MS, SlowAppends
from harness.printable import counted

SHOWN = 10
BAR = 40


def report(found: SlowAppends) -> Iterator[str]:
    """As lines of text."""
    yield f"{counted(len(found.appends), 'append')} of more than {found.threshold_ms:,} ms"
    if found.threshold_ms < LOGGED_FROM_MS:
        yield f"RocketMQ logs an append from {LOGGED_FROM_MS} ms on: shorter ones are in the counts by duration only"
    for one in sorted(found.appends, key=lambda append: -append.ms)[:SHOWN]:
        yield f"  {words_of(one.at_s) or 'no time'}  {one.ms:g} ms  {one.file}:{one.line}"
    yield from _bars("appends over the threshold, by minute", found.by_minute)
    yield from _bars("all appends, by duration", {name: count for name, count in found.durations.items() if count})
    if (gone := found.unreachable) is not None:
        during = f", {words_of(gone.from_s)} to {words_of(gone.to_s)}" if gone.from_s is not None else ""
        noun = "line" if gone.lines == 1 else "lines"
        yield ""
        yield f"a broker or name server could not be reached: {gone.lines:,} {noun}{during}, first {gone.file}:{gone.line}"


def _bars(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    if not counts:
        return
    most, width = max(counts.values()), max(map(len, counts))
    yield ""
    yield title
    for name, count in counts.items():
        yield f"  {name:{width}}  {count:>9}  {'#' * max(1, BAR * count // most)}"
