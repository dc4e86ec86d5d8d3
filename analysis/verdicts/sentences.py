"""What was found of a part, in words that a reader can check: how often, in how many tries and deployments."""

from __future__ import annotations

import math

from analysis.verdicts import sides
from analysis.verdicts.numbers import RATIO, interval, number, quantity
from harness.model.findings import PartResult
from harness.model.measures import MEASURES
from harness.model.rules import BY_ITSELF, BY_SIDES, NOT_SO, SUBJECT, Fold, Kind, Part
from harness.model.verdicts import Reason, VerdictKind

NOT_MEASURED = "not measured"


def words_of(part: Part, found: PartResult, unmeasured: int = 0) -> str:
    """``61.5 s (60.8-62.3 s in 5 deployments of 9 owners)``, ``in none of 40 deaths (below 8.8 %, in 20 deployments)``.

    ``unmeasured`` tries of an event gave no value.
    """
    if not found.values or not found.tries:
        return NOT_MEASURED
    if part.kind in (Kind.FACT, Kind.JAR):
        return _fact(part, found)
    return _number(part, found) if part.kind in BY_SIDES else _events(part, found, unmeasured)


def in_sentence(found: PartResult, form: str = "") -> str:
    """What stands for ``{part}``, ``{!part}``, ``{#part}`` and, where no sentence says what its figures are of, ``{=part}``.

    In brackets where there is no figure: the sentence was written for one, and would not be read as meant.
    """
    if found.words == NOT_MEASURED:
        many = f"an unknown number {found.unit} " if form == SUBJECT else ""
        return f"{many}[{NOT_MEASURED}]"
    if form == BY_ITSELF:
        return _by_itself(found)
    words = _in_deployments(found.wrong or 0, found) if form == NOT_SO else found.words
    return words.removeprefix("in ") if form == SUBJECT else words


def _by_itself(found: PartResult) -> str:
    """``as claimed in none of 2 deployments (15.9 to 16.2)``, ``other than claimed in 1 of 40 owners (...)``."""
    if found.kind == Kind.FACT and not found.words.startswith("in "):
        return found.words
    if found.kind == Kind.FACT:
        values = found.values or ()
        low, high = (number(values[0]), number(values[-1])) if values else ("", "")
        return f"as claimed {found.words}" + (f" ({low if low == high else f'{low} to {high}'})" if values else "")
    said = {Kind.UNIVERSAL: "other than claimed", Kind.EXISTENCE: "seen"}.get(Kind(found.kind), "")
    return f"{said} {found.words}".lstrip()


def refuting(found: PartResult) -> str:
    """What became of a refuted part where no sentence names it: ``"code 2" had counterexamples in 1 of 40 stalls (...)``."""
    says = {Kind.UNIVERSAL: "had counterexamples", Kind.EXISTENCE: "happened"}.get(Kind(found.kind), "held")
    return f'"{found.name}"{_at(found)} {says if found.words.startswith("in ") else "was"} {found.words}'


def _at(found: PartResult) -> str:
    return f" ({found.scope})" if found.scope not in ("", found.name) else ""


def _fact(part: Part, found: PartResult) -> str:
    unit = MEASURES[part.of.measure].unit
    if part.kind is Kind.JAR:
        return quantity(found.values[0], unit)
    if part.predicted is not None and unit:
        # Whether a duration is the predicted one is a fact; which one it is, is what a reader wants to know.
        low, high = found.values[0], found.values[-1]
        told = quantity(low, unit) if quantity(low, unit) == quantity(high, unit) else interval(low, high, unit)
        return f"{told} in {_count((found.deployments or 0) - _missing(found), 'deployment')}"
    return _in_deployments(found.right or 0, found)


def _missing(found: PartResult) -> int:
    return max(0, (found.deployments or 0) - (found.tries or 0))


def _in_deployments(count: int, found: PartResult) -> str:
    """In how many of all deployments something was so, and of how many that cannot be said."""
    missing = _missing(found)
    rest = {NOT_MEASURED: missing, "undecided": (found.line or 0) - missing}
    notes = ", ".join(f"{what} in {number(many)}" for what, many in rest.items() if many > 0)
    said = f"in {number(count) if count else 'none'} of {_count(found.deployments or 0, 'deployment')}"
    return f"{said} ({notes})" if notes else said


def _number(part: Part, found: PartResult) -> str:
    measured, compared = len(found.values), part.fold is Fold.RATIO
    deployments, tries = found.deployments or 0, found.tries or 0
    where = _count(measured, "pair" if compared else "deployment")
    if tries > deployments and not compared:
        each = tries / measured
        where += (
            f" of {number(each)} {part.tries_are}" if each == int(each) else f" with {number(tries)} {part.tries_are}"
        )
    low, high = found.values[0], found.values[-1]
    unit = RATIO if compared else found.unit
    middle = quantity(found.estimate, unit, short=part.fold is Fold.SHARE)
    if part.fold is Fold.SHARE:
        middle += f" {found.unit}"
    if low == high and measured > 1:
        range_in = f"in each of {where}"
    elif found.low is not None:
        range_in = f"{interval(found.low, found.high, unit, like=found.estimate)} in {where}"
    elif measured > 1:
        ends = (quantity(value, unit, short=True) for value in (low, high))
        range_in = f"{(' to ' if measured > 2 else ' and ').join(ends)} in {where}"
    else:
        range_in = f"in {where}"
    missing = deployments - measured
    return f"{middle} ({range_in}{f'; {NOT_MEASURED} in {number(missing)} more' if missing else ''})"


def _events(part: Part, found: PartResult, unmeasured: int) -> str:
    """In how many tries it happened, with the interval of its rate; of a "never" these are the counterexamples."""
    events, count = found.events or 0, found.tries or 0
    tries = _count(count, part.tries_are.removesuffix("s"), part.tries_are)
    if not events:
        said, bounds = f"none of {tries}", f"below {quantity(found.high, 'share')}"
    elif events == count > 1:
        said, bounds = f"all {tries}", f"above {quantity(found.low, 'share')}"
    else:
        said, bounds = f"{number(events)} of {tries}", interval(found.low, found.high, "share")
    told = [bounds, f"in {_count(found.deployments or 0, 'deployment')}"]
    worst = found.values[-1] if part.relation == "<=" else found.values[0]
    if part.kind is Kind.UNIVERSAL and 0 < events < count and math.isfinite(worst):
        told.append(f"at worst {quantity(worst, MEASURES[part.of.measure].unit)}")
    more = f"; {NOT_MEASURED} in {number(unmeasured)} more" if unmeasured else ""
    return f"in {said} ({', '.join(told)}{more})"


def needs(found: PartResult) -> str:
    """What an undecided part by sides lacks; empty where another deployment would not help by itself."""
    if found.verdict is not VerdictKind.UNDECIDED or found.kind not in BY_SIDES or not found.deployments:
        return ""
    if found.reason == Reason.TOO_MANY_DISCARDED:
        return "more trials that count are needed"
    exceptions = found.deployments - max(found.right or 0, found.wrong or 0)
    return f"{sides.deployments_needed(exceptions)} deployments are needed" if exceptions == 0 else ""


def _count(count: int, one: str, many: str = "") -> str:
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"
