"""The program ``mqlab``, and ``python -m mqlab``: what has to be so before a command is imported.

Imports take a second or two. An interrupt in that time, and one after the command has ended, is a sentence, too.
"""

import os
import sys

INTERRUPTED = 130
"""``EXIT_INTERRUPTED`` of ``harness.errors``, which is not imported yet."""

try:
    import atexit
    import codecs
    import contextlib
    import locale
    import signal
    from types import FrameType
    from typing import NoReturn
except KeyboardInterrupt:
    # Python's own modules, before there is a handler: on a busy machine they take as long as all else.
    os.write(2, b"mqlab: interrupted\n")
    os._exit(INTERRUPTED)


def main() -> NoReturn:
    """Run the command of ``sys.argv``; ends the process with its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell lets Ctrl-C be ignored by what it starts in the background.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    _read_files_as_utf_8()
    from mqlab import terminal

    terminal.stand_in_for_closed()
    terminal.set_up()
    from mqlab.main import main as run

    code = run()
    if code == INTERRUPTED:
        _leave()
    sys.exit(code)


def _leave() -> NoReturn:
    """End at once: a thread that waits for a network is not waited for.

    By itself Python would also end itself by SIGINT, and not with this code, where the interrupt came while code of a text was
    run, such as a dataclass's own.
    """
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(INTERRUPTED)


def _read_files_as_utf_8() -> None:
    """Start Python again in its UTF-8 mode where the terminal's encoding is another: every file of the lab is UTF-8.

    It is so for the processes that this one starts, too.
    """
    if sys.flags.utf8_mode or os.environ.get("PYTHONUTF8"):
        return
    with contextlib.suppress(LookupError):
        if codecs.lookup(locale.getencoding()).name == "utf-8":
            return
    os.environ["PYTHONUTF8"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _end(number: int, frame: FrameType | None) -> None:
    """Nothing has been started yet, or everything has been ended."""
    os.write(2, b"mqlab: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
