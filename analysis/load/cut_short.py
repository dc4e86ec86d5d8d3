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
from analysis.load.properties import Property, undecided
from harness.model.verdicts import VerdictKind

ENDED_WITHIN_NS = 5_000_000_000
"""Processes of a load write a record a second at least. Where all are ended by force, their last records lie closer together."""


def unread_at_end(properties: Iterable[Property], stores: Stores, ending: Ending) -> list[Property]:
    """The properties of a load where some of its queues were not read when it had ended: nobody knows what these had then."""
    return [
        undecided(one.name, unread_words(stores, ending))
        if one.name in ON_THE_END and one.verdict is not VerdictKind.UNDECIDED
        else one
        for one in properties
    ]


def cut_short(
    properties: Sequence[Property],
    inputs: Inputs,
    facts: TrialFacts,
    events: TrialEvents,
    ending: Ending,
    faults: Sequence[FaultOnLoad],
) -> list[Property]:
    """The properties of a load that did not reach its end: refuted where a verified counterexample is, and else undecided."""
    refuted = {one.name: one for one in properties if one.verdict is VerdictKind.REFUTED}
    verified = _verified(refuted, inputs, facts, events, faults) if refuted else {}
    return [verified.get(one.name) or _undecided(one, ending) for one in properties]


def _undecided(one: Property, ending: Ending) -> Property:
    return one if one.verdict is VerdictKind.UNDECIDED else undecided(one.name, f"{ending.why}; so far: {one.words}")


def _verified(
    refuted: Mapping[str, Property],
    inputs: Inputs,
    facts: TrialFacts,
    events: TrialEvents,
    faults: Sequence[FaultOnLoad],
) -> dict[str, Property]:
    found = {name: one for name, one in refuted.items() if name == "store agrees"}
    until_ns = _all_there_until_ns(inputs.records, events)
    if until_ns is None:
        return found
    whole = refuted.get("history whole")
    # A kill may damage the last line of each file.
    if whole is not None and (whole.count or 0) > len(inputs.run.history_files()) + len(inputs.run.event_files()):
        found[whole.name] = whole
    stalls_end_ns = [int(one.until_s * 1e9) + (facts.hold_from_ns or 0) for one in faults if one.refused]
    if "refusals as predicted" in refuted and max(stalls_end_ns) + REFUSED_AFTER_NS <= until_ns:
        found["refusals as predicted"] = refuted["refusals as predicted"]
    if refuted.keys() & {
        "bodies whole",
        "a key, a queue",
        "nothing twice",
        "stored once",
        "in order",
        "one consumer a queue",
    }:
        again = _until(inputs, facts, until_ns)
        found |= {one.name: one for one in again if one.verdict is VerdictKind.REFUTED}
    return found


def _all_there_until_ns(records: Records, events: TrialEvents) -> int | None:
    """Until when all processes wrote records that were not gone long before; None where there are no records."""
    at = F.coalesce("at_ns", "started_ns", "mono_ns")
    rows = records.whole.groupBy("file").agg(F.max(at).alias("last_ns")).where("last_ns IS NOT NULL").collect()
    last_ns = [row["last_ns"] for row in rows]
    ended_ns = [ns for ns in last_ns if ns >= max(last_ns) - ENDED_WITHIN_NS]
    return min([*ended_ns, *events.phase("down", "begin")], default=None)


def _until(inputs: Inputs, facts: TrialFacts, until_ns: int) -> list[Property]:
    """The properties that a single record can refute, of what began until then."""
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
