"""The loop of a client process: one JSON command a line on standard input, one JSON answer a line on standard output.

What a client library prints goes to standard error. A process ends when its standard input does, so that it does not
outlive the harness; what is under way then is still recorded. When whoever started it is killed, it is gone at once.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TextIO

from harness.leases.with_parent import end_with_parent


class Commanded(Protocol):
    """Serves commands: each is a method of that name."""

    def end(self) -> None:
        """Let what is under way end, and close the history."""


def serve(make: Callable[[Mapping[str, Any]], Commanded]) -> None:
    """Make the worker from the first line, and serve until standard input ends."""
    end_with_parent()
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    commands = iter(sys.stdin.readline, "")
    worker = make(json.loads(next(commands)))
    _reply(replies, {"ok": True, "pid": os.getpid(), "number": 0})
    for line in commands:
        command = json.loads(line)
        if command["do"] == "exit":
            break
        answer = _answer(getattr(worker, command["do"]), command["with"])
        _reply(replies, {**answer, "number": command["number"]})
    worker.end()
    # Clients leave threads behind, in Java as in native code, that would keep the process; all is written.
    os._exit(0)


def _answer(method: Callable[..., object], arguments: Mapping[str, Any]) -> dict[str, object]:
    try:
        return {"ok": True, "result": method(**arguments)}
    except Exception as error:  # whatever a client library raised belongs to the harness, not to this process's end
        return {"ok": False, "error": type(error).__name__, "message": str(error)[-2000:]}


def _reply(replies: TextIO, answer: Mapping[str, object]) -> None:
    replies.write(json.dumps(answer) + "\n")
