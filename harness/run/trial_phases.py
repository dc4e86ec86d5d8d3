"""The phases of one trial, in their order, and its fault's states, which are stamped here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from harness.clock import mono_ns
from harness.errors import Interrupted
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.run.context import Observer
from harness.run.costs import TrialCosts
from harness.rundir.events import Phase
from harness.trial import Held, Injection, LoadSession, TrialContext

PHASES: tuple[Phase, ...] = get_args(Phase)
"""In their order."""

METERED: tuple[Phase, ...] = ("inject", "collect")
"""Before these it is read what the processes have used."""


def run_phases(
    trial: TrialContext,
    injection: Injection[Any],
    open_load: Callable[[], LoadSession],
    *,
    observer: Observer,
    probe: NoiseProbe,
    costs: TrialCosts,
) -> float:
    """Run them all, and end what is on however the trial ends; returns the worst hiccup in milliseconds."""
    events = trial.events
    fault = TrialFault(trial, injection)
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
        session = load = open_load()
        enter("up", session.up)
        enter("steady", session.steady)
        from_ns = mono_ns() - 1_000_000_000
        enter("inject", lambda: fault.inject(session))
        enter("hold", session.hold)
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

    def __init__(self, trial: TrialContext, injection: Injection[Any]) -> None:
        self._trial = trial
        self._injection = injection
        self._kind = injection.fault.kind
        self._target = ""
        self._held: Held | None = None
        self._is_over = False

    def inject(self, load: LoadSession) -> None:
        """Make it happen, and stamp when; one that has ended by itself is stamped to its end."""
        asked_ns = mono_ns()
        self._trial.events.fault(self._kind, "asked", at_ns=asked_ns)
        done = self._injection.inject(self._trial, load)
        self._held, self._target, self._is_over = done.held, done.target, done.healed_ns is not None
        stamps = {
            "injecting": asked_ns if done.injecting_ns is None else done.injecting_ns,
            "injected": mono_ns() if done.injected_ns is None else done.injected_ns,
            "healing": done.healing_ns,
            "healed": done.healed_ns,
        }
        for state, at_ns in stamps.items():
            if at_ns is not None:
                self._trial.events.fault(
                    self._kind,
                    state,  # type: ignore[arg-type]
                    target=done.target,
                    asked_ms=done.asked_ms,
                    achieved_ms=done.achieved_ms,
                    detail=done.detail,
                    exercised=None if state == "injecting" else done.exercised,
                    at_ns=at_ns,
                )

    def heal(self, load: LoadSession) -> None:
        """Undo it, unless it is over already, and stamp what it achieved."""
        if self._is_over:
            return
        events = self._trial.events
        events.fault(self._kind, "healing", target=self._target)
        held = self._take()
        healed = held.end() if held else self._injection.heal(self._trial, load)
        events.fault(
            self._kind,
            "healed",
            target=self._target,
            detail=healed.achieved,
            achieved_ms=healed.achieved_ms,
            exercised=healed.exercised,
        )

    def end(self) -> None:
        """Switch off what is on still."""
        if (held := self._take()) is not None:
            held.end()

    def _take(self) -> Held | None:
        held, self._held = self._held, None
        return held
