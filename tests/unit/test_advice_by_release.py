"""What an incident advises holds on the releases that it names, by their own classes."""

from __future__ import annotations

import scenarios
from harness.audit.exposed import BROKERS, is_open
from harness.releases.central import version_key
from harness.releases.settings import releases_with_settings, settings_of
from harness.releases.written import all_written


def test_the_limit_in_the_text_of_a_long_message_is_told_by_release() -> None:
    advice = scenarios.incident("message-too-long").advice
    assert "maxMessageSize on 4.9.4 and newer; on 4.8.0 and older it reads 128k" in advice
    said = {one.text: one.releases for one in all_written() if "msg properties length limit" in one.text}
    for text, releases in said.items():
        for release in releases:
            assert ("128k" in text) is (version_key(release) <= (4, 8, 0))
    assert {settings_of(release).broker["maxMessageSize"] for release in releases_with_settings()} == {"4194304"}


def test_one_release_has_one_advice_about_aclenable() -> None:
    dead = {release for release in releases_with_settings() if "aclEnable" in settings_of(release).dead}
    assert dead == {release for release in releases_with_settings() if version_key(release) >= (5, 3, 3)}
    advice = scenarios.incident("acl-key-without-effect").advice
    assert advice.startswith("On 5.3.3 and newer set up authenticationEnabled")
    assert "5.2.0 and older go by aclEnable=true" in advice
    open_ones = {release for release in releases_with_settings() if is_open(version_key(release), BROKERS)}
    assert open_ones
    assert not open_ones & dead
    assert "each release that has this defect goes by it" in scenarios.incident("remote-configuration").advice
