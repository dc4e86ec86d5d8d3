"""The words in which an incident states its claims: ``mean(of(...), ">=", 5, "requests a stall", "why so many")``, ..."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from harness.model.cells import ParameterValue
from harness.model.claims import Claim, Expectation, Part, Quantity, Relation, Statistic
from harness.model.verdicts import VerdictKind
from scenarios.releases import RELEASES

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED


def of(measure: str, arm: str, **where: ParameterValue | tuple[ParameterValue, ...]) -> Quantity:
    """A measure in an arm, in the cells that ``where`` names; a parameter may have several values."""
    named = {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}
    return Quantity(measure=measure, arm=arm, statistic=Statistic.MEAN, where=named)


def mean(quantity: Quantity, relation: Relation, bound: float, unit: str, why: str, units_min: int = 5) -> Part:
    """The mean lies at or beyond the bound; ``why`` is the reason for that number."""
    return Part(name="", quantity=quantity, relation=relation, bound=bound, unit=unit, why=why, units_min=units_min)


def median(quantity: Quantity, relation: Relation, bound: float, unit: str, why: str, units_min: int = 5) -> Part:
    """The same of the median."""
    return mean(_by(quantity, Statistic.MEDIAN), relation, bound, unit, why, units_min)


def ratio(
    above: Quantity, below: Quantity, relation: Relation, bound: float, unit: str, why: str, units_min: int = 5
) -> Part:
    """The ratio of two means lies at or beyond the bound."""
    return mean(_by(above, Statistic.RATIO_OF_MEANS, against=below), relation, bound, unit, why, units_min)


def claim(
    name: str,
    article: str,
    says: str,
    *,
    reading: str,
    expected: Mapping[str, Expectation],
    parts: Mapping[str, Part],
    summary: str,
) -> Claim:
    """A claim whose parts have their names."""
    named = tuple(dataclasses.replace(part, name=part_name) for part_name, part in parts.items())
    return Claim(id=name, article=article, says=says, reading=reading, parts=named, expected=expected, summary=summary)


def expect(
    verdict: VerdictKind, because: str, source: str, releases: tuple[str, ...] = RELEASES
) -> dict[str, Expectation]:
    """The same of each of these releases; of others it is joined with ``|``."""
    return dict.fromkeys(releases, Expectation(verdict=verdict, because=because, source=source))


def _by(quantity: Quantity, statistic: Statistic, **more: object) -> Quantity:
    return dataclasses.replace(quantity, statistic=statistic, **more)  # type: ignore[arg-type]
