"""What a diagnosis proposes: a file that is read and planned, with what the logs show, and what they do not show named so."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

import scenarios
from analysis.diagnosis.found import Found, Sure
from analysis.diagnosis.proposal import Shown
from harness.errors import EXIT_OK, EXIT_USAGE
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from mqlab.logs.proposed import proposal
from mqlab.main import main
from mqlab.own.own_incident import read_incident
from tests.lib.commands import typed
from tests.unit.test_plan import TWO_CORES
from tools.kept_logs import KEPT

STALLED, HANDED_OVER = KEPT / "append-stall-4.9.7", KEPT / "ordered-lock-handover-4.9.7"
WHOLE = Shown(
    masters=2, slaves=1, name_servers=3, settings={"waitTimeMillsInSendQueue": "400"}, stalls_ms=(450, 900), rate_hz=321.5,
    queues=6, groups=3,
)  # fmt: skip


def _found(incident: str) -> Found:
    return Found(incident=incident, sure=Sure.SURE, from_s=1.0, to_s=2.0, why=())


@pytest.mark.parametrize("shown", [Shown(), WHOLE], ids=["nothing", "all"])
@pytest.mark.parametrize("incident", [one.name for one in scenarios.ALL if one.sign])
def test_each_incident_that_logs_show_is_proposed_as_a_file_that_can_be_run(
    tmp_path: Path, incident: str, shown: Shown
) -> None:
    text, told = proposal("ours", _found(incident), shown)
    path = tmp_path / "ours.py"
    path.write_text(text)
    own = read_incident(path)
    assert list(make_plan(Request(scenarios=[own], releases=["5.5.0"], trials=1), TWO_CORES).trials())
    lab = scenarios.find(incident)
    if shown is WHOLE:
        assert (own.topology.masters, own.topology.name_servers) == (2 if shown.stalls_ms else lab.topology.masters, 3)
        assert all(arm.broker.conf["waitTimeMillsInSendQueue"] for arm in own.arms)
        assert "stalls of 450, 900 ms" in told.logs
        assert "sends a second: 321.5" in told.logs
    else:
        assert own.measures() == lab.measures()
        assert own.topology.masters == lab.topology.masters
        assert "all settings of the brokers" in told.defaults
        assert not told.logs


def test_what_the_logs_show_is_in_the_file_and_the_rest_is_called_a_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ours.py"
    assert main(["diagnose", str(STALLED), "--reproduce", str(path)]) == EXIT_OK
    printed = capsys.readouterr().out
    assert f"{path}: append-lock-over-1s" in printed
    assert "stalls of 1212 ms; queues on each broker: 8" in printed
    assert "  defaults: sends a second: 500\n" in printed
    own = read_incident(path)
    (incident,) = [arm for arm in own.arms if arm.name == "incident"]
    assert incident.cells == ({"stall_ms": 1212, "rate_hz": 500},)
    assert incident.broker.conf["waitTimeMillsInSendQueue"] == "200"
    assert cast(Any, incident.load).queues == 8
    # 1012 ms of 500 a second.
    assert own.claims[0].parts[0].if_true == 506
    assert main(["diagnose", str(STALLED), "--reproduce", str(path)]) == EXIT_USAGE
    assert "is there already" in capsys.readouterr().err


def test_the_rate_is_that_of_the_busiest_minute(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = tmp_path / "broker-a"
    logs.mkdir()
    for one in STALLED.iterdir():
        (logs / one.name).write_bytes(one.read_bytes())
    said = "2026-11-23 16:25:{:02} INFO StoreStatsService - [STORETPS] put_tps {} {} 99.0 get_found_tps 1.0 1.0 1.0\n"
    text = gzip.decompress((STALLED / "store.log.gz").read_bytes()).decode()
    lines = said.format(1, "900.5", "120.25") + said.format(59, "10.0", "312.75")
    (logs / "store.log.gz").write_bytes(gzip.compress((text + lines).encode()))
    assert main(["diagnose", str(logs), "--json", "--reproduce", str(tmp_path / "ours.py")]) == EXIT_OK
    captured = capsys.readouterr()
    assert "sends a second: 312.8" in captured.err
    assert json.loads(captured.out)["incidents"]
    assert "RATE_HZ = 312.8" in (tmp_path / "ours.py").read_text()


def test_an_incident_without_stalls_is_the_labs_on_the_users_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ours.py"
    assert main(["diagnose", str(HANDED_OVER), "--reproduce", str(path)]) == EXIT_OK
    printed = capsys.readouterr().out
    assert "masters: 1 (here 2)" in printed
    assert "queues on each broker: 3" in printed
    assert re.search(r"groups: \d+ \(here 8\)", printed)
    own, lab = read_incident(path), scenarios.find("ordered-lock-handover")
    assert [arm.name for arm in own.arms] == [arm.name for arm in lab.arms]
    assert {cast(Any, arm.load).queues_per_broker for arm in own.arms} == {3}
    assert own.measures() == lab.measures()


def test_without_an_incident_or_with_a_wrong_name_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "broker.log"
    log.write_text("2026-11-23 16:24:20 INFO main - brokerName=broker-a\n")
    assert main(["diagnose", str(log), "--reproduce", str(tmp_path / "ours.py")]) == EXIT_OK
    assert "is not written: there is no incident" in capsys.readouterr().out
    assert main(["diagnose", str(STALLED), "--reproduce", str(tmp_path / "Ours.py")]) == EXIT_USAGE
    assert "is no name for an incident's file" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["broker.log"]


def test_what_logs_say_does_not_end_the_text_that_it_stands_in(tmp_path: Path) -> None:
    hostile = '""" + __import__("os")._exit(7) + """\\'
    settings = {"flushDiskType": hostile, "brokerRole": f"ASYNC\nimport os; {hostile}"}
    text, _ = proposal("ours", _found("append-stall"), Shown(settings=settings, stalls_ms=(2**40,)))
    path = tmp_path / "ours.py"
    path.write_text(text)
    own = read_incident(path)
    assert own.arms[0].broker.conf == {"flushDiskType": hostile}
    assert own.arms[1].cells[0]["stall_ms"] == 60_000


def test_what_is_cut_or_too_long_to_be_a_setting_is_not_in_the_file(tmp_path: Path) -> None:
    before = "2026-03-05 18:25:34 INFO main -"
    (tmp_path / "store.log").write_text(
        f"{before} waitTimeMillsInSendQueue={'9' * 5000}\n{before} inSyncReplicas={'9' * 5000}\n"
        f"{before} brokerRole=SYNC_MASTER\n{before} create new topic [topicName=orders, readQ\n"
        f"{before} ha housekeeping, found this connection[127.0.0.1:1] expired, 20001\n"
        f"{before} [STORETPS] put_tps 1.2.3 1.2.3 {'9' * 5000}\n{before} [STORETPS] put_tps 1 {'9' * 5000}\n"
        f"{before} [NOTIFYME]putMessage in lock cost time(ms)=700, bodyLength=9\n"
    )
    said = typed("diagnose", str(tmp_path), "--reproduce", str(tmp_path / "ours.py"))
    assert said.code == EXIT_OK, said.err
    assert "9" * 20 not in (tmp_path / "ours.py").read_text()
    assert read_incident(tmp_path / "ours.py").name == "ours"
