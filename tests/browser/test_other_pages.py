"""The pages of an upgrade, a diagnosis and a sweep in a real browser: they fit, are read in light and dark, and ask for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.report.sweep_page import page as sweep_page
from harness.errors import EXIT_OK
from mqlab.main import main
from tests.lib.looks import TOO_PALE, WIDER_THAN_THE_WINDOW
from tests.lib.sweeps import swept

pytestmark = pytest.mark.browser

PACKAGES = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By name, as the commands write them."""
    made = {
        name: tmp_path_factory.mktemp(name) / "page.html"
        for name in ("upgrade", "diagnosis", "many", "nothing", "sweep")
    }
    conf = str(PACKAGES / "docs" / "broker.conf")
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", conf]
    assert main([*words, "--page", str(made["upgrade"])]) == EXIT_OK
    logs = str(PACKAGES / "tests" / "data" / "logs" / "append-stall-5.5.0")
    main(["diagnose", logs, "--out", str(made["diagnosis"])])
    some = (
        "append-stall-5.5.0",
        "ordered-lock-handover-5.5.0",
        "busy-flag-stuck-5.3.3",
        "delayed-message-fails-once-4.9.7",
    )
    main(["diagnose", *(str(PACKAGES / "tests" / "data" / "logs" / name) for name in some), "--out", str(made["many"])])
    empty = made["nothing"].parent / "logs"
    empty.mkdir()
    (empty / "broker.log").write_text(
        "2026-11-28 10:00:00 INFO main - The broker[broker-a, 127.0.0.1:10911] boot success.\n"
    )
    main(["diagnose", str(empty), "--out", str(made["nothing"])])
    made["sweep"].write_text(sweep_page(swept()))
    return made


@pytest.mark.parametrize("name", ["upgrade", "diagnosis", "many", "nothing", "sweep"])
@pytest.mark.parametrize("width", [400, 1280])
def test_a_page_fits_its_window_and_is_read_in_light_and_dark(
    tab: Any, pages: dict[str, Path], name: str, width: int
) -> None:
    for dark in (False, True):
        tab.open(pages[name], width=width, dark=dark)
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(WIDER_THAN_THE_WINDOW) == []
        assert tab.evaluate(TOO_PALE) == []
        # Not a column of a grid that was made for another page.
        assert tab.evaluate("document.querySelector('main').getBoundingClientRect().width") >= min(width, 800)
    assert tab.requests == [pages[name].as_uri()] * 2
    assert tab.problems == []


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(("name", "words"), [
    ("upgrade", ["Upgrade 4.9.7 -> 5.5.0", "PREPARE BEFORE YOU START", "NOT KNOWN"]),
    ("diagnosis", ["An append of more than a second", "DO", "How sure", "mqlab explain append-lock-over-1s"]),
    ("many", ["An append of more than a second", "Further below:", "DO", "How sure"]),
    ("nothing", ["None of the known incidents is in these logs", "DO", "mqlab diagnose"]),
    ("sweep", ["set waitTimeMillsInSendQueue=400 (now 200)", "DO", "How sure: measured here"]),
])  # fmt: skip
def test_an_answer_stands_on_five_screens_before_the_first_fold(
    tab: Any, pages: dict[str, Path], name: str, words: list[str], width: int
) -> None:
    tab.open(pages[name], width=width, height=900, folded=True)
    assert tab.evaluate("document.querySelector('details.rest').getBoundingClientRect().top + scrollY") <= 5 * 900
    read = tab.evaluate(
        "[...document.querySelectorAll('header, section.answer')].map((one) => one.innerText).join(' ')"
    )
    assert [word for word in words if word not in read] == []
