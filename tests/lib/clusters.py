"""What every folder with real clusters starts from. A conftest takes these fixtures by importing them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.nodes import Blueprint
from harness.backends.proxy_node import proxy_jars
from harness.errors import UsageError
from harness.leases.leases import Leases
from harness.releases.jars import recorded_releases
from harness.releases.java import Java, find_java
from harness.releases.settings import Feature, has

OLDEST_AND_NEWEST = (recorded_releases()[0], recorded_releases()[-1])

MORE = tuple(filter(None, os.environ.get("RELEASES", "").split(",")))
"""Releases that are not recorded, which ``RELEASES=4.8.0,5.1.4`` has the tests of the border, access and settings run on, too."""
NOT_RECORDED = ("4.9.4", "5.2.0")
"""Of 4.x and of 5.x; the border is tried on them always."""


def has_proxy(release: str) -> bool:
    """Whether a proxy of a release can be had."""
    with contextlib.suppress(UsageError):
        return has(release, Feature.POP) and bool(proxy_jars(release))
    return False


@pytest.fixture(scope="session")
def java() -> Java:
    return find_java()


def drawn(spec: ClusterSpec, folder: Path) -> Blueprint:
    """The nodes as they would be started; nothing is."""
    with Leases.open(folder / "state") as opened:
        blueprint = Blueprint(spec, folder, opened, find_java(), 60.0)
        blueprint.draw()
    return blueprint


@pytest.fixture(scope="session")
def leases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leases]:
    """Leases of one state folder, whose processes end with the session at the latest."""
    with Leases.open(tmp_path_factory.mktemp("state")) as opened:
        yield opened
