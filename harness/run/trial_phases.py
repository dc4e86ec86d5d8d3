"""The phases of one trial, in their order, and its fault's states, which are stamped here and nowhere else."""

import dataclasses
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

from harness.clock import mono_ns
from harness.errors import Interrupted, LabError
from harness.faults.injections import injection_of
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.model.faults import Fault, NoFault
from harness.model.timed_faults import TimedFault
from harness.run.costs import TrialCosts
from harness.run.display import Display
from harness.rundir.events import Phase
from harness.trial import Healed, Injection, LoadSession, TakesTimedFaults, TrialContext

PHASES: tuple[Phase, ...] = get_args(Phase)
"""In their order."""

POLL_S = 0.5

METERED: tuple[Phase, ...] = ("inject", "collect")
"""Before these it is read what the processes have used."""


def run_phases(
    trial: TrialContext,
    injection: Injection[Any],
    open_load: Callable[[], LoadSession],
    *,
    observer: Display,
    probe: NoiseProbe,
    costs: TrialCosts,
    quiet: threading.Event,
    at_moment: Callable[[TrialContext, bool], None] = lambda trial, is_on: None,
) -> float:
    """Run them all, and end what is on however the trial ends; returns the worst hiccup in milliseconds.

    What is up waits until it is ``quiet``.
    """
    events = trial.events
    fault = TrialFault(trial, trial.arm.fault, injection)
    load: LoadSession | None = None

    def enter(phase: Phase, act: Callable[[], None]) -> None:
        observer.phase(trial.record.trial, phase)
        if trial.cancel.is_set():
            raise Interrupted("stopped by the user")
        if phase in METERED:
            costs.read(trial)
        events.anchor()
        with events.phase(phase):
            act()

    try:
        injection.prepare(trial.arm.fault, trial)
        session = load = open_load()
        enter("up", session.up)
        while not (trial.cancel.is_set() or quiet.wait(POLL_S)):
            pass
        injection.rehearse(trial.arm.fault, trial)
        enter("steady", session.steady)
        from_ns = mono_ns() - 1_000_000_000
        enter("inject", lambda: fault.inject(session))
        at_moment(trial, fault.is_on)
        enter("hold", lambda: TimedFaults(trial, session).during(session.hold))
        enter("heal", lambda: fault.heal(session))
        until_ns = mono_ns()
        enter("recover", session.recover)
        enter("drain", session.drain)
        enter("collect", session.collect)
        events.anchor()
        return worst_ms(probe.copy_into(events, from_ns, until_ns)) or 0.0
    finally:
        try:
            fault.end()
        finally:
            if load is not None:
                observer.phase(trial.record.trial, "down")
                with events.phase("down"):
                    load.down()


class TrialFault:
    """A trial's fault: its injection makes it happen, and this stamps it and ends it."""

    def __init__(self, trial: TrialContext, fault: Fault, injection: Injection[Any], number: int | None = None) -> None:
        """``number`` tells it from other faults of the same trial."""
        self._trial = trial
        self._injection = injection
        self._fault = fault
        self._number = number
        self._target = ""
        self._end: Callable[[], Healed] | None = None
        self._is_over = False

    @property
    def is_on(self) -> bool:
        """Whether it has still to be healed, as far as its injection can tell."""
        return not self._is_over and not isinstance(self._fault, NoFault)

    def inject(self, load: LoadSession) -> None:
        """Make it happen, and stamp when; one that has ended by itself is stamped to its end."""
        asked_ns = mono_ns()
        self._trial.events.fault(self._fault.kind, "asked", at_ns=asked_ns, number=self._number)
        done = self._injection.inject(self._fault, self._trial, load)
        self._end, self._target, self._is_over = done.end, done.target, done.healed_ns is not None
        stamps = {
            "injecting": asked_ns if done.injecting_ns is None else done.injecting_ns,
            "injected": mono_ns() if done.injected_ns is None else done.injected_ns,
            "healing": done.healing_ns,
            "healed": done.healed_ns,
        }
        for state, at_ns in stamps.items():
            if at_ns is not None:
                self._trial.events.fault(
                    self._fault.kind,
                    state,  # type: ignore[arg-type]
                    target=done.target,
                    asked_ms=done.asked_ms,
                    achieved_ms=done.achieved_ms,
                    detail=done.detail,
                    exercised=None if state == "injecting" else done.exercised,
                    at_ns=at_ns,
                    number=self._number,
                )

    def heal(self, load: LoadSession) -> None:
        """Undo it, unless it is over already, and stamp what it achieved."""
        if self._is_over:
            return
        events = self._trial.events
        events.fault(self._fault.kind, "healing", target=self._target, number=self._number)
        end, self._end = self._end, None
        healed = end() if end else self._injection.heal(self._fault, self._trial, load)
        events.fault(
            self._fault.kind,
            "healed",
            target=self._target,
            detail=healed.achieved,
            achieved_ms=healed.achieved_ms,
            exercised=healed.exercised,
            at_ns=healed.healed_ns,
            number=self._number,
        )

    def end(self) -> None:
        """Switch off what is on still."""
        end, self._end = self._end, None
        if end is not None:
            end()


class TimedFaults:
    """The faults of a load: each comes at its time after the hold has begun, and again as often as was asked.

    Each has a thread of its own, so that none is late for another that lasts. One that cannot be made is noted, and the load
    goes on: what it was to show is then undecided, as it is of one whose time the hold does not reach. Their first times have
    the numbers of the trial's record, and repetitions the numbers after those.
    """

    def __init__(self, trial: TrialContext, load: LoadSession) -> None:
        self._trial = trial
        self._load = load
        self._over = threading.Event()
        self._later_numbers = itertools.count(len(trial.arm.timed) + 1)

    def during(self, hold: Callable[[], None]) -> None:
        """Let the hold pass with them; what is on at its end is healed."""
        faults = self._trial.arm.timed
        if not faults:
            return hold()
        begun = time.monotonic()
        with ThreadPoolExecutor(len(faults), thread_name_prefix="fault") as pool:
            made = [pool.submit(self._again_and_again, *one, begun) for one in enumerate(faults, 1)]
            try:
                hold()
            finally:
                self._over.set()
        for one in made:
            one.result()
        return None

    def _again_and_again(self, number: int, timed: TimedFault, begun: float) -> None:
        at_s, every_s = timed.at_s, self._trial.arm.every_s
        while not self._over.wait(max(0.0, begun + at_s - time.monotonic())):
            try:
                self._once(number, timed)
            except LabError as error:
                self._trial.note(f"{timed.text}: {error}")
            if not every_s:
                return
            at_s = max(at_s + every_s, time.monotonic() - begun)
            number = next(self._later_numbers)

    def _once(self, number: int, timed: TimedFault) -> None:
        trial = dataclasses.replace(self._trial, record=dataclasses.replace(self._trial.record, params=timed.params))
        load = self._load.of_fault(timed) if isinstance(self._load, TakesTimedFaults) else self._load
        fault = TrialFault(trial, timed.fault, injection_of(timed.fault, timed.injection), number)
        try:
            fault.inject(load)
            self._over.wait(timed.stays_s if timed.stays_s < threading.TIMEOUT_MAX else None)
            fault.heal(load)
        finally:
            fault.end()
