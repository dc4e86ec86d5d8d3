"""Sends on a fixed schedule from one client process, which serves all trials of a deployment one after another."""

import dataclasses
import time
from collections.abc import Sequence

from harness.backends.cluster import Cluster, Node, create_topic, masters, namesrv_addresses, record_queue_ends
from harness.clients.commands import SendSettings
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError, LabError
from harness.load import readings
from harness.load.base import Session
from harness.load.probes import Probes
from harness.model.loads import OpenLoopSends
from harness.rundir.events import Moment
from harness.rundir.lines import read_records
from harness.trial import SharedClient, TrialContext
from harness.wait import NotYet, wait_until

INSTANCE = "producer"
SCHEDULE = "load"
LONE = "lone"
WARM_UP = "warm-up"
LONE_SEQ = 1_000_000_000
"""Sequence number of the lone message, beyond those of any schedule."""
WARM_UP_S = 3.0
WARM_UP_RATE_HZ = 800.0
LATER_WARM_UP_S = 0.5
"""For a further producer: the broker is warm already."""
WARM_UPS_MAX = 12
"""Where other clusters boot beside it, a broker may leave all sends of a warm-up unanswered, and then others."""
WARM_UP_RATE_HZ_MIN = 50.0
"""A warm-up that was not answered is repeated at half its rate, down to this one."""
LEAD_NS = 50_000_000
"""Between asking for a schedule and its first send, so that the first is not late."""
ONE_SEND_S_MAX = 20.0
COMMITTED_S = 0.5
"""Longer than the default interval of the pool's commit (200 ms)."""


def masters_of(cluster: Cluster, load: OpenLoopSends) -> Sequence[Node]:
    """The masters that have the load's topic."""
    found = masters(cluster)
    return {"all": found, "first": found[:1], "last": found[-1:]}[load.topic_on]


class WarmProducers(SharedClient):
    """The producers of a deployment, in one client process: code and routes are warm, and so is the broker."""

    def __init__(self, trial: TrialContext) -> None:
        """Start the process, and wait until it runs."""
        self._cluster = trial.cluster
        self._incident = trial.record.incident
        self._folder = trial.cluster.folder / "clients" / INSTANCE
        self._instances: dict[tuple[object, ...], str] = {}
        super().__init__(trial.client(INSTANCE, folder=self._folder))
        self.client.wait_started()

    def instance_for(self, load: OpenLoopSends) -> str:
        """The producer that a load needs, started and warmed up by its first trial; the first sends are slow."""
        key = (load.topic_on, load.retries, load.attempts)
        if key not in self._instances:
            number = len(self._instances)
            self._instances[key] = self._start(load, f"{INSTANCE}-{number}" if number else INSTANCE)
        return self._instances[key]

    def _start(self, load: OpenLoopSends, instance: str) -> str:
        topic, on = load.topic_of(self._incident), masters_of(self._cluster, load)
        create_topic(self._cluster, topic, read_queues=load.queues, write_queues=load.queues, on=on)
        self.client.start_producer(
            instance,
            f"mqlab-{instance}s",
            namesrv_addresses(self._cluster),
            retryTimesWhenSendAsyncFailed=load.retries,
            retryTimesWhenSendFailed=load.retries,
        )
        if load.attempts:
            self.client.record_attempts(instance)
        self.client.wait_for_route(instance, topic, load.queues * len(on))
        lasts_s = LATER_WARM_UP_S if self._instances else WARM_UP_S
        sends = SendSettings(topic=topic, body_bytes=(load.body_bytes,))
        if not any(self._warm_up(instance, sends, lasts_s, number) for number in range(WARM_UPS_MAX)):
            raise ClientError(f"{instance} had no answer to most sends of {WARM_UPS_MAX} warm-ups")
        return instance

    def _warm_up(self, instance: str, sends: SendSettings, lasts_s: float, number: int) -> bool:
        """Send once more, and tell whether at least half of the later half was answered, be it by a refusal."""
        rate_hz = max(WARM_UP_RATE_HZ / 2**number, WARM_UP_RATE_HZ_MIN)
        operations = int(lasts_s * rate_hz)
        path = self._folder / f"{WARM_UP}-{instance}-{number}.jsonl"
        self.client.open_history(path)
        spec = ScheduleSpec(
            name=WARM_UP, instance=instance, rate_hz=rate_hz, start_ns=mono_ns() + LEAD_NS, operations=operations, sends=sends
        )  # fmt: skip
        self.client.start_schedule(spec)
        wait_until("the warm-up", lambda: self.client.schedule_state(WARM_UP).is_through, timeout_s=60.0)
        self.client.close_history()
        found = [record for record in read_records(path).records if record["type"] == "send"]
        later = [send for send in found if int(str(send["seq"])) >= operations // 2]
        return sum(send["outcome"] != "unknown" for send in later) >= len(later) / 2


class OpenLoopSession(Session):
    """One trial's window of sends."""

    def __init__(self, trial: TrialContext, load: OpenLoopSends) -> None:
        producers = trial.shared.once(WarmProducers, lambda: WarmProducers(trial))
        super().__init__(trial)
        self._load = load
        try:
            self._instance = producers.instance_for(load)
        except LabError:
            trial.shared.drop(WarmProducers)
            raise
        self._client = producers.client
        self._rate_hz = float(trial.params["rate_hz"])
        self._broker = masters(trial.cluster)[0]
        self._probes: Probes | None = None

    def up(self) -> None:
        """Open the trial's history, read the queues' ends and start the schedule."""
        self.record_ends("begin")
        phases = self._trial.phases
        fault_s = self._trial.arm.fault.seconds(self._trial.params)
        # Twice the planned time, and half a minute, bound the schedule; the drain ends it long before.
        seconds = (
            2 * (phases.steady_s + fault_s + max(phases.hold_s_max, self._trial.arm.steps_s) + phases.recover_s) + 30
        )
        self._client.open_history(self._trial.directory.history_path(INSTANCE))
        operations, start_ns = int(seconds * self._rate_hz), mono_ns() + LEAD_NS
        spec = self._spec(SCHEDULE, self._instance, self._rate_hz, self._sends(), operations, start_ns)
        self._start_sending(self._client, [spec], self._load.locust)

    def _sends(self, first: int = 0) -> SendSettings:
        load = self._load
        settings = SendSettings(
            topic=self._topic,
            run=self._trial.record.trial,
            mode=load.mode,
            threads=load.threads,
            body_bytes=(load.body_bytes,),
            timeout_ms=load.send_timeout_ms,
            first=first,
        )
        if load.busy_queue_share:
            queues = load.queues * len(masters_of(self._trial.cluster, load))
            return dataclasses.replace(
                settings, route="fixed", keys=queues, key_distribution="hot", key_skew=load.busy_queue_share
            )
        # A key stays with its thread: a send of it would wait for those before it while other threads are free.
        return dataclasses.replace(settings, keys=0) if load.threads > 1 else settings

    def steady(self) -> None:
        """Wait until the sends of the steady window have ended."""
        wanted = int(self._trial.phases.steady_s * self._rate_hz)

        def have_ended() -> bool:
            state = self._client.schedule_state(SCHEDULE)
            if state.ended < wanted:
                raise NotYet(f"{state.ended} of {wanted} sends have ended")
            return True

        wait_until("the steady window's sends", have_ended, timeout_s=30.0, poll_s=0.02, cancel=self._trial.cancel)
        self._trial.on_rate(self._rate_hz)
        self._read("before")
        if self._load.probes:
            self._probes = Probes(self._trial.events, self._broker, self._topic, self._load.probes)

    def stop_sending(self) -> None:
        """Issue nothing more; what is under way may still end."""
        self._client.stop_schedule(SCHEDULE)

    def send_one(self) -> None:
        """Send one message beside the schedule and wait until it has ended."""
        self._send(self._client, LONE, self._instance, 1000.0, self._sends(first=LONE_SEQ), operations=1)
        wait_until(
            "the lone message",
            lambda: self._client.schedule_state(LONE).is_through,
            timeout_s=ONE_SEND_S_MAX,
            poll_s=0.001,
        )

    def restore_topic(self) -> None:
        """Create the topic again, which a broker that lost its last seconds may have forgotten; one that is there stays."""
        on, queues = masters_of(self._trial.cluster, self._load), self._load.queues
        create_topic(self._trial.cluster, self._topic, read_queues=queues, write_queues=queues, on=on)

    def drain(self) -> None:
        """Stop the schedule and wait until every send has ended: answered, failed, or timed out."""
        self._read("after")
        self._end_probes()
        self._end_locust()
        self.stop_sending()
        deadline = time.monotonic() + self._trial.phases.drain_s_max
        state = self._client.schedule_state(SCHEDULE)
        while not state.is_through and time.monotonic() < deadline:
            self._trial.stay(0.02)
            state = self._client.schedule_state(SCHEDULE)
        self._trial.events.record("drain", complete=state.is_through, remaining=state.issued - state.ended)

    def _read(self, moment: readings.Moment) -> None:
        for name, reading in readings.take(self._trial.cluster, self._broker, self._load.readings):
            self._trial.events.reading(
                name, reading.value, target=self._broker.name, moment=moment, detail=reading.detail
            )

    def _end_probes(self) -> None:
        if self._probes is not None:
            self._probes.stop()
            self._probes = None

    def collect(self) -> None:
        """Close the trial's history and read the queues' ends from the brokers."""
        self._client.close_history()
        spec = self._trial.cluster.spec
        has_pool = {**spec.user.broker, **spec.settings.conf}.get("transientStorePoolEnable") == "true"
        if has_pool or self._load.mode == "oneway":
            # What is acknowledged comes to its queue with the pool's next commit; what nobody answers may be on its way still.
            self._trial.stay(COMMITTED_S)
        self.record_ends("end")

    def record_ends(self, moment: Moment, on: Sequence[Node] = ()) -> None:
        """Read the queues' ends, from the masters that have the topic unless other brokers are named."""
        on = on or masters_of(self._trial.cluster, self._load)
        topic, queues = self._topic, self._load.queues
        record_queue_ends(self._trial.cluster, self._trial.events, topic, queues, on=on, moment=moment)

    def down(self) -> None:
        """The producers stay for the deployment's next trial, and write nothing more of this one."""
        self._end_locust()
        self._end_probes()
        try:
            self._client.close_open_history()
        except LabError:
            self._trial.shared.drop(WarmProducers)
