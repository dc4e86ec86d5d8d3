"""A client in a process of its own, driven by one JSON command a line: the Java client and Python's own alike.

Everything that is timed happens in that process; this side only says what to do. Standard library only, so that a
load's workers can use it inside of Locust's patched processes.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from harness.errors import ClientError
from harness.leases.client_process import Child
from harness.limits import met_limit
from harness.rundir.files import TEMPORARY
from harness.rundir.lines import cut_padding

START_S_MAX = 120.0
COMMAND_S_MAX = 90.0
END_S_MAX = 10.0
PIPE_BYTES = 1 << 16

_GONE = (OSError, ValueError)
"""What a pipe raises whose other end is gone, or that was closed here meanwhile, of which Python makes a ValueError."""


@dataclass(frozen=True, kw_only=True)
class SendSettings:
    """What a load sends and how; operation i has the same key and size in every repetition of the same seed.

    ``body_bytes`` are the sizes that come, ``body_shares`` how often each does. The sequence number of operation i is
    ``first`` + i * ``step``, so that several processes share one sequence.
    """

    topic: str
    mode: str = "async"
    """``sync``, ``async``, ``oneway``, ``batch`` or ``transaction``."""
    route: str = "normal"
    """``normal``, ``selector`` (a queue by the key), ``again`` (the same, and what fails once more to another queue; in mode
    ``sync``), ``hash`` (a queue by the client library's own hash of the key) or ``fixed`` (a queue that the key was mapped to
    beforehand)."""
    run: str = "-"
    """In every body, so that a consumer can tell this run's messages from others."""
    threads: int = 1
    keys: int = 64
    """0 sends without keys."""
    key_prefix: str = "k"
    tagged: bool = False
    """Java's client: a message's key is its tag, too."""
    delayed: bool = False
    """Java's client: the index of a message's key is its delay level, too."""
    key_distribution: str = "cycle"
    """``cycle`` (one after another), ``uniform``, ``zipf`` or ``hot``."""
    key_skew: float = 0.0
    """The exponent of ``zipf``; the share of the one hot key of ``hot``."""
    body_bytes: tuple[int, ...] = (128,)
    body_shares: tuple[float, ...] = (1.0,)
    batch: int = 1
    timeout_ms: int = 3000
    seed: int = 1
    first: int = 0
    step: int = 1

    def to_worker(self) -> dict[str, object]:
        """The settings as a client process reads them."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class ScheduleState:
    """Sends that were due, issued and ended so far; ``sending`` until the schedule is through or stopped."""

    due: int
    issued: int
    ended: int
    sending: bool

    @classmethod
    def of(cls, answer: object) -> Self:
        """Read a client's answer."""
        assert isinstance(answer, dict)
        return cls(**answer)

    @property
    def is_through(self) -> bool:
        """Whether nothing more will be issued and everything issued has ended."""
        return not self.sending and self.issued == self.ended


def temporary_below(folder: Path) -> Path:
    """A new folder for what a process would leave in everybody's: native libraries that its jars bring with them."""
    parent = folder / TEMPORARY
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=parent))


def remove_temporary(folder: Path) -> None:
    """All of those of a process that has ended."""
    shutil.rmtree(folder / TEMPORARY, ignore_errors=True)


class CommandedClient:
    """The driving end of a client process, whichever client that has; ``logs`` is where its standard error goes, ``temporary``
    a folder that goes with it.

    Raises ClientError when the process ended, did not answer in time, or the client library refused.
    """

    def __init__(self, process: Child, name: str, logs: Path, temporary: Path | None = None) -> None:
        self._process = process
        self._temporary = temporary
        self._logs = logs
        self._turn = threading.Lock()
        self._commands = 0
        self._unread = b""
        self._history: Path | None = None
        self.name = name

    def wait_started(self) -> None:
        """Wait until it takes commands. Several clients start in parallel if all are started before the first wait."""
        self._read(START_S_MAX, "start")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def call(self, command: str, **arguments: object) -> object:
        """One command by name, and its result. Commands of several threads wait for each other."""
        with self._turn:
            self._commands += 1
            self.write({"do": command, "with": arguments, "number": self._commands})
            return self._read(COMMAND_S_MAX, command).get("result")

    def open_history(self, path: Path) -> None:
        """Records go to ``path`` from now on."""
        self._history = path
        self.call("open_history", path=str(path))

    def close_history(self) -> None:
        """Close the history. The kernel has every record then."""
        if failure := self.call("close_history"):
            raise ClientError(
                f"client {self.name} could not record everything: {failure}",
                advice="Free disk space and run again; what was recorded before is kept.",
            )
        self._history = None

    def close_open_history(self) -> None:
        """Close a history that a failed trial left open: nothing may be written to it once the trial's files are sealed.

        Raises ClientError; the process has to be ended then.
        """
        if self._history is not None and self.is_running():
            self.close_history()
        self.cut_open_history()

    def cut_open_history(self) -> None:
        """Once the process is gone: truncate a history that it did not close after its last whole record."""
        if self._history is not None:
            cut_padding(self._history)
            self._history = None

    def end(self) -> None:
        """Let it exit by itself if it still listens, and close its pipes."""
        if self.is_running():
            with contextlib.suppress(ClientError, subprocess.TimeoutExpired):
                self.write({"do": "exit"})
                self._process.wait(END_S_MAX)
        for pipe in (self._process.stdin, self._process.stdout):
            # Closing flushes what a dead process never read, which is of no interest any more.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self.remove_temporary()

    def remove_temporary(self) -> None:
        """What its libraries have unpacked there and left."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            with contextlib.suppress(OSError):  # Another client of this name has one beside it.
                self._temporary.parent.rmdir()

    def write(self, message: Mapping[str, object]) -> None:
        """Write one line to the process. The first line says what it is."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except _GONE as error:
            raise self._is_gone(error) from error

    def _is_gone(self, error: Exception) -> ClientError:
        return ClientError(f"client {self.name} is gone ({error}){self._last_words()}")

    def _read(self, timeout_s: float, doing: str) -> dict[str, object]:
        deadline_s = time.monotonic() + timeout_s
        while True:
            answer: dict[str, object] = json.loads(self._line(deadline_s, doing))
            # An earlier command was given up; its answer, which came after that, is nobody's.
            if answer.get("number") != self._commands:
                continue
            if not answer.get("ok"):
                why = f"{answer.get('error')}: {answer.get('message')}"
                raise ClientError(f"client {self.name} could not {doing}: {why}")
            return answer

    def _line(self, deadline_s: float, doing: str) -> bytes:
        # Read without a buffer of Python's, which would hide a second line from select.
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            try:
                pipe = self._process.stdout.fileno()
                readable, _, _ = select.select([pipe], [], [], max(0.0, deadline_s - time.monotonic()))
                received = os.read(pipe, PIPE_BYTES) if readable else b""
            except _GONE as error:
                raise self._is_gone(error) from error
            if not readable:
                raise ClientError(f"client {self.name} did not {doing} in time{self._last_words()}")
            if not received:
                raise ClientError(f"client {self.name} ended while it should {doing}{self._last_words()}")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        try:
            lines = (self._logs / "stderr.log").read_text(errors="replace").splitlines()[-8:]
        except OSError:
            return ""
        if not lines:
            return ""
        why = met_limit("\n".join(lines))
        return "; it wrote last:\n  " + "\n  ".join(lines) + (f"\n{why}" if why else "")
