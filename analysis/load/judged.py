"""Everything that is said of a load, and how a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.load.ending import Ending
from analysis.load.faults import FaultOnLoad
from analysis.load.figures import Figures
from analysis.load.unavailable import Gap, Unavailable
from analysis.report.facts import evidence_told
from analysis.verdicts.numbers import printable
from harness.model.findings import Finding
from harness.rundir.manifest import STOPPED
from harness.rundir.reading import DAMAGED

ERRORS_MAX = 4
"""So many names of errors are told."""


@dataclass(frozen=True, kw_only=True)
class JudgedLoad:
    """Everything that is said of a load, and first whether it reached its end.

    ``locust_requests`` and ``locust_failures`` are Locust's own counts, ``errors`` the failures by the error's name. ``notes`` are
    what a reader has to know: weaknesses of the client, what went wrong.
    """

    ending: Ending
    client: str
    release: str
    params: Mapping[str, int | float | str]
    figures: Figures
    findings: tuple[Finding, ...]
    faults: tuple[FaultOnLoad, ...]
    notes: tuple[str, ...]
    locust_requests: int | None
    locust_failures: int | None
    errors: Mapping[str, int] = field(default_factory=dict)
    unavailable: Unavailable = field(default_factory=Unavailable)

    def named(self) -> dict[str, Finding]:
        """Its findings by the names that a reader knows them by: ``a key, a queue``."""
        return {part.name: one for one in self.findings for part in one.parts}

    def lines(self) -> list[str]:
        """For a person."""
        f = self.figures
        first = evidence_told(self.notes, "mqlab load")
        stopped = [f"the load was {note}" for note in self.notes if note.startswith(STOPPED)]
        lines = [*first, self.ending.words] if self.ending.words else [*first, *stopped]
        is_counted = bool(f.sends or f.consumptions) or self.ending.is_reached or not first
        lines.append(
            "its sends and consumptions are not counted"
            if not is_counted
            else f"client {self.client} on RocketMQ {self.release}: {f.sends:,} sends, {f.ok:,} ok, {f.failed:,} failed, "
            f"{f.unknown:,} unknown; {f.consumptions:,} consumptions"
        )
        if f.sends or self.ending.is_reached:
            lines += self._lines_of_sends()
        named = self.named()
        width = max(map(len, named))
        lines += [f"{name:{width}}  {one.verdict:9}  {one.summary}" for name, one in named.items()]
        told = (DAMAGED, STOPPED) if stopped else (DAMAGED,)
        return lines + [f"note: {note}" for note in self.notes if note not in first and not note.startswith(told)]

    def _lines_of_sends(self) -> list[str]:
        f = self.figures
        lines = [
            f"started {f.started_per_s:,.1f}/s{self.asked()}, accepted {f.ok_per_s:,.1f}/s",
            f"latency p50 {f.latency_ms[0]:.2f}, p99 {f.latency_ms[1]:.2f}, p99.9 {f.latency_ms[2]:.2f} ms",
        ]
        if "in_flight" not in self.params:
            late = (
                f"p50 {f.late_ms[0]:.3f}, p99 {f.late_ms[1]:.3f}, p99.9 {f.late_ms[2]:.3f}, max {f.late_ms_max:.1f} ms"
            )
            probe = "" if f.hiccup_ms_max is None else f"; the machine's own worst hiccup {f.hiccup_ms_max:.1f} ms"
            lines.append(f"starts late by {late}{probe}")
        if self.errors:
            commonest = sorted(self.errors.items(), key=lambda one: one[1], reverse=True)
            named = ", ".join(f"{printable(name)} {count:,}" for name, count in commonest[:ERRORS_MAX])
            more = len(commonest) - ERRORS_MAX
            lines.append(f"failed by error: {named}" + (f" and {more} more" if more > 0 else ""))
        lines += unavailable_told(self.unavailable, f.ok_per_s)
        if f.unknown:
            lines.append(f"of the {f.unknown:,} sends with an unknown outcome {f.unknown_arrived:,} were consumed")
        if f.unplaced:
            lines.append(f"of the {f.ok:,} accepted sends the client did not tell queue and offset of {f.unplaced:,}")
        return lines

    def asked(self) -> str:
        """What rate was asked for, beside the one that there was; one that was cut short is not held against it."""
        asked_per_s = self.figures.asked_per_s
        if asked_per_s is None:
            return ""
        if not self.ending.is_reached:
            return f" so far, where {asked_per_s:,.1f} were asked"
        off = self.figures.started_per_s / asked_per_s - 1
        return f" of {asked_per_s:,.1f} asked ({off:+.3%})"


def unavailable_told(gaps: Unavailable, per_s: float) -> list[str]:
    """For how long there was no acknowledged send, none of one key and no consumption, each where that is long."""
    sends, key, consumption = gaps.told(per_s)
    found = [f"no send was acknowledged for {_span(sends)}"] if sends else []
    # What all keys lacked one of them lacked as well.
    if key and (sends is None or key.seconds > sends.seconds + 1.0):
        found.append(f"none of key {printable(str(key.key))} for {_span(key)}")
    if consumption:
        found.append(f"nothing was consumed for {_span(consumption)}")
    return found


def _span(gap: Gap) -> str:
    return f"{gap.seconds:.1f} s, from {gap.from_s:.1f} s to {gap.to_s:.1f} s of the load"
