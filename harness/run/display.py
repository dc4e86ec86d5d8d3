"""What a person sees while a run goes on: a live table on a terminal, plain lines elsewhere."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness.plan.schedule import Plan
from harness.printable import printable_lines
from harness.run.pace import Pace, duration, why_slow

__all__ = ["Display", "clock", "duration"]

ROWS_MAX = 24
REFRESH_PER_S = 4
LATE_LOOK_S = 5.0

INCIDENT_WIDTH, ARM_WIDTH = 24, 25
"""What is longer ends in an ellipsis: with the other columns the table fits 80."""

LINES_S_MIN = 20.0
"""Without a terminal every phase of a trial that takes so long has a line; of a shorter one, the fault has."""


def clock(seconds: float) -> str:
    """``3:20`` of 200; nothing of a day or more, which is no end that anybody waits for."""
    minutes, rest = divmod(round(min(seconds, DAY_S)), 60)
    return f"{minutes}:{rest:02d}" if seconds < DAY_S else ""


DAY_S = 86_400.0


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A deployment or a trial, as the plan knows it."""

    incident: str
    release: str
    what: str
    seconds: float
    is_trial: bool


class Display:
    """Told by several threads what happens. With a terminal it redraws a table, else it prints a line an event.

    Where it ``tells_late`` it says now and then that the run takes longer than its plan said, and why.
    """

    def __init__(self, console: Console, plan: Plan, *, tells_late: bool = False) -> None:
        self._console = console
        self._plan = plan
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._rows = dict(_rows(plan))
        self._phases: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._rates: dict[str, float] = {}
        self._outcomes: Counter[str] = Counter()
        self._total = sum(1 for _ in plan.trials())
        self._pace = Pace(plan.seconds, {trial.id: trial.cost.seconds for _, trial in plan.trials()})
        self._tells_late = tells_late
        self._is_over = threading.Event()
        self._live = Live(get_renderable=self.shown, console=console, refresh_per_second=REFRESH_PER_S, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        if self._tells_late:
            threading.Thread(target=self._look_at_pace, name="pace", daemon=True).start()
        return self

    def _look_at_pace(self) -> None:
        while not self._is_over.wait(LATE_LOOK_S):
            with self._lock:
                words = self._pace.words(time.monotonic() - self._started, why_slow())
            if words:
                self.say(words)

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._console.is_terminal:
            self._live.stop()

    def phase(self, name: str, phase: str) -> None:
        """A trial or deployment has entered a phase. A name that the plan does not have is its one that it begins with."""
        with self._lock:
            self._phases[name] = phase
            self._since.setdefault(name, time.monotonic())
        if not self._console.is_terminal and self._is_told(name, phase):
            self._line(f"{name}: {phase}")

    def rate(self, trial: str, per_s: float) -> None:
        """Messages a second of a trial."""
        with self._lock:
            self._rates[trial] = per_s

    def ended(self, trial: str, status: str, note: str) -> None:
        """A trial has ended, or a deployment is down."""
        with self._lock:
            for known in (self._phases, self._since, self._rates):
                known.pop(trial, None)
            if status != "down":
                self._outcomes[status] += 1
                self._pace.ended(trial)
        if status not in ("down", "complete"):
            self.say(f"{trial}: {status}: {note}")
        elif status == "complete" and not self._console.is_terminal:
            self._line(f"{trial}: complete")

    def repeats(self, trial: str, why: str) -> None:
        """A trial that has ended is run once more, so there is one more to do."""
        with self._lock:
            self._total += 1
        self.say(f"{trial}: repeated for {why}")

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._console.is_terminal:
            self._console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)
        else:
            self._line(text)

    def shown(self) -> Group:
        """How far the run is, and below it what is at work: a row a deployment or trial."""
        with self._lock:
            phases, since, rates = dict(self._phases), dict(self._since), dict(self._rates)
            outcomes = dict(self._outcomes)
        now = time.monotonic()
        left_s = max(0.0, self._plan.seconds - (now - self._started))
        done = ", ".join(f"{count} {status}" for status, count in sorted(outcomes.items())) or "none yet"
        table = Table(box=None, pad_edge=False, collapse_padding=True)
        for name, width in (("incident", INCIDENT_WIDTH), ("release", None), ("arm", ARM_WIDTH), ("phase", None)):
            table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=width)
        for name in ("sends/s", "left"):
            table.add_column(name, no_wrap=True, justify="right")
        for name, phase in sorted(phases.items())[:ROWS_MAX]:
            row = self._row(name)
            left = clock(max(0.0, row.seconds - (now - since[name]))) if row.is_trial or phase == "boot" else ""
            rate = f"{rates[name]:.0f}" if rates.get(name) else ""
            table.add_row(*map(Text, (row.incident, row.release, row.what, phase, rate, left)))
        return Group(Text(f"{self._total} trials: {done}; about {duration(left_s)} left", style="italic"), table)

    def _row(self, name: str) -> _Row:
        """What the plan says of it. A repetition and a deployment that boots again have names that begin with the planned."""
        known = max((one for one in self._rows if name.startswith(one)), key=len, default="")
        row = self._rows.get(known)
        return row or _Row(incident=name, release="", what="", seconds=0.0, is_trial=False)

    def _is_told(self, name: str, phase: str) -> bool:
        row = self._row(name)
        return not row.is_trial or phase == "inject" or row.seconds >= LINES_S_MIN

    def _line(self, text: str) -> None:
        done = sum(self._outcomes.values())
        # Of one trial alone there is nothing to count, and its line has room for more.
        count = f", {done}/{self._total}" if self._total > 1 else ""
        stamp = f"[{time.monotonic() - self._started:6.1f} s{count}]"
        self._console.print(f"{stamp} {printable_lines(text)}", markup=False, highlight=False, soft_wrap=True)


def _rows(plan: Plan) -> Iterator[tuple[str, _Row]]:
    for one in plan.deployments():
        incident, release = one.scenario.name, one.release
        yield one.id, _Row(incident=incident, release=release, what="(cluster)", seconds=one.boot_s, is_trial=False)
    for one, trial in plan.trials():
        # The values alone: with their names they would be cut off where they differ.
        what = " ".join([trial.arm.name, ", ".join(map(str, trial.params.values()))]).strip()
        yield (
            trial.id,
            _Row(incident=one.scenario.name, release=one.release, what=what, seconds=trial.cost.seconds, is_trial=True),
        )
