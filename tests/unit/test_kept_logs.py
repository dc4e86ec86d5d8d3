"""What real brokers wrote in an incident, with the logging that their release ships, and what ``mqlab patrol`` makes of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from harness.errors import EXIT_OK
from harness.rundir.manifest import DeploymentRecord, HostRecord, Manifest, NodeRecord
from harness.rundir.reading import RunDirectory
from mqlab.kept_logs import KEPT, PACKED_BYTES_MAX, PLACE, keep, stock_deployments
from mqlab.main import main

FOLDERS = sorted(path.name for path in KEPT.iterdir() if path.is_dir())
IS_ONE_OF = {"append-stall": {"append-stall", "append-lock-over-1s"}}
"""Where the logs alone cannot tell more: both are appends that take too long."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_patrol_names_the_incident_that_the_logs_are_of(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    incident = folder.rsplit("-", 1)[0]
    assert main(["patrol", str(KEPT / folder), "--json"]) == EXIT_OK
    found = json.loads(capsys.readouterr().out)
    assert found["incidents"][0]["incident"] in IS_ONE_OF.get(incident, {incident})


@pytest.mark.parametrize("release", ["4.6.0", "5.5.0"])
def test_a_patrol_counts_the_stalls_that_were_made(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["patrol", str(KEPT / f"append-stall-{release}"), "--json"])
    appends = json.loads(capsys.readouterr().out)["appends"]
    assert len(appends) >= 3
    # Of 700 and of 1200 ms; a log has whole milliseconds, and the rule's own end.
    assert all(690 <= one["ms"] <= 760 or 1190 <= one["ms"] <= 1260 for one in appends)


def test_the_kept_logs_are_small_and_say_nothing_of_the_machine() -> None:
    for folder in FOLDERS:
        files = list((KEPT / folder).iterdir())
        assert 0 < sum(path.stat().st_size for path in files) <= PACKED_BYTES_MAX
        for path in files:
            text = gzip.decompress(path.read_bytes())
            assert b"/trials/" not in text
            assert b"/home/" not in text.replace(b"user.home", b"")


def _run(tmp_path: Path, *deployments: DeploymentRecord) -> RunDirectory:
    manifest = Manifest(
        run="r", created="", command="", commit="c", dirty=False, seed=1, incidents=("i",), releases=("5.5.0",),
        backend="local", budget="full", trials=(), client_releases={}, rules={}, host=HostRecord(java="17", cores=2),
    )  # fmt: skip
    return RunDirectory(path=tmp_path, manifest=manifest, trials=(), deployments=deployments)


def _deployment(name: str, logging: str) -> DeploymentRecord:
    broker = NodeRecord(name="broker-a", kind="broker", role="MASTER", address="", pid=None)
    return DeploymentRecord(
        deployment=name, incident="i", release="5.5.0", index=1, topology={}, logging=logging, log_zone="", nodes=(broker,)  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_first_stock_deployment_is_kept_once_without_where_it_lay(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", *(_deployment(*one) for one in (("a", "lab"), ("b", "stock"), ("c", "stock"))))
    logs = tmp_path / "run" / "deployments" / "b" / "nodes" / "broker-a" / "logs" / "rocketmqlogs"
    logs.mkdir(parents=True)
    (logs / "store.log").write_text(f"load {tmp_path / 'run'}/deployments/b/store OK\n")
    (logs / "stats.log").write_text("nothing of any incident\n")
    (one,) = stock_deployments(run)
    (path,) = keep(run, one, tmp_path / "kept")
    assert gzip.decompress(path.read_bytes()).decode() == f"load {PLACE}/deployments/b/store OK\n"
    assert keep(run, one, tmp_path / "kept") == [], "what is kept stays"
