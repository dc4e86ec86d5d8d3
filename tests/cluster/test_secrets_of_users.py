"""A trial whose user's file and settings are full of secrets: nothing that its brokers, clients and analysis wrote holds one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import EXIT_OK
from harness.rundir.reading import read_run_directory
from tests.lib.commands import typed
from tests.lib.secrets_of_users import CONF, PLANTED, SETS, places_of_secrets


@pytest.mark.usefixtures("spark_of_commands")
def test_what_a_user_passes_on_of_a_trial_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    conf, made = tmp_path / "mine.conf", tmp_path / "made"
    conf.write_text(CONF)
    made.mkdir()
    sets = [word for text in SETS for word in ("--set", text)]
    said = typed(
        "reproduce", "append-stall", "--release", "5.5.0", "--param", "stall_ms=250", "--broker-conf", str(conf), *sets,
        "--out", str(made / "run"), "--bundle", str(made / "one.tar.gz"),
    )  # fmt: skip
    assert said.code == EXIT_OK, said.err
    assert PLANTED not in said.out + said.err
    run = read_run_directory(made / "run")
    # A trial that the machine disturbed is run again, within a bound.
    assert {trial.status for trial in run.trials} == {"complete"}
    assert len([trial for trial in run.trials if not trial.superseded_by]) == 1
    # The settings that are none have taken effect, and what was planted is known by its names.
    (deployment,) = run.deployments
    assert deployment.started_conf["waitTimeMillsInSendQueue"] == "400"
    assert [one for one in deployment.overrides if one.startswith("broker-jvm.my.password: (not shown)")]
    assert {"report.html", "broker.conf", "manifest.json"} <= {path.name for path in (made / "run").iterdir()}
    assert list(made.rglob("nodes/broker-a/broker.conf"))
    assert not list(places_of_secrets(made))
    assert not list(places_of_secrets(tmp_path / "state"))
