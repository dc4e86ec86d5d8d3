"""What was sent against what was consumed: loss, duplicates, order."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Checker, Inputs, together
from analysis.checkers.delivery import duplicates, exclusivity, loss, order
from analysis.evidence.records import Records
from analysis.evidence.tables import BITS
from analysis.evidence.trials import TrialFacts
from analysis.load.accounts import Stores
from analysis.load.ending import Ending
from analysis.load.figures import Figures
from analysis.load.properties import counted_rows, none_of, untold
from analysis.verdicts.tries import HistoryTries
from harness.rundir.manifest import TrialRecord

ON_THE_END = ("all arrived", "nothing lost")
"""What rests on the end: whatever is missing may come until then, and the brokers' queues are read then."""

Job = Callable[[], list[HistoryTries]]


@dataclass(frozen=True, kw_only=True)
class _OfQueues:
    """A property that a checker counts violations of, by queue."""

    name: str
    checker: Checker
    measure: str
    what: str


_LOST = _OfQueues(
    name="nothing lost", checker=loss, measure="lost_count", what="acknowledged and never consumed, by queue and offset"
)
_TWICE = _OfQueues(
    name="nothing twice", checker=duplicates, measure="duplicate_count", what="consumptions beyond the first"
)
_OUT_OF_ORDER = _OfQueues(
    name="in order", checker=order, measure="out_of_order_count", what="first consumptions out of order"
)
_OVERLAPPING = _OfQueues(
    name="one consumer a queue", checker=exclusivity, measure="overlap_ms", what="ms of two consumers at once"
)


def consumed(
    inputs: Inputs, facts: TrialFacts, figures: Figures, ending: Ending, stores: Callable[[], Stores]
) -> list[Job]:
    """What the load promised of its consumers, by the checkers that judge incidents, too: a function for each job."""
    trial = facts.trial
    if not trial.groups:
        return [lambda: [untold(trial, "nothing lost", "nobody consumed")]]
    if not ending.is_reached:
        missing = (
            "what has not come may be on its way"
            if ending.is_under_way
            else "what had not come may have been on its way"
        )
        why = f"{ending.why}, and the stores were not read then: {missing}"
        return [lambda: [untold(trial, name, why) for name in ON_THE_END], *seen_of_consumers(inputs, trial)]
    found: list[Job] = []
    counted: list[_OfQueues] = []
    if not facts.drained:
        left = "no drain was recorded" if facts.drained is None else f"{facts.remaining} messages were left"
        names = (*ON_THE_END, "nothing twice", "stored once")
        found.append(lambda: [untold(trial, name, f"the drain did not finish: {left}") for name in names])
    else:
        found += [
            partial(_arrived_and_lost, inputs, trial, figures, stores),
            partial(_stored_once, inputs.records, trial),
        ]
        counted += [_LOST, _TWICE] if _is_lost_by_queue(figures) else [_TWICE]
    if trial.params.get("ordered") == "yes":
        counted.append(_OUT_OF_ORDER)
        found.append(partial(_counted, inputs, trial, [_OVERLAPPING]))
    return [*found, partial(_counted, inputs, trial, counted)] if counted else found


def seen_of_consumers(inputs: Inputs, trial: TrialRecord) -> list[Job]:
    """Those of these properties that a single consumption can refute, whatever comes later: a function for each job."""
    # Checkers count repetitions of a trial that was drained, since of another one more may come.
    counting = dataclasses.replace(inputs, trials=inputs.trials.withColumn("drained", F.lit(True)))
    counted = [_TWICE, _OUT_OF_ORDER, _OVERLAPPING] if trial.params.get("ordered") == "yes" else [_TWICE]
    return [partial(_stored_once, inputs.records, trial), partial(_counted, counting, trial, counted)]


def _is_lost_by_queue(figures: Figures) -> bool:
    return figures.ok > 0 and not figures.unplaced


def _arrived_and_lost(
    inputs: Inputs, trial: TrialRecord, figures: Figures, stores: Callable[[], Stores]
) -> list[HistoryTries]:
    """Loss only where queues do not tell it."""
    arrived = _arrived(inputs.records, trial)
    if not figures.ok:
        return [arrived, untold(trial, "nothing lost", "nothing was acknowledged")]
    return (
        [arrived] if _is_lost_by_queue(figures) else [arrived, _lost_by_number(inputs, trial, arrived, stores().stored)]
    )


def _arrived(records: Records, trial: TrialRecord) -> HistoryTries:
    """Judged by the sequence numbers in bodies, whatever the client told of queues and offsets."""
    accepted = records.sends.where("outcome = 'ok'").select("seq", "file", "n")
    consumed = _numbers(records.consumptions.where("outcome = 'ok'")).withColumnRenamed("numbers", "consumed")
    position = F.explode(F.sequence(F.lit(0), F.lit(BITS - 1))).alias("at")
    missing = (
        _numbers(accepted)
        .join(consumed.select("chunk", "consumed"), "chunk", "left")
        .withColumn("not_consumed", F.expr("numbers & ~coalesce(consumed, 0L)"))
        .where("not_consumed != 0")
        .select("chunk", "not_consumed", position)
        .where(F.expr("shiftright(not_consumed, at) & 1L") == 1)
        .select((F.col("chunk") * BITS + F.col("at")).alias("seq"))
    )
    row = counted_rows(accepted.join(F.broadcast(missing), "seq"))
    return none_of(
        trial, "all arrived", row, f"{row['count']} of the accepted messages' sequence numbers were never consumed"
    )


def _numbers(table: DataFrame) -> DataFrame:
    """The sequence numbers of a table as sets of bits: ``chunk``, how many rows it has, and which ``numbers`` of it."""
    bit = F.expr(f"shiftleft(1L, cast(pmod(seq, {BITS}) as int))")
    return table.groupBy(_chunk().alias("chunk")).agg(F.count("*").alias("rows"), F.bit_or(bit).alias("numbers"))


def _chunk() -> Column:
    return F.expr(f"(seq - pmod(seq, {BITS})) div {BITS}")


def _lost_by_number(inputs: Inputs, trial: TrialRecord, arrived: HistoryTries, stored: int) -> HistoryTries:
    """Where the client did not tell queue and offset: loss by sequence numbers, beside what the stores hold."""
    queues = inputs.consumption.queues.where(F.col("topic") == trial.topic)
    row = queues.agg(F.coalesce(F.sum("different_offsets"), F.lit(0)).alias("consumed")).collect()[0]
    words = (
        f"{arrived.violations:.0f} acknowledged and never consumed, by the numbers in bodies: the client did not tell all queues; "
        f"of {stored:,} messages in the stores {row['consumed']:,} were consumed"
    )
    return dataclasses.replace(arrived, measure="nothing lost", words=words)


def _stored_once(records: Records, trial: TrialRecord) -> list[HistoryTries]:
    """A message that lies in two places was sent again, by its client or its caller."""
    place = F.struct("broker", "queue", "offset")
    consumed = records.consumptions.where((F.col("outcome") == "ok") & (F.col("topic") == trial.topic))
    # Only numbers that come more than once can lie in two places.
    repeated = _numbers(consumed).where(F.col("rows") > F.bit_count("numbers")).select("chunk")
    again = (
        consumed.withColumn("chunk", _chunk())
        .join(F.broadcast(repeated), "chunk")
        .groupBy("seq")
        .agg(F.min(place).alias("least"), F.max(place).alias("most"), F.max_by("file", place).alias("file"),
             F.max_by("n", place).alias("n"))
        .where("least != most")
    )  # fmt: skip
    row = counted_rows(again)
    words = f"{row['count']} sequence numbers lie in more than one place of the stores: sent again"
    return [none_of(trial, "stored once", row, words)]


def _counted(inputs: Inputs, trial: TrialRecord, properties: Sequence[_OfQueues]) -> list[HistoryTries]:
    """Values summed over all queues, in one job; undecided where none could be judged."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in together(*[one.checker.observe(inputs) for one in properties]).collect():
        rows[row["measure"]].append(row)
    return [_summed(trial, one, rows[one.measure]) for one in properties]


def _summed(trial: TrialRecord, of: _OfQueues, rows: Sequence[Row]) -> HistoryTries:
    if not rows:
        return untold(trial, of.name, "no queue was consumed from")
    total = sum(row["value"] for row in rows)
    most = min(rows, key=lambda row: (-row["value"], row["file"] or "", row["line"] or 0))
    words = f"{round(total)} {of.what}, in {len(rows)} queues"
    return none_of(trial, of.name, Row(count=total, file=most["file"], line=most["line"]), words)
