"""What users read names the releases that were measured: a line of releases, as 5.x, stands for none that nobody ran."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import scenarios
from harness.model.incident import Incident
from mqlab.ask.recorded import committed_since
from scenarios.answer_codes import ANSWER_CODES
from scenarios.questions import QUESTIONS
from scenarios.setting_meanings import setting_meanings
from scenarios.setting_values import SETTING_VALUES

README = Path(__file__).parents[2] / "README.md"
LINE = re.compile(r"\b[45]\.x\b|\b[Ss]ince [45]\b(?!\.)")
SINCE = re.compile(r"\b[Ss]ince (\d+\.\d+\.\d+)")


def _told(incident: Incident) -> Iterator[str]:
    yield from (incident.title, incident.symptom, incident.advice, incident.no_sign)
    if incident.sign:
        yield from (incident.sign.because, incident.sign.against)


TOLD: dict[str, list[str]] = {one.name: list(_told(one)) for one in scenarios.INCIDENTS}
TOLD |= {name: [code.means, code.do] for name, code in ANSWER_CODES.items()}
TOLD |= {name: [value.means, value.do] for name, value in SETTING_VALUES.items()}
TOLD |= {one.name: [one.says, *one.do, *one.causes.values()] for one in QUESTIONS}
TOLD |= {key: [meaning.does] for (_, key), meaning in setting_meanings().items()}
TOLD["README.md"] = README.read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", TOLD)
def test_what_users_read_names_releases_and_no_line_of_them(name: str) -> None:
    bare = [text for text in TOLD[name] if LINE.search(text)]
    assert bare == [], (
        f"name the measured releases (5.3.3 and 5.5.0), or since which one scenarios/since.jsonl has it: {bare}"
    )


@pytest.mark.parametrize("name", TOLD)
def test_since_a_release_is_what_a_bisection_measured(name: str) -> None:
    measured = {boundary.after for one in committed_since() for boundary in one.boundaries}
    assert {release for text in TOLD[name] for release in SINCE.findall(text)} <= measured


@pytest.mark.parametrize("text", ["On 5.x it is lost.", "Since 5 it is so", "since 4.x"])
def test_a_line_of_releases_is_found(text: str) -> None:
    assert LINE.search(text)
    assert not LINE.search("since 5.1.0, on 5.3.3 and 5.5.0")
