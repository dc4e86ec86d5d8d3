"""Fixtures for all tests: a state folder of their own, and no process left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.leases import proc
from harness.leases.healing import clean
from harness.leases.store import leases_in


@pytest.fixture(scope="session", autouse=True)
def _no_lease_of_the_caller() -> Iterator[None]:
    """When the tests themselves run under a lease, the processes that they start must not look like its descendants."""
    token = os.environ.pop(proc.TOKEN_VARIABLE, None)
    yield
    if token is not None:
        os.environ[proc.TOKEN_VARIABLE] = token


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[Path]:
    """A state folder for leases. What is left in it at the end is healed, and fails the test."""
    path = tmp_path / "state"
    yield path
    if path.exists():
        left = [record for record in leases_in(path) if not record.owner.is_alive()]
        healed = clean(path, include_kept=True)
        assert not left, f"the test left leases of dead owners behind: {[str(result) for result in healed]}"


_skipped_though_forbidden: list[str] = []
_forbidden_to_skip: set[str] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forbid-skip",
        default="",
        metavar="MARKERS",
        help="fail when a test with one of these comma-separated markers was skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    _forbidden_to_skip.update(filter(None, config.getoption("--forbid-skip").split(",")))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and _forbidden_to_skip & set(report.keywords):
        _skipped_though_forbidden.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skipped_though_forbidden and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid in _skipped_though_forbidden:
        terminalreporter.write_line(f"FORBIDDEN SKIP {nodeid}", red=True)
