"""What a sweep came to: a curve for each measure, what is recommended of each load, and its price; in lines and as values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.verdicts.numbers import MISSING, estimate, number, printable
from analysis.verdicts.sides import typical
from analysis.verdicts.sweep import (
    CHANGE,
    KEEP,
    Choice,
    Rounds,
    choices,
    goal_rows,
    rounds_of,
    told_apart,
    variants_of,
)
from analysis.verdicts.tries import Tries
from harness.model.measures import MEASURES
from harness.model.sweep import Point, Sweep, words_of


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One point of a curve: the median of its deployments, the range that holds the typical one (None of fewer than 5).

    ``middle`` is None where most of the values are lower bounds. ``predicted`` is the model's, where there is one.
    """

    arm: str
    rounds: int
    middle: float | None
    low: float | None
    high: float | None
    predicted: float | None = None

    def text(self, unit: str) -> str:
        """``47.5 (46-48)``."""
        return estimate(self.middle, self.low, self.high, unit)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One measure, or one variant of it, of all points on a release."""

    measure: str
    variant: str
    unit: str
    marks: tuple[Mark, ...]

    @property
    def label(self) -> str:
        """The measure's name, with what tells it from its other variants."""
        return f"{self.measure} ({self.variant})" if self.variant else self.measure

    def mark(self, arm: str) -> Mark | None:
        """That of a point; None where nothing of it was measured."""
        return next((one for one in self.marks if one.arm == arm), None)

    @property
    def varies(self) -> bool:
        """Whether any two points differ; what is the same everywhere is no curve."""
        return len({one.middle for one in self.marks}) > 1


@dataclass(frozen=True, kw_only=True)
class Price:
    """Another measure that differs, as the side rule tells, between what is recommended and what is there now."""

    label: str
    is_more: bool
    chosen: str
    now: str


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """What is decided of one load, with its price; ``gain`` is the goal at both points in words."""

    choice: Choice
    gain: str
    prices: tuple[Price, ...]


@dataclass(frozen=True, kw_only=True)
class OfRelease:
    """All that a sweep came to on one release; the first curve is the goal's."""

    release: str
    curves: tuple[Curve, ...]
    recommended: tuple[Recommended, ...]


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """A sweep with what it came to. ``deployments_max`` is how many of each point it might have taken."""

    sweep: Sweep
    deployments_max: int
    releases: tuple[OfRelease, ...]


def of_release(
    sweep: Sweep, release: str, rows: Sequence[Tries], predicted: Mapping[str, float] | None = None
) -> OfRelease:
    """From the rows of a release, whose ``deployment`` is the round; ``predicted`` are the goal's numbers by arm."""
    of_goal = goal_rows(rows, sweep.goal)
    goal = _curve(sweep, sweep.goal, _variant(of_goal), rounds_of(of_goal), predicted or {})
    others: dict[tuple[str, str], Rounds] = {
        key: rounds_of(found) for key, found in variants_of(rows).items() if key[0] != sweep.goal
    }
    curves = {key: _curve(sweep, *key, found, {}) for key, found in sorted(others.items())}
    return OfRelease(
        release=release,
        curves=(goal, *(one for one in curves.values() if one.varies)),
        recommended=tuple(_recommended(choice, goal, curves, others, sweep) for choice in choices(sweep, rows)),
    )


def _variant(rows: Sequence[Tries]) -> str:
    found = {label for _, label in variants_of(rows)}
    return found.pop() if len(found) == 1 else ""


def _curve(sweep: Sweep, measure: str, variant: str, found: Rounds, predicted: Mapping[str, float]) -> Curve:
    marks = tuple(_mark(point.arm, found, predicted.get(point.arm)) for point in sweep.points if point.arm in found)
    return Curve(measure=measure, variant=variant, unit=MEASURES[measure].unit, marks=marks)


def _mark(arm: str, found: Rounds, predicted: float | None) -> Mark:
    values = [one.value if math.isfinite(one.high) else math.inf for one in found[arm].values()]
    shown = typical(values)
    return Mark(
        arm=arm,
        rounds=len(values),
        middle=_finite(shown.middle),
        low=_finite(shown.low),
        high=_finite(shown.high),
        predicted=predicted,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _recommended(
    choice: Choice, goal: Curve, curves: Mapping[tuple[str, str], Curve], found: Mapping[tuple[str, str], Rounds],
    sweep: Sweep,
) -> Recommended:  # fmt: skip
    if choice.kind != CHANGE:
        return Recommended(choice=choice, gain="", prices=())
    sides = {key: told_apart(choice.arm, choice.now, rounds, sweep.margin) for key, rounds in found.items()}
    prices = [
        Price(
            label=curves[key].label,
            is_more=side > 0,
            chosen=_text(curves[key], choice.arm),
            now=_text(curves[key], choice.now),
        )
        for key, side in sides.items()
        if side
    ]
    gain = f"{goal.label} {_text(goal, choice.arm)} instead of {_text(goal, choice.now)}"
    return Recommended(choice=choice, gain=gain, prices=tuple(sorted(prices, key=lambda one: not one.is_more)))


def _text(curve: Curve, arm: str) -> str:
    mark = curve.mark(arm)
    return mark.text(curve.unit) if mark is not None else MISSING


# --- in lines -------------------------------------------------------------------------------------------------------------


def lines(result: SweepResult) -> Iterator[str]:
    """A table of the goal for each release and load, what is recommended with its reason, and what that costs."""
    points = {point.arm: point for point in result.sweep.points}
    for found in result.releases:
        for one, of_load in zip(found.recommended, result.sweep.by_load(), strict=True):
            yield from map(printable, _of_load(found, one, of_load, points, result))


def _of_load(
    found: OfRelease, one: Recommended, of_load: Sequence[Point], points: Mapping[str, Point], result: SweepResult
) -> Iterator[str]:
    goal, choice = found.curves[0], one.choice
    load = f", {words_of(choice.load)}" if choice.load else ""
    yield f"{result.sweep.incident} on {found.release}{load}: {goal.label}, the less the better"
    rows = [(_name(point), _text(goal, point.arm), goal.mark(point.arm), _role(point, choice)) for point in of_load]
    width, texts = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    for name, text, mark, role in rows:
        model = "" if mark is None or mark.predicted is None else f"  predicted {number(mark.predicted):>6}"
        yield f"  {name:<{width}}  {text:<{texts}}{model}{role}".rstrip()
    yield from _said(one, points, choice)
    at_most = f", of {result.deployments_max} at most" if choice.rounds < result.deployments_max else ""
    yield f"  {choice.rounds} deployments of each point{at_most}"


def _name(point: Point) -> str:
    return words_of(point.settings) or words_of(point.load)


def _role(point: Point, choice: Choice) -> str:
    marks = [*(["now"] if point.settings and point.arm == choice.now else [])]
    marks += ["recommended"] if choice.kind == CHANGE and point.arm == choice.arm else []
    marks += [f"not recommended: more {', '.join(choice.harmful[point.arm])}"] if point.arm in choice.harmful else []
    return f"  ({', '.join(marks)})" if marks else ""


def _said(one: Recommended, points: Mapping[str, Point], choice: Choice) -> Iterator[str]:
    there = points[choice.now].settings
    if choice.kind == CHANGE:
        changed = {key: value for key, value in points[choice.arm].settings.items() if there[key] != value}
        yield f"  set {words_of(changed)} (now {', '.join(there[key] for key in changed)}): {choice.reason}"
        yield f"    {one.gain}"
        for price in one.prices:
            yield f"    {'more' if price.is_more else 'less'}: {price.label} {price.chosen} instead of {price.now}"
        if not one.prices:
            yield "    no other measure differs, as far as these deployments tell"
    elif choice.kind == KEEP:
        yield f"  stay with {words_of(there)}: {choice.reason}"
    else:
        yield f"  {choice.kind}: {choice.reason}"
        if len(choice.still_in) > 1:
            yield f"    not told apart: {'; '.join(words_of(points[arm].settings) for arm in choice.still_in)}"
