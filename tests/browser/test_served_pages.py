"""`mqlab runs serve` in a real browser: progress moves by itself, two runs stand side by side, and harmful names stay text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.report.write import write_reports
from mqlab.run.serve import HOST
from tests.lib.run_folders import HOSTILE, make_runs, serving

pytestmark = pytest.mark.browser


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return make_runs(tmp_path / "runs")


@pytest.fixture
def address(runs: Path) -> Iterator[str]:
    with serving(runs) as port:
        yield f"http://{HOST}:{port}"


def test_a_running_run_moves_on_without_a_hand_or_a_script(tab: Any, address: str, runs: Path) -> None:
    tab.open(f"{address}/", scripts=False)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.evaluate("document.querySelector('progress').value") == 1
    (runs / "running" / "trials" / "b" / "trial.json").write_text(json.dumps({"status": "complete"}))
    tab.wait_until("document.querySelector('progress') && document.querySelector('progress').value === 2")
    assert tab.problems == []
    assert {request.rstrip("/") for request in tab.requests} == {address}


def test_two_runs_are_chosen_and_compared_and_what_differs_is_first(tab: Any, address: str) -> None:
    tab.open(f"{address}/")
    tab.evaluate("""['left', 'right'].forEach((side, at) => document.querySelector(
        `input[name="${side}"][value="${['one', 'two'][at]}"]`).click())""")
    tab.evaluate("document.querySelector('button').click()")
    tab.wait_until("location.pathname === '/compare' && document.readyState === 'complete'")
    assert tab.evaluate("document.querySelector('.pairs tbody tr').className") == "other"
    assert tab.evaluate("document.querySelector('.pairs tbody th').textContent.includes('ORDER-06')")
    assert all(request.startswith(address) for request in tab.requests)
    assert tab.problems == []


def test_names_that_mean_harm_are_shown_as_text(tab: Any, address: str) -> None:
    tab.open(f"{address}/")
    assert tab.evaluate("document.body.textContent").count(HOSTILE) == 1
    assert tab.evaluate("window.ran === undefined && document.scripts.length === 0")
    tab.open(f"{address}/compare?left=one&right=two")
    assert HOSTILE in tab.evaluate("document.body.textContent")
    assert tab.evaluate("window.ran === undefined && document.scripts.length === 0")
    assert all(request.startswith(address) for request in tab.requests)


def test_the_plots_of_a_report_are_drawn_where_it_is_served(tab: Any, address: str, runs: Path) -> None:
    write_reports(runs / "one")
    tab.open(f"{address}/runs/one/report.html")
    assert tab.evaluate("document.documentElement.dataset.plots") == "drawn"
    assert tab.evaluate("self.origin") == "null"
    assert tab.problems == []


STRANGER = """<p>a report of somebody else's</p><script>
window.read = fetch("/").then((answer) => answer.text()).catch(() => "kept out");
</script>"""


def test_the_scripts_of_a_strangers_report_read_no_other_page(tab: Any, address: str, runs: Path) -> None:
    (runs / "one" / "report.html").write_text(STRANGER)
    tab.open(f"{address}/runs/one/report.html")
    assert tab.evaluate("window.read") == "kept out"
    assert tab.evaluate("self.origin") == "null"
    assert tab.evaluate("window.open('/') === null")
