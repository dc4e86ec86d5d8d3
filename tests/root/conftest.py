"""What needs root: a store of its own for the module, and everything of the host's that must stay as it was."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.backends.store_mount import LeasedStore, mount_store
from harness.clock import mono_ns
from harness.host.abilities import Abilities
from harness.host.hiccups import NoiseProbe
from harness.leases.kernel_kinds import tool
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from tests.lib.clusters import java

__all__ = ["java"]

STORE_MB = 64


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.root)
            # They freeze, cut and mount, and look whether the host is as it was; some tell 15 ms. A network namespace is apart.
            if item.path.stem != "test_packets":
                item.add_marker(pytest.mark.alone)


@pytest.fixture(scope="session")
def host() -> Abilities:
    return Abilities.of_this_host()


@pytest.fixture(scope="session", autouse=True)
def _root(host: Abilities) -> None:
    if not host.root:
        pytest.skip("needs root")


@pytest.fixture(scope="module")
def leases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leases]:
    with Leases.open(tmp_path_factory.mktemp("state")) as opened:
        yield opened


@pytest.fixture
def noise(leases: Leases, tmp_path: Path) -> Iterator[NoiseProbe]:
    """Tells how late this host wakes a sleeper, which makes a freeze longer by as much."""
    probe = NoiseProbe.start(leases, tmp_path / "hiccups.jsonl", until_s=300)
    now_ns = mono_ns()
    probe.hiccups(now_ns, now_ns, timeout_s=120)
    yield probe
    probe.stop()


@pytest.fixture(scope="module")
def store(host: Abilities, leases: Leases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LeasedStore]:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    settings = BrokerSettings(store="loop-ext4", store_mb=STORE_MB)
    mounted = mount_store(leases, tmp_path_factory.mktemp("node") / "store", settings, until_s=600)
    assert mounted is not None
    yield mounted
    mounted.unmount()


@pytest.fixture
def firewall(host: Abilities) -> None:
    if not host.firewall:
        pytest.skip("iptables cannot be used here")


def run(name: str, *arguments: str) -> str:
    command = tool(name)
    assert command is not None, f"{name} is not installed"
    done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def host_as_it_is() -> dict[str, str]:
    """Mounts, loop devices and firewall rules, without packet counters and the dates in comments."""
    saved = run("iptables-save") if tool("iptables-save") else ""
    rules = [re.sub(r"\[\d+:\d+\]", "", line) for line in saved.splitlines() if not line.startswith("#")]
    loops = sorted(f"{path}: {path.read_text()}" for path in Path("/sys/block").glob("loop*/loop/backing_file"))
    return {
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "loops": "".join(loops),
        "rules": "\n".join(rules),
        "groups": "\n".join(sorted(str(path) for path in Path("/sys/fs/cgroup").glob("**/mqlab-*"))),
    }


@pytest.fixture(scope="session")
def system() -> Callable[..., str]:
    """Runs a command of the system and returns what it says; it has to succeed."""
    return run


@pytest.fixture(scope="session")
def host_now() -> Callable[[], dict[str, str]]:
    """Looks at what of the host's must stay as it is."""
    return host_as_it_is
