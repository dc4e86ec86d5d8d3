"""Facts about this machine that a run writes into its manifest and that its plan must fit."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.host.abilities import cgroup_version, usable_cores
from harness.paths import PACKAGES
from harness.releases.java import Java
from harness.rundir.manifest import HostRecord

RECORDED = ("scenarios/record", "scenarios/ledger.jsonl", "docs", "*.md")
"""What `python -m tools.ledger` writes, and what is read by people alone: a run that is registered leaves the code as it is."""
_CODE = (".", *(f":(exclude){path}" for path in RECORDED))


@dataclass(frozen=True, kw_only=True)
class Host:
    """What the plan must fit."""

    cores: int
    memory_mb: int


def host_of_plan() -> Host:
    """What a plan must fit."""
    return Host(cores=usable_cores(), memory_mb=psutil.virtual_memory().available // 2**20)


def manifest_facts(java: Java) -> HostRecord:
    """What a reader needs to judge how far figures carry."""
    return HostRecord(
        cores=usable_cores(),
        memory_bytes=psutil.virtual_memory().total,
        kernel=platform.release(),
        system=platform.platform(),
        python=platform.python_version(),
        java=java.version,
        java_source=java.source,
        cgroup=cgroup_version(),
        load_before=os.getloadavg()[0],
    )


@dataclass(frozen=True, kw_only=True)
class Commit:
    """The code that ran."""

    id: str
    dirty: bool


def own_commit() -> Commit:
    """The commit of this checkout; an installation without one counts as dirty, since nobody can look it up."""
    top, _, head = _git(PACKAGES, "rev-parse", "--show-toplevel", "HEAD").partition("\n")
    # A wheel that is installed below somebody else's repository has no commit of that repository.
    if not head or Path(top) != PACKAGES:
        return Commit(id="unknown", dirty=True)
    return Commit(id=head, dirty=bool(_git(PACKAGES, "status", "--porcelain", "--untracked-files=no", "--", *_CODE)))


def is_same_code(one: str, other: str) -> bool:
    """Whether two commits of this checkout differ in what is recorded alone; False where one is not known here."""
    return one == other or _git(PACKAGES, "diff", "--name-only", one, other, "--", *_CODE, otherwise="unknown") == ""


def _git(root: Path, *arguments: str, otherwise: str = "") -> str:
    try:
        run = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return otherwise
    return run.stdout.strip() if run.returncode == 0 else otherwise
