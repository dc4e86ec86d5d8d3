"""Every measure that a checker gives and a claim may ask for, declared once."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.model.cells import Parameters


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


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number that a checker reads off a run.

    ``unit`` is empty for counts and yes-or-no (0 or 1), and ``share`` for 0 to 1, told as per cent. ``checkers`` are the modules of
    ``analysis.checkers`` that give it, by the last part of their names. ``says`` is one sentence for a reader. One try is one
    of ``independent``. ``origins`` are those whose records the number is made of: two of them verify each other.
    """

    name: str
    unit: str
    independent: Independent
    checkers: tuple[str, ...]
    says: str
    moved: Moved
    origins: tuple[str, ...]

    def moved_by(self, hiccup_ms: float, params: Parameters) -> float:
        """How far a hiccup can have moved it, in its unit; ``params`` are the cell's, whose ``rate_hz`` is what arrives."""
        if self.moved is Moved.LENGTHENED:
            return hiccup_ms / 1000 if self.unit == "s" else hiccup_ms
        if self.moved is Moved.ARRIVALS:
            return hiccup_ms / 1000 * float(params.get("rate_hz", ARRIVALS_PER_S))
        return 0.0


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
STEP = Independent(name="restart", key=("deployment", "trial", "step"))
"""Each restart of a rolling upgrade is of another node, or of clients."""
ANSWER = Independent(name="what was asked about", key=("deployment", "trial", "of"))


ARRIVING = frozenset(
    {"rejected_count", "rejected_within_1s_max", "refused_count", "queue_depth", "refused_for_good_count"}
    | {"delayed_over_1s_count", "delayed_in_10s_count", "failed_count", "unknown_count"}
)
"""Counts of what a stop of some length does to the sends that come during it."""

FROM_CODE = frozenset({"busy_ends_ms", "clean_period_ms"})
"""Times that no clock has measured."""

ORIGINS = {
    # A refusal is the broker's own remark in the client's history.
    "busy": ("client", "broker"),
    "attempts": ("client", "broker"),
    "aftermath": ("client", "broker"),
    "appends": ("broker", "broker's log"),
    # A probe's own time counts while the broker's stamps say that a pool of it is jammed.
    "isolation": ("prober", "broker"),
    "exclusivity": ("two clients", "broker's log"),
    "handover": ("client", "broker's log"),
    "takeovers": ("client", "broker's log"),
    "joins": ("client", "broker"),
    # A lock is granted by the broker's answer in another client's history, and offsets are given by the broker.
    "pauses": ("two clients", "broker"),
    "order": ("two clients", "broker"),
    # Where a message lies is told by the sender's history and by that of who consumed it.
    "key_queues": ("producer", "consumer"),
    # A queue is given and refused by the broker, in the client's history; stranded is what neither says was consumed.
    "queue_numbers": ("client", "broker"),
    # A message has its sender's time and, where it was accepted, its queue; when it came is told by who consumed it.
    "senders": ("producer", "consumer"),
    # A message is accepted in its sender's history, and given to a member, or to none, in the members' own.
    "members": ("producer", "consumer"),
    # A send was slow by the broker's stamps; where the next ones went is told by their answers.
    "avoidance": ("producer", "broker"),
    "stored": ("client", "store"),
    "loss": ("client", "store"),
    # How long a send took is its sender's to tell; which broker took it, the broker's answer.
    "outages": ("producer", "broker"),
    # How often a message was handed over is told by its producer, how often it is stored by who read the stores.
    "send_kinds": ("producer", "consumer"),
    "late_groups": ("producer", "consumer"),
    "delayed": ("producer", "consumer"),
    "transactions": ("producer", "consumer"),
    "returned": ("producer", "consumer"),
    "past_end": ("producer", "consumer"),
    # A send was accepted in its sender's history; flushes are counted in the broker.
    "flushes": ("producer", "broker"),
    # What was acknowledged is told by the producer, what came by consumers.
    "steps": ("producer", "consumer"),
}
"""By checker, where it is more than one: two records of different origin that agree verify what must not happen."""


def _of(checkers: str, independent: Independent, *rows: tuple[str, str, str]) -> tuple[Measure, ...]:
    names = tuple(checkers.split())
    return tuple(
        Measure(
            name=name,
            unit=unit,
            independent=independent,
            checkers=names,
            says=says,
            moved=_moved(name, unit),
            origins=ORIGINS.get(names[0], ("one record",)),
        )
        for name, unit, says in rows
    )


def _moved(name: str, unit: str) -> Moved:
    if name in FROM_CODE:
        return Moved.NOT
    return Moved.LENGTHENED if unit in ("s", "ms") else Moved.ARRIVALS if name in ARRIVING else Moved.NOT


_ALL = (
    # --- delivery
    *_of("order", OWNER,
        ("out_of_order_count", "", "First consumptions of a queue that came after one of a higher offset."),
    ),
    *_of("duplicates", OWNER, ("duplicate_count", "", "Consumptions of a queue's offsets beyond the first of each.")),
    *_of("loss stored", OWNER,
        ("lost_count", "", "Acknowledged messages that were never consumed; without consumers, that no store has."),
    ),
    *_of("stored", TRIAL,
        ("lost_lone_count", "", "Whether the message that was sent alone was acknowledged and is in no store."),
        ("lost_on_slave_count", "", "Acknowledged messages that the slave lacks while its master is down."),
        ("lost_from_log_count", "", "Acknowledged messages that the commit log on the disk lacks after a power loss."),
        ("refused_for_good_count", "", "Sends that ended with a refusal."),
        ("refused_stored_count", "", "Refused sends that the stores have nevertheless, at most."),
        ("unanswered_absent_count", "", "One-way sends without an error, of which nobody tells anything, that no store has."),
    ),
    *_of("late_groups", OWNER,
        ("history_read_share", "share", "Share of the messages stored before a group first started that it consumed."),
        ("read_in_hold_share", "share", "Share of messages stored before a group first started that it consumed within the hold."),
        ("later_read_share", "share", "Share of the messages stored after a group had its queues that it consumed."),
    ),
    *_of("past_end", TRIAL,
        ("consumed_again_share", "share", "Share of messages consumed before a broker's death that are consumed again after it."),
        ("skipped_after_share", "share", "Share of the messages accepted after a broker's return that their group is never given."),
        ("past_end_count", "", "By how much a group's offsets lie beyond the ends of a returned broker's queues."),
        ("send_took_ms", "ms", "Median time of the accepted sends before the fault."),
    ),
    *_of("returned", OWNER,
        ("again_s", "s", "From a returned broker's first accepted send to a group's first message of those that it accepts since."),
        ("doubled_elsewhere_count", "", "Messages of brokers that stayed that two members of a group were given."),
    ),
    *_of("returned", TRIAL,
        ("median_again_s", "s", "Median time that groups wait for their first message of a broker that is back."),
        ("slowest_again_s", "s", "Longest time that a group waits for its first message of a broker that is back."),
        ("heartbeats_per_s", "1/s", "Heartbeats a second of all members to all brokers, from the fault to the end of the hold."),
    ),
    *_of("delayed", TRIAL,
        ("undelivered_share", "share", "Share of a level's messages due after the fault that did not come, in the hold or ever."),
        ("delivery_late_s", "s", "Longest time from when a message of a delay level was due to its first consumption."),
        ("dropped_count", "", "Messages that never came although a later one of their delay level did."),
        ("delivered_again_count", "", "Messages of before the fault that lie in their topic more than once."),
        ("delivered_again_share", "share", "The same as a share of the delayed ones that came in the last 2.5 s before the fault."),
    ),
    *_of("transactions", TRIAL,
        ("asked_again_count", "", "Transactions that had ended and that a broker asked about, before the fault or after it."),
        ("committed_twice_count", "", "Committed transactions whose message lies in its topic more than once."),
        ("committed_late_share", "share", "Share of transactions committed after the fault whose message did not come within 5 s."),
        ("given_up_s", "s", "Longest time from an undecided transaction's send to the last of the 15 times that a broker asks."),
        ("transaction_ms", "ms", "Median time of a transactional send, from its start to its end at the producer."),
    ),
    *_of("exclusivity", OWNER, ("overlap_ms", "ms", "Time in which two members consumed from one queue.")),
    *_of("key_queues", KEY,
        ("queues_of_key_count", "", "Different queues that the accepted sends of a key lie in."),
        ("key_in_computed_queue", "", "Whether a key lies in the queue that the hash of it names."),
        ("queue_of_index_20", "", "Queue number of the key whose index among all queues is 20."),
        ("broker_of_index_20", "", "Broker number, from 0, of the key whose index among all queues is 20."),
        ("key_out_of_order_count", "", "Messages of a key that were first consumed after a later one."),
        ("unsent_share", "share", "Share of a key's sends from the fault on that was not accepted."),
    ),
    *_of("queue_numbers", BROKER,
        ("sent_queues_count", "", "Queues of a broker that got an accepted send."),
        ("queue_folders_count", "", "Folders of a topic's consume queues in a broker's store."),
        ("empty_read_queues_count", "", "Read queues of a broker into which nothing ever came."),
    ),
    *_of("queue_numbers", OWNER,
        ("assigned_queues_count", "", "Queues of a broker that the members of a group have."),
        ("stranded_count", "", "Messages in queues that no member is given and that none has consumed."),
        ("consumed_beyond_read_count", "", "Consumptions of queues beyond the read ones."),
        ("member_share", "share", "Share of a group's consumptions that one member got."),
    ),
    *_of("queue_numbers", TRIAL, ("illegal_queue_count", "", "Sends that were refused since the broker has no such queue.")),
    *_of("retries", MESSAGE,
        ("consumption_count", "", "Failed consumptions of a message, the first included."),
        ("retry_late_s", "s", "Time of a retry beyond the delay that its level has."),
        ("timed_out_retry_off_s", "s", "Time by which the retry of a message that timed out misses the delay that its level has."),
        ("other_delay_s", "s", "From the intended send of a message that does not fail to its consumption, or to the end."),
    ),
    *_of("members", OWNER,
        ("unread_share", "share", "Share of a group's messages that none of its members was given."),
        ("doubled_share", "share", "Share of a group's messages that two of its members were given, retries apart."),
        ("least_tag_share", "share", "Share that was read of the tag of which a group read least."),
        ("passed_over_share", "share", "Share of a group's unread messages that lie below the offset that it has committed."),
        ("retry_copies_count", "", "Consumptions at a retry for each message of a group that fails."),
        ("client_ids_count", "", "Different client ids of a group's members."),
    ),
    *_of("latency", TRIAL,
        ("latency_p50_ms", "ms", "Median from intended to finished, of accepted sends."),
        ("latency_p99_ms", "ms", "99 % quantile from intended to finished, of accepted sends."),
        ("latency_max_ms", "ms", "Longest time from intended to finished, of accepted sends."),
        ("throughput_per_s", "1/s", "Accepted sends per second around the fault."),
        ("failed_count", "", "Sends around the fault that failed."),
        ("unknown_count", "", "Sends around the fault whose outcome is unknown."),
    ),
    # --- locks
    *_of("handover", OWNER,
        ("handover_s", "s", "From the end of the owner to the successor's first consumption of a queue."),
        ("message_delay_max_s", "s", "Longest time from a message's intended send to its consumption, by queue."),
        ("delayed_over_1s_count", "", "Messages of a queue that came more than 1 s late."),
        ("delayed_in_10s_count", "", "Messages due in the 10 s after the fault that came more than 1 s late."),
    ),
    *_of("joins", OWNER,
        ("lock_wait_s", "s", "From the grant of a queue's lock to a member that joins to the first message that it is given."),
        ("join_gap_s", "s", "From the last message of a queue that an owner is given to the first one of the member that joins."),
        ("put_off_pull_count", "", "Pulls of a queue that a member that joins puts off as not locked, before its first message."),
    ),
    *_of("parts", OWNER,
        ("handover_part_s", "s", "One part of a hand-over between two stamps of its own."),
        ("handover_gap_s", "s", "What the parts of a hand-over leave unexplained."),
    ),
    *_of("diagnosis", OWNER, ("diagnosed_right", "", "Whether the diagnosis told why a queue stands still.")),
    *_of("waiting", OWNER, ("wait_logged_share", "share", "Share of a queue's wait between its first and last log line.")),
    *_of("waiting", TRIAL,
        ("parked_share", "share", "Share of the successors' consuming threads that are parked, by count."),
        ("stopped_ms_max", "ms", "Longest stop of the successors' JVM while they waited."),
    ),
    *_of("pauses", OWNER, ("taken_while_paused", "", "Whether an owner that stood still lost a queue.")),
    *_of("restarts", OWNER,
        ("granted_after_restart", "", "Whether a restarted broker granted a queue's lock to a client that is not its owner."),
        ("restart_handover_s", "s", "From the end of the owner and its broker to the successor's first consumption."),
        ("restart_delay_max_s", "s", "Longest delay of a queue's messages around the broker's restart."),
    ),
    *_of("takeovers", OWNER,
        ("lock_age_at_takeover_s", "s", "From the owner's last renewal to the successor's granted request."),
        ("lock_lines_waiting", "", "Log lines that say that the successor waits for the owner's lock of a queue."),
        ("unlock_lines", "", "Log lines that say that the owner unlocked a queue."),
        ("first_lock_lines", "", "Log lines of a queue's first lock."),
        ("takeover_lines", "", "Log lines of the take-over of a queue's expired lock."),
    ),
    *_of("foreign", OWNER,
        ("foreign_lock_granted", "", "Whether a broker granted the lock of a queue that another client holds."),
    ),
    *_of("renewals", MEMBER,
        ("renewal_period_s", "s", "From one renewal of an owner's locks to the next, at one broker."),
        ("first_lock_request_s", "s", "From the start of a member to its first lock request."),
        ("lock_timer_first_round_s", "s", "From the start of a member to the first round of its lock timer."),
        ("first_lock_by_timer", "", "Whether a member's first lock request came from its lock timer."),
        ("lock_requests_count", "", "Lock requests of a member in a trial."),
        ("lock_renewals_count", "", "Lock requests of a member's lock timer in a trial."),
    ),
    *_of("lock_cost", OWNER,
        ("lock_requests_per_s", "1/s", "Lock requests per second of a group's members to all brokers."),
        ("lock_log_bytes_per_s", "1/s", "Bytes per second that brokers log of a group's locks."),
        ("unlocked_share", "share", "Share of the time before the fault in which a broker would have given an owner's queue away."),
    ),
    # --- sends
    *_of("appends", TRIAL,
        ("append_in_lock_ms", "ms", "Time for which the stalled append held the put lock, by stamps in the broker."),
        ("store_log_line", "", "Whether a log file names the stalled append."),
        ("slow_append_lines", "", "Slow appends that store.log names from the fault to the end of the trial."),
    ),
    *_of("busy", TRIAL,
        ("rejected_count", "", "Sends that were refused, by keyword."),
        ("period_in_queue_ms", "ms", "Time in the send queue that a refusal names."),
        ("period_over_limit_ms", "ms", "Time in the send queue that a refusal names, beyond the limit."),
        ("first_period_over_limit_ms", "ms", "The same of the stall's first refusal for its age."),
        ("first_rejected_after_ms", "ms", "From the start of the stall to its first refusal, by keyword."),
        ("rejected_within_1s_max", "", "Most refusals that came back within one second."),
        ("queue_depth", "", "Longest send queue that a refusal names, the refused request included."),
        ("refusal_code", "", "Response code of a refusal."),
        ("has_article_phrase", "", "Whether a refusal carries the article's words for a full queue."),
        ("size_over_arrivals", "", "Queue size that refusals name, less the requests that came behind."),
    ),
    *_of("attempts", TRIAL,
        ("refused_count", "", "Sends that were refused at least once, by keyword."),
        ("attempts", "", "Attempts of a refused send."),
        ("retried_elsewhere_share", "share", "Share of refused sends that were tried again at another broker."),
        ("refused_then_ok_share", "share", "Share of refused sends that succeeded in the end."),
        ("refused_ok_soon_share", "share", "Share of refused sends that succeeded within 100 ms of the refusal."),
        ("ok_after_ms", "ms", "From the first refusal of a send to its success."),
        ("failed_share", "share", "Share of the sends around the fault that failed for good."),
    ),
    *_of("statuses", TRIAL,
        ("stored_unsure_count", "", "Sends that a broker stored but answered with a status other than SEND_OK, by status."),
    ),
    *_of("aftermath", TRIAL,
        ("refused_after_share", "share", "Share of the sends due after the fault, or after its cure, that were refused as busy."),
        ("unaccepted_after_share", "share", "Share of the sends due after the fault, or after its cure, that were not accepted."),
        ("unaccepted_last_share", "share", "Share of the sends due in the last 5 s of the hold that were not accepted."),
        ("unaccepted_in_cure_count", "", "Sends due while the cure was under way that were not accepted."),
    ),
    *_of("flushes", TRIAL,
        ("accepted_per_flush", "", "Sends that were accepted in the hold for each flush of the commit log."),
        ("accepted_per_s", "1/s", "Sends that were accepted in the hold, by when they were, a second."),
        ("refused_in_hold_share", "share", "Share of the sends that ended in the hold that were refused as busy."),
        ("waited_flush_share", "share", "Share of sends accepted in the hold that took as long as a flush was held up, or longer."),
    ),
    *_of("send_kinds", MEMBER,
        ("aimed_count", "", "Sends during the fault whose first attempt was for the broker that it was done to."),
        ("attempts_median", "", "Attempts of a send whose first one was for the faulty broker, by the median."),
        ("attempts_most", "", "Most attempts of a send whose first one was for the faulty broker."),
        ("brokers_tried_most", "", "Most brokers that a send tried whose first attempt was for the faulty one."),
        ("aimed_took_s", "s", "Median time to the end of a send whose first attempt was for the faulty broker."),
        ("ended_share", "share", "Share of the sends to the faulty broker that ended so for their sender."),
        ("failed_for_good_share", "share", "Share of all sends during the fault that failed for good, as their sender was told."),
        ("failed_stored_share", "share", "Share of the failed sends to the faulty broker that are stored nevertheless."),
        ("failed_stored_count", "", "Sends during the fault that failed for their sender and are stored nevertheless."),
        ("copies_count", "", "Further copies in the stores of messages that were sent during the fault."),
        ("untold_loss_count", "", "Messages sent during the fault that are in no store, and whose sender was told of no failure."),
    ),
    *_of("send_kinds", KEY,
        ("copies_of_key_count", "", "Further copies in the stores of a key's messages."),
        ("disorder_of_key_count", "", "Messages of a key that a queue stores after a later one, or again."),
    ),
    *_of("isolation", POOL,
        ("probe_worst_ms", "ms", "Longest request of a kind while another pool was jammed."),
        ("probe_median_ms", "ms", "Median request of a kind while another pool was jammed."),
        ("probe_unanswered_count", "", "Requests of a kind that were not answered while another pool was jammed."),
    ),
    *_of("senders", TRIAL,
        ("failed_send_share", "share", "Share of the sends begun in the hold that failed."),
    ),
    *_of("senders", OWNER,
        ("duplicate_messages", "", "Messages sent in the hold that a group consumed more than once."),
        ("late_messages", "", "Messages sent in the hold that a group consumed more than 30 s late."),
        ("through_s", "s", "From equal views of all name servers until a group has had all that was sent in the hold."),
    ),
    *_of("senders", MEMBER, ("notice_s", "s", "From the change of a topic to a producer's first send that obeys it.")),
    *_of("avoidance", PRODUCER,
        ("avoided_s", "s", "From the end of a producer's slow or failed send to its next one to that broker."),
        ("first_broker_share", "share", "Share of a producer's sends to the first broker, in the 5 s after its last slow one."),
        ("busiest_queue_share", "share", "Share of the queue that got most of a producer's sends in those 5 s."),
        ("out_of_turn_share", "share", "Share of a producer's sends that did not go to the queue whose turn it was."),
        ("unused_queues_count", "", "Queues that a producer has used and does not use in the last 10 s."),
        ("failed_of_producer_share", "share", "Share of a producer's sends from the fault on that failed."),
    ),
    *_of("outages", PRODUCER,
        ("late_of_producer_share", "share", "Share of a producer's sends that failed, or took over a second from when due."),
        ("p99_of_producer_ms", "ms", "99th percentile of how long a producer's sends took, failed or not, from when each was due."),
        ("p999_of_producer_ms", "ms", "99.9th percentile of the same."),
        ("accepted_of_producer_per_s", "1/s", "A producer's accepted sends a second."),
        ("to_faulty_share", "share", "Share of a producer's accepted sends that went to the broker that is, or was, at fault."),
    ),
    *_of("steps", STEP,
        ("step_lost_count", "", "Messages acknowledged from one restart to the next that their group never consumed."),
        ("step_again_count", "", "Consumptions of these messages beyond the first of each."),
        ("step_failed_share", "share", "Share of the sends from one restart to the next that were not acknowledged."),
        ("step_silent_s", "s", "Longest time without an acknowledged send that ended in a restart's time."),
        ("step_key_silent_s", "s", "Longest time without an acknowledged send of one key that ended in a restart's time."),
        ("step_took_s", "s", "From telling a node to end until it could be used again."),
    ),
    # --- topics
    *_of("readings", TRIAL,
        ("free_buffers", "", "Free buffers of the transient store pool, as the broker tells."),
        ("deleted_log_mb", "", "Where the commit log begins, in MB: what lay before is deleted."),
        ("locked_mb", "", "Memory that the broker's process has locked, in MB."),
        ("locked_files_mb", "", "Mapped files that the broker's process has locked, in MB."),
        ("busy_ends_ms", "ms", "How long a lock has to be held to count as busy no more, by the release's code."),
        ("other_reject_conditions", "", "Conditions that reject a send before it is queued, beyond the two known."),
        ("clean_period_ms", "ms", "Period of the check of the queues' heads, by the release's code."),
        ("shared_executors", "", "Thread pools of a broker that several request processors share, by the release's code."),
        ("fault_item_lacks", "", "Of broker name, last latency and end of avoidance, those that an entry lacks, by the code."),
        ("append_count", "", "Appends that the rule inside the broker saw."),
        ("append_short_share", "share", "Share of the appends that took less than 1 ms."),
        ("append_mean_ms", "ms", "Mean time of an append."),
        ("append_longest_ms", "ms", "Longest append."),
        ("append_over_500_count", "", "Appends that took more than 500 ms."),
        ("commit_after_period_share", "share", "Share of the pool's commits that came at least 150 ms after the one before."),
        ("cold_share", "share", "Share of an old part of the commit log that was in no memory when its readers began."),
        ("cold_read_mb", "", "What readers were given of it, in MB."),
        ("cold_read_ms", "ms", "Mean time of a pull of it, by message."),
        ("cold_disk_reads", "", "Reads of the store's device while it was read, by message that readers were given."),
        ("major_faults", "", "Page faults of the broker that had to read the disk, while its readers read."),
        ("faults_per_append", "", "Page faults of the appending threads by acknowledged message."),
        ("append_faults", "", "Page faults of the appending threads."),
    ),
    *_of("logfiles", DEPLOYMENT,
        ("log_file_exists", "", "Whether a broker has a log file of that name."),
        ("lock_lines_in_file", "", "Lines of the lock manager in a log file."),
    ),
    *_of("registrations", NODE,
        ("frame_bytes_refused", "", "Bytes of the first frame that a name server refused."),
        ("frame_bytes_over", "", "Bytes of that frame beyond the limit."),
        ("refusals_logged", "", "Frames that a name server logged as refused."),
        ("registration_failures", "", "Log lines of a broker about a failed registration, by exception."),
        ("size_lines", "", "Log lines of a broker that name a frame's size."),
        ("topic_count_lines", "", "Log lines of a refused broker about its registration that name the number of its topics."),
        ("ok_lines", "", "Log lines of a broker that call a registration done, in the wording of 4.x."),
    ),
    *_of("routes", ROUTE,
        ("route_absent_s", "s", "Time for which a name server did not list a broker that it had listed."),
        ("route_stays_s", "s", "From the fault to when a name server no longer lists the broker."),
    ),
    *_of("routes", TRIAL, ("server_silent_s", "s", "Time for which a name server did not answer.")),
    *_of("routes", SERVERS,
        ("views_differ_s", "s", "Time for which two name servers said different things, in the hold or after it."),
    ),
    *_of("registering", TRIAL,
        ("unregistered_s", "s", "Longest time from one registration of a broker with a name server to the next."),
        ("back_untold", "", "Whether a name server had a topic back that no broker registered at that moment."),
    ),
    *_of("answers", ANSWER,
        ("broker_back_s", "s", "From the restart of a name server to when it lists the broker again."),
        ("bytes_per_topic", "", "Bytes of the registration's body that one more topic takes."),
        ("crossed_again", "", "Whether more topics exceed the raised frame limit, too."),
        ("dead_letter_share", "share", "Share of the messages that failed at every retry and became dead letters."),
        ("next_retry_reached", "", "Whether a group whose retry topic was deleted gets its next retry."),
        ("node_answers", "", "Whether a node that is not listed answers requests."),
        ("normal_topics_grown", "", "By how much a count of normal topics grew while the flood crossed the limit."),
        ("offline_deleted_share", "share", "Share of the offline groups whose retry topic was deleted."),
        ("online_kept", "", "Whether the retry topic of a group that is online was kept."),
        ("pending_retry_kept", "", "Whether a retry that was due when its topic was deleted is delivered."),
        ("retry_topic_created", "", "Whether a group's retry topic exists after the event that may create it."),
        ("retry_topic_returns", "", "Whether a deleted retry topic exists again when its group is back."),
        ("retry_topic_stays", "", "Whether the retry topic of a group that went away is still there."),
        ("server_connections_count", "", "Connections that name servers had to each other."),
        ("servers_listing_it", "", "Name servers that list the broker after that many were restarted."),
        ("thread_busy_share", "share", "How much of the time without waits for a core an idle broker's busiest thread computes."),
        ("topic_back_s", "s", "From the restart of a name server to when it has the whole route of a topic."),
        ("topic_exists", "", "Whether a topic exists at that moment."),
        ("topic_listed", "", "Whether a name server has a route of a topic at that moment."),
        ("topics_at_limit", "", "Topics with which the registration first exceeded the frame limit."),
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
