"""What a person sees while a run goes on: a live table on a terminal, plain lines elsewhere."""

import threading
import time
from collections import Counter
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from harness.plan.schedule import Plan

ROWS_MAX = 24
REFRESH_PER_S = 4


def duration(seconds: float) -> str:
    """``3 min 20 s`` of 200."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class Display:
    """Told by several threads what happens. With a terminal it redraws a table, else it prints a line an event."""

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._plan = plan
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._phases: dict[str, tuple[str, float]] = {}
        self._rates: dict[str, float] = {}
        self._outcomes: Counter[str] = Counter()
        self._total = sum(1 for _ in plan.trials())
        self._live = Live(get_renderable=self._table, console=console, refresh_per_second=REFRESH_PER_S, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def phase(self, trial: str, phase: str) -> None:
        """A trial or deployment has entered a phase."""
        with self._lock:
            self._phases[trial] = (phase, time.monotonic())
        if not self._console.is_terminal and phase in ("boot", "ready", "inject"):
            self._line(f"{trial}: {phase}")

    def rate(self, trial: str, per_s: float) -> None:
        """Messages a second of a trial."""
        with self._lock:
            self._rates[trial] = per_s

    def ended(self, trial: str, status: str, note: str) -> None:
        """A trial has ended, or a deployment is down."""
        with self._lock:
            self._phases.pop(trial, None)
            self._rates.pop(trial, None)
            if status != "down":
                self._outcomes[status] += 1
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
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._line(text)

    def _line(self, text: str) -> None:
        done = sum(self._outcomes.values())
        # Of one trial alone there is nothing to count, and its line has room for more.
        count = f", {done}/{self._total}" if self._total > 1 else ""
        stamp = f"[{time.monotonic() - self._started:6.1f} s{count}]"
        self._console.print(f"{stamp} {text}", markup=False, highlight=False, soft_wrap=True)

    def _table(self) -> Table:
        with self._lock:
            phases, rates, outcomes = dict(self._phases), dict(self._rates), dict(self._outcomes)
        now = time.monotonic()
        left_s = max(0.0, self._plan.seconds - (now - self._started))
        done = ", ".join(f"{count} {status}" for status, count in sorted(outcomes.items())) or "none yet"
        table = Table(title=f"{self._total} trials: {done}; about {duration(left_s)} left", title_justify="left")
        table.add_column("deployment or trial")
        table.add_column("phase")
        table.add_column("for", justify="right")
        table.add_column("sends/s", justify="right")
        for name, (phase, since) in sorted(phases.items())[:ROWS_MAX]:
            rate = rates.get(name)
            table.add_row(name, phase, f"{now - since:.0f} s", f"{rate:.0f}" if rate else "")
        return table
