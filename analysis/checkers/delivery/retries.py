"""What becomes of messages that fail at each consumption: how often they come again, and after which delays.

A message is known by its sequence number, which its body carries through every retry. The delay of retry k is that of
level k + 2 (``delayLevel = 3 + reconsumeTimes`` of org.apache.rocketmq.broker.processor.SendMessageProcessor in 4.x,
AbstractSendMessageProcessor in 5.3.3), counted from one consumption to the next.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from analysis.checkers.base import Inputs, Value, observations, together
from analysis.evidence.tables import frame_of
from harness.model.rocketmq import DELAY_LEVELS, RETRY_PREFIX
from harness.rundir.reading import RunDirectory

INCIDENT = "dead-letter"
FIRST_RETRY_LEVEL = 3
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SECOND_NS = 1_000_000_000
_DELAYS = StructType(
    [StructField("deployment", StringType()), StructField("retry", LongType()), StructField("delay_s", DoubleType())]
)


def levels_s(setting: str) -> list[float]:
    """``"1s 5m"`` is 1 and 300 seconds."""
    return [float(word[:-1]) * _UNIT_S[word[-1]] for word in setting.split()]


def observe(inputs: Inputs) -> DataFrame:
    """For each message that failed as asked its attempts and delays; for each other one how late it was."""
    trials = [trial.trial for trial in inputs.run.trials if trial.incident == INCIDENT]
    consumed = (
        inputs.records.consumptions.where(F.col("trial").isin(trials or [""]) & F.col("seq").isNotNull())
        .join(inputs.trials.select("trial", "deployment", "end_ns"), "trial")
        .where(F.col("started_ns") <= F.col("end_ns"))
        .select(
            "trial",
            "deployment",
            "group",
            "topic",
            "seq",
            "reconsume",
            "outcome",
            "intended_ns",
            "started_ns",
            "file",
            "n",
        )
    )
    return together(_attempts(consumed), _delays(inputs, consumed), _others(consumed))


def _attempts(consumed: DataFrame) -> DataFrame:
    failed = consumed.where("outcome = 'failed'")
    each = failed.groupBy("trial", "deployment", "group", "seq").agg(
        F.count("*").alias("attempts"),
        F.max_by("file", "started_ns").alias("file"),
        F.max_by("n", "started_ns").alias("n"),
    )
    return observations(
        each,
        Value(
            measure="consumption_count",
            value=F.col("attempts"),
            operation=F.concat(F.lit("message "), F.col("seq"), F.lit(": its last consumption")),
        ),
    )


def _delays(inputs: Inputs, consumed: DataFrame) -> DataFrame:
    by_message = Window.partitionBy("trial", "group", "seq").orderBy("started_ns")
    after = (F.col("started_ns") - F.lag("started_ns").over(by_message)) / _SECOND_NS
    failed = consumed.where("outcome = 'failed'")
    each = failed.withColumn("after_s", after).withColumn("retry", F.row_number().over(by_message) - 1)
    table = each.where("after_s IS NOT NULL").join(
        F.broadcast(frame_of(inputs.spark, _expected(inputs.run), _DELAYS)), ["deployment", "retry"], "left"
    )
    # An ordered consumer retries by itself, from the topic's own queue, and not through a retry topic.
    through_topic = F.col("topic").startswith(RETRY_PREFIX)
    words = F.concat(F.lit("message "), F.col("seq"), F.lit(", retry "), F.col("retry"))
    late = F.when(through_topic, F.col("after_s") - F.col("delay_s"))
    return observations(
        table,
        Value(measure="retry_late_s", value=late, params={"retry": F.col("retry")}, operation=words),
    )


def _others(consumed: DataFrame) -> DataFrame:
    """Messages that do not fail, whether others of the trial fail or not."""
    succeeded = consumed.where("outcome = 'ok'")
    return observations(
        succeeded,
        Value(
            measure="other_delay_s",
            value=(F.col("started_ns") - F.col("intended_ns")) / _SECOND_NS,
            operation=F.concat(F.lit("message "), F.col("seq")),
        ),
    )


def _expected(run: RunDirectory) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for deployment in run.deployments:
        levels = levels_s(deployment.started_conf.get("messageDelayLevel") or DELAY_LEVELS)
        for level in range(FIRST_RETRY_LEVEL, len(levels) + 1):
            rows.append(
                {
                    "deployment": deployment.deployment,
                    "retry": level - FIRST_RETRY_LEVEL + 1,
                    "delay_s": levels[level - 1],
                }
            )
    return rows
