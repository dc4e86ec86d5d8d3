"""Keyed ordered sends into one topic, and groups of two ordered consumers each: an owner and a successor.

Owners live in one process, successors and the producer in another, so that a kill takes every owner and nothing else.
Every consumer has an instance name of its own and so a client, a rebalance and a lock timer of its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping

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
from harness.clients.java import ConsumerSpec, JavaClient, ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model.loads import OrderedGroups
from harness.model.rocketmq import CLIENT_LOCK_LIFE, LOCK_INTERVAL
from harness.trial import TrialContext
from harness.wait import NotYet, wait_until

SCHEDULE = "load"
SENDER_THREADS = 4
KEYS_PER_QUEUE = 4
CONSUME_THREADS = 4
LONGEST_S = 600.0
"""Bounds the schedule whatever happens to the trial."""
POLL_S = 0.5
STRANGER = "127.0.0.1@stranger"
"""A client id that no member has."""

CELL_PROPERTIES: Mapping[str, str] = {
    "lock_interval_ms": LOCK_INTERVAL,
    "lock_life_ms": CLIENT_LOCK_LIFE,
    "rebalance_ms": "rocketmq.client.rebalance.waitInterval",
}
"""Parameters of a cell that become options of the consumers' JVMs."""


class OrderedSession:
    """The two client processes of one trial."""

    def __init__(self, trial: TrialContext, load: OrderedGroups) -> None:
        self._trial = trial
        self._load = load
        self._topic = trial.record.topic
        self._groups = trial.record.groups
        self._queues = load.queues_per_broker * len(masters(trial.cluster))
        self._rate_hz = load.rate_per_queue_hz * self._queues
        self._clients: dict[str, JavaClient] = {}
        self._owners_started = 0.0

    def up(self) -> None:
        """Start producer, owners and successors, the owners spread, and wait until every queue has its consumer.

        Nothing is sent meanwhile: each message is a pull of its own for every group, and nobody asks about that time.
        """
        create_topic(
            self._trial.cluster,
            self._topic,
            read_queues=self._load.queues_per_broker,
            write_queues=self._load.queues_per_broker,
        )
        of_cell = {CELL_PROPERTIES[name]: f"{value:g}" for name, value in self._cell() if name in CELL_PROPERTIES}
        properties = {
            "owner": {**self._load.owner_properties, **of_cell},
            "successor": {**self._load.successor_properties, **of_cell},
        }
        with self._trial.boots:
            for name, values in properties.items():
                self._clients[name] = self._trial.client(name, values)
            for name, client in self._clients.items():
                client.wait_started()
                client.open_history(self._trial.directory.history_path(name))
            self._start_producer()
            if self._load.owner_work_ms:
                # Listeners that are to be at work at any moment of theirs must not all have begun at the same one.
                self._start_sends()
            self._start_consumers()
            self._wait_settled()

    @property
    def _producer(self) -> JavaClient:
        """A start of a process costs more than all that a producer does; the successors' one lives to the end as well."""
        return self._clients["successor"]

    def _cell(self) -> list[tuple[str, float]]:
        return [(name, float(value)) for name, value in self._trial.params.items() if not isinstance(value, str)]

    def _start_producer(self) -> None:
        self._producer.start_producer("producer", f"{self._topic}-producers", namesrv_addresses(self._trial.cluster))
        self._producer.wait_for_route("producer", self._topic, self._queues)

    def _start_sends(self) -> None:
        self._trial.on_rate(self._rate_hz)
        self._producer.start_schedule(
            ScheduleSpec(
                name=SCHEDULE,
                instance="producer",
                rate_hz=self._rate_hz,
                start_ns=mono_ns(),
                operations=int(LONGEST_S * self._rate_hz),
                sends=SendSettings(
                    topic=self._topic,
                    mode="sync",
                    route="selector",
                    run=self._trial.record.trial,
                    threads=SENDER_THREADS,
                    keys=KEYS_PER_QUEUE * self._queues,
                    body_bytes=(self._load.body_bytes,),
                ),
            )
        )

    def _start_consumers(self) -> None:
        """Owners evenly over the spread, successors at drawn moments within it.

        A successor's own timers must have no fixed phase to its owner's: started together, every one of them asks for
        the lock just before it expires, which is a property of the experiment and not of RocketMQ.
        """
        draw = random.Random(self._trial.record.seed)
        spread_s = self._load.owner_start_spread_s
        starts = [(index * spread_s / len(self._groups), group, "owner") for index, group in enumerate(self._groups)]
        if self._load.successor_joins == "before":
            starts += [(draw.uniform(0.0, spread_s), group, "successor") for group in self._groups]
        starts += [(0.0, group, "broadcast") for group in self._groups[: self._load.broadcasting]]
        started = time.monotonic()
        for at_s, group, role in sorted(starts):
            self._trial.stay(started + at_s - time.monotonic())
            self._start_consumer(role, group)
            if role == "owner":
                self._owners_started = time.monotonic()

    def _start_consumer(self, role: str, group: str) -> None:
        is_owner, is_broadcast = role == "owner", role == "broadcast"
        spec = ConsumerSpec(
            instance=f"{group}-{role}",
            group=f"{group}-broadcast" if is_broadcast else group,
            topic=self._topic,
            ordered=True,
            broadcasting=is_broadcast,
            run=self._trial.record.trial,
            work_ns=int(self._load.owner_work_ms * 1e6) if is_owner else 0,
            settings={
                "consumeThreadMin": CONSUME_THREADS,
                "consumeThreadMax": CONSUME_THREADS,
                **(self._load.owner_settings if is_owner else {}),
            },
        )
        start_member(self._trial, self._clients["owner" if is_owner else "successor"], spec)

    def _wait_settled(self) -> None:
        """Every member holds its share of the queues; the rebalance that gets there takes some of its periods."""
        share = self._queues if self._load.successor_joins == "after" else self._queues // 2

        def settled() -> bool:
            held = {**self._clients["owner"].assigned_queues(), **self._clients["successor"].assigned_queues()}
            unsettled = {
                instance: len(queues)
                for instance, queues in held.items()
                if len(queues) != share and not instance.endswith("-broadcast")
            }
            if unsettled:
                raise NotYet(f"these do not hold {share} queues: {unsettled}")
            return True

        wait_until(
            "every queue to have its consumer",
            settled,
            timeout_s=self._trial.phases.settle_s_max,
            poll_s=POLL_S,
            cancel=self._trial.cancel,
        )

    def steady(self) -> None:
        """Until the owners are old enough, and then a window of plain load; locks are also asked for by a stranger."""
        steady_s = self._trial.phases.steady_s
        age_s = time.monotonic() - self._owners_started
        self._trial.stay(self._load.owner_age_s_min - age_s - steady_s)
        if not self._load.owner_work_ms:
            self._start_sends()
        self._trial.stay(steady_s)
        self._probe_locks()
        state = self._producer.schedule_state(SCHEDULE)
        if not state.sending:
            raise ClientError("the producer stopped sending by itself")

    def _probe_locks(self) -> None:
        """Ask each broker for one lock that an owner holds on one of them, and its own for another group as well."""
        held = self._clients["owner"].assigned_queues()
        for group in self._groups:
            queue = held[f"{group}-owner"][0]
            broker_name, _, queue_id = queue.partition(":")
            wanted = (self._topic, broker_name, int(queue_id))
            for master in masters(self._trial.cluster):
                as_groups = (group, f"{group}-other") if master.broker_name == broker_name else (group,)
                with ask(master, timeout_s=RECORD_S_MAX) as connection:
                    for as_group in as_groups:
                        granted = bool(connection.lock(as_group, STRANGER, [wanted]))
                        self._trial.events.lock_probe(
                            group=group,
                            as_group=as_group,
                            queue=queue,
                            asked_broker=master.broker_name,
                            granted=granted,
                        )

    def held_on(self, broker_name: str) -> dict[str, int]:
        """One of this broker's queues for each group whose owner has any of them."""
        assigned = self._clients["owner"].assigned_queues()
        held = {group: _on(broker_name, assigned.get(f"{group}-owner", ())) for group in self._groups}
        return {group: queues[0] for group, queues in held.items() if queues}

    def ask_for_locks(self, broker_name: str, held: Mapping[str, int]) -> None:
        """Ask this broker, as a stranger, for the lock of the queue of each group."""
        master = next(one for one in masters(self._trial.cluster) if one.broker_name == broker_name)
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for group, queue in held.items():
                granted = bool(connection.lock(group, STRANGER, [(self._topic, broker_name, queue)]))
                self._trial.events.lock_probe(
                    group=group, queue=f"{broker_name}:{queue}", asked_broker=broker_name, granted=granted
                )

    def owners(self) -> JavaClient:
        """The process that the fault is about."""
        return self._clients["owner"]

    def hold(self) -> None:
        """Until the successors hold every queue, or the longest hold is over (a baseline: the shortest).

        Owners that stand still do so for as long as their cell says.
        """
        phases = self._trial.phases
        started = time.monotonic()
        if self._load.successor_joins == "after":
            for group in self._groups:
                self._start_consumer("successor", group)
        if "pause_s" in self._trial.params:
            self._trial.stay(started + float(self._trial.params["pause_s"]) - time.monotonic())
            return
        if self._trial.record.injection != "none":
            while time.monotonic() - started < phases.hold_s_max and not self._successors_hold_everything():
                self._trial.stay(POLL_S)
        self._trial.stay(started + phases.hold_s_min - time.monotonic())

    def _successors_hold_everything(self) -> bool:
        held = self._clients["successor"].assigned_queues()
        return all(len(held.get(f"{group}-successor", ())) == self._queues for group in self._groups)

    def recover(self) -> None:
        """The successors work off what has piled up."""
        self._trial.stay(self._trial.phases.recover_s)

    def drain(self) -> None:
        """Stop sending; wait until the groups have committed every message, by the brokers' own counts."""
        producer = self._producer
        producer.stop_schedule(SCHEDULE)
        deadline = time.monotonic() + self._trial.phases.drain_s_max
        through = False
        left = -1
        while time.monotonic() < deadline and (not through or left != 0):
            self._trial.stay(POLL_S)
            through = producer.schedule_state(SCHEDULE).is_through
            left = unconsumed(self._trial.cluster, self._topic, self._load.queues_per_broker, self._groups)
        self._trial.events.drain(complete=through and left == 0, remaining=left)

    def collect(self) -> None:
        """Close the histories that are still open and read the queues' ends."""
        record_queue_ends(
            self._trial.cluster, self._trial.events, self._topic, self._load.queues_per_broker, self._groups
        )
        for name, client in self._clients.items():
            if name != "owner" or client.is_running():
                client.close_history()

    def down(self) -> None:
        """End the processes."""
        for client in self._clients.values():
            client.stop()


def start_member(trial: TrialContext, client: JavaClient, spec: ConsumerSpec) -> None:
    """Start one member of a group."""
    client.wait_consumer_started(spec, namesrv_addresses(trial.cluster), cancel=trial.cancel)


def _on(broker_name: str, queues: Iterable[str]) -> list[int]:
    return [int(queue.partition(":")[2]) for queue in queues if queue.startswith(f"{broker_name}:")]
