"""Nodes of the user's own cluster that a nodes file names: each is found, shown to be what the file says, and stopped or killed.

A process has to belong to whoever runs the lab, to have one of RocketMQ's main classes, and to have, it alone, the socket that
takes connections to the node's very address; over one of them, which is seen to end at that process, it says that it is the node
that is listed there. All of that is looked at before each stop and kill. Where the process that is named is a shell's, as
RocketMQ's own scripts leave one, the Java below it is meant.
"""

import math
import shlex
import signal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from harness.backends.node_elsewhere import NodeElsewhere
from harness.backends.nodes_file import PID_MAX, Means, NamedNode
from harness.backends.said_of_itself import Listed, asked
from harness.clock import mono_ns
from harness.errors import ClientError, ConfigurationError, LeaseError
from harness.leases import proc, sockets
from harness.leases.given_kinds import KILLED_PROCESS, identity, start_data
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.main_class import main_class_of
from harness.leases.proc import ProcessId
from harness.leases.process import GONE_S_MAX, stop_process
from harness.leases.sockets import End
from harness.leases.store import LeaseData
from harness.printable import printable
from harness.protocol.access import Access
from harness.protocol.connection import split_address
from harness.protocol.name_server import NameServer
from harness.protocol.targets import Network, check_allowed
from harness.wait import NotYet, wait_until

LISTEN_S_MAX, LISTED_S_MAX = 120.0, 180.0
PID_FILE_BYTES_MAX = 100


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

    def __init__(self, named: NamedNode, listed: Listed) -> None:
        self.named = named
        self._listed = listed
        self._shown: ProcessId | None = None
        """The one that was shown to be the node, last."""

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
        if not proc.send_signal(process, None, signal.SIGKILL):
            lease.release()
            raise LeaseError(f"{named.name} (pid {process.pid}) had ended before it was killed")
        if proc.wait_gone([process], timeout_s=GONE_S_MAX):
            lease.release()
            raise LeaseError(f"{named.name} (pid {process.pid}) is still there {GONE_S_MAX} s after SIGKILL")
        return asked_ns, mono_ns(), lease

    def _process(self) -> ProcessId:
        """The one that is the node, by pid and start. Raises ConfigurationError."""
        named = self.named
        process = self._listening()
        if (main := main_class_of(process.pid)) not in self._listed.main_classes:
            is_what = f"its main class is {main}" if main else "it is no Java with a main class"
            raise named.mistake(
                f"process {_words(process.pid)} is no node of RocketMQ: {is_what}",
                f"It would be {' or '.join(self._listed.main_classes)}.",
            )
        if not process.is_stopped():
            with asked(named, self._listed) as ends:
                self._check_end(process, ends)
        elif process != self._shown:
            raise named.mistake(f"process {process.pid} stands still already", "Let it go on first (kill -CONT).")
        # While its pid was another process's before, everything above was of that one.
        if not process.is_alive():
            raise named.mistake(f"process {process.pid} has ended", "Look whether the node runs.")
        self._shown = process
        return process

    def _check_end(self, process: ProcessId, ends: tuple[End, End]) -> None:
        """The answer came from the process whose socket is the other end of the connection."""
        named = self.named
        try:
            its = sockets.other_end(*ends)
            if its and its <= sockets.sockets_of(process.pid):
                return
            others = _named({pid for pids in sockets.owners(its).values() for pid in pids})
        except (OSError, ValueError) as error:
            raise named.mistake(f"it cannot be seen where a connection to {named.address} ends: {error}") from error
        raise named.mistake(
            f"a connection to {named.address} does not end at process {process.pid}, but at {others}",
            "Look who else takes connections there.",
        )

    def _listening(self) -> ProcessId:
        """The process that takes the connections to the address, and the only one: the one that is named, or one below it."""
        named = self.named
        family = self._family()
        try:
            takers = sockets.owners(sockets.listeners(*split_address(named.address)))
        except (OSError, ValueError) as error:
            raise named.mistake(f"it cannot be seen who listens on {named.address}: {error}") from error
        own = {pid for pids in takers.values() for pid in pids if pid in family}
        others = {pid for pids in takers.values() for pid in pids} - own
        top = next(iter(family))
        if not own:
            instead = f"; {_named(others)} does" if takers else ""
            raise named.mistake(
                f"process {_words(top)} does not listen on {named.address}, nor does one that it has started{instead}",
                "Give the pid of the Java that runs the node.",
            )
        # Of a socket that a script has passed on, and of two that share a port, nobody knows who takes the next connection.
        alone = [pid for pid in own if all(pid in pids for pids in takers.values())]
        if others or len(own) > 1 or not alone:
            first = min(own)
            raise named.mistake(
                f"process {_words(first)} does not listen on {named.address} alone: {_named(others | own - {first})} does as well, "
                "and a connection goes to either",
                "End the one that is not the node.",
            )
        return family[alone[0]]

    def _family(self) -> dict[int, ProcessId]:
        """The process that is named, and those below it, by pid."""
        named = self.named
        pid = named.pid if named.pid_file is None else self._written_pid()
        assert pid is not None
        try:
            top = psutil.Process(pid)
            # A pid says nothing of who has it later: from here on a process is known by its start as well.
            family = [proc.identify(one.pid) for one in (top, *top.children(recursive=True))]
            if top.uids().effective != psutil.Process().uids().effective:
                raise named.mistake(f"process {pid} belongs to {top.username()}", "Run mqlab as that user.")
        except psutil.NoSuchProcess as error:
            raise named.mistake(
                f"there is no process {pid}", "Look whether the node runs, and what its pid is now."
            ) from error
        except psutil.Error as error:
            raise named.mistake(f"process {pid} cannot be seen: {error}") from error
        if family[0] is None or not family[0].is_alive():
            raise named.mistake(f"there is no process {pid}", "Look whether the node runs, and what its pid is now.")
        return {one.pid: one for one in family if one is not None}

    def _written_pid(self) -> int:
        file = self.named.pid_file
        assert file is not None
        if file.exists() and not file.is_file():  # a pipe or a device would be read for ever
            raise self.named.mistake(f"{file} is no file", "Name the file into which the node writes its pid.")
        try:
            with file.open("rb") as opened:
                words = opened.read(PID_FILE_BYTES_MAX).split()
        except OSError as error:
            raise self.named.mistake(f"{file} cannot be read: {error.strerror}") from error
        if not words or not words[0].isdigit() or not 1 < int(words[0]) <= PID_MAX:
            raise self.named.mistake(f"{file} does not begin with a process id")
        return int(words[0])


def _words(pid: int) -> str:
    """A pid and what runs under it."""
    try:
        return f"{pid} ({printable(psutil.Process(pid).name())})"
    except psutil.Error:
        return str(pid)


def _named(pids: Collection[int]) -> str:
    return f"process {' and '.join(map(_words, sorted(pids)))}" if pids else "a process that cannot be seen"


def reach(
    named: Sequence[NamedNode],
    namesrv: Sequence[str],
    allowed: Sequence[Network],
    access: Access,
    stays_s: Mapping[str, float] | None = None,
) -> Reached:
    """The nodes by name, each of which exists now, and of brokers broker name and id by their address.

    ``stays_s`` is how long a fault on a node stays at most, by its name: another machine ends it by itself soon after.

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
        clusters = connection.clusters()
    check_allowed(listed, allowed)
    reached: dict[str, ReachedNode] = {}
    for node in named:
        if node.address in listed:
            broker, number = listed[node.address]
            is_listed = Listed(broker=broker, broker_id=number, cluster=clusters.get(broker, ""), access=access)
        elif node.address in namesrv:
            is_listed = Listed(access=access)
        else:
            raise node.mistake(
                f"{node.address} is no node of this cluster", f"Its nodes are {', '.join((*namesrv, *sorted(listed)))}."
            )
        reached[node.name] = _of(node, is_listed, (stays_s or {}).get(node.name, math.inf))
        reached[node.name].check()
    return Reached(nodes=reached, listed=listed)


def _of(node: NamedNode, listed: Listed, stays_s: float) -> ReachedNode:
    if node.ssh is not None:
        return NodeElsewhere(node, listed, stays_s=stays_s)
    if not node.is_container:
        return ReachedProcess(node, listed)
    # The Docker SDK is loaded only where it is used.
    from harness.backends.docker.named_container import NamedContainer

    return NamedContainer(node, listed)


def wait_back(node: ReachedNode, namesrv: Collection[str], broker: tuple[str, int] | None, access: Access) -> None:
    """Wait until a node that was started again is found and answers and, a broker, every name server lists it."""
    named = node.named

    def is_back() -> bool:
        try:
            return bool(node.check())
        except ConfigurationError as error:
            raise NotYet(str(error)) from error

    wait_until(f"{named.name} to answer at {named.address}", is_back, timeout_s=LISTEN_S_MAX, poll_s=0.2)
    for server in namesrv if broker else ():
        wait_until(f"{named.name} in the list of {server}", lambda server=server: _lists(server, broker, access),  # type: ignore[misc]
                   timeout_s=LISTED_S_MAX, poll_s=0.5)  # fmt: skip


def _lists(server: str, broker: tuple[str, int] | None, access: Access) -> bool:
    assert broker is not None
    try:
        with NameServer(server, access=access) as connection:
            return broker[1] in connection.cluster_brokers().get(broker[0], {})
    except ClientError:
        return False
