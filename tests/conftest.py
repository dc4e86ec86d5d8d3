"""For all tests: a state folder of their own, no process left behind, and which of them may run side by side."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from harness.leases import proc
from harness.leases.healing import clean
from harness.leases.store import leases_in
from tests.lib.garbage import nothing_becomes_garbage
from tests.lib.groups import group_of


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
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # As a shell's background job has it, and whatever it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _forbidden_to_skip.update(filter(None, config.getoption("--forbid-skip").split(",")))
    if hasattr(config, "workerinput"):
        # The folder that all workers of a session share.
        config.pluginmanager.register(_Turns(Path(config.option.basetemp).parent))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and _forbidden_to_skip & set(report.keywords):
        _skipped_though_forbidden.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skipped_though_forbidden and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid in _skipped_though_forbidden:
        terminalreporter.write_line(f"FORBIDDEN SKIP {nodeid}", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays to the end: looking through it for garbage took two fifths of the collection."""
    with nothing_becomes_garbage():
        return (yield)


# --- side by side -----------------------------------------------------------------------------------------------------
# With ``-n 4`` the tests of a group run one after the other in one worker, which holds what they share.

_FIRST = (
    "tests/root/", "tests/docker/", "tests/cluster/test_load.py", "tests/spark/by_hand/", "tests/spark/test_sealed_runs.py",
    "tests/cluster/test_killed_harness.py",
    "tests/spark/", "tests/cluster/", "tests/browser/", "tests/logs/",
)  # fmt: skip
"""Groups that take longest begin first, so that no worker is left with one of them at the end: loads wait while Spark computes."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> tuple[bool, int]:
        place = next((number for number, start in enumerate(_FIRST) if item.nodeid.startswith(start)), len(_FIRST))
        return item.get_closest_marker("alone") is None, place

    if hasattr(config, "workerinput"):
        items.sort(key=rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


Turn = Generator[None, object, object]


class _Turns:
    """Lets a test that is marked ``alone`` run while no other worker runs any.

    Who wants to be alone closes the gate first, so that no further test begins, and waits for those under way to end.
    Tests that are alone and follow each other keep it closed.
    """

    def __init__(self, folder: Path) -> None:
        self._gate, self._room = (folder.joinpath(name).open("w") for name in ("gate.lock", "room.lock"))
        self._is_alone = False

    @pytest.hookimpl(tryfirst=True, wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Turn:
        alone = item.get_closest_marker("alone") is not None
        if not self._is_alone:
            _lock(self._gate, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            _lock(self._room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            if not alone:
                _lock(self._gate, fcntl.LOCK_UN)
        try:
            return (yield)
        finally:
            self._is_alone = alone and nextitem is not None and nextitem.get_closest_marker("alone") is not None
            if not self._is_alone:
                _lock(self._room, fcntl.LOCK_UN)
                _lock(self._gate, fcntl.LOCK_UN)


def _lock(file: IO[str], how: int) -> None:
    fcntl.flock(file, how)
