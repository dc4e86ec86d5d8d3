"""Lock requests of each member: its first ones after it started, and how often its lock timer renews."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, together
from analysis.checkers.locks.requests import of_lock_timer
from analysis.evidence.consumption import OWNER
from harness.model.rocketmq import LOCK_BATCH_MQ

_SECOND_NS = 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """Renewals for all owners, first requests for all members."""
    return together(_renewals(inputs), _first_requests(inputs))


def _renewals(inputs: Inputs) -> DataFrame:
    """The time from one renewal to the next, of one client to one broker.

    Requests that come within a second of each other are one renewal: a 5.x client has two timers for it, one of
    ConsumeMessageOrderlyService and one of ConsumeMessagePopOrderlyService, which start together.
    """
    by_address = Window.partitionBy("trial", "instance", "address").orderBy("started_ns")
    since_ns = F.col("started_ns") - F.lag("started_ns").over(by_address)
    renewals = (
        inputs.records.lock_requests.where((F.col("code") == LOCK_BATCH_MQ) & (F.col("process") == OWNER))
        .where(of_lock_timer())
        .withColumn("since_ns", since_ns)
        .where(F.col("since_ns").isNull() | (F.col("since_ns") >= _SECOND_NS))
        .withColumn("before_ns", F.lag("started_ns").over(by_address))
        .join(inputs.trials.select("trial", "deployment"), "trial")
    )
    return observations(
        renewals,
        Value(
            measure="renewal_period_s",
            value=(F.col("started_ns") - F.col("before_ns")) / _SECOND_NS,
            operation=F.concat(F.lit("lock request of "), F.col("instance"), F.lit(" to "), F.col("address")),
        ),
    )


def _first_requests(inputs: Inputs) -> DataFrame:
    """Of each member: when its first lock request came and who sent it, when its lock timer began, how many came of each.

    A member without any request sent none: its start is in the same history. The timer asks for the queues that the member
    has, so nobody sees a round before it has any. The later rounds tell when that was: a whole number of periods before.
    """
    in_order = Window.partitionBy("trial", "instance", "by_timer").orderBy("started_ns")
    since_ns = F.col("started_ns") - F.lag("started_ns").over(in_order)
    requests = (
        inputs.records.lock_requests.where(F.col("code") == LOCK_BATCH_MQ)
        .withColumn("by_timer", of_lock_timer())
        .withColumn("since_ns", since_ns)
        .groupBy("trial", "instance")
        .agg(
            F.count("*").alias("requests"),
            F.min("started_ns").alias("first_ns"),
            F.min(F.when(F.col("by_timer"), F.col("started_ns"))).alias("timed_ns"),
            F.min_by("by_timer", F.when(F.size("asked") > 0, F.col("started_ns"))).alias("first_by_timer"),
            F.count(F.when(F.col("by_timer"), 1)).alias("renewals"),
            # Rounds are told apart from the two requests of one round, to two brokers or of 5.x's two timers.
            F.median(F.when(F.col("by_timer") & (F.col("since_ns") >= _SECOND_NS), F.col("since_ns"))).alias(
                "period_ns"
            ),
            F.min_by("n", "started_ns").alias("first_line"),
        )
    )
    started = (
        inputs.records.instances.where("event = 'starting'")
        .groupBy("trial", "instance", "file")
        .agg(F.min("at_ns").alias("starting_ns"), F.min("n").alias("starting_line"))
    )
    members = started.join(requests, ["trial", "instance"], "left").join(
        inputs.trials.where("grouped").select("trial", "deployment"), "trial"
    )
    mode = {"mode": F.when(F.col("instance").endswith("-broadcast"), "broadcasting").otherwise("clustering")}
    line, words = F.coalesce("first_line", "starting_line"), F.concat(F.lit("lock requests of "), F.col("instance"))

    def value(measure: str, value: Column, params: Mapping[str, Column] | None = None) -> Value:
        return Value(measure=measure, value=value, params=params or {}, file=F.col("file"), line=line, operation=words)

    return observations(
        members,
        value("first_lock_request_s", (F.col("first_ns") - F.col("starting_ns")) / _SECOND_NS),
        value("first_lock_by_timer", F.col("first_by_timer").cast("int"), mode),
        value("lock_timer_first_round_s", F.expr("pmod(timed_ns - starting_ns, period_ns)") / _SECOND_NS),
        value("lock_renewals_count", F.coalesce("renewals", F.lit(0)), mode),
        value("lock_requests_count", F.coalesce("requests", F.lit(0)), mode),
    )
