from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigurationError, UsageError
from harness.releases.broker_conf import parse_sets, read_broker_conf


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        "4.6.0": frozenset({"flushDiskType", "brokerRole"}),
        "5.3.3": frozenset({"flushDiskType", "timerWheelEnable"}),
    }
    monkeypatch.setattr("harness.releases.broker_conf.broker_keys", lambda release: keys[release])


def test_comments_and_blanks_are_skipped_and_values_kept_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("# mine\n\n brokerName = broker-a \naclEnable=\nnamesrvAddr=a:1;b:2\n! old\n")
    assert read_broker_conf(path) == {"brokerName": "broker-a", "aclEnable": "", "namesrvAddr": "a:1;b:2"}


@pytest.mark.parametrize("line", ["brokerName broker-a", "=value", "a b=c"])
def test_a_malformed_line_is_named_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(f"brokerId=0\n{line}\n")
    with pytest.raises(ConfigurationError, match=r"broker\.conf:2"):
        read_broker_conf(path)


def test_a_key_that_is_set_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("brokerId=0\nbrokerId=1\n")
    with pytest.raises(ConfigurationError, match="second time"):
        read_broker_conf(path)


def test_a_file_that_is_not_there_is_an_error_of_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_broker_conf(tmp_path / "none.conf")


@pytest.mark.usefixtures("known")
def test_sets_are_checked_against_every_release() -> None:
    assert parse_sets(["broker.flushDiskType=SYNC_FLUSH"], ["4.6.0", "5.3.3"]) == {"flushDiskType": "SYNC_FLUSH"}
    with pytest.raises(UsageError, match=r"5\.3\.3"):
        parse_sets(["broker.brokerRole=SLAVE"], ["4.6.0", "5.3.3"])


@pytest.mark.usefixtures("known")
def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        parse_sets(["broker.flushDiskTyp=x"], ["4.6.0"])
    assert "flushDiskType" in caught.value.advice


@pytest.mark.parametrize("text", ["flushDiskType=x", "client.retries=1", "broker.=x", "broker.flushDiskType"])
def test_a_set_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"broker\.KEY=VALUE"):
        parse_sets([text], [])
