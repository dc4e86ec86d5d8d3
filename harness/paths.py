"""Where this installation lies. Nothing else counts the folders above its own file."""

import os
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[1]
"""The folder that harness, analysis, scenarios and mqlab lie in: what a child process needs on its path."""


def cache_home() -> Path:
    """The project's own cache folder: ``MQLAB_CACHE``, else ``rocketmq-incident-lab`` below the user's cache folder."""
    if chosen := os.environ.get("MQLAB_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rocketmq-incident-lab"
