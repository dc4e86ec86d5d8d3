"""How each step of an arm is carried out (``harness/model/steps.py``). What of it stays is undone when all steps are over."""

import dataclasses
import functools
import math
import re
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness.backends.cluster import (
    RECORD_S_MAX,
    ask,
    change_live,
    create_topic,
    masters,
    namesrv_addresses,
    wait_registered,
)
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError, NodeStartError, WaitTimeout, shown
from harness.faults.injections import injection_of
from harness.faults.targets import of_now
from harness.model.steps import (
    LINES,
    Do,
    GroupLeaves,
    GroupReturns,
    Heal,
    MakeTopics,
    Read,
    SetLive,
    StartClient,
    StartNode,
    Stay,
    Step,
    StopNode,
    Until,
)
from harness.model.timed_faults import Inject, TimedFault
from harness.releases.border import judge
from harness.run.here import Here, Written
from harness.run.trial_fault import TrialFault
from harness.rundir.lines import read_records
from harness.trial import LoadSession, MembersCanLeave, TakesTimedFaults, TrialContext, able
from harness.wait import patience, wait_until

POLL_S = 0.2
STOP_S_MAX = 30.0
SEND_S_MAX = 60.0
SAID_CHARACTERS_MAX = 300


class Steps:
    """Those of one trial. ``over`` is set when the hold has ended, whatever is left of them."""

    def __init__(self, trial: TrialContext, load: LoadSession, over: threading.Event) -> None:
        self._trial = trial
        self._load = load
        self._over = over
        self._on: list[TrialFault] = []
        self._touched: set[str] = set()
        """Nodes that were stopped, which are started again when all is over."""
        self._changed: set[str] = set()
        """Those whose conf has what one start alone was to have."""

    @functools.cached_property
    def here(self) -> Here:
        """The trial as functions of the incident's find it."""
        return Here(self._trial)

    def take(self, step: Step, number: int, undo: ExitStack) -> None:
        """Carry one out; what it leaves goes to ``undo``. Raises LabError, and whatever a function of the incident's raises."""
        match step:
            case Stay():
                self._over.wait(step.stay_s)
            case Until():
                self._until(step)
            case Inject():
                self.inject(step, number, undo)
            case Heal():
                self._heal(step)
            case StopNode():
                self._stop(step, undo)
            case StartNode():
                self._start(step, undo)
            case StartClient():
                self._start_client(step, number)
            case GroupLeaves():
                able(self._load, MembersCanLeave).leave()
            case GroupReturns():
                able(self._load, MembersCanLeave).come_back()
            case SetLive():
                self._set_live(step, undo)
            case MakeTopics():
                self._make_topics(step, undo)
            case Do():
                step.by(self.here)
            case Read():
                self._read(step)
            case _:
                raise ClientError(f"nothing takes a step {type(step).__name__}")

    # --- waiting and reading

    def _until(self, step: Until) -> None:
        def is_so() -> bool:
            with patience():
                return bool(step.is_so(self.here))

        began = time.monotonic()
        try:
            wait_until(step.what, is_so, timeout_s=step.wait_s_max, poll_s=POLL_S, cancel=self._over)
        except WaitTimeout as error:
            self._came(step.outcome, False, error)
            return
        self._came(step.outcome, True)
        if step.outcome:
            self.here.record(f"{step.outcome}-s", time.monotonic() - began)

    def _came(self, outcome: str, came: bool, error: Exception | None = None) -> None:
        """Record an outcome; without a name it has to have come about, else ``error`` is raised."""
        if outcome:
            self.here.record(outcome, came, _one_line(str(error or "")))
        elif error is not None:
            raise error

    def _read(self, step: Read) -> None:
        value = step.by(self.here)
        if value is None:
            return
        if not isinstance(value, bool | int | float) or not math.isfinite(value):
            raise ClientError(f"{step.reading} is {_one_line(repr(value))}, which is no number")
        self.here.record(step.reading, value)

    # --- faults

    def inject(self, step: Inject, number: int, undo: ExitStack) -> None:
        """A fault comes and is healed once it has stayed as long as it is to, or when the hold is over."""
        record = self._trial.record
        params = {**record.params, **step.params}
        trial = dataclasses.replace(self._trial, record=dataclasses.replace(record, params=params))
        load = self._load.of_fault(step) if isinstance(self._load, TakesTimedFaults) else self._load
        found = of_now(step.fault, trial)
        fault = TrialFault(trial, found, injection_of(found, step.injection), number)
        undo.callback(fault.end)
        fault.inject(load)
        undo.callback(fault.heal, load)
        if math.isinf(step.stays_s) and not isinstance(step, TimedFault):
            self._on.append(fault)
            return
        self._over.wait(step.stays_s if step.stays_s < threading.TIMEOUT_MAX else None)
        fault.heal(load)

    def _heal(self, step: Heal) -> None:
        ending = [fault for fault in self._on if fault.kind == step.fault]
        if not ending:
            raise ClientError(f"no step has left {step.fault} on")
        for fault in ending:
            self._on.remove(fault)
            fault.heal(self._load)

    # --- nodes

    def _stop(self, step: StopNode, undo: ExitStack) -> None:
        self._touch(step.node, undo)
        if step.kill:
            self._trial.cluster.kill_node(step.node)
        else:
            self._trial.cluster.stop_node(step.node, grace_s=STOP_S_MAX)

    def _touch(self, node: str, undo: ExitStack) -> None:
        self.here.node(node)
        if node not in self._touched:
            self._touched.add(node)
            undo.callback(self._bring_back, node)

    def _start(self, step: StartNode, undo: ExitStack) -> None:
        self._touch(step.node, undo)
        cluster, node = self._trial.cluster, step.node
        home = self.here.home(node)
        _require_let_in(step.conf)
        if cluster.pid(node) is not None:
            cluster.stop_node(node, grace_s=STOP_S_MAX)
        written = Written(home)
        failed: NodeStartError | WaitTimeout | None = None
        try:
            self._start_with(node, step.conf, step.jvm)
        except (NodeStartError, WaitTimeout) as error:
            failed = error
            if cluster.pid(node) is not None:
                cluster.kill_node(node)
        self._came(step.outcome, failed is None, failed)
        if step.outcome:
            lines = written.matching(step.says) if step.says else []
            self.here.record(f"{step.outcome}-{LINES}", len(lines), _one_line(lines[0] if lines else ""))

    def _start_with(self, node: str, conf: Mapping[str, str], jvm: tuple[str, ...]) -> None:
        """What a start alone was to have is gone with the next one, which has what the arm says."""
        once = bool(conf or jvm)
        if once or node in self._changed:
            self._trial.cluster.start_node(node, options=jvm, conf=conf)
        else:
            self._trial.cluster.start_node(node)
        wait_registered(self._trial.cluster)
        found = self.here.node(node)
        if node in self._changed and not once and found.kind == "broker":
            change_live(found, self._trial.record.live_conf)
        self._changed = self._changed | {node} if once else self._changed - {node}

    def _bring_back(self, node: str) -> None:
        cluster = self._trial.cluster
        if cluster.pid(node) is not None and node in self._changed:
            cluster.stop_node(node, grace_s=STOP_S_MAX)
        if cluster.pid(node) is None:
            try:
                self._start_with(node, {}, ())
            except (NodeStartError, WaitTimeout) as error:
                raise ClientError(f"{node}, which a step had stopped, does not start again: {error}") from error

    def _set_live(self, step: SetLive, undo: ExitStack) -> None:
        _require_let_in(step.settings)
        for broker in [self.here.node(step.node)] if step.node else masters(self._trial.cluster):
            with ask(broker) as connection:
                before = connection.broker_config()
            change_live(broker, step.settings)
            undo.callback(change_live, broker, {key: before[key] for key in step.settings if key in before})

    def _make_topics(self, step: MakeTopics, undo: ExitStack) -> None:
        names = [f"{step.prefix}-{number}" for number in range(step.topics)]
        on = masters(self._trial.cluster)
        undo.callback(self._delete_topics, names)
        for broker in on:
            with ask(broker, timeout_s=RECORD_S_MAX) as connection:
                for name in names[:-1]:
                    connection.create_topic(name, read_queues=step.queues, write_queues=step.queues)
        # Name servers know the last one when they know all: a broker tells of them in their order.
        create_topic(self._trial.cluster, names[-1], read_queues=step.queues, write_queues=step.queues)

    def _delete_topics(self, names: list[str]) -> None:
        for broker in masters(self._trial.cluster):
            with ask(broker, timeout_s=RECORD_S_MAX) as connection:
                for name in names:
                    connection.delete_topic(name)

    # --- a client

    def _start_client(self, step: StartClient, number: int) -> None:
        name = f"step-{number}"
        client = self._trial.client(name)
        try:
            client.wait_started()
            refused = self._sent(step, client) if step.does == "send" else self._consumed(step, client)
        finally:
            client.stop()
        self._came(step.outcome, refused is None, refused)
        if step.outcome:
            said = [refused] if refused is not None and self._matches(step.says, str(refused)) else []
            self.here.record(f"{step.outcome}-{LINES}", len(said), _one_line(str(said[0]) if said else ""))

    @staticmethod
    def _matches(pattern: str, text: str) -> bool:
        return bool(pattern) and re.search(pattern, text) is not None

    def _history_of(self, client: JavaClient) -> Path:
        """Its own, which is opened, since nothing of it is of the load."""
        path = self._trial.directory.client_folder(client.name) / "step.jsonl"
        client.open_history(path)
        return path

    def _sent(self, step: StartClient, client: JavaClient) -> ClientError | None:
        """Why its message was refused."""
        path = self._history_of(client)
        sends = SendSettings(
            topic=step.topic or self._trial.record.topic, run=self._trial.record.trial, mode="sync", keys=0,
            body_bytes=(step.body_bytes,),
        )  # fmt: skip
        spec = ScheduleSpec(
            name=client.name, instance=client.name, rate_hz=1000.0, start_ns=mono_ns(), operations=1, sends=sends
        )
        settings: dict[str, Any] = dict(step.settings)
        try:
            client.start_producer(client.name, step.group, namesrv_addresses(self._trial.cluster), **settings)
            client.start_schedule(spec)
            wait_until(
                "its message", lambda: client.schedule_state(client.name).is_through, timeout_s=SEND_S_MAX,
                cancel=self._over,
            )  # fmt: skip
            client.close_history()
        except ClientError as error:
            return error
        sent = next(record for record in read_records(path).records if record["type"] == "send")
        return None if sent["outcome"] == "ok" else ClientError(f"{sent['outcome']}: {sent.get('remark')}")

    def _consumed(self, step: StartClient, client: JavaClient) -> ClientError | None:
        """Why it did not start."""
        self._history_of(client)
        spec = ConsumerSpec(
            instance=client.name, group=step.group, topic=step.topic or self._trial.record.topic, ordered=False,
            tags=step.tags, settings=dict(step.settings),
        )  # fmt: skip
        try:
            client.start_consumer(spec, namesrv_addresses(self._trial.cluster))
        except ClientError as error:
            return error
        return None


def _require_let_in(settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        if why := judge("broker", key, value).why:
            raise ClientError(f"{key} cannot be {shown(value)} here: {why}")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:SAID_CHARACTERS_MAX]
