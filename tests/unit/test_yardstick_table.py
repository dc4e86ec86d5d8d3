"""docs/yardstick.md says of each kept verdict whether the ledger has the same, and why where it has not."""

from __future__ import annotations

import dataclasses
import json

import pytest

from analysis.ledger.record import Summary
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from mqlab.recorded import committed_ledger
from mqlab.yardstick_table import A_PART, BECAUSE, DOCUMENT, NO_TRIAL, RUN, UNEXPLAINED, document
from tests.lib.ledger import committed

KEPT = json.loads((PACKAGES / "tests" / "data" / "yardstick" / "full_runs.json").read_text("utf-8"))


def _then() -> list[Summary]:
    return [one for one in committed().summaries if one.run == RUN]


def _rows(text: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]
    return rows[1:]


def test_the_document_is_what_the_record_and_the_ledger_make() -> None:
    assert DOCUMENT.read_text("utf-8") == document(_then(), committed_ledger()), "mqlab ledger --recompute"


def test_it_counts_every_finding_that_is_kept_and_shows_those_whose_verdict_is_another_one() -> None:
    text = DOCUMENT.read_text("utf-8")
    rows = _rows(text)
    assert f"{len(KEPT) - len(rows)} of the {len(KEPT)} verdicts are the same, {len(rows)} differ." in text
    kept = {(one["claim"], one["release"], one["injection"] == "freeze"): one["verdict"] for one in KEPT}
    for name, release, then, now, why in rows:
        verdict = kept[name.removesuffix(" (freeze)"), release, name.endswith(" (freeze)")]
        assert then.partition(":")[0].partition(" (")[0] == verdict
        assert now.partition(":")[0].partition(" (")[0] != verdict
        assert why.startswith((NO_TRIAL, A_PART, BECAUSE.get(name, NO_TRIAL)))


def test_the_record_s_estimates_are_those_of_the_kept_file() -> None:
    kept, then = {(one["claim"], one["release"], one["injection"]): one["parts"] for one in KEPT}, _then()
    assert len(then) == len(kept)
    for one in then:
        parts = kept[one.claim, one.release, one.injection]
        assert [part.name for part in one.parts] == [part["name"] for part in parts]
        for part, of_file in zip(one.parts, parts, strict=True):
            assert part.estimate == pytest.approx(of_file["estimate"], rel=1e-5)


def test_a_verdict_that_differs_without_a_reason_says_so() -> None:
    (first,) = (one for one in _then() if (one.claim, one.release, one.injection) == ("BUSY-07", "4.6.0", "byteman"))
    other = dataclasses.replace(first, verdict=VerdictKind.REFUTED)
    assert UNEXPLAINED in document([other], committed_ledger())
    assert UNEXPLAINED not in DOCUMENT.read_text("utf-8"), "give it in mqlab/yardstick_table.py"
