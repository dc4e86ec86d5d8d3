"""Claims with their readings, their expectations by release and their decision rules."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from harness.model.cells import ParameterValue
from harness.model.verdicts import VerdictKind

Relation = Literal["<=", ">="]


class Statistic(StrEnum):
    """What is made of the values of a measure. Interval in brackets."""

    MEDIAN = "median"  # [bootstrap: deployments, then units]
    MEAN = "mean"  # [same; exact Poisson when every value is a count of zero]
    SHARE = "share"  # of units all of whose values satisfy ``within`` [Clopper-Pearson]
    RATIO_OF_MEANS = "ratio of means"  # mean over mean of ``against`` [bootstrap of both]
    SLOPE = "slope"  # least squares of the value on the parameter ``slope_on`` [bootstrap]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number that the measurement yields: a statistic of a measure in one arm.

    ``where`` keeps the values whose parameters match; each parameter maps to the values that are allowed. ``within``
    is the closed range that ``SHARE`` counts; an end that is None is open.
    """

    measure: str
    arm: str
    statistic: Statistic
    where: Mapping[str, tuple[ParameterValue, ...]] = field(default_factory=dict)
    within: tuple[float | None, float | None] = (None, None)
    against: "Quantity | None" = None
    slope_on: str = ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One testable part of a claim: the quantity must lie at or beyond the bound, with its whole 95 % interval.

    The interval wholly on the right side confirms the part, wholly on the wrong side refutes it, else it is undecided.
    """

    name: str
    quantity: Quantity
    relation: Relation
    bound: float
    unit: str
    why: str
    units_min: int = 5

    def quantities(self) -> tuple[Quantity, ...]:
        """What it measures, and what that is compared with where it is."""
        return (self.quantity,) if self.quantity.against is None else (self.quantity, self.quantity.against)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a release's own code leads one to expect, and where it says so."""

    verdict: VerdictKind
    because: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of an article with its reading, its expectation by release and its decision rule.

    A claim is as good as its worst part. ``summary`` is the sentence that the ledger prints; it may name the parts'
    numbers as ``{part name}``.
    """

    id: str
    article: str
    says: str
    reading: str
    parts: tuple[Part, ...]
    expected: Mapping[str, Expectation]
    summary: str = ""

    def quantities(self) -> tuple[Quantity, ...]:
        """Those of all of its parts."""
        return tuple(quantity for part in self.parts for quantity in part.quantities())

    def rule_hash(self) -> str:
        """SHA-256 over reading, parts and expectations; it changes when anything that decides changes."""
        rule = {
            "id": self.id,
            "reading": self.reading,
            "parts": [dataclasses.asdict(part) for part in self.parts],
            "expected": {release: dataclasses.asdict(value) for release, value in self.expected.items()},
        }
        return hashlib.sha256(json.dumps(rule, sort_keys=True, default=str).encode()).hexdigest()
