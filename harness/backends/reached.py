"""Nodes of the user's own cluster that a nodes file names: each is found, shown to be what the file says, and stopped or killed.

A process has to belong to whoever runs the lab, to be RocketMQ's, and to listen on the node's address; where the process that is
named is a shell's, as RocketMQ's own scripts leave one, the Java below it is meant.
"""

import shlex
import signal
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from harness.backends.nodes_file import PID_MAX, Means, NamedNode
from harness.clock import mono_ns
from harness.errors import ClientError, LeaseError
from harness.leases import proc
from harness.leases.given_kinds import KILLED_PROCESS, identity, start_data
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import ProcessId
from harness.leases.process import GONE_S_MAX, stop_process
from harness.leases.store import LeaseData
from harness.protocol.access import Access
from harness.protocol.connection import split_address
from harness.protocol.name_server import NameServer
from harness.protocol.targets import Network, check_allowed
from harness.wait import wait_until

LISTEN_S_MAX, LISTED_S_MAX = 120.0, 180.0
PID_FILE_BYTES_MAX = 100
ROCKETMQ = "org.apache.rocketmq"
"""In the command line of each of its nodes: their main classes."""


class ReachedNode(Protocol):
    """A node that was found."""

    named: NamedNode

    def check(self) -> str:
        """What it is now, in words, and exactly: a process by pid and start, a container by its id.

        Raises ConfigurationError, which says why nothing may be done to it.
        """

    def why_no_kill(self) -> str:
        """Why it cannot be killed and started again; empty when it can."""

    def means(self) -> Means:
        """How it is stopped, let go on, killed and started again."""

    def pause(self, leases: Leases, *, until_s: float) -> tuple[Lease, Sequence[ProcessId]]:
        """Let every thread of it stand still, under a lease whose end lets it go on; the processes that do."""

    def kill(self, leases: Leases, *, until_s: float) -> tuple[int, int, Lease]:
        """SIGKILL, under a lease whose end starts it again; monotonic nanoseconds before it and when it was gone."""


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The nodes that a file names, by name, and all brokers that a name server lists: broker name and id by address."""

    nodes: Mapping[str, ReachedNode] = field(default_factory=dict)
    listed: Mapping[str, tuple[str, int]] = field(default_factory=dict)


class ReachedProcess:
    """A process of this host. Standard signals; the lease of a kill has the command that starts it again."""

    def __init__(self, named: NamedNode) -> None:
        self.named = named

    def check(self) -> str:
        """Its pid, program and start. Raises ConfigurationError."""
        process = self._process()
        if process.is_stopped():
            raise self.named.mistake(f"process {process.pid} stands still already", "Let it go on first (kill -CONT).")
        return f"process {process.pid} (start {process.start_ticks})"

    def why_no_kill(self) -> str:
        """Nobody could start it again."""
        return "" if self.named.start else "its nodes file has no pid-file and start for it, and it would stay down"

    def means(self) -> Means:
        """Signals to its process, and the command."""
        to = f"to process {self._process().pid}"
        return Means(
            stop=f"SIGSTOP {to}", go_on=f"SIGCONT {to}", kill=f"SIGKILL {to}", start=shlex.join(self.named.start)
        )

    def pause(self, leases: Leases, *, until_s: float) -> tuple[Lease, Sequence[ProcessId]]:
        """SIGSTOP."""
        process = self._process()
        data: LeaseData = {**identity(self.named.name, process), "token": None}
        return stop_process(leases, process, data, until_s=until_s), [process]

    def kill(self, leases: Leases, *, until_s: float) -> tuple[int, int, Lease]:
        """SIGKILL. Raises LeaseError when it stays."""
        process, named = self._process(), self.named
        data = start_data(named.name, process, named.address, named.start, named.folder)
        lease = leases.hold(KILLED_PROCESS, data, until_s=until_s)
        asked_ns = mono_ns()
        proc.send_signal(process, None, signal.SIGKILL)
        if proc.wait_gone([process], timeout_s=GONE_S_MAX):
            lease.release()
            raise LeaseError(f"{named.name} (pid {process.pid}) is still there {GONE_S_MAX} s after SIGKILL")
        return asked_ns, mono_ns(), lease

    def _process(self) -> ProcessId:
        named, port = self.named, split_address(self.named.address)[1]
        pid = named.pid if named.pid_file is None else self._written_pid()
        assert pid is not None
        try:
            top = psutil.Process(pid)
            if top.uids().effective != psutil.Process().uids().effective:
                raise named.mistake(f"process {pid} belongs to {top.username()}", "Run mqlab as that user.")
            for one in (top, *top.children(recursive=True)):
                if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in one.net_connections("tcp")):
                    if not any(ROCKETMQ in word for word in one.cmdline()):
                        raise named.mistake(f"process {one.pid} ({one.name()}) is no node of RocketMQ")
                    if (found := proc.identify(one.pid)) is not None:
                        return found
        except psutil.NoSuchProcess as error:
            raise named.mistake(
                f"there is no process {pid}", "Look whether the node runs, and what its pid is now."
            ) from error
        except psutil.Error as error:
            raise named.mistake(f"process {pid} cannot be seen: {error}") from error
        raise named.mistake(
            f"process {pid} ({top.name()}) does not listen on {named.address}, nor does one that it has started",
            "Give the pid of the Java that runs the node.",
        )

    def _written_pid(self) -> int:
        file = self.named.pid_file
        assert file is not None
        try:
            words = file.read_bytes()[:PID_FILE_BYTES_MAX].split()
        except OSError as error:
            raise self.named.mistake(f"{file} cannot be read: {error.strerror}") from error
        if not words or not words[0].isdigit() or not 1 < int(words[0]) <= PID_MAX:
            raise self.named.mistake(f"{file} does not begin with a process id")
        return int(words[0])


def reach(named: Sequence[NamedNode], namesrv: Sequence[str], allowed: Sequence[Network], access: Access) -> Reached:
    """The nodes by name, each of which exists now, and of brokers broker name and id by their address.

    Raises:
        ConfigurationError: one is not what its file says, or no node of this cluster.
        TargetNotAllowedError: a name server lists a broker outside of what is allowed.
        DockerError: no engine of this machine answers that a container could be asked of.
    """
    check_allowed(namesrv, allowed)
    with NameServer(namesrv[0], access=access) as connection:
        listed = {
            address: (broker, number)
            for broker, by_id in connection.cluster_brokers().items()
            for number, address in by_id.items()
        }
    check_allowed(listed, allowed)
    reached: dict[str, ReachedNode] = {}
    for node in named:
        if node.address not in (*listed, *namesrv):
            raise node.mistake(
                f"{node.address} is no node of this cluster", f"Its nodes are {', '.join((*namesrv, *sorted(listed)))}."
            )
        reached[node.name] = _of(node)
        reached[node.name].check()
    return Reached(nodes=reached, listed=listed)


def _of(node: NamedNode) -> ReachedNode:
    if not node.is_container:
        return ReachedProcess(node)
    # The Docker SDK is loaded only where it is used.
    from harness.backends.docker.named_container import NamedContainer

    return NamedContainer(node)


def wait_back(node: NamedNode, namesrv: Collection[str], broker: tuple[str, int] | None, access: Access) -> None:
    """Wait until a node that was started again listens and, a broker, every name server lists it."""
    address = node.address

    def listens() -> bool:
        socket.create_connection(split_address(address), timeout=1.0).close()
        return True

    wait_until(f"{node.name} listening on {address}", listens, timeout_s=LISTEN_S_MAX, poll_s=0.2)
    for server in namesrv if broker else ():
        wait_until(f"{node.name} in the list of {server}", lambda server=server: _lists(server, broker, access),  # type: ignore[misc]
                   timeout_s=LISTED_S_MAX, poll_s=0.5)  # fmt: skip


def _lists(server: str, broker: tuple[str, int] | None, access: Access) -> bool:
    assert broker is not None
    try:
        with NameServer(server, access=access) as connection:
            return broker[1] in connection.cluster_brokers().get(broker[0], {})
    except ClientError:
        return False
