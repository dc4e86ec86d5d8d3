"""The file in which a user names nodes of a cluster of theirs that faults may be done to, and how each is reached.

A table a node, by the name that ``--fault`` has for it::

    [broker-a]
    address = "127.0.0.1:10911"         # where it listens, as its name servers list it
    pid-file = "broker-a.pid"           # or pid = 4711, container = "NAME", container-label = "KEY=VALUE"
    start = ["sh", "start-broker-a.sh"] # for kill-node alone: starts it again

    [broker-b]
    address = "10.1.0.22:10911"
    ssh = "rocketmq@10.1.0.22"          # it runs on that machine, as that user; ssh-port, ssh-identity, ssh-known-hosts
    pid-file = "/home/rocketmq/b.pid"   # of that machine, as start and its folder are

Paths are those of the file's folder, in which ``start`` is run; of another machine's they are whole, and ``start`` is run in the
pid file's folder.
"""

import ipaddress
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness.bounded import read_whole
from harness.errors import ConfigurationError, nearest, shown
from harness.leases.ssh import SshTarget
from harness.protocol.connection import split_address

NAME = r"[a-z][a-z0-9-]{0,60}"
"""As ``--fault`` takes the name of a node."""
CONTAINER = r"[a-zA-Z0-9][\w.-]{0,127}"
LABEL = r"[\w./-]{1,127}(=[ -~]{0,127})?"
HOST = r"([a-zA-Z_][\w.-]{0,63}@)?[a-zA-Z0-9][\w.:-]{0,252}"
"""As ssh takes it for a destination, and for nothing else."""
SSH_PATH = r"[^\0\n\r\"%$\\~]{1,4096}"
"""What ssh would read something else in is left out."""
FAR_PATH = r"/[^\0\n\r]{1,4095}"
ADDRESS, PID, PID_FILE, START = "address", "pid", "pid-file", "start"
MEANS = (PID, PID_FILE, "container", "container-label")
SSH, SSH_PORT, SSH_IDENTITY, SSH_KNOWN_HOSTS = "ssh", "ssh-port", "ssh-identity", "ssh-known-hosts"
OF_SSH = (SSH_PORT, SSH_IDENTITY, SSH_KNOWN_HOSTS)
KEYS = (ADDRESS, *MEANS, START, SSH, *OF_SSH)
PORT_MAX = 65_535
BYTES_MAX = 1_000_000
LINE_DOTS_MAX = 200
"""A key with many dots is a table in a table and so on, of which TOML's reader keeps each."""
NODES_MAX = 256
PID_MAX = 2**22
"""``PID_MAX_LIMIT`` of Linux."""
LOOPBACK = ipaddress.ip_network("127.0.0.0/8")


@dataclass(frozen=True, kw_only=True)
class NamedNode:
    """A node as the file has it. Of the four means one is given."""

    name: str
    address: str
    folder: Path
    """The file's."""
    place: str
    """``FILE:LINE`` of its table."""
    pid: int | None = None
    pid_file: Path | None = None
    container: str = ""
    container_label: str = ""
    start: tuple[str, ...] = ()
    ssh: SshTarget | None = None
    """The machine that it runs on, where that is another one: ``pid`` and ``pid_file`` are of that."""

    @property
    def is_container(self) -> bool:
        """Whether it is reached by its container."""
        return bool(self.container or self.container_label)

    def mistake(self, says: str, advice: str = "") -> ConfigurationError:
        """The error that names the table's line."""
        return ConfigurationError(f"{self.place}: {says}", advice=advice)


@dataclass(frozen=True, kw_only=True)
class Means:
    """What is done to a node, in words."""

    stop: str
    go_on: str
    kill: str
    start: str


def on_loopback(address: str) -> bool:
    """Whether ``HOST:PORT`` lies in 127.0.0.0/8. A name does not, since what it means may change."""
    try:
        return ipaddress.ip_address(split_address(address)[0]) in LOOPBACK
    except ValueError:
        return False


def read_nodes_file(path: Path) -> tuple[NamedNode, ...]:
    """The nodes that it names. Raises ConfigurationError with the line and a sentence."""
    try:
        text = read_whole(path, BYTES_MAX).decode()
        for number, of_line in enumerate(text.splitlines(), start=1):
            if of_line.count(".") > LINE_DOTS_MAX:
                raise ConfigurationError(f"{path}:{number}: a line has more than {LINE_DOTS_MAX} dots")
        tables = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"{path} is no file of nodes: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        says, _, where = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", where)
        line = int(found[1]) if found else max(1, len(text.splitlines()))
        raise ConfigurationError(f"{path}:{line}: {says}", advice="The file is TOML, a table a node.") from error
    except (ValueError, RecursionError) as error:
        says = "it is nested too deeply" if isinstance(error, RecursionError) else "it has a number that is too long"
        raise ConfigurationError(f"{path}: {says}", advice="The file is TOML, a table a node.") from error
    if not tables:
        raise ConfigurationError(
            f"{path}:1: no node is named", advice="A table a node, such as [broker-a] with address and pid-file."
        )
    if len(tables) > NODES_MAX:
        raise ConfigurationError(
            f"{path} names {len(tables):,} nodes", advice=f"Name those that a fault is done to, {NODES_MAX} at most."
        )
    return tuple(_Table(path, text, name, value).node() for name, value in tables.items())


class _Table:
    """One table of the file, which is read key by key."""

    def __init__(self, path: Path, text: str, name: str, value: object) -> None:
        self._path = path
        self._text = text
        self._name = name
        self._value = value

    def node(self) -> NamedNode:
        """Raises ConfigurationError."""
        name, table = self._name, self._value
        if not isinstance(table, dict):
            raise self._mistake(f"{name} stands in no table", "Name the node first, such as [broker-a].")
        if not re.fullmatch(NAME, name, re.ASCII):
            raise self._mistake(
                f"a node cannot be called {shown(name)}", "Letters a to z, digits and -, such as broker-a."
            )
        for key in table:
            if key not in KEYS:
                near = nearest(key, KEYS)
                raise self._mistake(
                    f"[{name}] has {shown(key)}, which is no key of a node",
                    f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(KEYS)}.", key,
                )  # fmt: skip
        given = [key for key in MEANS if key in table]
        if len(given) != 1:
            says = f"says in {len(given)} ways how it is reached" if given else "does not say how it is reached"
            raise self._mistake(f"[{name}] {says}", f"Give one of {', '.join(MEANS)}.", given[1] if given else "")
        ssh = self._ssh(given[0])
        return NamedNode(
            name=name,
            address=self._address(bool({"container", "container-label"} & {*given}), bool(ssh)),
            folder=self._path.absolute().parent,
            place=f"{self._path}:{self._line('')}",
            pid=self._pid(),
            pid_file=self._pid_file(bool(ssh)),
            container=self._word("container", CONTAINER),
            container_label=self._word("container-label", LABEL),
            start=self._start(given[0]),
            ssh=ssh,
        )  # fmt: skip

    def _ssh(self, means: str) -> SshTarget | None:
        if SSH not in self._table:
            for key in OF_SSH:
                if key in self._table:
                    raise self._mistake(
                        f"{key} goes with ssh, and [{self._name}] has none", f'Give {SSH} = "user@host".', key
                    )
            return None
        if means not in (PID, PID_FILE):
            raise self._mistake(
                f"ssh goes with pid-file or pid, and [{self._name}] has {means}",
                "A container is reached by this machine's own engine alone.", SSH,
            )  # fmt: skip
        port = self._table.get(SSH_PORT)
        if port is not None and (not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= PORT_MAX):
            raise self._mistake(f"{SSH_PORT} is not a number from 1 to {PORT_MAX:,}", key=SSH_PORT)
        paths = [self._word(key, SSH_PATH) for key in (SSH_IDENTITY, SSH_KNOWN_HOSTS)]
        folder = self._path.absolute().parent
        identity, known_hosts = (str(folder / path) if path else "" for path in paths)
        for key, path in zip((SSH_IDENTITY, SSH_KNOWN_HOSTS), (identity, known_hosts), strict=True):
            if path and not re.fullmatch(SSH_PATH, path):
                raise self._mistake(f"{key} is no path that ssh takes as it is: {shown(path)}", key=key)
        return SshTarget(host=self._word(SSH, HOST), port=port, identity=identity, known_hosts=known_hosts)

    def _pid_file(self, is_elsewhere: bool) -> Path | None:
        if not is_elsewhere:
            file = self._word(PID_FILE, r"[^\0]{1,4096}")
            return self._path.absolute().parent / file if file else None
        file = self._word(PID_FILE, r"[^\0]{1,4096}")
        if file and not re.fullmatch(FAR_PATH, file):
            raise self._mistake(
                f"{PID_FILE} of another machine is a whole path, and {shown(file)} is none",
                f'Write it like {PID_FILE} = "/home/rocketmq/{self._name}.pid".', PID_FILE,
            )  # fmt: skip
        return Path(file) if file else None

    def _address(self, of_container: bool, is_elsewhere: bool) -> str:
        address = self._word(ADDRESS, r"[!-~]{1,260}")
        if not address:
            raise self._mistake(
                f"[{self._name}] has no address", 'Say where it listens, such as address = "127.0.0.1:10911".'
            )
        try:
            split_address(address)
        except ConfigurationError as error:
            raise self._mistake(error.message, error.advice, ADDRESS) from error
        if is_elsewhere:
            try:
                ipaddress.ip_address(split_address(address)[0])
            except ValueError as error:
                raise self._mistake(
                    f"{address} has a name, and what that means may change",
                    "Give the IP address that the name server lists.",
                    ADDRESS,
                ) from error
            return address
        # That of a container is compared with the engine's.
        if not of_container and not on_loopback(address):
            raise self._mistake(
                f"{address} is not in 127.0.0.0/8, and faults are done to processes of this host alone",
                "Give ssh for a node of another machine, or leave it out; load may go there with --allow-target.", ADDRESS,
            )  # fmt: skip
        return address

    def _pid(self) -> int | None:
        pid = self._table.get(PID)
        if pid is not None and (not isinstance(pid, int) or isinstance(pid, bool) or not 1 < pid <= PID_MAX):
            raise self._mistake(f"pid is not a number from 2 to {PID_MAX:,}", key=PID)
        return pid

    def _word(self, key: str, pattern: str) -> str:
        value = self._table.get(key, "")
        if key in self._table and (not isinstance(value, str) or not re.fullmatch(pattern, value)):
            raise self._mistake(
                f"{key} is no text that can be one: {shown(str(value))}", 'Write it like key = "value".', key
            )
        return str(value)

    def _start(self, means: str) -> tuple[str, ...]:
        start = self._table.get(START, [])
        if not isinstance(start, list) or not all(
            isinstance(word, str) and word and "\0" not in word for word in start
        ):
            raise self._mistake(
                "start is not a list of words", f'Write it like {START} = ["sh", "start-{self._name}.sh"].', START
            )
        if start and means != PID_FILE:
            raise self._mistake(
                f"start goes with pid-file alone, and [{self._name}] has {means}",
                "A container is started by its engine; of a process that was started again a pid says nothing.", START,
            )  # fmt: skip
        return tuple(start)

    @property
    def _table(self) -> dict[str, object]:
        assert isinstance(self._value, dict)
        return self._value

    def _mistake(self, says: str, advice: str = "", key: str = "") -> ConfigurationError:
        return ConfigurationError(f"{self._path}:{self._line(key)}: {says}", advice=advice)

    def _line(self, key: str) -> int:
        """Of a key of the table, else of the table's name, else of the file's beginning."""
        table = 0
        for number, line in enumerate(self._text.splitlines(), start=1):
            if header := re.match(r"\s*\[([^\[\]]*)]", line):
                is_here = header[1].strip().strip("\"'") == self._name
                table = table or (number if is_here else 0)
            elif table and is_here and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                return number
            elif not table and re.match(rf"\s*[\"']?{re.escape(self._name)}[\"']?\s*[.=]", line):
                table, is_here = number, False
        return table or 1
