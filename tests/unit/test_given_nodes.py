"""Faults on nodes of a user's own: who is found by a file, what a dry run says and does not do, and what is refused.

The nodes are processes that listen, run under RocketMQ's main class and answer as a broker (``tests.lib.fake_nodes``); the name
server answers what it has to.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import socketserver
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.given import GivenCluster
from harness.backends.nodes_file import NamedNode, read_nodes_file
from harness.backends.reached import Reached, ReachedProcess, reach
from harness.backends.said_of_itself import Listed
from harness.errors import EXIT_OK, EXIT_USAGE, ConfigurationError, TargetNotAllowedError
from harness.faults.injections import injection_of
from harness.host.ports import free_port
from harness.leases import proc
from harness.leases.leases import Leases
from harness.model.cluster import Topology
from harness.model.faults import PauseNode
from harness.model.rocketmq import GET_BROKER_CLUSTER_INFO
from harness.protocol.access import OPEN
from harness.protocol.targets import LOOPBACK
from harness.trial import Healed
from harness.wait import wait_until
from mqlab.main import main
from tests.lib.answering import Answering
from tests.lib.fake_nodes import CLUSTER, command, fake_node

Start = Callable[..., proc.ProcessId]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def start(port: int) -> Iterator[Start]:
    """Starts a process that listens on the port."""
    with ExitStack() as started:
        yield lambda **of: started.enter_context(fake_node(port, **of)).process


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return True


@contextmanager
def _name_server(brokers: Mapping[str, str]) -> Iterator[str]:
    """Lists masters: addresses by broker name."""
    table = {name: {"cluster": CLUSTER, "brokerAddrs": {"0": address}} for name, address in brokers.items()}

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while len(start := self.rfile.read(8)) == 8:
                length, header_length = struct.unpack(">II", start)
                header = json.loads(self.rfile.read(length - 4)[:header_length])
                assert header["code"] == GET_BROKER_CLUSTER_INFO
                text = json.dumps({"code": 0, "opaque": header["opaque"], "flag": 1}).encode()
                body = json.dumps({"brokerAddrTable": table}).encode()
                self.wfile.write(struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def namesrv(port: int) -> Iterator[str]:
    with _name_server({"broker-a": f"127.0.0.1:{port}"}) as address:
        yield address


def _file(folder: Path, port: int, means: str) -> Path:
    path = folder / "nodes.toml"
    path.write_text(f'[broker-a]\naddress = "127.0.0.1:{port}"\n{means}\n')
    return path


def _reached(file: Path, namesrv: str) -> Reached:
    return reach(read_nodes_file(file), [namesrv], LOOPBACK, OPEN)


def _cluster(folder: Path, leases: Leases, namesrv: str, port: int, reached: Reached) -> GivenCluster:
    spec = ClusterSpec(name="load", release="5.3.3", topology=Topology(name="given"))
    return GivenCluster(
        spec, folder, leases, namesrv=[namesrv], brokers={"broker-a": f"127.0.0.1:{port}"}, reached=reached, until_s=300
    )


# --- who is meant -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("below_a_shell", [False, True], ids=["its own pid", "the pid of the script that started it"])
def test_a_process_is_stopped_and_goes_on(
    tmp_path: Path, state_dir: Path, port: int, namesrv: str, start: Start, below_a_shell: bool
) -> None:
    process = start(below_a_shell=below_a_shell)
    reached = _reached(_file(tmp_path, port, f"pid = {process.pid}"), namesrv)
    pid = int(re.findall(r"process (\d+) ", reached.nodes["broker-a"].check())[0])
    assert (pid == process.pid) != below_a_shell
    java = proc.identify(pid)
    assert java is not None
    with Leases.open(state_dir) as leases:
        cluster = _cluster(tmp_path, leases, namesrv, port, reached)
        assert cluster.pause_node("broker-a", until_s=300) == [java]
        assert java.is_stopped()
        with pytest.raises(ConfigurationError, match="stands still already"):
            reached.nodes["broker-a"].check()
        cluster.resume_node("broker-a")
        assert not java.is_stopped()
        cluster.pause_node("broker-a", until_s=300)
        cluster.down()
        assert not java.is_stopped(), "what the load leaves goes on"
        for act in (cluster.restart_node, cluster.start_node):
            with pytest.raises(ConfigurationError, match="no node of the lab's"):
                act("broker-a")
    assert java.is_alive()


class Mistaken(ReachedProcess):
    """A node whose file names another process than the one that serves its address."""

    def __init__(self, named: NamedNode, other: proc.ProcessId) -> None:
        super().__init__(named, LISTED)
        self._other = other

    def _process(self) -> proc.ProcessId:
        return self._other


LISTED = Listed(broker="broker-a", cluster=CLUSTER)


def _paused(folder: Path, leases: Leases, broker: Answering, namesrv: str, other: Answering | None = None) -> Healed:
    """The end of a pause of what the file names as the broker."""
    port = int(broker.node.address.rsplit(":", 1)[1])
    (named,) = read_nodes_file(_file(folder, port, f"pid = {broker.process.pid}"))
    node = ReachedProcess(named, LISTED) if other is None else Mistaken(named, other.process)
    listed = {broker.node.address: ("broker-a", 0)}
    cluster = _cluster(folder, leases, namesrv, port, Reached(nodes={"broker-a": node}, listed=listed))
    trial: Any = SimpleNamespace(cluster=cluster, until_s=300.0, cancel=threading.Event())
    done = injection_of(PauseNode(node="broker-a")).inject(PauseNode(node="broker-a"), trial, trial)
    assert done.end is not None
    return done.end()


def test_a_pause_is_shown_by_the_process_and_by_what_answers_at_its_address(
    tmp_path: Path, state_dir: Path, namesrv: str
) -> None:
    with (
        fake_node(free_port()) as broker,
        fake_node(free_port()) as decoy,
        Leases.open(state_dir) as leases,
    ):
        healed = _paused(tmp_path, leases, broker, namesrv)
        assert healed.exercised is True, healed.achieved
        assert not broker.process.is_stopped()
        touched_nothing = _paused(tmp_path, leases, broker, namesrv, other=decoy)
        assert touched_nothing.exercised is False
        said = f"another process than {decoy.process.pid} takes connections to {broker.node.address}"
        assert said in touched_nothing.achieved
        assert not decoy.process.is_stopped()


def test_a_process_is_killed_and_started_again_by_its_command(
    tmp_path: Path, state_dir: Path, port: int, namesrv: str
) -> None:
    (tmp_path / "start.sh").write_text(f"{shlex.join(command(port))} &\necho $! > a.pid\n")
    subprocess.run(["sh", "start.sh"], cwd=tmp_path, check=True)
    try:
        wait_until("it to listen", lambda: _listens(port), timeout_s=60)
        first = int((tmp_path / "a.pid").read_text())
        file = _file(tmp_path, port, 'pid-file = "a.pid"\nstart = ["sh", "start.sh"]')
        reached = _reached(file, namesrv)
        with Leases.open(state_dir) as leases:
            cluster = _cluster(tmp_path, leases, namesrv, port, reached)
            before_ns, gone_ns = cluster.kill_node("broker-a")
            assert before_ns < gone_ns
            assert proc.identify(first) is None or not proc.identify(first).is_alive()  # type: ignore[union-attr]
            cluster.restart_node("broker-a")
            assert reached.nodes["broker-a"].check(), "it is found by its new pid"
            assert int((tmp_path / "a.pid").read_text()) != first
    finally:
        os.kill(int((tmp_path / "a.pid").read_text()), signal.SIGKILL)


def test_who_is_not_what_the_file_says_is_refused(tmp_path: Path, port: int, namesrv: str, start: Start) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.pid cannot be read"):
        _reached(_file(tmp_path, port, 'pid-file = "a.pid"'), namesrv)
    (tmp_path / "a.pid").write_text("-1\n")
    with pytest.raises(ConfigurationError, match="does not begin with a process id"):
        _reached(_file(tmp_path, port, 'pid-file = "a.pid"'), namesrv)
    with pytest.raises(ConfigurationError, match="does not listen on"):
        _reached(_file(tmp_path, port, f"pid = {os.getpid()}"), namesrv)
    with subprocess.Popen(["true"]) as gone:
        pass
    with pytest.raises(ConfigurationError, match=f"nodes.toml:1: there is no process {gone.pid}"):
        _reached(_file(tmp_path, port, f"pid = {gone.pid}"), namesrv)
    tunnel = start(main_class="com.example.Editor")
    with pytest.raises(
        ConfigurationError, match=r"\(java\) is no node of RocketMQ: its main class is com.example.Editor"
    ):
        _reached(_file(tmp_path, port, f"pid = {tunnel.pid}"), namesrv)
    file = _file(tmp_path, port, f"pid = {tunnel.pid}")
    with (
        _name_server({"broker-a": "127.0.0.1:1"}) as other,
        pytest.raises(ConfigurationError, match="is no node of this"),
    ):
        _reached(file, other)
    with _name_server({"broker-a": "192.0.2.1:1"}) as other, pytest.raises(TargetNotAllowedError):
        _reached(file, other)


# --- the command ------------------------------------------------------------------------------------------------------


def _load(namesrv: str, *arguments: str) -> int:
    try:
        return main(["load", "--namesrv", namesrv, "--topic", "orders", "--duration", "20", *arguments])
    except SystemExit as ended:  # as argparse ends
        return int(str(ended.code))


def _said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    out, err = capsys.readouterr()
    return out, " ".join(err.split())


def test_a_dry_run_says_exactly_what_would_be_done_and_does_nothing(
    tmp_path: Path, port: int, namesrv: str, start: Start, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    process = start()
    file = _file(tmp_path, port, f"pid = {process.pid}")
    faults = ("--nodes", str(file), "--fault", "pause-node:for=4s@5s", "--fault", "flapping-node:for=9s@10s")
    assert _load(namesrv, *faults, "--fault-every", "60s", "--dry-run") == EXIT_OK
    out, _ = _said(capsys)
    where = f"(broker-a, 127.0.0.1:{port})"
    assert f"  5 s: SIGSTOP to process {process.pid} {where}\n  9 s: SIGCONT to process {process.pid} {where}\n" in out
    assert (
        f"  10 s: SIGSTOP to process {process.pid}, SIGCONT to process {process.pid} 3 s later, and so again every"
        in out
    )
    assert "again every 60 s" in out
    assert not process.is_stopped()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.toml"], "nothing was recorded either"
    assert _load(namesrv, *faults, "--fault-every", "60s", "--dry-run", "--json") == EXIT_OK
    told = json.loads(_said(capsys)[0])
    assert _load(namesrv, "--nodes", str(file), "--fault", "kill-node@1s", "--dry-run") == EXIT_USAGE
    assert (
        "--fault kill-node@1s starts the node again, and its nodes file has no pid-file and start" in _said(capsys)[1]
    )
    assert [step["at"] for step in told["steps"]] == ["5 s", "9 s", "10 s", "19 s"]
    assert f"--confirm {told['confirm']} " in out


def test_faults_on_nodes_come_only_after_a_dry_run_of_this_command_file_and_process(
    tmp_path: Path, port: int, namesrv: str, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    process = start()
    file = _file(tmp_path, port, f"pid = {process.pid}")
    faults = ("--nodes", str(file), "--fault", "pause-node:for=4s@5s")

    def code() -> str:
        assert _load(namesrv, *faults, "--dry-run", "--json") == EXIT_OK
        return str(json.loads(_said(capsys)[0])["confirm"])

    def refused(*arguments: str) -> str:
        assert _load(namesrv, *arguments) == EXIT_USAGE
        out, err = _said(capsys)
        assert not out
        return err

    assert "only after a dry run of exactly this command and file Give --dry-run first" in refused(*faults)
    confirmed = code()
    assert code() == confirmed
    assert "--confirm yes is of another command, file or process" in refused(*faults, "--confirm", "yes")
    for others in (("--rate", "9"), ("--fault", "kill-consumer@1s", "--consumers", "2"), ("--fault-every", "9s")):
        assert f"--confirm {confirmed} is of another command" in refused(*faults, *others, "--confirm", confirmed)
    file.write_text(f"{file.read_text()}# the same\n")
    assert f"--confirm {confirmed} is of another command" in refused(*faults, "--confirm", confirmed)
    assert not process.is_stopped()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fault", "pause-node@1s"], "of a cluster that is there already (--namesrv) only a file of --nodes says"),
        (["--nodes", "FILE", "--fault", "pause-node:broker-b@1s"], "names broker-b, and the nodes are broker-a"),
        (["--nodes", "FILE", "--fault", "pause-node@1s", "--fault", "append-stall@1s"], "by rules in a broker's JVM"),
        (
            ["--nodes", "FILE", "--fault", "pause-node@1s", "--fault", "disk-full@1s"],
            "a store on a file system of its own",
        ),
        (
            ["--nodes", "FILE", "--fault", "pause-node@1s", "--fault", "broker-away@1s"],
            "pause-node, kill-node, flapping-node",
        ),
        (
            ["--nodes", "FILE", "--fault", "kill-consumer@1s", "--consumers", "2"],
            "names what faults are done to, and none",
        ),
        (["--nodes", "FILE"], "names what faults are done to, and none"),
        (["--nodes", "FILE", "--fault", "pause-node@1s", "--dry-run", "--confirm", "01234567"], "Give one of the two"),
        (["--dry-run"], "--dry-run and --confirm are of faults on nodes of yours"),
        (["--nodes", "absent.toml"], "is not a file that can be read"),
    ],
)
def test_what_cannot_be_done_to_a_node_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    file = str(_file(tmp_path, 10911, "pid = 4711"))
    words = [file if word == "FILE" else word for word in arguments]
    assert _load("127.0.0.1:1", *words) == EXIT_USAGE
    assert said in _said(capsys)[1]


def test_nodes_are_of_a_cluster_that_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(_file(tmp_path, 1, "pid = 4711"))
    assert main(["load", "--nodes", file, "--fault", "pause-node@1s"]) == EXIT_USAGE
    assert "--nodes is of a cluster of yours" in _said(capsys)[1]


def test_a_container_is_asked_of_the_engine_of_this_machine(
    tmp_path: Path, port: int, namesrv: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(_file(tmp_path, port, 'container = "rmq-broker-a"'))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    assert _load(namesrv, "--nodes", file, "--fault", "kill-node@1s", "--dry-run") == EXIT_USAGE
    assert f"no Docker Engine answers at {tmp_path}/nobody.sock" in _said(capsys)[1]
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    assert _load(namesrv, "--nodes", file, "--fault", "kill-node@1s", "--dry-run") == EXIT_USAGE
    assert "is not one of this machine's sockets" in _said(capsys)[1]
