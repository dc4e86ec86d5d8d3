"""The settings that a finding rests on, from the arms of its claim."""

from __future__ import annotations

import pytest

import scenarios
from analysis.verdicts.settings import DEFAULTS, settings_of
from harness.releases import settings as releases
from harness.releases.jars import recorded_releases

OF_CLAIM = {claim.id: settings_of(claim, scenario) for scenario in scenarios.ALL for claim in scenario.claims}
LOCK_LIFE = "rocketmq.broker.rebalance.lockMaxLiveTime=15000"


def _is_default(setting: str) -> bool:
    """In every release."""
    kind, _, told = setting.partition(".")
    key, _, value = told.partition("=")
    return all(getattr(releases.settings_of(one), kind).get(key) == value for one in recorded_releases())


@pytest.mark.parametrize(
    ("claim", "settings"),
    [
        ("BUSY-12", ("broker.waitTimeMillsInSendQueue=400 (fix-send-queue-wait-400)", "client.sendMsgTimeout=10000")),
        ("ORDER-02", (f"broker-jvm.{LOCK_LIFE} (fix-short-lock)",
                      "client.rocketmq.client.rebalance.lockInterval=5000 (fix-short-lock)",
                      f"environment.{LOCK_LIFE} (incident-as-documented)")),
        ("AVOID-02", ("client.pollNameServerInterval=3600000", "client.sendMsgTimeout=60000")),
        ("X-avoidance-mended-03", ("client.startDetectorEnable=True",)),
        ("TOPICS-03", ("-Dcom.rocketmq.remoting.frameMaxLength=262144",)),
    ],
)  # fmt: skip
def test_a_setting_that_not_all_arms_have_names_those_that_do(claim: str, settings: tuple[str, ...]) -> None:
    assert OF_CLAIM[claim] == settings


def test_what_a_releases_code_tells_rests_on_no_setting() -> None:
    assert OF_CLAIM["BUSY-21"] == OF_CLAIM["AVOID-08"] == ()


def test_a_setting_that_every_release_has_by_itself_is_none() -> None:
    assert [one for one in DEFAULTS if not _is_default(one)] == []
    told = {one for settings in OF_CLAIM.values() for one in settings if one.startswith(("broker.", "client."))}
    assert [one for one in told if _is_default(one.partition(" (")[0])] == []
