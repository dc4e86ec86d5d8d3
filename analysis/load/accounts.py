"""Accounts of a load that have to agree: bodies, the brokers' stores, keys, Locust's own counts, the history."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs
from analysis.checkers.delivery.keys import keys_in_queues, queues_of_key
from analysis.evidence.records import Records
from analysis.evidence.trials import TrialFacts
from analysis.load.figures import Figures
from analysis.load.properties import Property, decided, undecided
from harness.model.verdicts import VerdictKind
from harness.rundir.joined import WORKERS
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory

_ELSEWHERE = "the histories of {} workers are missing: `mqlab analyze RUN --with RUN...` judges them as one"


def bodies(records: Records, trial: TrialRecord) -> Property:
    """Every body names this run and has its checksum. On a cluster of the user's other messages may lie in the topic."""
    name = "bodies whole"
    foreign = (F.col("outcome") == "foreign") & F.lit(trial.backend == "given")
    failed = (F.col("outcome") != "ok") & ~foreign
    row = records.consumptions.agg(
        F.count(F.when(~foreign, 1)).alias("all"),
        F.count(F.when(foreign, 1)).alias("foreign"),
        F.count(F.when(failed, 1)).alias("failed"),
        F.min_by("file", F.when(failed, F.col("n"))).alias("file"),
        F.min(F.when(failed, F.col("n"))).alias("line"),
    ).collect()[0]
    if not row["all"]:
        return undecided(name, "nobody consumed a message of this load")
    words = f"{row['all'] - row['failed']:,} of {row['all']:,} bodies named this run and had their checksum"
    if row["foreign"]:
        words += f"; {row['foreign']:,} messages of others are left out"
    return Property(
        name=name,
        verdict=decided(row["failed"]),
        words=words,
        count=row["failed"],
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def stores_agree(inputs: Inputs, figures: Figures) -> Property:
    """The brokers hold what they acknowledged, and at most what else may have reached them."""
    name = "store agrees"
    queue = ("topic", "broker", "queue")
    store = stored_meanwhile(inputs.records)
    sends = inputs.consumption.sent.groupBy(*queue).agg(
        F.sum("sends").alias("ok"),
        F.sum(F.bit_count("offsets")).alias("different"),
        F.max("offset_max").alias("offset_max"),
    )
    row = (
        store.join(sends, list(queue), "left")
        .agg(
            F.count("*").alias("queues"),
            F.sum("stored").alias("stored"),
            F.sum("ever").alias("ever"),
            F.sum("ok").alias("ok"),
            F.sum(F.col("ok") - F.col("different")).alias("shared"),
            F.sum(F.when(F.col("offset_max") >= F.col("max_offset"), 1).otherwise(0)).alias("beyond"),
        )
        .collect()[0]
    )
    if not row["queues"]:
        return undecided(name, "the brokers were not asked for their queues' ends")
    if not figures.ok:
        return undecided(name, "nothing was acknowledged")
    placed, shared = row["ok"] or 0, row["shared"] or 0
    absent = max(0, figures.ok - row["ever"])
    bad = shared + row["beyond"] + absent
    words = f"{row['stored']:,} messages in {row['queues']} queues, {figures.ok:,} acknowledged"
    if placed:
        words += f", {placed:,} of them with queue and offset; {shared} offsets acknowledged twice, "
        words += f"{row['beyond']} queues shorter than was acknowledged"
    else:
        words += ", none of them with queue and offset"
    return Property(name=name, verdict=decided(bad), words=words, count=bad)


def stored_meanwhile(records: Records) -> DataFrame:
    """Each queue's ``max_offset`` at the end, the messages that it got since the load began (``ever``), and those that it has
    of them still (``stored``)."""
    at_begin = F.coalesce(F.max(F.when(F.col("moment") == "begin", F.col("max_offset"))), F.lit(0))
    return (
        records.events.where("type = 'store_max'")
        .withColumn("queue", F.col("queue").cast("int"))
        .groupBy("topic", "broker", "queue")
        .agg(F.max("max_offset").alias("max_offset"), F.max("min_offset").alias("min_offset"), at_begin.alias("from"))
        .withColumn("ever", F.col("max_offset") - F.col("from"))
        .withColumn("stored", F.col("max_offset") - F.greatest("min_offset", "from"))
        .drop("min_offset", "from")
    )


def keys(records: Records, trial: TrialRecord) -> Property:
    """Where sends go by key, each key stayed in one queue."""
    name = "a key, a queue"
    if trial.params.get("route") not in ("selector", "fixed"):
        return Property(
            name=name, verdict=VerdictKind.CONFIRMED, words="not promised: sends went where the client chose", count=0
        )
    moved = F.col("queues") > 1
    row = (
        keys_in_queues(records, trial.topic)
        .agg(
            F.count("*").alias("keys"),
            F.count_if(moved).alias("moved"),
            F.min(F.when(moved, F.col("key"))).alias("first"),
        )
        .collect()[0]
    )
    if not row["keys"]:
        return undecided(name, "nothing told in which queues keys lie")
    if not row["moved"]:
        return Property(
            name=name, verdict=VerdictKind.CONFIRMED, words=f"each of {row['keys']} keys stayed in one queue", count=0
        )
    first = queues_of_key(records, trial.topic, row["first"]).collect()[0]
    words = f"{row['moved']} of {row['keys']} keys moved; {row['first']} was in {', '.join(first['queues'])}"
    return Property(
        name=name, verdict=VerdictKind.REFUTED, words=words, count=row["moved"], file=first["file"], line=first["line"]
    )


def workers_missing(run: RunDirectory, trial: TrialRecord) -> int:
    """How many workers' histories lie on other machines still."""
    producers = [file for file in run.history_files() if file.name.startswith("producer-")]
    return max(0, int(trial.params.get(WORKERS, 0)) - len(producers))


def locust_agrees(requests: int | None, failures: int | None, figures: Figures, missing: int) -> Property:
    """Locust's account and the history have the same numbers."""
    name = "Locust agrees"
    if missing:
        return undecided(name, _ELSEWHERE.format(missing))
    if requests is None or failures is None:
        return undecided(name, "Locust wrote no counts")
    absent = figures.sends - requests
    words = f"Locust counted {requests:,} and {failures:,} failures, the history has {figures.sends:,} and {figures.not_accepted:,}"
    if absent > 0:
        words += "; a worker that is killed has up to 3 s that it did not report"
    bad = abs(absent) + abs(figures.not_accepted - failures)
    return Property(name=name, verdict=decided(bad), words=words, count=bad)


def whole(facts: TrialFacts, missing: int) -> Property:
    """No line of the history is damaged, and no worker's is missing."""
    name = "history whole"
    if missing:
        return undecided(name, _ELSEWHERE.format(missing))
    count = facts.damaged_lines
    words = f"{facts.records:,} records, {count} damaged lines (a kill may damage one a process, the last)"
    return Property(name=name, verdict=decided(count), words=words, count=count)
