"""Deletes retry topics of groups that are offline: what is to go is listed first, then deleted at a bounded rate.

What became of each is written into a journal. A remedy that was interrupted goes on where it stopped, and does not delete a
topic again that was made anew since. One that was kept because its group was online again is not done: it is looked at again.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.audit.asking import DEFAULT_BOUNDS
from harness.audit.reading import BrokerReading, Reading, TopicType
from harness.bounded import parsed, read_whole, why
from harness.errors import ClientError
from harness.model.rocketmq import GET_MAX_OFFSET, GET_MIN_OFFSET, QUERY_CONSUMER_OFFSET, RETRY_PREFIX, SUCCESS
from harness.protocol.access import OPEN, Access
from harness.protocol.broker import Broker, delay_offsets
from harness.protocol.connection import ASKED_AT_ONCE
from harness.protocol.deadline import Deadline
from harness.protocol.name_server import NameServer

ANSWER_S = DEFAULT_BOUNDS.answer_s


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A retry topic that can go. ``brokers`` are the addresses of the masters that have it."""

    topic: str
    brokers: tuple[str, ...]

    @property
    def group(self) -> str:
        """The consumer group that it belongs to."""
        return self.topic.removeprefix(RETRY_PREFIX)


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What can be deleted, and what is kept, each with the reason."""

    deletions: tuple[Deletion, ...]
    kept: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What became of the deletions: how many were made now, had been made before by the journal, and were not made since the
    group was online again."""

    deleted: int
    before: int
    online_again: int


DELETED, ONLINE_AGAIN = "deleted", "online again"
"""Outcomes in the journal."""


def plan_remedy(reading: Reading, *, access: Access = OPEN) -> Remedy:
    """The retry topics of offline groups, without those whose deletion would lose messages.

    These are topics that hold messages which are still to be retried, and on 4.x all that were ever used: deletion destroys
    the queue and leaves the group's offset (``AdminBrokerProcessor.deleteTopic``; 5.x clears it), so that a group that
    comes back passes over as many retries as it had consumed before.
    A message whose retry is not due yet lies in the delay queues and belongs to a group that cannot be told from
    outside; while a broker has any, nothing of it is deleted.
    """
    on: dict[str, list[BrokerReading]] = {}
    for broker in reading.masters():
        for topic in broker.names(TopicType.RETRY):
            if topic.removeprefix(RETRY_PREFIX) in reading.offline:
                on.setdefault(topic, []).append(broker)
    kept: dict[str, str] = {}
    for broker in reading.masters():
        topics = sorted(topic for topic, brokers in on.items() if broker in brokers and topic not in kept)
        with Broker(
            broker.address,
            name=broker.words,
            timeout_s=ANSWER_S,
            within=Deadline.after(DEFAULT_BOUNDS.node_s),
            access=access,
        ) as connection:
            if delayed := _delayed(connection):
                kept |= dict.fromkeys(topics, f"{broker.words} has {delayed} delayed messages that are not due yet")
            else:
                kept |= dict(_with_messages(connection, broker, topics))
    deletions = tuple(
        Deletion(topic=topic, brokers=tuple(broker.address for broker in brokers))
        for topic, brokers in sorted(on.items())
        if topic not in kept
    )
    return Remedy(deletions=deletions, kept=tuple(sorted(kept.items())))


def _delayed(connection: Broker) -> int:
    """Messages in the delay queues."""
    levels = delay_offsets(connection.runtime_info(), connection.words)
    return sum(max(0, end - done) for done, end in levels.values())


def _with_messages(connection: Broker, broker: BrokerReading, topics: Sequence[str]) -> Iterator[tuple[str, str]]:
    queues = {topic.name: topic.read_queues for topic in broker.topics}
    places = ((topic, queue) for topic in topics for queue in range(queues[topic]))
    while chunk := list(itertools.islice(places, ASKED_AT_ONCE)):
        at: list[dict[str, str | int]] = [{"topic": topic, "queueId": queue} for topic, queue in chunk]
        asked = [
            {**place, "consumerGroup": topic.removeprefix(RETRY_PREFIX)}
            for place, (topic, _) in zip(at, chunk, strict=True)
        ]
        ends, starts = (
            [connection.succeeded(code, answer).number("offset") for answer in connection.ask_many(code, at)]
            for code in (GET_MAX_OFFSET, GET_MIN_OFFSET)
        )
        done = [
            answer.number("offset") if answer.code == SUCCESS else 0
            for answer in connection.ask_many(QUERY_CONSUMER_OFFSET, asked)
        ]
        for (topic, _), start, end, consumed in zip(chunk, starts, ends, done, strict=True):
            if end > max(start, consumed):
                left = end - max(start, consumed)
                yield topic, f"{broker.words} holds {left} messages of it that its group has not consumed"
            elif consumed > 0 and not broker.has_attributes:
                yield (
                    topic,
                    f"this release keeps the group's offset {consumed}, below which it would not see what a new queue gets",
                )


def apply_remedy(
    deletions: Sequence[Deletion],
    name_servers: Sequence[str],
    *,
    per_s: float,
    journal: Path,
    access: Access = OPEN,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Applied:
    """Delete what the journal does not say has been deleted.

    A group that has come online in the meantime keeps its topic. Raises ClientError.
    """
    done = deleted_before(journal)
    left = [deletion for deletion in deletions if deletion.topic not in done]
    outcomes: list[str] = []
    with journal.open("a", encoding="utf-8") as log:
        started = time.monotonic()
        for index, deletion in enumerate(left):
            time.sleep(max(0.0, started + index / per_s - time.monotonic()))
            outcomes.append(_delete(deletion, name_servers, access))
            log.write(json.dumps({"topic": deletion.topic, "outcome": outcomes[-1], "at_s": time.time()}) + "\n")
            log.flush()
            progress(index + 1, len(left))
    return Applied(
        deleted=outcomes.count(DELETED),
        before=len(deletions) - len(left),
        online_again=outcomes.count(ONLINE_AGAIN),
    )


def _delete(deletion: Deletion, name_servers: Sequence[str], access: Access) -> str:
    for address in deletion.brokers:
        with Broker(address, timeout_s=ANSWER_S, access=access) as connection:
            if next(connection.online([deletion.group])):
                return ONLINE_AGAIN
    for address in deletion.brokers:
        with Broker(address, timeout_s=ANSWER_S, access=access) as connection:
            connection.delete_topic(deletion.topic)
    for address in name_servers:
        with NameServer(address, timeout_s=ANSWER_S, access=access) as connection:
            connection.delete_route(deletion.topic)
    return DELETED


def deleted_before(journal: Path) -> set[str]:
    """The topics that the journal says have been deleted. Its last line may be torn. Raises ClientError."""
    if not journal.exists():
        return set()
    try:
        lines = [parsed(line) for line in read_whole(journal).decode().splitlines() if line.endswith("}")]
        return {line["topic"] for line in lines if line["outcome"] == DELETED}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClientError(f"{journal} is no journal of a remedy: {why(error)}") from error
