"""Locust makes the rate of a trial's schedules: real Locust processes, and a client that keeps a schedule's books by the clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ClientError
from harness.leases.leases import Leases
from harness.load.locust_rate import merged
from harness.model.loads import LocustUsers
from harness.wait import wait_until
from tests.lib.locust_clients import CountingClient, locust_rate_of, locust_trial

RATES = {"one": 30.0, "other": 90.0}
TAKEN = {"requests": 3, "failures": 1, "bytes": 9, "sum_ms": 30, "min_ms": 4, "max_ms": 20}


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Any]:
    with Leases.open(tmp_path / "state") as leases:
        yield locust_trial(tmp_path, leases)


@pytest.mark.parametrize("workers", [1, 2], ids=["one process", "a master and two workers"])
def test_the_users_make_the_rate_and_everything_sent_is_counted(trial: Any, workers: int) -> None:
    client = CountingClient(RATES)
    locust = locust_rate_of(trial, client, LocustUsers(users=12, workers=workers))
    try:
        assert {spec.rate_hz for spec in client.started} == {0.0}
        locust.begin()
        wait_until("all users", lambda: client.rates == pytest.approx(RATES), timeout_s=60)
        assert max(client.seen) == pytest.approx(sum(RATES.values()))
        wait_until("some sends", lambda: client.sent() > 100, timeout_s=60)
    finally:
        locust.end()
    assert client.rates == pytest.approx(dict.fromkeys(RATES, 0.0), abs=1e-9)
    (test,) = json.loads((trial.directory.path / "locust.json").read_text())["tests"]
    assert test["requests"] == client.sent()
    assert test["not_sent_or_not_ended"] == 0
    locust.end()  # a second time does nothing


def test_a_shape_brings_users_later(trial: Any) -> None:
    client = CountingClient(RATES)
    locust = locust_rate_of(trial, client, LocustUsers(users=4, shape=((0.0, 0.25), (2.0, 1.0))))
    try:
        locust.begin()
        wait_until("all users", lambda: client.rates == pytest.approx(RATES), timeout_s=60)
    finally:
        locust.end()
    assert client.seen[0] == pytest.approx(sum(RATES.values()) / 4)


def test_of_several_schedules_counts_add_up_and_extremes_are_the_outermost() -> None:
    one = {**TAKEN, "response_ms": {"4": 1, "20": 2}, "errors": {"full": 1}, "late_us": {"p50": 7, "max": 70}}
    other = {**TAKEN, "min_ms": 2, "max_ms": 9, "response_ms": {"4": 3}, "errors": {}, "late_us": {"p50": 9, "max": 60}}
    assert merged([one, other]) == {
        "requests": 6, "failures": 2, "bytes": 18, "sum_ms": 60, "min_ms": 2, "max_ms": 20,
        "response_ms": {"4": 4, "20": 2}, "errors": {"full": 1}, "late_us": {"p50": 9, "max": 70},
    }  # fmt: skip
    assert merged([{"due": 1, "sending": False}, {"due": 2, "sending": True}]) == {"due": 3, "sending": True}


def test_answers_that_do_not_go_together_are_an_error() -> None:
    with pytest.raises(ClientError, match="due is 1 of one schedule and 'no' of another"):
        merged([{"due": 1}, {"due": "no"}])
