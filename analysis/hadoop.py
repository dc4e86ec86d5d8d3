"""What lies in a Hadoop file system, by its URL: HDFS, or an object store that Spark has a connector for.

The histories of a run stay where they are and Spark reads them there; all else, which is small, comes to a folder of this machine,
in which each history is an empty file of the same length. What the analysis writes goes back. Whoever has a path in that folder
need not know any of it: ``location`` says where Spark finds the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from analysis.spark import SparkPlace, java_of_hadoop, words_of
from harness.errors import ConfigurationError
from harness.scratch import scratch_of_process

_BROUGHT: dict[Path, str] = {}
"""The folders of this process that stand for a run elsewhere, with its URL. No file says so: that of somebody else's run might name
any address, and an analysis clears what was there and writes to it."""

A_RUN = "a run's folder"

ANALYSIS, HISTORIES = "analysis/", "trials/*/history/*"


def location(path: Path) -> str:
    """The path for Spark, whose own file system by default may be another one, as on YARN.

    Hadoop takes what follows as it is: a space must not be written as in a URL.
    """
    root = _root_of(path.parent)
    return f"file://{path}" if root is None else f"{_BROUGHT[root]}/{path.relative_to(root)}"


def is_elsewhere(path: Path) -> bool:
    """Whether what lies there stands for what lies in a Hadoop file system."""
    return _root_of(path) is not None


def _root_of(folder: Path) -> Path | None:
    """The folder that stands for a run elsewhere, of one in it."""
    return next((parent for parent in (folder, *folder.parents) if parent in _BROUGHT), None)


class HadoopFolder:
    """A folder in a Hadoop file system, or a file, with a Java that knows it. Names are relative to it; the file's own is empty."""

    def __init__(self, java: Any, settings: Any, url: str) -> None:
        """``settings`` are Hadoop's own, as Java has them. Raises Py4JError, as all methods do."""
        self._path, self._copy = java.org.apache.hadoop.fs.Path, java.org.apache.hadoop.fs.FileUtil.copy
        self._settings = settings
        self._summed = java.org.apache.commons.codec.digest.DigestUtils.sha256Hex
        # Without any path Hadoop takes the user's own folder, and not the root of a bucket.
        self._root = self._path(url if url.count("/") > 2 else f"{url}/")
        self._files = self._root.getFileSystem(settings)
        self._uri = self._files.makeQualified(self._root).toUri()
        self._here = self._path("file:///").getFileSystem(settings)

    def sizes(self) -> dict[str, int]:
        """The length of each file in it and in its folders."""
        root = self._uri.getPath()
        found: dict[str, int] = {}
        listed = self._files.listFiles(self._root, True)
        while listed.hasNext():
            one = listed.next()
            found[one.getPath().toUri().getPath().removeprefix(root).lstrip("/")] = one.getLen()
        return found

    def get(self, name: str, folder: Path) -> None:
        """Copy a file into the folder that stands for this one."""
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        self._get(self._at(name), folder / name)

    def copy(self, name: str, here: Path) -> None:
        """Copy a file to this path, whose folder is there."""
        self._get(self._at(name) if name else self._root, here)

    def url(self, name: str) -> str:
        """A file's own, with a host where the one that was given had none."""
        root = f"{self._uri.getScheme()}://{self._uri.getAuthority() or ''}{self._uri.getPath()}"
        return f"{root.removesuffix('/')}/{name}" if name else root

    def put(self, name: str, folder: Path) -> None:
        """Copy a file from there."""
        here = self._path(f"file://{folder / name}")
        self._copy(self._here, here, self._files, self._at(name), False, True, self._settings)

    def sha256(self, name: str) -> str:
        """The SHA-256 of a file's bytes, read by Java."""
        stream = self._files.open(self._at(name))
        try:
            return str(self._summed(stream))
        finally:
            stream.close()

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it, if it is there."""
        self._files.delete(self._at(name), True)

    def _at(self, name: str) -> Any:
        """Of one argument Hadoop takes what is before a colon, as in HOST:PORT/store.log, for a file system's."""
        return self._path(self._root, self._path(None, None, name))

    def _get(self, there: Any, here: Path) -> None:
        self._copy(self._files, there, self._here, self._path(f"file://{here}"), False, True, self._settings)


def clear(spark: SparkSession, path: Path) -> None:
    """Delete a file or folder of a run, wherever it lies."""
    if path.is_dir():
        # Spark's own overwrite moves a folder aside first; an analysis that was killed may have left half of one.
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    for root, there in _elsewhere(spark, path):
        there.delete(str(path.relative_to(root)))


def give(spark: SparkSession, path: Path) -> None:
    """Let Spark find a file that was written in the run's folder."""
    for root, there in _elsewhere(spark, path):
        there.put(str(path.relative_to(root)), root)


def bring(spark: SparkSession, run: Path, files: Iterable[str]) -> None:
    """Have those files of a run here that are cited, which histories elsewhere are not."""
    for root, there in _elsewhere(spark, run / ANALYSIS):
        for file in sorted(set(files)):
            if Path(file).match(HISTORIES):
                there.get(file, root)


def sums_elsewhere(spark: SparkSession, run: Path, files: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of files of a run that lie elsewhere, by their places; nothing of a run on this machine."""
    return {file: there.sha256(file) for _, there in _elsewhere(spark, run / ANALYSIS) for file in files}


def _elsewhere(spark: SparkSession, path: Path) -> Iterator[tuple[Path, HadoopFolder]]:
    """Nothing of a run on this machine."""
    if (root := _root_of(path.parent)) is not None:
        context = spark.sparkContext
        yield root, HadoopFolder(context._jvm, context._jsc.hadoopConfiguration(), _BROUGHT[root])


@contextmanager
def brought(url: str, place: SparkPlace) -> Iterator[Path]:
    """The folder that stands for the run at a URL, for the time of the block; what was written in it goes there at its end.

    Raises ConfigurationError when the run cannot be read or written there.
    """
    # As a run directory's own path is.
    folder = scratch_of_process().resolve() / "run"
    with java_of_hadoop(place) as (java, settings):
        with said(url, A_RUN):
            there = HadoopFolder(java, settings, url)
            for name, size in there.sizes().items():
                if Path(name).match(HISTORIES):
                    _stand_for(folder / name, size)
                elif not name.startswith(ANALYSIS):
                    there.get(name, folder)
        folder.mkdir(exist_ok=True)
        before = _stamps(folder)
        _BROUGHT[folder] = url.rstrip("/")
        yield folder
        with said(url, A_RUN):
            for name, stamp in _stamps(folder).items():
                if before.get(name) != stamp and not Path(name).match(HISTORIES):
                    there.put(name, folder)


def _stand_for(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    files = {str(path.relative_to(folder)): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {name: (status.st_size, status.st_mtime_ns) for name, status in files.items()}


@contextmanager
def said(url: str, noun: str) -> Iterator[None]:
    """Java's errors in one sentence, as a ConfigurationError; ``noun`` says of what the URL is to be."""
    try:
        yield
    except Py4JError as error:
        raise ConfigurationError(
            f"{url} cannot be read or written: {words_of(error)}",
            advice=f"Give the URL of {noun}; settings of its file system go to --spark-conf spark.hadoop.KEY=VALUE, a connector to "
            "--spark-conf spark.jars.packages=PACKAGE.",
        ) from error
