"""A sweep as one page that needs no network and no script: a curve for each measure, drawn as SVG, and its numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from analysis.report.document import PAGE_DATA, Table, load_report_data
from analysis.report.html import asset, environment
from analysis.report.sweep import Curve, SweepAnswer, SweepResult, answers
from analysis.verdicts.numbers import number, quantity
from analysis.verdicts.sweep import CHANGE
from harness.bounded import parsed, read_whole
from harness.model.sweep import Point, words_of
from harness.rundir.files import replace_file, write_json

PAGE = "sweep.html"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640.0, 240.0, 70.0, 20.0, 16.0, 34.0
COLOURS = 6
"""``--part-1`` to ``--part-6`` of the style."""


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A point of a curve, in the drawing's own units; None where it is not known."""

    x: float
    y: float
    low: float | None
    high: float | None
    title: str
    is_now: bool
    is_chosen: bool


@dataclass(frozen=True, kw_only=True)
class Series:
    """The points that differ in the value of the axis alone; ``line`` and ``predicted`` are a polyline's points."""

    label: str
    colour: int
    dots: tuple[Dot, ...]
    line: str
    predicted: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One curve, ready to be drawn."""

    title: str
    axis: str
    ticks: tuple[tuple[float, str], ...]
    top: str
    series: tuple[Series, ...]
    rows: tuple[tuple[str, str, str], ...]
    has_model: bool


def page(result: SweepResult) -> str:
    """The page as text. The same result gives the same bytes."""
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            title=f"Which value for {result.sweep.incident}?",
            style=Markup(asset("style.css")),  # our own file, not data
            answers=list(_answered(result)),
            releases=[(one.release, tuple(drawings(result, one.release))) for one in result.releases],
            size=(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM),
        )
    )


def _answered(result: SweepResult) -> Iterator[tuple[SweepAnswer, Drawing | None]]:
    """Each answer with the drawing of its goal, where anything of it was measured."""
    loads = len(result.sweep.by_load())
    for place, one in enumerate(answers(result)):
        release = result.releases[place // loads]
        first = next(drawings(result, release.release), None) if release.curves[0].marks else None
        yield one, first if place % loads == 0 else None


def table(result: SweepResult) -> Table:
    """The goal's curve for the report of the run, with a link to the page."""
    points = {point.arm: point for point in result.sweep.points}
    rows = [
        (one.release, mark.arm, _words(points[mark.arm]), mark.text(one.curves[0].unit), number(mark.predicted))
        for one in result.releases
        for mark in one.curves[0].marks
    ]
    return Table(
        title="The sweep",
        columns=("release", "arm", "settings and load", result.releases[0].curves[0].label, "predicted"),
        rows=tuple(rows),
        note="The median of the deployments, and the range that holds the typical one.",
        links={"every measure, and what is recommended": PAGE},
    )


def _words(point: Point) -> str:
    return words_of({**point.settings, **point.load})


def drawings(result: SweepResult, release: str) -> Iterator[Drawing]:
    """One for each curve of a release."""
    found = next(one for one in result.releases if one.release == release)
    now = {one.choice.now for one in found.recommended}
    chosen = {one.choice.arm for one in found.recommended if one.choice.kind == CHANGE}
    for curve in found.curves:
        if curve.marks:
            yield _drawing(curve, result.sweep.points, now, chosen)


def _drawing(curve: Curve, points: Sequence[Point], now: set[str], chosen: set[str]) -> Drawing:
    axis, values = _axis(points)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(values) - 1)
    across = {value: LEFT + step * place for place, value in enumerate(values)}
    shown = [n for one in curve.marks for n in (one.middle, one.high, one.predicted) if n is not None]
    most = max(shown, default=0.0) or 1.0

    def down(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most, 1)

    series = []
    for place, (label, of_series) in enumerate(_series(points, axis).items()):
        dots, model = [], []
        for point in of_series:
            mark, x = curve.mark(point.arm), round(across[_value(point, axis)], 1)
            if mark is None:
                continue
            if mark.predicted is not None:
                model.append(f"{x},{down(mark.predicted)}")
            if mark.middle is not None:
                dots.append(
                    Dot(
                        x=x,
                        y=down(mark.middle),
                        low=None if mark.low is None else down(mark.low),
                        high=None if mark.high is None else down(mark.high),
                        title=f"{_words(point)}: {mark.text(curve.unit)}",
                        is_now=point.arm in now,
                        is_chosen=point.arm in chosen,
                    )
                )
        line = " ".join(f"{dot.x},{dot.y}" for dot in dots)
        series.append(
            Series(
                label=label, colour=place % COLOURS + 1, dots=tuple(dots), line=line, predicted=" ".join(model)
            )
        )  # fmt: skip
    named = {point.arm: _words(point) for point in points}
    return Drawing(
        title=curve.label,
        axis=axis.rpartition(".")[2],
        ticks=tuple((round(across[value], 1), value) for value in values),
        top=quantity(most, curve.unit, short=True),
        series=tuple(series),
        rows=tuple((named[one.arm], one.text(curve.unit), number(one.predicted)) for one in curve.marks),
        has_model=any(one.predicted is not None for one in curve.marks),
    )


def _axis(points: Sequence[Point]) -> tuple[str, list[str]]:
    """What takes most values; a setting before a load."""
    taken: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in {**point.settings, **point.load}.items():
            taken.setdefault(key, {})[value] = None
    axis = max(taken, key=lambda key: len(taken[key]))
    return axis, list(taken[axis])


def _value(point: Point, axis: str) -> str:
    return {**point.settings, **point.load}[axis]


def _series(points: Sequence[Point], axis: str) -> Mapping[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        others = {key: value for key, value in {**point.settings, **point.load}.items() if key != axis}
        found.setdefault(words_of(others), []).append(point)
    return found


# --- files ----------------------------------------------------------------------------------------------------------------


def write_sweep(run_dir: Path, result: SweepResult) -> Path:
    """Write ``sweep.json`` and ``sweep.html`` into an analysed run, and its table into the report's data; returns the page's path.

    Raises :class:`harness.errors.RunDirectoryError` when the run was not analysed.
    """
    data = load_report_data(run_dir)
    own = table(result)
    others = [one for one in data.tables.get(result.sweep.incident, ()) if one.title != own.title]
    document = parsed(read_whole(run_dir / PAGE_DATA).decode())
    document.setdefault("tables", {})[result.sweep.incident] = [dataclasses.asdict(one) for one in (own, *others)]
    write_json(run_dir / PAGE_DATA, document)
    write_json(run_dir / "sweep.json", {"schema": 1, **dataclasses.asdict(result)})
    replace_file(run_dir / PAGE, page(result))
    return run_dir / PAGE
