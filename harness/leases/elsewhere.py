"""A process of another machine, as that machine's /proc tells of it over ssh (far_side.sh).

Standard library only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.leases.proc import ProcessId
from harness.leases.sockets import TcpSocket, read_socket, taking
from harness.leases.ssh import Answer, SshTarget, ask


@dataclass(frozen=True, kw_only=True)
class FarProcess:
    """One of a machine's processes. ``words`` is its command line, ``sum`` what cksum(1) says of that."""

    pid: int
    start_ticks: int
    state: str
    owner: int
    sum: str
    program: str
    words: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a machine says of the process that is named, first, of those below it, and of the sockets at a port."""

    me: int
    boot: str
    processes: Sequence[FarProcess]
    sockets: Sequence[TcpSocket]
    written: Mapping[str, str]
    """The near end of each socket by its inode, as /proc/net/tcp writes it."""
    holders: Mapping[str, frozenset[int]]
    """Who has a socket open, as pids by inode. Those of other users are seen by root alone."""


@dataclass(frozen=True, kw_only=True)
class ProcessElsewhere(ProcessId):
    """A process of the machine that ``target`` leads to. Its pid and start are that machine's."""

    target: SshTarget

    def is_alive(self) -> bool:
        """Raises SshError."""
        return self.threads() is not None

    def is_stopped(self) -> bool:
        """Raises SshError."""
        found = self.threads()
        return found is not None and all(code in "TtXZ" for _, code in found[1])

    def has_token(self, token: str) -> bool:
        """False: none of another machine's is the lab's."""
        return False

    def threads(self) -> tuple[int, Sequence[tuple[str, str]]] | None:
        """The clock ticks that it has computed for, and name and state of each thread; None when it is gone. Raises SshError."""
        answer = ask(self.target, "look", str(self.pid), str(self.start_ticks))
        if answer.refused:
            return None
        codes = []
        for line in answer.of("thread"):
            name, _, fields = line.partition(" (")[2].rpartition(") ")
            if fields:
                codes.append((name, fields[0]))
        return int(answer.of("ticks")[0]), codes

    def serves(self, address: str) -> bool | None:
        """Whether it, and no other process, takes the connections to ``HOST:PORT``; None where that cannot be seen."""
        host, _, port = address.rpartition(":")
        try:
            facts = read_facts(facts_of(self.target, pid=str(self.pid), port=int(port)))
            takers = taking(facts.sockets, host.strip("[]"), int(port))
        except (OSError, ValueError, RuntimeError):
            return None
        if not takers:
            return None
        return all(facts.holders.get(inode, frozenset()) == {self.pid} for inode in takers)


def facts_of(target: SshTarget, *, port: int, pid_file: str = "", pid: str = "", other: int = 0) -> Answer:
    """Ask for what ``Facts`` are read from; ``other`` is the port at which connections begin that are asked for as well.

    Raises SshError.
    """
    return ask(target, "facts", pid, pid_file, f"{port:04X}", f"{other:04X}")


def read_facts(answer: Answer) -> Facts:
    """Raises ValueError: it is no such answer."""
    if answer.refused:
        raise ValueError(answer.refused)
    try:
        return _facts(answer)
    except (IndexError, KeyError) as error:
        raise ValueError("its answer is none") from error


def _facts(answer: Answer) -> Facts:
    programs, words = (
        {one.partition(" ")[0]: one.partition(" ")[2] for one in answer.of(key)} for key in ("program", "words")
    )
    processes = []
    for line in answer.of("process"):
        pid, start, state, _, owner, *checked = line.split()
        processes.append(
            FarProcess(
                pid=int(pid),
                start_ticks=int(start),
                state=state,
                owner=int(owner),
                sum=" ".join(checked),
                program=_text(programs[pid]).strip().removesuffix(" (deleted)"),
                words=_text(words[pid]).split("\0"),
            )
        )
    sockets, written = [], {}
    for line in answer.of("tcp"):
        local, remote, state, inode = line.split()
        sockets.append(read_socket(local, remote, state, inode))
        written[inode] = local
    holders: dict[str, set[int]] = {}
    for line in answer.of("holder"):
        pid, inode = line.split()
        holders.setdefault(inode, set()).add(int(pid))
    return Facts(
        me=int(answer.of("me")[0]),
        boot=answer.of("boot")[0],
        processes=processes,
        sockets=sockets,
        written=written,
        holders={inode: frozenset(pids) for inode, pids in holders.items()},
    )


def _text(hexadecimal: str) -> str:
    return bytes.fromhex(hexadecimal).decode(errors="replace")
