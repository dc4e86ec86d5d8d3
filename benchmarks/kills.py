"""Processes of a real load are killed with -9, drawn by a seed: within 30 s nothing of it may be left on the machine.

A third of the kills are of harness and healer together, the others of one process: harness, healer, understudy, a client, Locust or
the broker. They come while the cluster boots, under load, during each kind of fault, while the consumers drain, and while the
evidence is sealed. After the death of one that is not the harness its load ends first, which it must. What is looked for is in
``tests/lib/left_behind.py``. Whatever is left is ended then, so that the next kill finds a clean machine.

Each kill is one line of JSON in ``--out``, which is read first: what is in it is not done again, so that 300 of them can be done
in parts; of several processes at once each does its ``--share`` and appends to the same file. ``--all-guards`` adds kills of
harness, healer and understudy together. Faults that this host cannot make are left out.

    PYTHONPATH=. python benchmarks/kills.py [--kills 300] [--seed 1] [--minutes 60] [--out kills.jsonl]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.host.abilities import Abilities
from harness.leases import proc
from harness.leases.healing import clean
from tests.lib.left_behind import Seen

GONE_S_MAX = 30.0
ENDS_S_MAX = 150.0
"""Of a load that has lost a process; it has 12 s to send, and its consumers a minute to drain."""
READY_S_MAX = 120.0
LOAD = ("load", "--rate", "200", "--duration", "12", "--consumers", "1", "--record-only")
PROGRAM = "from mqlab.main import main; raise SystemExit(main())"
RELEASES = ("4.6.0", "4.9.7", "5.3.3", "5.5.0")

BOTH, ALL = "harness and healer", "harness, healer and understudy"
ALL_GUARDS_FIRST = 100_000
"""The number of the first of those."""

ONE = ("harness", "healer", "understudy", "client", "locust", "broker")


@dataclass(frozen=True, kw_only=True)
class Phase:
    """When to kill: ``after`` is drawn up to ``within_s`` after the moment."""

    name: str
    fault: str = ""
    begins: str = "hold"
    """The trial's phase; of a fault, when it was asked for."""
    within_s: float = 6.0
    needs_mount: bool = False
    needs_firewall: bool = False


PHASES = (
    Phase(name="boot", begins="", within_s=5.0),
    Phase(name="load"),
    Phase(name="pause", fault="pause-node:for=7s@2s"),
    Phase(name="freeze", fault="append-stall:7000ms,by=freeze@2s", needs_mount=True),
    Phase(name="throttle", fault="throttled-writes:for=7s@2s", needs_mount=True),
    Phase(name="cut", fault="network-cut:for=7s@2s", needs_firewall=True),
    Phase(name="disk-full", fault="disk-full:for=7s@2s", needs_mount=True),
    Phase(name="neighbour", fault="dirty-pages:for=7s,file_mb=64MiB@2s"),
    Phase(name="crash", fault="broker-crash:power=true@2s", needs_mount=True),
    Phase(name="restart", fault="kill-node:for=3s@2s"),
    Phase(name="drain", begins="drain", within_s=3.0),
    Phase(name="seal", begins="collect", within_s=0.5),
)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One kill."""

    number: int
    victim: str
    phase: Phase
    release: str
    after_share: float


def draws(kills: int, all_guards: int, seed: int, phases: Sequence[Phase]) -> Iterator[Draw]:
    """Every third of them of two processes; phases and victims as evenly as they can be. More kills begin with the same ones."""
    ones = itertools.cycle(ONE)
    victims = {number: BOTH if number % 3 == 2 else next(ones) for number in range(kills)}
    victims |= {ALL_GUARDS_FIRST + number: ALL for number in range(all_guards)}
    of_a_victim = {victim: _shuffled(phases, f"{seed} {victim}") for victim in (*ONE, BOTH, ALL)}
    for number, victim in victims.items():
        rng = random.Random(f"{seed} {number}")
        yield Draw(
            number=number,
            victim=victim,
            phase=next(of_a_victim[victim]),
            release=rng.choice(RELEASES),
            after_share=rng.random(),
        )


def _shuffled(phases: Sequence[Phase], seed: str) -> Iterator[Phase]:
    """All of them, again and again, each time in another order."""
    rng = random.Random(seed)
    while True:
        yield from rng.sample(phases, len(phases))


@dataclass
class Lab:
    """One load of the lab, in folders of its own."""

    folder: Path
    draw: Draw
    seen: Seen = field(init=False)

    def __post_init__(self) -> None:
        for folder in (self.state, self.temporary):
            folder.mkdir(parents=True)
        self.seen = Seen(folders=(self.run, self.state), own_temporary=self.temporary)

    @property
    def run(self) -> Path:
        """Its run directory."""
        return self.folder / "run"

    @property
    def state(self) -> Path:
        """Its XDG_STATE_HOME."""
        return self.folder / "state"

    @property
    def temporary(self) -> Path:
        """Its TMPDIR, which Python heeds and Java does not."""
        return self.folder / "tmp"

    def start(self) -> subprocess.Popen[bytes]:
        """The command, in a session of its own."""
        fault = ("--fault", self.draw.phase.fault) if self.draw.phase.fault else ()
        words = (*LOAD, "--release", self.draw.release, *fault, "--out", str(self.run))
        with (self.folder / "said").open("wb") as said:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *words],
                env={**os.environ, "XDG_STATE_HOME": str(self.state), "TMPDIR": str(self.temporary)},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def has_come(self) -> bool:
        """Whether the moment is there that the draw counts from."""
        phase = self.draw.phase
        if not phase.begins:
            return bool(self.seen.named("process", "broker"))
        for record in self._events():
            if (
                phase.fault
                and record["type"] == "fault"
                and record["fault"] == phase.fault.partition(":")[0].partition("@")[0]
            ):
                return True
            if (
                not phase.fault
                and record["type"] == "phase"
                and (record["phase"], record["event"]) == (phase.begins, "begin")
            ):
                return True
        return False

    def _events(self) -> Iterator[dict[str, Any]]:
        for path in self.run.glob("trials/*/events.jsonl"):
            for line in path.read_text(errors="replace").splitlines():
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def pids(self, harness: int) -> Mapping[str, int]:
        """Who can be killed now."""
        found = {"harness": harness, **self._guards()}
        for name, start in (("broker", "broker"), ("locust", "locust"), ("client", "client ")):
            for data in self.seen.named("process", start).values():
                if data["pid"] and (one := proc.identify(data["pid"])) and one.is_alive():
                    found[name] = data["pid"]
        return found

    def _guards(self) -> dict[str, int]:
        found = {}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and str(self.state).encode() in (entry / "cmdline").read_bytes():
                    name = (entry / "comm").read_text().strip()
                    if name.startswith("mqlab-"):
                        found["understudy" if name.startswith("mqlab-under") else "healer"] = int(entry.name)
        return found


def killed(lab: Lab) -> dict[str, Any]:
    """Run the load, kill, and look at what is left."""
    draw = lab.draw
    with lab.seen.watching(lab.state):
        harness = lab.start()
        try:
            _wait(lab.has_come, harness, READY_S_MAX)
            time.sleep(draw.after_share * draw.phase.within_s)
            pids = lab.pids(harness.pid)
            wanted = {BOTH: ("harness", "healer"), ALL: ("harness", "healer", "understudy")}.get(
                draw.victim, (draw.victim,)
            )
            # Who is not there yet, or no more, cannot be killed: the harness is then.
            victims = [name for name in wanted if name in pids] if set(wanted) <= {*pids} else ["harness"]
            lab.seen.note_files()
            ran = harness.poll() is None
            for victim in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pids[victim], signal.SIGKILL)
            if "harness" not in victims:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    harness.wait(ENDS_S_MAX)
            hangs = "harness" not in victims and harness.poll() is None
        finally:
            harness.kill()
            harness.wait()
        seen_last_s, left = lab.seen.wait_until_nothing(GONE_S_MAX)
    if hangs:
        left["harness"] = [f"it has not ended {ENDS_S_MAX:.0f} s after the death of its {draw.victim}"]
    return {
        "number": draw.number,
        "phase": draw.phase.name,
        "victim": draw.victim,
        "killed": " + ".join(victims),
        "release": draw.release,
        "ran": ran,
        "gone_after_s": seen_last_s,
        "left": left,
    }


def _wait(has_come: Callable[[], bool], harness: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Until it has come, or the load has ended before."""
    deadline_s = time.monotonic() + timeout_s
    while not has_come() and harness.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)


def tidy(lab: Lab) -> None:
    """End what is left, so that the next kill finds a clean machine."""
    clean(lab.state / "rocketmq-incident-lab", include_kept=True)
    for what in lab.seen.left().get("processes", []):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(what.split()[0]), signal.SIGKILL)


def table(results: Sequence[Mapping[str, Any]]) -> str:
    """How many were clean, by whom was killed and when; then each that was not."""
    victims = [victim for victim in (*ONE, BOTH, ALL) if any(one["victim"] == victim for one in results)]
    lines = [f"{'':12}" + "".join(f"{victim[:22]:>24}" for victim in victims)]
    for phase in dict.fromkeys(one["phase"] for one in results):
        lines.append(f"{phase:12}" + "".join(f"{_clean(results, victim, phase):>24}" for victim in victims))
    lines.append(f"{'all':12}" + "".join(f"{_clean(results, victim):>24}" for victim in victims))
    for what in dict.fromkeys(itertools.chain.from_iterable(one["gone_after_s"] for one in results)):
        times_s = sorted(one["gone_after_s"][what] for one in results if what in one["gone_after_s"])
        middle_s = times_s[len(times_s) // 2]
        lines.append(
            f"{what}: seen after {len(times_s)} kills, for {middle_s:.1f} s (median), {times_s[-1]:.1f} s at most"
        )
    kinds = Counter(what for one in results for what in one["left"])
    lines.append("left: " + (", ".join(f"{what} {count}" for what, count in kinds.most_common()) or "nothing"))
    lines += [
        f"  kill {one['number']}, {one['phase']}, {one['killed']}, {one['release']}: {json.dumps(one['left'])}"
        for one in results
        if one["left"]
    ]
    return "\n".join(lines)


def _clean(results: Sequence[Mapping[str, Any]], victim: str, phase: str = "") -> str:
    some = [one for one in results if one["victim"] == victim and phase in ("", one["phase"])]
    return f"{sum(not one['left'] for one in some)} of {len(some)}" if some else "-"


def main() -> int:
    """A line for each kill, then the table; exit code 1 where anything was left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument(
        "--all-guards", type=int, default=0, metavar="N", help="further kills, of the understudy as well"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no kill after so many")
    parser.add_argument("--out", type=Path, help="one line of JSON a kill; those that are in it are not done again")
    parser.add_argument(
        "--share", default="1/1", metavar="I/N", help="do every Nth of the kills, beginning with the Ith"
    )
    options = parser.parse_args()
    share, shares = map(int, options.share.split("/"))
    host = Abilities.of_this_host()
    phases = [
        phase
        for phase in PHASES
        if not (phase.needs_mount and host.why_no_loop_mount()) and not (phase.needs_firewall and not host.firewall)
    ]
    out: Path | None = options.out
    done = [json.loads(line) for line in out.read_text().splitlines()] if out and out.exists() else []
    numbers = {one["number"] for one in done}
    ends_s = time.monotonic() + options.minutes * 60
    for draw in draws(options.kills, options.all_guards, options.seed, phases):
        if draw.number in numbers or draw.number % shares != share % shares:
            continue
        if time.monotonic() >= ends_s:
            break
        folder = Path(tempfile.mkdtemp(prefix="kills-"))
        lab = Lab(folder, draw)
        try:
            done.append(killed(lab))
        finally:
            tidy(lab)
        if out:
            with out.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
        last_s = max(done[-1]["gone_after_s"].values(), default=0.0)
        said = f"left {json.dumps(done[-1]['left'])}" if done[-1]["left"] else f"clean after {last_s} s"
        print(f"kill {draw.number}: {done[-1]['killed']} in {draw.phase.name}, {draw.release}: {said}", flush=True)
        if not done[-1]["left"]:
            shutil.rmtree(folder, ignore_errors=True)
    print(table(done))
    return int(any(one["left"] for one in done))


if __name__ == "__main__":
    sys.exit(main())
