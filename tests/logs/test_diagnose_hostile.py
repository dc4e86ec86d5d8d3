"""Logs that were made to do harm: a diagnosis ends soon, in little memory, without a traceback, and leaves the terminal alone."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from analysis.diagnosis.events import SEARCHED_MAX, fields_of
from harness.model.log_events import WORDINGS, Wording
from harness.paths import PACKAGES

MEMORY_KB_MAX = 400_000
ADDRESS_BYTES_MAX = 6 << 30
CPU_S_MAX = 60
LINE_S_MAX = 0.5
"""Of the fields of one line; it takes a hundredth of that."""
AHEAD = "2026-11-21 08:46:01,424 WARN [SendMessageThread_1] RocketmqStore - "
SLOW = f"{AHEAD}[NOTIFYME]putMessage in lock cost time(ms)=1200, bodyLength=128\n".encode()
MINUTES = f"{AHEAD}[PAGECACHERT] TotalPut 30, PutMessageDistributeTime ".encode()


class Ended(NamedTuple):
    """How a command ended, and what memory it took at most."""

    code: int
    out: str
    err: str
    memory_kb: int


LIMITED = f"""
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_BYTES_MAX}, {ADDRESS_BYTES_MAX}))
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S_MAX}, {CPU_S_MAX}))
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(f"{{code}} {{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}}")
"""
"""Starts a command within limits, and notes how it ended and what memory it took. A small process does so: the memory of whoever
forks counts as that of the child."""


def _diagnose(*words: str | Path) -> Ended:
    """In a process of its own, which is ended at its limits."""
    command = [sys.executable, "-m", "mqlab", "diagnose", *map(str, words), "--appends"]
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "ended"
        said = subprocess.run(
            [sys.executable, "-S", "-c", LIMITED, str(noted), *command], cwd=PACKAGES, stdin=subprocess.DEVNULL,
            capture_output=True, check=True,
        )  # fmt: skip
        code, memory_kb = map(int, noted.read_text().split())
    ended = Ended(code, said.stdout.decode(), said.stderr.decode(), memory_kb)
    assert "defect of mqlab" not in ended.err, ended.err
    assert "Traceback" not in ended.err
    assert ended.code in (0, 3), ended
    assert ended.memory_kb < MEMORY_KB_MAX
    for text in (ended.out, ended.err):
        assert all(line.isprintable() for line in text.replace("\u202f", " ").split("\n")), (
            "what steers a terminal is written out"
        )
    return ended


@pytest.mark.parametrize(
    "content",
    [b"\0", b"x\n", b"[", b"\n", SLOW, MINUTES],
    ids=["zeros", "lines", "brackets", "ends", "slow", "minutes"],
)
def test_a_gz_of_ten_gigabytes_is_left_where_it_shows_what_it_is(tmp_path: Path, content: bytes) -> None:
    member = gzip.compress(content * ((64 << 20) // len(content)), compresslevel=9, mtime=0)
    log = tmp_path / "store.log.gz"
    with log.open("wb") as file:
        for _ in range(160):
            file.write(member)
    assert log.stat().st_size < 80_000_000
    ended = _diagnose(log)
    assert ended.code == 0
    assert "it unpacks to more than 200 times its size" in ended.out


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 1_000_000,
        b"[]" * 500_000,
        b"{" * 1_000_000,
        MINUTES + b"[" * 1_000_000,
        MINUTES + b"[a]:" * 250_000,
        SLOW.rstrip() + b"[" * 1_000_000,
        b"(" * 1_000_000 + SLOW,
    ],
    ids=["brackets", "pairs", "braces", "buckets", "half buckets", "slow append", "before one"],
)
def test_a_line_of_a_million_brackets_is_a_line(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "store.log").write_bytes(SLOW + line + b"\n" + SLOW)
    ended = _diagnose(tmp_path)
    assert ended.code == 0
    assert "append-lock-over-1s" in ended.out


LITERALS = re.compile(r"\.\*\?|\(\?(?:P<\w+>|:)|[()|?]|\\[dSw](?:\{[^}]*\}|[+*])?|(?<!\\)\[[^\]]*\](?:\{[^}]*\}|[+*])?")


@pytest.mark.parametrize("wording", [one for one in WORDINGS if one.fields], ids=lambda one: one.words.strip())
def test_a_line_with_many_beginnings_and_no_end_takes_no_time(wording: Wording) -> None:
    """What the pattern of its fields looks for, again and again, in its order and all of a kind together; the last lacks."""
    pattern = fields_of(wording.fields)
    literals = [re.sub(r"\\(.)", r"\1", one) for one in LITERALS.split(wording.fields) if len(one) > 1]
    for count, filler in itertools.product(range(1, len(literals) + 1), ("x", "1", " ", "0x1 ", "1.1.1.1:1 ", "a, ")):
        parts = [one + filler for one in literals[:count]]
        times = SEARCHED_MAX // sum(map(len, parts)) + 1
        for line in ("".join(parts) * times, "".join(part * times for part in parts), "".join(parts[::-1]) * times):
            began_s = time.thread_time()
            pattern.match((wording.words + line)[:SEARCHED_MAX])
            assert time.thread_time() - began_s < LINE_S_MAX, line


def test_twenty_thousand_files_of_a_node_are_read_one_by_one(tmp_path: Path) -> None:
    for number in range(20_000):
        (tmp_path / f"store.{number}.log").write_bytes(SLOW)
    assert "20,000 lines in 20000 files of 1 node" in _diagnose(tmp_path).out


def test_a_zone_that_is_none_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_bytes(SLOW.replace(b",424", b" +9959") + SLOW.replace(b",424", b" -2359"))
    assert "1 file in UTC (given)" in _diagnose(tmp_path, "--zone", "UTC").out


def test_frames_of_a_stack_trace_without_a_beginning_are_looked_at_once(tmp_path: Path) -> None:
    frame = b"\tat org.apache.rocketmq.store.CommitLog.putMessage(CommitLog.java:1)\n"
    (tmp_path / "broker.log").write_bytes(frame * 200_000)
    assert "200,000 lines" in _diagnose(tmp_path).out


def test_bad_bytes_are_read_and_shown(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_bytes(
        b"\xff\xfe\xff" + bytes(range(256)) * 100 + b"\n" + SLOW + b"\xc3\x28\xed\xa0\x80 " + SLOW
    )
    (tmp_path / "broker.log").write_bytes(
        SLOW.replace(b"[NOTIFYME]", b"\xed\xa0\x80") + AHEAD.encode() + "- osPageCacheBusyTimeOutMills=²\n".encode()
    )
    ended = _diagnose(tmp_path)
    assert ended.code == 0
    assert "append-lock-over-1s" in ended.out


def test_escape_sequences_are_written_out_wherever_they_stand(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    folder = tmp_path / f"node{evil.replace('/', '')}"
    folder.mkdir()
    (folder / "store.log").write_text(
        f"{evil}\n" * 3
        + SLOW.decode().replace("bodyLength", f"{evil}bodyLength")
        + MINUTES.decode() + f"[{evil}]:3 [1ms]:1\n"
        + f"{AHEAD}tryLockBatch, message queue locked by other client. Group: {evil} OtherClientId: {evil} NewClientId: {evil}\n"
    )  # fmt: skip
    ended = _diagnose(folder)
    assert ended.code == 0
    assert r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202e" in ended.out
    assert _diagnose(folder / "absent.log").code == 3


def test_a_gz_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = b"".join(
        SLOW.replace(b"1200", b"%d" % (1200 + at % 90)) + b"%x\n" % zlib.crc32(b"%d" % at) for at in range(20_000)
    )
    packed = gzip.compress(lines)
    (tmp_path / "store.log.gz").write_bytes(packed[: len(packed) // 2])
    ended = _diagnose(tmp_path)
    assert ended.code == 0
    assert "cannot be read to its end: Compressed file ended before the end-of-stream marker was reached" in ended.out
    assert "append-lock-over-1s" in ended.out
    for what in (packed[:5], b"\x1f\x8bno gzip", b"\x1f\x8b"):
        (tmp_path / "store.log.gz").write_bytes(what)
        assert _diagnose(tmp_path).code == 3


def test_a_folder_with_a_pipe_and_links_in_a_circle_is_read(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_bytes(SLOW)
    os.mkfifo(tmp_path / "broker.log")
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "self.log").symlink_to(tmp_path / "self.log")
    (tmp_path / "endless.log").symlink_to("/dev/zero")
    (tmp_path / "piped.log").symlink_to(tmp_path / "broker.log")
    ended = _diagnose(tmp_path)
    assert ended.code == 0
    assert "1 lines in 1 file of 1 node" in ended.out
    for one in ("broker.log", "self.log", "endless.log"):
        assert _diagnose(tmp_path / one).code == 3
