"""Take-overs: how old the owner's lock was when the successor got it, and what the broker logged of it.

A lock's age is counted from the owner's last granted request to the successor's first granted one, both from the start
of the request, so that the way to the broker cancels out. Log lines are joined by group, queue and both client ids, in
the time between the fault and the take-over.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, together
from analysis.checkers.locks.requests import LOCKED_QUEUE, owned_queues, requests_of_queues
from analysis.evidence.consumption import OWNER, SECOND_NS, SUCCESSOR
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from analysis.logs import lock

_LOCK_LOG = "lock.log"
_LOGGED_QUEUE = ("deployment", "group", "topic", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """For the queues that changed hands, and the lines of other files that say so."""
    changed = _changed_queues(inputs).persist()
    lines = _lines_of_queues(inputs, changed).persist()
    return together(_of_queues(changed, lines), _in_other_files(changed, lines), _changes_in_logs(inputs, changed))


def _changed_queues(inputs: Inputs) -> DataFrame:
    """The queues that the owner had at the fault, with the requests about them and both client ids."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    requests = requests_of_queues(inputs, trials)
    queues = owned_queues(inputs, trials).join(requests, list(LOCKED_QUEUE), "left")
    clients = ["owner_client", "successor_client"]
    return queues.join(_client_ids(inputs), ["trial", "group"], "left").fillna("?", clients)


def _client_ids(inputs: Inputs) -> DataFrame:
    """The last client id of the group's instance in each process; an instance has one only once it has started."""

    def last(process: str) -> Column:
        return F.max_by("client_id", F.when(F.col("process") == process, F.col("at_ns")))

    told = inputs.records.instances.where("client_id IS NOT NULL AND client_id != ''")
    return told.groupBy("trial", "group").agg(
        last(OWNER).alias("owner_client"), last(SUCCESSOR).alias("successor_client")
    )


def _lines_of_queues(inputs: Inputs, changed: DataFrame) -> DataFrame:
    """Log lines about each queue, by file: that the successor waits, and that the owner unlocked it."""
    happened = F.col("happened")
    lines = (
        lock.parse(inputs.logs.kept)
        .where(happened.isin(lock.WAITING, lock.UNLOCKED))
        .select(
            *(*_LOGGED_QUEUE, "name", "wall_us", "resolution_us", "happened", "client", "holder"),
            place("line").alias("at"),
        )
    )
    waiting = (
        (happened == lock.WAITING)
        & (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
        & (F.col("wall_us") <= _wall_us(F.coalesce("granted_ns", "end_ns")))
    )
    unlocked = (happened == lock.UNLOCKED) & (F.col("client") == F.col("owner_client"))
    # The line's time is the start of its millisecond or second; the event may be anywhere in it.
    not_before_fault = F.col("wall_us") + F.col("resolution_us") > _wall_us(F.col("fault_ns"))
    return (
        changed.join(lines, list(_LOGGED_QUEUE))
        .where(not_before_fault & (waiting | unlocked))
        .groupBy(*LOCKED_QUEUE, "name", "happened")
        .agg(
            F.count("*").alias("lines"),
            F.min_by("at", "wall_us").alias("first_at"),
            F.max_by("at", "wall_us").alias("last_at"),
        )
    )


def _of_queues(changed: DataFrame, lines: DataFrame) -> DataFrame:
    """One row for each queue: its take-over, the lines of lock.log about its waiting, those of any file about unlocking."""
    waiting = _waiting_lines(lines, F.col("name") == _LOCK_LOG).drop("name")
    unlocks = (
        lines.where(F.col("happened") == lock.UNLOCKED)
        .groupBy(*LOCKED_QUEUE)
        .agg(F.sum("lines").alias("unlock_lines"), F.min("first_at").alias("unlocked_at"))
    )
    queues = changed.join(waiting, list(LOCKED_QUEUE), "left").join(unlocks, list(LOCKED_QUEUE), "left")
    granted = F.col("granted_ns").isNotNull()
    words = F.when(granted, "lock granted to the successor").otherwise("lock never granted")
    return observations(
        queues.withColumns({"taken": words, "name": F.lit(_LOCK_LOG)}),
        Value(
            "lock_age_at_takeover_s",
            (F.coalesce("granted_ns", "end_ns") - F.col("renewed_ns")) / SECOND_NS,
            "group {group} queue {broker}:{queue}: {taken}",
            at=F.coalesce("granted_at", "owned_at"),
            censored=~granted,
        ),
        _waiting_value(),
        Value(
            "unlock_lines",
            F.coalesce("unlock_lines", F.lit(0)),
            "group {group} queue {broker}:{queue}: {value} lines of unlocking by the owner",
            at=F.coalesce("unlocked_at", "unlock_at", "owned_at"),
        ),
    )


def _in_other_files(changed: DataFrame, lines: DataFrame) -> DataFrame:
    elsewhere = _waiting_lines(lines, F.col("name") != _LOCK_LOG)
    return observations(changed.join(elsewhere, list(LOCKED_QUEUE)), _waiting_value())


def _waiting_lines(lines: DataFrame, among: Column) -> DataFrame:
    waiting = lines.where((F.col("happened") == lock.WAITING) & among)
    return waiting.select(
        *LOCKED_QUEUE, "name", F.col("lines").alias("waiting_lines"), F.col("last_at").alias("waiting_at")
    )


def _waiting_value() -> Value:
    return Value(
        "lock_lines_waiting",
        F.coalesce("waiting_lines", F.lit(0)),
        "group {group} queue {broker}:{queue}: {value} lines in {name} that {successor_client} waits for {owner_client}",
        at=F.coalesce("waiting_at", "refused_at", "granted_at", "owned_at"),
        params={"file": "name"},
    )


def _changes_in_logs(inputs: Inputs, changed: DataFrame) -> DataFrame:
    """Log lines about each queue's first lock, and about its take-over from the owner by the successor."""
    happened = F.col("happened")
    lines = (
        lock.parse(inputs.logs.kept)
        .where(happened.isin(lock.FIRST, lock.EXPIRED))
        .select(*_LOGGED_QUEUE, place("line").alias("at"), "happened", "client", "holder")
    )
    first = happened == lock.FIRST
    taken = (
        (happened == lock.EXPIRED)
        & (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
    )
    counted = (
        changed.join(lines, list(_LOGGED_QUEUE), "left")
        .groupBy(*LOCKED_QUEUE, "deployment", "broker", "queue", "owned_at")
        .agg(
            F.count_if(first).alias("first_lines"),
            F.count_if(taken).alias("taken_lines"),
            F.min_by("at", F.when(first, F.col("at.line"))).alias("first_at"),
            F.min_by("at", F.when(taken, F.col("at.line"))).alias("taken_at"),
        )
    )
    queue = "group {group} queue {broker}:{queue}: "
    return observations(
        counted,
        Value(
            "first_lock_lines",
            "first_lines",
            queue + "{value} lines of its first lock",
            at=F.coalesce("first_at", "owned_at"),
        ),
        Value(
            "takeover_lines",
            "taken_lines",
            queue + "{value} lines of its take-over",
            at=F.coalesce("taken_at", "owned_at"),
        ),
    )


def _wall_us(monotonic_ns: Column) -> Column:
    return (monotonic_ns / 1_000).cast("long") + F.col("wall_minus_mono_us")
