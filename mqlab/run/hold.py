"""``mqlab reproduce --hold``: a trial stands at the moment that matters, with its cluster up and its load going on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from harness.backends.cluster import namesrv_addresses
from harness.errors import Interrupted
from harness.model.faults import NoFault
from harness.releases.jars import ensure_jars
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS
from harness.trial import TrialContext

MINUTES_MAX = 15.0
"""Schedules of sends end after 20 minutes (``LONGEST_S`` of harness/load/base.py)."""
MINUTES = 10.0
ADMIN = "org.apache.rocketmq.tools.command.MQAdminStartup"
FOLDER = "look"
"""Of the run directory."""
QUIET = '<configuration><root level="OFF"/></configuration>\n'


class Hold:
    """Told of the moment, it says how to look inside, and stays until its time is over or the user ends it."""

    def __init__(self, minutes: float, java: Java) -> None:
        self._minutes = minutes
        self._java = java
        self.run: Path | None = None
        """The run directory, once the moment has come."""

    def __call__(self, trial: TrialContext, is_on: bool) -> None:
        """Raises Interrupted when it is over, which ends and heals everything."""
        self.run = trial.directory.path.parents[1]
        admin = write_admin(self.run / FOLDER, self._java, trial)
        trial.say("\n".join(self._lines(trial, is_on, admin)))
        trial.cancel.wait(self._minutes * 60)
        raise Interrupted("the hold is over")

    def _lines(self, trial: TrialContext, is_on: bool, admin: Path) -> Iterator[str]:
        moment = moment_of(trial, is_on)
        yield f"held {moment}, for at most {self._minutes:g} minutes; Ctrl-C ends it, and everything with it"
        addresses = namesrv_addresses(trial.cluster)
        yield f"  name servers: NAMESRV_ADDR={quote(addresses)}"
        yield f"  what is wrong: mqlab audit --namesrv {addresses.replace(';', ',')}"
        yield f"  RocketMQ's own: {quote(str(admin))} clusterList; {quote(str(admin))} topicRoute -t {trial.record.topic}"
        yield from (f"    {quote(str(admin))} consumerProgress -g {group}" for group in trial.record.groups[:1])
        for node in trial.cluster.nodes:
            home = trial.cluster.folder / "nodes" / node.name
            yield f"  {node.name} {node.address}: {self._threads(trial.cluster.pid(node.name), home / 'stdout.log')}"
            yield f"    logs: {home / 'logs'}"
        for client in trial.clients:
            yield f"  client {client.name}: {self._threads(client.pid if client.is_running() else None)}"
        yield f"  what clients and faults did: {trial.directory.path}"

    def _threads(self, pid: int | None, output: Path | None = None) -> str:
        """How to see a process's threads. A node's Java writes them itself at SIGQUIT, where there is no jstack."""
        if pid is None:
            return "is down"
        jstack = self._java.home / "bin" / "jstack"
        if jstack.is_file():
            return f"{quote(str(jstack))} {pid}"
        return f"kill -QUIT {pid} writes its threads to {output}" if output else f"process {pid}"


def moment_of(trial: TrialContext, is_on: bool) -> str:
    """``with kill-owners on``, in words."""
    fault = trial.arm.fault
    if isinstance(fault, NoFault):
        return "under its load, in an arm without a fault"
    return f"while {fault.kind} is on" if is_on else f"just after {fault.kind} is over"


def write_admin(folder: Path, java: Java, trial: TrialContext) -> Path:
    """A script that is RocketMQ's own ``mqadmin``, of the cluster's release and for that cluster."""
    conf = folder / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    # 4.x does not begin without this file, 5.x says much without the other one.
    for name in ("logback_tools.xml", "rmq.logback.xml"):
        (conf / name).write_text(QUIET)
    script, jars = folder / "mqadmin", ensure_jars(trial.record.release)
    script.write_text(
        "#!/bin/sh\n"
        f"export NAMESRV_ADDR={quote(namesrv_addresses(trial.cluster))} ROCKETMQ_HOME={quote(str(folder))}\n"
        f"exec {quote(str(java.executable))} {' '.join(MODULE_FLAGS)} -Xmx256m -Duser.home={quote(str(folder))} "
        f"-Drmq.logback.configurationFile={quote(str(conf / 'rmq.logback.xml'))} "
        f'-cp {quote(":".join(map(str, jars)))} {ADMIN} "$@"\n'
    )
    script.chmod(0o755)
    return script
