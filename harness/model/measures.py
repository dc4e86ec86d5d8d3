"""Every measure that a checker gives and a claim may ask for, declared once: one row has all that is said of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.model.avoiders import AvoidingProducers
from harness.model.cells import Parameters
from harness.model.faults import (
    FAULTS,
    AppendStall,
    AppendWatch,
    ColdReads,
    CommitWatch,
    CrossFrameLimit,
    EarlyTopic,
    Fault,
    ForgottenTopic,
    IdleBroker,
    KillOwnersRestartBroker,
    LimitedPageCache,
    MoreQueues,
    PageCacheNeighbour,
    PauseOwners,
    RestartBroker,
    RestartNameServer,
    SlowFlush,
    StoreFreeze,
    TopicMoments,
)
from harness.model.group_members import GroupMembers
from harness.model.loads import (
    DelayedMessages,
    FailingMessages,
    KeyedSends,
    LateGroup,
    LoadValue,
    OpenLoopSends,
    OrderedGroups,
    QueueNumbers,
    ReturningGroup,
    SteadyClients,
    Transactions,
)
from harness.model.python_sends import PythonSendKinds
from harness.model.send_kinds import SendKinds
from harness.model.steps import READ
from harness.model.unflushed import UnflushedTail


@dataclass(frozen=True, kw_only=True)
class Independent:
    """What goes wrong, or does not, once: values of one of them are not independent of each other.

    ``key`` are the columns that tell one from another. A column that is null where a value is observed is left out.
    """

    name: str
    key: tuple[str, ...]


class Moved(StrEnum):
    """How a hiccup of the host moves a number; it only ever lengthens."""

    NOT = "not moved"
    LENGTHENED = "by the hiccup's own length"
    ARRIVALS = "by what arrives during the hiccup"


class Better(StrEnum):
    """Which way of a number is good for whoever runs a cluster."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"
    SIGN = "sign"
    """Read in log files and answers: an alert or a client's retry may hang on it, whichever way it moves."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number that a checker reads off a run.

    ``unit`` is empty for counts and yes-or-no (0 or 1), and ``share`` for 0 to 1, told as per cent. ``checkers`` are the modules of
    ``analysis.checkers`` that give it, by the last part of their names. ``says`` is one sentence for a reader. One try is one
    of ``independent``. ``origins`` are those whose records the number is made of: two of them verify each other.

    A trial has it by its load and its fault: ``loads`` are those that it is one of, ``faults`` those without which it says nothing.
    Either is empty where any will do. A sweep takes no setting that brings about a ``harm``, shows what one costs as a ``price``,
    and makes little of the first ``goal`` by its number that the incident has, where nobody says of what.
    """

    name: str
    unit: str
    better: Better
    says: str
    independent: Independent
    checkers: tuple[str, ...]
    loads: tuple[type[LoadValue], ...]
    faults: tuple[type[Fault], ...]
    origins: tuple[str, ...]
    moved: Moved
    harm: bool
    price: bool
    goal: int

    def moved_by(self, hiccup_ms: float, params: Parameters) -> float:
        """How far a hiccup can have moved it, in its unit; ``params`` are the cell's, whose ``rate_hz`` is what arrives."""
        if self.moved is Moved.LENGTHENED:
            return hiccup_ms / 1000 if self.unit == "s" else hiccup_ms
        if self.moved is Moved.ARRIVALS:
            return hiccup_ms / 1000 * float(params.get("rate_hz", ARRIVALS_PER_S))
        return 0.0

    def is_of(self, load: LoadValue) -> bool:
        """Whether a trial with this load can have it."""
        return not self.loads or isinstance(load, self.loads)


ARRIVALS_PER_S = 500
"""Where a cell names no rate: no load of a scenario sends faster in all."""


TRIAL = Independent(name="trial", key=("deployment", "trial"))
"""A trial has one stall, one power loss, one change of a route."""
OWNER = Independent(name="owner", key=("deployment", "trial", "group"))
"""A group has one owner, whose queues share the phase of its renewals."""
MEMBER = Independent(name="member", key=("deployment", "trial", "instance"))
PRODUCER = Independent(name="producer", key=("deployment", "trial", "instance"))
KEY = Independent(name="key", key=("deployment", "trial", "send", "key"))
MESSAGE = Independent(name="message", key=("deployment", "trial", "seq"))
POOL = Independent(name="pool", key=("deployment", "trial", "kind"))
"""Each kind of request has a pool of its own, or shares the one that is jammed."""
BROKER = Independent(name="broker", key=("deployment", "trial", "broker"))
ROUTE = Independent(name="route", key=("deployment", "trial", "node", "broker"))
"""What one name server lists of one broker."""
SERVERS = Independent(name="pair of name servers", key=("deployment", "trial", "node", "other"))
NODE = Independent(name="node", key=("deployment", "node"))
DEPLOYMENT = Independent(name="deployment", key=("deployment",))
STALL = Independent(name="stall", key=("deployment", "trial", "stall"))
STEP = Independent(name="restart", key=("deployment", "trial", "step"))
"""Each restart of a rolling upgrade is of another node, or of clients."""
ANSWER = Independent(name="what was asked about", key=("deployment", "trial", "of"))


READING = Independent(name="trial", key=("deployment", "trial", "of"))
"""A reading of the incident's own, one of its name in a trial."""

MORE, LESS, NEITHER, SIGN = Better.MORE, Better.LESS, Better.NEITHER, Better.SIGN
NOT, ARRIVALS = Moved.NOT, Moved.ARRIVALS
"""Times move by their own length and counts do not, but for times that no clock has measured, and for counts of what a stop of some
length does to the sends that come during it."""

ANY: tuple[type[LoadValue], ...] = ()
SENT = (OpenLoopSends, AvoidingProducers)
"""Loads that nobody consumes."""
LATE, KINDS = (LateGroup, ReturningGroup), (SendKinds, PythonSendKinds)
GROUPS = (
    OrderedGroups, SteadyClients, FailingMessages, *LATE, DelayedMessages, Transactions, QueueNumbers, GroupMembers, UnflushedTail,
)  # fmt: skip
"""Loads with groups, and the ends of whose queues are read when all is over."""
CONSUMED = (*GROUPS, KeyedSends, *KINDS)
"""Loads of which each message has a group that consumes it."""

ENDS_OWNERS = tuple(fault for fault in FAULTS if fault.ends_owners)
STANDSTILLS = tuple(fault for fault in FAULTS if fault.standstill)
RESTARTS = (RestartBroker, KillOwnersRestartBroker)
WATCHING = (AppendWatch, StoreFreeze, PageCacheNeighbour, LimitedPageCache, ColdReads)
"""Faults beside which a rule in the broker watches its appends."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A measure without what all of its checker's have in common."""

    name: str
    unit: str
    better: Better
    says: str
    loads: tuple[type[LoadValue], ...] = ()
    faults: tuple[type[Fault], ...] = ()
    moved: Moved | None = None
    harm: bool = False
    price: bool = False
    goal: int = 0


def row(name: str, unit: str, better: Better, says: str, **more: Any) -> _Row:
    """A measure's own; ``loads`` where they are fewer than its checker's."""
    return _Row(name=name, unit=unit, better=better, says=says, **more)


def _of(
    checkers: str, independent: Independent, loads: tuple[type[LoadValue], ...], *rest: tuple[str, ...] | _Row
) -> tuple[Measure, ...]:
    """Those of a checker: what a try is, the loads that it looks at, the records that it goes by, and its rows."""
    rows = [one for one in rest if isinstance(one, _Row)]
    by = next((one for one in rest if isinstance(one, tuple)), ("one record",))
    common: dict[str, Any] = {"checkers": tuple(checkers.split()), "independent": independent, "origins": by}
    usual = {"s": Moved.LENGTHENED, "ms": Moved.LENGTHENED}
    return tuple(
        Measure(
            **vars(one) | common | {"loads": one.loads or loads, "moved": one.moved or usual.get(one.unit, Moved.NOT)}
        )
        for one in rows
    )


_ALL = (
    # --- delivery
    *_of("order", OWNER, CONSUMED, ("two clients", "broker"),
        row("out_of_order_count", "", LESS, "First consumptions of a queue that came after one of a higher offset.",
            harm=True),
    ),
    *_of("duplicates", OWNER, CONSUMED,
        row("duplicate_count", "", LESS, "Consumptions of a queue's offsets beyond the first of each."),
    ),
    *_of("loss stored", OWNER, (*GROUPS, OpenLoopSends), ("client", "store"),
        row("lost_count", "", LESS, "Acknowledged messages that were never consumed; without consumers, that no store has.",
            harm=True, goal=13),
    ),
    *_of("stored", TRIAL, (OpenLoopSends,), ("client", "store"),
        row("lost_lone_count", "", LESS, "Whether the message that was sent alone was acknowledged and is in no store."),
        row("lost_on_slave_count", "", LESS, "Acknowledged messages that the slave lacks while its master is down."),
        row("lost_from_log_count", "", LESS, "Acknowledged messages that the commit log on the disk lacks after a power loss."),
        row("refused_for_good_count", "", LESS, "Sends that ended with a refusal.", moved=ARRIVALS),
        row("refused_stored_count", "", LESS, "Refused sends that the stores have nevertheless, at most."),
        row("unanswered_absent_count", "", LESS,
            "One-way sends without an error, of which nobody tells anything, that no store has."),
    ),
    *_of("late_groups", OWNER, LATE, ("producer", "consumer"),
        row("history_read_share", "share", LESS, "Share of the messages stored before a group first started that it consumed."),
        row("read_in_hold_share", "share", MORE,
            "Share of messages stored before a group first started that it consumed within the hold."),
        row("later_read_share", "share", MORE, "Share of the messages stored after a group had its queues that it consumed."),
    ),
    *_of("past_end", TRIAL, (UnflushedTail,), ("producer", "consumer"),
        row("consumed_again_share", "share", LESS,
            "Share of messages consumed before a broker's death that are consumed again after it."),
        row("skipped_after_share", "share", LESS,
            "Share of the messages accepted after a broker's return that their group is never given."),
        row("past_end_count", "", LESS, "By how much a group's offsets lie beyond the ends of a returned broker's queues."),
        row("send_took_ms", "ms", LESS, "Median time of the accepted sends before the fault."),
    ),
    *_of("returned", OWNER, (GroupMembers,), ("producer", "consumer"),
        row("again_s", "s", LESS,
            "From a returned broker's first accepted send to a group's first message of those that it accepts since."),
        row("doubled_elsewhere_count", "", LESS, "Messages of brokers that stayed that two members of a group were given."),
    ),
    *_of("returned", TRIAL, (GroupMembers,), ("producer", "consumer"),
        row("median_again_s", "s", LESS, "Median time that groups wait for their first message of a broker that is back."),
        row("slowest_again_s", "s", LESS, "Longest time that a group waits for its first message of a broker that is back."),
        row("heartbeats_per_s", "1/s", LESS,
            "Heartbeats a second of all members to all brokers, from the fault to the end of the hold."),
    ),
    *_of("delayed", TRIAL, (DelayedMessages,), ("producer", "consumer"),
        row("undelivered_share", "share", LESS,
            "Share of a level's messages due after the fault that did not come, in the hold or ever.", goal=11),
        row("delivery_late_s", "s", LESS,
            "Longest time from when a message of a delay level was due to its first consumption.", goal=10),
        row("dropped_count", "", LESS, "Messages that never came although a later one of their delay level did."),
        row("delivered_again_count", "", LESS, "Messages of before the fault that lie in their topic more than once."),
        row("delivered_again_share", "share", LESS,
            "The same as a share of the delayed ones that came in the last 2.5 s before the fault."),
    ),
    *_of("transactions", TRIAL, (Transactions,), ("producer", "consumer"),
        row("asked_again_count", "", LESS,
            "Transactions that had ended and that a broker asked about, before the fault or after it."),
        row("committed_twice_count", "", LESS, "Committed transactions whose message lies in its topic more than once."),
        row("committed_late_share", "share", LESS,
            "Share of transactions committed after the fault whose message did not come within 5 s."),
        row("given_up_s", "s", LESS,
            "Longest time from an undecided transaction's send to the last of the 15 times that a broker asks."),
        row("transaction_ms", "ms", LESS, "Median time of a transactional send, from its start to its end at the producer."),
    ),
    *_of("exclusivity", OWNER, CONSUMED, ("two clients", "broker's log"),
        row("overlap_ms", "ms", LESS, "Time in which two members consumed from one queue.", harm=True),
    ),
    # Where a message lies is told by the sender's history and by that of who consumed it.
    *_of("key_queues", KEY, (KeyedSends,), ("producer", "consumer"),
        row("queues_of_key_count", "", LESS, "Different queues that the accepted sends of a key lie in."),
        row("key_in_computed_queue", "", NEITHER, "Whether a key lies in the queue that the hash of it names."),
        row("queue_of_index_20", "", NEITHER, "Queue number of the key whose index among all queues is 20."),
        row("broker_of_index_20", "", NEITHER, "Broker number, from 0, of the key whose index among all queues is 20."),
        row("key_out_of_order_count", "", LESS, "Messages of a key that were first consumed after a later one.", harm=True),
        row("unsent_share", "share", LESS, "Share of a key's sends from the fault on that was not accepted."),
    ),
    # A queue is given and refused by the broker, in the client's history; stranded is what neither says was consumed.
    *_of("queue_numbers", BROKER, (QueueNumbers,), ("client", "broker"),
        row("sent_queues_count", "", NEITHER, "Queues of a broker that got an accepted send."),
        row("queue_folders_count", "", NEITHER, "Folders of a topic's consume queues in a broker's store."),
        row("empty_read_queues_count", "", NEITHER, "Read queues of a broker into which nothing ever came."),
    ),
    *_of("queue_numbers", OWNER, (QueueNumbers,), ("client", "broker"),
        row("assigned_queues_count", "", NEITHER, "Queues of a broker that the members of a group have."),
        row("stranded_count", "", LESS, "Messages in queues that no member is given and that none has consumed.", goal=14),
        row("consumed_beyond_read_count", "", NEITHER, "Consumptions of queues beyond the read ones."),
        row("member_share", "share", NEITHER, "Share of a group's consumptions that one member got."),
    ),
    *_of("queue_numbers", TRIAL, (QueueNumbers,), ("client", "broker"),
        row("illegal_queue_count", "", LESS, "Sends that were refused since the broker has no such queue."),
    ),
    *_of("retries", MESSAGE, (FailingMessages,),
        row("consumption_count", "", NEITHER, "Failed consumptions of a message, the first included."),
        row("retry_late_s", "s", LESS, "Time of a retry beyond the delay that its level has."),
        row("timed_out_retry_off_s", "s", LESS,
            "Time by which the retry of a message that timed out misses the delay that its level has."),
        row("other_delay_s", "s", LESS,
            "From the intended send of a message that does not fail to its consumption, or to the end."),
    ),
    # A message is accepted in its sender's history, and given to a member, or to none, in the members' own.
    *_of("members", OWNER, (GroupMembers,), ("producer", "consumer"),
        row("unread_share", "share", LESS, "Share of a group's messages that none of its members was given.", goal=15),
        row("doubled_share", "share", LESS, "Share of a group's messages that two of its members were given, retries apart."),
        row("least_tag_share", "share", MORE, "Share that was read of the tag of which a group read least."),
        row("passed_over_share", "share", LESS,
            "Share of a group's unread messages that lie below the offset that it has committed."),
        row("retry_copies_count", "", LESS, "Consumptions at a retry for each message of a group that fails."),
        row("client_ids_count", "", MORE, "Different client ids of a group's members."),
    ),
    *_of("latency", TRIAL, SENT,
        row("latency_p50_ms", "ms", LESS, "Median from intended to finished, of accepted sends."),
        row("latency_p99_ms", "ms", LESS, "99 % quantile from intended to finished, of accepted sends.", price=True),
        row("latency_max_ms", "ms", LESS, "Longest time from intended to finished, of accepted sends.", price=True),
        row("throughput_per_s", "1/s", MORE, "Accepted sends per second around the fault.", price=True),
        row("failed_count", "", LESS, "Sends around the fault that failed.", moved=ARRIVALS, price=True),
        row("unknown_count", "", LESS, "Sends around the fault whose outcome is unknown.", moved=ARRIVALS, price=True),
    ),
    # --- locks
    *_of("handover", OWNER, CONSUMED, ("client", "broker's log"),
        row("handover_s", "s", LESS, "From the end of the owner to the successor's first consumption of a queue.",
            goal=2, loads=(OrderedGroups,), faults=ENDS_OWNERS),
        row("message_delay_max_s", "s", LESS, "Longest time from a message's intended send to its consumption, by queue."),
        row("delayed_over_1s_count", "", LESS, "Messages of a queue that came more than 1 s late.", moved=ARRIVALS),
        row("delayed_in_10s_count", "", LESS, "Messages due in the 10 s after the fault that came more than 1 s late.",
            moved=ARRIVALS),
    ),
    *_of("joins", OWNER, (OrderedGroups,), ("client", "broker"),
        row("lock_wait_s", "s", LESS,
            "From the grant of a queue's lock to a member that joins to the first message that it is given."),
        row("join_gap_s", "s", LESS,
            "From the last message of a queue that an owner is given to the first one of the member that joins."),
        row("put_off_pull_count", "", LESS,
            "Pulls of a queue that a member that joins puts off as not locked, before its first message."),
    ),
    *_of("parts", OWNER, (OrderedGroups,),
        row("handover_part_s", "s", LESS, "One part of a hand-over between two stamps of its own.", faults=ENDS_OWNERS),
        row("handover_gap_s", "s", NEITHER, "What the parts of a hand-over leave unexplained.", faults=ENDS_OWNERS),
    ),
    *_of("diagnosis", OWNER, (OrderedGroups,),
        row("diagnosed_right", "", MORE, "Whether the diagnosis told why a queue stands still.", faults=STANDSTILLS),
    ),
    *_of("waiting", OWNER, (OrderedGroups,),
        row("wait_logged_share", "share", SIGN, "Share of a queue's wait between its first and last log line.",
            faults=ENDS_OWNERS),
    ),
    *_of("waiting", TRIAL, (OrderedGroups,),
        row("parked_share", "share", NEITHER, "Share of the successors' consuming threads that are parked, by count.",
            faults=ENDS_OWNERS),
        row("stopped_ms_max", "ms", LESS, "Longest stop of the successors' JVM while they waited.", faults=ENDS_OWNERS),
    ),
    # A lock is granted by the broker's answer in another client's history, and offsets are given by the broker.
    *_of("pauses", OWNER, (OrderedGroups,), ("two clients", "broker"),
        row("taken_while_paused", "", LESS, "Whether an owner that stood still lost a queue.", faults=(PauseOwners,)),
    ),
    *_of("restarts", OWNER, (OrderedGroups,),
        row("granted_after_restart", "", LESS,
            "Whether a restarted broker granted a queue's lock to a client that is not its owner.", faults=RESTARTS),
        row("restart_handover_s", "s", LESS, "From the end of the owner and its broker to the successor's first consumption.",
            goal=3, faults=(KillOwnersRestartBroker,)),
        row("restart_delay_max_s", "s", LESS, "Longest delay of a queue's messages around the broker's restart.",
            faults=RESTARTS),
    ),
    *_of("takeovers", OWNER, (OrderedGroups,), ("client", "broker's log"),
        row("lock_age_at_takeover_s", "s", LESS, "From the owner's last renewal to the successor's granted request.",
            faults=ENDS_OWNERS),
        row("lock_lines_waiting", "", SIGN, "Log lines that say that the successor waits for the owner's lock of a queue.",
            faults=ENDS_OWNERS),
        row("unlock_lines", "", SIGN, "Log lines that say that the owner unlocked a queue.", faults=ENDS_OWNERS),
        row("first_lock_lines", "", SIGN, "Log lines of a queue's first lock.", faults=ENDS_OWNERS),
        row("takeover_lines", "", SIGN, "Log lines of the take-over of a queue's expired lock.", faults=ENDS_OWNERS),
    ),
    *_of("foreign", OWNER, (OrderedGroups,),
        row("foreign_lock_granted", "", LESS, "Whether a broker granted the lock of a queue that another client holds."),
    ),
    *_of("renewals", MEMBER, (OrderedGroups,),
        row("renewal_period_s", "s", NEITHER, "From one renewal of an owner's locks to the next, at one broker."),
        row("first_lock_request_s", "s", NEITHER, "From the start of a member to its first lock request."),
        row("lock_timer_first_round_s", "s", NEITHER, "From the start of a member to the first round of its lock timer."),
        row("first_lock_by_timer", "", NEITHER, "Whether a member's first lock request came from its lock timer."),
        row("lock_requests_count", "", NEITHER, "Lock requests of a member in a trial."),
        row("lock_renewals_count", "", NEITHER, "Lock requests of a member's lock timer in a trial."),
    ),
    *_of("lock_cost", OWNER, (OrderedGroups,),
        row("lock_requests_per_s", "1/s", LESS, "Lock requests per second of a group's members to all brokers.",
            faults=ENDS_OWNERS),
        row("lock_log_bytes_per_s", "1/s", LESS, "Bytes per second that brokers log of a group's locks.", faults=ENDS_OWNERS),
        row("unlocked_share", "share", LESS,
            "Share of the time before the fault in which a broker would have given an owner's queue away.",
            harm=True, faults=ENDS_OWNERS),
    ),
    # --- sends
    *_of("appends", TRIAL, ANY, ("broker", "broker's log"),
        row("append_in_lock_ms", "ms", LESS, "Time for which the stalled append held the put lock, by stamps in the broker.",
            faults=(AppendStall,)),
        row("store_log_line", "", SIGN, "Whether a log file names the stalled append.", faults=(AppendStall,)),
        row("slow_append_lines", "", SIGN, "Slow appends that store.log names from the fault to the end of the trial."),
    ),
    # A refusal is the broker's own remark in the client's history.
    *_of("busy", TRIAL, SENT, ("client", "broker"),
        row("rejected_count", "", LESS, "Sends that were refused, by keyword.", moved=ARRIVALS, goal=1),
        row("period_in_queue_ms", "ms", LESS, "Time in the send queue that a refusal names."),
        row("period_over_limit_ms", "ms", LESS, "Time in the send queue that a refusal names, beyond the limit."),
        row("first_period_over_limit_ms", "ms", LESS, "The same of the stall's first refusal for its age."),
        row("first_rejected_after_ms", "ms", MORE, "From the start of the stall to its first refusal, by keyword."),
        row("rejected_within_1s_max", "", LESS, "Most refusals that came back within one second.", moved=ARRIVALS),
        row("queue_depth", "", LESS, "Longest send queue that a refusal names, the refused request included.",
            moved=ARRIVALS),
        row("refusal_code", "", SIGN, "Response code of a refusal."),
        row("has_article_phrase", "", SIGN, "Whether a refusal carries the article's words for a full queue."),
        row("size_over_arrivals", "", NEITHER, "Queue size that refusals name, less the requests that came behind."),
    ),
    *_of("attempts", TRIAL, (OpenLoopSends,), ("client", "broker"),
        row("refused_count", "", LESS, "Sends that were refused at least once, by keyword.", moved=ARRIVALS, goal=4),
        row("attempts", "", LESS, "Attempts of a refused send."),
        row("retried_elsewhere_share", "share", MORE, "Share of refused sends that were tried again at another broker."),
        row("refused_then_ok_share", "share", MORE, "Share of refused sends that succeeded in the end."),
        row("refused_ok_soon_share", "share", MORE, "Share of refused sends that succeeded within 100 ms of the refusal."),
        row("ok_after_ms", "ms", LESS, "From the first refusal of a send to its success."),
        row("failed_share", "share", LESS, "Share of the sends around the fault that failed for good.", goal=5),
    ),
    *_of("stalls", TRIAL, SENT,
        row("not_in_time_count", "", LESS, "Sends due while appends stalled that were not acknowledged within 500 ms.",
            moved=ARRIVALS, faults=(AppendStall,)),
        row("acknowledged_late_count", "", LESS, "Sends due while appends stalled that were acknowledged after 500 ms or more.",
            moved=ARRIVALS, faults=(AppendStall,)),
    ),
    *_of("stalls", STALL, (OpenLoopSends,), ("client", "store"),
        row("lost_of_stall_count", "", LESS, "Messages acknowledged by a broker during a stall that its store does not have.",
            faults=(AppendStall,)),
    ),
    *_of("statuses", TRIAL, ANY,
        row("stored_unsure_count", "", LESS,
            "Sends that a broker stored but answered with a status other than SEND_OK, by status."),
    ),
    *_of("aftermath", TRIAL, ANY, ("client", "broker"),
        row("refused_after_share", "share", LESS,
            "Share of the sends due after the fault, or after its cure, that met the flag of a busy page cache."),
        row("unaccepted_after_share", "share", LESS,
            "Share of the sends due after the fault, or after its cure, that were not accepted.", goal=6),
        row("unaccepted_last_share", "share", LESS,
            "Share of the sends due in the last 5 s of the hold that were not accepted."),
        row("unaccepted_in_cure_count", "", LESS, "Sends due while the cure was under way that were not accepted."),
    ),
    # A send was accepted in its sender's history; flushes are counted in the broker.
    *_of("flushes", TRIAL, (OpenLoopSends,), ("producer", "broker"),
        row("accepted_per_flush", "", MORE, "Sends that were accepted in the hold for each flush of the commit log.",
            faults=(SlowFlush,)),
        row("accepted_per_s", "1/s", MORE, "Sends that were accepted in the hold, by when they were, a second."),
        row("refused_in_hold_share", "share", LESS, "Share of the sends that ended in the hold that were refused as busy."),
        row("waited_flush_share", "share", LESS,
            "Share of sends accepted in the hold that took as long as a flush was held up, or longer.", faults=(SlowFlush,)),
    ),
    # How often a message was handed over is told by its producer, how often it is stored by who read the stores.
    *_of("send_kinds", MEMBER, KINDS, ("producer", "consumer"),
        row("aimed_count", "", NEITHER, "Sends during the fault whose first attempt was for the broker that it was done to."),
        row("attempts_median", "", NEITHER, "Attempts of a send whose first one was for the faulty broker, by the median."),
        row("attempts_most", "", NEITHER, "Most attempts of a send whose first one was for the faulty broker."),
        row("brokers_tried_most", "", MORE, "Most brokers that a send tried whose first attempt was for the faulty one."),
        row("aimed_took_s", "s", LESS, "Median time to the end of a send whose first attempt was for the faulty broker."),
        row("ended_share", "share", NEITHER, "Share of the sends to the faulty broker that ended so for their sender."),
        row("failed_for_good_share", "share", LESS,
            "Share of all sends during the fault that failed for good, as their sender was told.", goal=7),
        row("failed_stored_share", "share", LESS,
            "Share of the failed sends to the faulty broker that are stored nevertheless."),
        row("failed_stored_count", "", LESS,
            "Sends during the fault that failed for their sender and are stored nevertheless."),
        row("copies_count", "", LESS, "Further copies in the stores of messages that were sent during the fault."),
        row("untold_loss_count", "", LESS,
            "Messages sent during the fault that are in no store, and whose sender was told of no failure."),
    ),
    *_of("send_kinds", KEY, KINDS, ("producer", "consumer"),
        row("copies_of_key_count", "", LESS, "Further copies in the stores of a key's messages.", loads=(SendKinds,)),
        row("disorder_of_key_count", "", LESS, "Messages of a key that a queue stores after a later one, or again.",
            loads=(SendKinds,)),
    ),
    # A probe's own time counts while the broker's stamps say that a pool of it is jammed.
    *_of("isolation", POOL, (OpenLoopSends,), ("prober", "broker"),
        row("probe_worst_ms", "ms", LESS, "Longest request of a kind while another pool was jammed."),
        row("probe_median_ms", "ms", LESS, "Median request of a kind while another pool was jammed."),
        row("probe_unanswered_count", "", LESS, "Requests of a kind that were not answered while another pool was jammed."),
    ),
    # A message has its sender's time and, where it was accepted, its queue; when it came is told by who consumed it.
    *_of("senders", TRIAL, (SteadyClients,), ("producer", "consumer"),
        row("failed_send_share", "share", LESS, "Share of the sends begun in the hold that failed."),
    ),
    *_of("senders", OWNER, (SteadyClients,), ("producer", "consumer"),
        row("duplicate_messages", "", LESS, "Messages sent in the hold that a group consumed more than once."),
        row("late_messages", "", LESS, "Messages sent in the hold that a group consumed more than 30 s late."),
        row("through_s", "s", LESS,
            "From equal views of all name servers until a group has had all that was sent in the hold."),
    ),
    *_of("senders", MEMBER, (SteadyClients,), ("producer", "consumer"),
        row("notice_s", "s", LESS, "From the change of a topic to a producer's first send that obeys it.",
            faults=(MoreQueues,)),
    ),
    # A send was slow by the broker's stamps; where the next ones went is told by their answers.
    *_of("avoidance", PRODUCER, (AvoidingProducers,), ("producer", "broker"),
        row("avoided_s", "s", NEITHER, "From the end of a producer's slow or failed send to its next one to that broker."),
        row("first_broker_share", "share", NEITHER,
            "Share of a producer's sends to the first broker, in the 5 s after its last slow one."),
        row("busiest_queue_share", "share", LESS, "Share of the queue that got most of a producer's sends in those 5 s."),
        row("out_of_turn_share", "share", NEITHER,
            "Share of a producer's sends that did not go to the queue whose turn it was."),
        row("unused_queues_count", "", NEITHER, "Queues that a producer has used and does not use in the last 10 s."),
        row("failed_of_producer_share", "share", LESS, "Share of a producer's sends from the fault on that failed.", goal=9),
    ),
    # How long a send took is its sender's to tell; which broker took it, the broker's answer.
    *_of("outages", PRODUCER, (AvoidingProducers,), ("producer", "broker"),
        row("late_of_producer_share", "share", LESS,
            "Share of a producer's sends that failed, or took over a second from when due.", goal=8),
        row("p99_of_producer_ms", "ms", LESS,
            "99th percentile of how long a producer's sends took, failed or not, from when each was due."),
        row("p999_of_producer_ms", "ms", LESS, "99.9th percentile of the same."),
        row("accepted_of_producer_per_s", "1/s", MORE, "A producer's accepted sends a second."),
        row("to_faulty_share", "share", NEITHER,
            "Share of a producer's accepted sends that went to the broker that is, or was, at fault."),
    ),
    # What was acknowledged is told by the producer, what came by consumers.
    *_of("steps", STEP, (KeyedSends,), ("producer", "consumer"),
        row("step_lost_count", "", LESS, "Messages acknowledged from one restart to the next that their group never consumed."),
        row("step_again_count", "", LESS, "Consumptions of these messages beyond the first of each."),
        row("step_failed_share", "share", LESS, "Share of the sends from one restart to the next that were not acknowledged.",
            goal=12),
        row("step_silent_s", "s", LESS, "Longest time without an acknowledged send that ended in a restart's time."),
        row("step_key_silent_s", "s", LESS,
            "Longest time without an acknowledged send of one key that ended in a restart's time."),
        row("step_took_s", "s", LESS, "From telling a node to end until it could be used again."),
    ),
    # --- topics
    *_of("readings", TRIAL, ANY,
        row("free_buffers", "", NEITHER, "Free buffers of the transient store pool, as the broker tells.",
            loads=(OpenLoopSends,)),
        row("deleted_log_mb", "", LESS, "Where the commit log begins, in MB: what lay before is deleted.",
            loads=(OpenLoopSends,)),
        row("locked_mb", "", NEITHER, "Memory that the broker's process has locked, in MB.", loads=(OpenLoopSends,)),
        row("locked_files_mb", "", NEITHER, "Mapped files that the broker's process has locked, in MB.",
            loads=(OpenLoopSends,)),
        row("busy_ends_ms", "ms", LESS, "How long a lock has to be held to count as busy no more, by the release's code.",
            moved=NOT, loads=(OpenLoopSends,)),
        row("other_reject_conditions", "", NEITHER, "Conditions that reject a send before it is queued, beyond the two known.",
            loads=(OpenLoopSends,)),
        row("clean_period_ms", "ms", NEITHER, "Period of the check of the queues' heads, by the release's code.",
            moved=NOT, loads=(OpenLoopSends,)),
        row("shared_executors", "", LESS,
            "Thread pools of a broker that several request processors share, by the release's code.", loads=(OpenLoopSends,)),
        row("fault_item_lacks", "", NEITHER,
            "Of broker name, last latency and end of avoidance, those that an entry lacks, by the code.",
            loads=(AvoidingProducers,)),
        row("append_count", "", NEITHER, "Appends that the rule inside the broker saw.", faults=WATCHING),
        row("append_short_share", "share", MORE, "Share of the appends that took less than 1 ms.", faults=WATCHING),
        row("append_mean_ms", "ms", LESS, "Mean time of an append.", faults=WATCHING),
        row("append_longest_ms", "ms", LESS, "Longest append.", faults=WATCHING),
        row("append_over_500_count", "", LESS, "Appends that took more than 500 ms.", faults=WATCHING),
        row("commit_after_period_share", "share", NEITHER,
            "Share of the pool's commits that came at least 150 ms after the one before.", faults=(CommitWatch,)),
        row("cold_share", "share", NEITHER,
            "Share of an old part of the commit log that was in no memory when its readers began.", faults=(ColdReads,)),
        row("cold_read_mb", "", NEITHER, "What readers were given of it, in MB.", faults=(ColdReads,)),
        row("cold_read_ms", "ms", LESS, "Mean time of a pull of it, by message.", faults=(ColdReads,)),
        row("cold_disk_reads", "", LESS, "Reads of the store's device while it was read, by message that readers were given.",
            faults=(ColdReads,)),
        row("major_faults", "", LESS, "Page faults of the broker that had to read the disk, while its readers read.",
            faults=(ColdReads,)),
        row("faults_per_append", "", LESS, "Page faults of the appending threads by acknowledged message.",
            loads=(OpenLoopSends,)),
        row("append_faults", "", LESS, "Page faults of the appending threads.", loads=(OpenLoopSends,)),
    ),
    *_of("logfiles", DEPLOYMENT, ANY,
        row("log_file_exists", "", SIGN, "Whether a broker has a log file of that name."),
        row("lock_lines_in_file", "", SIGN, "Lines of the lock manager in a log file."),
    ),
    *_of("registrations", NODE, (SteadyClients,),
        row("frame_bytes_refused", "", NEITHER, "Bytes of the first frame that a name server refused."),
        row("frame_bytes_over", "", NEITHER, "Bytes of that frame beyond the limit."),
        row("refusals_logged", "", SIGN, "Frames that a name server logged as refused."),
        row("registration_failures", "", SIGN, "Log lines of a broker about a failed registration, by exception."),
        row("size_lines", "", SIGN, "Log lines of a broker that name a frame's size."),
        row("topic_count_lines", "", SIGN,
            "Log lines of a refused broker about its registration that name the number of its topics."),
        row("ok_lines", "", SIGN, "Log lines of a broker that call a registration done, in the wording of 4.x."),
    ),
    *_of("routes", ROUTE, (SteadyClients,),
        row("route_absent_s", "s", LESS, "Time for which a name server did not list a broker that it had listed."),
        row("route_stays_s", "s", LESS, "From the fault to when a name server no longer lists the broker."),
    ),
    *_of("routes", TRIAL, (SteadyClients,),
        row("server_silent_s", "s", LESS, "Time for which a name server did not answer."),
    ),
    *_of("routes", SERVERS, (SteadyClients,),
        row("views_differ_s", "s", LESS, "Time for which two name servers said different things, in the hold or after it."),
    ),
    *_of("registering", TRIAL, (SteadyClients,),
        row("unregistered_s", "s", LESS, "Longest time from one registration of a broker with a name server to the next."),
        row("back_untold", "", LESS, "Whether a name server had a topic back that no broker registered at that moment.",
            faults=(ForgottenTopic,)),
    ),
    *_of("own_readings", READING, ANY,
        row(READ, "", NEITHER, "What a step of the incident's own file has read, by the reading's name."),
    ),
    *_of("answers", ANSWER, ANY,
        row("broker_back_s", "s", LESS, "From the restart of a name server to when it lists the broker again.",
            faults=(CrossFrameLimit,)),
        row("bytes_per_topic", "", LESS, "Bytes of the registration's body that one more topic takes.",
            faults=(CrossFrameLimit,)),
        row("crossed_again", "", LESS, "Whether more topics exceed the raised frame limit, too.", faults=(CrossFrameLimit,)),
        row("dead_letter_share", "share", LESS, "Share of the messages that failed at every retry and became dead letters.",
            loads=(FailingMessages,)),
        row("next_retry_reached", "", MORE, "Whether a group whose retry topic was deleted gets its next retry.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("node_answers", "", NEITHER, "Whether a node that is not listed answers requests.", faults=(CrossFrameLimit,)),
        row("normal_topics_grown", "", NEITHER, "By how much a count of normal topics grew while the flood crossed the limit.",
            faults=(CrossFrameLimit,)),
        row("offline_deleted_share", "share", MORE, "Share of the offline groups whose retry topic was deleted.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("online_kept", "", MORE, "Whether the retry topic of a group that is online was kept.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("pending_retry_kept", "", MORE, "Whether a retry that was due when its topic was deleted is delivered.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("retry_topic_created", "", LESS, "Whether a group's retry topic exists after the event that may create it.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("retry_topic_returns", "", MORE, "Whether a deleted retry topic exists again when its group is back.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("retry_topic_stays", "", LESS, "Whether the retry topic of a group that went away is still there.",
            loads=(FailingMessages,), faults=(TopicMoments,)),
        row("server_connections_count", "", NEITHER, "Connections that name servers had to each other.",
            faults=(ForgottenTopic,)),
        row("servers_listing_it", "", MORE, "Name servers that list the broker after that many were restarted.",
            faults=(CrossFrameLimit,)),
        row("thread_busy_share", "share", LESS,
            "How much of the time without waits for a core an idle broker's busiest thread computes.", faults=(IdleBroker,)),
        row("topic_back_s", "s", LESS, "From the restart of a name server to when it has the whole route of a topic.",
            faults=(RestartNameServer, ForgottenTopic)),
        row("topic_exists", "", NEITHER, "Whether a topic exists at that moment.", loads=(FailingMessages,)),
        row("topic_listed", "", MORE, "Whether a name server has a route of a topic at that moment.", faults=(EarlyTopic,)),
        row("topics_at_limit", "", MORE, "Topics with which the registration first exceeded the frame limit.",
            faults=(CrossFrameLimit,)),
    ),
)  # fmt: skip

MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _ALL}
"""By name, in the order of the checkers."""

GROUPED: Mapping[str, bool] = {"loss": True, "stored": False}
"""Of the two checkers for loss one looks at trials with groups of consumers, the other at those without."""


CHECKER_VERSIONS: Mapping[str, int] = {"retries": 2}
"""By checker, from 2 on: raised when the value of a trial that is recorded changes by a change of the checker's code."""


def measures_of(checker: str) -> tuple[str, ...]:
    """Names of the measures that a checker may give, in the catalogue's order."""
    return tuple(measure.name for measure in _ALL if checker in measure.checkers)


def loads_of(checker: str) -> tuple[type[LoadValue], ...]:
    """The loads of these measures, empty where any will do."""
    each = [measure.loads for measure in _ALL if checker in measure.checkers]
    return tuple(dict.fromkeys(load for loads in each for load in loads)) if all(each) else ANY
