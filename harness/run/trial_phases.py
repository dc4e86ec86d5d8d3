"""The phases of one trial, in their order."""

import threading
from collections.abc import Callable
from typing import Any, get_args

from harness.clock import mono_ns
from harness.errors import Interrupted
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.run.costs import TrialCosts
from harness.run.display import Display
from harness.run.script import Script
from harness.run.trial_fault import TrialFault
from harness.rundir.events import Phase
from harness.trial import Injection, LoadSession, TrialContext

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
        enter("hold", lambda: Script(trial, session).during(session.hold))
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
