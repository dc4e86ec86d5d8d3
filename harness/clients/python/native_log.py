"""The calls with which the native library hands messages to the network, by its own log of level *debug*.

``sendKernelImpl`` of its DefaultMQProducer writes a line each time, before it looks for a connection, with the message's tag and
the broker; all of its sends but batches go that way. What a call came to is in lines that name no message, and is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_CALL = re.compile(
    r"\[(?P<at>[^]]+)]\(debug\):produce before:Message \[topic=[^,]+, flag=\d+, tag=(?P<tag>\d+)] "
    r"to MessageQueue \[topic=[^,]+, brokerName=(?P<broker>[^,]+), queueId=\d+]"
)
_AGAIN = re.compile(r"]\(warning\):(?:retry send, opaque|invokeAsync retry failed)")
"""Further tries of an asynchronous send, which write no line of the other kind. By default there are none."""


@dataclass(frozen=True, kw_only=True)
class NativeCall:
    """One call: the tag that its message has, the broker's name, and when, in microseconds of the wall clock."""

    tag: str
    broker: str
    wall_us: int


def log_lines(home: Path) -> Iterator[str]:
    """The lines of this process's log, whose files the library puts below its HOME, in their order."""
    files = (home / "logs" / "rocketmq-cpp").glob(f"{os.getpid()}_rocketmq-cpp.log.*")
    for file in sorted(files, key=lambda file: int(file.suffix[1:])):
        with file.open(errors="replace") as lines:
            yield from lines


def calls_of(lines: Iterable[str]) -> Iterator[NativeCall]:
    """The calls that the lines tell of; their times are those of a process in UTC.

    Raises:
        ValueError: a line tells of a try that is not among them.
    """
    for line in lines:
        if found := _CALL.match(line):
            at = datetime.strptime(found["at"], "%Y-%b-%d %H:%M:%S.%f").replace(tzinfo=UTC)
            wall_us = int(at.timestamp()) * 1_000_000 + at.microsecond
            yield NativeCall(tag=found["tag"], broker=found["broker"], wall_us=wall_us)
        elif _AGAIN.search(line):
            raise ValueError(f"the library tried a send again by itself, and which is not known: {line.strip()}")
