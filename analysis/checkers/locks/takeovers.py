"""Take-overs: how old the owner's lock was when the successor got it, and what the broker logged of it.

A lock's age is counted from the owner's last granted request to the successor's first granted one, both from the start
of the request, so that the way to the broker cancels out. Log lines are joined by group, queue and both client ids, in
the time between the fault and the take-over. Where a lock manager's log is not there nothing is said of its lines.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, observations, together
from analysis.checkers.locks.requests import LOCKED_QUEUE, owned_queues, requests_of_queues
from analysis.evidence.consumption import OWNER, SECOND_NS, SUCCESSOR
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from analysis.logs import lock

_LOGGED_QUEUE = ("deployment", "group", "topic", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """For the queues that changed hands, and the lines of other files that say so."""
    changed = _changed_queues(inputs).persist()
    lines = _lines_of_queues(inputs, changed).persist()
    return together(_of_queues(changed, lines), _in_other_files(changed, lines))


def _changed_queues(inputs: Inputs) -> DataFrame:
    """The queues that the owner had at the fault, with the requests about them, both client ids and their lock managers' logs."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    requests = requests_of_queues(inputs, trials)
    queues = owned_queues(inputs, trials).join(requests, list(LOCKED_QUEUE), "left")
    queues = queues.join(F.broadcast(logged.of_lock_managers(inputs)), "deployment", "left")
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
    """Log lines about each queue, by file and what happened: its first lock, its unlocking, that the successor waits or has it.

    Waiting and unlocking count from the fault on. An expired lock is one that the successor took from the owner.
    """
    happened = F.col("happened")
    lines = (
        lock.parse(inputs.logs.kept)
        .where(happened.isin(lock.FIRST, lock.WAITING, lock.UNLOCKED, lock.EXPIRED))
        .select(
            *(*_LOGGED_QUEUE, "name", "wall_us", "resolution_us", "happened", "client", "holder"),
            place("line").alias("at"),
        )
    )
    from_owner = (F.col("client") == F.col("successor_client")) & (F.col("holder") == F.col("owner_client"))
    waiting = (
        (happened == lock.WAITING) & from_owner & (F.col("wall_us") <= logged.wall_us("coalesce(granted_ns, end_ns)"))
    )
    unlocked = (happened == lock.UNLOCKED) & (F.col("client") == F.col("owner_client"))
    # The line's time is the start of its millisecond or second; the event may be anywhere in it.
    not_before_fault = F.col("wall_us") + F.col("resolution_us") > logged.wall_us("fault_ns")
    taken = (happened == lock.EXPIRED) & from_owner
    return (
        changed.join(lines, list(_LOGGED_QUEUE))
        .where((not_before_fault & (waiting | unlocked)) | (happened == lock.FIRST) | taken)
        .groupBy(*LOCKED_QUEUE, "name", "happened")
        .agg(
            F.count("*").alias("lines"),
            F.min_by("at", "wall_us").alias("first_at"),
            F.max_by("at", "wall_us").alias("last_at"),
            F.min_by("at", "at.line").alias("upper_at"),
        )
    )


def _of_queues(changed: DataFrame, lines: DataFrame) -> DataFrame:
    """One row for each queue: its take-over, the lines of lock.log about its waiting, those of any file about the rest."""

    def told(happened: str, column: str) -> Column:
        return F.when(F.col("happened") == happened, F.col(column))

    in_lock_log = F.col("name") == logged.LOCK_LOG
    counted = lines.groupBy(*LOCKED_QUEUE).agg(
        F.sum(F.when(in_lock_log, told(lock.WAITING, "lines"))).alias("waiting_lines"),
        F.max(F.when(in_lock_log, told(lock.WAITING, "last_at"))).alias("waiting_at"),
        F.sum(told(lock.UNLOCKED, "lines")).alias("unlock_lines"),
        F.min(told(lock.UNLOCKED, "first_at")).alias("unlocked_at"),
        F.sum(told(lock.FIRST, "lines")).alias("first_lines"),
        F.min_by("upper_at", told(lock.FIRST, "upper_at.line")).alias("first_at"),
        F.sum(told(lock.EXPIRED, "lines")).alias("takeover_lines"),
        F.min_by("upper_at", told(lock.EXPIRED, "upper_at.line")).alias("takeover_at"),
    )
    granted = F.col("granted_ns").isNotNull()
    # Nothing is read of the owner's first lock where the log begins after it, though it may have all that follows.
    of_fault, of_first = (logged.spans(logged.wall_us(moment)) for moment in ("fault_ns", "locked_ns"))
    words = F.when(granted, "lock granted to the successor").otherwise("lock never granted")
    queue = "group {group} queue {broker}:{queue}: "
    return observations(
        changed.join(counted, list(LOCKED_QUEUE), "left").withColumns({"taken": words, "name": F.lit(logged.LOCK_LOG)}),
        Value(
            "lock_age_at_takeover_s",
            (F.coalesce("granted_ns", "end_ns") - F.col("renewed_ns")) / SECOND_NS,
            queue + "{taken}",
            at=F.coalesce("granted_at", "owned_at"),
            censored=~granted,
        ),
        _waiting_value(),
        Value(
            "unlock_lines",
            F.when(of_fault, F.coalesce("unlock_lines", F.lit(0))),
            queue + "{value} lines of unlocking by the owner",
            at=F.coalesce("unlocked_at", "unlock_at", "owned_at"),
        ),
        Value(
            "first_lock_lines",
            F.when(of_first, F.coalesce("first_lines", F.lit(0))),
            queue + "{value} lines of its first lock",
            at=F.coalesce("first_at", "owned_at"),
        ),
        Value(
            "takeover_lines",
            F.when(of_fault, F.coalesce("takeover_lines", F.lit(0))),
            queue + "{value} lines of its take-over",
            at=F.coalesce("takeover_at", "owned_at"),
        ),
    )


def _in_other_files(changed: DataFrame, lines: DataFrame) -> DataFrame:
    """Lines about the waiting in files other than lock.log, one row for each queue and file that has any."""
    elsewhere = lines.where((F.col("happened") == lock.WAITING) & (F.col("name") != logged.LOCK_LOG)).select(
        *LOCKED_QUEUE, "name", F.col("lines").alias("waiting_lines"), F.col("last_at").alias("waiting_at")
    )
    return observations(changed.join(elsewhere, list(LOCKED_QUEUE)), _waiting_value())


def _waiting_value() -> Value:
    return Value(
        "lock_lines_waiting",
        F.when(logged.spans(logged.wall_us("fault_ns")), F.coalesce("waiting_lines", F.lit(0))),
        "group {group} queue {broker}:{queue}: {value} lines in {name} that {successor_client} waits for {owner_client}",
        at=F.coalesce("waiting_at", "refused_at", "granted_at", "owned_at"),
        params={"file": "name"},
    )
