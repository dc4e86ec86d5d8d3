"""What the documents tell a reader to type at a cluster does what they show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from harness.paths import PACKAGES
from harness.protocol.connection import split_address
from tests.lib.documents import NAME_SERVER, Example, examples, not_printed, shape

DOCUMENTS = [
    path for path in sorted((PACKAGES / "docs").glob("*.md")) if any(one.asks_a_cluster for one in examples(path))
]
COMMAND_S_MAX = 300.0


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder of the test's own: ``mqlab down`` ends whatever is up in the user's."""
    return tmp_path_factory.mktemp("state")


def _run(state: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mqlab", *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(state)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def nodes(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The addresses of a cluster of two masters, as ``mqlab up`` leaves it."""
    folder = tmp_path_factory.mktemp("up")
    started = _run(state, folder, "up", "--release", "5.3.3", "--topology", "two-masters", "--json")
    try:
        assert started.returncode == 0, started.stderr
        yield {node["name"]: node["address"] for node in json.loads(started.stdout)["nodes"]}
    finally:
        _run(state, folder, "down")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_a_document_do_what_it_shows(
    document: Path, nodes: Mapping[str, str], state: Path, tmp_path: Path
) -> None:
    _write_nodes_file(document, nodes, tmp_path)
    for example in examples(document):
        if example.asks_a_cluster:
            done = _run(state, tmp_path, *_typed(example, nodes["namesrv-1"]))
            assert done.returncode == example.exits, f"{example}: {done.stderr}"
            assert not not_printed(example, done.stdout + done.stderr, shape), (
                f"{example} printed {done.stdout + done.stderr}"
            )


def _typed(example: Example, name_server: str) -> list[str]:
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
