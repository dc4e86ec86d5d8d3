"""The ledger: what it takes, what it keeps, what it refuses; and its table in the README."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from analysis.ledger.ledger import Ledger, ledger_json, ledger_of, load_ledger
from analysis.ledger.markdown import BEGIN, END, ledger_table
from analysis.ledger.update import rewrite_readme, update_ledger
from analysis.verdicts.document import load_report_data
from harness.errors import LedgerError
from tests.lib.samples import sample, write_document


@pytest.fixture
def document() -> dict[str, Any]:
    return sample()


def make_run(folder: Path, document: dict[str, Any], **manifest: Any) -> Path:
    document = copy.deepcopy(document)
    document["manifest"].update(manifest)
    return write_document(folder, document)


def only(document: dict[str, Any], claim: str, release: str, **changes: Any) -> dict[str, Any]:
    kept = copy.deepcopy(document)
    kept["findings"] = [
        {**finding, **changes}
        for finding in kept["findings"]
        if finding["claim"] == claim and finding["release"] == release
    ]
    assert len(kept["findings"]) == 1
    return kept


@pytest.fixture
def targets(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "scenarios" / "ledger.json", tmp_path / "scenarios" / "LEDGER.md"


# --- format -----------------------------------------------------------------------------------------------------------


def test_an_entry_has_the_keys_of_the_contract(tmp_path: Path, document: dict[str, Any]) -> None:
    ledger = json.loads(ledger_json(ledger_of(load_report_data(make_run(tmp_path, document)))))
    assert ledger["schema"] == 1
    assert ledger["runs"][0]["run"] == document["manifest"]["run"]
    entry = ledger["findings"][0]
    assert set(entry) == {
        *("claim", "release", "backend", "run", "client", "injection", "rule_commit", "validity", "expected"),
        *("verdict", "reason", "summary", "expected_from_code", "trials", "measures", "evidence"),
    }
    assert set(entry["measures"][0]) >= {
        *("name", "arm", "params", "unit", "independent", "n", "p50", "p90", "p99", "min", "max", "low", "high"),
    }
    assert set(entry["evidence"][0]) >= {"excerpt", "file", "line"}


def test_an_unbounded_number_becomes_null_and_the_file_strict_json(tmp_path: Path, document: dict[str, Any]) -> None:
    document["findings"][0]["measures"][0]["high"] = float("inf")
    document["findings"][0]["measures"][0]["low"] = float("nan")
    text = ledger_json(ledger_of(load_report_data(make_run(tmp_path, document))))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_what_is_written_is_read_back_the_same(tmp_path: Path, document: dict[str, Any]) -> None:
    target = tmp_path / "ledger.json"
    text = ledger_json(ledger_of(load_report_data(make_run(tmp_path / "run", document))))
    target.write_text(text, encoding="utf-8")
    assert ledger_json(load_ledger(target)) == text


def test_evidence_carries_its_excerpt_without_control_characters_and_cut(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    hostile = next(f for f in document["findings"] if f["claim"] == "ORDER-11")
    assert "\x00" in hostile["evidence"][0]["excerpt"]
    ledger = ledger_of(load_report_data(make_run(tmp_path, document)))
    excerpt = next(f for f in ledger.findings if f.claim == "ORDER-11").evidence[0].excerpt
    assert "\\x00" in excerpt
    assert len(excerpt) == 400


# --- update -----------------------------------------------------------------------------------------------------------


def test_the_first_update_adds_every_entry_in_one_order(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    document["findings"].reverse()
    update = update_ledger(*targets, [make_run(tmp_path / "run", document)])
    assert len(update.added) == 24
    assert update.replaced == update.kept == update.changed == ()
    cells = [(f["claim"], f["release"]) for f in json.loads(targets[0].read_text(encoding="utf-8"))["findings"]]
    assert cells[:4] == [("BUSY-09", "4.6.0"), ("BUSY-09", "4.9.7"), ("BUSY-09", "5.3.3"), ("BUSY-10", "4.6.0")]


def test_an_update_replaces_what_the_run_covers_and_keeps_the_rest(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    update_ledger(*targets, [make_run(tmp_path / "one", document)])
    newer = only(document, "ORDER-06", "5.3.3", verdict="confirmed", summary="It took 0.7 s.")
    update = update_ledger(*targets, [make_run(tmp_path / "two", newer, run="20261201T000000Z-newer")])
    cell = ("ORDER-06", "5.3.3", "local", "client call")
    assert update.replaced == update.changed == (cell,)
    assert len(update.kept) == 23
    assert str(update) == "0 added, 1 replaced, 23 kept\nORDER-06 5.3.3 local client call is now confirmed"
    entries = {f.cell(): f for f in load_ledger(targets[0]).findings}
    assert (entries[cell].summary, entries[cell].run) == ("It took 0.7 s.", "20261201T000000Z-newer")
    assert entries["ORDER-06", "4.9.7", "local", "client call"].run == document["manifest"]["run"]
    assert len(load_ledger(targets[0]).runs) == 2
    assert "It took 0.7 s." in targets[1].read_text(encoding="utf-8")


def test_another_backend_is_another_entry(tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]) -> None:
    update_ledger(*targets, [make_run(tmp_path / "one", document)])
    docker = only(document, "ORDER-06", "5.3.3", backend="compose")
    update = update_ledger(*targets, [make_run(tmp_path / "two", docker, run="20261201T000000Z-x", backend="compose")])
    assert update.added == (("ORDER-06", "5.3.3", "compose", "client call"),)
    assert update.replaced == ()
    assert "ORDER-06 (compose)" in ledger_table(update.ledger, every=True)
    (row,) = [line for line in ledger_table(update.ledger).splitlines() if "ORDER-06" in line]
    assert row.endswith("| compose: the same on 5.3.3 |")


def test_another_way_of_injection_is_another_entry_and_row(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    update_ledger(*targets, [make_run(tmp_path / "one", document)])
    frozen = only(document, "BUSY-09", "5.3.3", injection="freeze", verdict="refuted", summary="Frozen, it was not so.")
    update = update_ledger(*targets, [make_run(tmp_path / "two", frozen, run="20261201T000000Z-x")])
    assert update.added == (("BUSY-09", "5.3.3", "local", "freeze"),)
    assert update.replaced == ()
    (row,) = [line for line in ledger_table(update.ledger).splitlines() if "BUSY-09" in line]
    assert "Frozen, it was not so." not in row
    assert row.endswith("| freeze: 5.3.3 refuted |")
    rows = [line for line in ledger_table(update.ledger, every=True).splitlines() if "BUSY-09" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| BUSY-09 (byteman)", "| BUSY-09 (freeze)"]
    assert "Frozen, it was not so." in rows[1]
    assert "Frozen, it was not so." not in rows[0]
    assert "BUSY-10 (" not in ledger_table(update.ledger, every=True)


def test_of_two_runs_the_newer_wins_in_whatever_order_they_are_named(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    old = make_run(tmp_path / "old", only(document, "BUSY-10", "4.6.0", summary="old"), run="20261101T000000Z-zz")
    new = make_run(tmp_path / "new", only(document, "BUSY-10", "4.6.0", summary="new"), run="20261102T000000Z-aa")
    update = update_ledger(*targets, [new, old])
    assert [f.summary for f in update.ledger.findings] == ["new"]
    # A run that no entry comes from any more is not listed.
    assert [run.run for run in update.ledger.runs] == ["20261102T000000Z-aa"]


def test_the_same_update_twice_gives_the_same_bytes(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    run = make_run(tmp_path / "run", document)
    update_ledger(*targets, [run])
    before = [target.read_bytes() for target in targets]
    update = update_ledger(*targets, [run])
    assert [target.read_bytes() for target in targets] == before
    assert update.changed == ()


@pytest.mark.parametrize(
    ("manifest", "problem", "advice"),
    [
        ({"dirty": True}, "uncommitted", "Commit"),
        ({"status": "interrupted"}, "interrupted, not complete", "--resume"),
        ({"status": "running"}, "running, not complete", "--resume"),
        ({"effort": "quick"}, "quick effort", "mqlab verify append-stall ordered-lock-handover --release 4.6.0,4.9.7"),
    ],
)
def test_a_run_that_must_not_enter_is_refused_with_what_to_do(
    tmp_path: Path,
    document: dict[str, Any],
    targets: tuple[Path, Path],
    manifest: dict[str, Any],
    problem: str,
    advice: str,
) -> None:
    with pytest.raises(LedgerError, match=problem) as caught:
        update_ledger(*targets, [make_run(tmp_path / "run", document, **manifest)])
    assert advice in caught.value.advice
    assert not targets[0].exists()


def test_one_refused_run_keeps_all_out(tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]) -> None:
    good = make_run(tmp_path / "good", document)
    bad = make_run(tmp_path / "bad", document, dirty=True)
    with pytest.raises(LedgerError, match="uncommitted"):
        update_ledger(*targets, [good, bad])
    assert not targets[0].exists()


def test_a_run_without_findings_is_refused(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    document["findings"] = []
    with pytest.raises(LedgerError, match="no findings"):
        update_ledger(*targets, [make_run(tmp_path / "run", document)])


def test_no_run_at_all_is_refused(targets: tuple[Path, Path]) -> None:
    with pytest.raises(LedgerError, match="no run directory"):
        update_ledger(*targets, [])


@pytest.mark.parametrize("text", ["{", '{"schema": 2}', '{"schema": 1, "findings": [{}]}'])
def test_a_ledger_that_cannot_be_read_is_refused_and_left_alone(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path], text: str
) -> None:
    targets[0].parent.mkdir()
    targets[0].write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError):
        update_ledger(*targets, [make_run(tmp_path / "run", document)])
    assert targets[0].read_text(encoding="utf-8") == text


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_the_table_has_a_row_a_claim_with_words_for_each_release(tmp_path: Path, document: dict[str, Any]) -> None:
    table = ledger_table(ledger_of(load_report_data(make_run(tmp_path, document))))
    rows = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in table.splitlines()}
    assert rows["claim"] == ["the article says", "4.6.0", "4.9.7", "5.3.3", "measured"]
    assert rows["BUSY-10"][1:4] == ["**refuted**"] * 3
    assert rows["ORDER-06"][1:4] == ["confirmed", "confirmed", "**refuted**, expected confirmed"]
    assert rows["ORDER-01"][3] == "undecided (too noisy)"
    assert rows["BUSY-12"][4] == "With 400 ms there were 22 % as many."
    assert rows["ORDER-06"][4].startswith("5.3.3: ")
    assert "<br>" not in rows["ORDER-06"][4]


def test_the_table_of_everything_has_every_releases_sentence(tmp_path: Path, document: dict[str, Any]) -> None:
    table = ledger_table(ledger_of(load_report_data(make_run(tmp_path, document))), every=True)
    (row,) = [line for line in table.splitlines() if line.startswith("| ORDER-06 ")]
    assert "| 4.6.0, 4.9.7: " in row
    assert "<br>5.3.3: " in row


def test_a_release_that_was_not_run_says_so(tmp_path: Path, document: dict[str, Any]) -> None:
    document["findings"] = [
        f for f in document["findings"] if f["claim"] == "BUSY-09" or (f["claim"], f["release"]) == ("BUSY-10", "4.6.0")
    ]
    table = ledger_table(ledger_of(load_report_data(make_run(tmp_path, document))))
    assert table.splitlines()[-1].count("not run") == 2


def test_text_can_neither_break_the_table_nor_become_markup(tmp_path: Path, document: dict[str, Any]) -> None:
    document = only(document, "BUSY-10", "4.6.0", summary="a | b\n| c <script> `d` \x1b")
    document["claims"]["BUSY-10"]["says"] = "says | <b>\nmore"
    table = ledger_table(ledger_of(load_report_data(make_run(tmp_path, document))))
    assert len(table.splitlines()) == 3
    row = table.splitlines()[2]
    assert row.replace("\\|", "").count("|") == 5
    assert "<script>" not in row
    assert "<b>" not in row
    assert "\x1b" not in row


def test_a_fence_in_an_excerpt_does_not_end_the_excerpt(
    tmp_path: Path, document: dict[str, Any], targets: tuple[Path, Path]
) -> None:
    document = only(document, "BUSY-10", "4.6.0")
    document["findings"][0]["evidence"] = [{"excerpt": "a\n```\n# not a title", "file": "f", "line": 1}]
    for line in document["findings"][0]["evidence"]:
        line["operation"] = ""
    update_ledger(*targets, [make_run(tmp_path / "run", document)])
    page = targets[1].parent / "ledger" / "BUSY-10.md"
    assert "  ````text\n  a\n  ```\n  # not a title\n  ````\n" in page.read_text(encoding="utf-8")
    assert "[BUSY-10](ledger/BUSY-10.md)" in targets[1].read_text(encoding="utf-8")


def test_an_empty_ledger_has_a_sentence_instead_of_a_table() -> None:
    assert ledger_table(Ledger()) == "No run is recorded yet."


def test_the_readme_is_rewritten_between_its_markers_and_only_once(tmp_path: Path, document: dict[str, Any]) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nafter\n", encoding="utf-8")
    ledger = ledger_of(load_report_data(make_run(tmp_path / "run", document)))
    assert rewrite_readme(readme, ledger)
    first = readme.read_text(encoding="utf-8")
    assert first == f"# Title\n\n{BEGIN}\n{ledger_table(ledger, pages='scenarios/ledger')}\n{END}\n\nafter\n"
    assert not rewrite_readme(readme, ledger)
    assert readme.read_text(encoding="utf-8") == first


@pytest.mark.parametrize(
    "text", ["no markers", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}", f"{BEGIN}{BEGIN}{END}"]
)
def test_a_readme_without_its_markers_in_order_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match="must have the line"):
        rewrite_readme(readme, Ledger())
    assert readme.read_text(encoding="utf-8") == text
