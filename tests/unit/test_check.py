"""A check of a release: what it looks at first, what it repeats, and its three lists, on hand-made findings."""

from __future__ import annotations

import dataclasses
import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import scenarios
from analysis.ledger.checked import Outcome, checked, lines
from harness.errors import EXIT_USAGE
from harness.host.facts import Host
from harness.model.findings import Finding, PartResult
from harness.model.verdicts import VerdictKind
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from mqlab.ask.carried import other_code
from mqlab.ask.recorded import usual_verdicts
from mqlab.main import main
from mqlab.run import check

UNDECIDED, CONFIRMED, REFUTED = VerdictKind.UNDECIDED, VerdictKind.CONFIRMED, VerdictKind.REFUTED
HOST = Host(cores=2, memory_mb=23_500)


def _finding(claim: str, verdict: VerdictKind, release: str, estimate: float, trials: int = 3) -> Finding:
    part = PartResult(
        name="p", verdict=verdict, reason="", estimate=estimate, relation="<=", bound=16.0, unit="s", kind="Q",
        words=f"{estimate:g} s",
    )  # fmt: skip
    return Finding(
        claim=claim, incident="append-stall", release=release, backend="local", client="java", injection="byteman",
        rule_hash="rule", expected=CONFIRMED, expected_from_code="", verdict=verdict, reason="", summary="It took long.",
        trials=trials, parts=(part,), says="Something holds.",
    )  # fmt: skip


def _found(verdict: VerdictKind, estimate: float, trials: int = 3) -> Outcome:
    reference = [_finding("BUSY-09", CONFIRMED, "5.3.3", 13.0)]
    (row,) = checked([_finding("BUSY-09", verdict, "5.1.4", estimate, trials)], reference)
    return row.outcome


def test_a_verdict_counts_before_what_one_cluster_leans_to() -> None:
    assert _found(CONFIRMED, 14.0) is Outcome.SAME
    assert _found(REFUTED, 24.0) is Outcome.DIFFERENT
    assert _found(UNDECIDED, 14.0) is Outcome.CHECKED
    assert _found(UNDECIDED, 24.0) is Outcome.LOOKS_DIFFERENT


def test_what_no_trial_counts_for_was_not_run_and_is_never_as_there() -> None:
    assert _found(UNDECIDED, 14.0, trials=0) is Outcome.NOT_RUN
    (row,) = checked([], [_finding("BUSY-09", CONFIRMED, "5.3.3", 13.0)])
    assert row.outcome is Outcome.NOT_RUN


def test_the_lists_name_each_claim_once_and_both_sides_of_what_differs() -> None:
    reference = [_finding(claim, CONFIRMED, "5.3.3", 13.0) for claim in ("BUSY-07", "BUSY-08", "BUSY-09", "BUSY-10")]
    here = [_finding("BUSY-07", REFUTED, "5.1.4", 24.0), _finding("BUSY-08", UNDECIDED, "5.1.4", 14.0)]
    told = lines(
        checked(here, reference), release="5.1.4", reference="5.3.3", same_code={"BUSY-09": True, "BUSY-10": False}
    )
    text = "\n".join(told)
    assert "different 1, looks different 0, as on 5.3.3 0 by a verdict and 1 by one cluster" in told[0]
    assert "      5.1.4: refuted: It took long.\n      5.3.3: confirmed: It took long." in text
    assert "not run, other code: BUSY-10" in text
    assert "the same code, so that it is likely as on 5.3.3: BUSY-09" in text


class _Steps(check.Steps):
    """With findings of its own in place of an analysis."""

    findings: tuple[Finding, ...] = ()

    def look(self, run: Path) -> Any:
        return checked(self.findings, self.reference)


def _steps(names: tuple[str, ...], minutes: float = 60.0, release: str = "5.5.0") -> _Steps:
    found = [scenarios.find(name) for name in names]
    reference = check.reference_of("5.3.3", found)
    return _Steps(
        request=Request(scenarios=found, releases=(release,)), reference=reference,
        chances=dict(check.chances(found, reference, release)), host=HOST, clock=lambda: 0.0, deadline_s=60 * minutes,
        console=Console(file=io.StringIO()), analyse=lambda run: None,
    )  # fmt: skip


def test_the_first_step_is_short_and_its_manifest_has_all_that_may_come() -> None:
    steps = _steps(("append-stall", "busy-flag-stuck", "retry-topic-flood", "rolling-upgrade"))
    first = steps.first()
    plan = make_plan(first, HOST)
    assert 0 < plan.seconds <= check.FIRST_S
    assert {one.name for one in first.scenarios} == {one.scenario.name for one in steps.looks} | {
        one.name for one in first.scenarios if not first.deployments[one.name]
    }
    assert {one.index for one in plan.deployments()} == {1}


def test_claims_of_other_code_are_looked_at_before_those_of_the_same() -> None:
    steps = _steps(("ordered-lock-ratio", "busy-flag-stuck", "idle-broker-burns-cpu"))
    by_claim = {
        claim: chance for claim, chance in steps.chances.items() if claim.startswith(("ORDER", "X-busy", "X-idle"))
    }
    assert {check.SAME_CODE, check.OTHER_CODE} >= {*by_claim.values()}
    gains = [one.worth for one in steps.looks]
    assert gains == sorted(gains, reverse=True)


def test_what_looks_different_is_repeated_in_all_other_deployments_of_its_arms_alone(
    tmp_path: Path, monkeypatch: Any
) -> None:
    steps = _steps(("busy-flag-stuck", "append-stall"))
    line = next(one for one in steps.reference if one.incident == "busy-flag-stuck")
    part = dataclasses.replace(line.parts[0], kind="F", estimate=1.0, verdict=UNDECIDED, role="claim")
    known = dataclasses.replace(part, estimate=0.0)
    steps.reference = [dataclasses.replace(line, parts=(known,), rule_hash="r")]
    other = dataclasses.replace(line, release="5.5.0", verdict=UNDECIDED, parts=(part,), rule_hash="r", trials=1)
    steps.findings = (other,)
    seen = [_Deployment("busy-flag-stuck", 1), _Deployment("append-stall", 1)]
    monkeypatch.setattr(check, "read_run_directory", lambda run: _Directory(seen))
    again = steps.further(tmp_path)
    assert again is not None
    (scenario,) = again.scenarios
    asked = {
        quantity.arm
        for claim in scenarios.find("busy-flag-stuck").claims
        if claim.id == line.claim
        for quantity in claim.quantities()
    }
    assert {arm.name for arm in scenario.arms} == asked
    assert again.deployments == {"busy-flag-stuck": (2, 3, 4, 5)}
    monkeypatch.setattr(check, "read_run_directory", lambda run: _Directory([*seen, _Deployment("busy-flag-stuck", 5)]))
    assert steps.further(tmp_path) is None


def test_without_time_left_nothing_more_is_asked_for(tmp_path: Path, monkeypatch: Any) -> None:
    steps = _steps(("busy-flag-stuck", "append-stall"), minutes=0.1)
    monkeypatch.setattr(check, "read_run_directory", lambda run: _Directory([]))
    assert steps.further(tmp_path) is None


def test_how_likely_a_verdict_differs_is_as_the_record_has_it() -> None:
    by_claim: dict[str, dict[str, Finding]] = {}
    for line in usual_verdicts(scenarios.ALL):
        by_claim.setdefault(line.claim, {})[line.release] = line
    pairs: dict[bool, list[bool]] = {True: [], False: []}
    for scenario in scenarios.ALL:
        arms = {arm.name: arm for arm in scenario.arms}
        for claim in scenario.claims:
            asked = [arms[quantity.arm] for quantity in claim.quantities() if quantity.arm in arms]
            for a, b in itertools.permutations(by_claim.get(claim.id, {}).values(), 2):
                pairs[bool(other_code(claim, asked, a.release, b.release))].append(a.verdict is not b.verdict)
    assert sum(pairs[False]) / len(pairs[False]) == pytest.approx(check.SAME_CODE, abs=0.01)
    assert sum(pairs[True]) / len(pairs[True]) == pytest.approx(check.OTHER_CODE, abs=0.02)


@dataclasses.dataclass
class _Deployment:
    incident: str
    index: int


class _Directory:
    def __init__(self, deployments: list[_Deployment]) -> None:
        self.deployments, self.trials = deployments, ()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check",), "a check is of one release"),
        (("check", "--release", "5.5.0,5.3.3"), "a check is of one release"),
        (("check", "--release", "5.5.0", "--against", "5.5.0"), "is the release itself"),
        (("check", "--release", "5.5.0", "--against", "5.1.4"), "nothing is recorded of it"),
        (("check", "--release", "5.5.0"), "5.5.0 is measured itself"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(words: tuple[str, ...], says: str, capsys: Any) -> None:
    assert main(words) == EXIT_USAGE
    assert says in capsys.readouterr().err
