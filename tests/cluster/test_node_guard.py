"""No socket of a node leaves the lab, whatever the node asks for, and no node outlives its lease."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from harness.backends.cluster import ClusterSpec, namesrv_addresses
from harness.backends.local import start_local
from harness.backends.proxy import proxy_beside
from harness.leases.leases import Leases
from harness.leases.proc import TOKEN_VARIABLE
from harness.model.cluster import Topology
from harness.releases.compile import compiled_classes
from harness.releases.guard import guard_jar, guard_options, refusals, write_guard
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from tests.lib.clusters import MORE, NOT_RECORDED, has_proxy

ASKS = Path(__file__).parents[1] / "data" / "border"
OUTSIDE = "127.0.0.77"
"""On loopback, and nobody's of the lab."""
ENDS_S_MAX = 30.0


@contextmanager
def asking(
    home: Path, java: Java, words: Sequence[str], peers: Sequence[str], leases: Path, token: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """A JVM with a node's options that asks for sockets, and then waits for its input's end."""
    write_guard(home, peers, leases)
    classes = compiled_classes(ASKS, (), java)
    command = [str(java.executable), *guard_options(home, guard_jar(java)), "-cp", str(classes), "mqlab.Asks", *words]
    environment = {**os.environ, **({TOKEN_VARIABLE: token} if token else {})}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    while (line := process.stdout.readline().strip()) != "asked":
        assert line, f"it ended after {lines}"
        lines.append(line)
    return lines


def test_a_node_listens_on_loopback_and_connects_to_its_peers_alone(java: Java, tmp_path: Path) -> None:
    with ExitStack() as stack:
        outside, datagrams, peer = (stack.enter_context(socket.socket(type=kind)) for kind in
                                    (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_STREAM))  # fmt: skip
        outside.bind((OUTSIDE, 0))
        port = outside.getsockname()[1]
        datagrams.bind((OUTSIDE, port))
        peer.bind(("127.0.0.1", 0))
        for one in (outside, peer):
            one.listen()
        own = peer.getsockname()[1]
        words = (OUTSIDE, str(port), str(own), "127.0.0.2")
        process = stack.enter_context(asking(tmp_path, java, words, [f"127.0.0.1:{own}"], tmp_path))
        lines = said(process)
        listens = _listening(process.pid)
        for one in (outside, datagrams):
            one.setblocking(False)
        with pytest.raises(BlockingIOError):
            outside.accept()
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    # Two of those that send datagrams are among them.
    assert Counter(listens) == {"127.0.0.1": 7, "127.0.0.2": 1}
    assert lines == [f"{way} ConnectException" for way in range(6)] + ["6 UnknownHostException", "7 ok"]
    assert refusals(tmp_path) == [f"connect {OUTSIDE}:{port}"]


def test_a_node_ends_with_its_lease_and_no_other_does(leases: Leases, java: Java, tmp_path: Path) -> None:
    """Nobody ends it: what its lease says is all that it has."""
    folder = tmp_path / "leases"
    folder.mkdir()
    ends = {"taken away": True, "over": True, "its owner is gone": True, "kept": False, "held": False}
    with ExitStack() as stack:
        files, nodes = {}, {}
        for what in ends:
            file = files[what] = _written(leases, folder, what)
            home = tmp_path / what
            home.mkdir()
            nodes[what] = stack.enter_context(
                asking(home, java, (OUTSIDE, "1", "1", "127.0.0.2"), [], folder, file.stem)
            )
        for node in nodes.values():
            said(node)
        files["taken away"].unlink()
        _replace(files["over"], '"until_mono_ns": ', '"until_mono_ns": 1, "was": ')
        gone = subprocess.Popen(["true"])
        gone.wait()
        for what in ("its owner is gone", "kept"):
            _replace(files[what], f'"pid": {os.getpid()}, "start_ticks"', f'"pid": {gone.pid}, "start_ticks"')
        _replace(files["kept"], '"kept": false', '"kept": true')
        assert {what: nodes[what].wait(ENDS_S_MAX) for what, does in ends.items() if does} == {
            what: 137 for what, does in ends.items() if does
        }
        assert [what for what, does in ends.items() if not does and nodes[what].poll() is not None] == []


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    draft = file.with_suffix(".tmp")
    draft.write_text(text.replace(old, new))
    draft.replace(file)


def _written(leases: Leases, folder: Path, name: str) -> Path:
    """The file of a real lease, where no healer looks."""
    lease = leases.hold("process", {"name": name, "argv": "", "pid": None, "start_ticks": None}, until_s=600)
    copied = shutil.copy(leases.files / f"{lease.record.id}.json", folder)
    lease.release()
    return Path(copied)


@pytest.mark.parametrize("release", dict.fromkeys((*recorded_releases(), *NOT_RECORDED, *MORE)))
def test_every_socket_of_every_kind_of_node_listens_on_loopback(
    release: str, leases: Leases, java: Java, tmp_path: Path
) -> None:
    spec = ClusterSpec(
        name="border", release=release, topology=Topology(name="pair", slaves_per_master=1), can_stall=True
    )
    cluster = start_local(spec, tmp_path / "cluster", leases, java, until_s=600)
    try:
        with ExitStack() as stack:
            pids = {node.name: cluster.pid(node.name) for node in cluster.nodes}
            homes = {node.name: tmp_path / "cluster" / "nodes" / node.name for node in cluster.nodes}
            if has_proxy(release):
                home = homes["proxy"] = tmp_path / "proxy"
                stack.enter_context(
                    proxy_beside(
                        release, namesrv_addresses(cluster), home, leases, java, nodes=cluster.nodes, until_s=600
                    )
                )
                pids["proxy"] = next(
                    one.pid for one in psutil.Process().children() if str(home) in " ".join(one.cmdline())
                )
            listening = {name: _listening(pid) for name, pid in pids.items() if pid is not None}
            assert len(listening) == len(pids) >= 3
            assert all(listening.values())
            assert {address for each in listening.values() for address in each} == {"127.0.0.1"}
            assert {name: refusals(home) for name, home in homes.items() if refusals(home)} == {}
            # A killed Java leaves what it unpacked to load it, and what it tells jps of itself.
            ours, temporary = str(tmp_path), Path(tempfile.gettempdir())
            mapped = {one.path for pid in pids.values() if pid for one in psutil.Process(pid).memory_maps()}
            assert {path for path in mapped if path.startswith(f"{temporary}/") and not path.startswith(ours)} == set()
            assert [pid for pid in pids.values() if list(temporary.glob(f"hsperfdata_*/{pid}"))] == []
    finally:
        cluster.down()


def _listening(pid: int) -> list[str]:
    connections = psutil.Process(pid).net_connections("inet")
    return [
        one.laddr.ip.removeprefix("::ffff:")
        for one in connections
        if one.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
    ]
