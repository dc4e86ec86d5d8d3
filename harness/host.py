"""Facts about this machine: what a run writes into its manifest and what doctor says."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.abilities import cgroup_version
from harness.cores import usable_cores
from harness.errors import JavaNotFoundError
from harness.plan import Host
from harness.recorder import JsonValue
from harness.releases import Java, cache_home, find_java, known_releases


def host_of_plan() -> Host:
    """What a plan must fit."""
    return Host(cores=usable_cores(), memory_mb=psutil.virtual_memory().available // 2**20)


def manifest_facts(java: Java) -> dict[str, JsonValue]:
    """What a reader needs to judge how far figures carry."""
    return {
        "cores": usable_cores(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "java": java.version,
        "java_source": java.source,
        "cgroup": cgroup_version(),
        "load_before": os.getloadavg()[0],
    }


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The code that ran."""

    id: str
    dirty: bool


def own_commit() -> Commit:
    """The commit of this checkout; an installation without one counts as dirty, since nobody can look it up."""
    root = Path(__file__).resolve().parents[1]
    head = _git(root, "rev-parse", "HEAD")
    if not head:
        return Commit(id="unknown", dirty=True)
    return Commit(id=head, dirty=bool(_git(root, "status", "--porcelain", "--untracked-files=no")))


def _git(root: Path, *arguments: str) -> str:
    try:
        run = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of doctor: ``ok`` None is worth knowing but no hindrance."""

    name: str
    ok: bool | None
    found: str
    advice: str = ""


def examine() -> list[Check]:
    """What this host can do."""
    return [
        _java_check(),
        *_jar_checks(),
        Check(
            name="cores",
            ok=usable_cores() >= 2,
            found=str(usable_cores()),
            advice="" if usable_cores() >= 2 else "Broker and clients need two; with one, trials will be too noisy.",
        ),
        _memory_check(),
        _disk_check(),
        Check(name="root", ok=None, found="yes" if os.geteuid() == 0 else "no (not needed by the local backend)"),
        Check(name="cgroup", ok=None, found=cgroup_version()),
        Check(
            name="interfaces",
            ok=None,
            found="brokers of 4.x, and the HA port of 5.x, listen on every interface whatever is configured",
            advice="On a machine that others can reach, run the lab in a network namespace of its own.",
        ),
    ]


def _java_check() -> Check:
    try:
        java = find_java()
    except JavaNotFoundError as error:
        return Check(name="java", ok=False, found=error.message, advice=error.advice)
    return Check(name="java", ok=True, found=f"{java.version} from {java.source} ({java.home})")


def _jar_checks() -> list[Check]:
    stamps = cache_home() / "maven"
    return [
        Check(
            name=f"RocketMQ {release}",
            ok=True if (stamps / f".{release}.verified.json").exists() else None,
            found="in the cache" if (stamps / f".{release}.verified.json").exists() else "not in the cache yet",
            advice=""
            if (stamps / f".{release}.verified.json").exists()
            else "The first run fetches it from Maven Central.",
        )
        for release in known_releases()
    ]


def _memory_check() -> Check:
    available_mb = psutil.virtual_memory().available // 2**20
    enough = available_mb >= 4096
    advice = "" if enough else "A hand-over trial needs about 4 GiB for its brokers and clients."
    return Check(name="memory", ok=enough, found=f"{available_mb} MiB available", advice=advice)


def _disk_check() -> Check:
    free_mb = shutil.disk_usage(Path.cwd()).free // 2**20
    enough = free_mb >= 5120
    return Check(
        name="disk",
        ok=enough,
        found=f"{free_mb} MiB free here",
        advice="" if enough else "A full run needs about 5 GiB.",
    )
