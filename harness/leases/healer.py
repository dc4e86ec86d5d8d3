"""The healer: a detached process that outlives the harness and ends what it left.

Its standard input is the read end of a pipe whose write end only the harness holds: when the harness ends, however it
ends, the pipe closes. Then everything of that owner that is not kept is healed at once. While the owner lives, single
leases are healed when their time is over. It leaves when nothing is left to guard.

It has an understudy (harness/leases/understudy.py), which goes on with the same two pipes where it was killed, and which it
replaces when that is. Its standard output is a pipe to the harness: who guards now, one line each time that changes, and its end
when nobody does any more.

It runs in a session of its own, so that a terminal's Ctrl-C does not reach it, and imports the standard library only.
"""

import contextlib
import json
import os
import select
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import LeaseError
from harness.leases.healing import heal
from harness.leases.store import Healed, LeaseRecord, LeaseStore, Owner
from harness.leases.understudy import Understudy, be_prompt

LOOK_PERIOD_S = 1.0
"""The owner's process and the end times are looked at this often, and whenever the harness rings the bell."""

FAILED_ROUNDS_MAX = 60
"""What cannot be healed (a process in an uninterruptible wait) is tried again this often, once a second; then it is
left to ``mqlab runs clean``."""

LOG_BYTES_MAX = 1_000_000


class Healer:
    """Guards the leases of one owner. ``bell`` and ``standing`` are its ends of the two pipes."""

    def __init__(self, store: LeaseStore, owner: Owner, *, bell: int, standing: int) -> None:
        self._store = store
        self._owner = owner
        self._bell = bell
        self._standing = standing
        self._understudy: Understudy | None = None
        self._owner_is_gone = False
        self._rounds_failed = 0

    def stand_guard(self) -> None:
        """Have an understudy, and say so to the harness. Raises OSError where there is none to be had.

        The understudy returns from this when its healer has ended, as the healer that it is then, with an understudy of its own.
        """
        while self._understudy is None or self._understudy.has_ended():
            if self._understudy is not None:
                self._understudy.forget()
                self._understudy = None
            self._understudy = Understudy.start()
            if self._understudy is None:
                be_prompt("mqlab-healer")
                self._rounds_failed = 0
                self._log("takes the place of a healer that was killed")
            # A healer that takes another's place says so before it has an understudy of its own: it stands.
            self._say_who_stands()

    def run(self) -> None:
        """Guard until nothing is left."""
        try:
            self._guard()
        finally:
            if self._understudy is not None:
                self._understudy.end()

    def _guard(self) -> None:
        pause_s = 0.0
        while True:
            self._listen(pause_s)
            try:
                self.stand_guard()
            except OSError as error:
                # No memory, or too many processes: it is tried again at the next look, and the healing does not wait for it.
                self._log(f"it has no understudy: {error}")
            mine = [record for record in self._store.read_all()[0] if record.owner == self._owner]
            due = [record for record in mine if record.is_over() or (self._owner_is_gone and not record.kept)]
            healed = heal(self._store, due) if due else []
            for result in healed:
                self._log(str(result))
            left = len(mine) - sum(result.complete for result in healed)
            if self._owner_is_gone and left == 0:
                return
            if not self._may_go_on(healed):
                return
            pause_s = self._pause_s(mine)

    def _listen(self, pause_s: float) -> None:
        """Wait for the bell, for the end of the owner, the understudy or the pause."""
        watched = [] if self._owner_is_gone else [self._bell]
        if self._understudy is not None:
            watched.append(self._understudy.handle)
        readable, _, _ = select.select(watched, [], [], pause_s)
        if self._owner_is_gone:
            return
        pipe_closed = self._bell in readable and os.read(self._bell, 4096) == b""
        # The second condition is for a child that was forked without our knowing and holds the pipe open.
        if pipe_closed or not self._owner.is_alive():
            self._owner_is_gone = True
            self._log("the owner is gone")

    def _may_go_on(self, healed: list[Healed]) -> bool:
        if all(result.complete for result in healed):
            self._rounds_failed = 0
            return True
        self._rounds_failed += 1
        if self._rounds_failed < FAILED_ROUNDS_MAX:
            return True
        self._log("giving up; `mqlab runs clean` tries again")
        return False

    def _pause_s(self, records: list[LeaseRecord]) -> float:
        if self._rounds_failed:
            return LOOK_PERIOD_S
        now_ns = time.monotonic_ns()
        next_end_s = min((record.until_mono_ns - now_ns for record in records), default=2**62) / 1e9
        return max(0.001, min(LOOK_PERIOD_S, next_end_s))

    def _say_who_stands(self) -> None:
        understudy = self._understudy.pid if self._understudy else 0
        # The harness may be gone.
        with contextlib.suppress(OSError):
            os.write(self._standing, f"{os.getpid()} {understudy}\n".encode())

    def _log(self, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = f"{now} healer {os.getpid()} of owner {self._owner.pid}: {text}\n"
        log = self._store.log_path
        try:
            if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
                log.replace(log.with_suffix(".log.1"))
            handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)
        except OSError:
            # A full disk must not keep it from healing.
            return


def _detach() -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    # The harness may have been started with blocked signals or open files that are not close-on-exec.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.closerange(3, 65536)
    os.chdir("/")
    be_prompt("mqlab-healer")


def main(argv: list[str]) -> None:
    """``argv`` is the state folder and the owner as JSON."""
    _detach()
    state_dir, owner_json = argv
    try:
        healer = Healer(LeaseStore(Path(state_dir)), Owner(**json.loads(owner_json)), bell=0, standing=1)
        healer.stand_guard()
    except (LeaseError, OSError) as error:
        raise SystemExit(str(error)) from error
    healer.run()
