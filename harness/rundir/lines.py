"""Records, one JSON object a line, each written with one write."""

import contextlib
import json
import os
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness.errors import LabError, RunDirectoryError
from harness.rundir.files import JsonValue, write_error

Record = Mapping[str, object]
"""One line of a ``*.jsonl`` file."""


class RecordLog:
    """An append-only file of JSON lines with one writing process. Safe to use from several threads.

    Opening an existing file goes on counting where it ended; a truncated last line, which a kill left, is cut off
    first. ``cut_bytes`` says how much that was.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = threading.Lock()
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise write_error(path, error) from error
        self._count, whole_bytes = _count_lines(self._handle)
        self.cut_bytes = max(0, os.fstat(self._handle).st_size - whole_bytes)
        if self.cut_bytes:
            os.ftruncate(self._handle, whole_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def count(self) -> int:
        """Records in the file."""
        return self._count

    def write(self, kind: str, values: Mapping[str, JsonValue]) -> int:
        """Append a record of type ``kind`` and return its ``n``.

        Raises DiskFullError; the file ends with the last whole record then, and the next write may succeed.
        """
        with self._lock:
            if self._handle < 0:
                raise LabError(f"{self.path} is closed already")
            number = self._count + 1
            record = {"type": kind, "n": number, **values}
            line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
            self._append(line.encode())
            self._count = number
            return number

    def end(self, **values: JsonValue) -> None:
        """Write the end mark, which says how many records stand before it, and close. Raises as ``write``."""
        self.write("end", {**values, "records": self.count})
        self.close()

    def close(self) -> None:
        """Nothing has to be flushed; every record is with the kernel already."""
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _append(self, data: bytes) -> None:
        size_before = os.fstat(self._handle).st_size
        written = 0
        try:
            # A nearly full disk takes a part of the record. The rest is tried, which gives the error if there is one.
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except OSError as error:
            if written:
                os.ftruncate(self._handle, size_before)
            raise write_error(self.path, error) from error


def _count_lines(handle: int) -> tuple[int, int]:
    """Number of whole lines, and the bytes that they take."""
    lines, whole_bytes, position = 0, 0, 0
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return 0, 0
    while block := os.pread(handle, 1 << 20, position):
        lines += block.count(b"\n")
        if (last := block.rfind(b"\n")) >= 0:
            whole_bytes = position + last + 1
        position += len(block)
    return lines, whole_bytes


def cut_padding(path: Path) -> None:
    """Cut off the empty lines that a killed Java client leaves behind its last record, a million of them at times.

    Nobody may have the file open for writing. One that is not there, or that ends otherwise, is left as it is.
    """
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            begin = max(0, end - (1 << 16))
            file.seek(begin)
            kept = len(file.read(end - begin).rstrip(b"\n"))
            if kept:
                # The last record keeps its own newline, where it has one.
                end = begin + kept + 1
                break
            end = begin
        if end < file.seek(0, os.SEEK_END):
            file.truncate(end)


@dataclass(frozen=True, kw_only=True)
class Records:
    """What a file of JSON lines holds: the records, whether its last line is truncated, and other lines' numbers that
    are no record."""

    records: tuple[Record, ...]
    truncated: bool
    damaged_lines: tuple[int, ...]


def parse_records(data: bytes) -> Records:
    """Parse JSON lines; what a kill truncated is told apart from a line that is damaged for another reason."""
    lines = data.split(b"\n")
    truncated = bool(lines.pop())  # Whole lines end with a newline, so the last piece is empty.
    records: list[Record] = []
    damaged: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            damaged.append(number)
    return Records(records=tuple(records), truncated=truncated, damaged_lines=tuple(damaged))


def read_records(path: Path) -> Records:
    """Read a whole ``*.jsonl`` file. Raises RunDirectoryError when it cannot be read."""
    try:
        return parse_records(path.read_bytes())
    except OSError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error.strerror}") from error
