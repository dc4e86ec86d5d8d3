"""Where this installation lies. Nothing else counts the folders above its own file."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[1]
"""The folder that harness, analysis, scenarios and mqlab lie in: what a child process needs on its path."""


def search_path() -> str:
    """``PYTHONPATH`` of a process that this one starts: the lab's packages, then what this one was given itself."""
    return os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))


def cache_home() -> Path:
    """The project's own cache folder: ``MQLAB_CACHE``, else ``rocketmq-incident-lab`` below the user's cache folder."""
    if chosen := os.environ.get("MQLAB_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rocketmq-incident-lab"


def state_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Where leases are written: MQLAB_HOME/state, else XDG_STATE_HOME/rocketmq-incident-lab, else ~/.local/state/..."""
    if home := environment.get("MQLAB_HOME"):
        return Path(home) / "state"
    if state := environment.get("XDG_STATE_HOME"):
        return Path(state) / "rocketmq-incident-lab"
    return Path.home() / ".local" / "state" / "rocketmq-incident-lab"


def isolated(module: str) -> list[str]:
    """How a module's ``main`` is started as a program that needs nothing but the standard library; its arguments follow.

    Without site-packages it is up in some 30 ms, whatever the working folder and the user's settings are, and no
    package can break it.
    """
    code = f"import sys; sys.path.insert(0, sys.argv[1]); from {module} import main; main(sys.argv[2:])"
    return [sys.executable, "-I", "-S", "-c", code, str(PACKAGES)]
