"""The lab's own Python packages in one file, for executors: what a task in Python would import there."""

from __future__ import annotations

import zipfile
from pathlib import Path

from harness.paths import PACKAGES

NAMES = ("analysis", "harness")
"""What an analysis is made of; scenarios and the command line stay with the driver."""

_NO_DATE = (1980, 1, 1, 0, 0, 0)


def pack_packages(file: Path) -> None:
    """Write the archive, which is the same for the same code. Raises OSError."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(path for name in NAMES for path in (PACKAGES / name).rglob("*.py")):
            entry = zipfile.ZipInfo(source.relative_to(PACKAGES).as_posix(), _NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, source.read_bytes())
