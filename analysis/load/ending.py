"""How far a load came: what rests on its end is decided by a load alone that reached it."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass

from analysis.evidence.events import TrialEvents
from harness.errors import RunDirectoryError
from harness.rundir.integrity import UNVOUCHED
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory

LOCK = ".lock"
"""harness/rundir/writing.py: the process that writes a run holds it."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How far a load came, by its own records.

    It ``is_under_way`` while a process of this machine writes its run. ``phase`` is the last one that it began, empty where it
    began none; ``status`` and ``error`` are its trial's. ``why`` is why nothing that rests on the end can be decided, and ``words``
    the whole of it as a sentence; both are empty where nothing is to be said.
    """

    is_reached: bool
    is_under_way: bool
    phase: str
    status: str
    error: str
    why: str
    words: str


def ending_of(run: RunDirectory, trial: TrialRecord, events: TrialEvents) -> Ending:
    """Its own evidence tells it: the trial's status, or that everything was collected before its processes were to end.

    Damaged evidence tells nothing of it, and what is damaged is said before.
    """
    if run.damage_of(trial.trial):
        why = "the load's evidence is damaged"
        return Ending(
            is_reached=False, is_under_way=False, phase="", status=trial.status, error=trial.error, why=why, words=""
        )
    begun = [str(one["phase"]) for one in events.of_type("phase", event="begin")]
    # Whatever becomes of a trial, its processes are ended.
    phases = [phase for phase in begun if phase != "down"]
    phase = phases[-1] if phases else ""
    where = f"in its phase {phase}" if phase else "before its first phase"
    told = f": {trial.error}" if trial.error else ""
    why = words = ""
    is_reached = trial.status == "complete" or _was_collected(events)
    is_under_way = not is_reached and _is_being_written(run)
    if is_reached:
        if trial.status != "complete":
            words = f"the load reached its end, and all of it was collected; its trial is {trial.status}{told}"
    elif is_under_way:
        why = "the load has not ended"
        words = f"{why}: it is {where}"
    else:
        why = "the load did not reach its end"
        as_left = "" if trial.status in _ENDED else f", and its trial is {trial.status} still, as a kill leaves it"
        words = f"{why}: it was {_ENDED.get(trial.status, 'cut off')} {where}{as_left}{told}"
    return Ending(
        is_reached=is_reached,
        is_under_way=is_under_way,
        phase=phase,
        status=trial.status,
        error=trial.error,
        why=why,
        words=words,
    )


_ENDED = {"failed": "ended by a failure", "interrupted": "interrupted"}


def _was_collected(events: TrialEvents) -> bool:
    """When all else has gone well a trial copies the noise probe's windows, and only then ends its processes
    (harness/run/trial_phases.py)."""
    ended = max(events.phase("collect", "end", "n"), default=None)
    return ended is not None and any(one["n"] > ended for one in events.of_type("hiccup"))


def _is_being_written(run: RunDirectory) -> bool:
    """Whether a process of this machine writes the run still."""
    try:
        handle = os.open(run.path / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def trial_of_load(run: RunDirectory) -> TrialRecord:
    """The one that it has. Raises RunDirectoryError where there is none or are several, and says what to do."""
    if not run.trials:
        reasons = [*(damage.words for damage in run.damage), *(words for words in run.problems if words != UNVOUCHED)]
        why = f": {reasons[0]}" if reasons else ""
        raise RunDirectoryError(
            f"{run.path} holds no trial of a load, and nothing can be said of it{why}",
            advice="It ended before its cluster was up, or its trials/ is damaged: run the load again.",
        )
    if len(run.trials) > 1:
        names = ", ".join(one.trial[:40] for one in run.trials[:3])
        raise RunDirectoryError(
            f"{run.path} holds {len(run.trials)} trials ({names}), and a load has one",
            advice="Move the folders below trials/ that are not the load's own out of it.",
        )
    (trial,) = run.trials
    # Of a name that no folder can have pathlib raises.
    is_there = "/" not in trial.trial and os.path.isdir(run.path / "trials" / trial.trial)  # noqa: PTH112
    if not is_there and run.damage:
        raise RunDirectoryError(
            f"{run.path} is damaged: {run.damage[0].words}", advice="Bring the run again from where it was made."
        )
    if not is_there:
        raise RunDirectoryError(
            f"{run.path} has a trial.json of {trial.trial[:40]!r} in a folder of another name",
            advice="Give the folder the name back that it had.",
        )
    return trial
