"""Reading a log by blocks, by words of a whole block and by many processes gives what reading it line by line gives."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.diagnosis.cores import each_of
from analysis.diagnosis.events import Collected, Event
from analysis.diagnosis.lines import Lines, Words, goes_on
from analysis.diagnosis.moments import moment_of
from analysis.diagnosis.reading import log_files, read_file
from harness.model.log_events import WORDINGS
from harness.paths import PACKAGES
from harness.wait import wait_until
from tests.lib.operators_logs import FAILED, FOLDERS, NAMESRV, REFUSED, SLOW
from tools.kept_logs import KEPT


def line_by_line(content: bytes, file: str) -> list[Event]:
    """The events of dated lines, each of which is asked for every wording."""
    collected, at_s, head = Collected(file), None, 0
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
        onward = goes_on(line)
        if not onward and (moment := moment_of(line)):
            at_s, head = moment.local_s, number
        words = [at for at, one in enumerate(WORDINGS) if one.words.encode() in line]
        if words:
            collected.take(line, number, at_s, words[0], head=head if onward else None)
    collected.end()
    return collected.events


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_events_of_kept_logs_are_those_of_reading_them_line_by_line(folder: str) -> None:
    seen = 0
    for path in sorted((KEPT / folder).glob("*.gz")):
        (read,) = read_file(path, folder)
        events = read.events
        assert events == line_by_line(gzip.decompress(path.read_bytes()), str(path))
        seen += len(events)
    assert seen > 5


@pytest.mark.parametrize("seed", range(3))
def test_short_words_that_lie_over_each_other_are_found_as_one_by_one(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        words = Words([bytes(draw.choices(b"ab", k=draw.randint(1, 4))) for _ in range(6)])
        block = bytes(draw.choices(b"ab\n", [4, 4, 1], k=200))
        found = words.found(Lines(block))
        for at, line in enumerate(block.removesuffix(b"\n").split(b"\n")):
            assert found.get(at, ()) == tuple(number for number, one in enumerate(words.words) if one in line)


@pytest.mark.parametrize("seed", range(3))
def test_words_in_any_mixture_are_found_as_one_by_one(seed: int) -> None:
    draw = random.Random(seed)
    parts = [one.words.encode() for one in WORDINGS] + [
        b" ",
        b"\n",
        b"x",
        b"\tat java.",
        b"2026-11-21 16:46:01 INFO a - ",
    ]
    block = b"".join(draw.choice(parts)[draw.choice((0, 0, 0, 1)) :] for _ in range(3000))
    words = Words([one.words.encode() for one in WORDINGS])
    expected = {
        at: tuple(number for number, one in enumerate(words.words) if one in line)
        for at, line in enumerate(block.removesuffix(b"\n").split(b"\n"))
    }
    assert words.found(Lines(block)) == {at: found for at, found in expected.items() if found}


def test_words_that_lie_over_each_other_are_all_found() -> None:
    words = Words([b"abc", b"bcd", b"b", b"abcde", b"abc"])
    assert words.found(Lines(b"abcde\nbcd\nnone\nab")) == {0: (0, 1, 2, 3, 4), 1: (1, 2), 3: (2,)}


def test_a_file_in_another_layout_has_the_same_events(tmp_path: Path) -> None:
    stock = "".join(
        f"2026-11-21 {16 + at // 3600:02}:{at // 60 % 60:02}:{at % 60:02} INFO x - {said}\n"
        for at, said in enumerate(["nothing"] * 300 + [SLOW.format(ms=700).strip()] + ["nothing"] * 3000)
    ) + (NAMESRV.format(size=16777295) + FAILED + "2026-11-21 18:46:02 INFO x - " + REFUSED)
    layouts = {
        "stock": stock,
        "slashes": stock.replace("2026-11-21", "2026/11/21"),
        "brackets": stock.replace("2026-11-21", "[2026-11-21"),
        "wrapped": stock.replace("2026-11-21", '{"log":"2026-11-21'),
        "prefixed": stock.replace("2026-11-21", "broker-a | 2026-11-21"),
    }
    found = {}
    for name, content in layouts.items():
        path = tmp_path / name / "broker.log"
        path.parent.mkdir()
        path.write_text(content)
        (read,) = read_file(path, "b")
        assert read.unknown == 0, name
        found[name] = [(one.kind, one.line, one.from_s, one.count, one.fields, one.within) for one in read.events]
    assert len(found["stock"]) == 6
    assert all(events == found["stock"] for events in found.values())


def test_midnights_of_times_without_a_date_are_seen_in_lines_that_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.log"
    hours = [(hour, at) for hour in range(60) for at in range(3)]
    path.write_text(
        "".join(
            f"{hour % 24:02}:{at:02}:00.250 WARN a - "
            + (SLOW.format(ms=700) if hour in (1, 59) and at == 2 else "nothing\n")
            for hour, at in hours
        )
    )
    (read,) = read_file(path, "b")
    assert read.undated
    assert [event.from_s for event in read.events] == [3720.25, 59 * 3600 + 120.25]
    assert (read.from_s, read.to_s) == (0.25, 59 * 3600 + 120.25)


def test_files_that_other_processes_read_are_as_read_here() -> None:
    files = log_files([KEPT / folder for folder in FOLDERS])
    assert each_of(read_file, files, size_of=lambda one: 1, processes=2) == [read_file(*one) for one in files]


OWNER = """
import os, time
from pathlib import Path
from analysis.diagnosis.cores import each_of

def stay(folder):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    each_of(stay, [(os.environ["SEEN"],)] * 2, size_of=len, processes=2)
"""


def test_processes_that_read_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "owner.py").write_text(OWNER)
    owner = subprocess.Popen(
        [sys.executable, tmp_path / "owner.py"], env={**os.environ, "PYTHONPATH": str(PACKAGES), "SEEN": str(seen)}
    )
    try:
        wait_until("both processes to start", lambda: len(list(seen.iterdir())) == 2, timeout_s=60)
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    pids = [int(one.name) for one in seen.iterdir()]
    wait_until("both processes to end", lambda: not any(map(_runs, pids)), timeout_s=60)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
