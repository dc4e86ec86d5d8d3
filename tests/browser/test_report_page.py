"""The report in a real browser: it draws, it loads nothing, it fits, and it cannot be made to run what it quotes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lib.looks import TOO_PALE, WIDER_THAN_THE_WINDOW
from tests.lib.samples import sample

pytestmark = pytest.mark.browser


PageOf = Callable[[dict[str, Any]], Path]

ALL_ARMS = "document.querySelectorAll('.controls button').forEach((one) => one.click())"
LONG = "w" * 300
HOSTILE = "</script><script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran = 1'>"


@pytest.fixture
def document() -> dict[str, Any]:
    return sample()


def test_the_page_draws_its_plots_without_a_problem_and_asks_for_nothing(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    page = page_of(document)
    tab.open(page)
    assert tab.evaluate("document.documentElement.dataset.plots") == "drawn"
    assert tab.problems == []
    assert tab.requests == [page.as_uri()]
    # Two arms of each answer's table, and a strip each; then three of the stall, and five of the hand-over.
    assert tab.evaluate("document.querySelectorAll('.js-plotly-plot').length") == 2 + 2 + 2
    tab.evaluate(ALL_ARMS)
    tab.wait_until("document.querySelectorAll('.js-plotly-plot').length === 3 + 5 + 2")
    assert tab.evaluate("[...document.querySelectorAll('.panel')].every(p => p.querySelectorAll('.trace').length >= 3)")
    assert tab.evaluate("document.querySelectorAll('.strip .points path').length") > 50


@pytest.mark.parametrize("width", [1280, 768, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_window(
    tab: Any, page_of: PageOf, document: dict[str, Any], width: int, dark: bool
) -> None:
    for finding in document["findings"]:
        finding["summary"] = finding["expected_from_code"] = LONG
        finding["notes"] = [LONG]
    for claim in document["claims"].values():
        claim["says"] = claim["reading"] = LONG
    tab.open(page_of(document), width=width, dark=dark)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.innerWidth") == width
    assert tab.evaluate(WIDER_THAN_THE_WINDOW) == []


def test_a_release_can_be_chosen_and_its_panels_are_drawn_anew(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    tab.open(page_of(document))
    tab.evaluate(ALL_ARMS)
    titles = "[...document.querySelectorAll('#ordered-lock-handover-timeline .panel small')].map((n) => n.textContent)"
    assert all("4.6.0" in title for title in tab.evaluate(titles))
    tab.evaluate(
        """(() => { const chosen = document.querySelector('#ordered-lock-handover-timeline select');
        chosen.value = '2'; chosen.dispatchEvent(new Event('change')); })()"""
    )
    tab.wait_until(f"{titles}.length === 5 && {titles}.every((title) => title.includes('5.3.3'))")
    tab.wait_until("document.querySelectorAll('#ordered-lock-handover-timeline .js-plotly-plot').length === 5")
    assert tab.problems == []


def test_another_measure_can_be_chosen(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    tab.open(page_of(document))
    title = "document.querySelector('#ordered-lock-handover-strips .xtitle').textContent"
    assert tab.evaluate(title) == "handover_s, s"
    tab.evaluate(
        """(() => { const chosen = document.querySelector('#ordered-lock-handover-strips select');
        chosen.value = '1'; chosen.dispatchEvent(new Event('change')); })()"""
    )
    tab.wait_until(f"{title} === 'message_delay_max_s, s'")


def test_censored_values_are_open_triangles(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    tab.open(page_of(document))
    marks = """document.querySelector('#ordered-lock-handover-strips .js-plotly-plot').data
        .filter((trace) => trace.marker.symbol === 'triangle-right-open').map((trace) => trace.x.length)"""
    assert tab.evaluate(marks) == [3, 5, 7]


def test_the_fault_window_is_shaded_in_the_arms_that_have_one(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    tab.open(page_of(document))
    shaded = """[...document.querySelectorAll('#append-stall-timeline .js-plotly-plot')]
        .map((plot) => plot.layout.shapes.filter((shape) => shape.type === 'rect').map((s) => [s.x0, s.x1]))"""
    tab.evaluate(ALL_ARMS)
    tab.wait_until(f"JSON.stringify({shaded}) === '[[[0,0.45]],[[0,0.45]],[]]'")


def test_quoted_text_cannot_run_or_load_anything(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    for finding in document["findings"]:
        finding["summary"] = finding["client"] = HOSTILE
        finding["evidence"] = [{"excerpt": HOSTILE, "file": HOSTILE, "line": 1, "operation": HOSTILE}]
    for series in document["series"]:
        series["trial"] = HOSTILE
    for distribution in document["distributions"]:
        distribution["arm"] = f"incident-{HOSTILE}"
    page = page_of(document)
    tab.open(page)
    assert tab.evaluate("window.ran === undefined")
    assert tab.requests == [page.as_uri()]


def test_the_policy_stops_a_script_even_if_one_got_in(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    page = page_of(document)
    page.write_text(
        page.read_text(encoding="utf-8").replace("</main>", "<script>window.ran = 1</script></main>"), encoding="utf-8"
    )
    tab.open(page)
    assert tab.evaluate("window.ran === undefined")
    assert any("Content Security Policy" in problem for problem in tab.problems)


def test_without_scripts_every_number_is_still_there(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    tab.open(page_of(document), scripts=False)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.evaluate("document.querySelectorAll('.js-plotly-plot').length") == 0
    assert tab.evaluate("getComputedStyle(document.querySelector('.plot')).display") == "none"
    assert tab.evaluate("document.querySelectorAll('figure details table').length") > 4
    assert tab.evaluate("document.querySelectorAll('.claim').length") == 8


def test_the_keyboard_comes_first_to_the_skip_link_and_it_shows(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    tab.open(page_of(document))
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert tab.evaluate("document.activeElement.className") == "skip"
    assert tab.evaluate("document.activeElement.getBoundingClientRect().left >= 0")


def test_text_stands_out_from_its_ground_in_light_and_dark(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    page = page_of(document)
    for dark in (False, True):
        tab.open(page, dark=dark)
        assert tab.evaluate(TOO_PALE) == []


def test_a_run_without_findings_renders_without_a_problem(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    document.update(findings=[], series=[], distributions=[], trials=[], claims={})
    tab.open(page_of(document))
    assert tab.problems == []
    assert "This run decided nothing" in tab.evaluate("document.querySelector('main').innerText")


def test_rows_are_filtered_by_verdict_release_and_family(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    page = page_of(document)
    tab.open(page)
    shown = "[...document.querySelectorAll('.matrix .row')].filter((row) => row.offsetParent !== null)"
    everything = tab.evaluate(f"{shown}.length")
    refuted = {one["claim"] for one in document["findings"] if one["verdict"] == "refuted"}
    tab.evaluate("document.getElementById('show-1').click()")
    assert tab.evaluate(f"{shown}.length") == len(refuted) < everything
    assert tab.evaluate(f"{shown}.every((row) => row.hasAttribute('data-refuted'))")
    tab.evaluate("document.getElementById('family-0').click()")
    assert tab.evaluate(f"{shown}.every((row) => row.dataset.family === '0')")
    tab.evaluate("['show-0', 'family-all'].forEach((id) => document.getElementById(id).click())")
    assert tab.evaluate(f"{shown}.length") == everything
    assert tab.requests == [page.as_uri()]


def test_two_releases_stand_side_by_side_in_all_tables(tab: Any, page_of: PageOf, document: dict[str, Any]) -> None:
    page = page_of(document)
    tab.open(page)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    seen = """(where) => [...new Set([...document.querySelectorAll(`${where} [data-column]`)]
        .filter((one) => one.offsetParent !== null).map((one) => one.dataset.column))].sort()"""
    for where in (".matrix", ".sentences", ".forest", ".claim table"):
        assert tab.evaluate(f"({seen})('{where}')") == ["0", "1", "2"], where
    tab.evaluate("document.getElementById('release-1').click()")
    for where in (".matrix", ".sentences", ".forest", ".claim table"):
        assert tab.evaluate(f"({seen})('{where}')") == ["0", "2"], where
    assert tab.requests == [page.as_uri()]


def test_at_400_pixels_the_widest_table_keeps_the_names_of_its_rows(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    tab.open(page_of(document), width=400)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    # The table of verdicts needs no moving at all.
    cells = "[...document.querySelectorAll('.matrix *')].map((one) => one.getBoundingClientRect().right)"
    assert max(tab.evaluate(cells)) <= 400
    widest = """(() => {
        const regions = [...document.querySelectorAll('.scroll')].filter((one) => one.offsetParent !== null);
        const wide = regions.sort((a, b) => b.scrollWidth - a.scrollWidth)[0];
        wide.scrollLeft = wide.scrollWidth;
        const left = wide.getBoundingClientRect().left;
        const names = [...wide.querySelectorAll('tbody th[scope="row"]')].map((one) => one.getBoundingClientRect());
        return { moved: wide.scrollLeft, named: wide.getAttribute('aria-label'), reached: wide.tabIndex,
            names: names.length, kept: names.every((one) => Math.abs(one.left - left) < 2 && one.width < 200) };
    })()"""
    found = tab.evaluate(widest)
    assert found["moved"] > 0
    assert found["names"] > 0
    assert found["kept"]
    assert found["named"]
    assert found["reached"] == 0


def test_on_paper_it_is_dark_on_white_and_nothing_is_cut_off(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    tab.open(page_of(document), dark=True)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    # What is left of A4 between the margins.
    width = 703
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    tab.call("Emulation.setEmulatedMedia", media="print", features=dark)
    tab.wait_until("getComputedStyle(document.querySelector('nav.side')).display === 'none'")
    hidden = "['.filters', '.controls', '.skip'].every((one) => document.querySelector(one).offsetParent === null)"
    assert tab.evaluate(hidden)
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    link = "getComputedStyle(document.querySelector('.row th a')).color"
    assert tab.evaluate(link) == "rgb(20, 82, 143)"
    wide = f"""[...document.querySelectorAll('main *')].filter((one) => one.getClientRects().length
        && !one.closest('svg') && one.getBoundingClientRect().right > {width} + 1)
        .map((one) => one.tagName + '.' + one.className)"""
    assert tab.evaluate(wide) == []
    assert tab.call("Page.printToPDF", preferCSSPageSize=True)["data"].startswith("JVBERi0")  # %PDF-


def test_a_screen_reader_is_told_of_tables_filters_and_places_by_name(
    tab: Any, page_of: PageOf, document: dict[str, Any]
) -> None:
    tab.open(page_of(document))
    told = tab.accessible()
    roles = {role for role, _ in told}
    assert {"main", "navigation", "region", "table", "columnheader", "rowheader", "radio", "checkbox"} <= roles
    named = {"navigation", "region", "radio", "checkbox", "link", "button", "combobox", "columnheader", "rowheader"}
    assert [role for role, name in told if role in named and not name] == []
    assert {"Claims", "Releases side by side", "Family"} <= {name for role, name in told if role == "group"}
    assert {"4.6.0", "4.9.7", "5.3.3"} <= {name for role, name in told if role == "checkbox"}
    # A verdict is told by its claim and its release, not by its colour.
    finding = next(one for one in document["findings"] if one["verdict"] == "refuted")
    cell = f"{finding['claim']} on {finding['release']}: refuted"
    assert any(role == "link" and name.startswith(cell) for role, name in told)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_what_was_found_stands_on_five_screens_before_the_first_fold(
    tab: Any, page_of: PageOf, document: dict[str, Any], width: int, dark: bool
) -> None:
    document["manifest"]["budget"] = "quick"
    tab.open(page_of(document), width=width, height=900, dark=dark, folded=True)
    fold = tab.evaluate("document.querySelector('details.rest').getBoundingClientRect().top + scrollY")
    assert fold <= 5 * 900
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    read = tab.evaluate("[...document.querySelectorAll('section.answer')].map((one) => one.innerText).join(' ')")
    assert read.replace("As good as the record?", "").count("?") == 0
    for words in ("A killed ordered consumer blocks its queues for about a minute", "DO", "mqlab audit --broker-conf"):
        assert words in read


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_what_became_of_a_load_stands_before_the_first_fold(
    tab: Any, page_of: PageOf, document: dict[str, Any], width: int, dark: bool
) -> None:
    says = ["122 of 6,019 sends failed (2 %), from 5.2 s to 5.5 s of the load: [TIMEOUT_CLEAN_QUEUE] 122.", LONG]
    document["headline"] = {
        "title": "What became of 6,019 sends",
        "says": says,
        "do": ["mqlab explain '[TIMEOUT_CLEAN_QUEUE]'"],
    }
    document["incidents"] = {}
    document["series"] = document["series"][:1]
    tab.open(page_of(document), width=width, height=900, dark=dark, folded=True)
    fold = tab.evaluate("document.querySelector('details.rest').getBoundingClientRect().top + scrollY")
    assert fold <= 5 * 900
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    read = tab.evaluate("document.querySelector('main').innerText.split('Each property with its evidence')[0]")
    assert [one for one in ("What became of 6,019 sends", *says, "DO") if one not in read] == []
    assert "article" not in read
    assert tab.evaluate(TOO_PALE) == []
    assert tab.problems == []
