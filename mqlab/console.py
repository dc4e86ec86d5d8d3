"""What a command says to a person, by Rich."""

import sys
from collections.abc import Iterable

from rich.console import Console

from harness.printable import printable


def console(*, stderr: bool = False) -> Console:
    """On standard output or error. What names itself between colons, as ``:x:`` in a line of a file, is no emoji."""
    return Console(stderr=stderr, emoji=False)


def print_lines(lines: Iterable[str], *, stderr: bool = False) -> None:
    """Print lines that tell of a run: its names and texts may be somebody else's, and each line stays one."""
    print("".join(f"{printable(line)}\n" for line in lines), end="", file=sys.stderr if stderr else sys.stdout)
