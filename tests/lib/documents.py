"""Examples in documents: the commands that a reader is told to type, and what they print."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NAME_SERVER = "127.0.0.1:9876"
"""That of the cluster which examples are typed at."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One ``$ mqlab ...`` of a console block, and the lines below it. ``exits`` is in a comment behind the command."""

    command: tuple[str, ...]
    prints: tuple[str, ...]
    exits: int = 0

    @property
    def asks_a_cluster(self) -> bool:
        return NAME_SERVER in self.command

    def __str__(self) -> str:
        return " ".join(self.command)


def examples(document: Path) -> list[Example]:
    """Those of a document, in its order."""
    found: list[Example] = []
    for block in re.findall(r"^```console\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                command, _, comment = line.removeprefix("$ ").partition("  # exit code ")
                found.append(Example(command=tuple(command.split()), prints=(), exits=int(comment or 0)))
            else:
                last = found[-1]
                found[-1] = Example(command=last.command, prints=(*last.prints, line), exits=last.exits)
    return found


def not_printed(example: Example, output: str, alike: Callable[[str], str]) -> str:
    """Which of an example's lines are not in the output, "" if all are. The document may wrap a line, and leave lines out."""
    printed = {alike(line) for line in output.splitlines()}
    waits = ""
    for line in example.prints:
        waits = f"{waits} {line.strip()}".strip()
        if waits in ("", "...") or alike(waits) in printed:
            waits = ""
    return waits


def shape(line: str) -> str:
    """A line without its figures, its run, its code and its spaces, which differ from one run to the next."""
    named = re.sub(r"(--confirm) \w+", r"\1 CODE", re.sub(r"(runs|/)\S+", "PATH", line))
    return re.sub(r"\s+", " ", re.sub(r"(?:(?<=\()[-+])?[\d,.]*\d", "0", named)).strip()
