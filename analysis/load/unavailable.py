"""For how long a load was without what it asks of a cluster: an acknowledged send, one of each key, a consumption."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records
from analysis.evidence.trials import TrialFacts

BIN_NS = 100_000_000
"""What lies between two neighbours of one bin is no gap that is looked for; others are told to the nanosecond."""
SENDS_BY_KEY_MAX = 2_000_000
"""Sends of each key are put in order, which takes a minute of more."""
TOLD_S_MIN = 1.0
INTERVALS_MIN = 5.0
"""A gap is told from so many usual intervals on: two sends of a slow load lie far from each other."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The longest time without something, in seconds of the load; ``key`` is the one that it is of, None of all."""

    from_s: float
    to_s: float
    key: str | None = None

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.to_s - self.from_s


@dataclass(frozen=True, kw_only=True)
class Unavailable:
    """The longest time without an acknowledged send, without one of a key, and without a consumption.

    The first goes from one acknowledgement to the next, or to the last time that a send was due. That of a key begins with its
    first send that was due after an acknowledgement, since a key may be seldom. None where there were fewer than two of them.
    """

    sends: Gap | None = None
    key: Gap | None = None
    consumption: Gap | None = None

    def told(self, per_s: float) -> tuple[Gap | None, Gap | None, Gap | None]:
        """Those that are worth a sentence in a load of that many accepted sends a second."""
        least_s = max(TOLD_S_MIN, INTERVALS_MIN / per_s if per_s > 0 else TOLD_S_MIN)

        def worth(gap: Gap | None) -> Gap | None:
            return gap if gap is not None and gap.seconds >= least_s else None

        return worth(self.sends), worth(self.key), worth(self.consumption)


def unavailable(records: Records, facts: TrialFacts) -> Unavailable:
    """From the history of sends and consumptions."""
    accepted = records.sends.where("outcome = 'ok'")
    consumed = records.consumptions.where("outcome = 'ok'")
    first, last = facts.due_from_ns, facts.due_to_ns
    sends = _longest(accepted.select(F.col("finished_ns").alias("at")), facts, first, last)
    if sends is None:
        return Unavailable()
    return Unavailable(
        sends=sends,
        key=_longest_of_a_key(records.sends, facts) if facts.sends <= SENDS_BY_KEY_MAX else None,
        consumption=_longest(consumed.select(F.col("started_ns").alias("at")), facts, None, None),
    )


def _longest(table: DataFrame, facts: TrialFacts, first_ns: int | None, last_ns: int | None) -> Gap | None:
    """Between two neighbours of ``at``, or from ``first_ns`` to the first and from the last one to ``last_ns``."""
    bins = table.groupBy(F.expr(f"at div {BIN_NS}").alias("bin")).agg(
        F.min("at").alias("low"), F.max("at").alias("high")
    )
    before = F.lag("high").over(Window.orderBy("bin"))
    row = (
        bins.withColumn("before", before)
        .agg(
            F.max(_gap(F.col("before"), F.col("low"))).alias("gap"),
            F.min("low").alias("low"),
            F.max("high").alias("high"),
        )
        .collect()[0]
    )
    if row["low"] is None:
        return None
    found = [row["gap"]] if row["gap"] is not None else []
    pairs = [(one["from_ns"], one["to_ns"]) for one in found]
    pairs += [(first_ns, row["low"])] if first_ns is not None else []
    pairs += [(row["high"], last_ns)] if last_ns is not None else []
    if not pairs:
        return None
    from_ns, to_ns = max(pairs, key=lambda pair: pair[1] - pair[0])
    return _of_load(facts, from_ns, max(from_ns, to_ns))


def _longest_of_a_key(sends: DataFrame, facts: TrialFacts) -> Gap | None:
    keyed = sends.where("key IS NOT NULL")
    due = keyed.select("key", F.col("intended_ns").alias("at"), F.lit(False).alias("ok"))
    accepted = keyed.where("outcome = 'ok'").select("key", F.col("finished_ns").alias("at"), F.lit(True).alias("ok"))
    order = Window.partitionBy("key").orderBy("at", "ok")
    after_ok = F.coalesce(F.lag("ok").over(order), F.lit(True))
    begun = F.last(F.when(~F.col("ok") & F.col("after_ok"), F.col("at")), ignorenulls=True).over(order)
    is_last = F.lead("at").over(order).isNull()
    rows = (
        due.unionByName(accepted)
        .withColumn("after_ok", after_ok)
        .withColumns({"begun": begun, "is_last": is_last})
        .where((F.col("ok") & ~F.col("after_ok")) | (~F.col("ok") & F.col("is_last")))
    )
    # What was never acknowledged any more goes on to the end of all sends.
    end = F.when(F.col("ok"), F.col("at")).otherwise(F.lit(facts.due_to_ns).cast("long"))
    row = (
        rows.select("key", _gap(F.col("begun"), end).alias("gap"))
        .agg(F.max(F.struct("gap", "key")).alias("most"))
        .collect()[0]
    )
    if row["most"] is None or row["most"]["gap"] is None:
        return None
    gap = row["most"]["gap"]
    return _of_load(facts, gap["from_ns"], gap["to_ns"], row["most"]["key"])


def _gap(low: Column, high: Column) -> Column:
    """As a structure whose greatest one is the longest."""
    gap = F.struct((high - low).alias("ns"), low.alias("from_ns"), high.alias("to_ns"))
    return F.when(low.isNotNull() & high.isNotNull(), gap)


def _of_load(facts: TrialFacts, from_ns: int, to_ns: int, key: str | None = None) -> Gap:
    start_ns = facts.hold_from_ns or facts.due_from_ns or 0
    return Gap(from_s=(from_ns - start_ns) / 1e9, to_s=(to_ns - start_ns) / 1e9, key=key)
