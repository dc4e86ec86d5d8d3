"""Busy: which of the five keywords a broker refused sends with, when, and after how long in its queue.

Everything comes from the remarks that the clients recorded, since 4.x logs none of them for a normal send. Refusals are
counted among the sends that were due from one second before the stalled append to two seconds after it; in a trial
without a stall, over the whole hold. Zero is a result and is given for every keyword.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, events_file, observation, together, trial_unit

MEASURES: tuple[str, ...] = (
    "rejected_count",
    "period_in_queue_ms",
    "period_over_limit_ms",
    "first_period_over_limit_ms",
    "rejected_after_ms",
    "first_rejected_after_ms",
    "rejected_within_1s_max",
    "queue_depth",
)

TIMEOUT = "TIMEOUT_CLEAN_QUEUE"
KEYWORDS = ("REJECTREQUEST", "OVERLOAD", "PC_SYNCHRONIZED", "PCBUSY_CLEAN_QUEUE", TIMEOUT)
PAGE_CACHE = ("REJECTREQUEST", "PC_SYNCHRONIZED", "PCBUSY_CLEAN_QUEUE")
"""The three that say that the page cache is busy: before queueing, in the store, and while queued."""

_BEFORE_NS, _AFTER_NS, _SECOND_NS = 1_000_000_000, 2_000_000_000, 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """Refusals by keyword, for the trials of open-loop sends."""
    trials = inputs.trials.where("NOT grouped")
    refused = _refused(inputs, trials)
    labelled = refused.select("*", F.explode(_labels()).alias("label"))
    stalled = labelled.where("append_entry_ns IS NOT NULL")
    return together(
        _counts(trials, inputs, labelled),
        _within_one_second(trials, inputs, refused),
        *_periods(refused),
        *_after_stall(stalled),
        _depths(labelled),
    )


def _refused(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """The sends with a keyword that were due in the window, one row each."""
    remark = F.col("remark")
    keyword = F.coalesce(*[F.when(remark.contains(f"[{word}]"), F.lit(word)) for word in KEYWORDS])
    # 4.x's remoting layer says the same of a full pool without the bracket.
    keyword = F.coalesce(keyword, F.when(remark.contains("system thread pool busy"), F.lit("OVERLOAD")))
    sends = inputs.records.sends.where("remark IS NOT NULL AND remark != ''").select(
        "trial", "file", "n", "seq", "intended_ns", "finished_ns", "remark", keyword.alias("keyword")
    )
    return (
        sends.where("keyword IS NOT NULL")
        .join(trials, "trial")
        .where(in_window())
        .select(
            "*",
            F.regexp_extract("remark", r"period in queue: (\d+)ms", 1).try_cast("double").alias("period_ms"),
            F.regexp_extract("remark", r"size of queue: (\d+)", 1).try_cast("long").alias("size"),
        )
    )


def in_window() -> Column:
    """Whether a send was due around the trial's stall, or in its hold when it had none."""
    from_ns = F.coalesce(F.col("append_entry_ns") - _BEFORE_NS, F.col("hold_from_ns"))
    to_ns = F.coalesce(F.col("append_exit_ns") + _AFTER_NS, F.col("hold_to_ns"))
    return F.col("intended_ns").between(from_ns, to_ns)


def _labels() -> Column:
    page_cache = F.when(F.col("keyword").isin(*PAGE_CACHE), F.lit("page-cache"))
    return F.array_compact(F.array(F.col("keyword"), page_cache, F.lit("any")))


def _counts(trials: DataFrame, inputs: Inputs, labelled: DataFrame) -> DataFrame:
    """Every label in every trial that has sends, zero included."""
    labels = F.explode(F.array(*[F.lit(word) for word in (*KEYWORDS, "page-cache", "any")]))
    cells = _trials_with_sends(trials, inputs).select("*", labels.alias("label"))
    counted = labelled.groupBy("trial", "label").agg(
        F.count("*").alias("refusals"),
        F.min_by("file", "finished_ns").alias("file"),
        F.min_by("n", "finished_ns").alias("n"),
    )
    refusals = F.coalesce("refusals", F.lit(0))
    return observation(
        cells.join(counted, ["trial", "label"], "left"),
        measure="rejected_count",
        value=refusals,
        params={"keyword": F.col("label")},
        unit=trial_unit(),
        file=F.coalesce("file", events_file()),
        line=F.coalesce("n", "append_line", "fault_line"),
        operation=F.concat(refusals, F.lit(" sends refused, keyword "), F.col("label")),
    )


def _trials_with_sends(trials: DataFrame, inputs: Inputs) -> DataFrame:
    sent = inputs.records.sends.join(
        trials.select("trial", "append_entry_ns", "append_exit_ns", "hold_from_ns", "hold_to_ns"), "trial"
    )
    return trials.join(sent.where(in_window()).select("trial").distinct(), "trial")


def _within_one_second(trials: DataFrame, inputs: Inputs, refused: DataFrame) -> DataFrame:
    """The largest number of refusals that came back within any one second."""
    one_second = Window.partitionBy("trial").orderBy("finished_ns").rangeBetween(-(_SECOND_NS - 1), 0)
    crowded = (
        refused.select("trial", "file", "n", "finished_ns", F.count("*").over(one_second).alias("crowd"))
        .groupBy("trial")
        .agg(F.max("crowd").alias("crowd"), F.max_by("file", "crowd").alias("file"), F.max_by("n", "crowd").alias("n"))
    )
    crowd = F.coalesce("crowd", F.lit(0))
    return observation(
        _trials_with_sends(trials, inputs).join(crowded, "trial", "left"),
        measure="rejected_within_1s_max",
        value=crowd,
        unit=trial_unit(),
        file=F.coalesce("file", events_file()),
        line=F.coalesce("n", "append_line", "fault_line"),
        operation=F.concat(F.lit("the last of "), crowd, F.lit(" refusals within a second")),
    )


def _periods(refused: DataFrame) -> list[DataFrame]:
    timed = refused.where("period_ms IS NOT NULL")
    over = timed.where(F.col("keyword") == TIMEOUT).withColumn("over_ms", F.col("period_ms") - F.col("wait_limit_ms"))
    first = over.groupBy("trial", "deployment").agg(
        F.min_by("over_ms", "finished_ns").alias("over_ms"),
        F.min_by("file", "finished_ns").alias("file"),
        F.min_by("n", "finished_ns").alias("n"),
    )
    return [
        _each(
            timed, "period_in_queue_ms", F.col("period_ms"), {"keyword": F.col("keyword")}, "refused after its period"
        ),
        _each(over, "period_over_limit_ms", F.col("over_ms"), {"keyword": F.col("keyword")}, "refused over the limit"),
        _each(first, "first_period_over_limit_ms", F.col("over_ms"), {}, "the stall's first refusal"),
    ]


def _after_stall(stalled: DataFrame) -> list[DataFrame]:
    timed = stalled.withColumn("after_ms", (F.col("finished_ns") - F.col("append_entry_ns")) / 1e6)
    first = (
        timed.where("after_ms >= 0")
        .groupBy("trial", "deployment", "label")
        .agg(
            F.min("after_ms").alias("after_ms"),
            F.min_by("file", "after_ms").alias("file"),
            F.min_by("n", "after_ms").alias("n"),
        )
    )
    own = timed.where(F.col("label") == F.col("keyword"))
    words = {"keyword": F.col("label")}
    return [
        _each(own, "rejected_after_ms", F.col("after_ms"), words, "refused after the stall began"),
        _each(first, "first_rejected_after_ms", F.col("after_ms"), words, "the stall's first refusal"),
    ]


def _depths(labelled: DataFrame) -> DataFrame:
    """The queue's size is read after the removal, so the request itself makes one more."""
    depth = F.col("size") + 1
    deepest = (
        labelled.where("size IS NOT NULL")
        .groupBy("trial", "deployment", "label")
        .agg(
            F.max(depth).alias("depth"),
            F.max_by("file", "size").alias("file"),
            F.max_by("n", "size").alias("n"),
        )
    )
    return _each(deepest, "queue_depth", F.col("depth"), {"keyword": F.col("label")}, "refused from the longest queue")


def _each(table: DataFrame, measure: str, value: Column, params: dict[str, Column], words: str) -> DataFrame:
    return observation(
        table,
        measure=measure,
        value=value,
        params=params,
        unit=trial_unit(),
        file=F.col("file"),
        line=F.col("n"),
        operation=F.lit(f"send, {words}"),
    )
