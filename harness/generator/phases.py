"""The phases of a load by itself: up, hold, drain, collect. Locust steers, consumers verify, a run directory is left."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from typing import Literal

from harness.clock import mono_ns
from harness.errors import Interrupted, LabError
from harness.generator.consumers import VerifyingConsumers
from harness.generator.load_run import DAY_S, GROUP, LoadRun
from harness.generator.locust_processes import LocustProcesses
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.rundir.events import EventLog
from harness.rundir.files import write_json
from harness.rundir.writing import TrialDirectory


def run_load(load: LoadRun) -> None:
    """Run the load from its start to its drain, and leave a whole trial behind.

    Raises:
        Interrupted: the user stopped it; what was recorded is whole and can be judged.
        TargetNotAllowedError: a name server began to list an address that is not allowed; the load was ended at once.
        ClientError: Locust or a client failed.
    """
    directory = load.run.make_trial(dataclasses.replace(load.record, status="running"))
    status: Literal["complete", "interrupted", "failed"] = "failed"
    error = ""
    try:
        with directory.open_events() as events, ExitStack() as stack:
            probe = NoiseProbe.start(load.leases, load.run.hiccups_path, until_s=DAY_S)
            stack.callback(probe.stop)
            _phases(load, directory, events, probe, stack)
        status = "complete"
    except (Interrupted, KeyboardInterrupt):
        status, error = "interrupted", "stopped by the user"
        raise
    except LabError as problem:
        error = str(problem)
        raise
    finally:
        directory.write(dataclasses.replace(load.record, status=status, error=error))
        load.run.set_status(status)


def _phases(load: LoadRun, directory: TrialDirectory, events: EventLog, probe: NoiseProbe, stack: ExitStack) -> None:
    events.anchor()
    with events.phase("up"):
        consumers = VerifyingConsumers(load, directory)
        stack.callback(consumers.stop)
        consumers.start()
        locust = LocustProcesses(load, directory)
        stack.callback(locust.stop)
        locust.start()
        write_json(directory.path / "processes.json", {**consumers.pids(), **locust.pids()})
    from_ns = mono_ns()
    with events.phase("hold"):
        locust.watch()
    until_ns = mono_ns()
    events.anchor()
    with events.phase("drain"):
        left = consumers.drain()
        events.drain(complete=left == 0, remaining=left)
    with events.phase("collect"):
        load.target.record_ends(events, GROUP if load.consumers else None)
        consumers.close()
    events.anchor()
    worst = worst_ms(probe.copy_into(events, from_ns, until_ns)) or 0.0
    load.say(f"the machine itself stood still for {worst:.1f} ms at most (hiccup probe)")
