"""What incidents are known by in logs: what ``mqlab diagnose`` looks for."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest

import scenarios
from analysis.diagnosis.diagnosis import Diagnosis, diagnosis_of, read_logs
from analysis.diagnosis.found import Sure
from analysis.diagnosis.reading import log_files
from analysis.verdicts.order import is_between
from harness.model.incident import Incident, Sign
from harness.model.log_events import WORDINGS, Logged, LogPattern
from harness.paths import PACKAGES
from mqlab.logs.diagnose import report
from mqlab.logs.proposed import propose
from tests.lib.operators_logs import MADE, SLOW

EACH = pytest.mark.parametrize("incident", scenarios.INCIDENTS, ids=lambda one: one.name)


@EACH
def test_every_incident_says_what_users_see_what_logs_have_of_it_and_what_to_do(incident: Incident) -> None:
    assert (incident.sign is None) == bool(incident.no_sign), "a sign, or a sentence why there is none"
    for text in (incident.symptom, incident.advice, incident.no_sign or "A sign."):
        assert text.endswith((".", ")"))
        assert "  " not in text
    assert len(incident.no_sign) < 300


def test_each_pattern_that_a_rule_finds_is_the_sign_of_one_incident() -> None:
    patterns = Counter(one.sign.pattern for one in scenarios.INCIDENTS if one.sign and one.sign.pattern)
    assert patterns == Counter(LogPattern)
    rules = "".join(path.read_text("utf-8") for path in (PACKAGES / "analysis" / "diagnosis" / "rules").glob("*.py"))
    assert {one for one in LogPattern if f"LogPattern.{one.name}" not in rules} == set()


def test_every_kind_of_event_has_words_and_its_fields_can_be_searched() -> None:
    assert {wording.event for wording in WORDINGS} == set(Logged)
    for wording in WORDINGS:
        re.compile(wording.fields)
        assert not (wording.since and wording.until) or is_between(wording.since, "", wording.until)


# --- a sign without a pattern -----------------------------------------------------------------------------------------

ALONE = [(one, one.sign) for one in scenarios.INCIDENTS if one.sign and one.sign.pattern is None]


def _log(folder: Path, *lines: str) -> set[str]:
    """The incidents that a node's log of these lines shows."""
    path = folder / "b1" / "broker.log"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    found = diagnosis_of(read_logs(log_files([folder])), scenarios.INCIDENTS, ())
    return {one.found.incident for one in found.incidents}


@pytest.mark.parametrize(("incident", "sign"), ALONE, ids=lambda one: getattr(one, "name", ""))
def test_a_sign_without_a_pattern_is_found_in_its_lines_unless_the_node_has_what_it_is_not_beside(
    incident: Incident, sign: Sign, tmp_path: Path
) -> None:
    assert sign.lines
    assert _log(tmp_path, *sign.lines) == {incident.name}
    for wording in WORDINGS:
        if wording.event in sign.unless:
            assert _log(tmp_path, *sign.lines, f"2026-11-23 14:10:29 INFO main - {wording.words}") == set()


HIDDEN = Incident(
    name="hidden", title="A slow append, where no topic is made", symptom="It waits.", advice="Wait.",
    sign=Sign(events=(Logged.SLOW_APPEND,), unless=(Logged.TOPIC_MADE,), because="an append took long"),
)  # fmt: skip


def _diagnosed(folder: Path, incident: Incident = HIDDEN) -> Diagnosis:
    """Of two nodes with slow appends, at two times, one of which made a topic as well."""
    for node in ("b1", "b2"):
        (folder / node).mkdir()
        lines = [f"2026-11-21 16:{minute}:02 WARN x - {SLOW.format(ms=700)}" for minute in (46, 46, 58)]
        (folder / node / "store.log").write_text("".join(lines))
    (folder / "b2" / "broker.log").write_text(MADE.format(topic="T", read=4, write=4))
    return diagnosis_of(read_logs(log_files([folder])), [incident], ())


def test_events_without_a_pattern_show_an_incident_by_themselves_unless_another_event_speaks_against_it(
    tmp_path: Path,
) -> None:
    found = [one.found for one in _diagnosed(tmp_path).incidents]
    assert [(one.incident, one.brokers, one.sure) for one in found] == [("hidden", ("b1",), Sure.LIKELY)] * 2
    assert [len(one.lines) for one in found] == [2, 1]
    assert found[0].why == ("slow append (2 x)",)


def test_what_may_speak_against_a_sign_makes_it_no_more_than_possible(tmp_path: Path) -> None:
    sign = dataclasses.replace(HIDDEN.sign or pytest.fail("it has one"), against="the disk may be slow")
    found = [one.found for one in _diagnosed(tmp_path, dataclasses.replace(HIDDEN, sign=sign)).incidents]
    assert {(one.sure, one.against) for one in found} == {(Sure.POSSIBLE, ("the disk may be slow",))}


def test_a_diagnosis_says_that_nothing_replays_what_has_no_arms(tmp_path: Path) -> None:
    found = _diagnosed(tmp_path)
    assert "nothing replays hidden" in list(report(found))
    assert not any("mqlab verify" in line for line in report(found))
    logs, path = read_logs(log_files([tmp_path])), tmp_path / "ours.py"
    assert list(propose(path, found, logs, ())) == [f"{path} is not written: nothing replays hidden"]
    assert not path.exists()
