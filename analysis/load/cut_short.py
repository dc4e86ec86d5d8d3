"""What is said of a load that was not read at its end.

One that did not reach it confirms nothing: what nobody looked at may have gone wrong. It refutes by what went wrong while all of
its processes were there, since what is ended by force takes queues over and leaves requests unanswered by itself.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs
from analysis.evidence.consumption import fold_consumption
from analysis.evidence.events import TrialEvents
from analysis.evidence.records import ANALYSIS_FOLDER, Records
from analysis.evidence.trials import TrialFacts
from analysis.hadoop import clear
from analysis.load.accounts import Stores, bodies, keys, unread_words
from analysis.load.consumed import ON_THE_END, seen_of_consumers
from analysis.load.ending import Ending
from analysis.load.faults import REFUSED_AFTER_NS, FaultOnLoad
from analysis.load.properties import undone
from analysis.verdicts.tries import HistoryTries

ENDED_WITHIN_NS = 5_000_000_000
"""Processes of a load write a record a second at least. Where all are ended by force, their last records lie closer together."""


def unread_at_end(rows: Iterable[HistoryTries], stores: Stores, ending: Ending) -> list[HistoryTries]:
    """The rows of a load where some of its queues were not read when it had ended: nobody knows what these had then."""
    return [
        undone(one, unread_words(stores, ending)) if one.measure in ON_THE_END and one.tries else one for one in rows
    ]


def cut_short(
    rows: Sequence[HistoryTries],
    inputs: Inputs,
    facts: TrialFacts,
    events: TrialEvents,
    ending: Ending,
    faults: Sequence[FaultOnLoad],
) -> list[HistoryTries]:
    """The rows of a load that did not reach its end: those with a verified counterexample tell it, and no other one."""
    violated = {one.measure: one for one in rows if one.violations}
    verified = _verified(violated, inputs, facts, events, faults) if violated else {}
    return [verified.get(one.measure) or _undone(one, ending) for one in rows]


def _undone(one: HistoryTries, ending: Ending) -> HistoryTries:
    return undone(one, f"{ending.why}; so far: {one.words}") if one.tries else one


def _verified(
    violated: Mapping[str, HistoryTries],
    inputs: Inputs,
    facts: TrialFacts,
    events: TrialEvents,
    faults: Sequence[FaultOnLoad],
) -> dict[str, HistoryTries]:
    found = {name: one for name, one in violated.items() if name == "store agrees"}
    until_ns = _all_there_until_ns(inputs.records, events)
    if until_ns is None:
        return found
    whole = violated.get("history whole")
    # A kill may damage the last line of each file.
    if whole is not None and whole.violations > len(inputs.run.history_files) + len(inputs.run.event_files()):
        found[whole.measure] = whole
    stalls_end_ns = [int(one.until_s * 1e9) + (facts.hold_from_ns or 0) for one in faults if one.refused]
    if "refusals as predicted" in violated and max(stalls_end_ns) + REFUSED_AFTER_NS <= until_ns:
        found["refusals as predicted"] = violated["refusals as predicted"]
    if violated.keys() & {
        "bodies whole",
        "a key, a queue",
        "nothing twice",
        "stored once",
        "in order",
        "one consumer a queue",
    }:
        again = _until(inputs, facts, until_ns)
        found |= {one.measure: one for one in again if one.violations}
    return found


def _all_there_until_ns(records: Records, events: TrialEvents) -> int | None:
    """Until when all processes wrote records that were not gone long before; None where there are no records."""
    at = F.coalesce("at_ns", "started_ns", "mono_ns")
    rows = records.whole.groupBy("file").agg(F.max(at).alias("last_ns")).where("last_ns IS NOT NULL").collect()
    last_ns = [row["last_ns"] for row in rows]
    ended_ns = [ns for ns in last_ns if ns >= max(last_ns) - ENDED_WITHIN_NS]
    return min([*ended_ns, *events.phase("down", "begin")], default=None)


def _until(inputs: Inputs, facts: TrialFacts, until_ns: int) -> list[HistoryTries]:
    """The rows that a single record can refute, of what began until then."""
    spark, trial = inputs.spark, facts.trial
    began = F.col("started_ns") <= F.lit(until_ns)
    records = dataclasses.replace(
        inputs.records,
        sends=inputs.records.sends.where(began),
        consumptions=inputs.records.consumptions.where(began),
    )
    folder = inputs.run.path / ANALYSIS_FOLDER / "until"
    folded = fold_consumption(spark, records, inputs.trials, dataclasses.replace(inputs.run, path=folder))
    seen = dataclasses.replace(inputs, records=records, consumption=folded)
    found = [bodies(records, trial), keys(records, trial)]
    if trial.groups:
        found += itertools.chain.from_iterable(job() for job in seen_of_consumers(seen, trial))
    clear(spark, folder)
    return found
