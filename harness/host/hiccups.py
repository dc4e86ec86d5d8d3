"""The hiccup probe: how badly the machine itself stalls beside the trials.

A small process sleeps 2 ms again and again and records, for each window of 100 ms, by how much the worst of its sleeps
was too long (the idea of Azul's jHiccup). What delays it delays brokers and clients as well, and is not their doing.
Run it as ``python -m harness.host.hiccups FILE``; it ends when its standard input closes.

FILE gets ``hiccup`` and ``anchor`` records; see harness/rundir/events.py. Only the sleep is timed, not the writing: a write
may wait for the disk, which is part of what the trials are about.
"""

from __future__ import annotations

import gc
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.clock import ANCHOR_PERIOD_S
from harness.errors import DiskFullError, LabError
from harness.leases.with_parent import end_with_parent
from harness.paths import isolated
from harness.rundir.events import EVENTS, EventLog
from harness.rundir.lines import Record, parse_records
from harness.rundir.records import problem_of

if TYPE_CHECKING:
    from harness.leases.leases import Leases
    from harness.leases.process import LeasedProcess

SLEEP_NS = 2_000_000
WINDOW_NS = 100_000_000
_PROCESS = "noise"
_TAIL_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Hiccup:
    """The worst oversleep, in milliseconds, among the ``samples`` sleeps between ``from_ns`` and ``at_ns``."""

    from_ns: int
    at_ns: int
    late_ms_max: float
    samples: int


def measure_window(
    *, clock_ns: Callable[[], int] = time.monotonic_ns, sleep_s: Callable[[float], None] = time.sleep
) -> Hiccup:
    """Sleep for one window and say how late the worst sleep was."""
    from_ns = now_ns = clock_ns()
    late_ns_max = 0
    samples = 0
    while now_ns - from_ns < WINDOW_NS:
        before_ns = clock_ns()
        sleep_s(SLEEP_NS / 1e9)
        now_ns = clock_ns()
        late_ns_max = max(late_ns_max, now_ns - before_ns - SLEEP_NS)
        samples += 1
    return Hiccup(from_ns=from_ns, at_ns=now_ns, late_ms_max=round(late_ns_max / 1e6, 3), samples=samples)


def run_probe(out: Path, is_over: Callable[[], bool]) -> None:
    """Append windows and anchors to ``out`` until it is over. Raises DiskFullError."""
    anchored_s = float("-inf")
    with EventLog(out) as log:
        while not is_over():
            if time.monotonic() - anchored_s >= ANCHOR_PERIOD_S:
                log.anchor(process=_PROCESS)
                anchored_s = time.monotonic()
            log.record("hiccup", **vars(measure_window()))
        log.anchor(process=_PROCESS)


def _stdin_has_closed() -> bool:
    readable, _, _ = select.select([0], [], [], 0)
    return bool(readable) and os.read(0, 4096) == b""


def main(argv: Sequence[str] | None = None) -> None:
    """The probe by itself: its one argument is the file of JSON lines to append to."""
    end_with_parent()
    (file,) = sys.argv[1:] if argv is None else argv
    out = Path(file)
    # The collector would be measured as a hiccup of the machine; nothing here makes cycles.
    gc.disable()
    try:
        run_probe(out, _stdin_has_closed)
    except LabError as error:
        raise SystemExit(f"{error}\n{error.advice}") from error


class NoiseProbe:
    """The probe of a run, as a leased process that appends to one file."""

    def __init__(self, process: LeasedProcess, path: Path) -> None:
        self.process = process
        self.path = path

    @classmethod
    def start(cls, leases: Leases, path: Path, *, until_s: float) -> NoiseProbe:
        """Start it. ``path`` is the run's hiccups.jsonl. Raises LeaseError."""
        # Isolated and without site-packages, so that it starts in the same way in any folder and stays small.
        argv = [*isolated("harness.host.hiccups"), str(path.absolute())]
        process = leases.spawn(
            argv,
            name="noise-probe",
            until_s=until_s,
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        return cls(process, path)

    def hiccups(self, from_ns: int, to_ns: int, *, timeout_s: float = 30.0) -> list[Hiccup]:
        """The windows that overlap the time, once the probe has written past ``to_ns``.

        Raises WaitTimeout when it does not, DiskFullError or LabError when the probe has ended. Nothing is said to be
        quiet that was not measured.
        """
        # Imported here, because the probe's own process has no site-packages and so no tenacity.
        from harness.wait import NotYet, wait_until

        def written_past() -> list[Hiccup] | None:
            found = hiccups_since(self.path, from_ns)
            # The end may lie between two windows, where the probe writes, so that none that overlaps reaches it.
            if found and found[-1].at_ns >= to_ns:
                return [hiccup for hiccup in found if hiccup.from_ns <= to_ns]
            self._require_running()
            raise NotYet(f"windows written up to {found[-1].at_ns if found else 'nowhere'}, wanted {to_ns}")

        return wait_until("the hiccup probe", written_past, timeout_s=timeout_s)

    def copy_into(self, events: EventLog, from_ns: int, to_ns: int) -> list[Hiccup]:
        """Copy the windows that overlap the time into a trial's events, and return them. Raises as ``hiccups``."""
        found = self.hiccups(from_ns, to_ns)
        for hiccup in found:
            events.record("hiccup", **vars(hiccup))
        return found

    def stop(self) -> None:
        """Let it write its last window and end."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.release()

    def _require_running(self) -> None:
        code = self.process.poll()
        if code is None:
            return
        said = self.process.stderr.read().decode(errors="replace").strip() if self.process.stderr else ""
        if "no room left" in said:
            raise DiskFullError(said.splitlines()[0], advice=said.partition("\n")[2])
        raise LabError(f"the hiccup probe ended with code {code}: {said[-500:] or 'it said nothing'}")


def hiccups_since(path: Path, from_ns: int) -> list[Hiccup]:
    """The windows of a hiccups.jsonl that end at that time or later, in order; a truncated last line is left out.

    The file is read from its end, since a trial asks for the last minutes of a file that may hold hours. Windows from
    before a restart of the machine, whose clock began anew, are left out. No file: no windows.
    """
    hiccups: list[Hiccup] = []
    for hiccup in _hiccups(_tail(path, from_ns)):
        if hiccups and hiccup.at_ns < hiccups[-1].at_ns:
            hiccups.clear()
        hiccups.append(hiccup)
    return [hiccup for hiccup in hiccups if hiccup.at_ns >= from_ns]


def worst_ms(hiccups: Sequence[Hiccup]) -> float | None:
    """The largest oversleep in milliseconds; None when nothing was measured, which is not the same as quiet."""
    return max((hiccup.late_ms_max for hiccup in hiccups), default=None)


def _tail(path: Path, from_ns: int) -> tuple[Record, ...]:
    """Whole records from the file's end back to a window that ended before ``from_ns``, or to the file's start."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return ()
    with path.open("rb") as file:
        length = _TAIL_BYTES
        while True:
            start = max(0, size - length)
            file.seek(start)
            data = file.read(size - start)
            if start > 0:
                data = data[data.find(b"\n") + 1 :]
            records = parse_records(data).records
            first = next(_hiccups(records), None)
            if start == 0 or (first is not None and first.at_ns < from_ns):
                return records
            length *= 4


def _hiccups(records: Iterable[Record]) -> Iterator[Hiccup]:
    for record in records:
        values = {name: value for name, value in record.items() if name not in ("type", "n")}
        if record.get("type") == "hiccup" and not problem_of(EVENTS, "hiccup", values):
            yield Hiccup(**values)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
