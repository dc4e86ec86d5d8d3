"""What the committed ledger says, for the commands that answer by it."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import scenarios
from analysis.ledger.lines import LEDGER, LedgerLine, load_lines
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import FREEZE


def committed_ledger() -> list[LedgerLine]:
    """Every line. Raises LedgerError."""
    path = Path(scenarios.__file__).with_name(LEDGER)
    return [*_read(path, path.stat().st_mtime_ns if path.exists() else 0)]


@lru_cache(maxsize=1)
def _read(path: Path, _changed_ns: int) -> Sequence[LedgerLine]:
    """Once for all that a process asks, until another ledger is written: 5 MB take a third of a second."""
    return load_lines(path)


def measured_on_defaults() -> list[LedgerLine]:
    """The lines of local processes, stalled in the JVM where they are stalled, that have a verdict or at least a figure."""
    return [
        line
        for line in committed_ledger()
        if line.backend == "local"
        and line.injection != FREEZE
        and (line.verdict is not VerdictKind.UNDECIDED or any(part.estimate is not None for part in line.parts))
    ]


def decided_on_defaults() -> list[LedgerLine]:
    """Those of them that are confirmed or refuted."""
    return [line for line in measured_on_defaults() if line.verdict is not VerdictKind.UNDECIDED]
