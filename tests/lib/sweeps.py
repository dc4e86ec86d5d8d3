"""Sweeps by hand-made measures: four values of one setting, each round a deployment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.report.sweep import SweepResult, of_release
from analysis.verdicts.sides import deployments_needed
from analysis.verdicts.tries import Tries, Try
from harness.model.sweep import Point, Sweep

KEY = "broker.waitTimeMillsInSendQueue"
GOAL = "rejected_count"


def point(value: str, steps: int, **load: str) -> Point:
    name = "-".join(("incident", value, *load.values()))
    return Point(arm=name, settings={KEY: value}, load=load, steps=steps)


POINTS = (point("100", 1), point("200", 0), point("400", 1), point("800", 2))
SWEEP = Sweep(incident="append-stall", points=POINTS, goal=GOAL, margin=0.1)
ENOUGH = deployments_needed(0, len(POINTS) - 1)


def rows_of(
    measure: str, by_value: Mapping[str, Sequence[float]], *, hiccup_ms: float = 0.0, keyword: str = "", **also: bool
) -> list[Tries]:
    """Values by arm, one a round."""
    return [
        Tries(
            trial=f"{arm}-{number}",
            deployment=f"{number:03}",
            release="5.5.0",
            arm=arm,
            cell={"stall_ms": 300, "rate_hz": 500},
            measure=measure,
            params={"keyword": keyword} if keyword else {},
            hiccup_ms=hiccup_ms,
            discarded="too noisy" if also.get("discarded") else "",
            tries=(Try.of(f"{arm}-{number}", [(value, bool(also.get("censored")))]),),
        )
        for arm, values in by_value.items()
        for number, value in enumerate(values, 1)
    ]


def of_points(rounds: int, *values: float) -> dict[str, Sequence[float]]:
    """By arm, in the order of the points, the same in each round."""
    return {one.arm: [value] * rounds for one, value in zip(POINTS, values, strict=True)}


def refused(rounds: int, *values: float, noise: float = 0.0, **also: float) -> list[Tries]:
    """Refusals of the points in their order, the same in each round but for a noise that alternates."""
    by_value = {
        one.arm: [max(0.0, value + noise * (-1) ** number) for number in range(rounds)]
        for one, value in zip(POINTS, values, strict=True)
    }
    return rows_of(GOAL, by_value, keyword="any", hiccup_ms=also.get("hiccup_ms", 0.0))


def longest(*values: float) -> list[Tries]:
    return rows_of("latency_max_ms", of_points(ENOUGH, *values))


def result_of(rows: Sequence[Tries], sweep: Sweep = SWEEP, predicted: Mapping[str, float] | None = None) -> SweepResult:
    return SweepResult(sweep=sweep, deployments_max=13, releases=(of_release(sweep, "5.5.0", rows, predicted),))


def swept() -> SweepResult:
    """A sweep that is decided, whose value costs latency, and one of whose values does harm."""
    rows = [*refused(ENOUGH, 97, 47, 0, 0), *longest(110, 210, 305, 305)]
    harm = rows_of("unlocked_share", of_points(ENOUGH, 0, 0, 0, 0.6))
    return result_of(
        [*rows, *harm], predicted={one.arm: value for one, value in zip(POINTS, (97.5, 47.5, 0.0, 0.0), strict=True)}
    )
