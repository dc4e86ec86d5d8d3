"""Claims with their readings and their expectations by release, and the rules that decide them.

A rule is of kinds: what each part counts, what it takes to decide it, and what its numbers were chosen by.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from harness.model.cells import Parameters, ParameterValue, matches
from harness.model.measures import MEASURES
from harness.model.verdicts import VerdictKind

Relation = Literal["<=", ">="]


class Kind(StrEnum):
    """What is counted, and by which of the two ways it is decided."""

    FACT = "F"
    """It is so in every deployment, or in none."""
    JAR = "J"
    """It stands in the release's code: one reading."""
    UNIVERSAL = "U"
    """Never, every: one verified counterexample refutes it."""
    EXISTENCE = "E"
    """It happens: one verified event confirms it."""
    SHARE = "S"
    QUANTITY = "Q"
    COMPARISON = "C"
    LAW = "L"
    THIS_RUN = "R"
    """True or false of one history, as that tells itself: nothing is inferred from it, and no two are pooled."""


BY_SIDES = frozenset({Kind.SHARE, Kind.QUANTITY, Kind.COMPARISON, Kind.LAW})
"""Decided by the side of the bound on which each deployment lies; all others by events."""

DEPLOYMENTS_MIN = {Kind.FACT: 2, Kind.JAR: 1, Kind.UNIVERSAL: 5, Kind.EXISTENCE: 1}


class Role(StrEnum):
    """A control that does not hold makes the claim undecided: an experiment whose control fails has shown nothing."""

    CLAIM = "claim"
    CONTROL = "control"


NOT_SO, SUBJECT, BY_ITSELF = "!", "#", "="
PLACEHOLDER = re.compile(rf"{{([{NOT_SO}{SUBJECT}{BY_ITSELF}]?)([^{{}}]+)}}")
"""A part that a claim's sentence names, after the form that it is told in."""


class Fold(StrEnum):
    """What is made of the tries of a deployment. A comparison is of two means, by pairs of arms."""

    EACH = "each"
    MEDIAN = "median"
    MEAN = "mean"
    SHARE = "share"
    RATIO = "ratio"
    SLOPE = "slope"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The values of a measure in an arm whose parameters are among the allowed ones."""

    measure: str
    arm: str
    where: Mapping[str, tuple[ParameterValue, ...]] = field(default_factory=dict)

    def is_of(self, arm: str, cell: Parameters) -> bool:
        """Whether it speaks of that cell, whatever it asks of the measure's own parameters."""
        return arm == self.arm and matches(cell, {name: self.where[name] for name in self.where if name in cell})


@dataclass(frozen=True, kw_only=True)
class Part:
    """One testable part: the number of each deployment, or each try, lies at or beyond the bound.

    ``if_true`` and ``if_false`` are the numbers to expect when the claim holds and when it does not, and ``because`` says
    where they come from; the bound lies between them. ``scope`` names the cell that the part speaks of, which is judged by
    itself. ``within`` is the closed range that a share counts, ``predicted`` what a law says (the number is the distance from
    it). ``slack_ms``: the host moves the number only by a hiccup that is longer. ``noun`` is what the tries are called.
    """

    name: str = ""
    kind: Kind
    of: Selection
    fold: Fold
    relation: Relation
    bound: float
    if_true: float
    if_false: float
    because: str
    role: Role = Role.CLAIM
    scope: str = ""
    against: Selection | None = None
    slope_on: str = ""
    within: tuple[float | None, float | None] = (None, None)
    predicted: float | None = None
    rate_max: float = 0.10
    rate_min: float = 0.05
    deployments_min: int = 0
    slack_ms: float | None = None
    noun: str = ""

    def quantities(self) -> tuple[Selection, ...]:
        """What it measures, and what that is compared with where it is."""
        return (self.of,) if self.against is None else (self.of, self.against)

    @property
    def unit(self) -> str:
        """Of its number: the measure's own, or what a share is of. A ratio has none."""
        if self.fold is Fold.RATIO:
            return ""
        if self.kind is Kind.THIS_RUN:
            return self.noun
        if self.kind in (Kind.FACT, Kind.JAR):
            return "of deployments"
        counts = self.kind not in BY_SIDES or self.fold is Fold.SHARE
        return f"of {self.tries_are}" if counts else MEASURES[self.of.measure].unit

    @property
    def tries_are(self) -> str:
        """What its tries are called, in the plural."""
        return self.noun or f"{MEASURES[self.of.measure].independent.name}s"

    def moved(self, hiccup_ms: float, params: Parameters) -> float:
        """How far a hiccup of the host can have moved one value of its measure, in the measure's unit."""
        if self.slack_ms is not None:
            return 0.0 if hiccup_ms < self.slack_ms else float("inf")
        return MEASURES[self.of.measure].moved_by(hiccup_ms, params)

    def hiccup_ms_max(self, params: Parameters) -> float:
        """The hiccup above which a trial says nothing about the part: it may move a quarter of what decides.

        Infinite where nothing moves the number; of a ratio, a slope and a share the moved number itself is judged.
        """
        if self.slack_ms is not None:
            return self.slack_ms / 4
        if self.fold in (Fold.RATIO, Fold.SLOPE, Fold.SHARE):
            return float("inf")
        a_ms = MEASURES[self.of.measure].moved_by(1.0, params)
        # What must not happen at all has its bound where it is expected; then what else would be seen is asked.
        distance = abs(self.if_true - self.bound) or abs(self.if_false - self.bound)
        return distance / 4 / a_ms if a_ms else float("inf")

    def decides(self) -> dict[str, Any]:
        """What of it decides, as JSON would have it: its name and its reasons in words are no part of that."""
        return {**dataclasses.asdict(self), "name": "", "because": "", "noun": ""}

    def hash(self) -> str:
        """SHA-256 of what decides. Two parts of one claim may have the same, which then ask for the same."""
        return hashlib.sha256(json.dumps(self.decides(), sort_keys=True).encode()).hexdigest()

    def is_too_noisy(self, hiccup_ms: float, params: Parameters) -> bool:
        """Whether a trial of that cell with that hiccup says nothing about the part, which leaves it out."""
        return hiccup_ms > self.hiccup_ms_max(params)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a release's own code leads one to expect, and where it says so."""

    verdict: VerdictKind
    because: str
    source: str


class Weight(StrEnum):
    """What a claim is about for whoever runs a cluster, the worst first."""

    LOSS = "lost messages"
    OUTAGE = "outage"
    DELAY = "delay"
    WATCH = "load"
    ALARMS = "monitoring"
    OTHER = "other"


class Harm(StrEnum):
    """Where a claim says what harms: where it holds, or where it does not."""

    HOLDS = "holds"
    FAILS = "fails"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True)
class Told:
    """A claim in the words of whoever runs a cluster, who has not read the article.

    ``holds`` and ``fails`` say what happens on a release where the claim holds, and where it does not. ``parts`` say it of a part
    whose number changes from one release to another, which are ``{before}`` and ``{after}``; the part ``*`` is any, ``{part}`` its
    name. Of a claim that is a cure ``do`` is what is to be typed or done. ``cures`` are more cures than the claims that name this
    one as their ``cure_of``; a claim may be its own, where what it says goes on helping. ``do_part`` is the part of the claim that
    was run with what ``do`` says, whose figure tells how far it helps. ``asks`` is the question, for where nothing is settled.
    """

    weight: Weight
    harm: Harm = Harm.NEITHER
    holds: str = ""
    fails: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    do: str = ""
    do_part: str = ""
    asks: str = ""
    cures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of an article with its reading, its parts and its expectation by release.

    ``summary`` is the sentence of a finding, in which ``{part name}`` stands for what was found: "61 s (...)", "38 % (...)", or in
    how many of what it was so, "in 2 of 36 stalls (...)", which of a "never" counts what must not be. ``{!name}`` counts where a
    fact is not so, and ``{#name}`` is "2 of 36 owners (...)", for a subject: a sentence that denies nothing reads well whatever
    was found. Two fields say why a claim is not one of a release on which its arms are not run: ``cure_of`` is the claim of the
    failure that it cures, which leaves nothing to cure where it is refuted; ``lacks`` says by release what it has no setting for,
    with the class that would have it. ``told`` says it to whoever runs a cluster. ``beside`` are parts that the sentence tells of
    and that decide nothing: what the claim costs, say. They are no part of the rule.
    """

    id: str
    article: str
    says: str
    reading: str
    parts: tuple[Part, ...]
    expected: Mapping[str, Expectation]
    summary: str = ""
    cure_of: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    told: Told | None = None
    beside: tuple[Part, ...] = ()

    def quantities(self) -> tuple[Selection, ...]:
        """Those of all of its parts."""
        return tuple(quantity for part in self.parts for quantity in part.quantities())

    @property
    def parts_by_sides(self) -> int:
        """How many parts may refute it by luck, any one of which would."""
        return max(1, sum(part.role is Role.CLAIM and part.kind in BY_SIDES for part in self.parts))

    def rule_hash(self) -> str:
        """SHA-256 of what decides: reading and parts. Expectations, names and reasons in words are no part of it."""
        rule = {"id": self.id, "reading": self.reading, "parts": [part.decides() for part in self.parts]}
        return hashlib.sha256(json.dumps(rule, sort_keys=True).encode()).hexdigest()
