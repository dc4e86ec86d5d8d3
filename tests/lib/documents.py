"""Examples in documents: the commands that a reader is told to type, and what they print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Example:
    """One ``$ mqlab ...`` of a console block, and the lines below it. ``exits`` is in a comment behind the command."""

    command: tuple[str, ...]
    prints: tuple[str, ...]
    exits: int = 0


def examples(document: Path) -> list[Example]:
    """Those of a document, in its order."""
    found: list[Example] = []
    for block in re.findall(r"^```console\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                command, _, comment = line.removeprefix("$ ").partition("  # exit code ")
                found.append(Example(command=tuple(command.split()), prints=(), exits=int(comment or 0)))
            else:
                last = found[-1]
                found[-1] = Example(command=last.command, prints=(*last.prints, line), exits=last.exits)
    return found


def shape(line: str) -> str:
    """A line without its figures, its run and its spaces, which differ from one run to the next."""
    return re.sub(r"\s+", " ", re.sub(r"[\d,.]*\d", "0", re.sub(r"(runs|/)\S+", "PATH", line))).strip()
