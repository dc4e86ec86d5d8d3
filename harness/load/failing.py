"""Messages of which some fail whenever they are consumed, and what becomes of them: retries, and dead letters."""

import time

from harness.backends.cluster import ask, create_topic, masters, namesrv_addresses, record_queue_ends
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.load.base import OneProcessSession
from harness.model.loads import FailingMessages
from harness.model.rocketmq import DEAD_LETTER_PREFIX, RETRY_PREFIX
from harness.trial import TrialContext
from harness.wait import wait_until

SCHEDULE = "load"
POLL_S = 1.0
SENT_S_MAX = 60.0
TIMEOUT_MIN = 1
"""consumeTimeout is in minutes, and the period in which it is looked at as well: a task of period 0 is refused."""


class FailingSession(OneProcessSession):
    """A producer and a consumer; the broker is asked what topics of the group it has."""

    def __init__(self, trial: TrialContext, load: FailingMessages) -> None:
        super().__init__(trial)
        self._load = load
        self._group = trial.record.groups[0]

    def up(self) -> None:
        """Start the consumer, then the producer."""
        trial, load = self._trial, self._load
        create_topic(trial.cluster, self._topic, read_queues=load.queues, write_queues=load.queues)
        self._probe_topics("before the group")
        self._start_process()
        spec = ConsumerSpec(
            instance="consumer",
            group=self._group,
            topic=self._topic,
            ordered=load.ordered,
            fail_every=load.fail_every,
            fail_ns=int(load.hangs_s * 1e9),
            settings={
                "maxReconsumeTimes": load.attempts_max,
                **({"consumeTimeout": TIMEOUT_MIN} if load.hangs_s else {}),
            },
        )
        self._start_member(self._client, spec)
        self._client.start_producer("producer", f"{self._topic}-p", namesrv_addresses(trial.cluster))
        self._client.wait_for_route("producer", self._topic, load.queues * len(masters(trial.cluster)))

    def steady(self) -> None:
        """The group is there and consumes, and nothing has failed yet.

        A new group's consumer learns of its retry topic, which its own first heartbeat makes, when it next asks for routes
        and shares queues out: until then, up to half a minute, what fails waits in that topic.
        """
        queues = {self._topic: self._load.queues * len(masters(self._trial.cluster)), RETRY_PREFIX + self._group: 1}
        wait_until(
            "the consumer's queues, those of its retry topic among them",
            lambda: all(self._client.queue_counts(topic)["consumer"] >= count for topic, count in queues.items()),
            timeout_s=self._trial.phases.settle_s_max,
            poll_s=POLL_S,
            cancel=self._trial.cancel,
        )
        self._trial.stay(self._trial.phases.steady_s)
        self._probe_topics("before a failure")

    def hold(self) -> None:
        """Send, and wait for the dead letters of all that fail, or for the phase's time."""
        load, producer = self._load, self._client
        started = time.monotonic()
        sends = SendSettings(topic=self._topic, mode="sync", body_bytes=(load.body_bytes,))
        self._send(producer, SCHEDULE, "producer", load.rate_hz, sends, load.messages)
        wait_until("the sends", lambda: producer.schedule_state(SCHEDULE).is_through, timeout_s=SENT_S_MAX)
        self._trial.stay(2 * POLL_S)
        self._probe_topics("after a failure")
        fails = -(-load.messages // load.fail_every) if load.fail_every else 0
        phases = self._trial.phases
        seconds = phases.hold_s_max if fails else phases.hold_s_min
        while time.monotonic() - started < seconds:
            if load.until == "dead letters" and fails and self._dead_letters() >= fails:
                break
            self._trial.stay(POLL_S)
        self._probe_topics("at the end")
        if fails:
            found = self._dead_letters()
            detail = f"{found} of {fails} that fail"
            self._trial.events.probe("dead_letter_share", found / fails, of=self._group, detail=detail)

    def _probe_topics(self, when: str) -> None:
        for master in masters(self._trial.cluster):
            with ask(master) as connection:
                names = {topic.name for topic in connection.topic_table().topics}
            for kind, prefix in (("retry", RETRY_PREFIX), ("dead letter", DEAD_LETTER_PREFIX)):
                self._trial.events.probe(
                    "topic_exists",
                    prefix + self._group in names,
                    of=f"{self._group} on {master.broker_name}",
                    params={"topic": kind, "when": when},
                )

    def _dead_letters(self) -> int:
        """Messages in the group's dead-letter topic."""
        topic = DEAD_LETTER_PREFIX + self._group
        found = 0
        for master in masters(self._trial.cluster):
            with ask(master) as connection:
                queues = next((one.write_queues for one in connection.topic_table().topics if one.name == topic), 0)
                found += sum(connection.max_offset(topic, queue) for queue in range(queues))
        return found

    def drain(self) -> None:
        """Nothing is under way any more but messages that fail."""
        state = self._client.schedule_state(SCHEDULE)
        self._trial.events.record("drain", complete=state.is_through, remaining=state.issued - state.ended)

    def collect(self) -> None:
        """Read the queues' ends, end the consumer, which would go on to fail, and close the history."""
        self._client.shut_down_consumers()
        record_queue_ends(self._trial.cluster, self._trial.events, self._topic, self._load.queues, [self._group])
        self._client.close_history()
