"""Which class a Java process was started with: not any word of its command line, which may be a decoy's, an editor's or a tunnel's.

Standard library only: the healer process imports this.
"""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

WITH_A_VALUE = frozenset(
    {
        "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
        "--limit-modules", "--add-reads", "--add-exports", "--add-opens", "--patch-module", "--enable-native-access", "--source",
    }
)  # fmt: skip
"""Options of Java's launcher whose value is the next word (``java --help``). Those of a jar or a module are no class's."""


def main_class_of(pid: int) -> str:
    """The main class, or empty: no such process, no Java, or one that runs a jar or a module.

    Whose executable is not ours to look at, as a container's, is taken for what it calls itself.
    """
    folder = Path("/proc") / str(pid)
    try:
        words = [os.fsdecode(word) for word in (folder / "cmdline").read_bytes().split(b"\0")]
        program = _program(folder) or words[0]
    except OSError:
        return ""
    return started_class(words[1:]) if PurePath(program).name == "java" else ""


def _program(folder: Path) -> str:
    try:
        return str((folder / "exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""


def started_class(words: Sequence[str]) -> str:
    """Of the words after ``java``: the first one that is neither an option nor an option's value."""
    rest = iter(words)
    for word in rest:
        if word in ("-jar", "-m", "--module"):
            return ""
        if word in WITH_A_VALUE:
            next(rest, None)
        elif not word.startswith(("-", "@")):
            return word
    return ""
