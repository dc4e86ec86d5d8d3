"""Logs of an operator that lie in a Hadoop file system, by their URLs, for a diagnosis on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from analysis.hadoop import HadoopFolder, said
from analysis.logs.files import NO_LOGS_ADVICE, rotated_name
from analysis.spark import SparkPlace, java_of_hadoop
from harness.errors import ConfigurationError
from harness.scratch import scratch_of_process

MB = 1_000_000


def copied_logs(urls: Iterable[str], place: SparkPlace) -> dict[str, Path]:
    """Copies of the logs at these URLs, which go with this process, each by the URL of its own file.

    A URL is that of a log, whatever its name, or of a folder, of which those files come that are named as logs. A copy has a
    number for a name: what is a name there may be none here.

    Raises:
        ConfigurationError: a URL cannot be read or has no logs, or this machine has no room for them.
    """
    copies: dict[str, Path] = {}
    folder = scratch_of_process()
    with java_of_hadoop(place) as (java, settings):
        for url in urls:
            with said(url, "a log, or of a folder with logs"):
                there = HadoopFolder(java, settings, url)
                new = {name: size for name, size in _logs(url, there) if there.url(name) not in copies}
                _require_room(url, sum(new.values()), folder)
                for name in new:
                    copy = copies[there.url(name)] = folder / str(len(copies))
                    there.copy(name, copy)
    return copies


def _logs(url: str, there: HadoopFolder) -> Iterator[tuple[str, int]]:
    """Their names and lengths, in the order of those of a folder here."""
    sizes = there.sizes()
    found = [name for name in sizes if not name or rotated_name(PurePosixPath(name).name) is not None]
    if not found:
        raise ConfigurationError(f"{url} has no logs", advice=NO_LOGS_ADVICE)
    yield from ((name, sizes[name]) for name in sorted(found, key=PurePosixPath))


def _require_room(url: str, needed: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ConfigurationError(
            f"the logs at {url} have {needed / MB:,.0f} MB, and {folder.parent} has {free / MB:,.0f} MB free",
            advice="Give fewer of them at once, or a larger temporary folder by TMPDIR.",
        )
