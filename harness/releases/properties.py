"""A broker.conf read as Java reads it: ``java.util.Properties.load`` of a stream of bytes, which are ISO-8859-1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import javaproperties

from harness.bounded import read_whole
from harness.errors import ConfigurationError
from harness.language import phrase
from harness.model.broker_conf import BACKSLASH, BYTE_ORDER_MARK, COMMENT, NOT_ASCII, SET_TWICE, ConfFile, Entry, Oddity
from harness.printable import excerpt
from harness.releases.border import masked, told

BYTES_MAX = 1 << 20
"""No broker.conf has so many."""
KEYS_MAX = 1_000
"""Twice what the newest broker knows. For each that none knows the nearest is looked for, in milliseconds."""

CONTINUED_MAX = 1_000
"""Lines that go on in the next one, one after another; to read them takes the square of their number."""

BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPED_LETTER = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Za-tv-z0-9.]")
"""Whoever writes such an escape means a directory's name, as ``D:\\data``."""
_DRIVE = re.compile(r"[=:\s][A-Za-z]:\\")
_JOINS = re.compile(r"(?<!\\)(?:\\\\)*\\(?:\r\n|\r|\n)[ \t\f]*([a-z][A-Za-z0-9]+)[ \t]*=")
_BEHIND = re.compile(r"(?:^|\s)(#|//).*", re.DOTALL)


def read_conf(path: Path) -> ConfFile:
    """A properties file, of a key that stands twice the last value, without its secrets (``border.masked``).

    Raises ConfigurationError when it cannot be read, or Java itself would refuse it.
    """
    data = _read(path)
    if data.lstrip().startswith(b"{"):
        raise ConfigurationError(
            f"{path} is JSON, as a proxy's file is, and no broker.conf",
            advice="Give the file that brokers are started with.",
        )
    mark = next((mark for mark in BYTE_ORDER_MARKS if data.startswith(mark)), b"")
    if BYTE_ORDER_MARKS.get(mark) == "UTF-16":
        raise ConfigurationError(
            f"{path}:1: it is UTF-16, of which no broker can read a key",
            advice="Save it as ASCII or UTF-8 without a mark.",
        )
    entries: dict[str, Entry] = {}
    oddities: list[Oddity] = []
    for line, key, text, source in _pairs(data, path):
        behind = key.removeprefix(mark.decode("iso-8859-1"))
        if mark and behind != key and (not behind or behind[0] in "#!"):
            continue  # The mark makes a key of a comment or of an empty line, which costs nothing.
        if key in entries:
            oddities.append(_set_twice(key, entries[key], Entry(text=text, line=line)))
            del entries[key]
        if len(entries) == KEYS_MAX:
            raise ConfigurationError(
                f"{path}:{line}: it has more than {KEYS_MAX:,} keys, as no broker.conf has",
                advice="Give the file that brokers are started with.",
            )
        entries[key] = Entry(text=text, line=line)
        oddities += _taken_away(key, entries[key], source)
        if behind != key:
            oddities.append(_marked(behind))
    for key, entry in entries.items():
        oddities += _of_value(key, entry)
    kept = {key: replace(entry, text=masked(key, entry.text)) for key, entry in entries.items()}
    return ConfFile(entries=kept, oddities=tuple(oddities), name=path.name)


def without_secrets(path: Path) -> bytes:
    """The file as it may be passed on, line by line as it was: without secrets, and without comments, where they hide as well.

    Raises ConfigurationError as ``read_conf`` does.
    """
    read_conf(path)
    return "".join(map(_passed_on, javaproperties.parse(_read(path)))).encode("iso-8859-1")


def _passed_on(element: javaproperties.PropertiesElement) -> str:
    ends = "".join(_LINE_END.findall(element.source))
    if isinstance(element, javaproperties.Comment):
        return f"#{ends}"
    if isinstance(element, javaproperties.KeyValue) and masked(element.key, element.value) != element.value:
        return f"{javaproperties.join_key_value(element.key, masked(element.key, element.value))}{ends}"
    return element.source


def _read(path: Path) -> bytes:
    try:
        data = read_whole(path, BYTES_MAX)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", advice="Give a Java properties file."
        ) from error
    if line := _endless(data):
        raise ConfigurationError(
            f"{path}:{line}: more than {CONTINUED_MAX:,} lines go on in the next one",
            advice="Give the file that brokers are started with.",
        )
    return data


def _endless(data: bytes) -> int:
    """The line from which on too many go on in the next one; 0 where none does."""
    begins = run = 0
    for number, line in enumerate(re.split(rb"\r\n|\r|\n", data), start=1):
        goes_on = (len(line) - len(line.rstrip(b"\\"))) % 2 == 1
        begins = number if goes_on and not run else begins
        run = run + 1 if goes_on else 0
        if run > CONTINUED_MAX:
            return begins
    return 0


def _pairs(data: bytes, path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Each line that sets something, with its number, and as it was written."""
    line = 1
    elements = javaproperties.parse(data)
    while True:
        try:
            element = next(elements, None)
        except javaproperties.InvalidUEscapeError as error:
            at = _line_of_escape(data, line)
            raise ConfigurationError(
                f"{path}:{at}: {excerpt(error.escape)!r} is no \\uXXXX: a broker with this file does not start",
                advice="Write four hexadecimal digits, or / in place of \\ in a path.",
            ) from error
        if element is None:
            return
        if isinstance(element, javaproperties.KeyValue):
            yield line, element.key, element.value, element.source
        line += len(_LINE_END.findall(element.source))


def _line_of_escape(data: bytes, start: int) -> int:
    lines = re.split(rb"\r\n|\r|\n", data)
    wrong = re.compile(rb"(?<!\\)(?:\\\\)*\\u(?![0-9A-Fa-f]{4})")
    comment = re.compile(rb"[ \t\f]*[#!]")
    found = (at for at, text in enumerate(lines, 1) if at >= start and wrong.search(text) and not comment.match(text))
    return next(found, start)


def _set_twice(key: str, before: Entry, after: Entry) -> Oddity:
    return Oddity(
        kind=SET_TWICE,
        line=after.line,
        key=key,
        says=phrase(
            "line {line}: {key} is set a second time; the value of line {before} is lost",
            line=after.line,
            key=excerpt(key),
            before=before.line,
        ),
        advice=phrase("Remove the one that you do not mean."),
    )


def _marked(key: str) -> Oddity:
    return Oddity(
        kind=BYTE_ORDER_MARK,
        line=1,
        key=key,
        says=phrase(
            "line 1: the file begins with a byte order mark, which a broker takes for a part of its first key: "
            "{key} is not read",
            key=excerpt(key),
        ),
        advice=phrase("Save it as UTF-8 without a byte order mark."),
    )


def _taken_away(key: str, entry: Entry, source: str) -> Iterator[Oddity]:
    """Backslashes of a path as Windows has them, which begin an escape to Java, or make one line of two."""
    joins = _JOINS.search(source)
    if joins or (("path" in key.lower() or _DRIVE.search(source)) and _ESCAPED_LETTER.search(source)):
        says = (
            phrase(
                "line {line}: a \\ at a line's end makes the next line a part of it, so that {key} is not set",
                line=entry.line,
                key=excerpt(joins[1]),
            )
            if joins
            else phrase(
                'line {line}: {key} is "{value}" to a broker, since a \\ is taken away',
                line=entry.line,
                key=excerpt(key),
                value=told(key, entry.text),
            )
        )
        yield Oddity(
            kind=BACKSLASH,
            line=entry.line,
            key=key,
            says=says,
            advice=phrase(
                "Write / in place of \\ in a path.",
            ),
        )


def _of_value(key: str, entry: Entry) -> Iterator[Oddity]:
    if comment := comment_in(entry.text):
        yield Oddity(
            kind=COMMENT,
            line=entry.line,
            key=key,
            says=phrase(
                'line {line}: {key} is "{value}": there are no comments behind a value, and "{comment}" is part of it',
                line=entry.line,
                key=excerpt(key),
                value=told(key, entry.text),
                comment=told(key, comment),
            ),
            advice=phrase("Put the comment on a line of its own."),
        )
    if not entry.text.isascii() and re.search("[\x80-\xff]", entry.text):
        yield Oddity(
            kind=NOT_ASCII,
            line=entry.line,
            key=key,
            says=phrase(
                'line {line}: {key} is "{value}" to a broker, which reads each byte as a character of ISO-8859-1',
                line=entry.line,
                key=excerpt(key),
                value=told(key, entry.text),
            ),
            advice=phrase("Write such characters as \\uXXXX, or leave them out."),
        )


def comment_in(text: str) -> str:
    """What looks like a comment behind a value, empty where nothing does."""
    found = _BEHIND.search(text)
    return found[0].strip() if found else ""
