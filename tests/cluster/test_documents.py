"""What the documents tell a reader to type at a cluster does what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.local import start_local
from harness.backends.topologies import TOPOLOGIES
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from harness.paths import PACKAGES
from harness.plan.deployments import TIMER_SLACK_MS, beside_others
from harness.protocol.connection import split_address
from harness.releases.java import Java
from tests.lib.commands import typed
from tests.lib.documents import NAME_SERVER, Example, examples, not_printed, shape

DOCUMENTS = [
    path for path in sorted((PACKAGES / "docs").glob("*.md")) if any(one.asks_a_cluster for one in examples(path))
]
RELEASE = "5.3.3"
CLUSTER_S_MAX = 1800.0


@pytest.fixture(scope="module", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A state folder of the test's own: ``mqlab cluster down`` ends whatever is up in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[Mapping[str, str]]:
    """The addresses of a cluster of two masters, with the settings that ``mqlab cluster up`` gives it."""
    settings = beside_others(BrokerSettings(timer_slack_ms=TIMER_SLACK_MS), RELEASE)
    spec = ClusterSpec(name="documents", release=RELEASE, topology=TOPOLOGIES["two-masters"], settings=settings)
    started = start_local(spec, tmp_path_factory.mktemp("cluster"), leases, java, until_s=CLUSTER_S_MAX)
    yield {node.name: node.address for node in started.nodes}
    started.down()


@pytest.mark.usefixtures("spark_of_commands")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_a_document_do_what_it_shows(
    document: Path, nodes: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_nodes_file(document, nodes, tmp_path)
    for example in examples(document):
        if example.asks_a_cluster:
            done = typed(*_words(example, nodes["namesrv-1"]))
            assert done.code == example.exits, f"{example}: {done.err}"
            assert not not_printed(example, done.out + done.err, shape), f"{example} printed {done.out + done.err}"


def _words(example: Example, name_server: str) -> list[str]:
    words = [word.replace(NAME_SERVER, name_server) for word in example.command[1:]]
    # The removal of a load's group takes 21 s; tests/cluster/test_load.py looks for what is left after it.
    return [*words, "--keep-groups"] if "--consumers" in words else words


def _write_nodes_file(document: Path, nodes: Mapping[str, str], folder: Path) -> None:
    """That which the document shows, of this cluster's nodes, with the pids that it names."""
    for text in re.findall(r"^```toml\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        (folder / "nodes.toml").write_text(
            re.sub(
                r'^\[(\S+)\]\naddress = "\S+"',
                lambda it: f'[{it[1]}]\naddress = "{nodes[it[1]]}"',
                text,
                flags=re.MULTILINE,
            )
        )
        for name in re.findall(r'^pid-file = "(\S+)\.pid"', text, re.MULTILINE):
            (folder / f"{name}.pid").write_text(str(_listener(nodes[name])))


def _listener(address: str) -> int:
    """The process that listens there."""
    port = split_address(address)[1]
    (pid,) = {
        one.pid
        for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port
    }
    assert pid is not None
    return pid
