"""What becomes of messages that fail at each consumption: how often they come again, and after which delays.

A message is known by its sequence number, which its body carries through every retry. The delay of retry k is that of
level k + 2 (``delayLevel = 3 + reconsumeTimes`` of org.apache.rocketmq.broker.processor.SendMessageProcessor in 4.x,
AbstractSendMessageProcessor in 5.x), counted from one consumption to the next. Where a message fails by taking too long, it is
counted from when its client gave messages back for that, which the client's log tells.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType, LongType, StringType

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, observations, together, trials_of
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place
from analysis.evidence.tables import frame_of, table
from analysis.logs import expired
from harness.model.rocketmq import DELAY_LEVELS, RETRY_PREFIX, delays_s
from harness.rundir.reading import RunDirectory

FIRST_RETRY_LEVEL = 3
TOOK_TOO_LONG = "took too long"
"""How a message failed that its listener did not refuse, as ``Listener.java`` says it."""
_DELAYS = table(deployment=StringType(), retry=LongType(), delay_s=DoubleType())


def observe(inputs: Inputs) -> DataFrame:
    """For each message that failed as asked its attempts and delays; for each other one how late it was."""
    trials = F.broadcast(trials_of(inputs, "retries").select("trial", "deployment", "end_ns", "wall_minus_mono_us"))
    consumed = (
        inputs.records.consumptions.where(F.col("seq").isNotNull())
        .join(trials, "trial")
        .where(F.col("started_ns") <= F.col("end_ns"))
    )
    stored = inputs.records.sends.where("outcome = 'ok'").join(trials, "trial", "left_semi")
    sent = stored.select("trial", "seq", "intended_ns", "file", "n")
    retries = _retries(inputs, consumed).persist()
    return together(
        _attempts(consumed), _delays(retries), _timed_out(inputs, consumed, retries), _others(inputs, sent, consumed)
    )


def _attempts(consumed: DataFrame) -> DataFrame:
    failed = consumed.where("outcome = 'failed'")
    each = failed.groupBy("trial", "deployment", "group", "seq").agg(
        F.count("*").alias("attempts"),
        F.max_by(place(), "started_ns").alias("at"),
    )
    return observations(each, Value("consumption_count", "attempts", "message {seq}: its last consumption", at="at"))


def _retries(inputs: Inputs, consumed: DataFrame) -> DataFrame:
    """Each consumption of a message that failed before, with its number, what came before it and the delay of its level."""
    by_message = Window.partitionBy("trial", "group", "seq").orderBy("started_ns")
    after = (F.col("started_ns") - F.lag("started_ns").over(by_message)) / SECOND_NS
    failed = consumed.where("outcome = 'failed'")
    each = failed.withColumn("after_s", after).withColumn("retry", F.row_number().over(by_message) - 1)
    return each.where("after_s IS NOT NULL").join(
        F.broadcast(frame_of(inputs.spark, _expected(inputs.run), _DELAYS)), ["deployment", "retry"], "left"
    )


def _delays(retries: DataFrame) -> DataFrame:
    # An ordered consumer retries by itself, from the topic's own queue, and not through a retry topic.
    is_refused = F.col("topic").startswith(RETRY_PREFIX) & ~F.col("error").eqNullSafe(TOOK_TOO_LONG)
    late = F.when(is_refused, F.col("after_s") - F.col("delay_s"))
    return observations(retries, Value("retry_late_s", late, "message {seq}, retry {retry}", params={"retry": "retry"}))


def _timed_out(inputs: Inputs, consumed: DataFrame, retries: DataFrame) -> DataFrame:
    """A client gives back all that has timed out at once, and once a minute at most: before a retry it did so last for it.

    The last time may stand in the log of any process in which a message took too long, so that all of these have to be there.
    """
    took_too_long = F.col("error") == TOOK_TOO_LONG
    logs = (
        consumed.where(took_too_long)
        .groupBy("trial", "process")
        .agg(F.min(logged.wall_us("started_ns")).alias("from_us"))
        .join(F.broadcast(logged.of_processes(inputs, logged.CLIENT_LOG)), ["trial", "process"], "left")
        .groupBy("trial")
        .agg(F.bool_and(logged.spans(F.col("from_us"))).alias("has_logs"))
        .where("has_logs")
    )
    given_back = expired.parse(inputs.logs.kept).select("trial", F.col("wall_us").alias("given_us"))
    given_ns = (F.col("given_us") - F.col("wall_minus_mono_us")) * 1000
    of_retry = ("trial", "deployment", "group", "seq", "retry")
    each = (
        retries.where(took_too_long)
        .join(F.broadcast(logs), "trial", "left_semi")
        .join(F.broadcast(given_back), "trial")
        .where(given_ns <= F.col("started_ns"))
        .groupBy(*of_retry, "delay_s")
        .agg(((F.max("started_ns") - F.max(given_ns)) / SECOND_NS).alias("after_s"), F.min(place()).alias("at"))
    )
    said = "message {seq}, retry {retry}: {after_s} s after it was given back, its level has {delay_s} s"
    off = F.abs(F.col("after_s") - F.col("delay_s"))
    return observations(each, Value("timed_out_retry_off_s", off, said, at="at", params={"retry": "retry"}))


def _others(inputs: Inputs, sent: DataFrame, consumed: DataFrame) -> DataFrame:
    """Messages that do not fail, whether others of the trial fail or not.

    One that nobody has consumed by the end, since it lies behind one that fails in its queue, is censored there. Some that lie
    there would have failed themselves: every n-th does, and n is the smallest distance of two that did.
    """
    by_number = Window.partitionBy("trial").orderBy("seq")
    failing = (
        consumed.where("outcome = 'failed'")
        .select("trial", "seq")
        .distinct()
        .withColumn("every", F.col("seq") - F.lag("seq").over(by_number))
        .groupBy("trial")
        .agg(F.min("every").alias("every"), F.min("seq").alias("first"))
    )
    served = consumed.where("outcome = 'ok'").groupBy("trial", "seq").agg(F.min("started_ns").alias("started_ns"))
    fails = (F.col("seq") - F.col("first")) % F.col("every") == 0
    others = (
        sent.join(inputs.trials.select("trial", "deployment", "end_ns"), "trial")
        .join(served, ["trial", "seq"], "left")
        .join(F.broadcast(failing), "trial", "left")
        .where(F.col("started_ns").isNotNull() | ~F.coalesce(fails, F.lit(False)))
    )
    delay_s = (F.coalesce("started_ns", "end_ns") - F.col("intended_ns")) / SECOND_NS
    never = F.col("started_ns").isNull()
    return observations(others, Value("other_delay_s", delay_s, "message {seq}", censored=never))


def _expected(run: RunDirectory) -> list[dict[str, object]]:
    return [
        {"deployment": deployment.deployment, "retry": retry, "delay_s": delay_s}
        for deployment in run.deployments
        for retry, delay_s in enumerate(
            delays_s(deployment.started_conf.get("messageDelayLevel") or DELAY_LEVELS)[FIRST_RETRY_LEVEL - 1 :], 1
        )
    ]
