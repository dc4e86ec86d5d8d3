"""How a node of the user's own cluster that a fault has killed is started again: a process by the command that its nodes file
has for that, a container by its engine. Standard library only.
"""

import http.client
import json
import os
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from harness.leases.container_kinds import EngineSocket
from harness.leases.main_class import main_class_of
from harness.leases.proc import ProcessId
from harness.leases.sockets import listeners, owners
from harness.leases.store import Healable, LeaseData, LeaseRecord, OneByOne
from harness.model.rocketmq import BROKER_CLASSES, NAMESRV_CLASSES

KILLED_PROCESS, KILLED_CONTAINER = "killed-node", "killed-container"

PASSED_ON = ("PATH", "HOME", "USER", "LANG", "JAVA_HOME", "ROCKETMQ_HOME")
"""Of the environment, what a start command gets: this is written down, and what else is there may be secret."""

NODE_CLASSES = (*NAMESRV_CLASSES, *BROKER_CLASSES)
_KILLED_S_MAX = 2.0
_POLL_S = 0.02


def identity(name: str, process: ProcessId) -> LeaseData:
    """The data of a lease of a process that is not the lab's, and so carries no token: pid and start are nobody else's."""
    return {"name": name, "pid": process.pid, "start_ticks": process.start_ticks}


def start_data(name: str, process: ProcessId, address: str, start: tuple[str, ...], folder: Path) -> LeaseData:
    """The data of a lease of a process that is about to be killed."""
    return {
        **identity(name, process),
        "address": address,
        "start": shlex.join(start),
        "folder": str(folder),
        "environment": json.dumps({key: os.environ[key] for key in PASSED_ON if key in os.environ}),
    }


class _KilledProcess(OneByOne):
    """A process of the user's. data: name, pid, start_ticks, address, start (a command), folder, environment (JSON)."""

    survives_boot: bool = False

    def describe(self, lease: LeaseRecord) -> str:
        return f"kill of {lease.data.get('name')} (pid {lease.data.get('pid')})"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return not _process_of(lease).is_alive() and not _runs_again(str(lease.data.get("address")))

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        process = _process_of(lease)
        # Whoever wrote this down may have died before the kill, or just after it.
        given_up_s = min(deadline_s, time.monotonic() + _KILLED_S_MAX)
        while process.is_alive():
            if time.monotonic() >= given_up_s:
                return "it lives", True
            time.sleep(_POLL_S)
        if _runs_again(str(lease.data.get("address"))):
            return "somebody started it again", True
        subprocess.Popen(
            shlex.split(str(lease.data.get("start"))),
            env=json.loads(str(lease.data.get("environment"))),
            cwd=str(lease.data.get("folder")),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return "started again", True


class _KilledContainer(OneByOne):
    """A container of the user's. data: name, socket, container (its id)."""

    survives_boot: bool = True

    def describe(self, lease: LeaseRecord) -> str:
        return f"kill of {lease.data.get('name')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        try:
            return not self._engine(lease).runs(str(lease.data.get("container")))
        except OSError:
            return False

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        engine, container = self._engine(lease), str(lease.data.get("container"))
        if engine.runs(container):
            return "it runs", True
        status = engine.start(container)
        if status == http.client.NOT_FOUND:
            return "it is gone", True
        return ("started again", True) if engine.runs(container) else (f"its engine answers {status} to a start", False)

    @staticmethod
    def _engine(lease: LeaseRecord) -> EngineSocket:
        return EngineSocket(Path(str(lease.data.get("socket"))))


def _process_of(lease: LeaseRecord) -> ProcessId:
    return ProcessId(pid=int(lease.data["pid"] or 0), start_ticks=int(lease.data["start_ticks"] or 0))


def _runs_again(address: str) -> bool:
    """Whether a node takes connections there. Another process that does is none; one that is not ours to look at may be."""
    host, _, port = address.rpartition(":")
    try:
        sockets = listeners(host.strip("[]"), int(port))
    except (OSError, ValueError):
        return False
    pids = {pid for found in owners(sockets).values() for pid in found}
    return any(main_class_of(pid) in NODE_CLASSES for pid in pids) if pids else bool(sockets)


GIVEN_KINDS: Mapping[str, Healable] = {KILLED_PROCESS: _KilledProcess(), KILLED_CONTAINER: _KilledContainer()}
