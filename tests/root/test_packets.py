"""A user's file that is full of addresses, paths and peers: not one packet goes but to the lab's own nodes.

Counted in a network namespace of its own, whose only way out ends in itself. ``PACKETS=whole``, as ``make campaign`` has it, is
for every release, and for containers of an engine that is started in the namespace as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.paths import PACKAGES
from harness.releases.jars import recorded_releases
from tests.lib.border import KEPT, LEADS_OUT_JVM, hostile_conf

WHOLE = os.environ.get("PACKETS") == "whole"
SOME = [("local", recorded_releases()[0]), ("local", recorded_releases()[-1])]
CASES = [(backend, release) for backend in ("local", "compose") for release in recorded_releases()] if WHOLE else SOME
RUN_S_MAX = 400
ADDRESSES_MIN = 40


@contextmanager
def _namespace(name: str, system: Callable[..., str]) -> Iterator[str]:
    """With loopback, and a default route to an interface whose other end nobody reads."""
    system("ip", "netns", "add", name)
    try:
        within = ("ip", "netns", "exec", name)
        system(
            *within, "sysctl", "-q", "-w", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv6.conf.all.disable_ipv6=1"
        )
        system(*within, "ip", "link", "set", "lo", "up")
        system(*within, "ip", "link", "add", "out0", "type", "veth", "peer", "name", "out1")
        for end in ("out0", "out1"):
            system(*within, "ip", "link", "set", end, "up")
        system(*within, "ip", "address", "add", "192.0.2.1/24", "dev", "out0")
        system(*within, "ip", "route", "add", "default", "via", "192.0.2.2")
        yield name
    finally:
        system("ip", "netns", "del", name)


@pytest.fixture(scope="module")
def namespace(system: Callable[..., str]) -> Iterator[str]:
    with _namespace(f"mqlab-{os.getpid()}", system) as name:
        yield name


@pytest.fixture(scope="module")
def engine(namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], dict[str, str]]]:
    """The environment for an engine in the namespace, which is started when it is first asked for."""
    folder = tmp_path_factory.mktemp("engine")
    daemon = ("nsenter", f"--net=/run/netns/{namespace}", str(PACKAGES / "tools" / "docker_daemon.sh"))
    said: list[str] = []

    def started() -> dict[str, str]:
        if not said:
            done = subprocess.run(
                [*daemon, "start", str(folder)], capture_output=True, text=True, check=True, timeout=120
            )
            said.append(done.stdout)
        words = (line.removeprefix("export ").partition("=") for line in said[0].splitlines())
        return {key: value for key, _, value in words}

    yield started
    if said:
        subprocess.run([*daemon, "stop", str(folder)], check=True, timeout=120)


def test_a_packet_that_goes_elsewhere_is_heard(system: Callable[..., str]) -> None:
    # In a namespace of its own, since the kernel goes on to ask who is there.
    with _namespace(f"mqlab-control-{os.getpid()}", system) as name:
        heard = _run(name, os.environ, "control")
    assert heard["left"]
    assert "127.0.0.9:9" in heard["asked"]


@pytest.mark.parametrize(("backend", "release"), CASES)
def test_no_packet_goes_but_to_the_labs_own_nodes(
    namespace: str, engine: Callable[[], dict[str, str]], tmp_path: Path, backend: str, release: str
) -> None:
    heard = _run(
        namespace, {**os.environ, **(engine() if backend == "compose" else {})}, release, backend, str(tmp_path)
    )
    assert heard["left"] == []
    assert heard["asked"]
    assert set(heard["asked"]) <= set(heard["own"])
    told = {key.partition(".")[2] for key in heard["named"]}
    assert len(told) >= ADDRESSES_MIN
    assert told >= hostile_conf().keys() - KEPT.keys()
    assert told >= LEADS_OUT_JVM.keys()


def _run(namespace: str, environment: Mapping[str, str], *words: str) -> dict[str, list[str]]:
    command = ["nsenter", f"--net=/run/netns/{namespace}", sys.executable, "-m", "tests.root.packets", *words]
    path = {**environment, "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        command, env=path, cwd=PACKAGES, capture_output=True, text=True, timeout=RUN_S_MAX, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found
