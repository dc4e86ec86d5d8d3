"""The page over all runs, asked as a browser asks: by HTTP, and with names that mean harm."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from analysis.report.runs import pairs, runs_of
from mqlab.serve import HOST, make_server
from tests.lib.run_folders import make_runs, serving


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return make_runs(tmp_path / "runs")


@pytest.fixture
def port(runs: Path) -> Iterator[int]:
    with serving(runs) as at:
        yield at


def ask(port: int, path: str, *, method: str = "GET", **headers: str) -> tuple[int, str, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer


def test_runs_are_listed_with_progress_verdicts_and_what_is_broken(port: int) -> None:
    status, page, answer = ask(port, "/")
    assert status == 200
    assert '<a href="/runs/one/report.html">one</a>' in page
    assert "running: 1 of 2" in page
    assert '<progress max="2" value="1">' in page
    assert "<small>b</small>" in page
    assert "broken" in page
    assert 'http-equiv="refresh"' in page
    assert "default-src 'none'" in str(answer.getheader("Content-Security-Policy"))


def test_hostile_names_are_escaped(port: int) -> None:
    _, page, _ = ask(port, "/")
    assert "<script" not in page
    assert "&lt;script&gt;window.ran=1&lt;" in page
    _, page, _ = ask(port, f"/compare?left=one&right={quote('two')}")
    assert "<script" not in page


def test_progress_is_that_of_the_moment(port: int, runs: Path) -> None:
    (runs / "running" / "trials" / "b" / "trial.json").write_text(json.dumps({"status": "failed"}))
    assert "running: 2 of 2" in ask(port, "/")[1]


def test_a_page_that_is_to_stand_still_keeps_what_was_chosen_in_it(port: int) -> None:
    assert 'href="/?still=1"' in ask(port, "/")[1]
    page = ask(port, "/?still=1")[1]
    assert 'http-equiv="refresh"' not in page
    assert '<a href="/">Follow it</a>' in page


def test_a_page_without_a_running_run_stays_as_it_is(port: int, runs: Path) -> None:
    manifest: dict[str, Any] = json.loads((runs / "running" / "manifest.json").read_text())
    (runs / "running" / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    assert 'http-equiv="refresh"' not in ask(port, "/")[1]


def test_two_runs_stand_side_by_side_and_what_differs_comes_first(port: int, runs: Path) -> None:
    found = pairs(runs / "one", runs / "two")
    assert [pair.claim for pair in found if pair.differs] == ["ORDER-06"] == [found[0].claim]
    status, page, _ = ask(port, "/compare?left=one&right=two")
    assert status == 200
    assert page.index('class="other"') < page.index("undecided (too noisy)")


@pytest.mark.parametrize("path", ["/compare", "/compare?left=one", "/compare?left=one&right=../two"])
def test_a_comparison_needs_two_runs_of_the_folder(port: int, path: str) -> None:
    assert ask(port, path)[0] == 400


def test_a_run_that_is_not_analysed_cannot_be_compared(port: int) -> None:
    status, said, _ = ask(port, "/compare?left=one&right=running")
    assert status == 404
    assert "mqlab analyze" in said


def test_a_report_is_served_and_nothing_else_of_the_machine(port: int) -> None:
    assert ask(port, "/runs/one/report.html")[:2] == (200, "<p>the report of one</p>")
    for path in ("/runs/two/report.html", "/runs/../secret.txt", "/runs/..%2F..%2Fsecret.txt/report.html", "/secret.txt",
                 "/runs/one/manifest.json", "/runs//report.html", "/runs/one/../../secret.txt", "/%00"):  # fmt: skip
        assert ask(port, path)[0] == 404, path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_written(port: int, method: str) -> None:
    assert ask(port, "/", method=method)[0] == 501


@pytest.mark.parametrize("host", ["evil.example:80", "10.0.0.1", ""])
def test_only_pages_of_this_machine_may_ask(port: int, host: str) -> None:
    assert ask(port, "/", Host=host)[0] == 403


def test_it_listens_on_loopback_alone(runs: Path) -> None:
    with make_server(runs, 0) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_a_folder_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert runs_of(tmp_path / "runs") == []
