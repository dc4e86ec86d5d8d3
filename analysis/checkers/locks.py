"""Queue locks: when they were renewed, how old they were when the successor got them, and what the broker logged.

A lock's age is counted from the owner's last granted request to the successor's first granted one, both from the start
of the request, so that the way to the broker cancels out. Log lines are joined by group, queue and both client ids, in
the time between the fault and the take-over.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, events_file, observation, owner_unit, queue_words, together
from analysis.checkers.handover import OWNERS_END
from analysis.consumption import OWNER, SUCCESSOR, owned_at_fault, queue_name
from analysis.logs import lock

MEASURES: tuple[str, ...] = (
    "lock_age_at_takeover_s",
    "refused_before_takeover",
    "renewal_period_s",
    "lock_lines_waiting",
    "unlock_lines",
    "unlock_after_s",
    "foreign_lock_granted",
)

LOCK_BATCH_MQ, UNLOCK_BATCH_MQ = 41, 42
"""org.apache.rocketmq.common.protocol.RequestCode (remoting.protocol in 5.3.3)."""

_RENEWER = "ConsumeMessageScheduledThread"
"""The client's own lock thread, of ConsumeMessageOrderlyService; requests of other threads come from rebalancing."""

_SECOND_NS = 1_000_000_000
_CHANGED_QUEUE = ("trial", "group", "lock_queue")


@dataclass(frozen=True, kw_only=True)
class _Requests:
    """Answered lock and unlock requests, one row for each queue that was asked for."""

    locks: DataFrame
    unlocks: DataFrame


def observe(inputs: Inputs) -> DataFrame:
    """Everything about locks, for the queues that changed hands; renewals for all owners, probes where there are any."""
    requests = _requests(inputs)
    changed = _changed_queues(inputs, requests)
    return together(
        *_takeovers(changed),
        *_log_lines(inputs, changed),
        _unlocks(inputs, changed, requests),
        _renewals(inputs),
        _probes(inputs),
    )


# --- requests ---------------------------------------------------------------------------------------------------------


def _requests(inputs: Inputs) -> _Requests:
    answered = inputs.records.lock_requests.where("finished_ns IS NOT NULL")
    columns = ("trial", "group", "process", "instance", "started_ns", "file", "n")
    each = answered.where(F.col("code") == LOCK_BATCH_MQ).select(
        *columns, "granted", F.explode("asked").alias("lock_queue")
    )
    return _Requests(
        locks=each.withColumn("is_granted", F.coalesce(F.array_contains("granted", F.col("lock_queue")), F.lit(False))),
        unlocks=answered.where(F.col("code") == UNLOCK_BATCH_MQ).select(
            *columns, F.explode("asked").alias("lock_queue")
        ),
    )


def _changed_queues(inputs: Inputs, requests: _Requests) -> DataFrame:
    """The queues that the owner had at the fault, with its last renewal and the successor's first grant."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    queues = (
        inputs.consumption.queues.join(trials, ["trial", "topic"])
        .where(owned_at_fault())
        .withColumn("lock_queue", queue_name())
    )
    times = trials.select("trial", "fault_ns", "end_ns")
    locks = requests.locks.join(times, "trial")
    renewed = (
        locks.where((F.col("process") == OWNER) & F.col("is_granted") & (F.col("started_ns") < F.col("fault_ns")))
        .groupBy(*_CHANGED_QUEUE)
        .agg(F.max("started_ns").alias("renewed_ns"))
    )
    asked = locks.where((F.col("process") == SUCCESSOR) & (F.col("started_ns") >= F.col("fault_ns")))
    granted_ns = F.when(F.col("is_granted"), F.col("started_ns"))
    granted = asked.groupBy(*_CHANGED_QUEUE).agg(
        F.min(granted_ns).alias("granted_ns"),
        F.min_by("file", granted_ns).alias("granted_file"),
        F.min_by("n", granted_ns).alias("granted_line"),
    )
    refused = (
        asked.join(granted.select(*_CHANGED_QUEUE, "granted_ns"), list(_CHANGED_QUEUE), "left")
        .where(~F.col("is_granted") & (F.col("started_ns") < F.coalesce("granted_ns", "end_ns")))
        .groupBy(*_CHANGED_QUEUE)
        .agg(
            F.count("*").alias("refused"),
            F.max_by("file", "started_ns").alias("refused_file"),
            F.max_by("n", "started_ns").alias("refused_line"),
        )
    )
    return (
        queues.join(renewed, list(_CHANGED_QUEUE), "left")
        .join(granted, list(_CHANGED_QUEUE), "left")
        .join(refused, list(_CHANGED_QUEUE), "left")
        .join(_client_ids(inputs, OWNER, "owner_client"), ["trial", "group"], "left")
        .join(_client_ids(inputs, SUCCESSOR, "successor_client"), ["trial", "group"], "left")
    )


def _client_ids(inputs: Inputs, process: str, name: str) -> DataFrame:
    """The last client id that the group's instance of this process told; it has one only once it has started."""
    told = inputs.records.instances.where((F.col("process") == process) & (F.col("client_id") != ""))
    return told.groupBy("trial", "group").agg(F.max_by("client_id", "at_ns").alias(name))


def _takeovers(changed: DataFrame) -> list[DataFrame]:
    granted = F.col("granted_ns").isNotNull()
    age = observation(
        changed.where("renewed_ns IS NOT NULL"),
        measure="lock_age_at_takeover_s",
        value=(F.coalesce("granted_ns", "end_ns") - F.col("renewed_ns")) / _SECOND_NS,
        censored=~granted,
        unit=owner_unit(),
        file=F.coalesce("granted_file", "owned_file"),
        line=F.coalesce("granted_line", "owned_line"),
        operation=F.concat(
            queue_words(), F.when(granted, ": lock granted to the successor").otherwise(": not granted")
        ),
    )
    refused = observation(
        changed,
        measure="refused_before_takeover",
        value=F.coalesce("refused", F.lit(0)),
        unit=owner_unit(),
        file=F.coalesce("refused_file", "granted_file", "owned_file"),
        line=F.coalesce("refused_line", "granted_line", "owned_line"),
        operation=F.concat(
            queue_words(),
            F.lit(": "),
            F.coalesce("refused", F.lit(0)),
            F.lit(" lock requests of the successor refused"),
        ),
    )
    return [age, refused]


def _renewals(inputs: Inputs) -> DataFrame:
    by_address = Window.partitionBy("trial", "instance", "address").orderBy("started_ns")
    renewals = (
        inputs.records.lock_requests.where(
            (F.col("code") == LOCK_BATCH_MQ) & (F.col("process") == OWNER) & F.col("thread").startswith(_RENEWER)
        )
        .withColumn("before_ns", F.lag("started_ns").over(by_address))
        .join(inputs.trials, ["trial", "topic"])
    )
    return observation(
        renewals.where("before_ns IS NOT NULL"),
        measure="renewal_period_s",
        value=(F.col("started_ns") - F.col("before_ns")) / _SECOND_NS,
        unit=F.concat_ws("/", "deployment", "trial", "instance"),
        file=F.col("file"),
        line=F.col("n"),
        operation=F.concat(F.lit("lock request of "), F.col("instance"), F.lit(" to "), F.col("address")),
    )


def _probes(inputs: Inputs) -> DataFrame:
    probes = inputs.records.events.where("type = 'lock_probe'").select(
        "trial", "n", "group", "queue", "asked_broker", F.col("granted").cast("int").alias("granted")
    )
    own = F.substring_index("queue", ":", 1) == F.col("asked_broker")
    return observation(
        probes.join(inputs.trials.select("trial", "deployment"), "trial"),
        measure="foreign_lock_granted",
        value=F.col("granted"),
        params={"asked": F.when(own, F.lit("own")).otherwise(F.lit("other"))},
        unit=owner_unit(),
        file=events_file(),
        line=F.col("n"),
        operation=F.concat(F.lit("lock of "), F.col("queue"), F.lit(" asked of "), F.col("asked_broker")),
    )


# --- log lines --------------------------------------------------------------------------------------------------------


def _log_lines(inputs: Inputs, changed: DataFrame) -> list[DataFrame]:
    """How many lines of each file say that the queue is locked by the owner, for the successor; lock.log always."""
    about = _lines_about(inputs, changed, lock.WAITING).where(
        (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
        & _not_before_fault()
        & (F.col("wall_us") <= _wall_us(F.coalesce("granted_ns", "end_ns")))
    )
    counted = about.groupBy(*_CHANGED_QUEUE, "name").agg(
        F.count("*").alias("lines"),
        F.max_by("log_file", "wall_us").alias("log_file"),
        F.max_by("log_line", "wall_us").alias("log_line"),
    )
    in_lock_log = F.lit("lock.log")
    always = changed.withColumn("name", in_lock_log).join(counted, [*_CHANGED_QUEUE, "name"], "left")
    others = changed.join(counted.where(F.col("name") != in_lock_log), list(_CHANGED_QUEUE))
    return [
        observation(
            table,
            measure="lock_lines_waiting",
            value=F.coalesce("lines", F.lit(0)),
            params={"file": F.col("name")},
            unit=owner_unit(),
            file=F.coalesce("log_file", "refused_file", "granted_file", "owned_file"),
            line=F.coalesce("log_line", "refused_line", "granted_line", "owned_line"),
            operation=F.concat(
                queue_words(),
                F.lit(": "),
                F.coalesce("lines", F.lit(0)),
                F.lit(" lines in "),
                F.col("name"),
                F.lit(" that "),
                F.col("successor_client"),
                F.lit(" waits for "),
                F.col("owner_client"),
            ),
        )
        for table in (always, others)
    ]


def _unlocks(inputs: Inputs, changed: DataFrame, requests: _Requests) -> DataFrame:
    """Unlocking by the owner after the fault: the broker's lines, and the time of the first line or request.

    A line of a log without milliseconds is too coarse for the time; then the request's own start is taken.
    """
    about = _lines_about(inputs, changed, lock.UNLOCKED).where(
        (F.col("client") == F.col("owner_client")) & _not_before_fault()
    )
    exact_us = F.when(F.col("resolution_us") <= 1_000, F.col("wall_us"))
    lines = about.groupBy(*_CHANGED_QUEUE).agg(
        F.count("*").alias("lines"),
        F.min(exact_us).alias("line_us"),
        F.min_by("log_file", "wall_us").alias("log_file"),
        F.min_by("log_line", "wall_us").alias("log_line"),
    )
    asked = (
        requests.unlocks.where(F.col("process") == OWNER)
        .join(inputs.trials.select("trial", "fault_ns"), "trial")
        .where("started_ns >= fault_ns")
        .groupBy(*_CHANGED_QUEUE)
        .agg(
            F.min("started_ns").alias("request_ns"),
            F.min_by("file", "started_ns").alias("request_file"),
            F.min_by("n", "started_ns").alias("request_line"),
        )
    )
    queues = changed.join(lines, list(_CHANGED_QUEUE), "left").join(asked, list(_CHANGED_QUEUE), "left")
    by_line_s = (F.col("line_us") - _wall_us(F.col("fault_ns"))) / 1e6
    after_s = F.coalesce(by_line_s, (F.col("request_ns") - F.col("fault_ns")) / _SECOND_NS)
    file = F.coalesce("log_file", "request_file", "owned_file")
    line = F.coalesce("log_line", "request_line", "owned_line")
    words = F.concat(queue_words(), F.lit(": unlocked by the owner"))
    return observation(
        queues,
        measure="unlock_lines",
        value=F.coalesce("lines", F.lit(0)),
        unit=owner_unit(),
        file=file,
        line=line,
        operation=F.concat(queue_words(), F.lit(": "), F.coalesce("lines", F.lit(0)), F.lit(" unlock lines")),
    ).unionByName(
        observation(
            queues,
            measure="unlock_after_s",
            # A line's time is cut to the millisecond, which may lie just before the fault's own stamp.
            value=F.greatest(after_s, F.lit(0.0)),
            unit=owner_unit(),
            file=file,
            line=line,
            operation=words,
        )
    )


def _lines_about(inputs: Inputs, changed: DataFrame, happened: str) -> DataFrame:
    """The lock lines of one kind, joined to the queue that they are about."""
    lines = inputs.logs.lock_lines.where(F.col("happened") == happened).select(
        "deployment",
        "name",
        F.col("file").alias("log_file"),
        F.col("line").alias("log_line"),
        "wall_us",
        "resolution_us",
        "group",
        "topic",
        "broker",
        "queue",
        "client",
        "holder",
    )
    return changed.join(lines, ["deployment", "group", "topic", "broker", "queue"])


def _not_before_fault() -> Column:
    """The line's time is the start of its millisecond or second; the event may be anywhere in it."""
    return F.col("wall_us") + F.col("resolution_us") > _wall_us(F.col("fault_ns"))


def _wall_us(monotonic_ns: Column) -> Column:
    return (monotonic_ns / 1_000).cast("long") + F.col("wall_minus_mono_us")
