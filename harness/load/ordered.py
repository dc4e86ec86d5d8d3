"""Keyed ordered sends into one topic, and groups of two ordered consumers each: an owner and a successor.

Owners live in one process, successors and the producer in another, so that a kill takes every owner and nothing else.
Every consumer has an instance name of its own and so a client, a rebalance and a lock timer of its own.
"""

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
from harness.backends.store_mount import LeasedStore, StoreMount, mount_store
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient
from harness.errors import ConfigurationError
from harness.load.base import POLL_S, Session
from harness.model.cluster import BrokerSettings
from harness.model.loads import OrderedGroups
from harness.model.rocketmq import CLIENT_LOCK_LIFE, LOCK_INTERVAL
from harness.trial import TrialContext

SCHEDULE = "load"
SENDER_THREADS = 4
KEYS_PER_QUEUE = 4
CONSUME_THREADS = 4
OUTSIDER = "127.0.0.1@outsider"
"""A client id that no member has."""
DISK = BrokerSettings(store="loop-ext4", store_mb=64, store_image="memory")
"""Of the owners' listeners. What is forced to it waits for no disk that others use."""

CELL_PROPERTIES: Mapping[str, str] = {
    "lock_interval_ms": LOCK_INTERVAL,
    "lock_life_ms": CLIENT_LOCK_LIFE,
    "rebalance_ms": "rocketmq.client.rebalance.waitInterval",
}
"""Parameters of a cell that become options of the consumers' JVMs."""


class OrderedSession(Session):
    """The two client processes of one trial."""

    def __init__(self, trial: TrialContext, load: OrderedGroups) -> None:
        super().__init__(trial)
        self._load = load
        self._groups = trial.record.groups
        self._queues = load.queues_per_broker * len(masters(trial.cluster))
        self._rate_hz = load.rate_per_queue_hz * self._queues
        self._clients: dict[str, JavaClient] = {}
        self._owners_started = 0.0
        self._disk: LeasedStore | None = None

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
        params = self._trial.params
        of_cell = {key: f"{float(params[name]):g}" for name, key in CELL_PROPERTIES.items() if name in params}
        properties = {
            "owner": {**self._load.owner_properties, **of_cell},
            "successor": {**self._load.successor_properties, **of_cell},
        }
        if self._load.owner_writes_kb:
            folder = self._trial.directory.client_folder("owner") / "disk"
            self._disk = mount_store(self._trial.leases, folder, DISK, until_s=self._trial.until_s)
        with self._trial.boots:
            self._clients = self._trial.start_clients(properties, heaps_mb={"owner": self._load.owner_heap_mb})
            self._start_producer()
            if self._load.owner_work_ms:
                # Listeners that are to be at work at any moment of theirs must not all have begun at the same one.
                self._start_sends()
            self._start_consumers()
            share = self._queues if self._load.successor_joins == "after" else self._queues // 2
            self._wait_settled(self._clients.values(), share)

    @property
    def _producer(self) -> JavaClient:
        """A start of a process costs more than all that a producer does; the successors' one lives to the end as well."""
        return self._clients["successor"]

    def _start_producer(self) -> None:
        self._producer.start_producer("producer", f"{self._topic}-producers", namesrv_addresses(self._trial.cluster))
        self._producer.wait_for_route("producer", self._topic, self._queues)

    def _start_sends(self) -> None:
        self._trial.on_rate(self._rate_hz)
        sends = SendSettings(
            topic=self._topic,
            mode="sync",
            route="selector",
            run=self._trial.record.trial,
            threads=SENDER_THREADS,
            keys=KEYS_PER_QUEUE * self._queues,
            body_bytes=(self._load.body_bytes,),
        )
        spec = self._spec(SCHEDULE, "producer", self._rate_hz, sends)
        self._start_sending(self._producer, [spec], self._load.locust)

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
            takes_lock=self._load.owners_share_lock and is_owner,
            writes_to=str(self.disk().mountpoint / group) if self._disk and is_owner else "",
            writes_bytes=self._load.owner_writes_kb * 1024,
            settings={
                "consumeThreadMin": CONSUME_THREADS,
                "consumeThreadMax": CONSUME_THREADS,
                **(self._load.owner_settings if is_owner else {}),
            },
        )
        self._start_member(self._clients["owner" if is_owner else "successor"], spec)

    def steady(self) -> None:
        """Until the owners are old enough, and then a window of plain load; locks are also asked for by an outsider."""
        age_s = time.monotonic() - self._owners_started
        self._trial.stay(self._load.owner_age_s_min - age_s - self._trial.phases.steady_s)
        if not self._load.owner_work_ms:
            self._start_sends()
        self._stay_steady(self._producer, [SCHEDULE], self._rate_hz)
        self._probe_locks()

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
                        granted = bool(connection.lock(as_group, OUTSIDER, [wanted]))
                        self._trial.events.record(
                            "lock_probe",
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
        """Ask this broker, as an outsider, for the lock of the queue of each group."""
        master = next(one for one in masters(self._trial.cluster) if one.broker_name == broker_name)
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for group, queue in held.items():
                granted = bool(connection.lock(group, OUTSIDER, [(self._topic, broker_name, queue)]))
                self._trial.events.record(
                    "lock_probe",
                    group=group,
                    as_group=group,
                    queue=f"{broker_name}:{queue}",
                    asked_broker=broker_name,
                    granted=granted,
                )

    def owners(self) -> JavaClient:
        """The process that the fault is about."""
        return self._clients["owner"]

    def disk(self) -> StoreMount:
        """What the owners' listeners write to. Raises ConfigurationError where they do not."""
        if self._disk is None:
            raise ConfigurationError("the owners of this load write to no disk", advice="Give it owner_writes_kb.")
        return self._disk.mount

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

    def drain(self) -> None:
        """Stop sending; wait until the groups have committed every message, by the brokers' own counts."""
        count = self._load.queues_per_broker
        self._drain(
            self._producer,
            [SCHEDULE],
            lambda: unconsumed(self._trial.cluster, self._topic, count, self._groups),
        )

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
        self._end_locust()
        for client in self._clients.values():
            client.stop()
        if self._disk is not None:
            self._disk.unmount()


def _on(broker_name: str, queues: Iterable[str]) -> list[int]:
    return [int(queue.partition(":")[2]) for queue in queues if queue.startswith(f"{broker_name}:")]
