"""Decoys: whatever is not the node that a file means is neither stopped nor killed, and a sentence names the file's line."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends import reached as reached_module
from harness.backends.docker import named_container
from harness.backends.docker.named_container import NamedContainer
from harness.backends.nodes import BROKER_MAIN, NAMESRV_MAIN
from harness.backends.nodes_file import NamedNode, read_nodes_file
from harness.backends.proxy_node import PROXY_MAIN
from harness.backends.reached import ReachedProcess, reach
from harness.backends.said_of_itself import Listed
from harness.errors import ConfigurationError, LeaseError
from harness.host.ports import free_port
from harness.leases import proc
from harness.leases.given_kinds import _runs_again
from harness.leases.leases import Leases
from harness.leases.main_class import main_class_of, started_class
from harness.leases.proc import ProcessId
from harness.leases.sockets import End, listeners, other_end, owners
from harness.model.rocketmq import BROKER_CLASSES, NAMESRV_CLASSES
from harness.protocol.access import OPEN
from harness.protocol.targets import LOOPBACK
from tests.lib.answering import Answering
from tests.lib.fake_nodes import BROKER, CLUSTER, NAMESRV, fake_node, listed

LISTED = Listed(broker="broker-a", cluster=CLUSTER)


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def node(port: int) -> Iterator[Answering]:
    with fake_node(port) as one:
        yield one


def _named(folder: Path, port: int, means: str) -> NamedNode:
    path = folder / "nodes.toml"
    path.write_text(f'[broker-a]\naddress = "127.0.0.1:{port}"\n{means}\n')
    (named,) = read_nodes_file(path)
    return named


def _reached(folder: Path, port: int, process: ProcessId, means: str = "") -> ReachedProcess:
    return ReachedProcess(_named(folder, port, means or f"pid = {process.pid}"), LISTED)


def _refused(found: ReachedProcess | NamedContainer, leases: Leases) -> str:
    """By a look, a pause and a kill, with the line of the file and what to do."""
    said = set()
    for act in (found.check, lambda: found.pause(leases, until_s=300), lambda: found.kill(leases, until_s=300)):
        with pytest.raises(ConfigurationError) as raised:
            act()
        assert raised.value.message.startswith(found.named.place + ": ")
        assert raised.value.advice
        said.add(raised.value.message)
    (words,) = said
    return words


def _is_well(process: ProcessId) -> bool:
    return process.is_alive() and not process.is_stopped()


@pytest.fixture
def leases(state_dir: Path) -> Iterator[Leases]:
    with Leases.open(state_dir) as opened:
        yield opened


# --- processes --------------------------------------------------------------------------------------------------------


def test_a_python_with_rocketmqs_class_among_its_words_is_no_node(tmp_path: Path, port: int, leases: Leases) -> None:
    with fake_node(port, is_java=False) as decoy:
        said = _refused(_reached(tmp_path, port, decoy.process), leases)
        assert "is no node of RocketMQ: it is no Java with a main class" in said
        assert _is_well(decoy.process)


def test_a_relay_that_answers_with_the_nodes_own_answer_is_no_node(tmp_path: Path, port: int, leases: Leases) -> None:
    with (
        fake_node(port, host="127.0.0.2") as node,
        fake_node(port, is_java=False, relay=("127.0.0.2", port)) as decoy,
    ):
        assert "is no node of RocketMQ" in _refused(_reached(tmp_path, port, decoy.process), leases)
        said = _refused(_reached(tmp_path, port, node.process), leases)
        assert f"process {node.process.pid} (java) does not listen on 127.0.0.1:{port}" in said
        assert f"; process {decoy.process.pid} (python" in said
        assert _is_well(node.process)
        assert _is_well(decoy.process)


def test_the_same_port_of_another_address_is_not_the_nodes(
    tmp_path: Path, port: int, node: Answering, leases: Leases
) -> None:
    with fake_node(port, host="127.0.0.2") as decoy:
        said = _refused(_reached(tmp_path, port, decoy.process), leases)
        assert f"does not listen on 127.0.0.1:{port}, nor does one that it has started; " in said
        assert f"process {node.process.pid} (java) does" in said
        assert _is_well(decoy.process)
        assert _reached(tmp_path, port, node.process).check()


@pytest.mark.parametrize("anywhere", ["0.0.0.0", "127.0.0.1"])
def test_one_that_listens_everywhere_is_the_node_where_nobody_has_the_address_itself(
    tmp_path: Path, port: int, anywhere: str
) -> None:
    with fake_node(port, host=anywhere) as node:
        assert _reached(tmp_path, port, node.process).check() == (
            f"process {node.process.pid} (start {node.process.start_ticks})"
        )


def test_one_that_listens_everywhere_is_not_the_node_that_has_the_address_itself(
    tmp_path: Path, port: int, leases: Leases
) -> None:
    with (
        fake_node(port, host="0.0.0.0", reuse_port=True) as decoy,
        fake_node(port, reuse_port=True) as node,
    ):
        said = _refused(_reached(tmp_path, port, decoy.process), leases)
        assert f"; process {node.process.pid} (java) does" in said
        assert _is_well(decoy.process)
        assert _reached(tmp_path, port, node.process).check()


def test_two_that_share_the_port_are_refused(tmp_path: Path, port: int, leases: Leases) -> None:
    with fake_node(port, reuse_port=True) as one, fake_node(port, reuse_port=True) as other:
        for first, second in ((one, other), (other, one)):
            said = _refused(_reached(tmp_path, port, first.process), leases)
            assert f"process {first.process.pid} (java) does not listen on 127.0.0.1:{port} alone" in said
            assert f"process {second.process.pid} (java) does as well" in said
            assert _is_well(first.process)


def test_a_pid_file_that_names_another_process_is_refused(
    tmp_path: Path, port: int, node: Answering, leases: Leases
) -> None:
    with fake_node(free_port()) as other:
        (tmp_path / "a.pid").write_text(f"{other.process.pid}\n")
        found = _reached(tmp_path, port, other.process, 'pid-file = "a.pid"\nstart = ["true"]')
        assert f"process {other.process.pid} (java) does not listen on" in _refused(found, leases)
        assert _is_well(other.process)
        assert _is_well(node.process)
        (tmp_path / "a.pid").write_text(f"{node.process.pid}\n")
        assert found.check()
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (tmp_path / "a.pid").unlink()
        make(tmp_path / "a.pid")
        assert "a.pid is no file" in _refused(found, leases)


@pytest.mark.parametrize(
    ("says", "said"),
    [
        ({"brokerName": "broker-b"}, "has brokerName broker-b, and the name server lists broker-a there"),
        ({"brokerId": 1}, "has brokerId 1, and the name server lists 0 there"),
        ({"brokerClusterName": "other"}, f"has brokerClusterName other, and the name server lists {CLUSTER} there"),
        ({"listenPort": 10911}, "has listenPort 10911, and"),
        ({"brokerName": ""}, "has brokerName nowhere, and"),
        ({"brokerName": "\x1b[2J\x1b]0;owned\x07"}, r"has brokerName \x1b[2J\x1b]0;owned\x07, and"),
    ],
)
def test_a_broker_that_says_it_is_another_one_is_refused(
    tmp_path: Path, port: int, leases: Leases, says: dict[str, object], said: str
) -> None:
    with fake_node(port, says=says) as other:
        words = _refused(_reached(tmp_path, port, other.process), leases)
        assert f"what answers at 127.0.0.1:{port} {said}" in words
        assert _is_well(other.process)


def test_a_name_server_is_one_by_its_class_and_its_answer(tmp_path: Path, port: int, node: Answering) -> None:
    at = free_port()
    with fake_node(at, main_class=NAMESRV, lists=listed(port)) as namesrv:
        path = tmp_path / "nodes.toml"
        tables = {"theirs": (at, namesrv.process), "broker-a": (port, node.process)}
        path.write_text(
            "".join(f'[{name}]\naddress = "127.0.0.1:{to}"\npid = {one.pid}\n' for name, (to, one) in tables.items())
        )
        found = reach(read_nodes_file(path), [f"127.0.0.1:{at}"], LOOPBACK, OPEN)
        assert f"process {namesrv.process.pid} (" in found.nodes["theirs"].check()
        assert f"process {node.process.pid} (" in found.nodes["broker-a"].check()
        as_broker = ReachedProcess(_named(tmp_path, at, f"pid = {namesrv.process.pid}"), LISTED)
        with pytest.raises(ConfigurationError, match=f"its main class is {NAMESRV}"):
            as_broker.check()


def test_an_answer_that_comes_from_another_process_shows_nothing(
    tmp_path: Path, port: int, node: Answering, leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_node(free_port()) as decoy:
        to = int(decoy.node.address.rpartition(":")[2])

        @contextmanager
        def led_elsewhere(*_: object) -> Iterator[tuple[End, End]]:
            """As a rule of the kernel's may do: what the node's address is asked is answered by the decoy."""
            with socket.create_connection(("127.0.0.1", to)) as connection:
                connection.sendall(b"\0")
                while not owners(other_end(connection.getsockname(), connection.getpeername())):
                    pass
                yield connection.getsockname(), connection.getpeername()

        monkeypatch.setattr(reached_module, "asked", led_elsewhere)
        said = _refused(_reached(tmp_path, port, node.process), leases)
        assert f"does not end at process {node.process.pid}, but at process {decoy.process.pid} (java)" in said
        assert _is_well(node.process)


def test_a_pid_that_is_another_process_by_now_is_not_touched(
    tmp_path: Path, port: int, node: Answering, leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ProcessId(pid=node.process.pid, start_ticks=node.process.start_ticks - 1)
    (tmp_path / "a.pid").write_text(f"{node.process.pid}\n")
    found = _reached(tmp_path, port, node.process, f'pid-file = "a.pid"\nstart = ["touch", "{tmp_path}/started"]')
    monkeypatch.setattr(proc, "identify", lambda pid: before)
    assert f"there is no process {node.process.pid}" in _refused(found, leases)
    monkeypatch.undo()
    # It ended, and another one got its pid, between the look and the signal.
    monkeypatch.setattr(found, "_process", lambda: before)
    with pytest.raises(LeaseError, match="did not stop"):
        found.pause(leases, until_s=300)
    with pytest.raises(LeaseError, match="had ended before it was killed"):
        found.kill(leases, until_s=300)
    assert _is_well(node.process)
    assert not (tmp_path / "started").exists(), "what was not killed is not started"


def test_one_that_we_have_stopped_is_killed_and_one_that_somebody_else_has_stopped_is_not(
    tmp_path: Path, port: int, node: Answering, leases: Leases
) -> None:
    (tmp_path / "a.pid").write_text(f"{node.process.pid}\n")
    means = 'pid-file = "a.pid"\nstart = ["true"]'
    stopped = node.stop()
    assert "stands still already" in _refused(_reached(tmp_path, port, node.process, means), leases)
    node.go_on()
    found = _reached(tmp_path, port, node.process, means)
    pause, _ = found.pause(leases, until_s=300)
    _, _, killed = found.kill(leases, until_s=300)
    assert not stopped[0].is_alive()
    for lease in (pause, killed):
        lease.release()


def test_only_a_node_that_listens_has_been_started_again(port: int) -> None:
    address = f"127.0.0.1:{port}"
    assert not _runs_again(address)
    with fake_node(port, is_java=False):
        assert not _runs_again(address), "whoever has taken the port meanwhile is not the node"
    with fake_node(port):
        assert _runs_again(address)


@pytest.mark.parametrize(
    ("words", "main"),
    [
        (["-Xmx1g", "-cp", "a:b", "-Da=b", BROKER, "-c", "broker.conf"], BROKER),
        (["--add-opens", "java.base/java.lang=ALL-UNNAMED", "--class-path", BROKER, "com.example.Editor"], "com.example.Editor"),
        (["com.example.Editor", BROKER], "com.example.Editor"),
        (["-jar", BROKER], ""),
        (["-cp", BROKER], ""),
        (["@options", BROKER], BROKER),
        ([], ""),
    ],
)  # fmt: skip
def test_the_main_class_is_the_first_word_that_is_no_option(words: list[str], main: str) -> None:
    assert started_class(words) == main


def test_a_process_that_is_gone_or_no_java_has_no_main_class() -> None:
    assert main_class_of(os.getpid()) == ""
    assert main_class_of(2**22 - 1) == ""


def test_a_name_and_a_port_that_nobody_has_have_no_listeners(port: int) -> None:
    assert listeners("127.0.0.1", port) == set()
    with pytest.raises(ValueError, match="localhost"):
        listeners("localhost", port)


# --- containers -------------------------------------------------------------------------------------------------------


def _container(
    monkeypatch: pytest.MonkeyPatch, folder: Path, port: int, process: ProcessId, *, network: str = "host",
    published: object = None,
) -> NamedContainer:  # fmt: skip
    """As an engine tells of one whose first process this is; what its control group has for a name is its id."""
    facts: dict[str, Any] = {
        "Name": "/rmq", "Id": Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()[0],
        "HostConfig": {"NetworkMode": network}, "NetworkSettings": {"Networks": {}, "Ports": published},
        "State": {"Pid": process.pid, "Paused": False},
    }  # fmt: skip
    api = SimpleNamespace(containers=lambda **_: [{"Id": "1"}], inspect_container=lambda _: facts)
    client = SimpleNamespace(api=api, close=lambda: None)
    engine = SimpleNamespace(client=lambda: client, socket=folder / "nobody.sock", is_desktop=False)
    monkeypatch.setattr(named_container, "find_engine", lambda: engine)
    monkeypatch.setattr(named_container, "processes_of", lambda first: [first])
    return NamedContainer(_named(folder, port, 'container = "rmq"'), LISTED)


def test_a_container_is_the_node_whose_process_takes_the_connection(
    tmp_path: Path, port: int, node: Answering, monkeypatch: pytest.MonkeyPatch, leases: Leases
) -> None:
    assert _container(monkeypatch, tmp_path, port, node.process).check().startswith("container rmq (")
    published = {f"{port}/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}], "80/tcp": None}
    assert _container(monkeypatch, tmp_path, port, node.process, network="a", published=published).check()
    with fake_node(port, host="127.0.0.2") as decoy:
        for network in ("host", "a"):
            found = _container(monkeypatch, tmp_path, port, decoy.process, network=network, published=published)
            assert "has no process of RocketMQ's that answers at" in _refused(found, leases)
        assert _is_well(decoy.process)


def test_a_container_that_does_not_publish_the_address_is_refused(
    tmp_path: Path, port: int, node: Answering, monkeypatch: pytest.MonkeyPatch, leases: Leases
) -> None:
    for place in ({"HostIp": "127.0.0.2", "HostPort": str(port)}, {"HostIp": "0.0.0.0", "HostPort": "1"}):
        found = _container(monkeypatch, tmp_path, port, node.process, network="a", published={"10911/tcp": [place]})
        assert f"container rmq publishes no port at 127.0.0.1:{port}" in _refused(found, leases)


def test_a_published_port_that_leads_elsewhere_is_refused(
    tmp_path: Path, port: int, node: Answering, monkeypatch: pytest.MonkeyPatch, leases: Leases
) -> None:
    published = {"10911/tcp": [{"HostIp": "", "HostPort": str(port)}]}
    found = _container(monkeypatch, tmp_path, port, node.process, network="a", published=published)
    assert "does not arrive at port 10911 of container rmq" in _refused(found, leases)


def test_a_container_without_a_process_of_rocketmqs_is_refused(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, leases: Leases
) -> None:
    with fake_node(port, is_java=False) as decoy:
        found = _container(monkeypatch, tmp_path, port, decoy.process)
        assert "container rmq (" in (said := _refused(found, leases))
        assert "has no process of RocketMQ's" in said
        assert _is_well(decoy.process)


def test_a_container_that_says_it_is_another_broker_is_refused(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, leases: Leases
) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(fake_node(port, says={"brokerName": "broker-b"}))
        found = _container(monkeypatch, tmp_path, port, other.process)
        assert "has brokerName broker-b" in _refused(found, leases)
        assert proc.identify(other.process.pid) == other.process


def test_the_labs_own_nodes_have_classes_that_are_known() -> None:
    assert NAMESRV_MAIN in NAMESRV_CLASSES
    assert {BROKER_MAIN, PROXY_MAIN} <= set(BROKER_CLASSES)
