"""Since which release a verdict is what it is: the committed bisections, and what an upgrade says by them."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import pytest

import scenarios
from analysis.ledger.since import (
    BOTH,
    RECORDED,
    Bisected,
    Boundary,
    Measured,
    chance_of,
    counts_of,
    load_since,
    since,
)
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.model.findings import PartResult
from harness.model.verdicts import VerdictKind
from mqlab.ask.recorded import committed_ledger, committed_since
from mqlab.run.bisect import boundaries
from tools.since import kept, main

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED


def _bisected(claim: str, *pairs: tuple[str, str], moves: str = BOTH) -> Bisected:
    return Bisected(
        claim=claim, moves=moves, releases=(), boundaries=tuple(Boundary(before=a, after=b) for a, b in pairs)
    )


def test_one_boundary_between_two_releases_is_told_and_two_are_not() -> None:
    found = (
        _bisected("X-1", ("5.0.0", "5.1.0"), ("5.1.4", "5.2.0")),
        _bisected("X-2", ("5.0.0", "5.1.0"), moves="client"),
    )
    assert since(found, "X-1", "4.9.7", "5.1.4") == "5.1.0"
    assert since(found, "X-1", "5.1.0", "5.5.0") == "5.2.0"
    assert since(found, "X-1", "4.9.7", "5.5.0") == ""
    assert since(found, "X-1", "5.2.0", "5.5.0") == ""
    assert since(found, "X-2", "4.9.7", "5.5.0") == ""


def test_a_release_that_cannot_be_run_may_have_made_the_change_as_well() -> None:
    found = Bisected(
        claim="X-1", moves=BOTH, releases=(), boundaries=(Boundary(before="5.2.0", after="5.3.3"),),
        left_out=(("5.3.1", "in part"), ("5.1.3", "in part"), ("5.3.0", "in part"), ("5.3.4", "in part")),
    )  # fmt: skip
    assert since((found,), "X-1", "4.9.7", "5.5.0") == "5.3.3, or 5.3.0 or 5.3.1, which cannot be run"


def test_each_committed_boundary_lies_between_two_verdicts_and_what_is_recorded_is_the_records() -> None:
    recorded = {(one.claim, one.release): one.verdict for one in committed_ledger() if one.backend == "local"}
    assert committed_since()
    for one in committed_since():
        order = [of.release for of in one.releases]
        assert order == sorted(order, key=natural_key)
        decided = {of.release: None if of.verdict is UNDECIDED else of.verdict for of in one.releases}
        assert [(edge.before, edge.after) for edge in one.boundaries] == boundaries(order, decided), one.claim
        for of in one.releases:
            if of.by == RECORDED:
                assert recorded[one.claim, of.release] is of.verdict, (one.claim, of.release)
        # Both sides of a boundary are neighbours among all that can be run.
        everything = sorted([*order, *one.not_measured], key=natural_key)
        for edge in one.boundaries:
            assert (edge.before, edge.after) in itertools.pairwise(everything), (one.claim, edge)


def test_the_table_of_the_documents_is_what_was_bisected() -> None:
    text = (Path(scenarios.__file__).parents[1] / "docs" / "upgrade.md").read_text("utf-8")
    for one in committed_since():
        for of in one.boundaries:
            assert f"| {one.claim} | {of.before} | {of.after} |" in text, one.claim


def test_the_file_only_grows_and_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Measured(release="5.0.0", verdict=CONFIRMED, says="It holds.", by="/somewhere/5.0.0")
    document = tmp_path / "one.json"
    found = {
        "claim": "X-1", "moves": "both", "releases": [measured.__dict__], "not_measured": [], "left_out": [],
        "boundaries": [{"before": "5.0.0", "after": "5.1.0", "differs": []}],
    }  # fmt: skip
    document.write_text(json.dumps(found))
    assert kept(document).releases[0].by == "measured"
    monkeypatch.setattr("tools.since.scenarios.__file__", str(tmp_path / "__init__.py"))
    main([str(document), str(document)])
    assert len(load_since(tmp_path / "since.jsonl")) == 1
    document.write_text(json.dumps(found | {"boundaries": []}))
    with pytest.raises(LedgerError, match="has no boundary"):
        main([str(document)])


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [((1, 112), (0, 40), 1.0), ((0, 40), (20, 40), 7.8e-8), ((3, 3), (0, 3), 0.1), ((0, 5), (0, 9), 1.0),
     ((7, 10), (2, 12), 0.0274)],
)  # fmt: skip
def test_counts_that_one_rate_explains_are_no_boundary(one: tuple[int, int], other: tuple[int, int], p: float) -> None:
    before, after = (
        Measured(release=release, verdict=verdict, says="", by="", counts=(("it", *counts),))
        for release, verdict, counts in (("4.6.0", REFUTED, one), ("4.6.1", CONFIRMED, other))
    )
    assert chance_of(before, after) == pytest.approx(p, rel=0.02)
    edge = Boundary(before="4.6.0", after="4.6.1", chance=chance_of(before, after))
    assert edge.may_be_chance is (p > 0.05)
    found = Bisected(claim="X-1", moves=BOTH, releases=(before, after), boundaries=(edge,))
    assert since([found], "X-1", "4.6.0", "4.6.1") == ("" if p > 0.05 else "4.6.1")


def test_a_claim_that_figures_decide_has_no_chance() -> None:
    part = PartResult(name="it", verdict=CONFIRMED, kind="U", tries=40, events=0)
    line = next(line for line in committed_ledger() if line.claim == "BUSY-10")
    assert counts_of(dataclasses.replace(line, parts=(part,))) == (("it", 0, 40),)
    figure = dataclasses.replace(part, name="other", kind="Q")
    assert counts_of(dataclasses.replace(line, parts=(part, figure))) == ()
    assert chance_of(*[Measured(release="4.6.0", verdict=CONFIRMED, says="", by="")] * 2) is None
