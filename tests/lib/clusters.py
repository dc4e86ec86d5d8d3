"""What every folder with real clusters starts from. A conftest takes these fixtures by importing them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.nodes import Blueprint
from harness.leases.leases import Leases
from harness.releases.jars import recorded_releases
from harness.releases.java import Java, find_java

OLDEST_AND_NEWEST = (recorded_releases()[0], recorded_releases()[-1])


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
