from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker.models.containers import Container

from harness.backends.docker.compose import Docker
from harness.leases.container_kinds import CONTAINER, LEASE_LABEL
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.paths import PACKAGES
from harness.wait import wait_until

GONE_S_MAX = 10.0
STARTED_S_MAX = 240.0

OWNER = """
    import sys, time
    from pathlib import Path
    from harness.backends.cluster import ClusterSpec
    from harness.backends.choose import choose_backend
    from harness.leases.leases import Leases
    from harness.releases.java import find_java
    from harness.backends.topologies import TOPOLOGIES

    folder, keep = Path(sys.argv[1]), sys.argv[2] == "keep"
    backend = choose_backend("compose", "", ("4.6.0",), find_java())
    spec = ClusterSpec(name="owned", release="4.6.0", topology=TOPOLOGIES["single"])
    leases = Leases.open(folder / "state")
    cluster = backend.start(spec, folder / "cluster", leases, until_s=300)
    if keep:
        cluster.keep()
    print("up", flush=True)
    time.sleep(300)
"""


def _facts(container: Container) -> tuple[object, ...]:
    container.reload()
    return (container.id, container.status, container.attrs["State"]["Pid"], container.attrs["State"]["StartedAt"])


class _Owner:
    """A process that owns a cluster of containers."""

    def __init__(self, folder: Path, docker: Docker, mode: str = "") -> None:
        self._client = docker.engine.client()
        self.state = folder / "state"
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(OWNER), folder, mode],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_up(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def lease(self) -> str | None:
        """The lease of its containers, once it is written down."""
        if not self.state.exists():
            return None
        return next((record.id for record in leases_in(self.state) if record.kind == CONTAINER), None)

    def has_containers(self, lease: str | None) -> bool:
        assert lease is not None
        label: dict[str, str | list[str] | bool] = {"label": f"{LEASE_LABEL}={lease}"}
        return bool(self._client.containers.list(all=True, filters=label) or self._client.volumes.list(filters=label))

    def close(self) -> None:
        self.process.kill()
        self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._client.close()


@pytest.fixture
def owner(docker: Docker, tmp_path: Path) -> Iterator[_Owner]:
    started = _Owner(tmp_path, docker)
    yield started
    started.close()


def test_containers_go_when_their_owner_is_killed_and_foreign_ones_stay(owner: _Owner, foreign: Container) -> None:
    before = _facts(foreign)
    owner.wait_up()
    lease = owner.lease()
    assert owner.has_containers(lease)
    owner.kill()
    wait_until("containers and volumes to be gone", lambda: not owner.has_containers(lease), timeout_s=GONE_S_MAX)
    wait_until("every lease to be struck off", lambda: not leases_in(owner.state), timeout_s=GONE_S_MAX)
    assert _facts(foreign) == before


def test_an_owner_that_is_killed_while_compose_creates_leaves_nothing(owner: _Owner) -> None:
    lease = wait_until("the lease", owner.lease, timeout_s=STARTED_S_MAX, poll_s=0.01)
    wait_until("the first container", lambda: owner.has_containers(lease), timeout_s=STARTED_S_MAX, poll_s=0.01)
    owner.kill()
    wait_until("every lease to be struck off", lambda: not leases_in(owner.state), timeout_s=2 * GONE_S_MAX)
    assert not owner.has_containers(lease)


def test_a_kept_cluster_outlives_its_owner_until_it_is_cleaned(docker: Docker, tmp_path: Path) -> None:
    owner = _Owner(tmp_path, docker, "keep")
    try:
        owner.wait_up()
        lease = owner.lease()
        owner.kill()
        assert not [one for one in clean(owner.state) if one.kind == CONTAINER]
        assert owner.has_containers(lease)
        [healed] = [one for one in clean(owner.state, include_kept=True) if one.kind == CONTAINER]
        assert healed.complete
        assert not owner.has_containers(lease)
    finally:
        clean(owner.state, include_kept=True)
        owner.close()


def test_a_lease_whose_engine_is_away_stays_and_says_so(tmp_path: Path) -> None:
    with Leases.open(tmp_path / "state") as leases:
        lease = leases.hold(CONTAINER, {"name": "far", "socket": str(tmp_path / "none.sock")}, until_s=60)
        healed = lease.heal()
        assert not healed.complete
        assert "does not answer" in healed.action
        assert lease.is_held
        lease.release()
