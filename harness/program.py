"""Programs for maintainers, ``python -m MODULE WORDS``: what is wrong is a sentence, and exit codes are the command line's."""

import sys
from collections.abc import Callable, Sequence

from harness.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LabError


def carried_out(
    program: Callable[[list[str]], object], words: Sequence[str], usage: str, *, least: int = 1, most: int | None = None
) -> int:
    """Run it with these words, of which there are so many; returns the exit code."""
    if len(words) < least or (most is not None and len(words) > most) or any(word.startswith("-") for word in words):
        print(f"usage: python -m {usage}", file=sys.stderr)
        return EXIT_USAGE
    try:
        program(list(words))
    except LabError as error:
        print(*filter(None, (str(error), error.advice)), sep="\n", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_OK
