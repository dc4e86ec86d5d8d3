"""From tries to the number of each deployment, and to the side of the bound on which it lies.

Every number comes with the range in which it can lie: a censored value is open above, one that could not be measured is open
on both ends, and the host's hiccup widens it by what it can have moved. Median, mean and share of ranges are taken end by end.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.verdicts.tries import Tries, Try
from harness.model.cells import Parameters
from harness.model.rules import Fold, Part, Selection

MARGIN = 4.0
"""Decided by sides, a value must be beyond the bound by so many times what the host can have moved it."""


@dataclass(frozen=True, kw_only=True)
class Number:
    """A value and the range in which it can lie; NaN where it could not be measured."""

    value: float
    low: float
    high: float

    def side(self, part: Part) -> int:
        """1 on the right side of the bound, -1 on the wrong one, 0 where its range holds the bound."""
        right, wrong = self.high <= part.bound, self.low > part.bound
        if part.relation == ">=":
            right, wrong = self.low >= part.bound, self.high < part.bound
        return int(right) - int(wrong)


UNMEASURED = Number(value=math.nan, low=-math.inf, high=math.inf)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One try of a part, or that a trial which counts gave none (``shown`` is None)."""

    deployment: str
    trial: str
    hiccup_ms: float
    where: Parameters
    shown: Try | None

    def number(self, part: Part, margin: float) -> Number:
        """Its number for the part: the worst of its values where each counts, else their median or mean.

        Its range is wider by ``margin`` times what the host can have moved it.
        """
        one = self.shown
        if one is None:
            return UNMEASURED
        if part.fold is Fold.EACH:
            value = one.max if part.relation == "<=" else one.min
        else:
            value = one.median if part.fold is Fold.MEDIAN else one.mean
        width = margin * part.moved(self.hiccup_ms, self.where)
        low, high = value - width, value + width
        # The largest of values that end before their time is at least what it shows; so is a median of which half do.
        is_open = one.censored > 0 if part.fold is not Fold.MEDIAN else 2 * one.censored >= one.n
        if part.fold is Fold.EACH and part.relation == ">=":
            is_open = one.censored == one.n
        return _distance(Number(value=value, low=low, high=math.inf if is_open else high), part.predicted)


def _distance(number: Number, predicted: float | None) -> Number:
    """How far it lies from what a law says; the number itself where there is no law."""
    if predicted is None:
        return number
    ends = (abs(number.low - predicted), abs(number.high - predicted))
    low = 0.0 if number.low <= predicted <= number.high else min(ends)
    return Number(value=abs(number.value - predicted), low=low, high=max(ends))


def tried(rows: Iterable[Tries], selection: Selection) -> list[Tried]:
    """The tries of a selection in trials of its cells; a trial of them that has none is there without."""
    of_trial: dict[str, list[Tries]] = {}
    for row in rows:
        if row.measure == selection.measure and selection.is_of(row.arm, row.cell):
            of_trial.setdefault(row.trial, []).append(row)
    found: list[Tried] = []
    for rows_of_one in of_trial.values():
        shown: list[tuple[Tries, Try | None]] = []
        for row in rows_of_one:
            shown += [(row, one) for one in row.tries if row.shows(selection.where)]
        found += [
            Tried(deployment=row.deployment, trial=row.trial, hiccup_ms=row.hiccup_ms, where=row.where, shown=one)
            for row, one in shown or [(rows_of_one[0], None)]
        ]
    return found


def by_deployment(found: Iterable[Tried]) -> dict[str, list[Tried]]:
    """In the order of the deployments' names, which is that in which they ran."""
    groups: dict[str, list[Tried]] = {}
    for one in sorted(found, key=lambda item: item.deployment):
        groups.setdefault(one.deployment, []).append(one)
    return groups


def numbers(
    part: Part, found: Sequence[Tried], against: Sequence[Tried] = (), margin: float = MARGIN
) -> dict[str, Number]:
    """One number a deployment; of a comparison one a pair, named for the deployment of the arm that is compared."""
    groups = by_deployment(found)
    if part.fold is Fold.RATIO:
        return _ratios(part, groups, by_deployment(against), margin)
    fold = _share if part.fold is Fold.SHARE else _slope if part.fold is Fold.SLOPE else _middle
    return {name: fold(part, tries, margin) for name, tries in groups.items()}


def _middle(part: Part, tries: Sequence[Tried], margin: float) -> Number:
    found = [one.number(part, margin) for one in tries]
    of: Callable[[Iterable[float]], float] = statistics.fmean if part.fold is Fold.MEAN else statistics.median
    measured = [one.value for one in found if not math.isnan(one.value)]
    return Number(
        value=of(measured) if measured else math.nan,
        low=_finite_fold(of, [one.low for one in found]),
        high=_finite_fold(of, [one.high for one in found]),
    )


def _finite_fold(of: Callable[[Iterable[float]], float], ends: Sequence[float]) -> float:
    folded = of(ends)
    # A median halfway between both infinities tells nothing.
    return folded if not math.isnan(folded) else math.copysign(math.inf, ends[0])


def _share(part: Part, tries: Sequence[Tried], margin: float) -> Number:
    """The share of the tries all of whose values lie within the range."""
    surely = maybe = by_value = 0
    for one in tries:
        width = margin * part.moved(one.hiccup_ms, one.where)
        surely += _within(one.shown, part.within, -width)
        maybe += one.shown is None or one.shown.censored > 0 or _within(one.shown, part.within, width)
        by_value += _within(one.shown, part.within, 0.0)
    count = len(tries)
    return Number(value=by_value / count, low=surely / count, high=maybe / count)


def _within(one: Try | None, within: tuple[float | None, float | None], wider: float) -> bool:
    low, high = within
    if one is None or (one.censored and high is not None):
        return False
    return (low is None or one.min >= low - wider) and (high is None or one.max <= high + wider)


def _ratios(
    part: Part, above: Mapping[str, list[Tried]], below: Mapping[str, list[Tried]], margin: float
) -> dict[str, Number]:
    """Both arms of a deployment are a pair; where no deployment has both, the i-th of one arm and of the other."""
    shared = [name for name in above if name in below]
    pairs = [(name, name) for name in shared] or list(zip(above, below, strict=False))
    found = {}
    for one, other in pairs:
        top, bottom = (_mean_of(part, tries, margin) for tries in (above[one], below[other]))
        if not bottom.value > 0:  # Nothing to compare with, or not measured.
            found[one] = UNMEASURED
            continue
        high = top.high / bottom.low if bottom.low > 0 else math.inf
        found[one] = Number(
            value=top.value / bottom.value, low=max(0.0, top.low) / bottom.high if bottom.high else 0.0, high=high
        )
    return found


def _mean_of(part: Part, tries: Sequence[Tried], margin: float) -> Number:
    found = [one.number(part, margin) for one in tries]
    values = [one.value for one in found]
    return Number(
        value=statistics.fmean(values),
        low=statistics.fmean(one.low for one in found),
        high=statistics.fmean(one.high for one in found),
    )


def _slope(part: Part, tries: Sequence[Tried], margin: float) -> Number:
    """Least squares of the tries' means on the parameter; unmeasured where one is missing or it does not vary."""
    if any(one.shown is None or part.slope_on not in one.where for one in tries):
        return UNMEASURED
    x = [float(one.where[part.slope_on]) for one in tries]
    y = [one.number(part, 0.0).value for one in tries]
    if max(x) == min(x):
        return UNMEASURED
    value = statistics.linear_regression(x, y).slope
    most = max(part.moved(one.hiccup_ms, one.where) for one in tries)
    width = margin * most / (max(x) - min(x))
    return Number(value=value, low=value - width, high=value + width)
