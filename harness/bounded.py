"""Files that somebody else may have filled, or put there, read within bounds: whole, by lines, and as JSON.

What is no file is not waited for, as a pipe would have it, and is not asked by its name first: it may be another one by the time it
is opened. What is too long is an OSError whose ``strerror`` says so.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

DOCUMENT_BYTES_MAX = 2**28
"""Of a document, which is read into memory as a whole."""
LINE_BYTES_MAX = 2**22
"""Of a line of a log or a history, whose longest have some kibibytes."""
VALUES_MAX = 2**23
"""Of a document of JSON, or of an answer. Each takes up to 90 bytes of memory, and as few as two of the text. A run of
the record has a million."""


_NO_FILE = {errno.ENXIO: "it is no file", errno.ELOOP: "it is a link, and links are not followed"}
"""In words, what a socket and a link are refused with."""


def opened(path: Path | str, *, follow: bool = True, within: int | None = None) -> BinaryIO:
    """The file, open for reading. With ``follow`` false its last name may be no link; ``within`` is the folder's open handle.

    Raises OSError: it is not there, or is no regular file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags, dir_fd=within)
    except OSError as error:
        if (why := _NO_FILE.get(error.errno or 0)) is None or (error.errno == errno.ELOOP and follow):
            raise
        raise OSError(error.errno, why, str(path)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, _NO_FILE[errno.ENXIO], str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def why(error: Exception) -> str:
    """What an error of reading says, without its number and the file's name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def read_whole(path: Path, bytes_max: int = DOCUMENT_BYTES_MAX, *, follow: bool = True) -> bytes:
    """What the file holds. Raises OSError, also where it holds more."""
    with opened(path, follow=follow) as file:
        return content_of(file, bytes_max)


def content_of(file: BinaryIO, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """What an open file holds. Raises OSError, also where it holds more."""
    content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise OSError(errno.EFBIG, f"it has more than {bytes_max:,} bytes")
    return content


def lines_of(file: BinaryIO, bytes_max: int = LINE_BYTES_MAX) -> Iterator[bytes]:
    """Its lines, each with its end. Raises OSError where one is longer."""
    while line := file.readline(bytes_max + 1):
        if len(line) > bytes_max:
            raise OSError(errno.EFBIG, f"it has a line of more than {bytes_max:,} bytes")
        yield line


def values_of(data: bytes) -> int:
    """How many values JSON, or lines of it, may have at most: the marks that stand before one, or end a line."""
    return sum(data.count(mark) for mark in (b",", b":", b"[", b"{", b"\n"))


def require_few_values(text: str) -> None:
    """Raises ValueError where a text of JSON, or of lines of it, would take too much memory. A mark in a string counts, too."""
    if len(text) > VALUES_MAX and sum(map(text.count, ",:[{\n")) > VALUES_MAX:
        raise ValueError(f"it has more than {VALUES_MAX:,} values")


def parsed(text: str, **hooks: Any) -> Any:
    """What a text of JSON holds; ``hooks`` are those of ``json.loads``. Raises ValueError, also of too much or too deep a one."""
    require_few_values(text)
    try:
        return json.loads(text, **hooks)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
