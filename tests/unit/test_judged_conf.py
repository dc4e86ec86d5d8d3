"""The one judge of a broker.conf: read, not read, dead, ignored, and what the broker has afterwards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.errors import EXIT_USAGE, ConfigurationError
from harness.model.broker_conf import Fate, JudgedConf, conf_of
from harness.releases.jars import recorded_releases
from harness.releases.judged_conf import judge_file
from harness.releases.properties import read_conf
from harness.releases.settings import releases_with_settings
from mqlab.main import main
from tests.lib.conf_oracle import DATA, answers, is_brokers, stock

CASES = DATA / "cases"


def judged(settings: dict[str, str], release: str = "5.5.0") -> JudgedConf:
    return judge_file(conf_of({"brokerName": "a", **settings}), release)


def fates(settings: dict[str, str], release: str = "5.5.0") -> dict[str, tuple[Fate, str | None]]:
    return {one.key: (one.fate, one.value) for one in judged(settings, release).keys if one.key != "brokerName"}


def test_a_key_is_read_dead_ignored_or_unknown() -> None:
    given = {
        "maxMessageSize": "+100", "autoCreateTopicEnable": "True", "transientStorePoolEnable": "1", "aclEnable": "true",
        "diskSpaceWarningLevelRatio": "0.95", "nonsense": "1", "rmqAddressServerDomain": "host", "metricsExporterType": "2",
    }  # fmt: skip
    assert fates(given) == {
        "maxMessageSize": (Fate.READ, "100"),
        "autoCreateTopicEnable": (Fate.READ, "true"),
        "transientStorePoolEnable": (Fate.READ, "false"),
        "aclEnable": (Fate.DEAD, "true"),
        "diskSpaceWarningLevelRatio": (Fate.IGNORED, "90"),
        "nonsense": (Fate.UNKNOWN, None),
        "rmqAddressServerDomain": (Fate.READ, "host"),
        "metricsExporterType": (Fate.READ, "PROM"),
    }


def test_what_is_in_force_has_defaults_for_ignored_values_and_nothing_of_dead_keys() -> None:
    assert judged({"aclEnable": "true", "diskSpaceWarningLevelRatio": "0.95", "x": "1", "brokerId": "1"}).in_force == {
        "brokerName": "a", "brokerId": "1", "diskSpaceWarningLevelRatio": "90",
    }  # fmt: skip


@pytest.mark.parametrize("release", recorded_releases())
def test_keys_of_superclasses_and_of_small_letters_are_read(release: str) -> None:
    given = {"brokerId": "1", "dLegerGroup": "g", "dLegerPeers": "n0-127.0.0.1:1", "dLegerSelfId": "n0"}
    assert fates(given, release) == {key: (Fate.READ, value) for key, value in given.items()}


def test_a_text_is_trimmed_from_5_2_0_on() -> None:
    for release in releases_with_settings():
        is_trimmed = release in ("5.2.0", "5.3.3", "5.5.0")
        expected = (Fate.READ, "SLAVE") if is_trimmed else (Fate.IGNORED, "ASYNC_MASTER")
        assert fates({"brokerRole": "SLAVE "}, release) == {"brokerRole": expected}
    (key,) = judge_file(conf_of({"brokerRole": "SLAVE "}), "4.9.7").keys
    assert "mind the blank at its end" in key.says


def test_a_setting_of_the_plug_in_is_read_only_with_it() -> None:
    assert fates({"tieredStoreFilePath": "/x"})["tieredStoreFilePath"][0] is Fate.UNKNOWN
    assert fates({"tieredStoreFilepath": "/x"}, "5.1.4")["tieredStoreFilepath"][0] is Fate.UNKNOWN
    plug_in = {"messageStorePlugIn": "org.apache.rocketmq.tieredstore.TieredMessageStore"}
    assert fates({"tieredStoreFilePath": "/x", **plug_in})["tieredStoreFilePath"] == (Fate.READ, "/x")


def test_an_unknown_key_gets_the_nearest_one_or_the_place_where_it_belongs() -> None:
    advice = {one.key: one.advice for one in judged({"brokerNam": "a", "rocketmq.x.y": "1", "qqqqqqqq": "1"}).keys}
    assert advice["brokerNam"].startswith("Did you mean brokerName")
    assert "-DKEY=VALUE" in advice["rocketmq.x.y"]
    assert "remove the line" in advice["qqqqqqqq"]


def test_a_precision_of_timers_is_rounded() -> None:
    (_, key) = judged({"timerPrecisionMs": "300"}).keys
    assert (key.fate, key.value, key.says) == (Fate.READ, "200", "5.5.0 makes 200 of 300")


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("diskMaxUsedSpaceRatio", "97", "goes by 95 in place of 97"), ("diskMaxUsedSpaceRatio", "5", "goes by 10 in place of 5"),
        ("diskSpaceWarningLevelRatio", "95", "goes by 90 in place of 95"), ("diskSpaceCleanForciblyRatio", "85", ""),
    ],
)  # fmt: skip
def test_a_percentage_beyond_what_a_broker_takes_is_told(key: str, text: str, says: str) -> None:
    (_, found) = judged({key: text}).keys
    assert (found.fate, found.value) == (Fate.READ, text)
    assert says in found.says
    assert bool(found.says) is bool(says)


# --- what eight releases ship ----------------------------------------------------------------------------------------------


def whose(path: Path, release: str) -> str:
    """Whose file the judge takes it for."""
    try:
        judge_file(read_conf(path), release)
    except ConfigurationError as error:
        where, _, says = str(error).partition(": this is ")
        return says.partition("'s file, not a broker's")[0] if where.startswith(f"{path.name}:") else str(error)
    return "a broker"


def test_144_stock_files_are_a_brokers_and_44_are_told_as_whose_they_are(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    for release, files in stock(tmp_path).items():
        for path in files:
            (of,) = {whose(path, on) for on in {release, *recorded_releases()}}
            assert path.name.startswith(EXPECTED[of])
            told[of] += 1
    assert told == {"a broker": 144, "a name server": 20, "a controller": 16, "a broker container": 8}


EXPECTED = {
    "a broker": ("broker",), "a name server": ("namesrv", "nameserver"), "a controller": ("controller",),
    "a broker container": ("broker-container",),
}  # fmt: skip
"""How the files of each are called."""


@pytest.mark.parametrize("release", answers())
def test_stock_files_are_read_as_their_own_release_reads_them(release: str, tmp_path: Path) -> None:
    files = [path for path in stock(tmp_path)[release] if is_brokers(path)]
    assert files
    for path in files:
        for one in judge_file(read_conf(path), release).keys:
            after = answers()[release][one.key][one.text]
            assert (None if one.fate is Fate.UNKNOWN else one.value) == after, f"{path}: {one}"


def test_every_release_that_ships_stock_files_has_settings_and_answers(tmp_path: Path) -> None:
    assert answers().keys() == stock(tmp_path).keys() == {*releases_with_settings()} - {"5.5.0"}


# --- cases of operators ----------------------------------------------------------------------------------------------------


def audited(case: str, release: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["audit", "--broker-conf", str(CASES / f"{case}.conf"), "--release", release])
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(("WARNING", "CRITICAL"))]


def test_a_slave_of_5x_has_its_id_and_is_told_nothing_about_it(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = audited("brokerid-5x", "5.3.3", capsys)
    assert "slave-serves-no-reads" in found
    assert judge_file(read_conf(CASES / "brokerid-5x.conf"), "5.3.3").in_force["brokerId"] == "1"


def test_a_comment_behind_an_address_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = audited("comment-in-value", "4.9.7", capsys)
    assert (
        'line 6: brokerIP1 is "192.0.2.41 #change to your own address": there are no comments behind a value' in found
    )


@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_comments_behind_values_are_told_all_of_them(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = audited("comment-in-values", release, capsys)
    assert [line.partition("line ")[2].partition(":")[0] for line in found] == ["8", "9", "10", "11", "12"]
    of = judge_file(read_conf(CASES / "comment-in-values.conf"), release).in_force
    assert (of["autoCreateTopicEnable"], of["transientStorePoolEnable"], of["waitTimeMillsInSendQueue"]) == (
        "false", "false", "200",
    )  # fmt: skip
    assert "sendMessageThreadPoolNums" not in of, "its default is of the machine"
    assert f'"true  # test only" is not "true", and {release} reads false' in found[1]


def test_a_java_properties_file_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    conf = read_conf(CASES / "properties-syntax.conf")
    for release in ("4.9.7", "5.3.3"):
        of = judge_file(conf, release).in_force
        assert (of["brokerName"], of["brokerId"], of["autoCreateTopicEnable"]) == ("kiwi-a", "0", "true")
        assert of["namesrvAddr"] == "192.0.2.40:9876;192.0.2.41:9876"
    assert audited("properties-syntax", "4.9.7", capsys) == []
    (door,) = audited("properties-syntax", "5.3.3", capsys)
    assert door.startswith(
        "CRITICAL dead-keys: properties-syntax.conf: line 8: aclEnable: 5.3.3 takes it and does nothing"
    )


def test_another_nodes_file_is_refused_by_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "namesrv.conf"
    path.write_text("listenPort=9876\nenableControllerInNamesrv=true\n")
    for command in (
        ["audit"], ["upgrade", "--from", "4.9.7", "--to", "5.5.0"], ["verify", "append-stall", "--plan"],
        ["load", "--release", "5.5.0"],
    ):  # fmt: skip
        assert main([*command, "--broker-conf", str(path)]) == EXIT_USAGE
        said = capsys.readouterr().err
        assert "namesrv.conf:2: this is a name server's file, not a broker's" in said
        assert "Traceback" not in said


def test_verify_starts_brokers_with_what_rocketmq_reads(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["verify", "append-stall", "--quick", "--release", "4.9.7,5.5.0", "--plan"]
    assert main([*command, "--broker-conf", str(CASES / "comment-in-values.conf")]) == 0
    said = "".join(capsys.readouterr())
    for line in (
        "line 9: autoCreateTopicEnable",
        "line 11: sendMessageThreadPoolNums",
        "line 12: waitTimeMillsInSendQueue",
    ):
        assert line in said
