"""Kept logs of real incidents, lines made by hand in RocketMQ's words, and what a diagnosis finds in them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path

import scenarios
from analysis.diagnosis.diagnosis import Diagnosis, diagnose
from analysis.diagnosis.found import Found
from tools.kept_logs import KEPT, stock_folders

SURENESS = ["possible", "likely", "sure"]
FOLDERS = stock_folders()
LOCKS = [name for name in FOLDERS if name.startswith("ordered-lock")]

NAMESRV = (
    "2026-11-21 16:46:01 ERROR NettyServerCodecThread_2 - decode exception, 10.0.0.9:40112\n"
    "io.netty.handler.codec.TooLongFrameException: Adjusted frame length exceeds 16777216: {size} - discarded\n"
    "\tat io.netty.handler.codec.LengthFieldBasedFrameDecoder.fail(LengthFieldBasedFrameDecoder.java:522)\n"
)
FAILED = (
    "2026-11-21 16:46:01 WARN brokerOutApi_thread_1 - registerBroker Exception, 10.0.0.1:9876\n"
    "org.apache.rocketmq.remoting.exception.RemotingSendRequestException: send request to <10.0.0.1:9876> failed\n"
)
MADE = (
    "2026-11-21 16:40:01 INFO HeartbeatThread_1 - create new topic TopicConfig [topicName={topic}, readQueueNums={read}, "
    "writeQueueNums={write}, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false]\n"
)
SLOW = "[NOTIFYME]putMessage in lock cost time(ms)={ms}, bodyLength=1 AppendMessageResult=AppendMessageResult{{status=PUT_OK}}\n"
REFUSED = (
    "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control "
    "for a while, period in queue: 206ms, size of queue: 876 BROKER: 10.0.0.9:10911\n"
)


def read(*paths: Path, offset_s: float | None = None) -> Diagnosis:
    return diagnose(paths, scenarios.INCIDENTS, (), offset_s=offset_s)


def found_in(*paths: Path, offset_s: float | None = None) -> list[Found]:
    return [one.found for one in read(*paths, offset_s=offset_s).incidents]


@cache
def found_in_kept(folder: str) -> Sequence[Found]:
    """What is found in kept logs as they are, which tests compare with what is found in them when they are changed."""
    return found_in(KEPT / folder)


Change = Callable[[str, list[bytes]], list[bytes]]
"""Of a file's lines, by its path in the folder."""


def changed(folder: str, into: Path, change: Change) -> Path:
    """The kept logs with each file's lines changed; a file of no lines is left out."""
    into.mkdir(exist_ok=True)
    for name, text in _unpacked(folder).items():
        if lines := change(name, text.splitlines(keepends=True)):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes(b"".join(lines))
    return into


@lru_cache(maxsize=1)
def _unpacked(folder: str) -> dict[str, bytes]:
    """The kept files by their paths in the folder; tests change one folder in several ways in a row."""
    paths = sorted((KEPT / folder).rglob("*.gz"))
    return {str(path.relative_to(KEPT / folder).with_suffix("")): gzip.decompress(path.read_bytes()) for path in paths}


def later(lines: list[bytes], minutes: float) -> list[bytes]:
    """Those with their times that many minutes later, as a host writes them whose clock is ahead by as much."""
    return [_later(line, timedelta(minutes=minutes)) for line in lines]


def _later(line: bytes, by: timedelta) -> bytes:
    if not re.match(rb"\d{4}-\d\d-\d\d ", line):
        return line
    at = datetime.fromisoformat(line[:19].decode()) + by
    return f"{at:%Y-%m-%d %H:%M:%S}".encode() + line[19:]
