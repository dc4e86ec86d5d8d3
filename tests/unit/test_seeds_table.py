"""docs/seeds.md compares what the runs of each seed say, and names what differs."""

from __future__ import annotations

import dataclasses
from functools import cache

import scenarios
from harness.backends.abilities import LOCAL
from harness.model.findings import Finding, PartResult
from harness.model.verdicts import VerdictKind
from mqlab.compared import UNEXPLAINED, Compared
from mqlab.recorded import committed_ledger, experiment_now
from mqlab.seeds_table import DOCUMENT, compared, document
from tests.lib.ledger import committed


@cache
def _compared() -> list[Compared]:
    return compared(committed(), scenarios.ALL, experiment_now)


def _part(**changed: object) -> PartResult:
    part = PartResult(name="p", verdict=VerdictKind.UNDECIDED, kind="S", right=3, wrong=0, events=None, tries=3)
    return dataclasses.replace(part, **changed)  # type: ignore[arg-type]


def _differ(first: PartResult, other: PartResult) -> bool:
    one = _compared()[0]
    return dataclasses.replace(one, first=first, other=other).differs


def test_the_document_is_what_the_record_makes() -> None:
    made = document(committed_ledger(), _compared())
    assert DOCUMENT.read_text("utf-8") == made, "mqlab ledger --recompute"
    assert UNEXPLAINED not in made, "give it in mqlab/seeds_table.py"


def test_every_part_that_it_compares_has_tries_of_both() -> None:
    parts = _compared()
    assert len(parts) > 100
    assert all(one.first.tries and one.other.tries and one.first.name == one.other.name for one in parts)


def test_the_order_in_which_faults_were_made_keeps_no_line_apart() -> None:
    parts = {(one.line.claim, one.line.release, one.first.name) for one in _compared()}
    assert {("SENDS-01", release, "dead") for release in ("4.6.0", "4.9.7", "5.3.3", "5.5.0")} <= parts


def test_sides_differ_where_most_deployments_lie_on_others() -> None:
    assert _differ(_part(), _part(right=1, wrong=2))
    assert not _differ(_part(), _part(right=2, wrong=1))


def test_what_may_happen_differs_where_one_of_them_alone_saw_it() -> None:
    none = _part(kind="E", right=None, wrong=None, events=0)
    assert _differ(none, dataclasses.replace(none, events=1))
    assert not _differ(dataclasses.replace(none, events=3), dataclasses.replace(none, events=1))


def test_a_verdict_against_the_other_differs_whatever_its_sides() -> None:
    assert _differ(_part(verdict=VerdictKind.CONFIRMED), _part(verdict=VerdictKind.REFUTED))


def _line(release: str, injection: str = "signal", parts: str = "ab") -> Finding:
    line = next(line for line in committed_ledger() if line.claim == "AVOID-01" and line.backend == LOCAL)
    named = tuple(_part(name=name) for name in parts)
    return dataclasses.replace(line, release=release, injection=injection, parts=named, trials=3)


def _both(line: Finding, parts: str) -> list[Compared]:
    return [Compared(line=line, first=_part(name=name), other=_part(name=name)) for name in parts]


def _row(lines: list[Finding], both: list[Compared]) -> list[str]:
    return [row for row in document(lines, both).splitlines() if row.startswith(f"| {lines[0].incident} |")]


def test_what_one_seed_has_tried_is_listed_with_its_releases() -> None:
    lines = [_line("4.6.0"), _line("5.5.0")]
    assert _row(lines, []) == [f"| {lines[0].incident} | AVOID-01 | 4.6.0, 5.5.0 |"]
    assert _row(lines, _both(lines[0], "ab")) == [f"| {lines[0].incident} | AVOID-01 | 5.5.0 |"]
    assert not _row(lines, [*_both(lines[0], "ab"), *_both(lines[1], "ab")])


def test_a_part_that_others_have_not_tried_is_named() -> None:
    line = _line("4.6.0")
    assert _row([line], _both(line, "a")) == [f"| {line.incident} | AVOID-01 (b) | 4.6.0 |"]


def test_one_of_several_ways_is_named() -> None:
    lines = [_line("4.6.0", "byteman"), _line("4.6.0", "freeze")]
    assert _row(lines, _both(lines[1], "ab")) == [f"| {lines[0].incident} | AVOID-01 (byteman) | 4.6.0 |"]
