"""A load of several machines as one run: the histories of those that joined are copied beside the master's own."""

from __future__ import annotations

import filecmp
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from harness.bounded import lines_of, opened
from harness.errors import RunDirectoryError, UsageError
from harness.rundir.reading import RunDirectory, read_run_directory, verified
from harness.rundir.writing import RunWriter

RUN_NAME, WORKERS = "run_name", "workers"
"""Parameters of a load whose workers run on several machines: what its parts share, and how many there are in all."""

SAME_CLOCK_US = 100_000
"""Processes on one machine differ by less in what they say of the wall clock and the monotonic one."""

_ANCHOR = re.compile(rb'"anchor".*"mono_ns":\s*(\d+),\s*"wall_us":\s*(\d+)[,}]')
_NANOSECONDS = re.compile(rb'("\w+_ns":\s*)(\d+)')


def join_histories(path: Path, others: Sequence[Path]) -> None:
    """Copy the histories of the other runs into the run at ``path``. One that is there already stays as it is.

    Times of another machine are moved to the clock of the run's own, by what both say of the wall clock.

    Raises:
        UsageError: they are not all parts of one load.
        RunDirectoryError: one is no run directory.
    """
    run = _whole(path)
    for other in map(_whole, others):
        _check(run, other)
        for file in other.history_files:
            moved_us = _wall_minus_mono_us([file]) - _wall_minus_mono_us(run.event_files())
            target = run.path / "trials" / run.trials[0].trial / "history" / file.name
            draft = target.with_suffix(".joining")
            _copy(file, draft, 0 if abs(moved_us) < SAME_CLOCK_US else moved_us * 1000)
            if target.exists() and not filecmp.cmp(draft, target, shallow=False):
                draft.unlink()
                raise UsageError(f"{run.path} has another {file.name} than {other.path}", advice="Name each part once.")
            draft.replace(target)
    _name(run)


def _whole(path: Path) -> RunDirectory:
    """The run, none of whose files is damaged. Raises RunDirectoryError."""
    run = verified(read_run_directory(path))
    # A history that a join has brought and not named yet, as it was killed, is foreign and spoils nothing.
    if spoiling := [damage.words for damage in run.damage if damage.trials]:
        raise RunDirectoryError(
            f"{path} is damaged: {spoiling[0]}", advice="Bring it again from the machine that it was made on."
        )
    return run


def _name(run: RunDirectory) -> None:
    """Have the trial's last record name the histories that have come."""
    if not run.is_sealed:
        return
    (trial,) = run.trials
    with RunWriter.open(run.path) as writer:
        writer.trial(trial.trial).seal(trial)
        writer.set_status(run.manifest.status)


def _check(run: RunDirectory, other: RunDirectory) -> None:
    for one in (run, other):
        if one.manifest.incidents != ("load",) or len(one.trials) != 1:
            raise UsageError(
                f"{one.path} is not the run of a load", advice="Only loads have parts on several machines."
            )
    own, its = ((it.trials[0].topic, it.trials[0].params.get(RUN_NAME)) for it in (run, other))
    if own != its or own[1] is None:
        raise UsageError(
            f"{other.path} is no part of the load of {run.path}",
            advice="Parts of one load have the same --topic and the same --run-name.",
        )


def _wall_minus_mono_us(files: Sequence[Path]) -> int:
    """By the anchors in the files."""
    found: list[int] = []
    for file in files:
        with opened(file) as lines:
            anchors = [anchor for anchor in map(_ANCHOR.search, lines_of(lines)) if anchor]
        found += [int(wall_us) - int(mono_ns) // 1000 for mono_ns, wall_us in (anchor.groups() for anchor in anchors)]
    if not found:
        names = ", ".join(map(str, files))
        raise UsageError(f"nothing ties the clock of {names} to the time of day", advice="Leave that part out.")
    return int(statistics.median(found))


def _copy(file: Path, target: Path, later_ns: int) -> None:
    """Every time that much later; a torn last line stays torn."""
    with opened(file) as lines, target.open("wb") as out:
        for line in lines_of(lines):
            out.write(_NANOSECONDS.sub(lambda found: found[1] + b"%d" % (int(found[2]) + later_ns), line))
