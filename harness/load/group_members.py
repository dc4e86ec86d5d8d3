"""Normal sends, and groups whose members differ by the names of their clients or by what they subscribe to."""

import itertools
import time

from harness.backends.cluster import (
    RECORD_S_MAX,
    ask,
    create_topic,
    masters,
    namesrv_addresses,
    record_queue_ends,
    unconsumed,
)
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient
from harness.load.base import KEPT_ROUTE, POLL_S, Session
from harness.model.group_members import KEY_PREFIX, PROCESSES, GroupMembers, Member
from harness.model.rocketmq import RETRY_PREFIX
from harness.trial import TrialContext
from harness.wait import NotYet

NOTHING_MORE_S = 11.0
"""A client commits its offsets every 5 s (``persistConsumerOffsetInterval`` of ClientConfig): what has not been committed after two
of these periods is consumed by nobody."""


class GroupMembersSession(Session):
    """The producer lives in the first process."""

    def __init__(self, trial: TrialContext, load: GroupMembers) -> None:
        super().__init__(trial)
        self._load = load
        self._groups = trial.record.groups
        self._topics = [self._topic, *(f"{self._topic}-{number}" for number in range(2, load.topics + 1))]
        self._queues = load.queues * len(masters(trial.cluster))
        self._clients: dict[str, JavaClient] = {}

    def up(self) -> None:
        """Create the topics, start the members, and wait until each has its queues; nothing is sent before that.

        Retry topics are there beforehand, as they are for groups that are not new.
        """
        trial, load = self._trial, self._load
        for topic in self._topics:
            create_topic(trial.cluster, topic, read_queues=load.queues, write_queues=load.queues)
        for group in self._groups if load.fail_every else ():
            create_topic(trial.cluster, RETRY_PREFIX + group, read_queues=1, write_queues=1)
        with trial.boots:
            self._clients = trial.start_clients(dict.fromkeys(PROCESSES), load.members_release)
            self._start_producer()
            self._start_members()
            self._wait_shared_out()

    def _start_producer(self) -> None:
        self._producer.start_producer(
            "producer",
            f"{self._topic}-producers",
            namesrv_addresses(self._trial.cluster),
            transactional=False,
            **({} if self._load.keeps_route == "nobody" else KEPT_ROUTE),
        )
        for topic in self._topics:
            self._producer.wait_for_route("producer", topic, self._queues)

    @property
    def _producer(self) -> JavaClient:
        return self._clients[PROCESSES[0]]

    def _start_members(self) -> None:
        """Evenly over the spread."""
        all_of_them = [
            (process, group, member)
            for number, group in enumerate(self._groups)
            for process, member in self._load.members_of(number)
        ]
        begun = time.monotonic()
        for number, (process, group, member) in enumerate(all_of_them):
            self._trial.stay(begun + number * self._load.start_spread_s / len(all_of_them) - time.monotonic())
            self._start_one(process, group, member)

    def _start_one(self, process: str, group: str, member: Member) -> None:
        spec = ConsumerSpec(
            instance=f"{group}-{process}",
            group=group,
            topic=self._topics[member.topic],
            ordered=False,
            fail_every=self._load.fail_every,
            run=self._trial.record.trial,
            tags=member.tags,
            client_name=member.client_name,
            settings={
                "consumeThreadMin": 2,
                "consumeThreadMax": 2,
                "maxReconsumeTimes": self._load.retries,
                "heartbeatBrokerInterval": self._load.heartbeat_ms,
                **(KEPT_ROUTE if self._load.keeps_route == "all" else {}),
            },
        )
        self._trial.events.record("member", group=group, instance=spec.instance, topic=spec.topic, tags=spec.tags)
        self._start_member(self._clients[process], spec)

    def _wait_shared_out(self) -> None:
        """Until each member has been given its part of its topic's queues and, where messages fail, one of its retry topic."""

        def has_its_part() -> bool:
            for number, group in enumerate(self._groups):
                members = self._load.members_of(number)
                for process, member in members:
                    wanted = {self._topics[member.topic]: self._queues // len(members)}
                    if self._load.fail_every:
                        wanted[RETRY_PREFIX + group] = len(masters(self._trial.cluster)) // len(members)
                    for topic, count in wanted.items():
                        found = self._clients[process].queue_counts(topic)[f"{group}-{process}"]
                        if found != count:
                            raise NotYet(f"{group}-{process} has {found} of {count} queues of {topic}")
            return True

        self._wait_for("every member to have its queues", has_its_part)

    def steady(self) -> None:
        """Send, and let every member have some messages."""
        load = self._load
        self._start_sending(
            self._producer,
            [
                self._spec(
                    topic,
                    "producer",
                    load.rate_hz,
                    SendSettings(
                        topic=topic,
                        mode="sync",
                        run=self._trial.record.trial,
                        keys=load.tags,
                        key_prefix=KEY_PREFIX,
                        key_distribution="uniform",
                        tagged=load.tags > 0,
                        seed=self._trial.record.seed,
                        body_bytes=(load.body_bytes,),
                    ),
                )
                for topic in self._topics
            ],
        )
        self._trial.on_rate(load.rate_hz * load.topics)
        self._stay_steady(self._producer, self._topics, load.rate_hz * load.topics)
        if load.start_spread_s:
            self._wait_consuming()

    def _wait_consuming(self) -> None:
        """A client that left out its first heartbeat is given nothing until the next one."""

        def consumes() -> bool:
            for master in masters(self._trial.cluster):
                with ask(master, timeout_s=RECORD_S_MAX) as connection:
                    for topic, groups in self._groups_of_topics().items():
                        for group, queue in itertools.product(groups, range(self._load.queues)):
                            if not connection.consumer_offset(group, topic, queue):
                                raise NotYet(f"{group} has committed nothing of queue {queue} of {master.name}")
            return True

        self._wait_for("every group to consume from every queue", consumes)

    def drain(self) -> None:
        """Stop sending, and wait until everything has been committed, or nothing more is."""
        for topic in self._topics:
            self._producer.stop_schedule(topic)
        deadline = time.monotonic() + self._trial.phases.drain_s_max
        through, left, since = False, -1, time.monotonic()
        while time.monotonic() < deadline:
            self._trial.stay(POLL_S)
            through = all(self._producer.schedule_state(topic).is_through for topic in self._topics)
            before, left = left, self._unconsumed()
            if left != before:
                since = time.monotonic()
            if through and (left == 0 or (left > 0 and time.monotonic() - since > NOTHING_MORE_S)):
                break
        self._trial.events.record("drain", complete=through and left == 0, remaining=left)

    def _unconsumed(self) -> int:
        """Of the messages that a group's members subscribe to by their topics; -1 while a broker is too busy to say."""
        counts = [
            unconsumed(self._trial.cluster, topic, self._load.queues, groups)
            for topic, groups in self._groups_of_topics().items()
        ]
        return -1 if -1 in counts else sum(counts)

    def _groups_of_topics(self) -> dict[str, list[str]]:
        """Whose members have a subscription of it, by topic."""
        return {
            topic: [
                group
                for number, group in enumerate(self._groups)
                if any(member.topic == index for _, member in self._load.members_of(number))
            ]
            for index, topic in enumerate(self._topics)
        }

    def collect(self) -> None:
        """Read the queues' ends and the groups' offsets, and close the histories."""
        for topic, groups in self._groups_of_topics().items():
            record_queue_ends(self._trial.cluster, self._trial.events, topic, self._load.queues, groups)
        for client in self._clients.values():
            # A message that fails would be consumed after the history's end.
            client.shut_down_consumers()
            client.close_history()

    def down(self) -> None:
        """End the processes."""
        for client in self._clients.values():
            client.stop()
