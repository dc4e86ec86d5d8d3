"""What is wrong with a cluster that was read, by severity. Pure: a reading in, findings out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.audit.busy import busy_flag_stuck
from harness.audit.deliveries import delivers_again, dispatch_stopped, levels_stopped, reset_stops
from harness.audit.disk import disk_fills
from harness.audit.exposed import remote_configuration
from harness.audit.finding import AuditFinding, Severity, some
from harness.audit.flushes import one_send_thread
from harness.audit.groups import equal_ids, forgotten, subscriptions_differ
from harness.audit.nodes import not_read, without_leader
from harness.audit.offsets import past_the_end
from harness.audit.reading import (
    BrokerReading,
    Reading,
    TopicType,
    expected_topics,
    topic_type,
)
from harness.audit.settings import whole_of
from harness.audit.slaves import slaves_unread
from harness.audit.transactions import commits_lost, deletion_asks_again, takes_a_core
from harness.audit.values import OF_RUNNING
from harness.language import phrase
from harness.model import rocketmq
from harness.protocol.registration import topic_bytes, topics_at_limit

NEARLY_FULL = 0.8
"""A registration counts as nearly full from this share of the frame limit on. A flood fills the rest in a few days."""
OFFLINE_SHARE = 0.05
"""Retry topics of offline groups are a warning if they fill this share of the frame limit. Some of them are normal."""
FAR_S = 200 * 365 * 86_400
"""A growth that takes longer to reach the limit is none. A date has no year beyond 9999."""
DAYS_AHEAD = 30.0
"""A limit that growth reaches within so many days is a warning."""

COMMIT_MS = 200
"""Of commitIntervalCommitLog (org.apache.rocketmq.store.config.MessageStoreConfig)."""
LOCK_RATIO = rocketmq.LOCK_LIFE_MS / rocketmq.LOCK_INTERVAL_MS


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Earlier sizes of the brokers' registrations, by name and id; ``at_s`` is seconds since 1970."""

    at_s: float
    frame_bytes: Mapping[str, int]


def topics_by_type(broker: BrokerReading) -> dict[str, int]:
    """The broker's number of topics of each type, zero included."""
    counted = Counter(topic_type(topic.name, broker.conf) for topic in broker.topics)
    return {kind.value: counted.get(kind, 0) for kind in TopicType}


def crossing(broker: BrokerReading, now_s: float, earlier: Growth | None, limit_bytes: int) -> float | None:
    """When the registration reaches the limit if it grows on as since then, in seconds since 1970; None if it does not
    grow, or so little that nobody alive sees it."""
    before = earlier.frame_bytes.get(broker.words) if earlier else None
    if earlier is None or before is None or now_s <= earlier.at_s or broker.frame_bytes <= before:
        return None
    rate = (broker.frame_bytes - before) / (now_s - earlier.at_s)
    left_s = max(0.0, limit_bytes - broker.frame_bytes) / rate
    return now_s + left_s if left_s <= FAR_S else None


def judge(
    reading: Reading, *, limit_bytes: int = rocketmq.FRAME_BYTES_MAX, earlier: Growth | None = None
) -> list[AuditFinding]:
    """Every finding, the worst first."""
    found = [
        *not_read(reading),
        *without_leader(reading),
        *_diverged(reading),
        *(one for broker in reading.brokers for one in _registration(broker, reading.at_s, earlier, limit_bytes)),
        *_offline_retry_topics(reading, limit_bytes),
        *_queue_numbers(reading),
        *equal_ids(reading),
        *subscriptions_differ(reading),
        *forgotten(reading),
        *slaves_unread(reading),
        *remote_configuration(reading),
        *(one for broker in reading.masters() for judged in OF_MASTERS for one in judged(broker)),
    ]
    return sorted(found, key=lambda one: -one.severity)


def _diverged(reading: Reading) -> Iterator[AuditFinding]:
    servers = [one for one in reading.name_servers if not one.problem]
    for broker in reading.brokers:
        absent = [one.address for one in servers if broker.broker_id not in one.brokers.get(broker.name, {})]
        if absent:
            all_of_them = len(absent) == len(servers)
            yield AuditFinding(
                kind="broker-missing",
                severity=Severity.CRITICAL,
                where=broker.words,
                says=f"not registered at {'any name server' if all_of_them else ', '.join(absent)}",
                advice="Look for TooLongFrameException in the name server's log, then at the broker's namesrvAddr and "
                "the network between the two.",
            )
    for server in servers:
        missing = sorted(expected_topics(server, reading.brokers) - server.topics)
        if missing:
            yield AuditFinding(
                kind="topics-missing",
                severity=Severity.CRITICAL,
                where=server.address,
                says=f"lists the brokers of {len(missing)} topics and none of these topics: {some(missing)}",
                advice="The broker's registrations do not reach this name server whole.",
            )
    yield from _differing_routes(reading)


def _differing_routes(reading: Reading) -> Iterator[AuditFinding]:
    """Routes that differ, but not because a whole broker is missing."""
    servers = [one for one in reading.name_servers if not one.problem]
    differing = []
    for topic in sorted({name for one in servers for name in one.routes}):
        numbers: dict[str, set[tuple[int, int]]] = {}
        for one in servers:
            route = one.routes.get(topic)
            for broker in route.write_queues if route else ():
                assert route is not None
                pair = (route.read_queues.get(broker, 0), route.write_queues[broker])
                numbers.setdefault(broker, set()).add(pair)
        if any(len(pairs) > 1 for pairs in numbers.values()):
            differing.append(topic)
    if differing:
        yield AuditFinding(
            kind="routes-differ",
            severity=Severity.CRITICAL,
            where=", ".join(one.address for one in servers),
            says=f"give different queue numbers for {len(differing)} topics: {some(differing)}",
            advice="Clients of different name servers see different queues: some are not consumed, some twice.",
        )


def _registration(
    broker: BrokerReading, now_s: float, earlier: Growth | None, limit_bytes: int
) -> Iterator[AuditFinding]:
    if broker.problem:
        return
    share = broker.frame_bytes / limit_bytes
    size = f"its registration has {broker.frame_bytes:,} bytes, {100 * share:.2f} % of {limit_bytes:,}"
    advice = (
        "Delete retry topics of groups that are gone (mqlab audit --apply), raise com.rocketmq.remoting.frameMaxLength on "
        "every name server and on the slaves, or let the broker register in parts where the release offers it."
    )
    when = crossing(broker, now_s, earlier, limit_bytes)
    if broker.frame_bytes > limit_bytes:
        yield AuditFinding(
            kind="registration-over-limit",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"{size}: name servers refuse it",
            advice=advice,
        )
    elif share >= NEARLY_FULL:
        left = topics_left(broker, limit_bytes)
        yield AuditFinding(
            kind="registration-nearly-full",
            severity=Severity.WARNING,
            where=broker.words,
            says=f"{size}; about {left:,} further topics fit" + (f", until {_date(when)}" if when else ""),
            advice=advice,
        )
    elif when is not None and when - now_s <= DAYS_AHEAD * 86_400:
        yield AuditFinding(
            kind="registration-growing",
            severity=Severity.WARNING,
            where=broker.words,
            says=f"{size}; at its growth it reaches the limit on {_date(when)}",
            advice=advice,
        )


def topics_left(broker: BrokerReading, limit_bytes: int) -> int:
    """How many further retry topics fit, with names as long as those that the broker has."""
    names = [len(name.encode()) for name in broker.names(TopicType.RETRY)] or [len(rocketmq.RETRY_PREFIX) + 24]
    name_bytes, now = round(sum(names) / len(names)), len(broker.topics)
    at_limit = topics_at_limit(limit_bytes, broker.frame_bytes, now, name_bytes, has_attributes=broker.has_attributes)
    return max(0, at_limit - now - 1)


def _offline_retry_topics(reading: Reading, limit_bytes: int) -> Iterator[AuditFinding]:
    for broker in reading.masters():
        names = [
            name
            for name in broker.names(TopicType.RETRY)
            if name.removeprefix(rocketmq.RETRY_PREFIX) in reading.offline
        ]
        held = sum(topic_bytes(len(name.encode()), has_attributes=broker.has_attributes) for name in names)
        if held >= OFFLINE_SHARE * limit_bytes:
            yield AuditFinding(
                kind="offline-retry-topics",
                severity=Severity.WARNING,
                where=broker.words,
                says=f"{len(names):,} retry topics of groups that are offline hold {100 * held / limit_bytes:.1f} % of the limit",
                advice="mqlab audit --apply deletes those that hold no message that is still to be retried.",
            )


def _queue_numbers(reading: Reading) -> Iterator[AuditFinding]:
    for broker in reading.masters():
        for topic in broker.topics:
            if topic.read_queues == topic.write_queues or topic_type(topic.name, broker.conf) is TopicType.SYSTEM:
                continue
            loses = topic.write_queues > topic.read_queues
            yield AuditFinding(
                kind="queue-numbers-differ",
                severity=Severity.CRITICAL if loses else Severity.WARNING,
                where=f"{topic.name} on {broker.words}",
                says=f"{topic.write_queues} write queues, {topic.read_queues} read queues: "
                + (
                    "what goes to the others is not consumed" if loses else "consumers are given queues that stay empty"
                ),
            )


def pool_loses_data(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A broker with the transient store pool.

    With SYNC_FLUSH it acknowledges what has been flushed, and flushes what has been committed (``GroupCommitService.doCommit``).
    """
    if not broker.has_pool:
        return
    if broker.conf.get("flushDiskType") == "SYNC_FLUSH":
        commit_ms = whole_of(broker.conf, "commitIntervalCommitLog", COMMIT_MS)
        yield AuditFinding(
            kind="pool-delays-sends",
            severity=Severity.WARNING,
            where=broker.words,
            says=phrase(
                "transientStorePoolEnable is on with SYNC_FLUSH, too, which leaves it off on 4.6.0 and 4.9.7: a "
                "send waits until its buffer is committed, every {commit_ms} ms, and flushed. That a broker with "
                "the pool loses messages as it dies was measured with ASYNC_FLUSH alone",
                commit_ms=commit_ms,
            ),
            advice=phrase(
                "Remove transientStorePoolEnable. What sends and a death cost with both: mqlab verify pool-loss "
                "--arm incident-killed,incident-killed-pool --set broker.flushDiskType=SYNC_FLUSH",
            ),
        )
        return
    yield AuditFinding(
        kind="pool-loses-data",
        severity=Severity.WARNING,
        where=broker.words,
        says=phrase(
            "transientStorePoolEnable is on: acknowledged messages are in the process's own memory for some time",
        ),
        advice=phrase("A broker that dies loses them; leave it off where no message may be lost."),
    )


def acknowledges_alone(broker: BrokerReading) -> Iterator[AuditFinding]:
    """5.x waits for inSyncReplicas copies, the master's among them (``CommitLog.handleHA``); 4.x always for one slave's."""
    conf = broker.conf
    is_alone = conf.get("brokerRole") == "SYNC_MASTER" and whole_of(conf, "inSyncReplicas", 1) == 1
    if broker.has_attributes and is_alone and not broker.in_group:
        yield AuditFinding(
            kind="sync-master-alone",
            severity=Severity.WARNING,
            where=broker.words,
            says=phrase("SYNC_MASTER with inSyncReplicas=1 waits for no slave: it acknowledges what only it has"),
        )


def lock_settings(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Lock times are properties of the JVMs. An audit sees only those that were put into broker.conf by mistake."""
    if rocketmq.LOCK_LIFE not in broker.conf and rocketmq.LOCK_INTERVAL not in broker.conf:
        return
    # A time of 0 counts as absent, since nothing can be divided by it.
    life_ms = max(0, whole_of(broker.conf, rocketmq.LOCK_LIFE, 0)) or rocketmq.LOCK_LIFE_MS
    interval_ms = max(0, whole_of(broker.conf, rocketmq.LOCK_INTERVAL, 0)) or rocketmq.LOCK_INTERVAL_MS
    short = phrase(
        "; a lock of {life_ms:,.0f} ms, renewed every {interval_ms:,.0f} ms, would be {renewals:g} renewals long",
        life_ms=life_ms,
        interval_ms=interval_ms,
        renewals=life_ms / interval_ms,
    )
    yield AuditFinding(
        kind="lock-settings",
        severity=Severity.WARNING,
        where=broker.words,
        says=phrase(
            "lock times in broker.conf have no effect{short}", short=short if life_ms < LOCK_RATIO * interval_ms else ""
        ),
        advice=phrase(
            "Set them as -D{lock_life} of the broker and -D{lock_interval} of the client, the first three times the "
            "second.",
            lock_life=rocketmq.LOCK_LIFE,
            lock_interval=rocketmq.LOCK_INTERVAL,
        ),
    )


def _date(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


OF_MASTERS = (
    pool_loses_data,
    acknowledges_alone,
    lock_settings,
    levels_stopped,
    delivers_again,
    dispatch_stopped,
    reset_stops,
    commits_lost,
    deletion_asks_again,
    takes_a_core,
    one_send_thread,
    disk_fills,
    busy_flag_stuck,
    past_the_end,
    *OF_RUNNING,
)
"""What is asked of each master."""
