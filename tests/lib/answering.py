"""Processes that answer as a node does, at an address: what they are asked matters to nobody."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.backends.cluster import Node
from harness.host.ports import free_port
from harness.leases import proc
from harness.leases.proc import ProcessId
from harness.protocol.connection import split_address
from harness.wait import wait_until

ANSWERS = """
import json, socketserver, struct, sys, threading, time

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while len(start := self.rfile.read(8)) == 8:
            length, header_length = struct.unpack(">II", start)
            opaque = json.loads(self.rfile.read(length - 4)[:header_length])["opaque"]
            if sys.argv[3] == "answers":
                text = json.dumps({"code": 0, "opaque": opaque, "flag": 1}).encode()
                self.wfile.write(struct.pack(">II", 4 + len(text), len(text)) + text)

class Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True

def compute():
    while True:
        sum(range(1000))

with Server((sys.argv[1], int(sys.argv[2])), Handler) as server:
    if sys.argv[4] == "computes":
        threading.Thread(target=compute, daemon=True).start()
    server.serve_forever()
"""
START_S_MAX = 60.0


@dataclass(frozen=True, kw_only=True)
class Answering:
    """A process that listens at the node's address."""

    node: Node
    process: ProcessId

    def stop(self) -> list[ProcessId]:
        """As ``Cluster.pause_node`` does it."""
        os.kill(self.process.pid, signal.SIGSTOP)
        wait_until("it to stand still", self.process.is_stopped, timeout_s=START_S_MAX, poll_s=0.001)
        return [self.process]

    def go_on(self) -> None:
        """As ``Cluster.resume_node`` does it."""
        os.kill(self.process.pid, signal.SIGCONT)


@contextlib.contextmanager
def answering(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    answers: bool = True,
    computes: bool = False,
    further: tuple[str, ...] = (),
) -> Iterator[Answering]:
    """One that answers, or only takes connections. ``computes``: one of its threads never rests."""
    address = f"{host}:{port or free_port()}"
    words = ("answers" if answers else "listens", "computes" if computes else "waits", *further)
    popen = subprocess.Popen([sys.executable, "-S", "-c", ANSWERS, *address.rsplit(":", 1), *words])
    try:
        wait_until(f"a listener at {address}", lambda: _listens(address), timeout_s=START_S_MAX)
        process = proc.identify(popen.pid)
        assert process is not None
        yield Answering(node=_node(address), process=process)
    finally:
        popen.kill()
        popen.wait()


def _listens(address: str) -> bool:
    with socket.create_connection(split_address(address), timeout=5):
        return True


def _node(address: str) -> Node:
    facts: dict[str, Any] = {"name": "broker-a", "kind": "broker", "broker_name": "broker-a", "role": "ASYNC_MASTER"}
    return Node(address=address, **facts)
