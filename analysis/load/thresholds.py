"""A load against its user's own thresholds: what was found, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.load.judged import JudgedLoad
from analysis.verdicts.numbers import number
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED
from harness.model.thresholds import LATENCIES, RATE, Threshold
from harness.model.verdicts import VerdictKind

_PROPERTIES = {"lost": "nothing lost", "twice": "nothing twice", "out-of-order": "in order"}


def against(judged: JudgedLoad, thresholds: Sequence[Threshold]) -> tuple[list[str], int]:
    """A line for each threshold, and the exit code: 1 where one is met, 2 where one cannot be told."""
    lines, codes = [], {EXIT_OK}
    for one in thresholds:
        found = _number(judged, one)
        if found is None:
            codes.add(EXIT_UNDECIDED)
            lines.append(f"cannot be told: {one.text} (nothing of it was measured)")
            continue
        is_met = one.is_met_by(found)
        codes.add(EXIT_MISMATCH if is_met else EXIT_OK)
        lines.append(f"{'FAILS' if is_met else 'passes'}: {one.text} (found: {number(found)}{_unit(one)})")
    return lines, next(code for code in (EXIT_MISMATCH, EXIT_UNDECIDED, EXIT_OK) if code in codes)


def _number(judged: JudgedLoad, one: Threshold) -> float | None:
    figures = judged.figures
    if one.name in _PROPERTIES:
        found = judged.named().get(_PROPERTIES[one.name])
        # What a load that did not reach its end lacks is not lost yet.
        if found is None or found.verdict is VerdictKind.UNDECIDED:
            return None
        return found.parts[0].estimate
    if not figures.sends:
        return None
    if one.name in LATENCIES:
        return figures.latency_ms[LATENCIES.index(one.name)] if figures.ok else None
    if one.name == RATE:
        return figures.ok_per_s
    count = figures.failed if one.name == "failed" else figures.unknown
    return 100 * count / figures.sends if one.is_share else float(count)


def _unit(one: Threshold) -> str:
    if one.name in LATENCIES:
        return " ms"
    return "/s" if one.name == RATE else " %" if one.is_share else ""
