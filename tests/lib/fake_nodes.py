"""Processes that look like nodes of RocketMQ to whoever asks: an executable named java, a main class, and answers about themselves.

The executable is this Python under that name; the main class is the name of its script.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.backends.cluster import Node
from harness.leases import proc
from harness.leases.sockets import listeners, owners
from harness.model.rocketmq import BROKER_CLASSES, NAMESRV_CLASSES
from harness.wait import wait_until
from tests.lib.answering import START_S_MAX, Answering

BROKER, NAMESRV = BROKER_CLASSES[0], NAMESRV_CLASSES[0]
CLUSTER = "DefaultCluster"
NODE = """
import json, socket, socketserver, struct, sys, threading

asked = json.loads(sys.argv[-1])
BROKER = "".join(f"{key}={value}\\n" for key, value in asked["says"].items()).encode()

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        if asked["relay"]:
            return relay(self.connection, socket.create_connection(asked["relay"]))
        while len(start := self.rfile.read(8)) == 8:
            length, header_length = struct.unpack(">II", start)
            header = json.loads(self.rfile.read(length - 4)[:header_length])
            body = BROKER if header["code"] == 26 else json.dumps({"brokerAddrTable": asked["lists"]}).encode()
            text = json.dumps({"code": 0, "opaque": header["opaque"], "flag": 1}).encode()
            self.wfile.write(struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body)

def relay(here, there):
    def pump(one, other):
        while got := one.recv(65536):
            other.sendall(got)
        other.shutdown(socket.SHUT_WR)
    back = threading.Thread(target=pump, args=(there, here), daemon=True)
    back.start()
    pump(here, there)
    back.join()

class Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True

    def server_bind(self):
        if asked["reuse_port"]:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()

with Server((asked["host"], asked["port"]), Handler) as server:
    server.serve_forever()
"""


@functools.cache
def _folder() -> Path:
    """With the executable, and a script for each main class."""
    folder = Path(tempfile.mkdtemp(prefix="fake-nodes-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copy(Path(sys.executable).resolve(), folder / "java")
    for name in (BROKER, NAMESRV, "com.example.Editor"):
        (folder / name).write_text(NODE)
    return folder


def listed(port: int, host: str = "127.0.0.1", name: str = "broker-a") -> Mapping[str, object]:
    """As a name server lists a master."""
    return {name: {"brokerName": name, "cluster": CLUSTER, "brokerAddrs": {"0": f"{host}:{port}"}}}


def command(
    port: int,
    *,
    host: str = "127.0.0.1",
    main_class: str = BROKER,
    is_java: bool = True,
    says: Mapping[str, object] | None = None,
    lists: Mapping[str, object] | None = None,
    reuse_port: bool = False,
    relay: tuple[str, int] | None = None,
) -> Sequence[str]:
    """Of a node's process, to be run in any folder. Without ``is_java`` it is a Python with the class among its words."""
    of_itself: dict[str, Any] = {
        "brokerName": "broker-a",
        "brokerId": 0,
        "brokerClusterName": CLUSTER,
        "listenPort": port,
    }
    asked = {
        "host": host, "port": port, "says": of_itself | dict(says or {}), "lists": lists or {}, "reuse_port": reuse_port,
        "relay": relay,
    }  # fmt: skip
    places = (f"PYTHONHOME={sys.base_prefix}", f"LD_LIBRARY_PATH={sys.base_prefix}/lib")
    words = ("java", main_class) if is_java else (sys.executable, "-c", NODE, main_class)
    shell = f'cd {_folder()} && PATH=.:$PATH exec "$@"'
    return ("env", *(places if is_java else ()), "sh", "-c", shell, "sh", *words, json.dumps(asked))


@contextlib.contextmanager
def fake_node(port: int, *, host: str = "127.0.0.1", below_a_shell: bool = False, **of: Any) -> Iterator[Answering]:
    """One that answers. ``below_a_shell``: the process that is given is the shell's."""
    words = command(port, host=host, **of)
    popen = subprocess.Popen(
        ["sh", "-c", '"$@" & wait', "sh", *words] if below_a_shell else words, start_new_session=True
    )
    try:
        wait_until(f"a listener at {host}:{port}", lambda: _listens(popen.pid, host, port), timeout_s=START_S_MAX)
        process = proc.identify(popen.pid)
        assert process is not None
        yield Answering(
            node=Node(
                name="broker-a", kind="broker", address=f"{host}:{port}", broker_name="broker-a", role="ASYNC_MASTER"
            ),
            process=process,
        )
    finally:
        os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()


def _listens(group: int, host: str, port: int) -> bool:
    """Whether this process or one of its group does: another one's listener may be there as well."""
    pids = {pid for found in owners(listeners(host, port)).values() for pid in found}
    return any(os.getpgid(pid) == group for pid in pids)
