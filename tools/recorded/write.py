"""The committed files that are made from the record: ``ledger.jsonl`` and the README's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.ledger.lines import LEDGER, lines_text, load_lines
from harness.errors import LedgerError
from harness.model.scenario import Scenario
from harness.rundir.files import replace_file
from tools.recorded.articles import MARKERS, articles_wrong
from tools.recorded.readme import (
    IN_CHINESE,
    between_markers,
    families_table,
    rows_of_families,
    statuses_on_defaults,
)
from tools.recorded.recompute import ExperimentOf, recompute
from tools.recorded.record import Record

RECORD = "record"


def made_files(
    folder: Path, record: Record, scenarios: Sequence[Scenario], experiment_of: ExperimentOf
) -> dict[Path, str]:
    """The text of each file that the record and the rules make, for a folder of scenarios. Raises LedgerError."""
    lines = recompute(record, scenarios, experiment_of)
    made = {folder / LEDGER: lines_text(lines)}
    readme = folder.parent / "README.md"
    if readme.exists():
        with_table = between_markers(_text(readme), families_table(lines), str(readme))
        wrong = articles_wrong(lines, statuses_on_defaults(lines))
        made[readme] = between_markers(with_table, wrong, str(readme), MARKERS)
    chinese = folder.parent / "README.zh-CN.md"
    if chinese.exists():
        made[chinese] = between_markers(
            _text(chinese), rows_of_families(lines, ("论断", "内容"), IN_CHINESE), str(chinese)
        )
    return made


def write_ledger(folder: Path, record: Record, scenarios: Sequence[Scenario], experiment_of: ExperimentOf) -> list[str]:
    """Make them; returns what changed, in words."""
    before = {line.cell(): line for line in load_lines(folder / LEDGER)}
    changed = [
        path for path, text in made_files(folder, record, scenarios, experiment_of).items() if _write(path, text)
    ]
    after = load_lines(folder / LEDGER)
    verdicts = [
        f"{' '.join(line.cell())} is now {line.verdict}" + (f", was {old.verdict}" if old else "")
        for line in after
        if (old := before.get(line.cell())) is None or old.verdict is not line.verdict
    ]
    return [
        f"{len(after)} findings, {len(verdicts)} of them with another verdict",
        *_some(verdicts),
        *map(str, changed),
    ]


def _write(path: Path, text: str) -> bool:
    if path.exists() and _text(path) == text:
        return False
    replace_file(path, text)
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(f"{path} cannot be read: {error}") from error


def _some(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 40 else [*lines[:40], f"and {len(lines) - 40} more"]
