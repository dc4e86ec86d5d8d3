"""Busy: which of the five keywords a broker refused sends with, when, and after how long in its queue.

Everything comes from the remarks that the clients recorded, since 4.x logs none of them for a normal send. Refusals are
counted among the sends that were due from one second before the stalled append to two seconds after it; in a trial
without a stall, over the whole hold. Zero is a result and is given for every keyword.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place
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

_PAGE_CACHE_LABEL, FIRST_FOUR, ANY_LABEL = "page-cache", "first-four", "any"
"""Of several keywords: these three, all but the one for waiting too long, and all five."""
_BEFORE_NS, _AFTER_NS = 1_000_000_000, 2_000_000_000


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
    sends = inputs.records.sends.where("remark IS NOT NULL AND remark != ''")
    return (
        sends.withColumn("keyword", keyword_of("remark"))
        .where("keyword IS NOT NULL")
        .join(trials, "trial")
        .where(in_window())
        .select(
            *("trial", "deployment", "file", "n", "seq", "keyword", "intended_ns", "finished_ns", "code"),
            place().alias("at"),
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
    labels = F.explode(F.array(*[F.lit(word) for word in (*BUSY_KEYWORDS, _PAGE_CACHE_LABEL, FIRST_FOUR, ANY_LABEL)]))
    after_ms = F.when(F.col("after_ms") >= 0, F.col("after_ms"))
    counted = (
        refused.select("*", F.explode(_labels()).alias("label"))
        .groupBy("trial", "label")
        .agg(
            F.count("*").alias("refusals"),
            F.min_by("at", "finished_ns").alias("at"),
            F.min(after_ms).alias("first_after_ms"),
            F.max("size").alias("size"),
            F.max_by("at", "size").alias("deep_at"),
        )
    )
    keyword = {"keyword": "label"}
    return observations(
        trials.select("*", labels.alias("label")).join(counted, ["trial", "label"], "left"),
        Value(
            "rejected_count",
            F.coalesce("refusals", F.lit(0)),
            "{value} sends refused, keyword {label}",
            at=_or_stall("at"),
            params=keyword,
        ),
        Value(
            "first_rejected_after_ms",
            "first_after_ms",
            "the first refusal after the stall began",
            at="at",
            params=keyword,
        ),
        Value(
            "queue_depth",
            # The queue's size is read after the removal, so the refused request itself makes one more.
            F.col("size") + 1,
            "the send that was refused from the longest queue",
            at="deep_at",
            params=keyword,
        ),
    )


def _or_stall(at: str) -> Column:
    """The place, or where the events have the stalled append or the fault."""
    return F.coalesce(at, in_events(F.coalesce("append_line", "fault_line")))


def _labels() -> Column:
    page_cache = F.when(F.col("keyword").isin(*PAGE_CACHE), F.lit(_PAGE_CACHE_LABEL))
    first_four = F.when(F.col("keyword") != TIMEOUT_CLEAN_QUEUE, F.lit(FIRST_FOUR))
    return F.array_compact(F.array(F.col("keyword"), page_cache, first_four, F.lit(ANY_LABEL)))


def _by_trial(trials: DataFrame, refused: DataFrame) -> DataFrame:
    """The most refusals within any one second, and the excess of the first one."""
    one_second = Window.partitionBy("trial").orderBy("finished_ns").rangeBetween(-(SECOND_NS - 1), 0)
    over_at = F.when(F.col("over_ms").isNotNull(), F.col("finished_ns"))
    crowded = (
        refused.withColumn("crowd", F.count("*").over(one_second))
        .groupBy("trial")
        .agg(
            F.max("crowd").alias("crowd"),
            F.max_by("at", "crowd").alias("at"),
            F.min_by("over_ms", over_at).alias("first_over_ms"),
            F.min_by("at", over_at).alias("over_at"),
        )
    )
    crowd = F.coalesce("crowd", F.lit(0))
    said = "the stall's first request that was refused for its age"
    return observations(
        trials.join(crowded, "trial", "left"),
        Value("rejected_within_1s_max", crowd, "the last of {value} refusals within a second", at=_or_stall("at")),
        Value("first_period_over_limit_ms", "first_over_ms", said, at="over_at"),
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
        .agg(F.avg(F.col("size") - behind).alias("excess"), F.min_by("at", "n").alias("at"))
    )
    said = "the size that its refusals name, less the requests behind them, on average"
    return observations(by_trial, Value("size_over_arrivals", "excess", said, at="at"))


def _each(refused: DataFrame) -> DataFrame:
    values = {
        "period_in_queue_ms": "period_ms",
        "period_over_limit_ms": "over_ms",
        "refusal_code": "code",
        "has_article_phrase": "has_phrase",
    }
    keyword = {"keyword": "keyword"}
    return observations(
        refused, *[Value(measure, column, "send {seq} refused", params=keyword) for measure, column in values.items()]
    )
