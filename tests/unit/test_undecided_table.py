"""The section of docs/verdicts.md on what is undecided: what the ledger leaves open, and what would decide it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import scenarios
from analysis.verdicts.events import limit_of_none
from analysis.verdicts.sides import decide
from harness.model.findings import Finding, PartResult
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from harness.releases.jars import recorded_releases
from mqlab.ask.recorded import committed_ledger
from tools.recorded.lacking import lacking
from tools.undecided_table import DOCUMENT, TWO_CORES, document, page

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
STUCK = scenarios.find("busy-flag-stuck")
"""Its third and fourth claim are cures, whose arms 4.6.0 and 5.3.3 alone have; its others are of all releases."""
IT = dataclasses.replace(STUCK, name="it", claims=())


@pytest.fixture(scope="module")
def line() -> Finding:
    first = next(one for one in committed_ledger() if one.backend == "local")
    return dataclasses.replace(
        first, claim="X-1", incident="it", release="4.6.0", verdict=UNDECIDED, trials=9, reason=""
    )


def _part(kind: str, reason: str, **more: Any) -> PartResult:
    return PartResult(**{"name": "part", "verdict": UNDECIDED, "kind": kind, "reason": reason, **more})


def _lacks(line: Finding, *parts: PartResult) -> list[str]:
    return [what for _, what in lacking(dataclasses.replace(line, parts=parts))]


def test_the_committed_document_is_the_one_that_the_ledger_makes() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert text == page(text, committed_ledger()), "python -m tools.ledger --recompute"


@pytest.mark.parametrize("tries", [0, 18, 35])
def test_as_many_tries_are_lacking_as_the_limit_of_none_takes(line: Finding, tries: int) -> None:
    (told,) = _lacks(line, _part("U", "too few tries", tries=tries, bound=0.1))
    more = int(told.split()[0])
    assert limit_of_none(tries + more) <= 0.1 < limit_of_none(tries + more - 1)
    assert told == f"{more} more {'try' if more == 1 else 'tries'}"


@pytest.mark.parametrize(("right", "wrong", "near"), [(7, 1, 0), (4, 0, 3), (0, 3, 5), (3, 0, 0), (2, 5, 1)])
def test_as_many_deployments_are_lacking_as_the_odds_take(line: Finding, right: int, wrong: int, near: int) -> None:
    part = _part(
        "Q", "too few deployments on one side", right=right, wrong=wrong, line=near, deployments=right + wrong + near
    )
    (told,) = _lacks(line, part)
    more = int(told.split()[0])
    assert told.endswith("on the side of most")
    assert {decide(right + more, wrong, near), decide(right, wrong + more, near)} != {UNDECIDED}
    assert {decide(right + more - 1, wrong, near), decide(right, wrong + more - 1, near)} == {UNDECIDED}


def test_a_fact_whose_deployments_differ_is_decided_by_no_further_one(line: Finding) -> None:
    assert _lacks(line, _part("F", "too few deployments", deployments=1)) == ["1 more deployment"]
    assert _lacks(line, _part("F", "differs between deployments", deployments=4))[0].startswith("deployments differ")


def test_a_control_that_does_not_hold_is_named_and_one_that_holds_is_not(line: Finding) -> None:
    held, failed = (_part("F", "", role="control", name=name, verdict=kind) for name, kind in
                    (("held", CONFIRMED), ("failed", REFUTED)))  # fmt: skip
    named = [
        part.name for part, _ in lacking(dataclasses.replace(line, parts=(held, failed, _part("S", "not exercised"))))
    ]
    assert named == ["failed", "part"]


def test_what_no_rule_has_a_trial_of_is_told_apart_with_the_command(line: Finding) -> None:
    new = [dataclasses.replace(line, trials=0, parts=(), claim=claim, release=release)
           for claim in ("X-1", "X-2") for release in ("4.6.0", "5.5.0")]  # fmt: skip
    compose = dataclasses.replace(new[0], backend="compose")
    old = dataclasses.replace(line, claim="X-3", parts=(_part("F", "too few deployments", deployments=1),))
    decided = dataclasses.replace(line, claim="X-4", verdict=REFUTED)
    text = document([*new, compose, old, decided], [IT])
    assert "6 of the ledger's 7 lines are undecided: 5 of these have no trial" in text
    assert (
        f"| it | X-1, X-2 | 4.6.0, 5.5.0 | `mqlab verify it --release 4.6.0,5.5.0` | {_minutes(IT, '4.6.0', '5.5.0')} |"
        in text
    )
    assert "| it | X-1 | 4.6.0 | `mqlab verify it --release 4.6.0 --backend compose` | " in text
    assert "| X-3 | 4.6.0 | part | 1 more deployment |" in text
    assert "X-4" not in text


def test_in_containers_the_oldest_and_the_newest_release_are_asked_for_and_no_other(line: Finding) -> None:
    first, second, *_ = (claim.id for claim in STUCK.claims)
    old = dataclasses.replace(line, incident=STUCK.name, backend="compose", claim=first, trials=0, parts=())
    text = document([old, dataclasses.replace(old, release="5.3.3")], [STUCK])
    assert "Clusters in containers are recorded on 4.6.0 and 5.5.0: 1 of their lines are of another release" in text
    rows = [row for row in text.splitlines() if "--backend compose" in row]
    asked = {release for row in rows for release in row.split(" | ")[2].split(", ")}
    assert asked == {"4.6.0", "5.5.0"}
    everywhere = (
        f"| {STUCK.name} | {first}, {second}, {STUCK.claims[-1].id} | 4.6.0, 5.5.0 | `mqlab verify {STUCK.name} "
    )
    assert f"{everywhere}--release 4.6.0,5.5.0 --backend compose`" in text
    decided = dataclasses.replace(old, verdict=REFUTED)
    assert "are of another release" not in document([decided, dataclasses.replace(decided, release="5.3.3")], [STUCK])


def test_the_way_of_a_fault_is_named_where_another_way_of_it_is_decided(line: Finding) -> None:
    part = _part("F", "too few deployments", deployments=1)
    frozen = dataclasses.replace(line, injection="freeze", parts=(part,))
    by_rule = dataclasses.replace(frozen, injection="byteman", verdict=REFUTED)
    text = document([frozen, by_rule], [IT])
    assert "| X-1 (freeze) | 4.6.0 | part | 1 more deployment |" in text
    assert "| X-1 | 4.6.0 | part |" in document([frozen], [IT])
    in_containers = dataclasses.replace(frozen, backend="compose")
    beside = document([in_containers, frozen, by_rule], [IT])
    assert "1 line of clusters in containers is not in the table." in beside
    assert beside.count("| X-1 ") == 1


def test_a_ledger_that_leaves_nothing_open_has_no_tables(line: Finding) -> None:
    assert "|" not in document([dataclasses.replace(line, verdict=CONFIRMED)], [IT])


def _minutes(scenario: Scenario, *releases: str) -> int:
    return round(make_plan(Request(scenarios=[scenario], releases=releases), TWO_CORES).seconds / 60)


def _told(text: str) -> list[tuple[str, str]]:
    """Claims and releases of the rows about the incident, in order."""
    cells = [row.split(" | ") for row in text.splitlines() if row.startswith(f"| {STUCK.name} |")]
    return [(claims, releases) for _, claims, releases, _, _ in cells]


def test_a_claim_without_a_line_is_listed_on_the_releases_that_have_its_arms(line: Finding) -> None:
    text = document([line], [STUCK])
    first, second, *cures, last = (claim.id for claim in STUCK.claims)
    everywhere = (f"{first}, {second}, {last}", "4.6.0, 4.9.7, 5.3.3, 5.5.0")
    assert _told(text) == [everywhere, (", ".join(cures), "4.6.0, 5.3.3")]
    minutes = _minutes(STUCK, "4.6.0", "5.3.3")
    assert f"| 4.6.0, 5.3.3 | `mqlab verify {STUCK.name} --release 4.6.0,5.3.3` | {minutes} |" in text
    assert "1 of the ledger's 1 lines are undecided" in text
    assert "16 more, each a claim on a release, have no line" in text


def test_a_line_keeps_its_claim_from_the_list_on_its_release_alone_and_in_processes_alone(line: Finding) -> None:
    first, *others = (claim.id for claim in STUCK.claims)
    lines = [dataclasses.replace(line, claim=claim, release=release, verdict=REFUTED)
             for claim in others for release in recorded_releases()]  # fmt: skip
    lines += [
        dataclasses.replace(line, claim=first, release=release, verdict=CONFIRMED) for release in ("4.6.0", "5.3.3")
    ]
    in_containers = dataclasses.replace(lines[-1], release="5.5.0", backend="compose")
    assert _told(document([*lines, in_containers], [STUCK])) == [(first, "4.9.7, 5.5.0")]
