"""One of Python's own clients, in a child process of its own with its folder of packages, driven from here."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from harness.clients.commands import temporary_below
from harness.clients.leased import LeasedClient
from harness.clients.python.clients import CLIENTS
from harness.clients.python.install import PYTHON_WORKER, ensure_python_client
from harness.leases.client_process import ClientHost
from harness.paths import PACKAGES


class PythonClient(LeasedClient):
    """A client process of a trial; ``harness.clients.python.worker`` is its other end."""

    @classmethod
    def start(cls, host: ClientHost, *, kind: str, folder: Path, until_s: float, give_up_s: float) -> Self:
        """Start the process, which has the client's name; the library's logs go to ``folder``, in UTC.

        A send that has not returned ``give_up_s`` after its timeout counts as unknown. Raises ReleaseError.
        """
        packages = ensure_python_client(kind)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = temporary_below(folder)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(packages), str(PACKAGES)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(folder),
            "TMPDIR": str(temporary.absolute()),
            "TZ": "UTC",
        }
        with (folder / "stderr.log").open("ab") as stderr:
            process = host.spawn(
                [sys.executable, "-m", PYTHON_WORKER],
                name=f"client {kind}",
                until_s=until_s,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        client = cls(process, kind, folder, temporary)
        name = CLIENTS[kind].can.name
        spec = {"process": kind, "client": name, "kind": kind, "logs": str(folder), "only_broker": ""}
        client.write({**spec, "give_up_s": give_up_s})
        return client

    def start_producer(self, instance: str, group: str, namesrv: str, *, retries: int = 0) -> None:
        """Name a producer, which begins with its schedule; ``retries`` is what an ordered send of it is told."""
        self.call(
            "start_producer",
            instance=instance,
            group=group,
            namesrv=namesrv,
            transactional=False,
            settings={"retries": retries},
        )
