"""Lock requests of each member: its first ones after it started, and how often its lock timer renews."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, together
from analysis.checkers.locks.requests import of_lock_timer
from analysis.evidence.consumption import OWNER, SECOND_NS
from analysis.evidence.records import place
from harness.model.rocketmq import LOCK_BATCH_MQ


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
        .where(F.col("since_ns").isNull() | (F.col("since_ns") >= SECOND_NS))
        .withColumn("before_ns", F.lag("started_ns").over(by_address))
        .join(inputs.trials.select("trial", "deployment"), "trial")
    )
    period_s = (F.col("started_ns") - F.col("before_ns")) / SECOND_NS
    return observations(renewals, Value("renewal_period_s", period_s, "lock request of {instance} to {address}"))


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
            F.count_if("by_timer").alias("renewals"),
            # Rounds are told apart from the two requests of one round, to two brokers or of 5.x's two timers.
            F.median(F.when(F.col("by_timer") & (F.col("since_ns") >= SECOND_NS), F.col("since_ns"))).alias(
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
    mode = F.when(F.col("instance").endswith("-broadcast"), "broadcasting").otherwise("clustering")

    def value(measure: str, value: Column, **params: Column) -> Value:
        at = place(F.coalesce("first_line", "starting_line"))
        return Value(measure, value, "lock requests of {instance}", at=at, params=params)

    return observations(
        members,
        value("first_lock_request_s", (F.col("first_ns") - F.col("starting_ns")) / SECOND_NS),
        value("first_lock_by_timer", F.col("first_by_timer").cast("int"), mode=mode),
        value("lock_timer_first_round_s", F.expr("pmod(timed_ns - starting_ns, period_ns)") / SECOND_NS),
        value("lock_renewals_count", F.coalesce("renewals", F.lit(0)), mode=mode),
        value("lock_requests_count", F.coalesce("requests", F.lit(0)), mode=mode),
    )
