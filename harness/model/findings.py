"""What the analysis answers: findings with their numbers and their evidence."""

from dataclasses import dataclass

from harness.model.cells import Parameters
from harness.model.verdicts import VerdictKind, status_of


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """A line or record that a finding rests on; ``file`` is relative to the run directory, ``line`` counts from 1."""

    excerpt: str
    file: str
    line: int
    operation: str = ""


@dataclass(frozen=True, kw_only=True)
class MeasureSummary:
    """The distribution of one measure in one cell. ``independent`` counts units, ``n`` values.

    ``low`` and ``high`` bounded its median by the earlier rules; ranges are the parts' now.
    """

    name: str
    arm: str
    params: Parameters
    unit: str
    independent: int
    n: int
    censored: int
    p50: float | None
    p90: float | None
    p99: float | None
    min: float | None
    max: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """What became of one part: its estimate, its 95 % interval and its own verdict."""

    name: str
    verdict: VerdictKind
    reason: str
    estimate: float | None
    low: float | None
    high: float | None
    relation: str
    bound: float
    unit: str
    why: str
    units: int
    kind: str = ""
    """Its letter; empty, as the fields below are, where an earlier rule judged."""
    role: str = ""
    scope: str = ""
    right: int = 0
    wrong: int = 0
    line: int = 0
    """Deployments, or tries of an event, on the right side of the bound, on the wrong one, and too near it to tell."""
    deployments: int = 0
    tries: int = 0
    events: int = 0
    values: tuple[float, ...] = ()
    """The number of each deployment, in ascending order."""
    words: str = ""
    """What was found, for a reader."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim in one release."""

    claim: str
    incident: str
    release: str
    backend: str
    client: str
    injection: str
    rule_commit: str
    rule_hash: str
    validity: tuple[str, ...]
    expected: VerdictKind | None
    """None where the claim has no expectation for the release: it is judged all the same."""
    expected_from_code: str
    verdict: VerdictKind
    reason: str
    summary: str
    trials: int
    parts: tuple[PartResult, ...]
    measures: tuple[MeasureSummary, ...]
    evidence: tuple[EvidenceLine, ...]
    settings: tuple[str, ...] = ()
    """Those that its arms have set otherwise than the releases do by themselves."""

    @property
    def status(self) -> str:
        """The verdict, or that the claim holds in part."""
        return status_of(self.verdict, self.parts)
