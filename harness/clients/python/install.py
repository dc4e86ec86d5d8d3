"""Python's own clients, each installed from PyPI into a folder of its own when it is first asked for.

They are no dependencies of the lab, since all of them own the package ``rocketmq`` and only one fits an environment.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.clients.python.clients import CLIENTS
from harness.errors import ReleaseError
from harness.releases.cache import cache_folder

PYTHON_WORKER = "harness.clients.python.worker"

REQUIREMENTS = Path(__file__).parent / "requirements"
"""One requirements file for each client: pinned, with hashes."""

INSTALL_S_MAX = 300


def ensure_python_client(kind: str, cache: Path | None = None) -> Path:
    """The folder of a client's packages, to be put on a process's path. It is installed once.

    Raises:
        ReleaseError: the packages could not be downloaded or installed.
    """
    target = cache_folder("python", cache) / f"{kind}-{_digest(kind)}"
    if target.exists():
        return target
    building = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{kind}-"))
    try:
        _install(kind, building)
        if owner := CLIENTS[kind].can.library_of:
            # The layer prefers a library beside itself; zlib lies in a folder beside that.
            library = ensure_python_client(owner, cache) / "rocketmq"
            python = shutil.ignore_patterns("*.py")
            shutil.copytree(library, building / "rocketmq", ignore=python, dirs_exist_ok=True)
        if not target.exists():
            building.rename(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target


def _digest(kind: str) -> str:
    return hashlib.sha256((REQUIREMENTS / f"{kind}.txt").read_bytes()).hexdigest()[:12]


def _install(kind: str, folder: Path) -> None:
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile",
        "--require-hashes", "--target", str(folder), "--requirement", str(REQUIREMENTS / f"{kind}.txt"),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False)
    if run.returncode != 0:
        raise ReleaseError(
            f"{CLIENTS[kind].can.name} could not be installed: {run.stderr.strip()[-1500:]}",
            advice="Check that PyPI can be reached and start again.",
        )
