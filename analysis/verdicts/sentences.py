"""What was found of a part, in words that a reader can check: how often, in how many tries and deployments."""

from __future__ import annotations

import math

from analysis.verdicts import sides
from analysis.verdicts.numbers import interval, number, quantity
from harness.model.findings import PartResult
from harness.model.measures import MEASURES
from harness.model.rules import BY_SIDES, Fold, Kind, Part
from harness.model.verdicts import VerdictKind


def words_of(part: Part, found: PartResult) -> str:
    """``61.5 s (60.8-62.3 in 5 deployments of 9 owners)``, ``none in 40 deaths (below 8.8 %), in 20 deployments``."""
    if found.estimate is None:
        return "not measured"
    if part.kind in (Kind.FACT, Kind.JAR):
        return _fact(part, found)
    return _number(part, found) if part.kind in BY_SIDES else _events(part, found)


def _fact(part: Part, found: PartResult) -> str:
    unit = MEASURES[part.of.measure].unit
    if part.kind is Kind.JAR:
        return quantity(found.values[0], unit)
    if part.predicted is not None and unit:
        # Whether a duration is the predicted one is a fact; which one it is, is what a reader wants to know.
        low, high = (quantity(found.values[index], unit) for index in (0, -1))
        return f"{low if low == high else f'{low} to {high}'} in {_count(found.deployments, 'deployment')}"
    in_how_many = "none" if found.wrong == found.deployments else found.right
    said = f"in {in_how_many} of {_count(found.deployments, 'deployment')}"
    missing = found.deployments - found.tries
    return f"{said}, not measured in {missing} of them" if missing > 0 else said


def _number(part: Part, found: PartResult) -> str:
    where = _count(found.deployments, "pair" if part.fold is Fold.RATIO else "deployment")
    if found.deployments and found.tries > found.deployments and part.fold is not Fold.RATIO:
        each = found.tries / found.deployments
        where += f" of {number(each) if each == int(each) else f'about {round(each)}'} {part.tries_are}"
    low, high = found.values[0], found.values[-1]
    middle = quantity(found.estimate, found.unit, short=part.fold is Fold.SHARE)
    if part.fold is Fold.SHARE:
        middle += f" {found.unit}"
    if low == high and found.deployments > 1:
        return f"{middle} in each of {where}"
    if found.low is not None:
        return f"{middle} ({interval(found.low, found.high, found.unit)} in {where})"
    if found.deployments < sides.deployments_needed() and found.deployments > 1:
        listed = " and ".join(quantity(value, found.unit, short=True) for value in (low, high))
        return f"{middle} ({listed}{' at the ends' if found.deployments > 2 else ''} in {where})"
    return f"{middle} (in {where})"


def _events(part: Part, found: PartResult) -> str:
    said = _how_often(part, found)
    return f"{said}, not measured in {found.units - found.tries} more" if found.units > found.tries else said


def _how_often(part: Part, found: PartResult) -> str:
    tries = _count(found.tries, part.tries_are.removesuffix("s"), part.tries_are)
    if not found.events:
        return f"none in {tries} (below {_percent(found.high)}), in {_count(found.deployments, 'deployment')}"
    if found.events == found.tries:
        return f"in all of {tries} (above {_percent(found.low)}), in {_count(found.deployments, 'deployment')}"
    bounds = interval(found.low, found.high, "share")
    worst = found.values[-1] if part.relation == "<=" else found.values[0]
    said = f"in {number(found.events)} of {tries} ({bounds}) of {_count(found.deployments, 'deployment')}"
    if part.kind is Kind.UNIVERSAL and math.isfinite(worst):
        said += f", at worst {quantity(worst, MEASURES[part.of.measure].unit)}"
    return said


def needs(found: PartResult) -> str:
    """What an undecided part by sides lacks; empty where another deployment would not help by itself."""
    if found.verdict is not VerdictKind.UNDECIDED or found.kind not in BY_SIDES or not found.deployments:
        return ""
    exceptions = min(found.deployments - found.right, found.deployments - found.wrong)
    return f"{sides.deployments_needed(exceptions)} deployments are needed" if exceptions == 0 else ""


def _percent(share: float | None) -> str:
    return quantity(share, "share")


def _count(count: int, one: str, many: str = "") -> str:
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"
