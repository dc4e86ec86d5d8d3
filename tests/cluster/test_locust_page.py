"""What is done on Locust's own page during a load. Its tests are alone on the machine: they are about a second."""

from __future__ import annotations

import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.backends.local import LocalCluster
from harness.clock import mono_ns
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.wait import wait_until
from tests.lib.loads import Command, masters_of, none_is_left

__all__ = ["none_is_left"]

S = 1_000_000_000


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    with masters_of("4.6.0", tmp_path_factory.mktemp("load"), leases, java, masters=1) as cluster:
        yield cluster


@pytest.mark.alone
@pytest.mark.parametrize("processes", [1, 2], ids=["alone", "master and workers"])
def test_what_is_done_on_locusts_page_takes_effect_within_a_second(
    one: LocalCluster, tmp_path: Path, processes: int
) -> None:
    port = free_port()
    command = Command(
        one, tmp_path / "run", f"page-{processes}", "--rate", "200", "--users", "20",
        "--processes", str(processes), "--web", str(port), "--record-only",
    )  # fmt: skip

    def sent() -> int:
        return sum(path.read_bytes().count(b'"send"') for path in (command.trial / "history").glob("producer-*.jsonl"))

    wait_until("two seconds of sends", lambda: sent() > 400, timeout_s=180, poll_s=0.2)
    more_ns = mono_ns()
    swarm = {"user_count": "60", "spawn_rate": "1000"}
    _page(port, "/swarm", swarm)
    before = sent()
    wait_until("three seconds of three times as many", lambda: sent() > before + 1_800, timeout_s=180, poll_s=0.2)
    stop_ns = mono_ns()
    _page(port, "/stop", {})
    command.process.send_signal(signal.SIGINT)
    command.end()

    sends = command.records("producer", "send")
    intended = sorted(int(str(send["intended_ns"])) for send in sends)
    # By way of the page, the master, the worker and the client, each of which may have to wait for this machine.
    late_s = 4 * max(_hiccup_ms(command.out, more_ns), _hiccup_ms(command.out, stop_ns)) / 1000

    def rate(from_ns: float) -> float:
        return sum(from_ns <= at_ns < from_ns + S / 2 for at_ns in intended) * 2

    assert rate(more_ns - S / 2) == pytest.approx(200, rel=0.1)
    assert rate(more_ns + S + late_s * S) == pytest.approx(600, rel=0.1)
    assert max(intended) <= stop_ns + S + late_s * S
    assert command.locust() == (len(sends), sum(send["outcome"] != "ok" for send in sends))


def _page(port: int, path: str, form: Mapping[str, str]) -> None:
    body = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=30) as answer:
        assert answer.status == 200


def _hiccup_ms(run: Path, at_ns: int) -> float:
    """How long this machine stood still at worst within two seconds after that moment."""
    records = read_records(run / "hiccups.jsonl").records
    windows = [record for record in records if record["type"] == "hiccup"]
    return max(
        (float(str(one["late_ms_max"])) for one in windows if at_ns - S <= int(str(one["at_ns"])) <= at_ns + 3 * S),
        default=0.0,
    )
