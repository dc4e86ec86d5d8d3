"""Busy: which of the five keywords a broker refused sends with, when, and after how long in its queue.

Everything comes from the remarks that the clients recorded, since 4.x logs none of them for a normal send. Refusals are
counted among the sends that were due from one second before the stalled append to two seconds after it; in a trial
without a stall, over the whole hold. Zero is a result and is given for every keyword.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, together
from harness.model.rocketmq import (
    BUSY_KEYWORDS,
    PC_SYNCHRONIZED,
    PCBUSY_CLEAN_QUEUE,
    REJECTREQUEST,
    TIMEOUT_CLEAN_QUEUE,
)

OVERLOAD_PHRASE = "too many requests and system thread pool busy"
PAGE_CACHE = (REJECTREQUEST, PC_SYNCHRONIZED, PCBUSY_CLEAN_QUEUE)
"""The three that say that the page cache is busy: before queueing, in the store, and while queued."""

_PAGE_CACHE_LABEL, ANY_LABEL = "page-cache", "any"
_BEFORE_NS, _AFTER_NS, _SECOND_NS = 1_000_000_000, 2_000_000_000, 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """Refusals by keyword, for the trials of open-loop sends."""
    trials = inputs.trials.where("NOT grouped AND sends > 0")
    refused = _refused(inputs, trials).persist()
    return together(
        _by_keyword(trials, refused), _by_trial(trials, refused), _each(refused), _sizes(refused, _rates(inputs))
    )


def _refused(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """The sends with a keyword that were due in the window, one row each."""
    period_ms = F.regexp_extract("remark", r"period in queue: (\d+)ms", 1).try_cast("double")
    sends = inputs.records.sends.where("remark IS NOT NULL AND remark != ''").select(
        "trial",
        "file",
        "n",
        "seq",
        "intended_ns",
        "finished_ns",
        "code",
        "remark",
        keyword_of("remark").alias("keyword"),
    )
    return (
        sends.where("keyword IS NOT NULL")
        .join(trials, "trial")
        .where(in_window())
        .select(
            "trial",
            "deployment",
            "file",
            "n",
            "seq",
            "keyword",
            "intended_ns",
            "finished_ns",
            "code",
            F.col("remark").contains(OVERLOAD_PHRASE).alias("has_phrase"),
            period_ms.alias("period_ms"),
            F.when(F.col("keyword") == TIMEOUT_CLEAN_QUEUE, period_ms - F.col("wait_limit_ms")).alias("over_ms"),
            ((F.col("finished_ns") - F.col("append_entry_ns")) / 1e6).alias("after_ms"),
            F.regexp_extract("remark", r"size of queue: (\d+)", 1).try_cast("long").alias("size"),
        )
    )


def keyword_of(remark: str) -> Column:
    """Which of the five keywords a remark carries, else null."""
    text = F.col(remark)
    keyword = F.coalesce(*[F.when(text.contains(f"[{word}]"), F.lit(word)) for word in BUSY_KEYWORDS])
    # A remoting layer may say the same of a full pool without the bracket.
    return F.coalesce(keyword, F.when(text.contains("system thread pool busy"), F.lit("OVERLOAD")))


def in_window() -> Column:
    """Whether a send was due around the trial's stall, or in the hold when no append stalled."""
    from_ns = F.coalesce(F.col("append_entry_ns") - _BEFORE_NS, F.col("fault_ns"), F.col("hold_from_ns"))
    to_ns = F.coalesce(F.col("append_exit_ns") + _AFTER_NS, F.col("hold_to_ns"))
    return F.col("intended_ns").between(from_ns, to_ns)


def _by_keyword(trials: DataFrame, refused: DataFrame) -> DataFrame:
    """Every keyword in every trial that has sends. Zero is a count; the other measures need a refusal."""
    labels = F.explode(F.array(*[F.lit(word) for word in (*BUSY_KEYWORDS, _PAGE_CACHE_LABEL, ANY_LABEL)]))
    after_ms = F.when(F.col("after_ms") >= 0, F.col("after_ms"))
    counted = (
        refused.select("*", F.explode(_labels()).alias("label"))
        .groupBy("trial", "label")
        .agg(
            F.count("*").alias("refusals"),
            F.min_by("file", "finished_ns").alias("file"),
            F.min_by("n", "finished_ns").alias("n"),
            F.min(after_ms).alias("first_after_ms"),
            F.max("size").alias("size"),
            F.max_by("file", "size").alias("deep_file"),
            F.max_by("n", "size").alias("deep_n"),
        )
    )
    refusals, label = F.coalesce("refusals", F.lit(0)), F.col("label")
    return observations(
        trials.select("*", labels.alias("label")).join(counted, ["trial", "label"], "left"),
        Value(
            measure="rejected_count",
            value=refusals,
            params={"keyword": label},
            file=F.coalesce("file", events_file()),
            line=F.coalesce("n", "append_line", "fault_line"),
            operation=F.concat(refusals, F.lit(" sends refused, keyword "), label),
        ),
        Value(
            measure="first_rejected_after_ms",
            value=F.col("first_after_ms"),
            params={"keyword": label},
            operation=F.lit("the first refusal after the stall began"),
        ),
        Value(
            measure="queue_depth",
            # The queue's size is read after the removal, so the refused request itself makes one more.
            value=F.col("size") + 1,
            params={"keyword": label},
            file=F.col("deep_file"),
            line=F.col("deep_n"),
            operation=F.lit("the send that was refused from the longest queue"),
        ),
    )


def _labels() -> Column:
    page_cache = F.when(F.col("keyword").isin(*PAGE_CACHE), F.lit(_PAGE_CACHE_LABEL))
    return F.array_compact(F.array(F.col("keyword"), page_cache, F.lit(ANY_LABEL)))


def _by_trial(trials: DataFrame, refused: DataFrame) -> DataFrame:
    """The most refusals within any one second, and the excess of the first one."""
    one_second = Window.partitionBy("trial").orderBy("finished_ns").rangeBetween(-(_SECOND_NS - 1), 0)
    over_at = F.when(F.col("over_ms").isNotNull(), F.col("finished_ns"))
    crowded = (
        refused.withColumn("crowd", F.count("*").over(one_second))
        .groupBy("trial")
        .agg(
            F.max("crowd").alias("crowd"),
            F.max_by("file", "crowd").alias("file"),
            F.max_by("n", "crowd").alias("n"),
            F.min_by("over_ms", over_at).alias("first_over_ms"),
            F.min_by("file", over_at).alias("over_file"),
            F.min_by("n", over_at).alias("over_n"),
        )
    )
    crowd = F.coalesce("crowd", F.lit(0))
    return observations(
        trials.join(crowded, "trial", "left"),
        Value(
            measure="rejected_within_1s_max",
            value=crowd,
            file=F.coalesce("file", events_file()),
            line=F.coalesce("n", "append_line", "fault_line"),
            operation=F.concat(F.lit("the last of "), crowd, F.lit(" refusals within a second")),
        ),
        Value(
            measure="first_period_over_limit_ms",
            value=F.col("first_over_ms"),
            file=F.col("over_file"),
            line=F.col("over_n"),
            operation=F.lit("the stall's first request that was refused for its age"),
        ),
    )


def _rates(inputs: Inputs) -> DataFrame:
    """Sends that were due in a millisecond, by trial."""
    due_ms = (F.max("intended_ns") - F.min("intended_ns")) / 1e6
    return inputs.records.sends.groupBy("trial").agg(((F.count("*") - 1) / due_ms).alias("per_ms"))


def _sizes(refused: DataFrame, rates: DataFrame) -> DataFrame:
    """The size that a refusal names, less the requests that came while the refused one waited.

    Those requests stand behind it. The last of them came up to one interval ago. A size that is read after the removal therefore
    has half a request less than them on average, one that is read before has half a request more.
    """
    behind = F.col("period_ms") * F.col("per_ms")
    by_trial = (
        refused.where((F.col("keyword") == TIMEOUT_CLEAN_QUEUE) & F.col("size").isNotNull())
        .join(F.broadcast(rates), "trial")
        .groupBy("trial", "deployment")
        .agg(F.avg(F.col("size") - behind).alias("excess"), F.min_by("file", "n").alias("file"), F.min("n").alias("n"))
    )
    return observations(
        by_trial,
        Value(
            measure="size_over_arrivals",
            value=F.col("excess"),
            operation=F.lit("the size that its refusals name, less the requests behind them, on average"),
        ),
    )


def _each(refused: DataFrame) -> DataFrame:
    keyword = {"keyword": F.col("keyword")}
    values = {
        "period_in_queue_ms": "period_ms",
        "period_over_limit_ms": "over_ms",
        "refusal_code": "code",
        "has_article_phrase": "has_phrase",
    }
    return observations(
        refused,
        *[
            Value(
                measure=measure,
                value=F.col(column),
                params=keyword,
                operation=F.concat(F.lit("send "), F.col("seq"), F.lit(" refused")),
            )
            for measure, column in values.items()
        ],
    )
