"""docs/backends.md lays what containers showed beside what processes did, and names what differs."""

from __future__ import annotations

import dataclasses

from harness.backends.abilities import COMPOSE, LOCAL
from harness.model.verdicts import VerdictKind
from mqlab.backends_table import DOCUMENT, document, paired
from mqlab.compared import UNEXPLAINED
from mqlab.recorded import committed_ledger


def test_the_document_is_what_the_ledger_makes() -> None:
    made = document(committed_ledger())
    assert DOCUMENT.read_text("utf-8") == made, "mqlab ledger --recompute"
    assert UNEXPLAINED not in made, "give it in mqlab/backends_table.py"


def test_a_pair_is_of_one_claim_release_and_injection_and_has_trials_of_both() -> None:
    pairs = paired(committed_ledger())
    assert pairs
    for local, compose in pairs:
        assert (local.backend, compose.backend) == (LOCAL, COMPOSE)
        assert (local.claim, local.release, local.injection) == (compose.claim, compose.release, compose.injection)
        assert local.trials
        assert compose.trials


def test_a_cell_without_a_trial_in_containers_is_no_pair() -> None:
    local, compose = paired(committed_ledger())[0]
    assert not paired([local, dataclasses.replace(compose, trials=0)])
    assert not paired([local, dataclasses.replace(compose, injection="another")])


def test_each_pair_counts_as_one_of_the_four() -> None:
    local, compose = paired(committed_ledger())[0]
    confirmed, refuted, undecided = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
    of = [(confirmed, confirmed), (confirmed, undecided), (undecided, refuted), (confirmed, refuted)]
    lines = [
        dataclasses.replace(line, verdict=verdict, release=f"9.0.{number}", parts=())
        for number, verdicts in enumerate(of)
        for line, verdict in zip((local, compose), verdicts, strict=True)
    ]
    assert f"| {local.incident} | 9.0.0, 9.0.1, 9.0.2, 9.0.3 | 4 | 1 | 1 | 1 | 1 |" in document(lines)
