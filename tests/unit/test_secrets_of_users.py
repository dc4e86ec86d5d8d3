"""A user's secrets get into no run, and so into no page and no bundle of one; the run goes on without them."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

import mqlab.run.running
import scenarios
from harness.backends.choose import Backend
from harness.backends.cluster import ClusterSpec
from harness.errors import EXIT_FAILED, EXIT_OK
from harness.model.cluster import UserSettings
from harness.plan.schedule import Plan
from harness.releases.border import HIDDEN, admitted, masked, masked_words
from harness.releases.java import find_java
from harness.releases.properties import read_conf, without_secrets
from harness.run import deployment
from harness.run.context import RunContext
from harness.rundir.manifest import read_manifest
from harness.rundir.writing import RunWriter
from mqlab.main import _parser
from mqlab.run.resume import restore_options
from mqlab.run.running import Job
from tests.lib.clusters import drawn
from tests.lib.commands import Said, typed
from tests.lib.secrets_of_users import CONF, PLANTED, SETS, places_of_secrets

KEPT = {"flushDiskType": "SYNC_FLUSH", "waitTimeMillsInSendQueue": "400"}


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "mine.conf"
    path.write_text(CONF)
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_what_is_read_of_a_file_holds_no_secret_and_what_is_none_stays(conf: Path) -> None:
    found = read_conf(conf)
    assert PLANTED not in str(found)
    assert {key: value for key, value in found.settings.items() if value != HIDDEN} == KEPT
    assert len(found.settings) == len(KEPT) + 13


def test_the_copy_of_a_file_has_its_lines_and_is_read_as_the_file_is(conf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.conf"
    copy.write_bytes(without_secrets(conf))
    assert PLANTED not in copy.read_text()
    assert read_conf(copy).entries == read_conf(conf).entries
    assert "flushDiskType=SYNC_FLUSH\n" in copy.read_text()


def test_no_secret_enters_a_node(conf: Path, tmp_path: Path) -> None:
    raw = {"my.password": f"{PLANTED}1", "accessKey": PLANTED, "secretKey": "12345678", "flushDiskType": "SYNC_FLUSH"}
    jvm = {"my.password": "12345678", "accessKey": PLANTED, "a.b": "1"}
    for user in (UserSettings(broker=raw, broker_jvm=jvm), UserSettings(broker=read_conf(conf).settings)):
        held = admitted(user, tmp_path)
        assert held.settings.broker["flushDiskType"] == "SYNC_FLUSH"
        assert not {"my.password", "accessKey", "secretKey"} & {*held.settings.broker, *held.settings.broker_jvm}
        assert PLANTED not in str(held)
        spec = ClusterSpec(name="c", release="5.5.0", topology=scenarios.find("append-stall").topology, user=user)
        blueprint = drawn(spec, tmp_path)
        assert not [
            one for launch in blueprint.launches for one in (*launch.options, launch.conf.read_text()) if PLANTED in one
        ]


def test_what_is_no_secret_is_passed_on() -> None:
    for key, value in (
        ("flushDiskType", "SYNC_FLUSH"), ("createTopicKey", "TBW102"), ("aclEnable", "true"), ("secretRotation", "false"),
        ("messageDelayLevel", "1s 5s 10s"), ("namesrvAddr", "10.0.0.1:9876;10.0.0.2:9876"),
    ):  # fmt: skip
        assert masked(key, value) == value
    for key, value in (
        ("authorizationEnabled", "true"), ("statefulAuthorizationCacheMaxNum", "10000"), ("tokenBucketRate", "12.5"),
        ("maskedAkCount", "3"), ("statefulAuthorizationCacheMaxNum", "5 x"),
        ("diskRatio", "75"), ("task", "a"), ("skip", "b"), ("breakage", "c"),
    ):  # fmt: skip
        assert masked(key, value) == value
    words = ["load", "--fault", "pause-node:broker-a,for=7s@2s", "--set=broker.flushDiskType=SYNC_FLUSH", "a:b@c"]
    assert masked_words(words) == words
    assert masked_words(["--set=client.my.password=x", "spark.hadoop.fs.s3a.secret.key=y", "--web"]) == [
        f"--set=client.my.password={HIDDEN}", f"spark.hadoop.fs.s3a.secret.key={HIDDEN}", "--web",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [
        "token",
        "my.token",
        "aliyun-sk",
        "sk",
        "AK",
        "ossAk",
        "db_dsn",
        "bearer",
        "sessionCookie",
        "webhook.signature",
        "JWT",
    ],
)
def test_keys_that_are_short_for_a_secret_are_masked(key: str) -> None:
    assert masked(key, PLANTED) == HIDDEN
    assert masked_words([f"--set=client.{key}={PLANTED}"]) == [f"--set=client.{key}={HIDDEN}"]


# --- a whole run ----------------------------------------------------------------------------------------------------------


def _record(run: RunWriter, plan: Plan, backend: Backend, job: Job, console: object) -> None:
    """A cluster that is up and its nodes' files, without the nodes."""
    user = job.request.user
    context = RunContext(
        run=run, leases=None, java=job.java, start_cluster=None, observer=None, user=user, backend=backend.name,  # type: ignore[arg-type]
    )  # fmt: skip
    for planned in plan.deployments():
        directory = run.make_deployment(deployment._deployment_record(planned.id, planned, context))
        spec = ClusterSpec(name=planned.id, release=planned.release, topology=planned.topology, user=user)
        drawn(spec, directory.path)
        for trial in planned.trials:
            run.make_trial(deployment._trial_record(context, planned, trial, planned.id))


@pytest.fixture
def ran(conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    backend = SimpleNamespace(name="local", docker="none", java=find_java(), notes=lambda: ())
    monkeypatch.setattr(mqlab.run.running, "choose_backend", lambda *_: backend)
    monkeypatch.setattr(mqlab.run.running, "archive_spark", lambda *_: None)
    monkeypatch.setattr(mqlab.run.running, "_run", _record)
    monkeypatch.setattr("mqlab.run.verify.judge", lambda *_: EXIT_OK)
    monkeypatch.setattr("mqlab.run.verify.analyst_at", lambda *_: contextlib.nullcontext())
    sets = [word for text in SETS for word in ("--set", text)]
    folder = tmp_path / "given"
    folder.mkdir()
    return typed(
        "verify", "append-stall", "--quick", "--release", "5.5.0", "--broker-conf", str(conf), *sets,
        "--out", str(folder / "run"), "--bundle", str(folder / "one.tar.gz"),
    )  # fmt: skip


def test_neither_a_run_nor_its_bundle_nor_what_is_said_holds_a_secret(ran: Said, tmp_path: Path) -> None:
    assert ran.code == EXIT_FAILED, ran.err  # no node of it is a real one
    assert not list(places_of_secrets(tmp_path / "given"))
    assert not list(places_of_secrets(tmp_path / "state"))
    assert PLANTED not in ran.out + ran.err
    said = read_manifest(tmp_path / "given" / "run")
    assert f"broker-jvm.my.password={HIDDEN}" in said.command
    assert [note for note in said.notes if note.startswith("the lab overrides broker-jvm.my.password: (not shown)")]
    (conf,) = (tmp_path / "given").rglob("run/broker.conf")
    assert "waitTimeMillsInSendQueue=400\n" in conf.read_text()


def test_the_run_is_gone_on_with_as_the_user_s_own(ran: Said, tmp_path: Path) -> None:
    assert ran.code == EXIT_FAILED, ran.err  # no node of it is a real one
    options = _options(tmp_path / "given" / "run")
    assert restore_options(options).own == {}
    assert f"broker.objectStoreAccessKey={HIDDEN}" in options.set
    assert read_conf(options.broker_conf).settings["accessKey"] == HIDDEN
    again = typed("verify", "--resume", str(tmp_path / "given" / "run"), "--anyway")
    assert again.code == EXIT_FAILED, again.err


def _options(run: Path) -> argparse.Namespace:
    options = _parser().parse_args(["verify", "--resume", str(run), "--anyway"])
    options.parse = _parser().parse_args
    return options
