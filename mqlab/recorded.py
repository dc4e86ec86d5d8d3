"""What the committed ledger says, for the commands that answer by it."""

from pathlib import Path

import scenarios
from analysis.ledger.lines import LedgerLine, load_lines
from analysis.ledger.write import LEDGER
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import FREEZE


def committed_ledger() -> list[LedgerLine]:
    """Every line. Raises LedgerError."""
    return load_lines(Path(scenarios.__file__).with_name(LEDGER))


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
