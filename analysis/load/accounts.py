"""Accounts of a load that have to agree: bodies, the brokers' stores, keys, Locust's own counts, the history."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs
from analysis.checkers.delivery.keys import keys_in_queues, queues_of_key
from analysis.evidence.records import Records
from analysis.evidence.trials import TrialFacts
from analysis.load.ending import Ending
from analysis.load.figures import Figures
from analysis.load.properties import counted, untold
from analysis.verdicts.tries import HistoryTries
from harness.rundir.joined import WORKERS
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory

_ELSEWHERE = "the histories of {} workers are missing: `mqlab runs analyze RUN --with RUN...` judges them as one"


def bodies(records: Records, trial: TrialRecord) -> HistoryTries:
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
        return untold(trial, name, "nobody consumed a message of this load")
    words = f"{row['all'] - row['failed']:,} of {row['all']:,} bodies named this run and had their checksum"
    if row["foreign"]:
        words += f"; {row['foreign']:,} messages of others are left out"
    return counted(trial, name, row["failed"], words, row["file"], row["line"])


@dataclass(frozen=True, kw_only=True)
class Stores:
    """What the brokers told of the load's queues when it had ended, beside what they acknowledged until then.

    ``queues`` were read then, ``unread`` were not, though the load used them. Of the ``stored`` messages the queues have got
    ``ever`` so many since the load began. ``placed`` acknowledgements told queue and offset: ``shared`` of them the same ones as
    another one, and ``beyond`` are the queues that end below one.
    """

    queues: int
    unread: int
    stored: int
    ever: int
    placed: int
    shared: int
    beyond: int

    @property
    def were_read(self) -> bool:
        """All of them."""
        return self.queues > 0 and not self.unread


def stores_of(inputs: Inputs) -> Stores:
    """Of every queue that was read at any moment, that a client was told of, or that was consumed from."""
    queue = ("topic", "broker", "queue")
    sends = inputs.consumption.sent.groupBy(*queue).agg(
        F.sum("sends").alias("ok"),
        F.sum(F.bit_count("offsets")).alias("different"),
        F.max("offset_max").alias("offset_max"),
    )
    consumed = inputs.consumption.queues.select(*queue).distinct()
    row = (
        _ends(inputs.records)
        .join(sends, list(queue), "full")
        .join(consumed, list(queue), "full")
        .agg(
            F.count("max_offset").alias("queues"),
            F.count_if(F.col("max_offset").isNull()).alias("unread"),
            *[F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("stored", "ever")],
            F.coalesce(F.sum("ok"), F.lit(0)).alias("placed"),
            F.coalesce(F.sum(F.col("ok") - F.col("different")), F.lit(0)).alias("shared"),
            F.count_if(F.col("offset_max") >= F.col("max_offset")).alias("beyond"),
        )
        .collect()[0]
    )
    return Stores(**row.asDict())


def _ends(records: Records) -> DataFrame:
    """Each queue that was read at any moment: its ``max_offset`` at the end, null where it was not read then, the messages that
    it got since the load began (``ever``), and those that it has of them still (``stored``)."""

    def told(name: str, moment: str) -> Column:
        return F.max(F.when(F.col("moment") == moment, F.col(name)))

    return (
        records.events.where("type = 'store_max'")
        .withColumn("queue", F.col("queue").cast("int"))
        .groupBy("topic", "broker", "queue")
        .agg(
            told("max_offset", "end").alias("max_offset"),
            told("min_offset", "end").alias("min_offset"),
            F.coalesce(told("max_offset", "begin"), F.lit(0)).alias("from"),
        )
        .withColumn("ever", F.col("max_offset") - F.col("from"))
        .withColumn("stored", F.col("max_offset") - F.greatest("min_offset", "from"))
        .drop("min_offset", "from")
    )


def stores_agree(trial: TrialRecord, stores: Stores, figures: Figures, ending: Ending) -> HistoryTries:
    """The brokers hold what they acknowledged, and at most what else may have reached them.

    What ended a load before its end may have kept a broker from its queues as well: then an offset that was acknowledged twice
    alone can be told.
    """
    name = "store agrees"
    is_whole = ending.is_reached and stores.were_read
    absent = max(0, figures.ok - stores.ever) if is_whole else 0
    bad = stores.shared + absent + (stores.beyond if ending.is_reached else 0)
    words = f"{stores.stored:,} messages in {stores.queues} queues, " if stores.queues else ""
    words += f"{figures.ok:,} acknowledged"
    if stores.placed:
        words += f", {stores.placed:,} of them with queue and offset; {stores.shared} offsets acknowledged twice"
        words += f", {stores.beyond} queues shorter than was acknowledged" if stores.queues else ""
    else:
        words += ", none of them with queue and offset"
    if not is_whole:
        words = f"{unread_words(stores, ending)}: {words}"
    if bad:
        return counted(trial, name, bad, words)
    if not stores.queues + stores.unread:
        return untold(trial, name, "the brokers were not asked for their queues' ends")
    if not figures.ok:
        return untold(trial, name, "; ".join(filter(None, (ending.why, "nothing was acknowledged"))))
    return counted(trial, name, 0, words) if is_whole else untold(trial, name, words)


def unread_words(stores: Stores, ending: Ending) -> str:
    """That queues were not read at the end, and why."""
    queues = stores.queues + stores.unread
    number = f"{stores.unread} of {queues} queues were not read at the end" if queues else "no queue's end was read"
    return "; ".join(filter(None, (ending.why, number if stores.unread or not queues else "")))


def keys(records: Records, trial: TrialRecord) -> HistoryTries:
    """Where sends go by key, each key stayed in one queue."""
    name = "a key, a queue"
    if trial.params.get("route") not in ("selector", "fixed"):
        return counted(trial, name, 0, "not promised: sends went where the client chose")
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
        return untold(trial, name, "nothing told in which queues keys lie")
    if not row["moved"]:
        return counted(trial, name, 0, f"each of {row['keys']} keys stayed in one queue")
    first = queues_of_key(records, trial.topic, row["first"]).collect()[0]
    words = f"{row['moved']} of {row['keys']} keys moved; {row['first']} was in {', '.join(first['queues'])}"
    return counted(trial, name, row["moved"], words, first["file"], first["line"])


def workers_missing(run: RunDirectory, trial: TrialRecord) -> int:
    """How many workers' histories lie on other machines still."""
    producers = [file for file in run.history_files if file.name.startswith("producer-")]
    workers = trial.params.get(WORKERS, 0)
    return max(0, workers - len(producers)) if isinstance(workers, int) else 0


def locust_agrees(
    trial: TrialRecord, requests: int | None, failures: int | None, figures: Figures, missing: int
) -> HistoryTries:
    """Locust's account and the history have the same numbers."""
    name = "Locust agrees"
    if missing:
        return untold(trial, name, _ELSEWHERE.format(missing))
    if requests is None or failures is None:
        return untold(trial, name, "Locust wrote no counts")
    absent = figures.sends - requests
    words = f"Locust counted {requests:,} and {failures:,} failures, the history has {figures.sends:,} and {figures.not_accepted:,}"
    if absent > 0:
        words += "; a worker that is killed has up to 3 s that it did not report"
    bad = abs(absent) + abs(figures.not_accepted - failures)
    return counted(trial, name, bad, words)


def whole(facts: TrialFacts, missing: int) -> HistoryTries:
    """No line of the history is damaged, and no worker's is missing."""
    name = "history whole"
    if missing:
        return untold(facts.trial, name, _ELSEWHERE.format(missing))
    count = facts.damaged_lines
    words = f"{facts.records:,} records, {count} damaged lines (a kill may damage one a process, the last)"
    return counted(facts.trial, name, count, words)
