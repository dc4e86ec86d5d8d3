"""docs/backends.md lays what containers showed beside what processes did, and names what differs."""

from __future__ import annotations

import dataclasses
from functools import cache

import pytest

from harness.backends.abilities import COMPOSE, LOCAL
from harness.model.verdicts import VerdictKind
from mqlab.backends_table import DOCUMENT, document
from mqlab.compared import UNEXPLAINED, Pair, paired
from mqlab.recorded import committed_ledger


def test_the_document_is_what_the_ledger_makes() -> None:
    made = document(committed_ledger())
    assert DOCUMENT.read_text("utf-8") == made, "mqlab ledger --recompute"
    assert UNEXPLAINED not in made, "give it in mqlab/backends_table.py"


@cache
def _pairs() -> list[Pair]:
    local, compose = ([line for line in committed_ledger() if line.backend == backend] for backend in (LOCAL, COMPOSE))
    return paired(local, compose)


def test_a_pair_is_of_one_claim_and_release_and_has_trials_of_both() -> None:
    assert _pairs()
    for local, compose in _pairs():
        assert (local.backend, compose.backend) == (LOCAL, COMPOSE)
        assert (local.claim, local.release) == (compose.claim, compose.release)
        assert local.trials
        assert compose.trials


def test_a_cell_without_a_trial_in_containers_is_no_pair() -> None:
    local, compose = _pairs()[0]
    assert not paired([local], [dataclasses.replace(compose, trials=0)])
    assert not paired([local], [])


@pytest.mark.parametrize(
    ("ways", "others", "expected"),
    [
        pytest.param(["freeze"], ["freeze"], {("freeze", "freeze")}, id="same"),
        pytest.param(["pause, signal"], ["signal, pause"], {("pause, signal", "signal, pause")}, id="order"),
        pytest.param(["signal, cgroup"], ["signal"], {("signal, cgroup", "signal")}, id="some-not-made"),
        pytest.param(["signal"], ["none"], {("signal", "none")}, id="none-made"),
        pytest.param(["freeze"], ["byteman"], set(), id="another-way"),
        pytest.param(["byteman", "freeze"], ["freeze"], {("freeze", "freeze")}, id="one-of-two-ways"),
        pytest.param(["byteman", "freeze"], ["none"], set(), id="which-of-two"),
    ],
)
def test_which_lines_are_of_one_way(ways: list[str], others: list[str], expected: set[tuple[str, str]]) -> None:
    local, compose = _pairs()[0]
    made = paired(
        [dataclasses.replace(local, injection=way) for way in ways],
        [dataclasses.replace(compose, injection=way) for way in others],
    )
    assert {(one.injection, two.injection) for one, two in made} == expected


def test_each_pair_counts_as_one_of_the_four() -> None:
    local, compose = _pairs()[0]
    confirmed, refuted, undecided = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
    of = [(confirmed, confirmed), (confirmed, undecided), (undecided, refuted), (confirmed, refuted)]
    lines = [
        dataclasses.replace(line, verdict=verdict, release=f"9.0.{number}", parts=())
        for number, verdicts in enumerate(of)
        for line, verdict in zip((local, compose), verdicts, strict=True)
    ]
    assert f"| {local.incident} | 9.0.0, 9.0.1, 9.0.2, 9.0.3 | 4 | 1 | 1 | 1 | 1 |" in document(lines)
