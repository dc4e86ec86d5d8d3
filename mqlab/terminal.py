"""Standard output and error as they are: a terminal of another encoding, a full disk behind ``>``, nothing at all.

This is the one place that knows. Whatever a command prints, by ``print`` or by Rich, goes through these two.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import locale
import os
import sys
import unicodedata
from typing import TextIO

from harness.errors import LabError
from harness.language import ENGLISH, language

FALLBACK = "mqlab"
"""Its name among Python's handlers of what an encoding has no character for."""

PLAIN = {
    "\N{NARROW NO-BREAK SPACE}": " ",
    "\N{NO-BREAK SPACE}": " ",
    "\N{THIN SPACE}": " ",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MICRO SIGN}": "u",
    "\N{GREEK SMALL LETTER MU}": "u",
    "\N{INFINITY}": "infinite",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{ALMOST EQUAL TO}": "~",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MIDDLE DOT}": "-",
    "\N{BULLET}": "*",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{CHECK MARK}": "v",
    "\N{BALLOT X}": "x",
}


class OutputError(LabError):
    """What a command has to say cannot be written: a full disk, or a standard output that is closed."""


def plain(char: str) -> str:
    """The same in ASCII: a character of its own, the letter without its accents, else its number."""
    if char in PLAIN:
        return PLAIN[char]
    letters = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return letters or char.encode("ascii", "backslashreplace").decode()


def _fallback(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(plain, error.object[error.start : error.end])), error.end


codecs.register_error(FALLBACK, _fallback)


def stand_in_for_closed() -> None:
    """Open what of the three standard streams is closed, so that no file of a run gets its number: to be read alone.

    What writes there fails then, as it would have.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # It takes the lowest number that is free, and processes that this one starts have it, too.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)


def set_up() -> None:
    """For this process: what cannot be encoded is written plainly, and what cannot be written ends the command with a sentence."""
    out, err = sys.stdout, sys.stderr
    sys.stdout = _stream(_Out(1, "wb", closefd=False), out)
    sys.stderr = _stream(_Err(2, "wb", closefd=False), err)


def _stream(raw: io.FileIO, before: TextIO | None) -> TextIO:
    # In its UTF-8 mode (mqlab/__main__.py) Python writes UTF-8 whatever the terminal reads.
    named = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    encoding = before.encoding if named and before is not None else locale.getencoding()
    try:
        codecs.lookup(encoding)
    except LookupError:  # a terminal's that Python does not know
        encoding = "ascii"
    if language() != ENGLISH and codecs.lookup(encoding).name == "ascii":
        # A locale that names one and is not installed, as in most containers, leaves ASCII.
        encoding = _named_encoding()
    # Of a closed one it does not matter: what is written there fails.
    by_line = raw.isatty() or isinstance(raw, _Err)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors=FALLBACK, line_buffering=by_line, write_through=False
    )


def _named_encoding() -> str:
    """What the locale's variables say that the terminal has; UTF-8 where they do not say it."""
    said = next((name for one in ("LC_ALL", "LC_CTYPE", "LANG") if (name := os.environ.get(one))), "")
    named = said.partition(".")[2].partition("@")[0]
    try:
        return codecs.lookup(named).name
    except LookupError:
        return "utf-8"


class _Out(io.FileIO):
    """Standard output. A reader that has gone stays a BrokenPipeError."""

    has_failed = False

    def write(self, data: object) -> int | None:  # type: ignore[override]
        if self.has_failed:
            # What is left in its buffer; it was said already.
            return len(memoryview(data))  # type: ignore[arg-type]
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            self.has_failed = True
            raise
        except OSError as error:
            self.has_failed = True
            raise OutputError(
                f"standard output takes nothing more: {error.strerror}",
                advice="Send it to a terminal, or to a file on a disk that has room.",
            ) from error


class _Err(io.FileIO):
    """Standard error. Where it takes nothing nobody can be told."""

    def write(self, data: object) -> int | None:  # type: ignore[override]
        with contextlib.suppress(OSError):
            return super().write(data)  # type: ignore[arg-type]
        return len(memoryview(data))  # type: ignore[arg-type]
