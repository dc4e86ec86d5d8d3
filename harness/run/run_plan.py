"""Runs a plan: deployments come up, trials go through their phases, everything is written down, everything goes down.

A trial's phases are up, steady, inject, hold, heal, recover, drain, collect, down. A trial that fails is recorded as
failed and the run goes on; a full disk or the user's Ctrl-C ends the run with the evidence kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from harness.errors import Interrupted
from harness.host.hiccups import NoiseProbe
from harness.plan.core_budget import Room
from harness.plan.schedule import TRIALS_AHEAD, Plan, PlannedDeployment, Relay
from harness.run.context import RunContext
from harness.run.deployment import DEPLOYMENT_S_MAX, Deployment, all_of, boot

RELAY_POLL_S = 0.5
"""The leases of a deployment end then at the latest."""


def run_plan(context: RunContext, plan: Plan) -> None:
    """Run every trial that is not complete yet.

    Raises:
        Interrupted: the user asked to stop; the manifest says so.
        DiskFullError: nothing more can be written.
    """
    probe = NoiseProbe.start(context.leases, context.run.hiccups_path, until_s=plan.seconds * 4 + DEPLOYMENT_S_MAX)
    try:
        _run_relay(context, probe, plan.relay)
        for wave in plan.waves:
            _run_wave(context, probe, _without_complete(context, wave.deployments))
    except (Interrupted, KeyboardInterrupt):
        context.run.set_status("interrupted")
        raise
    except BaseException:
        context.run.set_status("failed")
        raise
    finally:
        probe.stop()
    context.run.set_status("complete")


def _without_complete(context: RunContext, planned: Sequence[PlannedDeployment]) -> list[PlannedDeployment]:
    done = {record.trial for record in context.run.trials().values() if record.status == "complete"}
    left = [
        dataclasses.replace(deployment, trials=tuple(trial for trial in deployment.trials if trial.id not in done))
        for deployment in planned
    ]
    return [deployment for deployment in left if deployment.trials]


def _run_relay(context: RunContext, probe: NoiseProbe, relay: Relay) -> None:
    """Boot one deployment after another while their trials find room; an error lets those end that are up."""
    left = _without_complete(context, relay.deployments)
    room = Room(relay.cores, context.cancel)
    are_up: dict[Future[None], PlannedDeployment] = {}
    with ThreadPoolExecutor(max(1, len(left)), thread_name_prefix="deployment") as pool:
        while left or are_up:
            planned = relay.next_of(left, list(are_up.values()))
            if planned is not None and room.expects_few(TRIALS_AHEAD, RELAY_POLL_S):
                left.remove(planned)
                room.expect(len(planned.trials))
                are_up[pool.submit(_run_deployment, context, probe, planned, room)] = planned
            for future in wait(are_up, timeout=0 if planned else None, return_when=FIRST_COMPLETED).done:
                del are_up[future]
                future.result()


def _run_deployment(context: RunContext, probe: NoiseProbe, planned: PlannedDeployment, room: Room) -> None:
    deployment = boot(context, probe, planned)
    if deployment is None:
        room.expect(-len(planned.trials))
    else:
        deployment.run_trials(room)


def _run_wave(context: RunContext, probe: NoiseProbe, planned: Sequence[PlannedDeployment]) -> None:
    """Boot all clusters, then run all trials: a broker that boots beside a load registers late, and delays its clients."""
    booted: list[Deployment] = []

    def boot_one(one: PlannedDeployment) -> None:
        if (deployment := boot(context, probe, one)) is not None:
            booted.append(deployment)

    with ThreadPoolExecutor(max(1, len(planned)), thread_name_prefix="deployment") as pool:
        try:
            all_of([pool.submit(boot_one, one) for one in planned])
            all_of([pool.submit(deployment.run_trials) for deployment in booted])
        finally:
            all_of([pool.submit(deployment.close) for deployment in booted])
