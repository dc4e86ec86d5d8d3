"""What others have written, made printable: a topic's name or a node's remark must not steer a terminal.

Whatever comes from a node passes here on its way to a person: in messages of errors, in an audit's lines, in those of a run.
"""

import unicodedata

from harness.language import Phrase, phrase

EXCERPT_CHARS_MAX = 500


def printable(text: str) -> str:
    """The text as one line. What moves a cursor, changes a colour or the direction, or ends the line is written out (``\\x1b``).

    Each other space, such as the narrow one before a unit, becomes a plain one.
    """
    if text.isprintable():
        return text
    return "".join(_written_out(char) for char in text)


def _written_out(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return " "
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def printable_lines(text: str) -> str:
    """The same of a text of our own that has several lines, which stay, and so does the width of a tab."""
    return "\n".join(map(printable, text.expandtabs(4).split("\n")))


def excerpt(text: str) -> str:
    """The beginning of a text that may be long, printable."""
    return printable(text[:EXCERPT_CHARS_MAX]) + ("..." if len(text) > EXCERPT_CHARS_MAX else "")


def counted(count: int, noun: str, *, were: bool = False) -> Phrase:
    """``1 append``, ``1,200 appends``; with ``were`` also the verb: ``1 append was``, ``2 appends were``."""
    verb = (" was" if count == 1 else " were") if were else ""
    return phrase(f"{{count:,}} {noun}{'' if count == 1 else 's'}{verb}", count=count)
