"""What docs/defects quotes of the ledger: of each claim about a defect the summary on the newest release.

``python -m tools.defect_figures`` writes them anew; so does ``python -m tools.ledger`` with the ledger.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from analysis.verdicts.numbers import number
from harness.errors import LedgerError
from harness.model.findings import Finding
from harness.paths import PACKAGES
from harness.releases.jars import recorded_releases
from harness.rundir.files import replace_file
from mqlab.ask.recorded import committed_ledger

FOLDER = PACKAGES / "docs" / "defects"
WIDTH = 132
ACTUAL = re.compile(
    r"^- \*\*Actual\*\* \((?P<claim>X-[a-z0-9-]+-\d\d)(?:, (?P<parts>[^:]+))?: \w+\):.*\n(?:  .*\n)*", re.MULTILINE
)
"""A quotation: its claim, and the parts whose values it tells. Further lines of it are indented."""


def document(text: str, ledger: Sequence[Finding]) -> str:
    """A text with its quotations as the ledger has them. Raises LedgerError where it lacks one."""
    newest = recorded_releases()[-1]
    lines = {line.claim: line for line in ledger if (line.release, line.backend) == (newest, "local")}
    return ACTUAL.sub(lambda found: _quoted(found["claim"], found["parts"] or "", lines), text)


def _quoted(claim: str, parts: str, lines: Mapping[str, Finding]) -> str:
    line = lines.get(claim)
    values = {} if line is None else {part.name: part.values for part in line.parts}
    named = parts.split(", ") if parts else []
    if line is None or not set(named) <= set(values):
        raise LedgerError(
            f"docs/defects quotes {', '.join([claim, *named])}, which the ledger has not",
            advice="Name a claim of the newest release, and parts of it.",
        )
    told = "; ".join(f"{name} {_between(values[name])}" for name in named if values[name])
    says = f"{line.summary} By deployment: {told}." if told else line.summary
    text = f"- **Actual** ({', '.join([claim, *named])}: {line.verdict}): {says}"
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


def _between(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def write() -> None:
    """Write them from the committed ledger. Raises LedgerError."""
    ledger = committed_ledger()
    for page in sorted(FOLDER.glob("*.md")):
        replace_file(page, document(page.read_text("utf-8"), ledger))


if __name__ == "__main__":
    write()
