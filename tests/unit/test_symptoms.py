"""docs/symptoms.md is the index of what `mqlab explain` answers: each heading's words have an answer of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.errors import EXIT_OK
from harness.paths import PACKAGES
from mqlab.main import main

DOCUMENT = PACKAGES / "docs" / "symptoms.md"
TITLES = re.findall(r"^## (.+)$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
CHINESE = re.findall(r"^## (.+)$", (PACKAGES / "docs" / "symptoms.zh-CN.md").read_text("utf-8"), re.MULTILINE)
ASKED = list(
    dict.fromkeys(words for title in (*TITLES, *CHINESE) for words in re.findall(r"`([^`]+)`", title) or [title])
)


@pytest.mark.parametrize("words", ASKED)
def test_the_words_of_a_heading_have_an_answer(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", words, "--json"]) == EXIT_OK
    kinds = {one["kind"] for one in json.loads(capsys.readouterr().out)}
    assert kinds
    assert "nearest" not in kinds


def test_both_languages_have_the_same_headings() -> None:
    pasted = [re.findall(r"`([^`]+)`", title) for title in TITLES]
    assert [re.findall(r"`([^`]+)`", title) for title in CHINESE] == pasted


@pytest.mark.parametrize("name", ["symptoms", "first-hour"])
def test_both_languages_have_the_same_commands_and_examples(name: str) -> None:
    english, chinese = (_typed(PACKAGES / "docs" / f"{name}{end}") for end in (".md", ".zh-CN.md"))
    assert chinese == english


def _typed(document: Path) -> list[tuple[str, list[str]]]:
    """The blocks of a page, without the comments of their lines and without what answers them."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [
        (kind, [re.sub(r"\s+#.*", "", line) for line in text.splitlines() if kind != "console" or line.startswith("$")])
        for kind, text in blocks
    ]
