"""A fault's states, which are stamped here and nowhere else."""

from collections.abc import Callable
from typing import Any

from harness.clock import mono_ns
from harness.model.faults import Fault, NoFault
from harness.trial import Healed, Injection, LoadSession, TrialContext


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
    def kind(self) -> str:
        """The fault's."""
        return self._fault.kind

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
        self._is_over = True
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
