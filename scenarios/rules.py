"""The words in which an incident states its claims: ``never(...)``, ``happens(...)``, ``median(...)``, ``control(...)``, ...

A part by sides reads ``median(of(...), "<=", side(16, if_true=13.5, if_false=24, because="..."))``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import UsageError
from harness.model.cells import ParameterValue
from harness.model.measures import MEASURES
from harness.model.rules import BY_ITSELF, Claim, Expectation, Fold, Kind, Part, Relation, Role, Selection, Told
from harness.model.steps import READ, READING
from harness.model.verdicts import VerdictKind
from scenarios.releases import RELEASES


@dataclass(frozen=True, kw_only=True)
class Side:
    """A bound between what is expected if the claim holds and if it does not, and where these numbers come from."""

    relation: Relation
    bound: float
    if_true: float
    if_false: float
    because: str


def side(if_true: float, if_false: float, because: str, bound: float | None = None) -> Side:
    """The bound is the geometric mean of both, or the middle where one is not positive, unless the article gives one."""
    if bound is None:
        both = (if_true, if_false)
        bound = math.sqrt(if_true * if_false) if min(both) > 0 else sum(both) / 2
    relation: Relation = "<=" if if_true < if_false else ">="
    return Side(relation=relation, bound=bound, if_true=if_true, if_false=if_false, because=because)


def of(measure: str, arm: str, **where: ParameterValue | tuple[ParameterValue, ...]) -> Selection:
    """A measure in an arm, in the cells that ``where`` names; a parameter may have several values.

    Raises:
        UsageError: there is no such measure.
    """
    if measure not in MEASURES:
        raise UsageError.unknown("measure", measure, MEASURES)
    named = {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}
    return Selection(measure=measure, arm=arm, where=named)


def read(reading: str, arm: str, **where: ParameterValue | tuple[ParameterValue, ...]) -> Selection:
    """A reading of the incident's own in an arm: that of a step, or one that ``computed`` makes of these."""
    return of(READ, arm, **{READING: reading}, **where)


def _part(kind: Kind, fold: Fold, what: Selection, at: Side, **more: Any) -> Part:
    return Part(
        kind=kind, fold=fold, of=what, relation=at.relation, bound=at.bound, if_true=at.if_true, if_false=at.if_false,
        because=at.because, **more,
    )  # fmt: skip


# --- events -----------------------------------------------------------------------------------------------------------


def fact(what: Selection, at: Side, **more: Any) -> Part:
    """It is so in every deployment, or in none."""
    return _part(Kind.FACT, Fold.EACH, what, at, **more)


def code(what: Selection, at: Side, **more: Any) -> Part:
    """It stands in the release's code: one reading."""
    return _part(Kind.JAR, Fold.EACH, what, at, **more)


def each(what: Selection, at: Side, **more: Any) -> Part:
    """Every value of every try lies at or beyond the bound: one verified counterexample refutes it."""
    return _part(Kind.UNIVERSAL, Fold.EACH, what, at, **more)


def never(what: Selection, if_false: float, because: str, **more: Any) -> Part:
    """A count that is zero in every try; ``if_false`` is what a try counts when the claim does not hold."""
    return each(what, side(0, if_false, because, bound=0), **more)


def exists(what: Selection, at: Side, without: Selection | None = None, **more: Any) -> Part:
    """A try whose values all lie at or beyond the bound; ``without`` is the control, in which there is none."""
    return _part(Kind.EXISTENCE, Fold.EACH, what, at, against=without, **more)


def happens(what: Selection, if_true: float, because: str, without: Selection | None = None, **more: Any) -> Part:
    """A count of one or more in a try; ``without`` is the control, in which there is none."""
    return exists(what, side(if_true, 0, because, bound=1), without, **more)


# --- sides ------------------------------------------------------------------------------------------------------------


def median(what: Selection, at: Side, **more: Any) -> Part:
    """The median of a deployment's tries."""
    return _part(Kind.QUANTITY, Fold.MEDIAN, what, at, **more)


def mean(what: Selection, at: Side, **more: Any) -> Part:
    """The mean of a deployment's tries, for counts a fault."""
    return _part(Kind.QUANTITY, Fold.MEAN, what, at, **more)


def slope(what: Selection, on: str, at: Side, **more: Any) -> Part:
    """The slope of a deployment's tries on a parameter of their cells."""
    return _part(Kind.QUANTITY, Fold.SLOPE, what, at, slope_on=on, **more)


def share(what: Selection, within: tuple[float | None, float | None], at: Side, **more: Any) -> Part:
    """The share of a deployment's tries all of whose values lie in the closed range ``within``."""
    return _part(Kind.SHARE, Fold.SHARE, what, at, within=within, **more)


def measured_share(what: Selection, at: Side, **more: Any) -> Part:
    """A measure that is itself a share, by the median of a deployment's tries."""
    return _part(Kind.SHARE, Fold.MEDIAN, what, at, **more)


def ratio(above: Selection, below: Selection, at: Side, **more: Any) -> Part:
    """The mean of one arm over that of another, in each deployment or pair of deployments."""
    return _part(Kind.COMPARISON, Fold.RATIO, above, at, against=below, **more)


def law(what: Selection, predicted: float, band: float, if_false: float, because: str, **more: Any) -> Part:
    """The median lies within ``band`` of what is predicted; ``if_false`` is the distance that another law would leave."""
    at = side(0, if_false, because, bound=band)
    return _part(Kind.LAW, Fold.MEDIAN, what, at, predicted=predicted, **more)


# --- claims -----------------------------------------------------------------------------------------------------------


def control(part: Part) -> Part:
    """The part is what must hold for the experiment to mean anything."""
    return dataclasses.replace(part, role=Role.CONTROL)


def scopes(
    name: str, values: tuple[ParameterValue, ...], part: Callable[[Any], Part], unit: str = ""
) -> dict[str, Part]:
    """The same part for each value of a parameter that the claim speaks of, each judged by itself."""
    return {
        f"{name} {value}{unit}": dataclasses.replace(part(value), scope=f"{name} {value}{unit}") for value in values
    }


def claim(
    name: str,
    article: str,
    says: str,
    *,
    reading: str,
    parts: Mapping[str, Part],
    expected: Mapping[str, Expectation] | None = None,
    summary: str = "",
    cure_of: str = "",
    lacks: Mapping[str, str] | None = None,
    told: Told | None = None,
    beside: Mapping[str, Part] | None = None,
) -> Claim:
    """A claim whose parts have their names; ``summary`` by default names each part with its number.

    ``beside`` are parts that the sentence alone asks for.

    Raises:
        UsageError: nothing decides it.
    """
    if not parts:
        raise UsageError(f"{name} has no rule: it has no parts", advice="Give one, such as happens(of(...), ...).")

    def named(of: Mapping[str, Part]) -> tuple[Part, ...]:
        return tuple(dataclasses.replace(part, name=part_name) for part_name, part in of.items())

    said = summary or "; ".join(f"{part_name}: {{{BY_ITSELF}{part_name}}}" for part_name in parts) + "."
    return Claim(id=name, article=article, says=says, reading=reading, parts=named(parts), expected=expected or {},
                 summary=said, cure_of=cure_of, lacks=lacks or {}, told=told, beside=named(beside or {}))  # fmt: skip


def confirmed(because: str, source: str, releases: tuple[str, ...] = RELEASES) -> dict[str, Expectation]:
    """Expected of each of these releases; of others it is joined with ``|``."""
    return dict.fromkeys(releases, Expectation(verdict=VerdictKind.CONFIRMED, because=because, source=source))


def refuted(because: str, source: str, releases: tuple[str, ...] = RELEASES) -> dict[str, Expectation]:
    """The same where the release's code speaks against the claim."""
    return dict.fromkeys(releases, Expectation(verdict=VerdictKind.REFUTED, because=because, source=source))
