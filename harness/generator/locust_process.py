"""A Locust process: users, shapes, Locust's own page, master and workers. Always a child process of its own.

Locust steers and counts, it does not carry messages. A user stands for a share of the rate; its task is a slice of the
schedule that the client process of this worker holds. What ends in a slice is given to Locust's statistics in bulk, so
that its page, its percentiles and its failures are those of the messages.

Importing Locust patches the whole process, which is why nothing else imports this module.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import gevent
import locust
from gevent.event import Event
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner
from locust.stats import StatsEntry, StatsError, stats_history

from harness.errors import LabError
from harness.generator.driver import Driver, Taken, driver_of
from harness.generator.locust_page import start_page
from harness.generator.options import CLIENT_FAILED, REPORT_S, TASKS_PER_S_MAX, LoadOptions, LocustSpec
from harness.generator.shapes import share_at
from harness.leases.with_parent import end_with_parent
from harness.rundir.files import replace_file

STOP_S = 1.0
READY_MESSAGE, DRAINED_MESSAGE, DIFFERS_MESSAGE = "mqlab-ready", "mqlab-drained", "mqlab-differs"
READY_S_MAX = 180.0
DRAINED_S_MAX = 60.0
OVER_S_MAX = 120.0
ERRORS_TOLD = 3


class Sender(locust.User):  # type: ignore[misc]
    """A user stands for a share of the rate. Its task is to wait for a slice of the schedule."""

    wait_time = locust.constant(0)
    driver: Driver
    counts: Counts

    def on_start(self) -> None:
        """Put this user's share on the schedule."""
        self.driver.join(id(self))

    def on_stop(self) -> None:
        """Take its share off the schedule. What was due before is still sent."""
        self.driver.leave(id(self))

    @locust.task  # type: ignore[untyped-decorator]
    def slice(self) -> None:
        """Let a slice of the schedule pass, then tell Locust what has ended."""
        gevent.sleep(max(REPORT_S, self.driver.users / TASKS_PER_S_MAX))
        self.counts.report()


class Counts:
    """Gives what the driver's client has counted to Locust's statistics."""

    def __init__(self, environment: Environment, driver: Driver, options: LoadOptions, client: str) -> None:
        self._environment = environment
        self._driver = driver
        self._method = f"{options.sends.mode} {options.sends.route}"
        self._name = f"{options.sends.topic} ({client})"
        self._reported_s = 0.0
        self.failed = False
        self.late_us: Mapping[str, int] = {}

    def report(self, *, now: bool = False) -> None:
        """Take and give, unless that was just done. If the client is gone, this process ends, since its users cannot
        send."""
        if not now and time.monotonic() - self._reported_s < REPORT_S:
            return
        self._reported_s = time.monotonic()
        # A user may be ended while it waits; in a greenlet of its own the answer is read and counted all the same.
        gevent.spawn(self._report).join()

    def _report(self) -> None:
        try:
            taken = self._driver.take()
        except LabError as error:
            if not self.failed:
                self.failed = True
                print(f"the client process failed: {error}", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGTERM)
            return
        self.late_us = taken.late_us
        self._give(taken)

    def _give(self, taken: Taken) -> None:
        if not taken.requests:
            return
        stats = self._environment.stats
        for entry in (stats.total, stats.entries[(self._name, self._method)]):
            entry.extend(self._entry(taken))
        for error, count in taken.errors.items():
            key = StatsError.create_key(self._method, self._name, error)
            known = stats.errors.setdefault(key, StatsError(self._method, self._name, error))
            known.occurrences += count

    def _entry(self, taken: Taken) -> StatsEntry:
        entry = StatsEntry(self._environment.stats, self._name, self._method)
        entry.num_requests, entry.num_failures = taken.requests, taken.failures
        entry.total_response_time, entry.total_content_length = taken.sum_ms, taken.bytes
        entry.min_response_time, entry.max_response_time = taken.min_ms, taken.max_ms
        entry.response_times = {int(ms): count for ms, count in taken.response_ms.items()}
        second = int(time.time())
        entry.num_reqs_per_sec = {second: taken.requests}
        entry.num_fail_per_sec = {second: taken.failures} if taken.failures else {}
        entry.last_request_timestamp = time.time()
        return entry


class Sending:
    """The part of a process that sends: its driver, which is drained at the end of each test."""

    def __init__(self, environment: Environment, spec: LocustSpec, index: int) -> None:
        self.driver = driver_of(spec, index)
        self.counts = Counts(environment, self.driver, spec.options, str(spec.driver.first_line["client"]))
        self.left = 0
        Sender.driver, Sender.counts = self.driver, self.counts
        environment.events.test_stop.add_listener(self._drain)

    def _drain(self, environment: Environment, **_: object) -> None:
        if not self.counts.failed:
            self.left += self.driver.drain()
            self.counts.report(now=True)

    def end(self) -> None:
        """Close the history."""
        try:
            self.driver.end()
        except LabError as error:
            self.counts.failed = True
            print(f"the client process failed: {error}", file=sys.stderr, flush=True)


class Tests:
    """What Locust counted in all tests of this process. Locust resets its statistics when a new test starts."""

    def __init__(self, environment: Environment, out: Path) -> None:
        self._environment = environment
        self._out = out
        self._ended: list[dict[str, object]] = []
        environment.events.test_start.add_listener(self._started)
        self._started_at = time.time()

    def _started(self, environment: Environment, **_: object) -> None:
        self._started_at = time.time()

    def ended(self, *, late_us: Mapping[str, Mapping[str, int]], left: int) -> None:
        """Write down what Locust counted in the test that has just ended."""
        stats = self._environment.stats
        self._ended.append(
            {
                "started": self._started_at,
                "requests": stats.total.num_requests,
                "failures": stats.total.num_failures,
                "errors": {error.error: error.occurrences for error in stats.errors.values()},
                "late_us": late_us,
                "not_sent_or_not_ended": left,
            }
        )
        replace_file(self._out, json.dumps({"tests": self._ended}, indent=1, default=str))


def _shape_class(options: LoadOptions) -> locust.LoadTestShape:
    class Shape(locust.LoadTestShape):  # type: ignore[misc]
        def tick(self) -> tuple[int, float] | None:
            # Locust asks once a second and acts at once: half a second ahead is nearest to the shape at all times.
            at_s = self.get_run_time() + 0.5
            if options.duration_s and self.get_run_time() >= options.duration_s:
                return None
            return max(1, round(options.users * share_at(options.shape, at_s))), float(options.users)

    return Shape()


def _environment(spec: LocustSpec) -> Environment:
    shaped = len(spec.options.shape) > 1 and spec.role != "worker"
    return Environment(
        user_classes=[Sender], events=locust.events, shape_class=_shape_class(spec.options) if shaped else None
    )


def _stopped_by_signal() -> Event:
    """An event that SIGTERM and SIGINT set."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, stop.set)
    return stop


def _say(values: Mapping[str, object]) -> None:
    print(json.dumps(values), flush=True)


# --- worker -----------------------------------------------------------------------------------------------------------


def run_worker(spec: LocustSpec) -> bool:
    """Connect to the master, start this worker's client, and serve until the master quits. False if the client failed."""
    stop = _stopped_by_signal()
    environment = _environment(spec)
    runner: WorkerRunner = environment.create_worker_runner(spec.master_host, spec.master_port)
    sending = Sending(environment, spec, runner.worker_index)

    def tell_late(client_id: str, data: dict[str, object]) -> None:
        data["late_us"] = dict(sending.counts.late_us)

    def drained(environment: Environment, **_: object) -> None:
        # Locust's own last report of a test may come before what was drained; this one is of everything.
        runner._send_stats()
        runner.send_message(DRAINED_MESSAGE, {"left": sending.left})

    environment.events.report_to_master.add_listener(tell_late)
    environment.events.test_stop.add_listener(drained)

    def differs(environment: Environment, msg: locust.rpc.Message, **_: object) -> None:
        _say({"differs": msg.data})
        stop.set()

    runner.register_message(DIFFERS_MESSAGE, differs)
    sending.driver.start()
    runner.send_message(READY_MESSAGE, spec.options.of_worker())
    _say({"worker": runner.worker_index, "pid": os.getpid(), "client_pid": sending.driver.pid})
    while not stop.is_set() and len(runner.greenlet) > 0:
        stop.wait(0.2)
    if stop.is_set():
        runner.quit()  # tells the master that this worker is gone
    sending.end()
    return not sending.counts.failed


# --- master, or all in one --------------------------------------------------------------------------------------------


class Steering:
    """Runs the tests: the one that starts by itself, and those that a person starts on Locust's page."""

    def __init__(self, spec: LocustSpec) -> None:
        self._spec = spec
        self._stop = _stopped_by_signal()
        self._environment = _environment(spec)
        self._late_us: dict[str, Mapping[str, int]] = {}
        self._sending: Sending | None = None
        self._drained: set[str] = set()
        self._ready: set[str] = set()
        self._left = 0
        self._over = Event()
        """Set while no test runs whose end is still to be counted."""
        self._over.set()
        self._environment.events.test_start.add_listener(lambda **_: self._over.clear())
        self._tests = Tests(self._environment, Path(spec.folder) / "locust.json")
        if spec.role == "master":
            self._runner = self._environment.create_master_runner(spec.master_host, spec.master_port)
            self._runner.register_message(READY_MESSAGE, self._on_ready)
            self._runner.register_message(DRAINED_MESSAGE, self._on_drained)
            self._environment.events.worker_report.add_listener(self._on_report)
        else:
            self._runner = self._environment.create_local_runner()
            self._sending = Sending(self._environment, spec, 0)
        # Listeners run in the order in which they came: this one is told when everything has been drained.
        self._environment.events.test_stop.add_listener(self._test_stopped)

    def _on_ready(self, environment: Environment, msg: locust.rpc.Message, **_: object) -> None:
        mine, its = self._spec.options.of_worker(), msg.data
        if different := ", ".join(f"{name} is {mine[name]} there" for name in mine if mine[name] != its.get(name)):
            self._runner.send_message(DIFFERS_MESSAGE, different, msg.node_id)
        else:
            self._ready.add(msg.node_id)

    def _on_drained(self, environment: Environment, msg: locust.rpc.Message, **_: object) -> None:
        self._drained.add(msg.node_id)
        self._left = msg.data["left"]

    def _on_report(self, client_id: str, data: dict[str, Mapping[str, int]]) -> None:
        if late := data.get("late_us"):
            self._late_us[client_id] = late

    def _test_stopped(self, environment: Environment, **_: object) -> None:
        if isinstance(self._runner, MasterRunner):
            deadline = time.monotonic() + DRAINED_S_MAX
            while self._working() - self._drained and time.monotonic() < deadline:
                gevent.sleep(0.05)
        elif self._sending is not None:
            self._late_us["local"] = self._sending.counts.late_us
            self._left = self._sending.left
        try:
            self._tests.ended(late_us=self._late_us, left=self._left)
        finally:
            # Locust logs what a listener raises, such as that the disk is full, and whoever waits goes on.
            self._drained.clear()
            self._over.set()

    def _working(self) -> set[str]:
        """Workers that were ready and still run. A killed one counts as missing after some heartbeats."""
        there = {client.id for client in self._runner.clients.all if client.state != "missing"}
        return self._ready & there

    def run(self) -> bool:
        """Run until the time is over or somebody stops it. False if the client failed."""
        web = None
        if self._sending is not None:
            self._sending.driver.start()
        else:
            self._wait_for_workers()
        if self._spec.web_port:
            web = start_page(self._environment, self._spec)
        gevent.spawn(stats_history, self._runner)
        _say({"started": True, "client_pid": self._sending.driver.pid if self._sending else None})
        self._start()
        self._watch()
        self._runner.stop()
        self._over.wait(OVER_S_MAX)
        if web is not None:
            web.stop()
        self._runner.quit()
        if self._sending is not None:
            self._sending.end()
        return self._sending is None or not self._sending.counts.failed

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + READY_S_MAX
        while len(self._ready) < self._spec.workers and not self._stop.is_set():
            if time.monotonic() > deadline:
                raise SystemExit(f"{len(self._ready)} of {self._spec.workers} workers were ready in {READY_S_MAX:g} s")
            gevent.sleep(0.05)

    def _start(self) -> None:
        if self._environment.shape_class is not None:
            self._runner.start_shape()
        else:
            # Blocking in a master until the workers have reported; the clock of the load runs from here.
            gevent.spawn(self._runner.start, self._spec.options.users, float(self._spec.options.users))

    def _watch(self) -> None:
        options = self._spec.options
        # A shape ends by itself, when Locust asks it for the next step.
        timed = bool(options.duration_s) and self._environment.shape_class is None
        ends = time.monotonic() + options.duration_s if timed else math.inf
        while not self._stop.wait(min(STOP_S, max(0.0, ends - time.monotonic()))):
            total = self._environment.stats.total
            _say(
                {
                    "users": self._runner.user_count,
                    "requests": total.num_requests,
                    "failures": total.num_failures,
                    "rate": round(total.current_rps, 1),
                    "errors": self._commonest_errors(),
                    "late_us": dict(self._sending.counts.late_us) if self._sending else self._late_us,
                }
            )
            if time.monotonic() >= ends or self._shape_is_over():
                return

    def _commonest_errors(self) -> dict[str, int]:
        errors = sorted(self._environment.stats.errors.values(), key=lambda one: one.occurrences, reverse=True)
        return {str(one.error): int(one.occurrences) for one in errors[:ERRORS_TOLD]}

    def _shape_is_over(self) -> bool:
        started = self._environment.stats.total.num_requests > 0
        shaped = self._environment.shape_class is not None
        return shaped and started and self._over.is_set() and not self._spec.web_port


def main() -> None:
    """Read one line of JSON, a ``LocustSpec``, and run that process."""
    end_with_parent()
    spec = LocustSpec.from_json(sys.stdin.readline())
    whole = run_worker(spec) if spec.role == "worker" else Steering(spec).run()
    # The RPC and web greenlets hold sockets that nobody needs any more.
    sys.stdout.flush()
    os._exit(0 if whole else CLIENT_FAILED)


if __name__ == "__main__":
    main()
