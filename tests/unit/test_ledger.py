"""The ledger: made from the record and the rules alone, its tables, and a run's own."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import scenarios
from analysis.ledger.journal import Entry, append
from analysis.ledger.lines import LEDGER, as_recorded, document_text, lines_text, load_lines, ordered, plain
from analysis.ledger.markdown import ledger_document, ledger_table
from analysis.report.document import load_report_data
from harness.errors import EXIT_OK, EXIT_USAGE, LedgerError
from harness.model.findings import FROM_SUMMARY, Finding
from harness.model.scenario import Scenario
from harness.model.verdicts import HOLDS_IN_PART, VerdictKind
from harness.paths import PACKAGES
from mqlab.ask.recorded import committed_ledger, experiment_now
from tests.lib.ledger import EVENT, committed, record_of, summary
from tests.lib.samples import sample, write_document
from tools.ledger import main as program
from tools.recorded.articles import MARKERS, articles_wrong
from tools.recorded.must_know import MUST_KNOW, sentences
from tools.recorded.readme import BEGIN, END, FAMILIES, STATUSES, families_table
from tools.recorded.recompute import recompute
from tools.recorded.record import read_record
from tools.recorded.write import RECORD, made_files, write_ledger

CONFIRMED, REFUTED = VerdictKind.CONFIRMED, VerdictKind.REFUTED


@pytest.fixture
def document() -> dict[str, Any]:
    return sample()


def only(document: dict[str, Any], claim: str, release: str, **changes: Any) -> dict[str, Any]:
    kept = copy.deepcopy(document)
    kept["findings"] = [
        {**finding, **changes}
        for finding in kept["findings"]
        if finding["claim"] == claim and finding["release"] == release
    ]
    assert len(kept["findings"]) == 1
    return kept


def lines(folder: Path, document: dict[str, Any]) -> list[Finding]:
    return ordered(map(as_recorded, load_report_data(write_document(folder, document)).findings))


# --- what is committed ------------------------------------------------------------------------------------------------


def test_the_committed_ledger_is_the_one_that_record_and_rules_make() -> None:
    folder = PACKAGES / "scenarios"
    for path, text in made_files(folder, committed(), scenarios.ALL, experiment_now).items():
        assert path.read_text("utf-8") == text, f"python -m tools.ledger --recompute ({path.name})"


def test_a_claim_has_a_second_line_only_where_its_fault_was_made_in_another_way() -> None:
    """A run that was stopped before any fault knows of no injection, and is of the same line as the whole run after it."""
    record, lines = committed(), load_lines(PACKAGES / "scenarios" / LEDGER)
    by_place: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for line in lines:
        by_place[line.claim, line.release, line.backend].append(line)
    chosen = {(trial.incident, trial.chosen_injection) for run in record.runs for trial in run.trials}
    assert [
        line.cell()
        for several in by_place.values()
        if len(several) > 1
        for line in several
        if (line.incident, line.injection) not in chosen
    ] == []
    assert max(map(len, by_place.values())) == 2


@pytest.mark.parametrize(
    ("claim", "release", "verified", "words"),
    [
        ("ORDER-06", "5.3.3", True, "63.4 s"),
        ("ORDER-09", "4.6.0", False, "8.6 s"),
        ("QUEUES-04", "5.3.3", False, "53 messages"),
        ("POOL-12", "5.3.3", False, "1,481"),
        ("POOL-12", "5.3.3", False, "18, 97, 103 and 433"),
        ("NAMES-03", "5.3.3", False, "145 messages"),
        ("", "4.6.0", True, "did not start"),
    ],
)
def test_counterexamples_that_later_runs_had_replaced_are_in_the_record(
    claim: str, release: str, verified: bool, words: str
) -> None:
    events = committed().events
    (found,) = [one for one in events if (one.claim, one.release) == (claim, release) and words in one.says]
    assert found.verified is verified
    assert len(found.records) >= 1 + verified


# --- recompute --------------------------------------------------------------------------------------------------------

GONE: tuple[Scenario, ...] = ()
"""A claim that no incident has any more is told by its summaries."""


def test_the_newest_summary_is_told_and_the_earlier_ones_stay(tmp_path: Path) -> None:
    old = summary("old", CONFIRMED, recorded="2026-11-20", because="measured again")
    new = summary("new", REFUTED, recorded="2026-11-21")
    beside = summary("beside", CONFIRMED, recorded="2026-11-22", summary="")
    (line,) = recompute(record_of(tmp_path / "record", new, old, beside), GONE, experiment_now)
    assert (line.verdict, line.summary, line.runs, line.basis) == (REFUTED, "As new has it.", ("new",), FROM_SUMMARY)
    assert [(one.run, one.verdict, one.because) for one in line.earlier] == [
        ("beside", CONFIRMED, ""), ("old", CONFIRMED, "measured again"),
    ]  # fmt: skip


def test_a_counterexample_stays_until_it_is_withdrawn(tmp_path: Path) -> None:
    folder = tmp_path / "record"
    (line,) = recompute(record_of(folder, summary("old", CONFIRMED), events=(EVENT,)), GONE, experiment_now)
    assert line.counterexamples == ("verified: a queue waited for 63.4 s",)
    append(folder, Entry(kind="withdrawn", about="late", at="x", because="the harness made it", commit="c"))
    (line,) = recompute(read_record(folder), GONE, experiment_now)
    assert line.counterexamples == ()


def test_what_is_written_is_read_back_the_same(tmp_path: Path, document: dict[str, Any]) -> None:
    text = lines_text(lines(tmp_path / "run", document))
    (tmp_path / "ledger.jsonl").write_text(text, encoding="utf-8")
    assert lines_text(load_lines(tmp_path / "ledger.jsonl")) == text


@pytest.mark.parametrize("text", ["{", "[]", '{"claim": "BUSY-01"}'])
def test_a_ledger_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.jsonl").write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(LedgerError, match=r"ledger.jsonl:1 is not as expected"):
        load_lines(tmp_path / "ledger.jsonl")


def test_making_the_ledger_says_which_verdicts_changed(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    first = record_of(folder / RECORD, summary("old", CONFIRMED))
    assert write_ledger(folder, first, GONE, experiment_now)[:2] == [
        "1 findings, 1 of them with another verdict",
        "ORDER-06 5.3.3 local client call is now confirmed",
    ]
    (folder / RECORD / "more.jsonl").write_text(lines_text([summary("new", REFUTED, recorded="2026-11-21")]), "utf-8")
    append(folder / RECORD, Entry(kind="summaries", about="more", at="x"), ["more.jsonl"])
    said = write_ledger(folder, read_record(folder / RECORD), GONE, experiment_now)
    assert said[1] == "ORDER-06 5.3.3 local client call is now refuted, was confirmed"
    assert write_ledger(folder, read_record(folder / RECORD), GONE, experiment_now) == [
        "1 findings, 0 of them with another verdict"
    ]


# --- a run's own ------------------------------------------------------------------------------------------------------


def test_a_line_has_the_fields_of_the_contract(tmp_path: Path, document: dict[str, Any]) -> None:
    entry = json.loads(document_text(lines(tmp_path, document)))["findings"][0]
    assert set(entry) >= {
        *("claim", "release", "backend", "injection", "client", "verdict", "reason", "summary", "expected"),
        *("expected_from_code", "settings", "runs", "parts", "figures", "evidence", "earlier"),
    }
    assert set(entry["parts"][0]) >= {
        *("name", "role", "kind", "verdict", "right", "wrong", "line", "deployments", "values", "tries", "events"),
        *("estimate", "low", "high", "bound", "unit"),
    }
    assert set(entry["figures"][0]) >= {
        *("name", "arm", "params", "unit", "deployments", "tries", "p50", "min", "max"),
    }
    assert set(entry["evidence"][0]) >= {"excerpt", "file", "line"}
    assert set(json.loads(lines_text(lines(tmp_path / "again", document)).splitlines()[0])) == set(entry)


def test_an_unbounded_number_becomes_null_and_the_file_strict_json(tmp_path: Path, document: dict[str, Any]) -> None:
    document["findings"][0]["figures"][0]["high"] = float("inf")
    document["findings"][0]["figures"][0]["low"] = float("nan")
    text = document_text(lines(tmp_path, document))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_evidence_carries_its_excerpt_without_control_characters_and_cut(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    hostile = next(f for f in document["findings"] if f["claim"] == "ORDER-11")
    assert "\x00" in hostile["evidence"][0]["excerpt"]
    excerpt = next(line for line in lines(tmp_path, document) if line.claim == "ORDER-11").evidence[0].excerpt
    assert "\\x00" in excerpt
    assert len(excerpt) == 400


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_another_backend_is_another_row(tmp_path: Path, document: dict[str, Any]) -> None:
    docker = lines(tmp_path / "two", only(document, "ORDER-06", "5.3.3", backend="compose"))
    both = [*lines(tmp_path / "one", document), *docker]
    assert "ORDER-06 (compose)" in ledger_table(both, every=True)
    (row,) = [line for line in ledger_table(both).splitlines() if "ORDER-06" in line]
    assert row.endswith("| compose: the same on 5.3.3 |")


def test_another_way_of_injection_is_another_row(tmp_path: Path, document: dict[str, Any]) -> None:
    changed = only(
        document, "BUSY-09", "5.3.3", injection="freeze", verdict="refuted", summary="Frozen, it was not so."
    )
    both = [*lines(tmp_path / "one", document), *lines(tmp_path / "two", changed)]
    (row,) = [line for line in ledger_table(both).splitlines() if "BUSY-09" in line]
    assert "Frozen, it was not so." not in row
    assert row.endswith("| freeze: 5.3.3 refuted |")
    rows = [line for line in ledger_table(both, every=True).splitlines() if "BUSY-09" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| BUSY-09 (byteman)", "| BUSY-09 (freeze)"]
    assert "Frozen, it was not so." in rows[1]
    assert "Frozen, it was not so." not in rows[0]
    assert "BUSY-10 (" not in ledger_table(both, every=True)


def test_the_table_has_a_row_a_claim_with_words_for_each_release(tmp_path: Path, document: dict[str, Any]) -> None:
    table = ledger_table(lines(tmp_path, document))
    rows = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in table.splitlines()}
    assert rows["claim"] == ["the article says", "4.6.0", "4.9.7", "5.3.3", "measured"]
    assert rows["BUSY-10"][1:4] == ["**refuted**"] * 3
    assert rows["ORDER-06"][1:4] == ["confirmed", "confirmed", "**refuted**, expected confirmed"]
    assert rows["ORDER-01"][3] == "undecided (too noisy)"
    assert rows["BUSY-12"][4] == "With 400 ms there were 22 % as many."
    assert rows["ORDER-06"][4].startswith("5.3.3: ")
    assert "<br>" not in rows["ORDER-06"][4]


def test_a_line_without_an_expectation_says_so(tmp_path: Path, document: dict[str, Any]) -> None:
    (line,) = lines(tmp_path, only(document, "ORDER-06", "5.3.3", expected=None, expected_from_code=""))
    assert "| **refuted**, no expectation |" in ledger_table([line])
    assert "\n- expected from the code: no expectation.\n" in ledger_document([line])
    assert '"expected": null' in lines_text([line])
    (tmp_path / LEDGER).write_text(lines_text([line]), encoding="utf-8")
    assert load_lines(tmp_path / LEDGER)[0].expected is None


def test_a_whole_number_is_recorded_exactly_and_a_fraction_with_six_digits() -> None:
    """A frame of 16,777,230 bytes is longer than the limit; of six digits it would be shorter."""
    assert plain([2147483647.0, 16_777_230.0, 1234.56789, 3.0]) == [2147483647, 16_777_230, 1234.57, 3]


def test_the_table_of_everything_has_every_releases_sentence(tmp_path: Path, document: dict[str, Any]) -> None:
    table = ledger_table(lines(tmp_path, document), every=True)
    (row,) = [line for line in table.splitlines() if line.startswith("| ORDER-06 ")]
    assert "| 4.6.0, 4.9.7: " in row
    assert "<br>5.3.3: " in row


def test_a_release_that_was_not_run_says_so(tmp_path: Path, document: dict[str, Any]) -> None:
    document["findings"] = [
        f for f in document["findings"] if f["claim"] == "BUSY-09" or (f["claim"], f["release"]) == ("BUSY-10", "4.6.0")
    ]
    table = ledger_table(lines(tmp_path, document))
    assert table.splitlines()[-1].count("not run") == 2


def test_text_can_neither_break_the_table_nor_become_markup(tmp_path: Path, document: dict[str, Any]) -> None:
    document = only(document, "BUSY-10", "4.6.0", summary="a | b\n| c <script> `d` \x1b")
    document["claims"]["BUSY-10"]["says"] = "says | <b>\nmore"
    table = ledger_table(lines(tmp_path, document))
    assert len(table.splitlines()) == 3
    row = table.splitlines()[2]
    assert row.replace("\\|", "").count("|") == 5
    assert "<script>" not in row
    assert "<b>" not in row
    assert "\x1b" not in row


def test_a_fence_in_an_excerpt_does_not_end_the_excerpt(tmp_path: Path, document: dict[str, Any]) -> None:
    document = only(document, "BUSY-10", "4.6.0")
    document["findings"][0]["evidence"] = [
        {"excerpt": "a\n```\n# not a title", "file": "f", "line": 1, "operation": ""}
    ]
    text = ledger_document(lines(tmp_path, document))
    assert "  ````text\n  a\n  ```\n  # not a title\n  ````\n" in text


def test_an_empty_ledger_has_a_sentence_instead_of_a_table() -> None:
    assert ledger_table([]) == families_table([]) == "No run is recorded yet."


def test_the_readme_counts_claims_by_family_on_the_defaults(tmp_path: Path, document: dict[str, Any]) -> None:
    docker = lines(tmp_path / "two", only(document, "ORDER-06", "5.3.3", backend="compose", verdict="confirmed"))
    table = families_table([*docker, *lines(tmp_path / "one", document)])
    rows = {row.split(" | ")[0]: row.split(" | ")[2:] for row in table.splitlines()}
    assert rows["| claims"] == ["4.6.0", "4.9.7", "5.3.3 |"]
    orders = [line for line in lines(tmp_path / "one", document) if line.claim.startswith("ORDER-")]
    counts = [sum(line.release == "5.3.3" and line.status == one for line in orders) for one in STATUSES]
    count = len({line.claim for line in orders})
    said = rows[f"| ORDER ({count})"][2]
    assert said == " / ".join(map(str, counts)) + " |"


def test_what_an_operator_must_know_is_told_for_as_long_as_the_record_bears_it_out() -> None:
    known = MUST_KNOW["ORDER"]
    other = REFUTED if known.verdict is CONFIRMED else CONFIRMED
    releases = ("4.6.0", "5.5.0")

    def told(*verdicts: VerdictKind) -> str:
        found = {known.claim: dict(zip(releases, verdicts, strict=True))}
        return " ".join(" ".join(sentences(found, ["ORDER"], releases)).split())

    assert told(known.verdict, known.verdict) == f"- **ORDER**: {known.says} ({known.claim}, all releases)"
    assert "5.5.0)" in told(other, known.verdict)
    assert "4.6.0" not in told(other, known.verdict)
    assert told(other, other) == "- **Not decided by the present rules yet**: ORDER."
    assert sentences({}, ["NEW"], releases) == ["- **Not decided by the present rules yet**: NEW."]


def test_what_an_operator_must_know_rests_on_claims_that_some_incident_has() -> None:
    claims = {claim.id for scenario in scenarios.ALL for claim in scenario.claims}
    assert {known.claim for known in MUST_KNOW.values()} <= claims
    assert all(known.claim.startswith(f"{family}-") and family in FAMILIES for family, known in MUST_KNOW.items())


def test_the_readme_is_rewritten_between_its_markers_and_only_once(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    begin, end = MARKERS
    readme.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\n{begin}\n{end}\nafter\n", encoding="utf-8")
    record = record_of(tmp_path / "scenarios" / RECORD, summary("old", CONFIRMED))
    assert str(readme) in write_ledger(tmp_path / "scenarios", record, GONE, experiment_now)
    first = readme.read_text(encoding="utf-8")
    table = families_table(recompute(record, GONE, experiment_now))
    assert first == f"# Title\n\n{BEGIN}\n{table}\n{END}\n\n{begin}\n\n{end}\nafter\n"
    assert str(readme) not in write_ledger(tmp_path / "scenarios", record, GONE, experiment_now)


def test_what_the_articles_get_wrong_is_a_claim_s_own_words_on_the_releases_that_refute_it() -> None:
    committed = committed_ledger()
    says = {"ORDER-02": "It is so.", "ORDER-06": "That is so.", "BUSY-12": "Fewer come.", "ORDER-01": "Never told."}
    lines = [
        dataclasses.replace(committed[0], claim=claim, says=words, article="" if claim == "BUSY-12" else "A3")
        for claim, words in says.items()
    ]
    told = articles_wrong(
        lines,
        {
            "ORDER-02": {"4.9.7": REFUTED, "5.5.0": REFUTED},
            "ORDER-06": {"4.9.7": REFUTED, "5.3.3": HOLDS_IN_PART, "5.5.0": CONFIRMED},
            "BUSY-12": {"4.9.7": REFUTED},
            "ORDER-01": {"4.9.7": REFUTED},
        },
    )
    assert told.splitlines() == [
        '- "It is so" is refuted on all releases (ORDER-02).',
        '- "That is so" is refuted on 4.9.7, and holds in part on 5.3.3 (ORDER-06).',
    ]


@pytest.mark.parametrize(
    "text", ["no markers", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}", f"{BEGIN}{BEGIN}{END}"]
)
def test_a_readme_without_its_markers_in_order_is_refused_and_all_is_left_alone(tmp_path: Path, text: str) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text, encoding="utf-8")
    record = record_of(tmp_path / "scenarios" / RECORD, summary("old", CONFIRMED))
    with pytest.raises(LedgerError, match="must have the line"):
        write_ledger(tmp_path / "scenarios", record, GONE, experiment_now)
    assert readme.read_text(encoding="utf-8") == text
    assert not (tmp_path / "scenarios" / LEDGER).exists()


def test_the_maintainers_program_shows_the_ledger_and_says_what_is_lacking(capsys: pytest.CaptureFixture[str]) -> None:
    assert program([]) == EXIT_OK
    assert "BUSY-01" in capsys.readouterr().out
    assert program(["--because", "It was the harness."]) == EXIT_USAGE
    assert "--because goes with --changed and --withdraw" in capsys.readouterr().err
    assert program(["--withdraw", "no-such-event", "--because", "It was the harness."]) == EXIT_USAGE
    assert "unknown event" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "told"), [(5.0, "5"), (2.0**62, str(2**62)), (2.0**63, str(2.0**63)), (-1e308, "-1e+308")]
)
def test_a_whole_number_that_no_reader_takes_stays_a_fraction(value: float, told: str) -> None:
    assert json.dumps(plain(value)) == told
