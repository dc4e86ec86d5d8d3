"""What a diagnosis finds of registrations that fail and that are too long: lines made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lib.operators_logs import FAILED, NAMESRV, found_in, read


def test_failures_that_all_name_servers_share_set_none_of_them_apart(tmp_path: Path) -> None:
    done = "2026-11-21 16:45:{second:02d} INFO brokerOutApi_thread_1 - register broker[0]to name server 10.0.0.{server}:9876 OK\n"
    failed = FAILED.replace("16:46:01", "16:{minute}:{second:02d}").replace("10.0.0.1:", "10.0.0.{server}:")
    log = "".join(done.format(second=40 + server, server=server) for server in (1, 2)) + "".join(
        failed.format(minute=minute, second=server, server=server) for minute in (46, 47, 48) for server in (1, 2)
    )
    (tmp_path / "broker.log").write_text(log)
    assert found_in(tmp_path) == []


def test_what_a_name_server_dropped_for_a_registration_that_was_too_long_is_no_divergence(tmp_path: Path) -> None:
    done = "2026-11-21 16:44:30 INFO brokerOutApi_thread_1 - register broker[0]to name server 10.0.0.2:9876 OK\n"
    booted = "2026-11-21 16:40:00 INFO main - The broker[b, 10.0.0.9:10911] boot success. serializeType=JSON\n"
    (tmp_path / "broker.log").write_text(booted + done + FAILED.replace("16:46:01", "16:44:31"))
    names = tmp_path / "names" / "namesrv.log"
    names.parent.mkdir()
    dropped = "2026-11-21 16:46:02 INFO x - the broker's channel destroyed, 10.0.0.9:10911, clean it's data structure at once\n"
    names.write_text(dropped)
    assert {one.incident for one in found_in(tmp_path)} == {"name-server-divergence"}
    names.write_text(NAMESRV.format(size=16_777_295) + dropped)
    assert {one.incident for one in found_in(tmp_path)} == {"retry-topic-flood"}


@pytest.mark.parametrize(
    ("address", "incident"),
    [("172.17.0.3:10911", "broker-address-unreachable"), ("172.17.0.3:9876", "name-server-unreachable")],
)
def test_an_address_that_is_never_reached_is_a_brokers_or_a_name_servers(
    address: str, incident: str, tmp_path: Path
) -> None:
    (tmp_path / "app.log").write_text(
        "".join(
            f"2026-11-21 16:{minute}:00 WARN main - send\n"
            f"org.apache.rocketmq.remoting.exception.RemotingConnectException: connect to {address} failed\n"
            for minute in range(40, 44)
        )
    )
    (found,) = read(tmp_path).incidents
    assert (found.found.incident, found.found.brokers, found.found.sure) == (incident, (address,), "likely")
    assert ("Set brokerIP1" in found.advice) == (incident == "broker-address-unreachable")
    assert (f"nc -vz ADDRESS {address[-4:]}" in found.advice) == (incident == "name-server-unreachable")
