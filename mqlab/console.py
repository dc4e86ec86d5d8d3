"""What a command says to a person, by Rich."""

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """On standard output or error. What names itself between colons, as ``:x:`` in a line of a file, is no emoji."""
    return Console(stderr=stderr, emoji=False)
