"""A harness that kills itself with -9 when its trial is in a given phase. Run by test_killed_harness.py."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

import scenarios
from harness.backends.local import start_local
from harness.host.facts import Host
from harness.leases.leases import Leases
from harness.load import open_loop
from harness.model.cluster import BrokerSettings
from harness.plan.deployments import FIRST_COMPILER
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.releases.java import find_java
from harness.run.context import RunContext
from harness.run.display import Display
from harness.run.run_plan import run_plan
from harness.rundir.manifest import HostRecord, Manifest
from harness.rundir.writing import RunWriter

STALL_MS = {"inject": 3000}
SHORT_MS = 300
KILL_AFTER_S = {"inject": 1.0}
"""In inject the stall must be on: it is armed within milliseconds and lasts three seconds. In the others it is over, or not yet."""


class KillsInPhase(Display):
    """Shows the run on standard error, and ends it in a phase of its trial."""

    def __init__(self, phase: str, plan: Plan) -> None:
        super().__init__(Console(stderr=True), plan)
        self._phase = phase

    def phase(self, trial: str, phase: str) -> None:
        """Kill this process once the trial is in the phase."""
        if phase == self._phase:
            threading.Timer(KILL_AFTER_S.get(phase, 0.0), os.kill, (os.getpid(), signal.SIGKILL)).start()
            if phase not in KILL_AFTER_S:
                threading.Event().wait()


def main(phase: str, folder: Path, injection: str) -> None:
    """Run one trial of 4.6.0 with an append stalled by this injection, and die in ``phase``."""
    # Three seconds make the first sends fast, and no figure of theirs is looked at.
    open_loop.WARM_UP_S = open_loop.LATER_WARM_UP_S
    scenario = scenarios.find("append-stall")
    arm = dataclasses.replace(
        scenario.arm("incident"),
        cells=({"stall_ms": STALL_MS.get(phase, SHORT_MS), "rate_hz": 200},),
        broker=BrokerSettings(jvm=FIRST_COMPILER),
    )
    short = dataclasses.replace(scenario, arms=(arm,))
    plan = make_plan(
        Request(scenarios=[short], releases=["4.6.0"], trials=1, injections=[injection]), Host(cores=2, memory_mb=8000)
    )
    manifest = Manifest(
        run=f"killed-in-{phase}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command="mqlab verify append-stall",
        commit="test",
        dirty=True,
        seed=1,
        incidents=(scenario.name,),
        releases=("4.6.0",),
        client_releases={"4.6.0": "4.6.0"},
        backend="local",
        budget="quick",
        rules={claim.id: claim.rule_hash() for claim in scenario.claims},
        host=HostRecord(cores=2),
        trials=tuple(trial.id for _, trial in plan.trials()),
    )
    java = find_java()
    with Leases.open(folder / "state") as leases, RunWriter.create(folder / "run", manifest) as run:
        context = RunContext(
            run=run,
            leases=leases,
            java=java,
            start_cluster=lambda spec, where, until_s: start_local(spec, where, leases, java, until_s=until_s),
            observer=KillsInPhase(phase, plan),
        )
        run_plan(context, plan)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
