"""The script of a trial: what its arm has happen in the hold."""

import contextlib
import itertools
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from harness.errors import ClientError, Interrupted, LabError
from harness.model.steps import OWN_MODULE, Step
from harness.model.timed_faults import TimedFault
from harness.run.steps import Steps
from harness.rundir.events import StepState
from harness.trial import LoadSession, TrialContext

POLL_S = 0.1
WHY_CHARACTERS_MAX = 500


class Script:
    """The steps of an arm: one after another, but for faults that have a time of their own after the hold has begun.

    Each of those has a thread of its own, so that none is late for another that lasts, and comes again as often as was asked. One
    that cannot be made is noted, and the load goes on: what it was to show is then undecided, as it is of one whose time the hold
    does not reach. Their first times have the numbers of the trial's record, and repetitions the numbers after those. A step that
    cannot be taken ends the trial, since what comes after it would be another experiment.
    """

    def __init__(self, trial: TrialContext, load: LoadSession) -> None:
        self._trial = trial
        self._over = threading.Event()
        self._steps = Steps(trial, load, self._over)
        self._later_numbers = itertools.count(len(trial.arm.steps) + 1)

    def during(self, hold: Callable[[], None]) -> None:
        """Let the hold pass with them, and until all are done; what is on at its end is healed, and what was changed set back."""
        steps = [*enumerate(self._trial.arm.steps, 1)]
        if not steps:
            return hold()
        timed = [(number, step) for number, step in steps if isinstance(step, TimedFault)]
        in_turn = [(number, step) for number, step in steps if not isinstance(step, TimedFault)]
        begun = time.monotonic()
        made: list[Future[None]] = []
        try:
            with contextlib.ExitStack() as undo, ThreadPoolExecutor(len(timed) + 1, thread_name_prefix="step") as pool:
                made.append(pool.submit(self._one_after_another, in_turn, undo))
                made.extend(pool.submit(self._again_and_again, *one, begun) for one in timed)
                try:
                    hold()
                    self._wait_for(made[0])
                finally:
                    self._over.set()
        except LabError as error:
            if self._trial.cancel.is_set():
                raise Interrupted("stopped by the user") from error
            # What a step failed with is the reason, whatever could not be set back after it.
            _require_done(made)
            raise
        _require_done(made)
        return None

    def _wait_for(self, turns: Future[None]) -> None:
        while not wait([turns], timeout=POLL_S).done:
            if self._trial.cancel.is_set():
                raise Interrupted("stopped by the user")

    def _one_after_another(self, steps: Sequence[tuple[int, Step]], undo: contextlib.ExitStack) -> None:
        if steps:
            self._steps.here.begin()
        for number, step in steps:
            if self._over.is_set():
                return
            self._stamp(number, step, "begun")
            begun = time.monotonic()
            try:
                self._steps.take(step, number, undo)
                if step.took:
                    self._steps.here.record(step.took, time.monotonic() - begun)
            # A function of the user's may raise whatever it likes.
            except Exception as error:
                why = _why(error)[:WHY_CHARACTERS_MAX]
                self._stamp(number, step, "failed", why)
                raise ClientError(f"step {number} ({step.words}): {why}") from error
            self._stamp(number, step, "done")

    def _stamp(self, number: int, step: Step, state: StepState, detail: str = "") -> None:
        self._trial.events.record("step", number=number, taken=step.words, state=state, detail=detail)

    def _again_and_again(self, number: int, timed: TimedFault, begun: float) -> None:
        at_s, every_s = timed.at_s, self._trial.arm.every_s
        while not self._over.wait(max(0.0, begun + at_s - time.monotonic())):
            try:
                with contextlib.ExitStack() as undo:
                    self._steps.inject(timed, number, undo)
            except LabError as error:
                self._trial.note(f"{timed.words}: {error}")
            if not every_s:
                return
            at_s = max(at_s + every_s, time.monotonic() - begun)
            number = next(self._later_numbers)


def _why(error: Exception) -> str:
    """What a step failed with, and the line of the incident's own file that it comes from."""
    said = str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
    last = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__", "")).startswith(OWN_MODULE):
            last = f"{Path(frame.f_code.co_filename).name}:{line}: "
    return last + said


def _require_done(made: Iterable[Future[None]]) -> None:
    """Raises what one of them has failed with."""
    for future in made:
        future.result()
