"""Which acknowledged messages a rolling upgrade lost: two tables of its incident, and a file with every message."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from analysis.checkers.base import Inputs
from analysis.checkers.delivery.steps import lost_messages
from analysis.report.document import Table
from analysis.verdicts.losses import LostMessage, LostRange, LostStep, by_step
from analysis.verdicts.numbers import MISSING, number
from harness.model.measures import MEASURES
from harness.model.scenario import Scenario
from harness.rundir.files import replace_file
from harness.rundir.manifest import TrialRecord

LOST_BY_STEP = "step_lost_count"
LOST_FILE = Path("analysis") / "lost_messages.csv"
ROWS_MAX = 2_000
"""So many ranges are on the page; the file has all messages."""

Losses = Mapping[str, tuple[LostStep, ...]]
"""By trial; one whose losses could not be judged is not in it."""


def lost_of_run(inputs: Inputs, failed: Collection[str], scenarios: Sequence[Scenario]) -> Losses:
    """What was lost in the trials whose incident asks for it by steps and in which it can be judged, also in those without any.

    The file has every message. ``failed`` are the measures whose checker failed.
    """
    asking = {
        (scenario.name, arm.name)
        for scenario in scenarios
        for arm in scenario.arms
        if LOST_BY_STEP in scenario.measures() and MEASURES[LOST_BY_STEP].is_of(arm.load)
    }
    judged = [one.trial.trial for one in inputs.facts if (one.trial.incident, one.trial.arm) in asking and one.drained]
    if not judged or LOST_BY_STEP in failed:
        return {}
    messages = [one for one in lost_messages(inputs) if one.trial in judged]
    write_messages(inputs.run.path / LOST_FILE, messages)
    return {**dict.fromkeys(judged, ()), **by_step(messages)}


def write_messages(path: Path, messages: Iterable[LostMessage]) -> None:
    """A row a message, and the names of the columns where there is none."""
    text = io.StringIO()
    names = [field.name for field in dataclasses.fields(LostMessage)]
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(names)
    rows.writerows([getattr(one, name) for name in names] for one in messages)
    replace_file(path, text.getvalue())


def loss_tables(trials: Sequence[TrialRecord], lost: Losses) -> Mapping[str, Sequence[Table]]:
    """By incident: what was lost in which step on which broker, and the ranges that name each message."""
    judged = [trial for trial in trials if trial.trial in lost]
    return {
        incident: tuple(_tables([trial for trial in trials if trial.incident == incident], lost))
        for incident in dict.fromkeys(trial.incident for trial in judged)
    }


def _tables(trials: Sequence[TrialRecord], lost: Losses) -> Iterator[Table]:
    ranges = [row for trial in trials for row in _range_rows(trial, lost.get(trial.trial, ()))]
    yield Table(
        title="Acknowledged messages that were lost",
        columns=("trial", "arm", "step", "exchanged then", "on broker", "messages", "sent", "its master was stopped")
        if ranges
        else (),
        rows=tuple(row for trial in trials for row in _step_rows(trial, lost.get(trial.trial, ()))),
        note=_note(trials, lost),
        links={"each message, a row of CSV": str(LOST_FILE)},
    )
    if ranges:
        left_out = len(ranges) - ROWS_MAX
        yield Table(
            title="Where each of them was",
            columns=("trial", "step", "topic", "broker", "queue", "offsets", "messages", "sent", "numbers", "keys"),
            rows=tuple(ranges[:ROWS_MAX]),
            note="Offsets of a row follow each other without a gap."
            + (f" {number(left_out)} more rows are left out here; the file has all messages." if left_out > 0 else ""),
            folded=True,
        )


def _note(trials: Sequence[TrialRecord], lost: Losses) -> str:
    judged = [trial for trial in trials if trial.trial in lost]
    count = sum(step.count for trial in judged for step in lost[trial.trial])
    hit = sum(bool(lost[trial.trial]) for trial in judged)
    words = [
        f"{number(count)} in {hit} of {len(judged)} trials; times are from the moment when the step's node was told to end."
        if count
        else f"None: in {len(judged)} of {len(judged)} trials every acknowledged message was consumed."
    ]
    if unknown := [trial.trial for trial in trials if trial.trial not in lost]:
        words.append(f"Not judged, since the drain was not complete: {', '.join(unknown)}.")
    return " ".join(words)


def exchanged(step: LostStep) -> str:
    """``broker-a (master), 4.6.0 to 5.5.0``, and whether that was the way back."""
    if not step.step:
        return "nothing"
    back = ", roll-back" if step.back else ""
    return f"{step.node} ({step.role}), {step.from_release} to {step.to_release}{back}"


def _step_rows(trial: TrialRecord, steps: Sequence[LostStep]) -> Iterator[tuple[str, ...]]:
    for step in steps:
        brokers = Counter[str]()
        for one in step.ranges:
            brokers[one.broker] += one.count
        for broker, count in sorted(brokers.items()):
            of = [one for one in step.ranges if one.broker == broker]
            stops = [one.stop_s for one in of if one.stop_s is not None]
            yield (
                trial.trial,
                trial.arm,
                str(step.step),
                exchanged(step),
                broker,
                number(count),
                _sent(of),
                f"{min(stops):.3f} s later" if stops else "not again",
            )


def _range_rows(trial: TrialRecord, steps: Sequence[LostStep]) -> Iterator[tuple[str, ...]]:
    for step in steps:
        for one in step.ranges:
            between = " " if one.count == len(one.seqs) else " ... "
            yield (
                trial.trial,
                str(step.step),
                one.topic,
                one.broker,
                _plain(one.queue),
                _plain(one.first) if one.first == one.last else f"{one.first}-{one.last}",
                number(one.count),
                _sent([one]),
                between.join(map(_plain, one.seqs)),
                between.join(one.keys) or MISSING,
            )


def _sent(ranges: Sequence[LostRange]) -> str:
    begin, end = min(one.sent_s for one in ranges), max(one.sent_to_s for one in ranges)
    return f"{begin:.3f} s" if begin == end else f"{begin:.3f} to {end:.3f} s"


def _plain(value: int | None) -> str:
    """A number that names something: without commas."""
    return MISSING if value is None else str(value)
