"""One trial of one arm: what is narrowed of an incident, what its command remembers, and how it is held at its moment."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mqlab.run.hold
import scenarios
from analysis.ledger.runs import CountedTrial
from analysis.report.document import Distribution
from analysis.report.one_trial import trial_lines
from harness.errors import EXIT_USAGE, Interrupted, UsageError
from harness.model.faults import KillOwners
from harness.model.scenario import Scenario
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from harness.rundir.writing import RunWriter
from harness.trial import TrialContext
from mqlab.main import _parser, main
from mqlab.run.hold import Hold
from mqlab.run.one_trial import one_trial, params_of
from mqlab.run.resume import command_line
from tests.lib.kinds_of_load import kinds_of_load
from tests.lib.samples import counted
from tests.unit.test_plan import TWO_CORES
from tests.unit.test_resume import MANIFEST

STALL, HANDOVER = scenarios.find("append-stall"), scenarios.find("ordered-lock-handover")
NEWEST = recorded_releases()[-1]


def _narrowed(scenario: Scenario = STALL, **asked: Any) -> Scenario:
    return one_trial(scenario, **{"release": NEWEST, "params": {}, **asked})


# --- one arm and one cell -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda one: one.name)
def test_each_arm_of_each_incident_comes_to_one_trial(scenario: Scenario) -> None:
    for arm in scenario.arms:
        release = arm.releases[0] if arm.releases else NEWEST
        found = one_trial(scenario, arm=arm.name, release=release, params={})
        ((deployment, trial),) = make_plan(Request(scenarios=[found], releases=[release]), TWO_CORES).trials()
        assert trial.arm.name == arm.name
        assert trial.params in arm.cells
        assert deployment.topology == (arm.topology or scenario.topology)
        assert found.phases_of(trial.arm) == scenario.phases_of(arm)
        assert found.measures() >= scenario.measures((arm.name,))


def test_by_itself_it_is_the_greatest_cell_that_a_quick_run_has_of_the_incident() -> None:
    (arm,) = _narrowed().arms
    assert (arm.name, dict(arm.cells[0])) == ("incident", {"stall_ms": 1200, "rate_hz": 500})


def test_parameters_choose_the_incidents_own_cell_or_change_it() -> None:
    (own,) = _narrowed(params={"stall_ms": "700"}).arms
    (changed,) = _narrowed(params={"stall_ms": "900", "rate_hz": "250.5"}).arms
    assert own.cells == ({"stall_ms": 700, "rate_hz": 500},)
    assert changed.cells == ({"stall_ms": 900, "rate_hz": 250.5},)
    assert "BUSY-09" in {claim.id for claim in _narrowed(params={"stall_ms": "700"}).claims}
    # What no claim is about is measured all the same.
    assert "BUSY-09" not in {claim.id for claim in _narrowed(params={"stall_ms": "900"}).claims}
    assert "rejected_count" in _narrowed(params={"stall_ms": "900"}).extra_measures


def test_parameters_change_the_load() -> None:
    params = {"groups": "4", "rate_per_queue_hz": "2.5", "successor_joins": "after"}
    (arm,) = _narrowed(HANDOVER, params=params).arms
    load = cast(Any, arm.load)
    assert (load.groups, load.rate_per_queue_hz, load.successor_joins) == (4, 2.5, "after")
    (stall,) = _narrowed(params={"attempts": "true", "body_bytes": "4096"}).arms
    assert (cast(Any, stall.load).attempts, cast(Any, stall.load).body_bytes) == (True, 4096)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"stal_ms": "900"}, "unknown parameter of arm incident 'stal_ms'"),
        ({"stall_ms": "nan"}, "stall_ms='nan' is no number"),
        ({"stall_ms": "-1"}, "is no number"),
        ({"rate_hz": "0"}, "no rate is 0"),
        ({"rate_hz": "1e9"}, "is no number"),
        ({"body_bytes": "1.5"}, "is no whole number"),
        ({"mode": "sideways"}, "is none of async, sync, oneway"),
        ({"attempts": "yes"}, "is none of true, false"),
        ({"readings": "disk"}, "unknown parameter"),
    ],
)
def test_a_parameter_that_nothing_has_or_that_is_no_value_is_refused(params: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        _narrowed(params=params)


def test_a_mistyped_parameter_of_the_cell_has_the_nearest_beside_it() -> None:
    with pytest.raises(UsageError) as raised:
        _narrowed(params={"stal_ms": "900"})
    assert raised.value.advice == "Did you mean stall_ms?"


def test_an_arm_a_release_and_a_topology_that_do_not_go_with_the_incident_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown arm of append-stall 'incidnt'"):
        _narrowed(arm="incidnt")
    with pytest.raises(UsageError, match="needs 2 masters, and single has 1"):
        _narrowed(scenarios.find("send-retries"), arm="incident-killed", topology="single")
    for name, arm in (("rolling-upgrade", ""), ("sync-master-acknowledges-alone", "")):
        for topology in ("single", "two-masters"):
            with pytest.raises(UsageError, match=f"needs slaves, and {topology} has none"):
                _narrowed(scenarios.find(name), arm=arm, release="4.9.7", topology=topology)
        assert _narrowed(scenarios.find(name), arm=arm, release="4.9.7", topology="article").topology.slaves_per_master
    with pytest.raises(UsageError, match=r"the nodes are namesrv-1, broker-a$"):
        _narrowed(scenarios.find("name-server-divergence"), arm="incident-server-paused", topology="single")
    bound = next((one, arm) for one in scenarios.ALL for arm in one.arms if arm.releases)
    other = next(release for release in recorded_releases() if release not in bound[1].releases)
    with pytest.raises(UsageError, match="has no use on"):
        _narrowed(bound[0], arm=bound[1].name, release=other)


def test_a_topology_of_ones_own_and_a_longer_load() -> None:
    found = _narrowed(topology="article", hold_s=600.0)
    ((deployment, trial),) = make_plan(Request(scenarios=[found], releases=[NEWEST]), TWO_CORES).trials()
    assert (deployment.topology.masters, deployment.topology.slaves_per_master) == (2, 1)
    assert found.phases_of(trial.arm).hold_s_max == STALL.phases.hold_s_max + 600


# --- the command ----------------------------------------------------------------------------------------------------------

COMMAND = (
    "mqlab reproduce append-stall --arm fix-send-queue-wait-400 --release 4.9.7 --seed 7 --topology two-masters "
    "--client-release 5.5.0 --set broker.flushDiskType=SYNC_FLUSH --param stall_ms=900 --param rate_hz=200"
)


def test_the_manifests_command_says_all_that_the_trial_is() -> None:
    def parsed(command: str) -> argparse.Namespace:
        return _parser().parse_args(shlex.split(command)[1:])

    written = command_line(parsed(COMMAND))
    assert vars(parsed(written)) == {**vars(parsed(COMMAND)), "backend": "local"}
    assert written.startswith("mqlab reproduce append-stall")


def test_a_parameter_is_given_once() -> None:
    assert params_of([("a", "1"), ("b", "2")]) == {"a": "1", "b": "2"}
    with pytest.raises(UsageError, match="--param a is given twice"):
        params_of([("a", "1"), ("b", "2"), ("a", "3")])


def test_a_single_trial_is_not_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    RunWriter.create(tmp_path / "run", dataclasses.replace(MANIFEST, command=COMMAND)).close()
    assert main(["verify", "--resume", str(tmp_path / "run")]) == EXIT_USAGE
    assert "holds a single trial" in capsys.readouterr().err


# --- the hold -------------------------------------------------------------------------------------------------------------


def _trial(folder: Path, said: list[str]) -> TrialContext:
    nodes = [
        SimpleNamespace(name="namesrv-1", kind="namesrv", address="127.0.0.1:1"),
        SimpleNamespace(name="broker-a", kind="broker", address="127.0.0.1:2"),
    ]
    cluster = SimpleNamespace(nodes=nodes, folder=folder / "d1", pid={"namesrv-1": 41, "broker-a": None}.get)
    return cast(
        TrialContext,
        SimpleNamespace(
            arm=SimpleNamespace(fault=KillOwners()), cluster=cluster, say=said.append, cancel=threading.Event(),
            record=SimpleNamespace(release="5.5.0", topic="t", groups=("g",)),
            directory=SimpleNamespace(path=folder / "run" / "trials" / "t1"),
            clients=[SimpleNamespace(name="owners", pid=43, is_running=lambda: True)],
        ),
    )  # fmt: skip


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """One that says what it was asked, and its tools."""
    monkeypatch.setattr(mqlab.run.hold, "ensure_jars", lambda release: (Path("/a b/one.jar"), Path("/two.jar")))
    command = tmp_path / "java" / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "$NAMESRV_ADDR" "$@"\n')
    command.chmod(0o755)
    return Java(home=tmp_path / "java", version="17", source="path")


def test_a_hold_says_how_to_look_inside_and_ends_as_the_user_says(tmp_path: Path, java: Java) -> None:
    said: list[str] = []
    trial, hold = _trial(tmp_path, said), Hold(10.0, java)
    assert hold.run is None
    trial.cancel.set()
    with pytest.raises(Interrupted):
        hold(trial, True)
    assert hold.run == tmp_path / "run"
    (text,) = said
    assert "held while kill-owners is on, for at most 10 minutes; Ctrl-C ends it" in text
    assert "mqlab audit --namesrv 127.0.0.1:1" in text
    assert (
        f"namesrv-1 127.0.0.1:1: kill -QUIT 41 writes its threads to {tmp_path}/d1/nodes/namesrv-1/stdout.log" in text
    )
    assert "broker-a 127.0.0.1:2: is down" in text
    assert "client owners: process 43" in text
    admin = tmp_path / "run" / "look" / "mqadmin"
    assert str(admin) in text
    ran = subprocess.run([admin, "clusterList", "-i", "a b"], capture_output=True, text=True, check=True).stdout
    assert ran.startswith("127.0.0.1:1 ")
    assert ran.endswith(
        "-cp /a b/one.jar:/two.jar org.apache.rocketmq.tools.command.MQAdminStartup clusterList -i a b\n"
    )


def test_a_hold_ends_by_itself_and_names_jstack_where_it_is(tmp_path: Path, java: Java) -> None:
    (java.home / "bin" / "jstack").write_text("")
    said: list[str] = []
    with pytest.raises(Interrupted):
        Hold(0.0, java)(_trial(tmp_path, said), False)
    assert "just after kill-owners is over" in said[0]
    assert f"client owners: {java.home}/bin/jstack 43" in said[0]


# --- what it prints -------------------------------------------------------------------------------------------------------


def _measured(measure: str, values: tuple[float, ...], **params: str) -> Distribution:
    return Distribution(
        incident="append-stall", release=NEWEST, arm="incident", params={"stall_ms": 900, **params}, measure=measure,
        unit="ms" if measure.endswith("_ms") else "", values=values,
    )  # fmt: skip


def test_a_trial_is_told_with_its_measures_and_one_that_does_not_count_with_the_reason() -> None:
    def note(*reasons: str) -> CountedTrial:
        return counted(
            incident="append-stall", arm="incident", cell={"stall_ms": 900}, release=NEWEST, exclusions=reasons,
            notes=() if reasons else ("the fault was not healed",),
        )  # fmt: skip

    measured = (
        _measured("rejected_count", (149.0,), keyword="any"),
        _measured("rejected_count", (0.0,), keyword="OVERLOAD"),
        _measured("append_in_lock_ms", (905.0,)),
    )
    data = cast(Any, SimpleNamespace(trials=(note("the machine stalled"), note()), distributions=measured))
    lines = [" ".join(line.split()) for line in trial_lines(data)]
    assert (
        lines[0] == f"append-stall, incident on {NEWEST}: stall 900 ms; the trial does not count: the machine stalled"
    )
    assert lines[1] == f"append-stall, incident on {NEWEST}: stall 900 ms; the trial counts (the fault was not healed)"
    assert lines[2].startswith("append_in_lock_ms: 905 ms (Time for which")
    assert lines[3].startswith("rejected_count: 149 any; 0 OVERLOAD (")
    assert len(lines) == 4


def test_every_load_has_a_field_that_can_be_changed() -> None:
    loads = {type(arm.load) for scenario in scenarios.ALL for arm in scenario.arms}
    assert loads <= kinds_of_load()
    for scenario in scenarios.ALL:
        with pytest.raises(UsageError, match="unknown parameter") as raised:
            _narrowed(scenario, params={"nothing_has_this": "1"})
        assert raised.value.advice
