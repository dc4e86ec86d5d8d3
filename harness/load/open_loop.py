"""Sends on a fixed schedule from one producer process, which serves all trials of a deployment one after another."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.backends.base import create_topic, masters, namesrv_addresses, record_queue_ends
from harness.clients.commands import SendSettings
from harness.clients.java import JavaClient, ScheduleSpec
from harness.clock import mono_ns
from harness.load.session import TrialContext
from harness.model import OpenLoopSends
from harness.wait import NotYet, wait_until

INSTANCE = "producer"
SCHEDULE = "load"
WARM_UP_S = 3.0
WARM_UP_RATE_HZ = 800.0
LEAD_NS = 50_000_000
"""Between asking for a schedule and its first send, so that the first is not late."""


@dataclass(frozen=True, kw_only=True)
class WarmProducer:
    """A producer whose code and route are warm, and whose broker has had its first slow moments."""

    client: JavaClient
    topic: str

    @classmethod
    def start(cls, trial: TrialContext, load: OpenLoopSends) -> WarmProducer:
        """Create the deployment's topic and send for some seconds; the first sends of a fresh broker are slow."""
        cluster = trial.cluster
        topic = f"mqlab-{trial.record.incident}"
        create_topic(cluster, topic, read_queues=load.queues, write_queues=load.queues)
        folder = cluster.folder / "clients" / INSTANCE
        client = trial.client(INSTANCE, folder=folder)
        client.wait_started()
        client.open_history(folder / "warm-up.jsonl")
        client.start_producer(
            INSTANCE,
            "mqlab-producers",
            namesrv_addresses(cluster),
            retryTimesWhenSendAsyncFailed=load.retries,
            retryTimesWhenSendFailed=load.retries,
        )
        client.wait_for_route(INSTANCE, topic, load.queues * len(masters(cluster)))
        spec = ScheduleSpec(
            name="warm-up",
            instance=INSTANCE,
            rate_hz=WARM_UP_RATE_HZ,
            start_ns=mono_ns() + LEAD_NS,
            operations=int(WARM_UP_S * WARM_UP_RATE_HZ),
            sends=SendSettings(topic=topic, body_bytes=(load.body_bytes,)),
        )
        client.start_schedule(spec)
        wait_until("the warm-up", lambda: client.schedule_state("warm-up").is_through, timeout_s=60.0)
        client.close_history()
        return cls(client=client, topic=topic)


class OpenLoopSession:
    """One trial's window of sends."""

    def __init__(self, trial: TrialContext, load: OpenLoopSends, producer: WarmProducer) -> None:
        self._trial = trial
        self._load = load
        self._producer = producer
        self._rate_hz = float(trial.params["rate_hz"])

    def up(self) -> None:
        """Open the trial's history and start the schedule."""
        phases = self._trial.phases
        stall_s = float(self._trial.params.get("stall_ms", 0)) / 1000
        # Twice the planned time bounds the schedule; the drain ends it long before.
        seconds = 2 * (phases.steady_s + stall_s + phases.hold_s_max + phases.recover_s) + 5
        self._producer.client.open_history(self._trial.directory.history_path(INSTANCE))
        self._producer.client.start_schedule(
            ScheduleSpec(
                name=SCHEDULE,
                instance=INSTANCE,
                rate_hz=self._rate_hz,
                start_ns=mono_ns() + LEAD_NS,
                operations=int(seconds * self._rate_hz),
                sends=SendSettings(
                    topic=self._producer.topic,
                    run=self._trial.record.trial,
                    body_bytes=(self._load.body_bytes,),
                    timeout_ms=self._load.send_timeout_ms,
                ),
            )
        )

    def steady(self) -> None:
        """Wait until the sends of the steady window have ended."""
        wanted = int(self._trial.phases.steady_s * self._rate_hz)

        def have_ended() -> bool:
            state = self._producer.client.schedule_state(SCHEDULE)
            if state.ended < wanted:
                raise NotYet(f"{state.ended} of {wanted} sends have ended")
            return True

        wait_until("the steady window's sends", have_ended, timeout_s=30.0, poll_s=0.02, cancel=self._trial.cancel)
        self._trial.on_rate(self._rate_hz)

    def owners(self) -> JavaClient | None:
        """There are no consumers."""
        return None

    def hold(self) -> None:
        """The window in which what the stall left behind is answered."""
        self._trial.stay(self._trial.phases.hold_s_max)

    def recover(self) -> None:
        """The window after it."""
        self._trial.stay(self._trial.phases.recover_s)

    def drain(self) -> None:
        """Stop the schedule and wait until every send has ended: answered, failed, or timed out."""
        client = self._producer.client
        client.stop_schedule(SCHEDULE)
        deadline = time.monotonic() + self._trial.phases.drain_s_max
        state = client.schedule_state(SCHEDULE)
        while not state.is_through and time.monotonic() < deadline:
            self._trial.stay(0.02)
            state = client.schedule_state(SCHEDULE)
        self._trial.events.drain(complete=state.is_through, remaining=state.issued - state.ended)

    def collect(self) -> None:
        """Close the trial's history and read the queues' ends from the brokers."""
        self._producer.client.close_history()
        record_queue_ends(self._trial.cluster, self._trial.events, self._producer.topic, self._load.queues)

    def down(self) -> None:
        """The producer stays for the deployment's next trial."""
