"""The pages in Chinese: they say so, are Chinese where a reader begins, and fit as they do in English."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqlab.main import main
from tests.lib.looks import TOO_PALE, WIDER_THAN_THE_WINDOW
from tests.lib.samples import sample, short_sample

pytestmark = pytest.mark.browser

PACKAGES = Path(__file__).parents[2]
UNTOLD = """[...document.querySelectorAll('h1, h2, p.lead, .answer p, summary, th[scope=col]')].filter((one) =>
    !one.closest('details.rest .incident, pre, details.rest table') && /[a-z]{3,} [a-z]{3,} [a-z]{3,}/.test(one.textContent)
    && !/[\\u4e00-\\u9fff]/.test(one.textContent)).map((one) => one.textContent.trim())"""
"""What a reader meets first and is English still."""


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQLAB_LANG", "zh")


@pytest.fixture
def pages(tmp_path: Path, chinese: None, page_of: Callable[[dict[str, Any]], Path]) -> dict[str, Callable[[], Path]]:
    """What writes each of them."""

    def written(*words: str) -> Callable[[], Path]:
        def write() -> Path:
            main(words)
            return tmp_path / "page.html"

        return write

    logs, page = PACKAGES / "tests" / "data" / "logs", str(tmp_path / "page.html")
    conf = str(PACKAGES / "docs" / "broker.conf")
    return {
        "upgrade": written("upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", conf, "--page", page),
        "diagnosis": written("diagnose", str(logs / "append-stall-5.5.0"), "--out", page),
        "report": lambda: page_of(sample()),
        "short report": lambda: page_of(short_sample()),
    }


@pytest.mark.parametrize("name", ["upgrade", "diagnosis", "report", "short report"])
def test_a_page_in_chinese_says_so_and_fits_its_window(
    tab: Any, pages: dict[str, Callable[[], Path]], name: str
) -> None:
    page = pages[name]()
    for width in (400, 1280):
        tab.open(page, width=width)
        assert tab.evaluate("document.documentElement.lang") == "zh-CN"
        assert tab.evaluate(UNTOLD) == []
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(WIDER_THAN_THE_WINDOW) == []
        assert tab.evaluate(TOO_PALE) == []
    assert tab.problems == []
