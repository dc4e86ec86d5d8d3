"""A node of the user's own cluster that runs on another machine, to which a nodes file says the way by ssh.

It is shown to be the node as one of this host is (``harness.backends.reached``), by that machine's own /proc: the process that
its pid file names, of the user that ssh logs in as, with one of RocketMQ's main classes, which alone has the socket that takes
connections to the node's address, and at which a connection of ours, over which the node says who it is, is seen to end. Pid,
start, owner and command line are looked at again right before each signal, on that machine.

What ends a fault is there before it begins, and ends it by its deadline without us: see far_side.sh.
"""

import math
import secrets
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from harness.backends.nodes_file import Means, NamedNode
from harness.backends.said_of_itself import Listed, asked
from harness.clock import mono_ns
from harness.errors import ConfigurationError, LeaseError
from harness.leases.elsewhere import Facts, FarProcess, ProcessElsewhere, facts_of, read_facts
from harness.leases.elsewhere_kinds import ACTIONS, KILLED_ELSEWHERE, STOPPED_ELSEWHERE, elsewhere_data
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.main_class import started_class
from harness.leases.proc import ProcessId
from harness.leases.sockets import End, ending, taking
from harness.leases.ssh import Answer, SshError, ask
from harness.printable import excerpt, printable
from harness.protocol.connection import split_address

HEALED_LATER_S = 20.0
"""So long after a fault's time its own machine ends it: in the meantime we do, whatever the machines have to do beside that."""

_REFUSED = {
    "absent": ("{file} is not there on {host}", "Name the file into which the node writes its pid."),
    "nofile": ("{file} on {host} is no file", "Name the file into which the node writes its pid."),
    "unreadable": ("{file} on {host} cannot be read by the user that ssh logs in as", "Log in as the user that runs the node."),
    "nopid": ("{file} on {host} does not begin with a process id", "Name the file into which the node writes its pid."),
    "gone": ("there is no process {of} on {host}", "Look whether the node runs, and what its pid is now."),
    "other": ("process {of} on {host} is another one by now", "Look whether the node runs, and what its pid is now."),
    "still": ("process {of} on {host} stands still already", "Let it go on first (kill -CONT)."),
    "moves": ("process {of} on {host} did not stop", ""),
    "stays": ("process {of} on {host} is still there after SIGKILL", ""),
    "unguarded": ("what ends a fault could not be started on {host}, and so nothing was done", "It needs setsid or nohup."),
    "nofolder": ("the folder of {file} on {host} cannot be entered", ""),
    "nocommand": ("start names no command that there is on {host}", "It is run in the folder of the pid file."),
}  # fmt: skip


class NodeElsewhere:
    """What ``harness.backends.reached.ReachedProcess`` is for a process of this host."""

    def __init__(self, named: NamedNode, listed: Listed, *, stays_s: float = math.inf) -> None:
        """``stays_s``: how long a fault on it stays at most."""
        assert named.ssh is not None
        self.named = named
        self._target = named.ssh
        self._listed = listed
        self._stays_s = stays_s
        self._shown: ProcessElsewhere | None = None
        """The one that was shown to be the node, last."""

    def check(self) -> str:
        """Its pid, start, machine and that machine's boot. Raises ConfigurationError."""
        process, facts = self._process()
        if process.state in "Tt":
            raise self._why(f"still {process.pid}")
        return f"process {process.pid} (start {process.start_ticks}, boot {facts.boot}) of {self._target.host}"

    def why_no_kill(self) -> str:
        """Nobody could start it again."""
        return "" if self.named.start else "its nodes file has no pid-file and start for it, and it would stay down"

    def means(self) -> Means:
        """Signals to its process, and the command, on its machine."""
        pid = self._process()[0].pid if self._shown is None else self._shown.pid
        to, on = f"to process {pid}", f"on {self._target.host}"
        return Means(
            stop=f"SIGSTOP {to} {on}",
            go_on=f"SIGCONT {to} {on}",
            kill=f"SIGKILL {to} {on}",
            start=f"{shlex.join(self.named.start)} {on}",
        )

    def heals_in_s(self, until_s: float) -> int:
        """After so many seconds its machine ends a fault by itself."""
        return math.ceil(min(until_s, self._stays_s + HEALED_LATER_S))

    def pause(self, leases: Leases, *, until_s: float) -> tuple[Lease, Sequence[ProcessId]]:
        """SIGSTOP, once what lets it go on stands there."""
        process, facts = self._process()
        words = (str(process.pid), str(process.start_ticks), str(self.heals_in_s(until_s)))
        lease = self._do(leases, STOPPED_ELSEWHERE, "stop", process, facts, words)
        return lease, [self._as_id(process)]

    def kill(self, leases: Leases, *, until_s: float) -> tuple[int, int, Lease]:
        """SIGKILL, once what starts it again stands there. Raises LeaseError when it stays."""
        process, facts = self._process()
        named = self.named
        if why := self.why_no_kill():
            raise named.mistake(why)
        assert named.pid_file is not None
        places = sorted({facts.written[inode] for inode in self._takers(facts)})
        words = (
            str(process.pid), str(process.start_ticks), str(self.heals_in_s(until_s)), str(named.pid_file.parent),
            ",".join(places), *named.start,
        )  # fmt: skip
        asked_ns = mono_ns()
        lease = self._do(leases, KILLED_ELSEWHERE, "slay", process, facts, words)
        return asked_ns, mono_ns(), lease

    def _do(
        self, leases: Leases, kind: str, action: str, process: FarProcess, facts: Facts, words: Sequence[str]
    ) -> Lease:
        """Under a lease that is written down first."""
        assert kind in ACTIONS
        token = secrets.token_hex(16)
        data = elsewhere_data(self.named.name, self._target, token, facts.boot, words)
        lease = leases.hold(kind, data, until_s=float(words[2]))
        try:
            answer = ask(self._target, action, process.sum, *words, token=token)
        except SshError as error:
            # Nobody knows how far it came: it is healed in any case, by whoever gets there first.
            healed = lease.heal()
            raise LeaseError(f"{self.named.place}: {error.says}; {healed.action}", advice=error.advice) from error
        except BaseException:
            lease.heal()
            raise
        if answer.refused:
            if answer.refused.startswith(("moves", "stays")):
                lease.heal()
            else:
                lease.release()
            raise self._why(answer.refused)
        return lease

    def _as_id(self, process: FarProcess) -> ProcessElsewhere:
        return ProcessElsewhere(pid=process.pid, start_ticks=process.start_ticks, target=self._target)

    def _why(self, refused: str) -> ConfigurationError:
        """What the far side's word means."""
        word, _, of = refused.partition(" ")
        says, advice = _REFUSED.get(word, ("{host} refuses: {of}", ""))
        file = self.named.pid_file or "pid"
        return self.named.mistake(says.format(file=file, host=self._target.host, of=excerpt(of)), advice)

    def _process(self) -> tuple[FarProcess, Facts]:
        """The one that is the node, and what else its machine says. Raises ConfigurationError."""
        named, host = self.named, self._target.host
        facts = self._facts()
        process = self._listening(facts)
        is_what = started_class(process.words[1:]) if _is_java(process) else ""
        if is_what not in self._listed.main_classes:
            says = f"its main class is {printable(is_what)}" if is_what else "it is no Java with a main class"
            raise named.mistake(
                f"process {_words(process)} on {host} is no node of RocketMQ: {says}",
                f"It would be {' or '.join(self._listed.main_classes)}.",
            )
        if process.state in "Tt":
            if self._as_id(process) != self._shown:
                raise self._why(f"still {process.pid}")
            return process, facts
        with asked(named, self._listed) as ends:
            self._check_end(process, self._facts(ends[0][1]), ends)
        self._shown = self._as_id(process)
        return process, facts

    def _facts(self, other: int = 0) -> Facts:
        named = self.named
        try:
            answer: Answer = facts_of(
                self._target,
                port=split_address(named.address)[1],
                pid_file=str(named.pid_file or ""),
                pid=str(named.pid or ""),
                other=other,
            )
        except SshError as error:
            raise named.mistake(error.says, error.advice) from error
        if answer.refused:
            raise self._why(answer.refused)
        try:
            return read_facts(answer)
        except ValueError as error:
            raise named.mistake(
                f"{self._target.host} does not say what its processes are: {excerpt(str(error))}",
                "It has to be Linux with /proc, and awk, od and cksum.",
            ) from error

    def _takers(self, facts: Facts) -> set[str]:
        return taking(facts.sockets, *split_address(self.named.address))

    def _listening(self, facts: Facts) -> FarProcess:
        """The process that takes the connections to the address, and the only one: the one that is named, or one below it."""
        named, host = self.named, self._target.host
        family = {one.pid: one for one in facts.processes}
        top = facts.processes[0]
        for one in facts.processes:
            if one.owner != facts.me:
                raise named.mistake(
                    f"process {_words(one)} on {host} belongs to user {one.owner}, and ssh logs in as user {facts.me}",
                    "Log in as the user that runs the node.",
                )
        takers = self._takers(facts)
        pids = {pid for inode in takers for pid in facts.holders.get(inode, ())}
        own = pids & family.keys()
        if not own:
            # What another user's has open is seen by root alone.
            someone = f"process {' and '.join(map(str, sorted(pids)))}" if pids else "a process that cannot be seen"
            instead = f"; {someone} does" if takers else ""
            raise named.mistake(
                f"process {_words(top)} on {host} does not listen on {named.address}, nor does one that it has started{instead}",
                "Give the pid of the Java that runs the node, and the address at which it listens.",
            )
        alone = [pid for pid in own if all(facts.holders.get(inode, frozenset()) == {pid} for inode in takers)]
        if not alone:
            raise named.mistake(
                f"process {_words(family[min(own)])} on {host} does not listen on {named.address} alone",
                "End the one that is not the node.",
            )
        return family[alone[0]]

    def _check_end(self, process: FarProcess, facts: Facts, ends: tuple[End, End]) -> None:
        """The answer came from the process whose socket is the other end of the connection."""
        its = ending(facts.sockets, *ends)
        if its and all(process.pid in facts.holders.get(inode, ()) for inode in its):
            return
        raise self.named.mistake(
            f"a connection to {self.named.address} is not seen to end at process {_words(process)} on {self._target.host}",
            "Look whether that is the node's machine. No translation of addresses may lie between.",
        )


def _is_java(process: FarProcess) -> bool:
    return PurePath(process.program or process.words[0]).name == "java"


def _words(process: FarProcess) -> str:
    return f"{process.pid} ({printable(PurePath(process.program or process.words[0]).name)})"
