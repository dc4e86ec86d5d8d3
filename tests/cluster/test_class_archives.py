from __future__ import annotations

from pathlib import Path

import pytest

from harness.backends import class_archives
from harness.backends.class_archives import class_archive, have_archives, leave_archives
from harness.backends.cluster import ClusterSpec
from harness.backends.local import start_local
from harness.leases.leases import Leases
from harness.model.cluster import Topology
from harness.releases.cache import cache_folder
from harness.releases.java import Java

SPEC = ClusterSpec(name="archived", release="4.6.0", topology=Topology(name="single"))


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without archives; the jars stay where they are."""
    monkeypatch.setattr(class_archives, "cache_folder", lambda name: cache_folder(name, tmp_path / "cache"))
    return tmp_path / "cache" / "class-archives"


def test_nodes_start_from_the_archives_that_a_node_of_each_kind_left(
    archives: Path, tmp_path: Path, leases: Leases, java: Java
) -> None:
    assert not have_archives(SPEC.release, java)
    leave_archives(SPEC.release, java, lambda spec, folder: start_local(spec, folder, leases, java, until_s=300))
    assert have_archives(SPEC.release, java)
    assert len(list(archives.iterdir())) == 2, "nothing but the archives is left"
    cluster = start_local(SPEC, tmp_path / "cluster", leases, java, until_s=300)
    try:
        for node in cluster.nodes:
            maps = Path(f"/proc/{cluster.pid(node.name)}/maps").read_text()
            assert str(class_archive(SPEC.release, node.kind, java)) in maps
    finally:
        cluster.down()


def test_an_archive_that_java_cannot_read_keeps_no_node_from_starting(
    archives: Path, tmp_path: Path, leases: Leases, java: Java
) -> None:
    archives.mkdir(parents=True)
    for kind in ("broker", "namesrv"):
        class_archive(SPEC.release, kind, java).write_bytes(bytes(8192))
    cluster = start_local(SPEC, tmp_path / "cluster", leases, java, until_s=300)
    try:
        cluster.check_running()
    finally:
        cluster.down()
