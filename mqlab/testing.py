"""For tests of your own: put a load and faults on a cluster, and say what has to be true of what became of it.

from mqlab.testing import assert_confirmed, load

def test_nothing_acknowledged_is_lost_when_a_consumer_is_killed(tmp_path):
    run = load(tmp_path / "run", release="5.5.0", rate=300, duration=20, consumers=2, fault="kill-consumer@5s")
    assert_confirmed(run, "nothing-lost")
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.report.document import load_report_data
from analysis.report.story import told
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE, ClientError, UsageError
from harness.generator.load_run import LOAD
from harness.model.verdicts import VerdictKind
from harness.paths import search_path

Value = str | int | float | bool | Path | Sequence[str]

OF_EVERY_LOAD = ("history-whole", "faults-took-effect")
"""Without these a load shows nothing, whatever else is confirmed of it."""

__all__ = ["assert_confirmed", "load"]


def load(out: Path, **options: Value) -> Path:
    """Run one load into the folder ``out``, and judge it; returns ``out``.

    The options are those of ``mqlab load`` (``mqlab load --help``), with ``_`` for each ``-``: ``release="5.5.0"`` starts a
    cluster, ``namesrv="10.1.0.5:9876"`` with ``allow_target="10.1.0.0/16"`` goes to one of yours. True is for an option without
    a value; of several values each is an option of its own. The load runs in a process of its own, and the lab heals what is
    left when that dies.

    Raises:
        UsageError: the options are wrong or contradict each other; nothing was started.
        ClientError: the load failed. What was recorded is kept in ``out``.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mqlab", "load", *_words(options), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": search_path()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (EXIT_OK, EXIT_MISMATCH, EXIT_UNDECIDED):
        error = UsageError if done.returncode == EXIT_USAGE else ClientError
        raise error(done.stderr.strip() or f"mqlab load ended with exit code {done.returncode}")
    return out


def _words(options: dict[str, Value]) -> Iterator[str]:
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            yield from (option,) if value else ()
        elif isinstance(value, str | int | float | Path):
            yield f"{option}={value}"
        else:
            yield from (f"{option}={one}" for one in value)


def assert_confirmed(run: Path, *claims: str, release: str = "") -> None:
    """Assert that an analysed run confirms each of these claims, in every release that it has, or in ``release``.

    Of a load the claims are its properties (``nothing-lost``, ``nothing-twice``, ``in-order``, ...); that its faults took effect
    and its history is whole is always asked, too. What is undecided is not confirmed.

    Raises:
        AssertionError: one is not confirmed; the message has what was measured, and the evidence.
        UsageError: the run has no such claim, or none was named.
        RunDirectoryError: the folder is no analysed run.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    data = load_report_data(run)
    found = [one for one in data.findings if release in ("", one.release)]
    known = {one.claim for one in found}
    for claim in claims or ("",):
        if claim not in known:
            raise UsageError.unknown(f"claim of {run}", claim, known)
    of_load = {one.claim for one in found if one.incident == LOAD and one.claim in OF_EVERY_LOAD}
    wrong = [
        one
        for one in found
        if one.claim in {*claims, *of_load} and one.verdict is not VerdictKind.CONFIRMED
    ]  # fmt: skip
    if wrong:
        stories = (
            f"{one.claim} on {one.release}: " + "\n".join(told(one, data.claims.get(one.claim), run)) for one in wrong
        )
        raise AssertionError("\n\n".join(stories))
