"""Cells without a verdict: each says what its release lacks, or that nothing is to be cured there, or that it was not run."""

from __future__ import annotations

import dataclasses
import re

import pytest

import scenarios
from analysis.ledger.absent import absence, never_run, not_applicable
from analysis.ledger.markdown import ledger_table
from harness.model.findings import Finding
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.releases.jars import recorded_releases
from harness.releases.settings import settings_of
from mqlab.ask.recorded import committed_ledger

IS_4X = ("4.6.0", "4.9.7")
IS_5X = ("5.3.3", "5.5.0")
LEFT: dict[str, tuple[str, ...]] = {
    "X-avoidance-mended-05": ("4.6.0", *IS_5X),
    "X-avoidance-mended-06": (*IS_4X, "5.3.3"),
    "X-delayed-message-fails-once-04": IS_5X,
    "X-delayed-message-fails-once-05": IS_5X,
    "X-restarted-broker-forgets-consumers-03": IS_5X,
    "X-restarted-broker-forgets-consumers-07": IS_4X,
}
"""What was left out, though another face of the incident is there: a cure may help, and nobody knows. Of clients of another release
than the brokers' one pair each way is run."""
CLASS = re.compile(r"\b(?:[A-Z]+[a-z]+){2,}\b")
STUCK, CURE = "X-busy-flag-stuck-01", "X-busy-flag-stuck-03"


def _claims() -> list[tuple[Scenario, Claim]]:
    return [(scenario, claim) for scenario in scenarios.ALL for claim in scenario.claims]


@pytest.fixture(scope="module")
def lines() -> list[Finding]:
    return committed_ledger()


def test_each_reported_claim_without_a_line_is_not_applicable_by_a_class_or_said_to_be_left(
    lines: list[Finding],
) -> None:
    reasons = not_applicable(lines, scenarios.ALL, recorded_releases())
    there = {(line.claim, line.release) for line in lines if line.backend == "local"}
    absent = [
        (claim.id, release)
        for scenario, claim in _claims()
        for release in recorded_releases()
        if claim.id.startswith("X-") and (claim.id, release) not in there and not scenario.asks(claim, release)
    ]
    left = {cell for cell in absent if cell not in reasons}
    assert left == {(claim, release) for claim, on in LEFT.items() for release in on}
    assert [cell for cell in absent if cell in reasons and not CLASS.search(reasons[cell])] == []
    assert not there & reasons.keys()


def _settings(release: str) -> set[str]:
    known = settings_of(release)
    return {*known.broker, *known.client}


def test_what_a_release_lacks_is_none_of_its_settings_and_one_of_the_newest(lines: list[Finding]) -> None:
    newest = _settings(recorded_releases()[-1])
    said = 0
    for scenario, claim in _claims():
        for release, reason in claim.lacks.items():
            named = [word for word in re.findall(r"\w+", reason) if word in newest]
            assert named, claim.id
            assert not [word for word in named if word in _settings(release)], claim.id
            assert not scenario.asks(claim, release)
            assert reason in absence(claim.id, release, not_applicable(lines, scenarios.ALL, (release,)))
            said += 1
    assert said == 14


def test_a_cure_names_a_failure_of_its_own_incident() -> None:
    for scenario, claim in _claims():
        assert not claim.cure_of or claim.cure_of in {one.id for one in scenario.claims} - {claim.id}


@pytest.mark.parametrize("verdict", [VerdictKind.CONFIRMED, VerdictKind.UNDECIDED, None])
def test_a_failure_that_is_not_refuted_leaves_its_cure_not_run(
    lines: list[Finding], verdict: VerdictKind | None
) -> None:
    before = absence(CURE, "4.9.7", not_applicable(lines, scenarios.ALL, ("4.9.7",)))
    assert before == f"not applicable (nothing to cure, {STUCK} is refuted: CommitLog.asyncPutMessage)"
    others = [one for one in lines if (one.claim, one.release) != (STUCK, "4.9.7")]
    (stuck,) = [one for one in lines if (one.claim, one.release, one.backend) == (STUCK, "4.9.7", "local")]
    other = [dataclasses.replace(stuck, verdict=verdict)] if verdict else []
    assert absence(CURE, "4.9.7", not_applicable([*others, *other], scenarios.ALL, ("4.9.7",))) == "not run"


def test_a_cure_that_could_be_run_is_not_run_whatever_is_refuted(lines: list[Finding]) -> None:
    assert absence(CURE, "4.6.0", not_applicable(lines, scenarios.ALL, ("4.6.0",))) == "not run"


def test_an_upgrade_to_the_release_that_is_there_is_a_restart_and_lacks_no_run(lines: list[Finding]) -> None:
    rolling = scenarios.find("rolling-upgrade")
    reasons = not_applicable(lines, [rolling], recorded_releases())
    of_newest = {(claim.id, "5.5.0") for claim in rolling.claims}
    assert set(reasons) == of_newest
    assert absence(rolling.claims[0].id, "5.5.0", reasons) == (
        "not applicable (an upgrade from 5.5.0 to itself is a restart)"
    )
    never = {(claim, release) for _, claim, release in never_run([], scenarios.ALL, recorded_releases())}
    assert never & {(claim.id, release) for claim in rolling.claims for release in recorded_releases()} == {
        (claim.id, release) for claim in rolling.claims for release in ("4.6.0", "4.9.7", "5.3.3")
    }
    there = dataclasses.replace(lines[0], claim=rolling.claims[0].id, release="5.5.0", backend="local")
    assert (there.claim, "5.5.0") not in not_applicable([there], [rolling], recorded_releases())


def test_the_ledger_shows_the_reason(lines: list[Finding]) -> None:
    of = [line for line in lines if line.claim in (STUCK, CURE)]
    cure = ledger_table(of, not_applicable(lines, scenarios.ALL, recorded_releases()), every=True).splitlines()[-1]
    assert cure.count(f"not applicable (nothing to cure, {STUCK} is refuted: CommitLog.asyncPutMessage)") == 2


def test_no_reason_is_part_of_a_rule() -> None:
    claim = next(claim for _, claim in _claims() if claim.lacks)
    assert dataclasses.replace(claim, lacks={}, cure_of="X-1").rule_hash() == claim.rule_hash()
