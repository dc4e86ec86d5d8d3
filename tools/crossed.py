"""Which modules an analysis crosses, in the order of its calls: ``python -m tools.crossed RUN_DIR``, which judges the run again.

The list has every function of the repository that ``analysis.pipeline.analyze`` calls, down to three calls below it, by its module,
without repeats that follow each other. What one call calls more than once is listed where it is called first. What a thread calls
belongs to the call that started it, and what a pool does to the call that asked it to; so the list does not hang on how threads
take turns. A module that comes again after another one is a return, and has a star.

Another version is looked at from its own folder: ``cd VERSION && PYTHONPATH=. python .../tools/crossed.py RUN_DIR``.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = f"{Path.cwd()}/"
PACKAGES = ("analysis", "harness", "mqlab", "scenarios")
OF = ("analysis/pipeline", "analyze")
DEPTH = 3


@dataclass(eq=False)
class Call:
    """A call, and the first one of each function that it calls itself."""

    module: str = ""
    name: str = ""
    calls: dict[tuple[str, str], Call] = field(default_factory=dict)

    def below(self, depth: int) -> Iterator[str]:
        """Its module, and those of its calls."""
        yield self.module
        if depth:
            for call in self.calls.values():
                yield from call.below(depth - 1)

    def found(self, module: str, name: str) -> Call | None:
        """The first call of that function below this one."""
        if (self.module, self.name) == (module, name):
            return self
        return next(filter(None, (call.found(module, name) for call in self.calls.values())), None)


TOP = Call()
_own = threading.local()


def _open_calls() -> list[Call]:
    if not hasattr(_own, "calls"):
        _own.calls = [getattr(threading.current_thread(), "started_by", TOP)]
    calls: list[Call] = _own.calls
    return calls


def _notice(frame: FrameType, event: str, _: object) -> None:
    module, _, _ = frame.f_code.co_filename.removeprefix(ROOT).partition(".py")
    if event not in ("call", "return") or module.partition("/")[0] not in PACKAGES:
        return
    calls = _open_calls()
    if event == "call":
        key = module, frame.f_code.co_qualname
        calls.append(calls[-1].calls.setdefault(key, Call(*key)))
    elif len(calls) > 1:
        calls.pop()


def _with_their_callers() -> None:
    """Let threads and pools know who asked them."""
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def started(self: threading.Thread) -> None:
        self.started_by = _open_calls()[-1]  # type: ignore[attr-defined]
        start(self)

    def submitted(self: ThreadPoolExecutor, does: Callable[..., Any], *args: Any, **named: Any) -> Future[Any]:
        caller = _open_calls()[-1]

        def done() -> Any:
            _own.calls = [caller]
            return does(*args, **named)

        return submit(self, done)

    threading.Thread.start, ThreadPoolExecutor.submit = started, submitted  # type: ignore[method-assign, assignment]


def main() -> None:
    """Judge the run, and print the list."""
    from mqlab.main import main as lab

    _with_their_callers()
    threading.setprofile(_notice)
    sys.setprofile(_notice)
    code = lab(["runs", "analyze", *sys.argv[1:]])
    sys.setprofile(None)
    if (analysis := TOP.found(*OF)) is None:
        sys.exit(code)
    modules = [module for module, _ in itertools.groupby(analysis.below(DEPTH))]
    print(" > ".join(f"{'*' * (one in modules[:at])}{one}" for at, one in enumerate(modules)))
    print(f"{len(set(modules))} modules, {len(modules) - len(set(modules))} returns")


if __name__ == "__main__":
    main()
