"""Python's own clients, each installed into a folder of its own: all of them own the package ``rocketmq``."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness.errors import ReleaseError
from harness.paths import cache_home

PYTHON_WORKER = "harness.clients.python.worker"

REQUIREMENTS = Path(__file__).parent / "requirements"
"""One requirements file for each client: pinned, with hashes."""

NAMES = {
    "native": "native rocketmq 0.4.4",
    "python2": "native rocketmq-client-python 2.0.0",
    "grpc": "grpc rocketmq-python-client 5.1.2",
}
"""The clients' names in figures."""

_OF_THE_LIBRARY = (
    "it hides the broker's answer: a send that fails is unknown, and why is at best in clients/*/logs/rocketmq-cpp",
    "it tries a plain send again by itself, so that a message may be stored twice",
    "it names no queue: on several brokers loss is judged by the numbers in bodies",
    "its shutdown may hang: nothing is shut down, its process leaves",
)
LIMITS: Mapping[str, tuple[str, ...]] = {
    "native": _OF_THE_LIBRARY,
    "python2": (*_OF_THE_LIBRARY, "its library has no ordered send by key: that is made of the one with a selector"),
    "grpc": (
        "the proxy picks each message's queue and does not tell it: loss is judged by the numbers in bodies",
        "it tries a send again by itself as often as its proxy says (the lab's: once), and may store a message twice",
        "what it says of a failure is the proxy's word, not the broker's: a send that fails is unknown",
    ),
}
"""The weaknesses of each client that a reader of its figures has to know."""

INSTALL_S_MAX = 300
_LIBRARY = "librocketmq.so"


def ensure_python_client(kind: str, cache: Path | None = None) -> Path:
    """The folder of a client's packages, to be put on a process's path. It is installed once.

    Raises:
        ReleaseError: the packages could not be downloaded or installed.
    """
    target = (cache or cache_home()) / "python" / f"{kind}-{_digest(kind)}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{kind}-"))
    try:
        _install(kind, building)
        if kind == "python2":
            # The layer is published without its library, and prefers one beside itself.
            shutil.copy(ensure_python_client("native", cache) / "rocketmq" / _LIBRARY, building / "rocketmq" / _LIBRARY)
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
            f"{NAMES[kind]} could not be installed: {run.stderr.strip()[-1500:]}",
            advice="Check that PyPI can be reached and start again.",
        )
