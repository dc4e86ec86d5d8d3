"""docs/symptoms.md is the index of what `mqlab explain` answers: each heading's words have an answer of their own."""

from __future__ import annotations

import json
import re

import pytest

from harness.errors import EXIT_OK
from harness.paths import PACKAGES
from mqlab.main import main

DOCUMENT = PACKAGES / "docs" / "symptoms.md"
TITLES = re.findall(r"^## (.+)$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
ASKED = [words for title in TITLES for words in re.findall(r"`([^`]+)`", title) or [title]]


@pytest.mark.parametrize("words", ASKED)
def test_the_words_of_a_heading_have_an_answer(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", words, "--json"]) == EXIT_OK
    kinds = {one["kind"] for one in json.loads(capsys.readouterr().out)}
    assert kinds
    assert "nearest" not in kinds
