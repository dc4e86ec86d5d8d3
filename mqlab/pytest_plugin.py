"""``pytest --mqlab=RUN_DIR``: each claim of an analysed run is a test, whose failure shows what was measured.

pytest loads this in every session of an environment that has the lab. So nothing else is imported before the option is given.

A run may be somebody else's. pytest imports a ``conftest.py`` of each folder that it collects, and an ``__init__.py``; so the run's
folder is not collected: its claims are handed to the session beside what is. And of ``--mqlab RUN_DIR`` in two words it takes the
second one for a path before it has loaded any plugin, and reads a ``pytest.ini`` there, which may name what to import. So that is
refused, by which nobody gets used to it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from analysis.report.document import ClaimText
    from harness.model.findings import Finding

OPTION = "--mqlab"
DOCUMENTS = pytest.StashKey[tuple[Path, ...]]()
"""What the analyses of the runs have left."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--mqlab``."""
    parser.getgroup("mqlab", "RocketMQ incident lab").addoption(
        OPTION,
        action="append",
        default=[],
        metavar="RUN_DIR",
        help="each claim of this analysed run is a test: it fails if the verdict is not the expected one, an undecided one is an "
        "error; without paths nothing else is collected; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read which runs are asked for. Raises UsageError: one has not been analysed, or stands behind a space."""
    if not (runs := config.getoption("mqlab")):
        return
    from analysis.ledger.runs import FINDINGS
    from analysis.report.document import PAGE_DATA
    from harness.rundir.own_files import own_file

    if OPTION in (*config.invocation_params.args, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))):
        raise pytest.UsageError(
            f"write {OPTION}={runs[0]}, with an equals sign: behind a space pytest takes the folder for one of its own, and reads "
            "settings there that somebody else may have written"
        )
    for run in runs:
        if any(own_file(Path(run), *file.parts) is None for file in (FINDINGS, PAGE_DATA)):
            raise pytest.UsageError(
                f"{OPTION}={run}: no analysed run is there; judge it first with mqlab runs analyze {run}"
            )
    if config.args_source is not config.ArgsSource.ARGS:
        config.args = []
    config.stash[DOCUMENTS] = tuple(dict.fromkeys(Path(run).resolve() / FINDINGS for run in runs))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the claims of the runs to what the session collects by paths."""
    report = yield
    if isinstance(collector, pytest.Session) and report.passed:
        documents = collector.config.stash.get(DOCUMENTS, ())
        report.result = [*(report.result or ()), *(RunFile.from_parent(collector, path=path) for path in documents)]
    return report


class RunFile(pytest.File):
    """What an analysis has left of a run."""

    def collect(self) -> Iterator[IncidentClaims]:
        """One collector for each incident. Raises CollectError: it cannot be read, or has no findings."""
        from analysis.report.document import load_report_data
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
