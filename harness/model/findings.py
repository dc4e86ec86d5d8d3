"""What the analysis answers: findings with their numbers and their evidence, of one run or of all that is recorded."""

from dataclasses import dataclass

from harness.language import phrase
from harness.model.cells import Parameters
from harness.model.verdicts import VerdictKind, scopes_not_settled, status_of

FROM_RECORD, FROM_RUN, FROM_SUMMARY = "record", "run", "summary"


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """A line of a log or a record of a history that a finding rests on.

    ``file`` is relative to the directory of the ``run``, ``line`` counts from 1; ``operation`` is there where it is about one.
    """

    excerpt: str
    file: str
    line: int
    operation: str = ""
    run: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The distribution of one measure in one cell. ``tries`` counts what is independent of all else, ``n`` the values.

    ``deployments`` is null where nobody counted them. ``low`` and ``high`` bounded the median by the earlier rules; ranges are the
    parts' now. ``n``, ``p90`` and ``p99`` are a run's own, and the record does not keep them.
    """

    name: str
    arm: str
    params: Parameters
    unit: str
    tries: int
    p50: float | None
    min: float | None
    max: float | None
    deployments: int | None = None
    low: float | None = None
    high: float | None = None
    censored: int = 0
    n: int | None = None
    p90: float | None = None
    p99: float | None = None


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """What became of one part: its estimate, its 95 % interval and its own verdict. What its kind does not count is null."""

    name: str
    verdict: VerdictKind
    role: str = "claim"
    kind: str = ""
    """Its letter; empty where an earlier rule judged, which counted neither sides nor deployments."""
    scope: str = ""
    reason: str = ""
    words: str = ""
    """What was found, for a reader."""
    right: int | None = None
    wrong: int | None = None
    line: int | None = None
    """Deployments, or tries of an event, on the right side of the bound, on the wrong one, and too near it to tell."""
    deployments: int | None = None
    values: tuple[float, ...] = ()
    """The number of each deployment, in ascending order."""
    tries: int | None = None
    events: int | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    relation: str = ""
    bound: float | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """A verdict of an earlier rule or experiment, and why there is another one since."""

    run: str
    created: str
    commit: str
    verdict: VerdictKind
    reason: str
    summary: str
    trials: int
    because: str = ""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim in one release on one backend, with its faults made by one injection: by one run, or by all that is recorded.

    ``expected`` is None where the claim has no expectation for the release: it is judged all the same. ``settings`` are those
    of its arms that no release has by itself. ``trials`` is how many count, and ``notes`` say how far the finding carries.
    ``basis`` is ``record`` where the verdict was made from all trials of the ``runs``, ``run`` where it is what the newest run
    found of a claim that no incident has any more, ``summary`` where it is the verdict that an earlier rule gave.
    ``counterexamples`` are those of the record's events that nobody withdrew, in words.
    """

    claim: str
    incident: str
    article: str = ""
    says: str = ""
    release: str
    backend: str
    injection: str
    client: str
    verdict: VerdictKind
    reason: str
    summary: str
    expected: VerdictKind | None
    expected_from_code: str
    rule_commit: str = ""
    rule_hash: str = ""
    settings: tuple[str, ...] = ()
    basis: str = FROM_RECORD
    runs: tuple[str, ...] = ()
    trials: int = 0
    notes: tuple[str, ...] = ()
    parts: tuple[PartResult, ...] = ()
    figures: tuple[Figure, ...] = ()
    evidence: tuple[EvidenceLine, ...] = ()
    counterexamples: tuple[str, ...] = ()
    earlier: tuple[Earlier, ...] = ()

    @property
    def provenance(self) -> str:
        """Where the verdict is from, if it was not measured on the release; empty where it was."""
        return ""

    @property
    def status(self) -> str:
        """The verdict, or that the claim holds in part."""
        return status_of(self.verdict, self.parts)

    @property
    def not_settled(self) -> tuple[str, ...]:
        """The scopes that a refuted claim says nothing of, each with why: it may hold there."""
        return scopes_not_settled(self.parts) if self.verdict is VerdictKind.REFUTED else ()

    def cell(self) -> tuple[str, str, str, str]:
        """Claim, release, backend and injection: what the finding stands for."""
        return (self.claim, self.release, self.backend, self.injection)


@dataclass(frozen=True, kw_only=True)
class CarriedFinding(Finding):
    """A finding of the record, said of a release that it was not measured on: what the claim cites is the same code there."""

    carried_from: str

    @property
    def provenance(self) -> str:
        """Which release was measured."""
        return phrase(
            "carried over from {donor}, not measured on {release}", donor=self.carried_from, release=self.release
        )

    @property
    def status(self) -> str:
        """The verdict, and that it is carried over."""
        return phrase("{status} ({provenance})", status=phrase(super().status), provenance=self.provenance)
