"""The healer: a detached process that outlives the harness and ends what it left.

Its standard input is the read end of a pipe whose write end only the harness holds: when the harness ends, however it
ends, the pipe closes. Then everything of that owner that is not kept is healed at once. While the owner lives, single
leases are healed when their time is over. It leaves when nothing is left to guard.

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

LOOK_PERIOD_S = 1.0
"""The owner's process and the end times are looked at this often, and whenever the harness rings the bell."""

FAILED_ROUNDS_MAX = 60
"""What cannot be healed (a process in an uninterruptible wait) is tried again this often, once a second; then it is
left to ``mqlab clean``."""

LOG_BYTES_MAX = 1_000_000


class Healer:
    """Guards the leases of one owner."""

    def __init__(self, store: LeaseStore, owner: Owner, bell: int) -> None:
        self._store = store
        self._owner = owner
        self._bell = bell
        self._owner_is_gone = False
        self._rounds_failed = 0

    def run(self) -> None:
        """Guard until nothing is left."""
        pause_s = 0.0
        while True:
            self._listen(pause_s)
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
        """Wait for the bell, the owner's end or the pause's."""
        if self._owner_is_gone:
            time.sleep(pause_s)
            return
        readable, _, _ = select.select([self._bell], [], [], pause_s)
        pipe_closed = bool(readable) and os.read(self._bell, 4096) == b""
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
        self._log("giving up; `mqlab clean` tries again")
        return False

    def _pause_s(self, records: list[LeaseRecord]) -> float:
        if self._rounds_failed:
            return LOOK_PERIOD_S
        now_ns = time.monotonic_ns()
        next_end_s = min((record.until_mono_ns - now_ns for record in records), default=2**62) / 1e9
        return max(0.001, min(LOOK_PERIOD_S, next_end_s))

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
    # It sleeps nearly always. Where it may, it does not queue behind what it has to end; what it starts is as others are.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def main(argv: list[str]) -> None:
    """``argv`` is the state folder and the owner as JSON. Says "ready" on standard output once it stands guard."""
    _detach()
    state_dir, owner_json = argv
    try:
        healer = Healer(LeaseStore(Path(state_dir)), Owner(**json.loads(owner_json)), bell=0)
    except LeaseError as error:
        raise SystemExit(str(error)) from error
    os.write(1, b"ready\n")
    os.close(1)
    os.open(os.devnull, os.O_WRONLY)  # Takes the place of 1, so that no later file does.
    healer.run()
