"""What the sessions of all loads have in common: how clients start, send, consume, and are drained."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from harness.backends.cluster import namesrv_addresses
from harness.clients.commands import ScheduleState, SendSettings
from harness.clients.java import ConsumerSpec, JavaClient, Setting
from harness.clients.leased import LeasedClient, ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.load.locust_rate import LocustRate
from harness.model.loads import LocustUsers
from harness.trial import TrialContext
from harness.wait import NotYet, wait_until

LONGEST_S = 1200.0
"""Bounds every schedule whatever happens to the trial."""
POLL_S = 0.5
LOOK_S = 1.0
KEEPS_UP_S_MAX = 300.0
DUE_MIN = 2
"""Where a window has so many sends, it has one at least."""
BEHIND_S_MAX, IN_FLIGHT_MAX = 1.0, 4
"""What a load may be behind that keeps up: seconds of its sends, and those that are on their way."""
PROCESS = "clients"
KEPT_ROUTE: Mapping[str, Setting] = {"pollNameServerInterval": 3_600_000}
"""Longer than any trial. A client that asks for its route while a broker is away forgets what is on it."""


class Schedules(Protocol):
    """What tells of schedules by their names, and stops them: a client process, or several as one."""

    def schedule_state(self, name: str) -> ScheduleState:
        """How many sends of a schedule are due, issued and ended."""

    def stop_schedule(self, name: str) -> None:
        """Issue nothing more."""


class Session:
    """Base of a load's session: a phase that a load does not define lasts as long as the scenario says."""

    _locust: LocustRate | None = None

    def __init__(self, trial: TrialContext) -> None:
        self._trial = trial
        self._topic = trial.record.topic

    def hold(self) -> None:
        """Stay as long as the phase lasts."""
        self._trial.stay(self._trial.phases.hold_s_max)

    def recover(self) -> None:
        """Stay as long as the phase lasts."""
        self._trial.stay(self._trial.phases.recover_s)

    def _wait_for(self, what: str, is_so: Callable[[], bool]) -> None:
        """Wait for what comes while clients settle. Raises WaitTimeout, Interrupted."""
        limit_s = self._trial.phases.settle_s_max
        wait_until(what, is_so, timeout_s=limit_s, poll_s=POLL_S, cancel=self._trial.cancel)

    def _start_member(self, client: JavaClient, spec: ConsumerSpec, namesrv: str = "") -> None:
        addresses = namesrv or namesrv_addresses(self._trial.cluster)
        client.wait_consumer_started(spec, addresses, cancel=self._trial.cancel)

    def _wait_settled(self, clients: Iterable[JavaClient], share: int, unordered: Collection[str] = ()) -> None:
        """Every member but the ``unordered`` ones holds its share of the queues' locks; the rebalance that gets there takes
        some of its periods."""

        def settled() -> bool:
            held = [item for client in clients for item in client.assigned_queues().items()]
            unsettled = {
                instance: len(queues)
                for instance, queues in held
                if len(queues) != share and not instance.endswith("-broadcast") and instance not in unordered
            }
            if unsettled:
                raise NotYet(f"these do not hold {share} queues: {unsettled}")
            return True

        self._wait_for("every queue to have its consumer", settled)

    def _send(
        self,
        client: LeasedClient,
        schedule: str,
        instance: str,
        rate_hz: float,
        sends: SendSettings,
        operations: int = 0,
    ) -> None:
        """Start to send; without a number of operations, until the schedule is stopped."""
        client.start_schedule(self._spec(schedule, instance, rate_hz, sends, operations))

    @staticmethod
    def _spec(
        schedule: str, instance: str, rate_hz: float, sends: SendSettings, operations: int = 0, start_ns: int = 0
    ) -> ScheduleSpec:
        return ScheduleSpec(
            name=schedule,
            instance=instance,
            rate_hz=rate_hz,
            start_ns=start_ns or mono_ns(),
            operations=operations or int(LONGEST_S * rate_hz),
            sends=sends,
        )

    def _start_sending(
        self, client: JavaClient, specs: Sequence[ScheduleSpec], users: LocustUsers | None = None
    ) -> None:
        """Start schedules; with ``users`` at a rate of 0, which Locust raises to theirs."""
        if users is None:
            for spec in specs:
                client.start_schedule(spec)
        else:
            self._locust = LocustRate(self._trial, users, client, specs)
            self._locust.begin()

    def _end_locust(self) -> None:
        """If Locust made the rate: end its test, once all that was due has been sent and has ended."""
        if self._locust is not None:
            self._locust.end()
            self._locust = None

    def _stay_steady(self, client: Schedules, schedules: Sequence[str], rate_hz: float) -> None:
        """A window of plain load in which sends keep up with what is due; ``rate_hz`` is of all schedules together.

        On a machine that has more to do than it can sends are late and routes come late without any fault, and what is
        counted would be that. A load of which nothing is due any more keeps up with nothing: Locust may have ended before.

        Raises:
            ClientError: a schedule has stopped by itself.
            WaitTimeout: there is no such window.
        """

        steady_s = self._trial.phases.steady_s
        looks = max(1, math.ceil(steady_s / LOOK_S))

        def have_kept_up() -> bool:
            dues = []
            for wait_s in (*[steady_s / looks] * looks, 0.0):
                states = {name: client.schedule_state(name) for name in schedules}
                for name, state in states.items():
                    if not state.sending:
                        raise ClientError(f"the producer of {name} stopped sending by itself")
                due, ended = (sum(getattr(state, what) for state in states.values()) for what in ("due", "ended"))
                if due - ended > IN_FLIGHT_MAX + BEHIND_S_MAX * rate_hz:
                    raise NotYet(f"{due - ended} of {due} sends were due and had not ended")
                dues.append(due)
                self._trial.stay(wait_s)
            if schedules and dues[0] == dues[-1] and rate_hz * steady_s >= DUE_MIN:
                raise NotYet(f"no send was due in {steady_s:g} s")
            return True

        wait_until("sends to keep up", have_kept_up, timeout_s=KEEPS_UP_S_MAX, cancel=self._trial.cancel)

    def _drain(self, client: Schedules, schedules: Sequence[str], unconsumed: Callable[[], int]) -> None:
        """Stop sending, and wait until the groups have committed every message, by the brokers' own counts."""
        self._end_locust()
        for schedule in schedules:
            client.stop_schedule(schedule)
        deadline = time.monotonic() + self._trial.phases.drain_s_max
        through, left = False, -1
        while time.monotonic() < deadline and (not through or left != 0):
            self._trial.stay(POLL_S)
            through = all(client.schedule_state(schedule).is_through for schedule in schedules)
            left = unconsumed()
        self._trial.events.record("drain", complete=through and left == 0, remaining=left)


class OneProcessSession(Session):
    """Base of loads whose producers and members are all clients of one process.

    Nobody of them is killed, and the start of a process costs more than all that its clients do.
    """

    _started: JavaClient | None = None

    @property
    def _client(self) -> JavaClient:
        assert self._started is not None
        return self._started

    def _start_process(self) -> None:
        """Start it, with an open history."""
        with self._trial.boots:
            self._started = self._trial.start_clients({PROCESS: None})[PROCESS]

    def _start_with_queues(self, spec: ConsumerSpec, queues: int) -> None:
        """A member that is given so many queues of its topic, which it is when it knows where to begin."""
        self._start_member(self._client, spec)
        self._wait_for("the consumer's queues", lambda: self._client.queue_counts(spec.topic)[spec.instance] == queues)

    def down(self) -> None:
        """End the process."""
        self._end_locust()
        if self._started is not None:
            self._started.stop()
