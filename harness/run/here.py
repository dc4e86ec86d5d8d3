"""A trial as a function of an incident's own file finds it: what its nodes answer, and what they have written."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.backends.cluster import Node, ask, ask_name_server, namesrv_addresses
from harness.errors import ClientError, UsageError
from harness.model.cells import Parameters
from harness.model.steps import READ, READING
from harness.protocol.connection import Connection
from harness.protocol.frames import Answer, Fields
from harness.releases.jars import ensure_jars
from harness.releases.jvm import MODULE_FLAGS
from harness.trial import TrialContext

ANSWERS_S_MAX = 30.0
ADMIN_S_MAX = 60.0
ADMIN_MAIN = "org.apache.rocketmq.tools.command.MQAdminStartup"
ADMIN_JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
FIRST_BROKER = "broker-a"


class Written:
    """What a node writes to its logs, and prints, from now on."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._before = {path: path.stat().st_size for path in self._files()}

    def _files(self) -> list[Path]:
        return [*sorted(self._home.glob("logs/**/*.log")), *self._home.glob("stdout.log")]

    def lines(self) -> Iterator[str]:
        """Those since then; of a file that was begun anew meanwhile all."""
        for path in self._files():
            size, before = path.stat().st_size, self._before.get(path, 0)
            with path.open("rb") as file:
                file.seek(before if before <= size else 0)
                for line in file:
                    yield line.decode(errors="replace").rstrip()

    def matching(self, pattern: str) -> list[str]:
        """Those in which a regular expression is found."""
        wanted = re.compile(pattern)
        return [line for line in self.lines() if wanted.search(line)]


class Here:
    """The trial, its cluster and what was read so far. Nodes have the names of the topology: ``broker-a``, ``namesrv-1``, ...

    What asks a node raises ClientError where it does not answer, and what names one UsageError where there is none of that name.
    """

    def __init__(self, trial: TrialContext) -> None:
        self._trial = trial
        self._written: dict[str, Written] = {}
        self.readings: dict[str, float] = {}
        """What earlier steps have read, by name."""

    def begin(self) -> None:
        """Count from now on what nodes write."""
        self._written = {node.name: Written(self.home(node.name)) for node in self._trial.cluster.nodes}

    @property
    def topic(self) -> str:
        """The topic of the trial's load."""
        return self._trial.record.topic

    @property
    def groups(self) -> tuple[str, ...]:
        """Its consumer groups."""
        return self._trial.record.groups

    @property
    def params(self) -> Parameters:
        """The cell."""
        return self._trial.params

    @property
    def release(self) -> str:
        """Of the brokers."""
        return self._trial.record.release

    @property
    def namesrv(self) -> str:
        """The name servers, ``HOST:PORT;HOST:PORT``."""
        return namesrv_addresses(self._trial.cluster)

    def node(self, name: str = FIRST_BROKER) -> Node:
        """A node: its ``address`` as ``HOST:PORT``, its ``role``, its ``release``."""
        nodes = {node.name: node for node in self._trial.cluster.nodes}
        if name not in nodes:
            raise UsageError.unknown("node", name, nodes)
        return nodes[name]

    def runtime(self, node: str = FIRST_BROKER) -> dict[str, str]:
        """A broker's runtime information, as ``mqadmin brokerStatus`` prints it."""
        with ask(self.node(node), timeout_s=ANSWERS_S_MAX) as connection:
            return connection.runtime_info()

    def config(self, node: str = FIRST_BROKER) -> dict[str, str]:
        """A broker's settings as it runs."""
        with ask(self.node(node), timeout_s=ANSWERS_S_MAX) as connection:
            return connection.broker_config()

    def ask(self, code: int, fields: Fields | None = None, node: str = FIRST_BROKER, *, body: bytes = b"") -> Answer:
        """The answer to any request by its code: ``code``, ``remark``, ``fields``, ``body`` and, of one in JSON, ``json()``."""
        asked = self.node(node)
        opened: Connection = (ask_name_server if asked.kind == "namesrv" else ask)(asked, timeout_s=ANSWERS_S_MAX)
        with opened as connection:
            return connection.ask(code, fields, body)

    def is_up(self, node: str = FIRST_BROKER) -> bool:
        """Whether it is to run: no step or fault has ended it."""
        return self._trial.cluster.pid(self.node(node).name) is not None

    def home(self, node: str = FIRST_BROKER) -> Path:
        """A node's folder on this host, with ``store``, ``logs`` and what it printed."""
        return self._trial.cluster.folder / "nodes" / node

    def size(self, path: str, node: str = FIRST_BROKER) -> int:
        """Bytes of a file of a node's folder, or of all files below a folder of it, as ``store/commitlog``; 0 without one."""
        found = self.home(node) / path
        files = [found] if found.is_file() else [one for one in found.rglob("*") if one.is_file()]
        return sum(file.stat().st_size for file in files)

    def lines(self, pattern: str, node: str = FIRST_BROKER) -> int:
        """How many lines a node wrote to its logs since the hold began in which a regular expression is found."""
        return len(self._written[self.node(node).name].matching(pattern))

    def admin(self, *words: str) -> str:
        """What ``mqadmin WORDS`` of the release prints, with this cluster's name servers; ``-n`` need not be given.

        Raises ClientError where it does not end in a minute.
        """
        jars = os.pathsep.join(map(str, ensure_jars(self.release)))
        command = [
            str(self._trial.java.executable), *MODULE_FLAGS, *ADMIN_JVM, f"-Duser.home={self._trial.directory.path}",
            "-cp", jars, ADMIN_MAIN, *words, "-n", self.namesrv,
        ]  # fmt: skip
        printed = self._trial.directory.path / "mqadmin.log"
        with printed.open("ab") as out:
            before = out.tell()
            process = self._trial.leases.spawn(
                command, name="mqadmin", until_s=self._trial.until_s, stdout=out, stderr=subprocess.STDOUT
            )
            try:
                process.wait(ADMIN_S_MAX)
            except subprocess.TimeoutExpired as error:
                raise ClientError(f"mqadmin {words[0]} did not end in {ADMIN_S_MAX:g} s") from error
            finally:
                process.kill()
        return printed.read_bytes()[before:].decode(errors="replace")

    def record(self, reading: str, value: float, detail: str = "") -> None:
        """Give a reading."""
        self.readings[reading] = float(value)
        self._trial.events.probe(READ, value, of=reading, params={READING: reading}, detail=detail)
