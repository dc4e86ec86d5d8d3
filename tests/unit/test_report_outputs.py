"""junit.xml, the terminal's summary, the exit code, and the files of a run."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from analysis.ledger.agreement import beside_record
from analysis.report.document import ReportData
from analysis.report.junit import junit_xml
from analysis.report.terminal import exit_code, summary_lines, summary_table, trials_told
from analysis.report.write import write_reports
from harness.errors import RunDirectoryError
from harness.model.findings import Finding
from harness.model.verdicts import Reason, VerdictKind
from harness.releases.java import Java
from harness.rundir.files import replace_file
from mqlab.run.judging import judge
from tests.lib.samples import loaded, sample, short_sample

Load = Callable[[dict[str, Any]], ReportData]


@pytest.fixture
def document() -> dict[str, Any]:
    return sample()


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return functools.partial(loaded, tmp_path)


def finding_with(data: ReportData, **changes: Any) -> Finding:
    return dataclasses.replace(data.findings[0], **changes)


def with_noted_trials(document: dict[str, Any]) -> dict[str, Any]:
    """Of the first incident's release one trial does not count, and another one has a note."""
    of = [one for one in document["trials"] if (one["incident"], one["release"]) == ("ordered-lock-handover", "4.6.0")]
    of[0].update(exclusions=["the wall clock stepped by 60 ms"])
    of[1].update(notes=["the fault was not healed"])
    return document


# --- junit ------------------------------------------------------------------------------------------------------------


def test_junit_has_a_suite_for_each_incident_and_release_and_a_case_for_each_claim(
    load: Load, document: dict[str, Any]
) -> None:
    root = ElementTree.fromstring(junit_xml(load(document)))
    assert [suite.get("name") for suite in root] == [
        f"{incident} on {release}"
        for incident in ("append-stall", "ordered-lock-handover")
        for release in ("4.6.0", "4.9.7", "5.3.3")
    ]
    assert [case.get("name") for case in root[0].iter("testcase")] == ["BUSY-09", "BUSY-10", "BUSY-12", "BUSY-14"]


def test_junit_tells_pass_mismatch_and_undecided_apart(load: Load, document: dict[str, Any]) -> None:
    root = ElementTree.fromstring(junit_xml(load(document)))
    cases = {
        (case.get("classname"), case.get("name")): [child.tag for child in case if child.tag in ("failure", "error")]
        for case in root.iter("testcase")
    }
    assert cases["append-stall.4.6.0", "BUSY-09"] == []
    # Refuted as expected is a pass: the claim is wrong, and that was foreseen.
    assert cases["append-stall.4.6.0", "BUSY-10"] == []
    assert cases["ordered-lock-handover.5.3.3", "ORDER-06"] == ["failure"]
    assert cases["ordered-lock-handover.5.3.3", "ORDER-01"] == ["error"]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("24", "1", "7")


def test_junit_and_terminal_say_which_trials_count_and_what_else_is_notable(
    load: Load, document: dict[str, Any]
) -> None:
    data = load(with_noted_trials(document))
    root = ElementTree.fromstring(junit_xml(data))
    suite = next(one for one in root if one.get("name") == "ordered-lock-handover on 4.6.0")
    total = sum((one.incident, one.release) == ("ordered-lock-handover", "4.6.0") for one in data.trials)
    assert (suite.findtext("system-out") or "").splitlines() == [
        f"{total - 1} of {total} trials count",
        "incident-kill: 1 trial did not count: the wall clock stepped by 60 ms",
        "incident-kill: 1 trial: the fault was not healed",
    ]
    first, *why = trials_told(data)
    lost = sum(not one.counts for one in data.trials)
    assert first.startswith(f"{len(data.trials) - lost} of {len(data.trials)} trials count; of 1 something is notable")
    assert len(why) <= lost
    assert (
        "  ordered-lock-handover on 4.6.0, incident-kill: 1 trial did not count: the wall clock stepped by 60 ms" in why
    )
    clean = dataclasses.replace(data, trials=tuple(one for one in data.trials if one.counts and not one.notes))
    assert trials_told(clean) == []


def test_junit_carries_the_numbers_as_properties(load: Load, document: dict[str, Any]) -> None:
    root = ElementTree.fromstring(junit_xml(load(document)))
    case = next(c for c in root.iter("testcase") if c.get("name") == "ORDER-06" and "5.3.3" in str(c.get("classname")))
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["part.hand-over after shutdown.estimate"] == "19.8"
    assert properties["part.hand-over after shutdown.bound"] == "5"
    assert properties["expected"] == "confirmed"


def test_junit_is_valid_whatever_a_remark_has_in_it(load: Load, document: dict[str, Any]) -> None:
    every = "".join(map(chr, range(0x20))) + "\x7f\x9f]]><a>&\ud800\ufffe\uffff\U0001f600"
    for finding in document["findings"]:
        finding["summary"] = finding["reason"] = finding["client"] = every
        finding["evidence"] = [{"excerpt": every, "file": "f", "line": 1, "operation": ""}]
    text = junit_xml(load(document))
    root = ElementTree.fromstring(text.encode("utf-8"))
    out = next(root.iter("system-out")).text
    assert out is not None
    assert "\\x00" in out
    assert "\U0001f600" in out
    assert "]]><a>&" in out


def test_junit_without_findings_is_an_error_and_not_a_pass(load: Load, document: dict[str, Any]) -> None:
    document["findings"] = []
    root = ElementTree.fromstring(junit_xml(load(document)))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    assert len(list(root.iter("error"))) == 1


# --- exit code --------------------------------------------------------------------------------------------------------


def test_without_strict_a_written_report_is_success(load: Load, document: dict[str, Any]) -> None:
    assert exit_code(load(document).findings, strict=False) == 0
    assert exit_code([], strict=False) == 0


def test_strict_is_success_only_when_all_is_decided_as_expected(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    fine = finding_with(data, verdict=VerdictKind.CONFIRMED, expected=VerdictKind.CONFIRMED)
    foreseen = finding_with(data, verdict=VerdictKind.REFUTED, expected=VerdictKind.REFUTED)
    assert exit_code([fine, foreseen], strict=True) == 0


def test_strict_tells_a_mismatch_before_what_is_undecided(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    undecided = finding_with(data, verdict=VerdictKind.UNDECIDED, reason=str(Reason.TOO_NOISY))
    mismatch = finding_with(data, verdict=VerdictKind.REFUTED, expected=VerdictKind.CONFIRMED)
    assert exit_code([undecided], strict=True) == 2
    assert exit_code([undecided, mismatch], strict=True) == 1
    assert exit_code([mismatch], strict=True) == 1


def test_a_verdict_without_an_expectation_says_so_and_is_no_mismatch(load: Load, document: dict[str, Any]) -> None:
    for finding in document["findings"]:
        finding["expected"] = None
    data = load(document)
    decided = [one for one in data.findings if one.verdict is not VerdictKind.UNDECIDED]
    assert exit_code(decided, strict=True) == 0
    *lines, told = summary_lines(data.findings)
    assert all(", no expectation" in line for line in lines)
    assert told.endswith(f"; {len(lines)} with no expectation")
    shown = Console(width=200)
    with shown.capture() as capture:
        shown.print(summary_table(data.findings))
    assert capture.get().count("no expectation") == len(lines) + 1
    root = ElementTree.fromstring(junit_xml(data))
    assert root.get("failures") == "0"
    assert {p.get("value") for p in root.iter("property") if p.get("name") == "expected"} == {"no expectation"}


def test_strict_does_not_let_an_expected_undecided_pass(load: Load, document: dict[str, Any]) -> None:
    both = finding_with(load(document), verdict=VerdictKind.UNDECIDED, expected=VerdictKind.UNDECIDED)
    assert exit_code([both], strict=True) == 2


def test_strict_without_findings_is_not_green() -> None:
    assert exit_code([], strict=True) == 2


# --- terminal ---------------------------------------------------------------------------------------------------------


def test_the_table_has_words_and_marks_the_mismatch(load: Load, document: dict[str, Any]) -> None:
    console = Console(width=110, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(summary_table(load(document).findings))
    text = console.export_text()
    assert text.count("expected confirmed") == 1
    assert "24 findings: 13 confirmed, 4 refuted, 7 undecided; 1 differs from the expectation" in text


def test_plain_lines_have_one_line_a_finding_and_no_control_character(load: Load, document: dict[str, Any]) -> None:
    document["findings"][0]["summary"] = "two\nlines \x1b[2J [bold]not markup[/bold]"
    lines = summary_lines(load(document).findings)
    assert len(lines) == 25
    assert not any("\x1b" in line or "\n" in line for line in lines)
    assert any("[bold]not markup[/bold]" in line for line in lines)


def test_a_short_run_ends_with_how_its_claims_stand_to_the_record(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record, short = load(sample()).findings, load(short_sample())
    (tmp_path / "manifest.json").write_text(json.dumps({**short_sample()["manifest"], "schema": 1, "trials": []}))
    monkeypatch.setattr("mqlab.run.judging.analyse", lambda *_: short)
    monkeypatch.setattr("mqlab.run.judging.committed_ledger", lambda: record)
    options = argparse.Namespace(json=False, strict=False)
    assert judge(tmp_path, (), options, Java(home=tmp_path, version="17", source=""), Console()) == 0
    printed = capsys.readouterr().out
    assert "not exercised" not in printed
    lines = printed.splitlines()
    assert not any(line.startswith("ORDER-01 ") for line in lines)
    assert re.split(" {2,}", next(line for line in lines if line.startswith("ORDER-06  4.6.0")))[2:] == [
        "undecided (as recorded)",
        "With a completed shutdown the hand-over took 0.8 s (median of 64 queues).",
    ]
    assert lines[-2:] == [
        "Not tried, since a quick run leaves their arms out: ORDER-01.",
        "As recorded: 18 of 21 findings; differ: 0; not comparable: 3.",
    ]


def test_the_table_of_a_short_run_has_the_standing_of_decided_claims_too(load: Load) -> None:
    record, short = load(sample()).findings, load(short_sample())
    console = Console(width=110)
    with console.capture() as capture:
        console.print(summary_table(beside_record(short.findings, record)))
    shown = capture.get()
    assert "not exercised" not in shown
    assert (shown.count("as recorded"), shown.count("not tried in this")) == (18, 3)


def test_a_summary_of_nothing_says_that_there_is_nothing() -> None:
    assert summary_lines([]) == ["no findings"]


# --- the files of a run -----------------------------------------------------------------------------------------------


def test_a_run_gets_its_three_files_and_no_leftovers(tmp_path: Path, load: Load, document: dict[str, Any]) -> None:
    load(document)
    paths = write_reports(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "analysis",
        "junit.xml",
        "ledger.md",
        "report.html",
    ]
    assert paths.page.read_text(encoding="utf-8").startswith("<!doctype html>")
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    write_reports(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == first


def test_data_of_another_schema_leave_an_older_report_alone(
    tmp_path: Path, load: Load, document: dict[str, Any]
) -> None:
    load(document)
    page = write_reports(tmp_path).page
    before = page.read_bytes()
    (tmp_path / "analysis" / "page.json").write_text('{"schema": 9}', encoding="utf-8")
    with pytest.raises(RunDirectoryError, match="schema 9"):
        write_reports(tmp_path)
    assert page.read_bytes() == before


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    replace_file(target, "old")

    def interrupted(_number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.rundir.files.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_file(target, "new")
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_name_with_a_byte_that_is_no_utf_8_is_written_and_read_again(tmp_path: Path) -> None:
    name = os.fsdecode("café.txt".encode("latin-1"))
    replace_file(tmp_path / "told.json", json.dumps({"file": f"{name} is foreign"}, ensure_ascii=False))
    assert json.loads((tmp_path / "told.json").read_text("utf-8")) == {"file": f"{name} is foreign"}
