"""Ctrl-C and SIGTERM at any moment of a command: one sentence, and the exit code 130."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from harness.errors import EXIT_INTERRUPTED, EXIT_OK
from harness.paths import PACKAGES
from harness.signals import EarlyEnd, cancelling, ending_early, interruptible
from harness.wait import wait_until


def _sent(number: signal.Signals) -> None:
    """To this process, and taken by it."""
    os.kill(os.getpid(), number)
    time.sleep(0.01)


def _heeds_signals(pid: int) -> bool:
    """Whether a process has a handler of its own for SIGTERM, which Python by itself has not."""
    caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    assert caught is not None
    return bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("after_s", [0.0, 0.2, 0.5])
def test_an_interrupt_while_a_command_is_imported_or_at_work_is_one_sentence(
    number: signal.Signals, after_s: float
) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "mqlab", "explain", "--record", "BUSY", "POOL", "ORDER"],
        cwd=PACKAGES, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until("its handler", lambda: _heeds_signals(command.pid), timeout_s=60, poll_s=0.001)
        time.sleep(after_s)
        command.send_signal(number)
        _, err = command.communicate(timeout=60)
    finally:
        command.kill()
    ended = (command.returncode, err)
    # A fast machine is done before.
    assert ended in {(EXIT_INTERRUPTED, "mqlab: interrupted\n"), (EXIT_OK, "")}


@pytest.mark.parametrize("module", ["contextlib", "locale", "typing"])
def test_an_interrupt_before_there_is_a_handler_is_one_sentence(module: str) -> None:
    at_its_import = (
        "import runpy, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        f"sys.modules.pop({module!r}, None)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['mqlab', 'list']\n"
        "runpy.run_module('mqlab', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", at_its_import], cwd=PACKAGES, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (EXIT_INTERRUPTED, "", "mqlab: interrupted\n")


def test_an_interrupt_that_python_forgets_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Held:
        pass

    forgotten: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: forgotten.append(told.exc_type))

    def interrupted() -> None:
        held = Held()
        reference = weakref.ref(held, lambda _: _sent(signal.SIGINT))
        del held
        assert reference() is None

    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted()
    assert forgotten == [KeyboardInterrupt]


def test_a_shell_that_lets_ctrl_c_be_ignored_is_heeded() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            _sent(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_run_is_cancelled_by_the_first_and_ended_by_the_second() -> None:
    cancel, said = threading.Event(), []
    with cancelling(cancel, lambda: said.append("stopping")):
        _sent(signal.SIGINT)
        assert cancel.is_set()
        with pytest.raises(KeyboardInterrupt):
            _sent(signal.SIGTERM)
    assert said == ["stopping"]


def test_what_can_be_brought_to_its_end_is_by_the_first_cancelled_by_the_second_and_ended_by_the_third() -> None:
    early, cancel, said = EarlyEnd(), threading.Event(), list[str]()
    early.is_possible.set()
    with ending_early(early, cancel, said.append):
        _sent(signal.SIGINT)
        assert (early.is_asked.is_set(), cancel.is_set()) == (True, False)
        _sent(signal.SIGINT)
        assert cancel.is_set()
        with pytest.raises(KeyboardInterrupt):
            _sent(signal.SIGINT)
    assert [one.partition(":")[0] for one in said] == ["stopping", "stopping"]


def test_what_has_not_begun_is_cancelled_at_once() -> None:
    early, cancel = EarlyEnd(), threading.Event()
    with ending_early(early, cancel, lambda text: None), contextlib.suppress(KeyboardInterrupt):
        _sent(signal.SIGTERM)
    assert (early.is_asked.is_set(), cancel.is_set()) == (False, True)
