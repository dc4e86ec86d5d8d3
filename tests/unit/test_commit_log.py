"""A commit log's files: which queues end where by the messages that are in them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from harness.host.commit_log import queue_ends

V1, V2, BLANK = 0xDAA320A7, 0xDAA320AB, 0xCBD43194
FILE_BYTES = 1024


def _message(place: int, queue: int, offset: int, *, topic: str = "T", magic: int = V1, v6: bool = False) -> bytes:
    flag, host = (0b110000, 20) if v6 else (0, 8)
    name = topic.encode()
    length = struct.pack(">B" if magic == V1 else ">h", len(name))
    after = struct.pack(">iiiqqi", 7, queue, 0, offset, place, flag)
    rest = (
        b"\0" * 8 + b"\1" * host + b"\0" * 8 + b"\1" * host + b"\0" * 12 + struct.pack(">i", 3) + b"abc" + length + name
    )
    size = 8 + len(after) + len(rest) + 2
    return struct.pack(">iI", size, magic) + after + rest + b"\0\0"


def _log(folder: Path, begin: int, messages: list[tuple[int, int, str, int, bool]]) -> None:
    data = b""
    for queue, offset, topic, magic, v6 in messages:
        data += _message(begin + len(data), queue, offset, topic=topic, magic=magic, v6=v6)
    data += struct.pack(">iI", FILE_BYTES - len(data), BLANK)
    (folder / f"{begin:020}").write_bytes(data.ljust(FILE_BYTES, b"\0"))


def test_the_last_message_of_each_queue_is_its_end(tmp_path: Path) -> None:
    _log(
        tmp_path, 0, [(0, 0, "T", V1, False), (1, 0, "T", V1, True), (0, 1, "T", V1, False), (0, 9, "other", V1, False)]
    )
    _log(tmp_path, FILE_BYTES, [(1, 1, "T", V2, False)])
    (tmp_path / f"{2 * FILE_BYTES:020}").write_bytes(b"\0" * FILE_BYTES)
    assert queue_ends(tmp_path, "T") == {0: 2, 1: 2}
    assert queue_ends(tmp_path, "other") == {0: 10}
    assert queue_ends(tmp_path, "none") == {}


@pytest.mark.parametrize(
    "gap",
    [
        b"\0" * 100,
        _message(0, 0, 7),
        _message(FILE_BYTES, 0, 7)[:60],
    ],
    ids=["nothing", "a message of another place", "a part of a message"],
)
def test_what_lies_at_a_gap_and_beyond_it_is_not_there(tmp_path: Path, gap: bytes) -> None:
    _log(tmp_path, 0, [(0, 0, "T", V1, False)])
    (tmp_path / f"{FILE_BYTES:020}").write_bytes(gap.ljust(FILE_BYTES, b"\0"))
    _log(tmp_path, 2 * FILE_BYTES, [(0, 2, "T", V1, False)])
    assert queue_ends(tmp_path, "T") == {0: 1}


def test_the_last_file_may_end_within_a_message(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}").write_bytes(_message(0, 0, 0) + _message(len(_message(0, 0, 0)), 0, 1)[:-20])
    assert queue_ends(tmp_path, "T") == {0: 1}
