"""Faults on nodes of another machine: a real sshd in namespaces of its own, where pids are others than here.

``ELSEWHERE=20`` makes each fault, each kind of end of ours, so many times.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.given import GivenCluster
from harness.backends.node_elsewhere import NodeElsewhere
from harness.backends.nodes_file import read_nodes_file
from harness.backends.reached import Reached, reach
from harness.errors import EXIT_OK, EXIT_USAGE, ConfigurationError, LabError
from harness.faults.injections import injection_of
from harness.host.ports import free_port
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.leases.ssh import CONNECT_S_MAX
from harness.model.cluster import Topology
from harness.model.faults import PauseNode
from harness.paths import PACKAGES
from harness.protocol.access import OPEN
from harness.protocol.targets import LOOPBACK
from harness.wait import wait_until
from mqlab.main import main
from tests.lib.fake_nodes import NAMESRV, command, fake_node, listed
from tests.lib.far_machine import OTHER_USER, FarMachine, far_machine, loopback, own_network, unpacked_sshd
from tests.root.fault_elsewhere import HEALED_LATER_S, STAYS_S

TIMES = int(os.environ.get("ELSEWHERE", "1"))
HEALED_S_MAX = STAYS_S + HEALED_LATER_S
SLOW_S = 45.0
"""What a machine that has far more to do than it can takes longer."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FarMachine]:
    folder = tmp_path_factory.mktemp("elsewhere")
    sshd = unpacked_sshd(folder / "package")
    if isinstance(sshd, str):
        pytest.skip(sshd)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(own_network())
        except OSError as error:
            pytest.skip(str(error))
        yield stack.enter_context(far_machine(folder / "machine", sshd, 2222))


@pytest.fixture(scope="module")
def port(machine: FarMachine) -> int:
    """Of a broker that runs there."""
    at = free_port()
    (machine.folder / "start.sh").write_text(
        f"{shlex.join(command(at))} </dev/null >/dev/null 2>&1 &\necho $! > a.pid\n"
    )
    machine.run('cd "$1" && sh start.sh', str(machine.folder))
    wait_until("the broker to listen", lambda: _listens(at), timeout_s=60)
    return at


@pytest.fixture(scope="module")
def namesrv(machine: FarMachine, port: int) -> Iterator[str]:
    at = free_port()
    with fake_node(at, main_class=NAMESRV, lists=listed(port)):
        yield f"127.0.0.1:{at}"


def _listens(at: int) -> bool:
    with socket.create_connection(("127.0.0.1", at), timeout=5):
        return True


def _pid(machine: FarMachine) -> int:
    """Of the broker, there."""
    return int((machine.folder / "a.pid").read_text())


def _file(folder: Path, machine: FarMachine, port: int, **other: Any) -> Path:
    path = folder / "nodes.toml"
    keys = {"pid-file": str(machine.folder / "a.pid"), **other}
    path.write_text(f'[broker-a]\naddress = "127.0.0.1:{port}"\n{machine.means(**keys)}start = ["sh", "start.sh"]\n')
    return path


def _reached(file: Path, namesrv: str) -> Reached:
    return reach(read_nodes_file(file), [namesrv], LOOPBACK, OPEN, {"broker-a": 30.0})


def _refused(file: Path, namesrv: str, bound_s: float = SLOW_S) -> str:
    began_s = time.monotonic()
    with pytest.raises(ConfigurationError) as raised:
        _reached(file, namesrv)
    assert time.monotonic() - began_s < bound_s
    assert raised.value.message.startswith(f"{file}:1: ")
    return f"{raised.value.message} {raised.value.advice}"


@pytest.fixture
def cluster(machine: FarMachine, port: int, namesrv: str, tmp_path: Path, state_dir: Path) -> Iterator[GivenCluster]:
    reached = _reached(_file(tmp_path, machine, port), namesrv)
    spec = ClusterSpec(name="load", release="5.3.3", topology=Topology(name="given"))
    with Leases.open(state_dir) as leases:
        yield GivenCluster(
            spec, tmp_path, leases, namesrv=[namesrv], brokers={"broker-a": f"127.0.0.1:{port}"}, reached=reached,
            until_s=300,
        )  # fmt: skip
    wait_until("nothing to be left there", lambda: not machine.guards(), timeout_s=SLOW_S)


def test_a_pause_elsewhere_is_shown_by_its_threads_and_its_silence(machine: FarMachine, cluster: GivenCluster) -> None:
    pid = _pid(machine)
    assert machine.here(pid) != pid, "its pid is another process's here"
    trial: Any = SimpleNamespace(cluster=cluster, until_s=300.0, cancel=threading.Event())
    done = injection_of(PauseNode(node="broker-a")).inject(PauseNode(node="broker-a"), trial, trial)
    assert machine.is_stopped(pid)
    assert len(machine.guards()) == 1
    time.sleep(2.5)
    assert done.end is not None
    healed = done.end()
    assert not machine.is_stopped(pid)
    assert healed.exercised is True, healed.achieved


def test_a_node_elsewhere_is_killed_and_started_again(machine: FarMachine, cluster: GivenCluster) -> None:
    before = _pid(machine)
    asked_ns, gone_ns = cluster.kill_node("broker-a")
    assert asked_ns < gone_ns
    assert machine.here(before) is None
    cluster.restart_node("broker-a")
    assert _pid(machine) != before
    assert machine.here(_pid(machine)) is not None


def test_a_dry_run_says_what_would_be_done_there_and_its_code_is_of_that_process(
    machine: FarMachine, port: int, namesrv: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(_file(tmp_path, machine, port))
    load = ["load", "--namesrv", namesrv, "--topic", "orders", "--duration", "20", "--nodes", file]
    faults = ["--fault", "pause-node:broker-a,for=4s@5s", "--fault", "kill-node:broker-a,for=3s@12s"]
    assert main([*load, *faults, "--dry-run"]) == EXIT_OK
    out = capsys.readouterr().out
    where = f"on root@127.0.0.1 (broker-a, 127.0.0.1:{port})"
    pid = _pid(machine)
    assert f"  5 s: SIGSTOP to process {pid} {where}\n  9 s: SIGCONT to process {pid} {where}\n" in out
    assert f"  12 s: SIGKILL to process {pid} {where}\n  15 s: sh start.sh {where}\n" in out
    assert "left on root@127.0.0.1 before each fault ends it for broker-a 24 s after its beginning" in out
    assert not machine.is_stopped(pid)
    assert not machine.guards()
    assert main([*load, *faults, "--confirm", "01234567"]) == EXIT_USAGE
    assert "--confirm 01234567 is of another command, file or process" in " ".join(capsys.readouterr().err.split())


def test_what_is_not_the_node_is_refused(
    machine: FarMachine, port: int, namesrv: str, tmp_path: Path, state_dir: Path
) -> None:
    machine.run('cp "$1" /run/a.pid && chmod 644 /run/a.pid', str(machine.folder / "a.pid"))
    file = _file(tmp_path, machine, port, host=f"{OTHER_USER}@127.0.0.1", **{"pid-file": "/run/a.pid"})
    assert "belongs to user 0, and ssh logs in as user 4242" in _refused(file, namesrv)
    file = _file(tmp_path, machine, port, **{"pid-file": "/absent.pid"})
    assert "/absent.pid is not there on root@127.0.0.1" in _refused(file, namesrv)
    (machine.folder / "first.pid").write_text("1\n")
    file = _file(tmp_path, machine, port, **{"pid-file": str(machine.folder / "first.pid")})
    assert "does not begin with a process id" in _refused(file, namesrv)
    other = free_port()
    with fake_node(other, main_class=NAMESRV, lists=listed(other)) as here:
        # A port of a node that runs here: on the far machine nobody who can be seen has it.
        said = _refused(_file(tmp_path, machine, other), here.node.address)
        assert f"does not listen on 127.0.0.1:{other}, nor does one that it has started" in said
    with Leases.open(state_dir) as leases:
        node = _reached(_file(tmp_path, machine, port), namesrv).nodes["broker-a"]
        assert isinstance(node, NodeElsewhere)
        process, facts = node._process()
        for reused in (replace(process, start_ticks=process.start_ticks - 1), replace(process, sum="1 2")):
            node._process = lambda reused=reused: (reused, facts)  # type: ignore[method-assign, misc]
            for act in (node.pause, node.kill):
                with pytest.raises(
                    ConfigurationError, match=f"process {process.pid} on root@127.0.0.1 is another one by now"
                ):
                    act(leases, until_s=300)
    assert not machine.is_stopped(_pid(machine))
    assert not machine.guards()


def test_who_does_not_let_us_in_is_refused_within_a_bound(
    machine: FarMachine, port: int, namesrv: str, tmp_path: Path
) -> None:
    (tmp_path / "nobody").write_text("")
    file = _file(tmp_path, machine, port, **{"ssh-known-hosts": str(tmp_path / "nobody")})
    assert "the host key of root@127.0.0.1 is not known Log in once by hand" in _refused(file, namesrv)
    other = (machine.folder / "other_key.pub").read_text()
    (tmp_path / "changed").write_text(f"[127.0.0.1]:{machine.port} {other}")
    file = _file(tmp_path, machine, port, **{"ssh-known-hosts": str(tmp_path / "changed")})
    assert "shows another host key than the known one" in _refused(file, namesrv)
    file = _file(tmp_path, machine, port, **{"ssh-identity": str(machine.folder / "other_key")})
    assert "lets nobody in by the keys at hand, and no password is ever asked for" in _refused(file, namesrv)
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        file = _file(tmp_path, machine, port, **{"ssh-port": hangs.getsockname()[1]})
        assert "root@127.0.0.1 does not answer" in _refused(file, namesrv, CONNECT_S_MAX + SLOW_S)


@pytest.mark.parametrize("ends", ["kill -9 of mqlab", "kill -9 of all of ours", "the connection is cut"])
@pytest.mark.parametrize("kind", ["pause", "kill"])
def test_a_fault_elsewhere_is_healed_whatever_becomes_of_us(
    machine: FarMachine, port: int, namesrv: str, tmp_path: Path, state_dir: Path, kind: str, ends: str
) -> None:
    rng = random.Random(f"{kind} {ends} {TIMES}")
    file = _file(tmp_path, machine, port)
    faults = 0
    for number in range(TIMES):
        words = [sys.executable, "-m", "tests.root.fault_elsewhere", str(file), namesrv, kind, str(state_dir)]
        popen = subprocess.Popen(words, cwd=PACKAGES, stdout=subprocess.PIPE, start_new_session=True, text=True)
        assert popen.stdout is not None
        guards = [int(pid) for pid in popen.stdout.readline().split()]
        # Now and then within the connection that makes the fault; else once it is there.
        is_early = rng.random() < 0.4
        if is_early:
            time.sleep(rng.uniform(0.0, 1.0))
        else:
            assert popen.stdout.readline() == "done\n"
            time.sleep(rng.uniform(0.0, 0.5))
            faults += 1
        began_s = time.monotonic()
        try:
            if ends == "the connection is cut":
                loopback("down")
                _check_healed(machine, kind, began_s, f"{number}")
                loopback("up")
            for pid in (popen.pid, *(guards if ends == "kill -9 of all of ours" else [])):
                os.kill(pid, signal.SIGKILL)
            popen.wait()
            _check_healed(machine, kind, began_s, f"{number}")
            wait_until("it to listen again", lambda: _listens(port), timeout_s=SLOW_S)
        finally:
            loopback("up")
            popen.kill()
            popen.wait()
            popen.stdout.close()
        with contextlib.suppress(LabError):
            clean(state_dir)
        wait_until("no lease of ours to be left", lambda: not list(state_dir.glob("leases/*.json")), timeout_s=SLOW_S)
    assert faults or TIMES < 3


def _check_healed(machine: FarMachine, kind: str, began_s: float, which: str) -> None:
    """By its deadline, and whatever a busy machine takes longer."""

    def is_healed() -> bool:
        if machine.is_asked() or machine.guards():
            return False
        pid = _pid(machine)
        return machine.here(pid) is not None and not machine.is_stopped(pid)

    wait_until(f"{kind} {which} to be healed", is_healed, timeout_s=HEALED_S_MAX + SLOW_S, poll_s=0.2)
    print(
        f"{kind} {which}: healed {time.monotonic() - began_s:.1f} s after the end of ours, {HEALED_S_MAX:g} s are its time"
    )


def test_no_key_is_in_any_file_of_a_run(
    machine: FarMachine, port: int, namesrv: str, tmp_path: Path, state_dir: Path
) -> None:
    secret = (machine.folder / "key").read_text().splitlines()[2]
    node = _reached(_file(tmp_path, machine, port), namesrv).nodes["broker-a"]
    with Leases.open(state_dir) as leases:
        lease, _ = node.pause(leases, until_s=300)
        texts = [path.read_text(errors="replace") for path in state_dir.rglob("*") if path.is_file()]
        assert texts
        assert not any(secret in text for text in texts)
        lease.end()
