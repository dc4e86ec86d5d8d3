"""What incidents are known by in logs: the table of ``mqlab diagnose``."""

from __future__ import annotations

import re

import scenarios
from harness.model.log_events import WORDINGS, Logged
from scenarios.signs import SIGNS, SILENT


def test_every_incident_has_a_sign_or_a_sentence_why_it_has_none() -> None:
    known = {scenario.name for scenario in scenarios.ALL}
    signed = {sign.incident for sign in SIGNS} | {"append-stall", "append-lock-over-1s"}
    assert signed | set(SILENT) == known
    assert not signed & set(SILENT)
    assert len(SIGNS) == len({sign.incident for sign in SIGNS})


def test_a_sentence_is_short_and_ends() -> None:
    for sentence in SILENT.values():
        assert len(sentence) < 200
        assert sentence.endswith(".")


def test_every_kind_of_event_has_words_and_its_fields_can_be_searched() -> None:
    assert {wording.event for wording in WORDINGS} == set(Logged)
    for wording in WORDINGS:
        re.compile(wording.fields)
        assert wording.releases in ("", "4.x", "5.x")
