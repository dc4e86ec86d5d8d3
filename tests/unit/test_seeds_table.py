"""docs/seeds.md compares what the runs of each seed say, and names what differs."""

from __future__ import annotations

import dataclasses
from functools import cache

import scenarios
from analysis.ledger.lines import LedgerPart
from harness.model.verdicts import VerdictKind
from mqlab.compared import UNEXPLAINED, Compared
from mqlab.recorded import committed_ledger, experiment_now
from mqlab.seeds_table import DOCUMENT, FIRST_SEED, compared, document, seeds_of
from tests.lib.ledger import committed


@cache
def _compared() -> tuple[int, list[Compared]]:
    return compared(committed(), scenarios.ALL, experiment_now)


def _part(**changed: object) -> LedgerPart:
    part = LedgerPart(name="p", verdict=VerdictKind.UNDECIDED, kind="S", right=3, wrong=0, events=None, tries=3)
    return dataclasses.replace(part, **changed)  # type: ignore[arg-type]


def _differ(first: LedgerPart, other: LedgerPart) -> bool:
    _, (one, *_) = _compared()
    return dataclasses.replace(one, first=first, other=other).differs


def test_the_document_is_what_the_record_makes() -> None:
    made = document(committed(), committed_ledger(), scenarios.ALL, _compared())
    assert DOCUMENT.read_text("utf-8") == made, "mqlab ledger --recompute"
    assert UNEXPLAINED not in made, "give it in mqlab/seeds_table.py"


def test_every_part_that_it_compares_has_tries_of_both() -> None:
    lines, parts = _compared()
    assert lines > 100
    assert all(one.first.tries and one.other.tries and one.first.name == one.other.name for one in parts)


def test_sides_differ_where_most_deployments_lie_on_others() -> None:
    assert _differ(_part(), _part(right=1, wrong=2))
    assert not _differ(_part(), _part(right=2, wrong=1))


def test_what_may_happen_differs_where_one_of_them_alone_saw_it() -> None:
    none = _part(kind="E", right=None, wrong=None, events=0)
    assert _differ(none, dataclasses.replace(none, events=1))
    assert not _differ(dataclasses.replace(none, events=3), dataclasses.replace(none, events=1))


def test_a_verdict_against_the_other_differs_whatever_its_sides() -> None:
    assert _differ(_part(verdict=VerdictKind.CONFIRMED), _part(verdict=VerdictKind.REFUTED))


def test_an_incident_without_a_second_seed_is_listed_with_its_releases() -> None:
    text = DOCUMENT.read_text("utf-8")
    for incident, seeds in seeds_of(committed()).items():
        one_seed = {release for release, _ in seeds} - {release for release, seed in seeds if seed != FIRST_SEED}
        row = next((line for line in text.splitlines() if line.startswith(f"| {incident} |")), "| | |")
        listed = set(row.split("|")[2].strip().split(", ")) - {""}
        assert listed == one_seed, incident
