"""Busy: which of the five keywords a broker refused sends with, when, and after how long in its queue.

Everything comes from the remarks that the clients recorded, since 4.x logs none of them for a normal send. Refusals are
counted among the sends that were due from one second before the stalled append to two seconds after it; in a trial
without a stall, over the whole hold. Zero is a result and is given for every keyword.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, together, trial_unit

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

_PAGE_CACHE_LABEL, _ANY_LABEL = "page-cache", "any"
_BEFORE_NS, _AFTER_NS, _SECOND_NS = 1_000_000_000, 2_000_000_000, 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """Refusals by keyword, for the trials of open-loop sends."""
    trials = inputs.trials.where("NOT grouped AND sends > 0")
    refused = _refused(inputs, trials).persist()
    return together(_by_keyword(trials, refused), _by_trial(trials, refused), _each(refused))


def _refused(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """The sends with a keyword that were due in the window, one row each."""
    remark = F.col("remark")
    keyword = F.coalesce(*[F.when(remark.contains(f"[{word}]"), F.lit(word)) for word in KEYWORDS])
    # 4.x's remoting layer says the same of a full pool without the bracket.
    keyword = F.coalesce(keyword, F.when(remark.contains("system thread pool busy"), F.lit("OVERLOAD")))
    period_ms = F.regexp_extract("remark", r"period in queue: (\d+)ms", 1).try_cast("double")
    sends = inputs.records.sends.where("remark IS NOT NULL AND remark != ''").select(
        "trial", "file", "n", "seq", "intended_ns", "finished_ns", "remark", keyword.alias("keyword")
    )
    return (
        sends.where("keyword IS NOT NULL")
        .join(trials, "trial")
        .where(_in_window())
        .select(
            "trial",
            "deployment",
            "file",
            "n",
            "seq",
            "keyword",
            "intended_ns",
            "finished_ns",
            period_ms.alias("period_ms"),
            F.when(F.col("keyword") == TIMEOUT, period_ms - F.col("wait_limit_ms")).alias("over_ms"),
            ((F.col("finished_ns") - F.col("append_entry_ns")) / 1e6).alias("after_ms"),
            F.regexp_extract("remark", r"size of queue: (\d+)", 1).try_cast("long").alias("size"),
        )
    )


def _in_window() -> Column:
    """Whether a send was due around the trial's stall, or in its hold when it had none."""
    from_ns = F.coalesce(F.col("append_entry_ns") - _BEFORE_NS, F.col("hold_from_ns"))
    to_ns = F.coalesce(F.col("append_exit_ns") + _AFTER_NS, F.col("hold_to_ns"))
    return F.col("intended_ns").between(from_ns, to_ns)


def _by_keyword(trials: DataFrame, refused: DataFrame) -> DataFrame:
    """Every label in every trial that has sends; zero is a count, the other measures need a refusal."""
    labels = F.explode(F.array(*[F.lit(word) for word in (*KEYWORDS, _PAGE_CACHE_LABEL, _ANY_LABEL)]))
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
        trial_unit(),
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
            file=F.col("file"),
            line=F.col("n"),
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
    return F.array_compact(F.array(F.col("keyword"), page_cache, F.lit(_ANY_LABEL)))


def _by_trial(trials: DataFrame, refused: DataFrame) -> DataFrame:
    """The largest number of refusals that came back within any one second, and the first one's excess."""
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
        trial_unit(),
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


def _each(refused: DataFrame) -> DataFrame:
    keyword = {"keyword": F.col("keyword")}
    values = {"period_in_queue_ms": "period_ms", "period_over_limit_ms": "over_ms", "rejected_after_ms": "after_ms"}
    return observations(
        refused,
        trial_unit(),
        *[
            Value(
                measure=measure,
                value=F.col(column),
                params=keyword,
                file=F.col("file"),
                line=F.col("n"),
                operation=F.concat(F.lit("send "), F.col("seq"), F.lit(" refused")),
            )
            for measure, column in values.items()
        ],
    )
