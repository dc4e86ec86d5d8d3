"""Lines that a container's or a host's logging has put something around: whose each line is, and the line itself.

``docker compose logs``, ``kubectl logs --prefix``, journald and syslog put the node before the line; Docker's json-file, the CRI
and ``kubectl logs --timestamps`` a time of their own; JSON layouts have all of it in fields, in any order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from analysis.diagnosis.lines import goes_on
from analysis.diagnosis.moments import moment_of

BEGINNING = 40
"""Lines of a file by which it is known what is around them."""
NODES_MAX = 1_000
"""Of one file; the lines of further ones count as the file's own."""
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
_COMPOSE = re.compile(
    rb"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|STATUS|\d{4}-\S*) )(?P<node>[A-Za-z0-9][\w.-]*) +\| ?(?P<line>.*)",
    re.DOTALL,
)
_POD = re.compile(rb"\[pod/(?P<node>[^/\]]+)/[^\]]+\] ?(?P<line>.*)", re.DOTALL)
_HOST = re.compile(
    rb"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) (?!\d{4}-\d\d-\d\d )(?P<node>[\w.-]+) "
    rb"(?P<unit>[\w.@/-]+)(?:\[\d+\])?: ?(?P<line>.*)",
    re.DOTALL,
)
_STAMPED = re.compile(
    rb"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}(?:Z|[+-]\d\d:?\d\d)) (?:std(?:out|err) [FP] )?(?P<line>.*)",
    re.DOTALL,
)
_DATED = re.compile(rb"\[?\d{4}[-/.]\d\d[-/.]\d\d[ T]\d\d:\d\d:\d\d")
_TEXTS = ("log", "msg", "message", "MESSAGE")
_TIMES = ("time", "ts", "@timestamp", "timestamp", "datetime", "date", "timeMillis")
_LEVELS = ("level", "severity", "log.level")
_THREADS = ("thread", "thread_name", "threadName")
_TRACES = ("stack_trace", "stackTrace", "exception", "thrown", "error.stack_trace")
_OF_GO = frozenset({"MessageQueue", "PullRequest", "underlayError", "error", "err"})
"""What clients in Go write beside a message, which says it all."""
_NODES = ("pod", "pod_name", "host", "hostname", "HOSTNAME", "_HOSTNAME", "container_name", "instance")


class Part(NamedTuple):
    """Lines of one node, in the order of the file. ``node`` is empty where nothing but the file says whose they are.

    ``numbers`` are the lines' numbers in the file; None where they follow each other from the last ones on.
    """

    node: str
    block: bytes
    numbers: Sequence[int] | None


_Unwrap = Callable[[bytes], tuple[str, list[bytes]] | None]


class Unwrapping:
    """The parts of a file's blocks, whose first one tells what is around its lines."""

    def __init__(self) -> None:
        self._kind: _Unwrap | None = None
        self._lines = 0
        self._node = ""
        self._nodes: set[str] = set()

    def parts(self, block: bytes) -> Iterator[Part]:
        """The next lines, by their nodes; the block itself where nothing is around its lines."""
        if not self._lines:
            self._kind = _kind_of(block)
        if self._kind is None:
            self._lines += 1
            yield Part("", block, None)
            return
        lines: dict[str, tuple[list[bytes], list[int]]] = {}
        for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), start=self._lines + 1):
            plain = _COLOURS.sub(b"", line).removesuffix(b"\r")
            # What is around no line goes on from the one above it.
            node, inside = self._kind(plain) or (self._node, [plain])
            if len(self._nodes) < NODES_MAX:
                self._nodes.add(node)
            self._node = node = node if node in self._nodes else ""
            texts, numbers = lines.setdefault(node, ([], []))
            texts += inside
            numbers += [number] * len(inside)
        self._lines += block.count(b"\n") or 1
        for node, (texts, numbers) in lines.items():
            yield Part(node, b"\n".join(texts) + b"\n", numbers)


def _kind_of(block: bytes) -> _Unwrap | None:
    first = [one for one in _COLOURS.sub(b"", block[: 1 << 16]).split(b"\n")[:BEGINNING] if one.strip()]
    for kind in (_of_json, _of_compose, _of_pod, _of_host, _of_stamped):
        if first and 2 * sum(kind(one) is not None for one in first) > len(first):
            return kind
    return None


def _of_compose(line: bytes) -> tuple[str, list[bytes]] | None:
    found = _COMPOSE.fullmatch(line)
    return None if found is None else (found["node"].decode(), [_inner(found["line"])])


def _of_pod(line: bytes) -> tuple[str, list[bytes]] | None:
    found = _POD.fullmatch(line)
    return None if found is None else (found["node"].decode("utf-8", "replace"), [_inner(found["line"])])


def _of_host(line: bytes) -> tuple[str, list[bytes]] | None:
    found = _HOST.fullmatch(line)
    if found is None:
        return None
    return f"{found['node'].decode()}/{found['unit'].decode()}", [_timed(found["time"], found["line"])]


def _of_stamped(line: bytes) -> tuple[str, list[bytes]] | None:
    found = _STAMPED.fullmatch(line)
    if found is None or not (goes_on(found["line"]) or _DATED.match(found["line"])):
        return None
    return "", [_timed(found["time"], found["line"])]


def _inner(line: bytes) -> bytes:
    """A line that may have a container's time before it."""
    found = _STAMPED.fullmatch(line)
    return line if found is None else _timed(found["time"], found["line"])


def _timed(time: bytes, line: bytes) -> bytes:
    """A line with the time that was put around it; what goes on from the line above has none of its own.

    A time without a year is worse than the line's own.
    """
    is_worse = not time[:1].isdigit() and _DATED.match(line)
    return line if goes_on(line) or is_worse else time + b" " + line


def _of_json(line: bytes) -> tuple[str, list[bytes]] | None:
    if not line.startswith(b"{"):
        return None
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = _first(fields, _TEXTS) if isinstance(fields, dict) else ""
    if not text:
        return None
    first, *others = text.rstrip("\n").split("\n")
    if "log" not in fields:
        first = f"{_first(fields, _LEVELS).upper()} {_first(fields, _THREADS) or '-'} - {first}"
        if not _OF_GO.isdisjoint(fields):
            first += " " + line.decode("utf-8", "replace")
        others += _first(fields, _TRACES).rstrip("\n").split("\n")
    lines = [_timed(_time_of(fields).encode("utf-8", "replace"), first.encode("utf-8", "replace"))]
    return _node_of(fields), lines + [one.encode("utf-8", "replace") for one in others if one]


def _first(fields: dict[str, Any], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str)), "")


def _time_of(fields: dict[str, Any]) -> str:
    for name in _TIMES:
        value = fields.get(name)
        if isinstance(value, str) and moment_of(value.encode("utf-8", "replace")) is not None:
            return value
        if isinstance(value, int | float) and not isinstance(value, bool) and 1e9 <= value < 1e20:
            while value >= 1e11:
                value /= 1000
            return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds")
    return ""


def _node_of(fields: dict[str, Any]) -> str:
    pod = fields.get("kubernetes")
    for inside in (pod, fields):
        if isinstance(inside, dict):
            for name in _NODES:
                value = inside.get(name)
                value = value.get("name") if isinstance(value, dict) else value
                if isinstance(value, str) and value:
                    # Half a character, which JSON may have, is none that a page could show.
                    return value.encode("utf-8", "replace").decode()
    return ""
