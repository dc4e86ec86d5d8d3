"""Answers that the cluster gave when it was asked: the harness's own probes, each an observation as it stands."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, events_file
from analysis.evidence.tables import OBSERVATIONS

MEASURES: tuple[str, ...] = (
    "absent_on_servers",
    "broker_back_s",
    "bytes_per_topic",
    "crossed_again",
    "dead_letter_share",
    "deletions_per_s",
    "frame_share_after",
    "frame_share_before",
    "next_retry_reached",
    "node_answers",
    "normal_topics",
    "offline_deleted_share",
    "online_kept",
    "pending_retry_kept",
    "prediction_error_percent",
    "retry_topic_created",
    "retry_topic_deleted",
    "retry_topic_returns",
    "retry_topic_stays",
    "servers_listing_it",
    "slave_topics_missing",
    "told_by_others",
    "topic_back_s",
    "topic_exists",
    "topics_at_limit",
    "topics_at_limit_predicted",
    "topics_created",
    "topics_deleted",
    "topics_in_table",
)


def observe(inputs: Inputs) -> DataFrame:
    """One observation a probe; what it was asked about is what is independent."""
    asked = inputs.records.events.where((F.col("type") == "probe") & F.col("measure").isin(*MEASURES))
    columns = {
        "unit": F.concat_ws("/", "deployment", "trial", "of"),
        "censored": F.lit(False),
        "file": events_file(),
        "line": F.col("n"),
        "operation": F.concat_ws(" ", F.concat(F.col("of"), F.lit(":")), F.col("measure"), F.col("detail")),
    }
    return asked.join(inputs.trials.select("trial", "deployment"), "trial").select(
        *[columns[name].alias(name) if name in columns else F.col(name) for name in OBSERVATIONS.names]
    )
