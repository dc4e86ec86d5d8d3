"""``pytest --mqlab RUN_DIR``: each claim of an analysed run is a test, whose failure shows what was measured.

pytest loads this in every session of an environment that has the lab. So nothing else is imported before the option is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from analysis.verdicts.document import ClaimText
    from harness.model.findings import Finding

DOCUMENTS = pytest.StashKey[tuple[Path, ...]]()
"""What the analyses of the runs have left."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--mqlab``."""
    parser.getgroup("mqlab", "RocketMQ incident lab").addoption(
        "--mqlab",
        action="append",
        default=[],
        metavar="RUN_DIR",
        help="each claim of this analysed run is a test: it fails if the verdict is not the expected one, an undecided one is an "
        "error; without paths nothing else is collected; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let the runs be collected, with the paths that were named. Raises UsageError: one has not been analysed."""
    if not (runs := config.getoption("mqlab")):
        return
    from analysis.verdicts.document import DATA_PATH

    documents = tuple(Path(run).resolve() / DATA_PATH for run in runs)
    for run, document in zip(runs, documents, strict=True):
        if not document.is_file():
            raise pytest.UsageError(f"--mqlab {run}: no analysed run is there; judge it first with mqlab analyze {run}")
    named = config.args if config.args_source is config.ArgsSource.ARGS else []
    config.args = list(dict.fromkeys([*named, *map(str, documents)]))
    config.stash[DOCUMENTS] = documents


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RunFile | None:
    """The claims of a run that was asked for."""
    documents = parent.config.stash.get(DOCUMENTS, ())
    return RunFile.from_parent(parent, path=file_path) if file_path in documents else None


class RunFile(pytest.File):
    """What an analysis has left of a run."""

    def collect(self) -> Iterator[IncidentClaims]:
        """One collector for each incident. Raises CollectError: it cannot be read, or has no findings."""
        from analysis.verdicts.document import load_report_data
        from harness.errors import LabError

        try:
            self.data = load_report_data(self.path.parents[1])
        except LabError as error:
            raise self.CollectError(f"{error}\n{error.advice}".strip()) from error
        if not self.data.findings:
            raise self.CollectError(f"{self.path} has no findings")
        for incident in dict.fromkeys(finding.incident for finding in self.data.findings):
            yield IncidentClaims.from_parent(self, name=incident)


class IncidentClaims(pytest.Collector):
    """An incident's claims in each release."""

    parent: RunFile

    def collect(self) -> Iterator[ClaimItem]:
        """One test for each finding, such as ``BUSY-09[5.5.0]``."""
        from analysis.report.injections import told_apart
        from analysis.verdicts.words import in_order

        data = self.parent.data
        apart = self.name in told_apart(data.findings)
        for finding in in_order(one for one in data.findings if one.incident == self.name):
            of = f"{finding.release}-{finding.injection}" if apart else finding.release
            name = f"{finding.claim}[{of}]"
            yield ClaimItem.from_parent(self, name=name, finding=finding, text=data.claims.get(finding.claim))


class ClaimItem(pytest.Item):
    """One claim in one release."""

    def __init__(self, *, finding: Finding, text: ClaimText | None, **of_node: Any) -> None:
        super().__init__(**of_node)
        self.finding, self.text = finding, text
        self.user_properties.append(("verdict", str(finding.verdict)))

    def setup(self) -> None:
        """An undecided claim is an error, as in junit.xml: nothing was shown."""
        from harness.model.verdicts import VerdictKind

        if self.finding.verdict is VerdictKind.UNDECIDED:
            self._tell()

    def runtest(self) -> None:
        """A verdict other than the expected one is a failure. Of one that passes ``-rP`` shows what was measured."""
        from analysis.verdicts.words import is_mismatch

        if is_mismatch(self.finding):
            self._tell()
        self.add_report_section("call", "measured", self.finding.summary)

    def _tell(self) -> None:
        """Fail with the claim's story and its evidence."""
        from analysis.report.story import told

        pytest.fail("\n".join(told(self.finding, self.text, self.path.parents[1])), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands, in words."""
        return self.path, None, f"{self.parent.name if self.parent else ''} {self.name}"
