"""Queue locks: when they were renewed, how old they were when the successor got them, and what the broker logged.

A lock's age is counted from the owner's last granted request to the successor's first granted one, both from the start
of the request, so that the way to the broker cancels out. Log lines are joined by group, queue and both client ids, in
the time between the fault and the take-over.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, owner_unit, queue_words, together
from analysis.evidence.consumption import OWNER, SUCCESSOR, owned_at_fault, queue_name
from analysis.evidence.trials import OWNERS_END
from analysis.logs import lock
from harness.model.rocketmq import LOCK_BATCH_MQ, RETRY_PREFIX, UNLOCK_BATCH_MQ

MEASURES: tuple[str, ...] = (
    "lock_age_at_takeover_s",
    "refused_before_takeover",
    "renewal_period_s",
    "lock_lines_waiting",
    "unlock_lines",
    "unlock_after_s",
    "foreign_lock_granted",
    "first_lock_request_s",
    "lock_timer_first_round_s",
    "first_lock_by_timer",
    "lock_requests_count",
    "lock_renewals_count",
    "first_lock_lines",
    "takeover_lines",
)

_RENEWER = "ConsumeMessageScheduledThread"
"""The client's own lock thread, of ConsumeMessageOrderlyService. Requests of other threads come from rebalancing, which
asks for one queue at a time; where a 5.x client's hook sees the network's thread, several queues in one request tell
that it came from RebalanceImpl.lockAll, which the lock thread alone calls."""

_SECOND_NS = 1_000_000_000
LOCKED_QUEUE = ("trial", "group", "lock_queue")
_LOCK_LOG = "lock.log"


def observe(inputs: Inputs) -> DataFrame:
    """Everything about locks, for the queues that changed hands; renewals for all owners, probes where there are any."""
    changed = _changed_queues(inputs).persist()
    lines = _lines_of_queues(inputs, changed).persist()
    return together(
        _of_queues(changed, lines),
        _in_other_files(changed, lines),
        _changes_in_logs(inputs, changed),
        _renewals(inputs),
        _first_requests(inputs),
        _probes(inputs),
    )


# --- requests ---------------------------------------------------------------------------------------------------------


def _changed_queues(inputs: Inputs) -> DataFrame:
    """The queues that the owner had at the fault, with every request about them folded to its first or last."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    queues = (
        inputs.consumption.queues.drop("delays_ns")
        .join(trials, ["trial", "topic"])
        .where(owned_at_fault())
        .withColumn("lock_queue", queue_name())
    )
    return queues.join(requests_of_queues(inputs, trials), list(LOCKED_QUEUE), "left").join(
        _client_ids(inputs), ["trial", "group"], "left"
    )


def requests_of_queues(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """For each queue (``LOCKED_QUEUE``): the owner's last renewal before the fault and its unlocking after it, the
    successor's requests.

    The successor's refused requests after its first granted one are none of the waiting, so the times of all of them
    are kept and counted below it. A request without an answer was neither granted nor refused.
    """
    each = (
        inputs.records.lock_requests.where("finished_ns IS NOT NULL")
        .where(F.col("code").isin(LOCK_BATCH_MQ, UNLOCK_BATCH_MQ))
        # Queues are named without their topic, and a retry topic has a queue 0 on each broker, too.
        .where(~(_of_one_queue() & F.col("topic").startswith(RETRY_PREFIX)))
        .join(trials.select("trial", "fault_ns", "end_ns"), "trial")
        .select("*", F.explode("asked").alias("lock_queue"))
    )
    locks, after = F.col("code") == LOCK_BATCH_MQ, F.col("started_ns") >= F.col("fault_ns")
    granted = F.coalesce(F.array_contains("granted", F.col("lock_queue")), F.lit(False))
    by_owner, by_successor = F.col("process") == OWNER, F.col("process") == SUCCESSOR
    started = F.col("started_ns")
    # A successor takes over by its rebalance, a queue at a time. Its renewals name its own retry queue, too.
    granted_ns = F.when(locks & by_successor & after & granted & _of_one_queue(), started)
    refused_ns = F.when(locks & by_successor & after & ~granted, started)
    unlock_ns = F.when(~locks & by_owner & after, started)
    folded = each.groupBy(*LOCKED_QUEUE).agg(
        F.max(F.when(locks & by_owner & ~after & granted, started)).alias("renewed_ns"),
        F.min(granted_ns).alias("granted_ns"),
        F.min_by("file", granted_ns).alias("granted_file"),
        F.min_by("n", granted_ns).alias("granted_line"),
        F.collect_list(refused_ns).alias("refused_ns"),
        F.max_by("file", refused_ns).alias("refused_file"),
        F.max_by("n", refused_ns).alias("refused_line"),
        F.min(unlock_ns).alias("unlock_ns"),
        F.min_by("file", unlock_ns).alias("unlock_file"),
        F.min_by("n", unlock_ns).alias("unlock_line"),
        F.max("end_ns").alias("until_ns"),
    )
    waiting = F.filter("refused_ns", lambda at: at < F.coalesce("granted_ns", "until_ns"))
    return folded.withColumn("refused", F.size(waiting)).drop("refused_ns", "until_ns")


def _of_one_queue() -> Column:
    return F.size("asked") == 1


def _client_ids(inputs: Inputs) -> DataFrame:
    """The last client id that the group's instance in each process told; it has one only once it has started."""

    def last(process: str) -> Column:
        return F.max_by("client_id", F.when(F.col("process") == process, F.col("at_ns")))

    told = inputs.records.instances.where("client_id IS NOT NULL AND client_id != ''")
    return told.groupBy("trial", "group").agg(
        last(OWNER).alias("owner_client"), last(SUCCESSOR).alias("successor_client")
    )


def _renewals(inputs: Inputs) -> DataFrame:
    """The time from one renewal to the next, of one client to one broker.

    Requests that come within a second of each other are one renewal: a 5.x client has two timers for it, one of
    ConsumeMessageOrderlyService and one of ConsumeMessagePopOrderlyService, which start together.
    """
    by_address = Window.partitionBy("trial", "instance", "address").orderBy("started_ns")
    since_ns = F.col("started_ns") - F.lag("started_ns").over(by_address)
    renewals = (
        inputs.records.lock_requests.where((F.col("code") == LOCK_BATCH_MQ) & (F.col("process") == OWNER))
        .where(F.col("thread").startswith(_RENEWER) | (F.size("asked") > 1))
        .withColumn("since_ns", since_ns)
        .where(F.col("since_ns").isNull() | (F.col("since_ns") >= _SECOND_NS))
        .withColumn("before_ns", F.lag("started_ns").over(by_address))
        .join(inputs.trials.select("trial", "deployment"), "trial")
    )
    return observations(
        renewals,
        F.concat_ws("/", "deployment", "trial", "instance"),
        Value(
            measure="renewal_period_s",
            value=(F.col("started_ns") - F.col("before_ns")) / _SECOND_NS,
            file=F.col("file"),
            line=F.col("n"),
            operation=F.concat(F.lit("lock request of "), F.col("instance"), F.lit(" to "), F.col("address")),
        ),
    )


def _first_requests(inputs: Inputs) -> DataFrame:
    """From a member's start to its first lock request of any kind, who sent that, when the lock timer's rounds began, and
    how many requests there were of each.

    A member without any request is one that sent none: its start is in the same history. The timer asks for the queues
    that the member has, so a round before it has any is seen by nobody. It is told by the later ones, which come a whole
    number of periods after it.
    """
    by_timer = F.col("thread").startswith(_RENEWER) | (F.size("asked") > 1)
    in_order = Window.partitionBy("trial", "instance", "by_timer").orderBy("started_ns")
    since_ns = F.col("started_ns") - F.lag("started_ns").over(in_order)
    requests = (
        inputs.records.lock_requests.where(F.col("code") == LOCK_BATCH_MQ)
        .withColumn("by_timer", by_timer)
        .withColumn("since_ns", since_ns)
        .groupBy("trial", "instance")
        .agg(
            F.count("*").alias("requests"),
            F.min("started_ns").alias("first_ns"),
            F.min(F.when(F.col("by_timer"), F.col("started_ns"))).alias("timed_ns"),
            F.min_by("by_timer", F.when(F.size("asked") > 0, F.col("started_ns"))).alias("first_by_timer"),
            F.count(F.when(F.col("by_timer"), 1)).alias("renewals"),
            # Rounds are told apart from the two requests of one round, to two brokers or of 5.x's two timers.
            F.median(F.when(F.col("by_timer") & (F.col("since_ns") >= _SECOND_NS), F.col("since_ns"))).alias(
                "period_ns"
            ),
            F.min_by("n", "started_ns").alias("first_line"),
        )
    )
    started = (
        inputs.records.instances.where("event = 'starting'")
        .groupBy("trial", "instance", "file")
        .agg(F.min("at_ns").alias("starting_ns"), F.min("n").alias("starting_line"))
    )
    members = started.join(requests, ["trial", "instance"], "left").join(
        inputs.trials.where("grouped").select("trial", "deployment"), "trial"
    )
    mode = {"mode": F.when(F.col("instance").endswith("-broadcast"), "broadcasting").otherwise("clustering")}
    line, words = F.coalesce("first_line", "starting_line"), F.concat(F.lit("lock requests of "), F.col("instance"))

    def value(measure: str, value: Column, params: Mapping[str, Column] | None = None) -> Value:
        return Value(measure=measure, value=value, params=params or {}, file=F.col("file"), line=line, operation=words)

    return observations(
        members,
        F.concat_ws("/", "deployment", "trial", "instance"),
        value("first_lock_request_s", (F.col("first_ns") - F.col("starting_ns")) / _SECOND_NS),
        value("first_lock_by_timer", F.col("first_by_timer").cast("int"), mode),
        value(
            "lock_timer_first_round_s",
            F.expr("pmod(timed_ns - starting_ns, period_ns)") / _SECOND_NS,
        ),
        value("lock_renewals_count", F.coalesce("renewals", F.lit(0)), mode),
        value(
            "lock_requests_count",
            F.coalesce("requests", F.lit(0)),
            mode,
        ),
    )


def _probes(inputs: Inputs) -> DataFrame:
    probes = inputs.records.events.where("type = 'lock_probe'").select(
        "trial",
        "n",
        "at_ns",
        "group",
        "as_group",
        "queue",
        "asked_broker",
        F.col("granted").cast("int").alias("granted"),
    )
    own = F.substring_index("queue", ":", 1) == F.col("asked_broker")
    of_others = F.coalesce(F.col("as_group") != F.col("group"), F.lit(False))
    return observations(
        # What is asked of a broker that was restarted is judged apart (``restarts.py``).
        probes.join(inputs.trials.select("trial", "deployment", "fault_ns"), "trial").where("at_ns < fault_ns"),
        owner_unit(),
        Value(
            measure="foreign_lock_granted",
            value=F.col("granted"),
            params={"asked": F.when(of_others, "own, other group").when(own, "own").otherwise("other")},
            file=events_file(),
            line=F.col("n"),
            operation=F.concat(F.lit("lock of "), F.col("queue"), F.lit(" asked of "), F.col("asked_broker")),
        ),
    )


# --- log lines --------------------------------------------------------------------------------------------------------


def _lines_of_queues(inputs: Inputs, changed: DataFrame) -> DataFrame:
    """How many lines each log file has about each queue: of the successor's waiting, and of the owner's unlocking."""
    happened = F.col("happened")
    lines = inputs.logs.lock_lines.where(happened.isin(lock.WAITING, lock.UNLOCKED)).select(
        "deployment",
        "group",
        "topic",
        "broker",
        "queue",
        "name",
        F.col("file").alias("log_file"),
        F.col("line").alias("log_line"),
        "wall_us",
        "resolution_us",
        "happened",
        "client",
        "holder",
    )
    waiting = (
        (happened == lock.WAITING)
        & (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
        & (F.col("wall_us") <= _wall_us(F.coalesce("granted_ns", "end_ns")))
    )
    unlocked = (happened == lock.UNLOCKED) & (F.col("client") == F.col("owner_client"))
    wall_us = F.col("wall_us")
    exact_us = F.when(F.col("resolution_us") <= 1_000, wall_us)
    queues = changed.select(
        *LOCKED_QUEUE,
        "deployment",
        "topic",
        "broker",
        "queue",
        "fault_ns",
        "end_ns",
        "granted_ns",
        "wall_minus_mono_us",
        "owner_client",
        "successor_client",
    )
    return (
        queues.join(lines, ["deployment", "group", "topic", "broker", "queue"])
        .where(_not_before_fault() & (waiting | unlocked))
        .groupBy(*LOCKED_QUEUE, "name", "happened")
        .agg(
            F.count("*").alias("lines"),
            F.min(exact_us).alias("first_us"),
            F.min_by("log_file", "wall_us").alias("first_file"),
            F.min_by("log_line", "wall_us").alias("first_line"),
            F.max_by("log_file", "wall_us").alias("last_file"),
            F.max_by("log_line", "wall_us").alias("last_line"),
        )
    )


def _of_queues(changed: DataFrame, lines: DataFrame) -> DataFrame:
    """One row a queue, with what lock.log says of its waiting, and any file of its unlocking."""
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
            F.min("first_us").alias("unlocked_us"),
            F.min("first_file").alias("unlocked_file"),
            F.min_by("first_line", "first_file").alias("unlocked_line"),
        )
    )
    queues = changed.join(waiting, list(LOCKED_QUEUE), "left").join(unlocks, list(LOCKED_QUEUE), "left")
    return observations(
        queues,
        owner_unit(),
        *_takeover_values(),
        _waiting_value(F.lit(_LOCK_LOG)),
        *_unlock_values(),
    )


def _changes_in_logs(inputs: Inputs, changed: DataFrame) -> DataFrame:
    """How many lines there are about each queue's first lock, and about its take-over from the owner by the successor."""
    happened = F.col("happened")
    lines = inputs.logs.lock_lines.where(happened.isin(lock.FIRST, lock.EXPIRED)).select(
        "deployment", "group", "topic", "broker", "queue", "file", "line", "happened", "client", "holder"
    )
    queues = changed.select(
        *LOCKED_QUEUE,
        *("deployment", "topic", "broker", "queue", "owner_client", "successor_client", "owned_file", "owned_line"),
    )
    taken = (
        (happened == lock.EXPIRED)
        & (F.col("client") == F.col("successor_client"))
        & (F.col("holder") == F.col("owner_client"))
    )
    counted = (
        queues.join(lines, ["deployment", "group", "topic", "broker", "queue"], "left")
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
        owner_unit(),
        value("first_lock_lines", "first_lines", "first", " lines of its first lock"),
        value("takeover_lines", "taken_lines", "taken", " lines of its take-over"),
    )


def _takeover_values() -> list[Value]:
    granted = F.col("granted_ns").isNotNull()
    refused = F.col("refused")  # null where no request about the queue was recorded at all: that is no zero
    return [
        Value(
            measure="lock_age_at_takeover_s",
            value=(F.coalesce("granted_ns", "end_ns") - F.col("renewed_ns")) / _SECOND_NS,
            censored=~granted,
            file=F.coalesce("granted_file", "owned_file"),
            line=F.coalesce("granted_line", "owned_line"),
            operation=F.concat(
                queue_words(), F.when(granted, ": lock granted to the successor").otherwise(": lock never granted")
            ),
        ),
        Value(
            measure="refused_before_takeover",
            value=refused,
            file=F.coalesce("refused_file", "granted_file", "owned_file"),
            line=F.coalesce("refused_line", "granted_line", "owned_line"),
            operation=F.concat(queue_words(), F.lit(": "), refused, F.lit(" lock requests of the successor refused")),
        ),
    ]


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


def _in_other_files(changed: DataFrame, lines: DataFrame) -> DataFrame:
    elsewhere = lines.where((F.col("happened") == lock.WAITING) & (F.col("name") != _LOCK_LOG)).select(
        *LOCKED_QUEUE,
        "name",
        F.col("lines").alias("waiting_lines"),
        F.col("last_file").alias("waiting_file"),
        F.col("last_line").alias("waiting_line"),
    )
    return observations(changed.join(elsewhere, list(LOCKED_QUEUE)), owner_unit(), _waiting_value(F.col("name")))


def _unlock_values() -> list[Value]:
    """A line of a log without milliseconds is too coarse for the time; then the request's own start is taken."""
    by_line_s = (F.col("unlocked_us") - _wall_us(F.col("fault_ns"))) / 1e6
    after_s = F.coalesce(by_line_s, (F.col("unlock_ns") - F.col("fault_ns")) / _SECOND_NS)
    lines = F.coalesce("unlock_lines", F.lit(0))
    file = F.coalesce("unlocked_file", "unlock_file", "owned_file")
    line = F.coalesce("unlocked_line", "unlock_line", "owned_line")
    return [
        Value(
            measure="unlock_lines",
            value=lines,
            file=file,
            line=line,
            operation=F.concat(queue_words(), F.lit(": "), lines, F.lit(" lines of unlocking by the owner")),
        ),
        Value(
            measure="unlock_after_s",
            # A line's time is cut to the millisecond, which may lie just before the fault's own stamp.
            value=F.when(after_s.isNotNull(), F.greatest(after_s, F.lit(0.0))),
            file=file,
            line=line,
            operation=F.concat(queue_words(), F.lit(": unlocked by the owner")),
        ),
    ]


def _not_before_fault() -> Column:
    """The line's time is the start of its millisecond or second; the event may be anywhere in it."""
    return F.col("wall_us") + F.col("resolution_us") > _wall_us(F.col("fault_ns"))


def _wall_us(monotonic_ns: Column) -> Column:
    return (monotonic_ns / 1_000).cast("long") + F.col("wall_minus_mono_us")
