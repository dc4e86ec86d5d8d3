"""Runs a plan: deployments come up, trials go through their phases, everything is written down, everything goes down.

A trial's phases are up, steady, inject, hold, heal, recover, drain, collect, down. A trial that fails is recorded as
failed and the run goes on; a full disk or the user's Ctrl-C ends the run with the evidence kept.

Where a plan has a first deployment, that one is judged while the next cluster boots and the clients of its longest trial come
up, which wait then until the analysis is over: what it takes from the machine is in no trial.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from harness.errors import DiskFullError, Interrupted
from harness.host.hiccups import NoiseProbe
from harness.host.rest import CoreRest
from harness.plan.core_budget import CoreBudget
from harness.plan.deployments import PlannedDeployment
from harness.plan.schedule import TRIALS_AHEAD, Plan, Schedule
from harness.run.context import RunContext
from harness.run.deployment import boot
from harness.rundir.files import require_room

POLL_S = 0.5
SPACE_CHECK_S = 1.0


def run_plan(context: RunContext, plan: Plan) -> None:
    """Run every trial of it. Raises Interrupted, as the manifest then says, and DiskFullError."""
    context.run.set_status("running")
    probe = NoiseProbe.start(context.leases, context.run.hiccups_path, until_s=plan.seconds * 4 + context.until_s)
    try:
        with _disk_watched(context):
            _run_in_parts(context, probe, plan)
        if context.full:
            raise context.full[0]
    except (Interrupted, KeyboardInterrupt) as error:
        context.run.set_status("failed" if context.full else "interrupted")
        if context.full:
            raise context.full[0] from error
        raise
    except BaseException:
        context.run.set_status("failed")
        raise
    finally:
        probe.stop()
    context.run.set_status("complete")


@contextlib.contextmanager
def _disk_watched(context: RunContext) -> Iterator[None]:
    """Cancel the run when its disk gets full, at once: processes that record would say so when their files are closed."""
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(SPACE_CHECK_S):
            try:
                require_room(context.run.path)
            except DiskFullError as error:
                context.full.append(error)
                context.cancel.set()
                return

    threading.Thread(target=look, name="disk", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


class _Gate:
    """Where deployments wait that nothing may boot beside: it opens when all have booted, and shuts when all have ended."""

    def __init__(self, cancel: threading.Event) -> None:
        self._cancel = cancel
        self._booting = 0
        self.is_open = self._is_abandoned = False
        self._changed = threading.Condition()

    def boots(self, more: int) -> None:
        """So many more (less: have booted) boot."""
        with self._changed:
            self._booting += more
            self._changed.notify_all()

    def nothing_boots(self, timeout_s: float) -> bool:
        """Whether all have booted within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._booting == 0, timeout_s)

    def open_when_booted(self, timeout_s: float) -> None:
        """Open if nothing boots within so many seconds."""
        with self._changed:
            self.is_open = self.nothing_boots(timeout_s)
            self._changed.notify_all()

    def shut(self) -> None:
        """Let others boot again."""
        self.is_open = False

    def abandon(self) -> None:
        """Nobody who waits is to run any more."""
        with self._changed:
            self._is_abandoned = True
            self._changed.notify_all()

    def passes(self) -> bool:
        """Wait until it opens; False when it never will. A cancelled run lets everybody in, to see that it is."""
        with self._changed:
            while not (self.is_open or self._is_abandoned or self._cancel.is_set()):
                self._changed.wait(POLL_S)
            return not self._is_abandoned


def _run_in_parts(context: RunContext, probe: NoiseProbe, plan: Plan) -> None:
    """The first deployment alone, where there is one, and the others while it is judged."""
    if (first := plan.first) is None:
        return _run_schedule(context, probe, plan.schedule)
    rest = tuple(one for one in plan.deployments() if one is not first)
    _run_schedule(context, probe, dataclasses.replace(plan.schedule, deployments=(first,)))
    is_over = threading.Event()
    context.quiet.clear()
    with ThreadPoolExecutor(1, thread_name_prefix="first-answer") as pool:
        answer = pool.submit(_judge, context, first.id, is_over)
        try:
            _run_schedule(context, probe, dataclasses.replace(plan.schedule, deployments=rest), answer)
        finally:
            is_over.set()


def _judge(context: RunContext, deployment: str, is_over: threading.Event) -> None:
    context.observer.phase(deployment, "judged")
    try:
        context.judge_first(deployment, is_over)
    except Exception as error:  # its trials are judged again at the end, with all others
        context.observer.say(f"no first answer: {type(error).__name__}: {error}")
    finally:
        context.quiet.set()
        context.observer.ended(deployment, "down", "")


def _run_schedule(
    context: RunContext, probe: NoiseProbe, schedule: Schedule, beside: Future[None] | None = None
) -> None:
    """Boot one deployment after another as the schedule lets them; an error lets those end that are at work.

    As long as ``beside`` is at work, a single cluster boots, and a single trial's clients.
    """
    left = list(schedule.deployments)
    budget, gate = CoreBudget(schedule.cores, context.cancel, CoreRest().was_there), _Gate(context.cancel)
    if beside is not None:
        # One finds room where nobody else has any.
        budget.has(0.0)
        beside.add_done_callback(lambda _: budget.has(schedule.cores))
    are_up: dict[Future[None], PlannedDeployment] = {}
    with ThreadPoolExecutor(max(1, len(left)), thread_name_prefix="deployment") as pool:
        try:
            while left or are_up:
                up = list(are_up.values())
                planned = None if gate.is_open else schedule.next_of(left, up)
                if beside is not None and planned is not None and planned.needs.no_boots_meanwhile:
                    # Its trials ask no budget whether they may begin.
                    wait([beside])
                waits_at_gate = not gate.is_open and any(one.needs.no_boots_meanwhile for one in up)
                if planned is not None and _has_room(budget, up, beside):
                    left.remove(planned)
                    gate.boots(1)
                    if not planned.needs.no_boots_meanwhile:
                        budget.expect(len(planned.trials))
                    are_up[pool.submit(_run_deployment, context, probe, planned, budget, gate)] = planned
                elif planned is None and waits_at_gate:
                    gate.open_when_booted(POLL_S)
                ready = 0 if planned or waits_at_gate else None
                for future in wait(are_up, timeout=ready, return_when=FIRST_COMPLETED).done:
                    del are_up[future]
                    future.result()
                if not are_up:
                    gate.shut()
        except BaseException:
            gate.abandon()
            raise


def _has_room(budget: CoreBudget, up: Collection[PlannedDeployment], beside: Future[None] | None) -> bool:
    """Whether one more may boot, within a moment."""
    if beside is None or beside.done():
        return budget.expects_few(TRIALS_AHEAD, POLL_S)
    return not up or bool(wait([beside], timeout=POLL_S).done)


def _run_deployment(
    context: RunContext, probe: NoiseProbe, planned: PlannedDeployment, budget: CoreBudget, gate: _Gate
) -> None:
    deployment = boot(context, probe, planned)
    # Not when that raises: the run ends, and nobody is to begin meanwhile.
    gate.boots(-1)
    waits = planned.needs.no_boots_meanwhile
    if deployment is None:
        budget.expect(0 if waits else -len(planned.trials))
        return
    try:
        if not waits or gate.passes():
            budget.expect(len(planned.trials) if waits and not planned.scenario.exclusive else 0)
            deployment.run_trials(budget)
    finally:
        deployment.close()
