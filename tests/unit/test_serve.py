"""The page over all runs, asked as a browser asks: by HTTP, and with names that mean harm."""

from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import analysis.report.runs
import mqlab.run.serve
from analysis.ledger.runs import FINDINGS
from analysis.report.document import PAGE_DATA
from analysis.report.runs import pairs, runs_of
from mqlab.run.serve import HOST, make_server
from tests.lib.run_folders import make_runs, serving, write_run
from tests.lib.samples import sample, write_document


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
    found = pairs(runs, "one", "two")
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
    assert "mqlab runs analyze" in said


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


def test_a_connection_that_says_nothing_is_ended(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqlab.run.serve._Handler.timeout", 0.2)
    with serving(runs) as port:
        for begun in (b"", b"GET / HTTP/1.1\r\nHost: 127"):
            with socket.create_connection((HOST, port), timeout=60) as connection:
                connection.sendall(begun)
                assert connection.recv(1) == b""


def test_a_browser_that_hangs_up_is_worth_no_word(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):
        with socket.create_connection((HOST, port), timeout=60) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert ask(port, "/")[0] == 200
    assert capfd.readouterr().err == ""


def test_it_listens_on_loopback_alone(runs: Path) -> None:
    with make_server(runs, 0) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_a_folder_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert runs_of(tmp_path / "runs") == []


# --- runs of somebody else's ----------------------------------------------------------------------------------------------

SECRET = "a secret of this machine"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside of the runs, that whoever runs the command may read."""
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


def _manifest_text(**fields: object) -> str:
    return json.dumps({**sample()["manifest"], "schema": 1, "run": "x", "status": "complete", "trials": [], **fields})


def test_a_report_that_is_a_link_is_not_served(port: int, runs: Path, secret: Path) -> None:
    (runs / "two" / "report.html").symlink_to(secret)
    assert ask(port, "/runs/two/report.html")[0] == 404
    assert "/runs/two/report.html" not in ask(port, "/")[1]


def test_a_run_that_is_a_link_is_told_and_not_followed(port: int, runs: Path, tmp_path: Path) -> None:
    elsewhere = write_run(tmp_path, "elsewhere", trials={"a": SECRET})
    (elsewhere / "report.html").write_text(SECRET)
    write_document(elsewhere, sample())
    (runs / "linked").symlink_to(elsewhere)
    write_run(runs, "of a link")
    (runs / "of a link" / "manifest.json").unlink()
    (runs / "of a link" / "manifest.json").symlink_to(elsewhere / "manifest.json")
    page = ask(port, "/")[1]
    assert page.count("a link leads to it or to its manifest, and links are not followed") == 2
    for name in ("linked", "of%20a%20link"):
        assert ask(port, f"/runs/{name}/report.html")[0] == 404
        assert ask(port, f"/compare?left=one&right={name}")[0] == 400


def test_no_other_file_of_a_run_leads_out_of_it(port: int, runs: Path, secret: Path, tmp_path: Path) -> None:
    document = sample()
    document["findings"][0]["summary"] = SECRET
    write_document(tmp_path / "elsewhere", document)
    for name, place, target in (
        ("two", str(FINDINGS), tmp_path / "elsewhere" / FINDINGS),
        ("running", "trials/a/trial.json", secret),
    ):
        (runs / name / place).unlink()
        (runs / name / place).symlink_to(target)
    page = ask(port, "/")[1]
    assert SECRET not in page
    assert "running: 0 of 2" in page
    status, said, _ = ask(port, "/compare?left=one&right=two")
    assert (status, SECRET in said, "links are not followed" in said) == (404, False, True)
    (runs / "two" / FINDINGS).unlink()
    (runs / "two" / PAGE_DATA).unlink()
    (runs / "two" / "analysis").rmdir()
    (runs / "two" / "analysis").symlink_to(tmp_path / "elsewhere" / "analysis")
    assert SECRET not in ask(port, "/compare?left=one&right=two")[1]


def test_what_is_no_file_holds_nothing_up(port: int, runs: Path) -> None:
    for name in ("pipe", "folder"):
        (runs / name).mkdir()
    os.mkfifo(runs / "pipe" / "manifest.json")
    (runs / "folder" / "manifest.json").mkdir()
    (runs / "two" / "report.html").unlink(missing_ok=True)
    os.mkfifo(runs / "two" / "report.html")
    assert ask(port, "/")[0] == 200
    assert ask(port, "/runs/two/report.html")[0] == 404


DEEP = {depth: "[" * depth + "]" * depth for depth in (900, 950, 980, 100_000)}
MANIFESTS = {
    "deeply nested": DEEP[100_000],
    **{f"a value {depth} deep": _manifest_text(seed="HERE").replace('"HERE"', DEEP[depth]) for depth in DEEP},
    **{f"a schema {depth} deep": _manifest_text(schema="HERE").replace('"HERE"', DEEP[depth]) for depth in DEEP},
    "a number of 5,000 digits": _manifest_text(seed="HERE").replace('"HERE"', "9" * 5000),
    "a number without an end": _manifest_text(seed="HERE").replace('"HERE"', "1e999999"),
    "no UTF-8": "\udcff",
    "half a character": _manifest_text(command="\ud800", incidents=["\ud800"]),
    "trials that lead out": _manifest_text(trials=["..", "/", "../../one", "\0", "", "x" * 5000, "."]),
    "trials twice": _manifest_text(trials=["a"] * 1000),
    "text that paints": _manifest_text(incidents=["\x1b[2J", "<script>window.ran=1</script>"]),
    "nothing": "",
    "null": "null",
}


def test_a_manifest_that_means_harm_takes_no_other_run_from_the_pages(port: int, runs: Path) -> None:
    for kind, text in MANIFESTS.items():
        (runs / kind).mkdir()
        (runs / kind / "manifest.json").write_text(text, errors="surrogateescape")
    status, page, _ = ask(port, "/")
    assert status == 200
    for name in ("one", "two", *MANIFESTS):
        assert f">{name}<" in page, name
    assert "<script" not in page
    assert "\x1b" not in page
    for kind in MANIFESTS:
        assert ask(port, f"/compare?left={quote(kind)}&right={quote(kind)}")[0] == 404, kind


@pytest.mark.parametrize("place", [str(FINDINGS), "trials/a/trial.json"])
def test_neither_does_what_lies_beside_it(port: int, runs: Path, place: str) -> None:
    for kind, text in MANIFESTS.items():
        write_run(runs, kind, status="interrupted", trials={"a": "complete"})
        (runs / kind / place).parent.mkdir(exist_ok=True)
        (runs / kind / place).write_text(text, errors="surrogateescape")
    status, page, _ = ask(port, "/")
    assert status == 200
    assert "<script" not in page
    for kind in MANIFESTS:
        assert f">{kind}<" in page
        # Of a trial nothing but its state is read, so that its record may be a manifest, which has one.
        assert ask(port, f"/compare?left={quote(kind)}&right={quote(kind)}")[0] == 404, kind


NAMES = (
    "\n",
    "a\nb",
    "..%2fone",
    "%2e%2e",
    "?left=one",
    "#x",
    "\x1b[2J",
    "\udcff",
    "\u202e",
    "x" * 255,
    '" onload="x',
    " ",
    "&amp;",
)


def test_whatever_a_run_is_called_its_report_is_led_to(port: int, runs: Path) -> None:
    for number, name in enumerate(NAMES):
        write_run(runs, name)
        (runs / name / "report.html").write_text(f"<p>its report, {number}</p>")
    status, page, _ = ask(port, "/")
    assert status == 200
    assert "\x1b" not in page
    assert " onload=" not in page.replace("&#34; onload=", "")
    for number, name in enumerate(NAMES):
        address = f"/runs/{quote(os.fsencode(name), safe='')}/report.html"
        assert f'href="{address}"' in page
        assert ask(port, address)[:2] == (200, f"<p>its report, {number}</p>")


def test_a_report_has_an_origin_of_its_own_and_asks_for_nothing(port: int) -> None:
    _, _, answer = ask(port, "/runs/one/report.html")
    policy = dict(
        rule.strip().partition(" ")[::2] for rule in str(answer.getheader("Content-Security-Policy")).split(";")
    )
    # allow-same-origin would let its scripts read the other pages, allow-popups and -top-navigation lead away.
    assert policy["sandbox"] == "allow-scripts allow-downloads"
    assert policy["default-src"] == "'none'"
    assert not policy.keys() & {"connect-src", "frame-src", "child-src", "worker-src"}
    assert answer.getheader("Cross-Origin-Resource-Policy") == "same-origin"
    assert "sandbox" not in str(ask(port, "/")[2].getheader("Content-Security-Policy"))


@pytest.mark.parametrize("path", ["//[", "/%", "/?%ff=%ff", "/compare?left=%00&right=%ff", "/runs/%ff/report.html"])
def test_an_address_that_is_none_is_answered(port: int, path: str) -> None:
    assert ask(port, path)[0] in (200, 400, 404)


def _slowly(port: int, seconds: float) -> float:
    """How long a request is listened to that comes byte by byte."""
    began = time.monotonic()
    with socket.create_connection((HOST, port), timeout=seconds) as connection:
        while time.monotonic() - began < seconds:
            try:
                connection.sendall(b"G")
            except OSError:
                break
            time.sleep(0.05)
    return time.monotonic() - began


def test_a_request_that_comes_byte_by_byte_is_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqlab.run.serve, "ASKING_S_MAX", 0.5)
    assert _slowly(port, 60) < 30
    assert ask(port, "/")[0] == 200


def test_connections_are_bounded_and_free_again_when_they_end(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqlab.run.serve, "CONNECTIONS_MAX", 3)
    with serving(runs) as port:
        held = [socket.create_connection((HOST, port), timeout=30) for _ in range(3)]
        with socket.create_connection((HOST, port), timeout=30) as one_more:
            assert one_more.recv(1) == b""
        for connection in held:
            connection.close()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                status = ask(port, "/")[0]
                break
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
        assert status == 200


def test_a_report_or_a_record_of_a_terabyte_is_not_read(runs: Path, port: int) -> None:
    for name in ("report.html", "trials/a/trial.json", str(FINDINGS)):
        file = runs / "one" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as grown:
            grown.truncate(2**40)
    status, said, _ = ask(port, "/runs/one/report.html")
    assert (status, said) == (404, "it has more than 67,108,864 bytes")
    assert ask(port, "/")[0] == 200
    assert "has more than" in ask(port, "/compare?left=one&right=one")[1]


def test_trials_that_a_manifest_makes_up_are_not_looked_for(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis.report.runs, "TRIALS_MAX", 1)
    assert "it names more than 1 trials" in [run.problem for run in runs_of(runs)]


def _raw(port: int, request: str) -> bytes:
    """The whole answer to these very bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request.encode("iso-8859-1"))
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /", 200),
        ("GET / HTTP/0.9", 200),
        ("GET / HTTP/2.0", 505),
        ("GET / HTTP/1.1e5", 400),
        ("<script> / HTTP/1.1", 501),
        ("HEAD / HTTP/1.1", 501),
        ("POST /", 400),
        ("GET / x HTTP/1.1", 400),
        ("GET /" + "a" * 70_000 + " HTTP/1.1", 414),
    ],
)
def test_whatever_is_asked_the_answer_has_the_headers_that_protect(port: int, line: str, status: int) -> None:
    head, _, body = _raw(port, f"{line}\r\nHost: 127.0.0.1:{port}\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.0 {status} ".encode())
    assert b"\r\nContent-Security-Policy: default-src 'none'" in head
    assert b"\r\nX-Content-Type-Options: nosniff" in head
    assert (b"text/html" in head) is (status == 200)
    assert not body.startswith(b"HTTP/")


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("http://evil.example/", ["Host: 127.0.0.1"]),
        ("http://127.0.0.1/", ["Host: 127.0.0.1"]),
        ("/", ["Host: 127.0.0.1", "Host: evil.example"]),
        ("/", ["Host: evil.example", "Host: 127.0.0.1"]),
        ("/", ["Host: 127.0.0.1", "Origin: http://127.0.0.1", "Origin: http://evil.example"]),
        ("/", ["Host: 127.0.0.1", "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"]),
    ],
)
def test_a_request_that_says_two_things_of_whom_it_asks_is_not_answered(
    port: int, target: str, headers: list[str]
) -> None:
    said = "\r\n".join([f"GET {target} HTTP/1.1", *headers, "", ""])
    assert _raw(port, said).split(b" ", 2)[1] in (b"400", b"403")


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_report_that_is_exchanged_while_it_is_asked_for_leads_nowhere(
    runs: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with serving(runs) as port:
        report = runs / "one" / "report.html"

        def exchange(*about: object) -> list[str]:
            report.unlink()
            report.symlink_to(secret) if kind == "link" else os.mkfifo(report)
            return ["one"]

        # It is the last that is done before the report is opened.
        monkeypatch.setattr("mqlab.run.serve.run_names", exchange)
        status, text, _ = ask(port, "/runs/one/report.html")
    assert status == 404
    assert secret.read_text() not in text
    assert text == ("it is a link, and links are not followed" if kind == "link" else "it is no file")


def test_one_page_is_read_at_a_time(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most, now, counting = [0], [0], threading.Lock()

    def page(*about: object, **more: object) -> str:
        with counting:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with counting:
            now[0] -= 1
        return "a page"

    monkeypatch.setattr("mqlab.run.serve.list_page", page)
    with serving(runs) as port, ThreadPoolExecutor(8) as pool:
        assert [status for status, _, _ in pool.map(lambda _: ask(port, "/"), range(8))] == [200] * 8
    assert most == [1]
