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
    UNDECIDED,
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
        """What the measure says of itself, with what tells it from its other variants."""
        says = MEASURES[self.measure].says.removesuffix(".").removesuffix(", by keyword")
        variant = self.variant.removeprefix("keyword ")
        return f"{says} ({variant})" if variant and variant != "any" else says

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
    gain = f"{goal.label}: {_text(goal, choice.arm)} instead of {_text(goal, choice.now)}"
    return Recommended(choice=choice, gain=gain, prices=tuple(sorted(prices, key=lambda one: not one.is_more)))


def _text(curve: Curve, arm: str) -> str:
    mark = curve.mark(arm)
    return mark.text(curve.unit) if mark is not None else MISSING


# --- in words -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AnsweredPoint:
    """One value that was tried: the goal measured and predicted (empty where it was not), and what is said of the value."""

    settings: str
    measured: str
    predicted: str
    role: str


@dataclass(frozen=True, kw_only=True)
class SweepAnswer:
    """What a person is told of one load on one release: what to set, what it brings and costs, and how sure that is.

    ``notes`` are what it costs, what does harm, and which values were not told apart.
    """

    where: str
    headline: str
    goal: str
    points: tuple[AnsweredPoint, ...]
    gain: str
    why: str
    notes: tuple[str, ...]
    sure: str
    do: tuple[str, ...]
    """What to change and where, as it is typed; empty where nothing is to be changed."""


def answers(result: SweepResult) -> Iterator[SweepAnswer]:
    """One of each release and load, in the sweep's order."""
    points = {point.arm: point for point in result.sweep.points}
    for found in result.releases:
        for one, of_load in zip(found.recommended, result.sweep.by_load(), strict=True):
            yield _answer(found, one, of_load, points, result)


def lines(result: SweepResult) -> Iterator[str]:
    """The answers for the terminal."""
    for one in answers(result):
        yield from map(printable, _lines(one))


def _lines(one: SweepAnswer) -> Iterator[str]:
    yield f"{one.where}: {one.headline}"
    if one.gain:
        yield f"  {one.gain}"
    yield f"  {one.goal}, the less the better:"
    widths = [max(len(getattr(point, name)) for point in one.points) for name in ("settings", "measured")]
    for point in one.points:
        model = f"  predicted {point.predicted:>6}" if point.predicted else ""
        role = f"  ({point.role})" if point.role else ""
        yield f"    {point.settings:<{widths[0]}}  {point.measured:<{widths[1]}}{model}{role}".rstrip()
    yield f"  why: {one.why}"
    yield from (f"  {note}" for note in one.notes)
    yield from (f"  -> {place}" for place in one.do)
    yield f"  {one.sure}"


def _answer(
    found: OfRelease, one: Recommended, of_load: Sequence[Point], points: Mapping[str, Point], result: SweepResult
) -> SweepAnswer:
    goal, choice = found.curves[0], one.choice
    there = points[choice.now].settings
    chosen = points[choice.arm].settings if choice.kind == CHANGE else {}
    changed = {key: value for key, value in chosen.items() if there[key] != value}
    if changed:
        headline = f"set {words_of(changed)} (now {', '.join(there[key] for key in changed)})"
        notes = [
            f"{'more' if price.is_more else 'less'}: {price.label}: {price.chosen} instead of {price.now}"
            for price in one.prices
        ] or ["no other measure differs, as far as these clusters tell"]
    elif choice.kind == KEEP:
        headline, notes = f"stay with {words_of(there)}", []
    else:
        headline = "not settled" if choice.kind == UNDECIDED else choice.kind
        alike = "; ".join(words_of(points[arm].settings) for arm in choice.still_in)
        notes = [f"not told apart: {alike}"] if len(choice.still_in) > 1 else []
    for arm, measures in choice.harmful.items():
        harms = (MEASURES[measure].says.removesuffix(".") for measure in measures)
        notes.append(f"{words_of(points[arm].settings)} does harm, as this grows: {'; '.join(harms)}")
    at_most = f", of {result.deployments_max} at most" if choice.rounds < result.deployments_max else ""
    return SweepAnswer(
        where=f"{result.sweep.incident} on {found.release}{f', {words_of(choice.load)}' if choice.load else ''}",
        headline=headline,
        goal=goal.label,
        points=tuple(_answered(point, goal, choice) for point in of_load),
        gain=one.gain,
        why=choice.reason,
        notes=tuple(notes),
        sure=f"{choice.rounds} clusters of each value{at_most}",
        do=tuple(_typed(key, value) for key, value in changed.items()),
    )


def _answered(point: Point, goal: Curve, choice: Choice) -> AnsweredPoint:
    mark = goal.mark(point.arm)
    roles = ["now"] if point.settings and point.arm == choice.now else []
    roles += ["recommended"] if choice.kind == CHANGE and point.arm == choice.arm else []
    roles += ["not recommended"] if point.arm in choice.harmful else []
    return AnsweredPoint(
        settings=words_of(point.settings) or words_of(point.load),
        measured=_text(goal, point.arm),
        predicted="" if mark is None or mark.predicted is None else number(mark.predicted),
        role="; ".join(roles),
    )


def _typed(key: str, value: str) -> str:
    where, _, name = key.partition(".")
    if where == "broker-jvm":
        return f"-D{name}={value} on the broker's command line"
    return f"{name}={value} in {'broker.conf' if where == 'broker' else 'your ' + where}"
