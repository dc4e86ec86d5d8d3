"""Whose requests the lab's pages answer: Locust's, in a process of its own, and the one over all runs."""

from __future__ import annotations

import dataclasses
import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from harness.clients.commands import SendSettings
from harness.generator.locust_processes import spawn_locust
from harness.generator.options import RATE_HZ_MAX, USERS_MAX, LoadOptions, LocustSpec
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.load import locust_rate
from harness.model.loads import LocustUsers
from harness.own_page import why_refused
from harness.wait import wait_until
from tests.lib.locust_clients import CountingClient, locust_rate_of, locust_trial
from tests.lib.run_folders import make_runs, serving

USERS, RATE_HZ = 10, 50.0
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "evil.example:{port}"},
    {"Host": "127.0.0.1.evil.example:{port}"},
    {"Host": ""},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:{port}@evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
]
ORDERS = [
    {"Referer": "http://evil.example/127.0.0.1:{port}/"},
    {"Referer": "http://[/"},
    {"Sec-Fetch-Site": "same-site"},
]
OWN = [
    {},
    {"Origin": "http://127.0.0.1:{port}", "Referer": "http://127.0.0.1:{port}/", "Sec-Fetch-Site": "same-origin"},
    {"Host": "localhost:{port}", "Origin": "http://localhost:{port}"},
]


class Answer(NamedTuple):
    """What a page answered."""

    status: int
    text: str
    headers: Mapping[str, str]


def _ask(port: int, path: str, headers: Mapping[str, str], form: Mapping[str, object] | None = None) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    given = {name: value.format(port=port) for name, value in headers.items()}
    try:
        if form is None:
            connection.request("GET", path, headers=given)
        else:
            connection.request("POST", path, urlencode(form), headers={**FORM, **given})
        answer = connection.getresponse()
        return Answer(answer.status, answer.read().decode(), dict(answer.getheaders()))
    finally:
        connection.close()


class Page(NamedTuple):
    """A real Locust process with its page, and the client that keeps the books of what it asks for."""

    port: int
    client: CountingClient

    def rate_hz(self) -> float:
        return sum(self.client.rates.values())

    def swarm(self, users: object, headers: Mapping[str, str]) -> Answer:
        return _ask(self.port, "/swarm", headers, {"user_count": users, "spawn_rate": 1000})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder, port, client = tmp_path_factory.mktemp("page"), free_port(), CountingClient({"one": RATE_HZ})

    def with_page(leases: Leases, spec: LocustSpec, *rest: Any, **more: Any) -> Any:
        return spawn_locust(leases, dataclasses.replace(spec, web_port=port), *rest, **more)

    with pytest.MonkeyPatch.context() as patch, Leases.open(folder / "state") as leases:
        patch.setattr(locust_rate, "spawn_locust", with_page)
        locust = locust_rate_of(locust_trial(folder, leases), client, LocustUsers(users=USERS))
        try:
            locust.begin()
            wait_until("all users", lambda: client.rates == pytest.approx({"one": RATE_HZ}), timeout_s=120)
            wait_until("the page", lambda: _ask(port, "/", {}).status == 200, timeout_s=60)
            yield Page(port, client)
        finally:
            locust.end()


@pytest.mark.parametrize("headers", [*FOREIGN, *ORDERS], ids=str)
def test_a_page_of_somebody_else_gives_a_load_no_orders(page: Page, headers: Mapping[str, str]) -> None:
    for path in ("/swarm", "/stop", "/stats/reset"):
        answer = _ask(page.port, path, headers, {"user_count": 1480, "spawn_rate": 1480})
        assert answer.status == 403
        assert answer.text.startswith("This page ")
        assert answer.text.endswith(".")
    assert page.rate_hz() == pytest.approx(RATE_HZ)


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_page_of_somebody_else_reads_nothing_of_a_load(page: Page, headers: Mapping[str, str]) -> None:
    for path in ("/", "/stats/requests", "/stats/report"):
        answer = _ask(page.port, path, headers)
        assert (answer.status, "Access-Control-Allow-Origin" in answer.headers) == (403, False)


def test_a_link_to_the_page_may_be_followed_and_no_other_page_shows_it(page: Page) -> None:
    follows = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    answer = _ask(page.port, "/", follows)
    assert answer.status == 200
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert _ask(page.port, "/", {**follows, "Sec-Fetch-Dest": "iframe"}).status == 403


@pytest.mark.parametrize("headers", OWN, ids=str)
def test_the_page_itself_and_a_program_change_the_load(page: Page, headers: Mapping[str, str]) -> None:
    for users in (2 * USERS, USERS):
        answer = page.swarm(users, headers)
        assert answer.status == 200
        assert json.loads(answer.text)["success"] is True
        wait_until("the rate", lambda: page.rate_hz() == pytest.approx(RATE_HZ / USERS * users), timeout_s=60)  # noqa: B023


@pytest.mark.parametrize(
    "users", [USERS_MAX + 1, "+10001", " 1_000_000 ", 10**18, "9" * 5000, "nan", -1, ""], ids=lambda one: str(one)[:9]
)
def test_no_more_users_than_a_load_may_have_are_taken(page: Page, users: object) -> None:
    answer = page.swarm(users, {})
    assert json.loads(answer.text)["success"] is False
    assert page.rate_hz() == pytest.approx(RATE_HZ)


def test_a_load_may_have_as_many_users_as_its_rate_and_its_options_allow() -> None:
    def most(users: int, per_user: float, *, closed: bool = False) -> int:
        return LoadOptions(
            users=users, per_user=per_user, closed=closed, duration_s=0.0, shape=(), sends=SendSettings(topic="t")
        ).users_max

    assert most(10, 5.0) == USERS_MAX
    assert most(10, 1_000.0) == RATE_HZ_MAX / 1_000
    assert most(1, RATE_HZ_MAX) == 1
    assert most(10, 1_000.0, closed=True) == 100
    assert most(1_000, 1_000.0, closed=True) == 1_000


@pytest.fixture(scope="module")
def over_all_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving(make_runs(tmp_path_factory.mktemp("runs") / "runs")) as at:
        yield at


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_the_page_over_all_runs_refuses_the_same(over_all_runs: int, headers: Mapping[str, str]) -> None:
    for form in (None, {"a": 1}):
        answer = _ask(over_all_runs, "/", headers, form)
        assert answer.status == 403
        assert answer.text.startswith("This page ")


def test_the_page_over_all_runs_is_read_and_takes_no_orders(over_all_runs: int) -> None:
    for headers in OWN:
        assert _ask(over_all_runs, "/", headers).status == 200
        assert _ask(over_all_runs, "/", headers, {"a": 1}).status == 501
    for headers in ORDERS:
        assert _ask(over_all_runs, "/", headers, {"a": 1}).status == 403


def test_methods_that_change_something_are_those_that_are_not_known_to_read() -> None:
    asked = {"Host": "127.0.0.1:1", "Referer": "http://evil.example/"}
    assert not why_refused("GET", asked.get)
    assert not why_refused("HEAD", asked.get)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "get", "ANY"):
        assert why_refused(method, asked.get)
