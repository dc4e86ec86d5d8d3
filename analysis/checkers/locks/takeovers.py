"""Take-overs: how old the owner's lock was when the successor got it, and what the broker logged of it.

A lock's age is counted from the owner's last granted request to the successor's first granted one, both from the start
of the request, so that the way to the broker cancels out. Log lines are joined by group, queue and both client ids, in
the time between the fault and the take-over.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, queue_words, together
from analysis.checkers.locks.requests import LOCKED_QUEUE, owned_queues, requests_of_queues
from analysis.evidence.consumption import OWNER, SUCCESSOR
from analysis.evidence.trials import OWNERS_END
from analysis.logs import lock

_SECOND_NS = 1_000_000_000
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
    return queues.join(_client_ids(inputs), ["trial", "group"], "left")


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
            *_LOGGED_QUEUE,
            "name",
            F.col("file").alias("log_file"),
            F.col("line").alias("log_line"),
            "wall_us",
            "resolution_us",
            "happened",
            "client",
            "holder",
        )
    )
    waiting = (
        (happened == lock.WAITING)
        & (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
        & (F.col("wall_us") <= _wall_us(F.coalesce("granted_ns", "end_ns")))
    )
    unlocked = (happened == lock.UNLOCKED) & (F.col("client") == F.col("owner_client"))
    queues = changed.select(
        *("trial", "lock_queue", *_LOGGED_QUEUE, "owner_client", "successor_client"),
        *("fault_ns", "end_ns", "granted_ns", "wall_minus_mono_us"),
    )
    return (
        queues.join(lines, list(_LOGGED_QUEUE))
        .where(_not_before_fault() & (waiting | unlocked))
        .groupBy(*LOCKED_QUEUE, "name", "happened")
        .agg(
            F.count("*").alias("lines"),
            F.min_by("log_file", "wall_us").alias("first_file"),
            F.min_by("log_line", "wall_us").alias("first_line"),
            F.max_by("log_file", "wall_us").alias("last_file"),
            F.max_by("log_line", "wall_us").alias("last_line"),
        )
    )


def _of_queues(changed: DataFrame, lines: DataFrame) -> DataFrame:
    """One row for each queue: its take-over, the lines of lock.log about its waiting, those of any file about unlocking."""
    waiting = lines.where((F.col("happened") == lock.WAITING) & (F.col("name") == _LOCK_LOG)).select(
        *LOCKED_QUEUE,
        F.col("lines").alias("waiting_lines"),
        F.col("last_file").alias("waiting_file"),
        F.col("last_line").alias("waiting_line"),
    )
    unlocks = (
        lines.where(F.col("happened") == lock.UNLOCKED)
        .groupBy(*LOCKED_QUEUE)
        .agg(
            F.sum("lines").alias("unlock_lines"),
            F.min("first_file").alias("unlocked_file"),
            F.min_by("first_line", "first_file").alias("unlocked_line"),
        )
    )
    queues = changed.join(waiting, list(LOCKED_QUEUE), "left").join(unlocks, list(LOCKED_QUEUE), "left")
    return observations(queues, _takeover_value(), _waiting_value(F.lit(_LOCK_LOG)), _unlock_value())


def _takeover_value() -> Value:
    granted = F.col("granted_ns").isNotNull()
    return Value(
        measure="lock_age_at_takeover_s",
        value=(F.coalesce("granted_ns", "end_ns") - F.col("renewed_ns")) / _SECOND_NS,
        censored=~granted,
        file=F.coalesce("granted_file", "owned_file"),
        line=F.coalesce("granted_line", "owned_line"),
        operation=F.concat(
            queue_words(), F.when(granted, ": lock granted to the successor").otherwise(": lock never granted")
        ),
    )


def _waiting_value(name: Column) -> Value:
    lines = F.coalesce("waiting_lines", F.lit(0))
    return Value(
        measure="lock_lines_waiting",
        value=lines,
        params={"file": name},
        file=F.coalesce("waiting_file", "refused_file", "granted_file", "owned_file"),
        line=F.coalesce("waiting_line", "refused_line", "granted_line", "owned_line"),
        operation=F.concat(
            queue_words(),
            F.lit(": "),
            lines,
            F.lit(" lines in "),
            name,
            F.lit(" that "),
            F.coalesce("successor_client", F.lit("?")),
            F.lit(" waits for "),
            F.coalesce("owner_client", F.lit("?")),
        ),
    )


def _unlock_value() -> Value:
    lines = F.coalesce("unlock_lines", F.lit(0))
    return Value(
        measure="unlock_lines",
        value=lines,
        file=F.coalesce("unlocked_file", "unlock_file", "owned_file"),
        line=F.coalesce("unlocked_line", "unlock_line", "owned_line"),
        operation=F.concat(queue_words(), F.lit(": "), lines, F.lit(" lines of unlocking by the owner")),
    )


def _in_other_files(changed: DataFrame, lines: DataFrame) -> DataFrame:
    elsewhere = lines.where((F.col("happened") == lock.WAITING) & (F.col("name") != _LOCK_LOG)).select(
        *LOCKED_QUEUE,
        "name",
        F.col("lines").alias("waiting_lines"),
        F.col("last_file").alias("waiting_file"),
        F.col("last_line").alias("waiting_line"),
    )
    return observations(changed.join(elsewhere, list(LOCKED_QUEUE)), _waiting_value(F.col("name")))


def _changes_in_logs(inputs: Inputs, changed: DataFrame) -> DataFrame:
    """Log lines about each queue's first lock, and about its take-over from the owner by the successor."""
    happened = F.col("happened")
    lines = (
        lock.parse(inputs.logs.kept)
        .where(happened.isin(lock.FIRST, lock.EXPIRED))
        .select(*_LOGGED_QUEUE, "file", "line", "happened", "client", "holder")
    )
    queues = changed.select(
        *("trial", "lock_queue", *_LOGGED_QUEUE, "owner_client", "successor_client", "owned_file", "owned_line")
    )
    taken = (
        (happened == lock.EXPIRED)
        & (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
    )
    counted = (
        queues.join(lines, list(_LOGGED_QUEUE), "left")
        .groupBy(*LOCKED_QUEUE, "deployment", "broker", "queue", "owned_file", "owned_line")
        .agg(
            F.count(F.when(happened == lock.FIRST, 1)).alias("first_lines"),
            F.count(F.when(taken, 1)).alias("taken_lines"),
            F.min_by("file", F.when(happened == lock.FIRST, F.col("line"))).alias("first_file"),
            F.min(F.when(happened == lock.FIRST, F.col("line"))).alias("first_line"),
            F.min_by("file", F.when(taken, F.col("line"))).alias("taken_file"),
            F.min(F.when(taken, F.col("line"))).alias("taken_line"),
        )
    )

    def value(measure: str, column: str, place: str, words: str) -> Value:
        return Value(
            measure=measure,
            value=F.col(column),
            file=F.coalesce(f"{place}_file", "owned_file"),
            line=F.coalesce(f"{place}_line", "owned_line"),
            operation=F.concat(queue_words(), F.lit(": "), F.col(column), F.lit(words)),
        )

    return observations(
        counted,
        value("first_lock_lines", "first_lines", "first", " lines of its first lock"),
        value("takeover_lines", "taken_lines", "taken", " lines of its take-over"),
    )


def _not_before_fault() -> Column:
    """The line's time is the start of its millisecond or second; the event may be anywhere in it."""
    return F.col("wall_us") + F.col("resolution_us") > _wall_us(F.col("fault_ns"))


def _wall_us(monotonic_ns: Column) -> Column:
    return (monotonic_ns / 1_000).cast("long") + F.col("wall_minus_mono_us")
