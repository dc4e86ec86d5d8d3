"""What a sweep comes to: which of its points to recommend, decided by the side rule, deployment by deployment.

The i-th deployments of all points are a round. In each round a point is worse than another one, is not, or the host's noise
is too long to tell. *Worse* means: by more than a margin of what the settings that are there now give in that round. A point is
recommended when it is not worse than any other one, and, where it is another one than is there now, better than that.

With n points there are n - 1 wrong ones that luck could recommend, so that each comparison takes n - 1 times the odds of a
single one: a wrong recommendation has at most 1 chance in 20, however often one looks. A point that is worse than another one is
out, and needs no more trials: what is as good as the best is better than it. So is a point that does harm: more of what must not
be at all (``HARM``) than there is now.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.verdicts.deployments import MARGIN
from analysis.verdicts.numbers import cell_label
from analysis.verdicts.sides import ODDS_NEEDED, deployments_needed, odds
from analysis.verdicts.tries import Tries
from harness.model.cells import ParameterValue
from harness.model.measures import MEASURES
from harness.model.sweep import Point, Sweep

ANY = "any"
"""Of a measure by keyword, the variant that counts all of them."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """What a point gave in a round, and the least that it would have been without the host's hiccups, which only lengthen.

    ``high`` is infinite where the value is a lower bound.
    """

    value: float
    low: float
    high: float


Rounds = Mapping[str, Mapping[str, Value]]
"""By arm, and then by round."""

Harms = Mapping[tuple[str, str], Rounds]
"""By measure and variant."""

HARM = frozenset(measure.name for measure in MEASURES.values() if measure.harm)
"""Of what nobody wants any, whatever it brings: a hand-over is short, too, where nobody holds the lock."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """In how many rounds one point is worse than another one, is not, and cannot be told."""

    worse: int
    not_worse: int
    line: int

    def is_worse(self, points: int) -> bool | None:
        """None while it is not decided."""
        needed = ODDS_NEEDED * max(1, points - 1)
        if odds(self.worse, self.not_worse + self.line) >= needed:
            return True
        return False if odds(self.not_worse, self.worse + self.line) >= needed else None

    def rounds_needed(self, points: int) -> int:
        """The least number of rounds in which it can be decided, if all that follow agree."""
        exceptions = self.line + min(self.worse, self.not_worse)
        return deployments_needed(exceptions, max(1, points - 1))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is to be said of one load. ``kind``: another value is better, what is there is as good, or it is not decided.

    ``arm`` is the recommended point's, empty where none is; ``now`` that of the settings that are there. ``still_in`` are those
    that nothing has been decided to be better than. ``rounds_needed`` is when a further look can decide more. ``harmful`` has the
    measures of harm of each point that is left out for them.
    """

    load: Mapping[str, str]
    kind: str
    arm: str
    now: str
    reason: str
    rounds: int
    still_in: tuple[str, ...]
    rounds_needed: int
    harmful: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


CHANGE, KEEP, UNDECIDED, NOTHING = "change", "keep", "undecided", "nothing to choose"


def variants_of(rows: Iterable[Tries]) -> dict[tuple[str, str], list[Tries]]:
    """The rows that count, by measure and, in words, its own parameters."""
    found: dict[tuple[str, str], list[Tries]] = {}
    for row in rows:
        if row.tries and row.counts:
            found.setdefault((row.measure, cell_label(row.params)), []).append(row)
    return found


def goal_rows(rows: Iterable[Tries], goal: str) -> list[Tries]:
    """Those of the goal: of a measure by keyword the ones of any keyword, of all others all."""
    of_goal = [row for row in rows if row.measure == goal]
    of_any = [row for row in of_goal if ANY in row.params.values()]
    return of_any or of_goal


def rounds_of(rows: Iterable[Tries]) -> Rounds:
    """One number for each arm and round (``deployment``): the median of the tries of a time, the mean of any other measure."""
    found: dict[str, dict[str, list[Value]]] = {}
    for row in rows:
        if row.tries and row.counts:
            found.setdefault(row.arm, {}).setdefault(row.deployment, []).append(_value(row))
    return {
        arm: {
            name: Value(
                value=statistics.fmean(one.value for one in values),
                low=statistics.fmean(one.low for one in values),
                high=statistics.fmean(one.high for one in values),
            )
            for name, values in rounds.items()
        }
        for arm, rounds in found.items()
    }


def _value(row: Tries) -> Value:
    measure = MEASURES[row.measure]
    is_time = measure.unit in ("s", "ms")
    value = (
        statistics.median(one.median for one in row.tries) if is_time else statistics.fmean(o.mean for o in row.tries)
    )
    moved = MARGIN * measure.moved_by(row.hiccup_ms, row.where)
    is_open = 2 * sum(bool(one.censored) for one in row.tries) >= len(row.tries)
    return Value(value=value, low=max(0.0, value - moved), high=math.inf if is_open else value)


def compared(one: str, other: str, now: str, found: Rounds, margin: float) -> Compared:
    """In each round that has both and the settings that are there now."""
    worse = not_worse = line = 0
    for name in _shared(found, one, other, now):
        a, b, bound = found[one][name], found[other][name], margin * found[now][name].value
        if a.low - b.high > bound:
            worse += 1
        elif a.high - b.low <= bound:
            not_worse += 1
        else:
            line += 1
    return Compared(worse=worse, not_worse=not_worse, line=line)


def _shared(found: Rounds, *arms: str) -> list[str]:
    return sorted(set.intersection(*(set(found.get(arm, {})) for arm in arms)))


def choices(sweep: Sweep, rows: Sequence[Tries]) -> list[Choice]:
    """What is decided of each load by the rows of one release; ``deployment`` of a row is its round."""
    found = rounds_of(goal_rows(rows, sweep.goal))
    harms = {key: rounds_of(of_one) for key, of_one in variants_of(rows).items() if key[0] in HARM - {sweep.goal}}
    return [_choice(points, found, harms, sweep) for points in sweep.by_load()]


def _harmful(points: Sequence[Point], now: str, harms: Harms) -> dict[str, tuple[str, ...]]:
    """By arm, of what it gives more than the settings that are there now."""
    more = {
        point.arm: sorted({key[0] for key, found in harms.items() if told_apart(point.arm, now, found, 0.0) > 0})
        for point in points
        if point.arm != now
    }
    return {arm: tuple(names) for arm, names in more.items() if names}


def _choice(points: Sequence[Point], found: Rounds, harms: Harms, sweep: Sweep) -> Choice:
    count = len(points)
    now = min(points, key=lambda one: one.steps).arm
    harmful = _harmful(points, now, harms)
    arms = [one.arm for one in sorted(points, key=lambda one: one.steps) if one.arm not in harmful]
    rounds = max((len(found.get(arm, {})) for arm in arms), default=0)
    pairs = {
        (one, other): compared(one, other, now, found, sweep.margin) for one in arms for other in arms if one != other
    }
    is_worse = {pair: one.is_worse(count) for pair, one in pairs.items()}
    still_in = [arm for arm in arms if not any(is_worse[arm, other] for other in arms if other != arm)]
    chosen = next(
        (
            arm
            for arm in still_in
            if all(is_worse[arm, other] is False for other in still_in if other != arm)
            and (arm == now or is_worse[now, arm])
        ),
        "",
    )
    open_pairs = [one for pair, one in pairs.items() if is_worse[pair] is None and set(pair) <= {now, *still_in}]

    def said(kind: str, arm: str, reason: str) -> Choice:
        return Choice(
            load=points[0].load, kind=kind, arm=arm, now=now, reason=reason, rounds=rounds, still_in=tuple(still_in),
            rounds_needed=max(rounds + 1, min((one.rounds_needed(count) for one in open_pairs), default=0)), harmful=harmful,
        )  # fmt: skip

    if count == 1:
        return said(NOTHING, now, "a load is not a setting: its curve is shown, and nothing is recommended")
    if chosen == now:
        harmless = " and does no harm" if harmful else ""
        return said(
            KEEP, now, f"no other value gives less by more than {_percent(sweep)} of what this one gives{harmless}"
        )
    if chosen:
        return said(CHANGE, chosen, "no value gives less, and of those that give as little it is the least change")
    return said(UNDECIDED, "", _why(rounds, count, open_pairs, still_in))


def _percent(sweep: Sweep) -> str:
    return f"{100 * sweep.margin:g} %"


def _why(rounds: int, points: int, open_pairs: Sequence[Compared], still_in: Sequence[str]) -> str:
    least = deployments_needed(0, max(1, points - 1))
    if not rounds:
        return "nothing of it was measured in this arm"
    if rounds < least:
        return f"too few clusters: {rounds} of each value, and {points} values take {least}"
    if sum(one.line for one in open_pairs) > sum(min(one.worse, one.not_worse) for one in open_pairs):
        return "the host's hiccups are as long as what was to be told apart; try a quieter machine or a wider --margin"
    return "the clusters differ from each other by as much as the values do"


def told_apart(one: str, other: str, found: Rounds, margin: float) -> int:
    """Of any measure: 1 where the first gives more than the other, -1 where less, 0 where that is not decided.

    Five rounds say so and none does not; the margin is of what the other one gives.
    """
    if compared(one, other, other, found, margin).is_worse(2):
        return 1
    return -1 if compared(other, one, other, found, margin).is_worse(2) else 0


def parameters(values: Mapping[str, str]) -> Mapping[str, ParameterValue]:
    """Values as numbers where they read as such."""
    return {key: _number(text) for key, text in values.items()}


def _number(text: str) -> ParameterValue:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text
