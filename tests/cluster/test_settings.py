"""The settings that are kept of each release are those that its own classes have."""

from __future__ import annotations

import pytest

from harness.releases.jars import recorded_releases
from harness.releases.java import find_java
from harness.releases.settings import read_settings_of, settings_of
from harness.releases.user_settings import broker_keys, client_keys
from tests.lib.clusters import MORE


@pytest.mark.parametrize("release", [*recorded_releases(), *MORE])
def test_the_kept_settings_are_those_of_the_classes(release: str) -> None:
    kept = settings_of(release)
    assert kept == read_settings_of(release, find_java())
    assert broker_keys(release).keys() <= kept.broker.keys()
    assert client_keys(release).keys() <= kept.client.keys()
