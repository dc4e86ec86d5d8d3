"""What this host can do, what is missing, and how to get it."""

import resource
import shutil
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.errors import ConfigurationError, DockerError, JavaNotFoundError
from harness.faults.injections import ways_of
from harness.host.abilities import Abilities, usable_cores
from harness.host.ports import PORTS_FIRST, PORTS_LAST, is_free
from harness.model.scenario import Scenario
from harness.paths import cache_home
from harness.releases.jars import recorded_releases
from harness.releases.java import find_java

PORTS_SAMPLED = 200
PORTS_FREE_MIN = 0.5
MEMORY_MB_MIN = 4096
DISK_MB_MIN = 5120


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of doctor: ``ok`` None is worth knowing but no hindrance."""

    name: str
    ok: bool | None
    found: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Runnable:
    """What of an incident can run here. ``without`` has the injections that cannot, with the reason."""

    incident: str
    backends: tuple[str, ...]
    injections: tuple[str, ...]
    without: tuple[str, ...]


def _check(name: str, ok: bool | None, found: str, advice: str) -> Check:
    """A line whose advice stands where it is not well."""
    return Check(name=name, ok=ok, found=found, advice="" if ok else advice)


def examine() -> list[Check]:
    """What this host can do."""
    return [
        _java(),
        *_jars(),
        _cores(),
        _memory(),
        _disk(),
        _ports(),
        *_docker(),
        _network(),
        *_kernel(Abilities.of_this_host()),
    ]


def what_can_run(scenarios: Sequence[Scenario], checks: Sequence[Check]) -> list[Runnable]:
    """Each incident with the backends and injections that this host offers."""
    host = Abilities.of_this_host()
    has_docker = all(check.ok for check in checks if check.name in ("docker", "compose"))
    backends = ("local", "compose") if has_docker else ("local",)
    return [_runnable(scenario, backends, host) for scenario in scenarios]


def _runnable(scenario: Scenario, backends: tuple[str, ...], host: Abilities) -> Runnable:
    injections: list[str] = []
    without: list[str] = []
    for arm in scenario.arms:
        for injection in ways_of(arm.fault):
            reason = injection.can(host)
            said = injection.name if reason is None else f"{injection.name}: {reason}"
            known = injections if reason is None else without
            if said not in known and injection.name != "none":
                known.append(said)
    return Runnable(incident=scenario.name, backends=backends, injections=tuple(injections), without=tuple(without))


def _java() -> Check:
    try:
        java = find_java()
    except (JavaNotFoundError, ConfigurationError) as error:
        return Check(name="java", ok=False, found=error.message, advice=error.advice)
    return Check(name="java", ok=True, found=f"{java.version} from {java.source} ({java.home})")


def _jars() -> list[Check]:
    def check(release: str) -> Check:
        cached = (cache_home() / "maven" / f".{release}.verified.json").exists()
        found = "in the cache" if cached else "not in the cache yet"
        advice = "The first run fetches it from Maven Central; `mqlab cluster fetch` does so beforehand."
        return _check(f"RocketMQ {release}", cached or None, found, advice)

    return [check(release) for release in recorded_releases()]


def _cores() -> Check:
    cores = usable_cores()
    advice = "Broker and clients need two; with one, trials will be too noisy."
    return _check("cores", cores >= 2, str(cores), advice)


def _memory() -> Check:
    available_mb = psutil.virtual_memory().available // 2**20
    advice = "A hand-over trial needs about 4 GiB for its brokers and clients."
    return _check("memory", available_mb >= MEMORY_MB_MIN, f"{available_mb} MiB available", advice)


def _disk() -> Check:
    free_mb = shutil.disk_usage(Path.cwd()).free // 2**20
    return _check("disk", free_mb >= DISK_MB_MIN, f"{free_mb} MiB free here", "A full run needs about 5 GiB.")


def _ports() -> Check:
    sampled = range(PORTS_FIRST, PORTS_LAST, (PORTS_LAST - PORTS_FIRST) // PORTS_SAMPLED)
    free = sum(map(is_free, sampled))
    return _check(
        "ports",
        free >= PORTS_FREE_MIN * len(sampled),
        f"{free} of {len(sampled)} looked at between {PORTS_FIRST} and {PORTS_LAST} are free",
        "End what listens there: a cluster takes up to 15 ports.",
    )


def _docker() -> list[Check]:
    """Docker is no hindrance where it is missing: the local backend does without."""
    # The Docker SDK is loaded only where it is used.
    from harness.backends.docker.engine import find_compose, find_engine
    from harness.backends.docker.image import find_image, own_tag

    checks = []
    try:
        compose = find_compose()
        checks.append(Check(name="compose", ok=True, found=f"{' '.join(compose.command)} {compose.version}"))
    except DockerError as error:
        checks.append(Check(name="compose", ok=None, found=error.message, advice=error.advice))
    try:
        engine = find_engine()
        found = f"Engine {engine.version} (API {engine.api}) at {engine.socket}, control groups {engine.cgroup}"
        images = [own_tag(release) for release in recorded_releases() if find_image(engine, own_tag(release))]
        has = ", ".join(images) or "none of ours yet; `mqlab cluster image` builds them"
        mode = (
            "Docker Desktop: one container owns the published ports, the others share its network "
            "(compose/desktop.yaml); --backend compose needs an engine on Linux itself"
            if engine.is_desktop
            else "the host's network with loopback addresses"
        )
        checks = [
            Check(name="docker", ok=None if engine.is_desktop else True, found=found),
            *checks,
            Check(name="images", ok=bool(images) or None, found=has),
            Check(name="containers' network", ok=None if engine.is_desktop else True, found=mode),
        ]
    except DockerError as error:
        checks = [Check(name="docker", ok=None, found=error.message, advice=error.advice), *checks]
    return checks


def _network() -> Check:
    """Clients and brokers are told loopback addresses; some listening sockets are another matter."""
    others = sorted(
        f"{name} ({address.address})"
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family == socket.AF_INET and not address.address.startswith("127.") and _is_up(name)
    )
    if not others:
        return Check(name="network", ok=True, found="loopback is the only interface, so nothing can leave or come in")
    return Check(
        name="network",
        ok=None,
        found=f"nothing is sent anywhere but to loopback, but brokers of 4.x, and the HA port of 5.x, listen on every "
        f"interface whatever is configured, here also {', '.join(others)}",
        advice="On a machine that others can reach, run the lab in a network namespace of its own (unshare --net).",
    )


def _is_up(interface: str) -> bool:
    status = psutil.net_if_stats().get(interface)
    return status is not None and status.isup


def _kernel(host: Abilities) -> list[Check]:
    locked, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return [
        Check(
            name="root",
            ok=host.root or None,
            found="yes" if host.root else "no: no faults of the kernel; everything else does without",
        ),
        _ability(
            "loop devices",
            host.loop_devices and "ext4" in host.file_systems,
            f"yes, for {', '.join(sorted(host.file_systems))}",
            host.why_no_loop_mount() or "",
            "Freezes and full disks need root, /dev/loop-control and mkfs.ext4 (the package e2fsprogs).",
        ),
        _ability(
            "firewall",
            host.firewall,
            "iptables works",
            "no root" if not host.root else "iptables does not work here",
            "Cuts of the network need root and the package iptables.",
        ),
        _ability(
            "delay",
            host.delay,
            "the kernel has netem",
            "no root" if not host.root else "no tc, or a kernel without netem",
            "Delays of the network need root, the package iproute2 and the kernel module sch_netem.",
        ),
        Check(name="cgroup", ok=host.cgroup == "v2" or None, found=_cgroup_words(host)),
        Check(
            name="locked memory",
            ok=locked == resource.RLIM_INFINITY or None,
            found="no limit" if locked == resource.RLIM_INFINITY else f"up to {locked // 1024} KiB",
        ),
    ]


def _ability(name: str, there: bool, yes: str, no: str, advice: str) -> Check:
    return _check(name, there or None, yes if there else no, advice)


def _cgroup_words(host: Abilities) -> str:
    if host.cgroup == "v1":
        return "v1: a limit on writes misses buffered write-back, and such a trial says that it was not exercised"
    return host.cgroup
