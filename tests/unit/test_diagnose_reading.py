"""How ``mqlab diagnose`` reads files: packed, rotated, garbled, of several zones, layouts and encodings."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from analysis.diagnosis import blocks
from analysis.diagnosis.moments import moment_of, offset_by_stamps, words_of
from analysis.diagnosis.page import render
from analysis.diagnosis.reading import log_files, read_file, read_files
from harness.errors import ConfigurationError
from mqlab.logs.diagnose import report
from mqlab.main import main
from tests.lib.operators_logs import FAILED, LOCKS, MADE, NAMESRV, REFUSED, SLOW, found_in, read
from tools.kept_logs import KEPT


def test_rotated_and_packed_files_times_without_a_date_and_other_encodings_are_read(tmp_path: Path) -> None:
    slow = "2026-11-21 16:46:02 WARN SendMessageThread_1 - " + SLOW.format(ms=700)
    with gzip.open(tmp_path / "store.2026-11-20.1.log.gz", "wt") as file:
        file.write(slow)
    (tmp_path / "store.log.1").write_text(slow.replace("16:46:02", "18:46:02"))
    (tmp_path / "store.log").write_bytes(slow.replace("16:46:02", "20:46:02").encode("utf-16"))
    assert len(found_in(tmp_path)) == 3
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "store.log").write_text(
        "23:59:59.500 WARN a " + SLOW.format(ms=700) + "00:00:01.000 WARN a " + SLOW.format(ms=800)
    )
    (one,) = found_in(clock)
    assert (words_of(one.from_s), words_of(one.to_s)) == ("23:59:58.700", "00:00:01")
    assert read(clock).files[0].problem == "its times have no date"


@pytest.mark.parametrize("folder", [LOCKS[0], "append-stall-5.5.0"])
def test_where_a_block_of_a_file_ends_makes_no_difference(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(KEPT / folder)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 700)
    assert read(KEPT / folder) == whole
    assert whole.lines > 500


def test_a_stack_trace_belongs_to_the_line_above_it_and_a_line_without_an_end_is_read(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_bytes(
        FAILED.replace("\n", "\r\n").encode() + b"2026-11-21 16:47:01 INFO x\n" + FAILED.split("\n")[1].encode()
    )
    (file,) = read_file(tmp_path / "broker.log", "b")
    failed, *others = file.events
    assert failed.get("error") == "RemotingSendRequestException"
    assert [(one.line, one.within) for one in others] == [(2, "registration failed"), (4, None)]


def test_garbage_is_counted_and_shown_by_shape_and_a_broken_archive_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_bytes(
        b"".join(b"core dumped at 0x%x\n" % number for number in range(500)) + bytes(range(256))
    )
    packed = gzip.compress(
        b"2026-11-21 16:46:02 WARN x - " + SLOW.format(ms=700).encode() + random.Random(1).randbytes(200_000)
    )
    (tmp_path / "store.log.gz").write_bytes(packed[: len(packed) // 2])
    found = read(tmp_path)
    assert found.unknown >= 500
    assert max(shape.lines for shape in found.shapes) >= 400
    assert any("cannot be read to its end" in one.problem for one in found.files)
    assert [one.found.incident for one in found.incidents] == ["append-stall"]
    assert any("core dumped at" in line for line in report(found))


@pytest.mark.parametrize("seed", range(4))
def test_garbled_lines_end_in_no_traceback(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)

    def garbled(line: bytes) -> bytes:
        at = draw.randrange(len(line))
        put = draw.choice((b"", b"9" * 5000, b"\0\xff\xfe", b"-1", line[::-1], b"\n", "½".encode()))
        year = draw.choice((b"9999", b"0001", b"0000", line[:4]))
        return year + line[4:at] + put + line[at + draw.randrange(9) :]

    hand_made = [
        NAMESRV.format(size=16777295),
        FAILED,
        MADE.format(topic="t", read=4, write=8),
        REFUSED,
        SLOW.format(ms=700),
    ]
    lines = [
        line for path in (KEPT / LOCKS[0]).iterdir() for line in gzip.decompress(path.read_bytes()).splitlines(True)
    ]
    chosen = [*draw.sample(lines, 300), *(f"2026-11-21 16:46:01 WARN x - {text}".encode() for text in hand_made * 60)]
    for name in ("broker.log", "namesrv.log"):
        (tmp_path / name).write_bytes(b"".join(garbled(line) if draw.random() < 0.5 else line for line in chosen))
    found = read(tmp_path)
    assert found.lines > 600
    assert list(report(found))
    assert render(found)


def test_what_is_no_log_is_an_error_of_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError):
        read(tmp_path)
    (tmp_path / "store.log").write_text("")
    assert main(["diagnose", str(tmp_path)]) == 3
    assert "the logs are empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "local_s"),
    [
        (b"2026-11-21 08:46:01,250 WARN", 1795250761.25),
        (b"2026/11/21 08:46:01 WARN", 1795250761.0),
        (b"[2026-11-21T08:46:01.250+0800] x", 1795250761.25),
        (b'{"log":"2026-11-21 08:46:01 INFO x', 1795250761.0),
        (b"08:46:01.250 [main] x", 31561.25),
        (b"2026-13-45 99:99:99 x", None),
        (b"no time 127.0.0.1:10911", None),
    ],
)
def test_a_time_is_found_in_any_layout(line: bytes, local_s: float | None) -> None:
    found = moment_of(line)
    assert (found.local_s if found else None) == local_s


def test_a_zone_is_what_the_stamps_agree_on() -> None:
    assert offset_by_stamps([28800.4, 28801.0, 28900.0]) == 28800
    assert offset_by_stamps([28800.4, 0.0]) is None
    assert offset_by_stamps([500.0, 450.0]) is None
    assert offset_by_stamps([]) is None


def test_the_zone_of_logs_that_say_nothing_is_given_or_stock(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text("2026-11-21 16:46:02 WARN x - " + SLOW.format(ms=700))
    assert words_of(found_in(tmp_path)[0].to_s) == "2026-11-21 08:46:02Z"
    assert words_of(found_in(tmp_path, offset_s=-3600.0)[0].to_s) == "2026-11-21 17:46:02Z"


def test_a_bad_zip_beside_logs_is_told_and_hides_none(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(
        "2026-11-21 16:47:04 WARN x - [NOTIFYME]putMessage in lock cost time(ms)=1200\n"
    )
    (tmp_path / "old.log.zip").write_bytes(b"PK\x03\x04 and no more")
    read = read_files(log_files([tmp_path]))
    assert {Path(one.path).name: (one.lines, bool(one.broken)) for one in read} == {
        "broker.log": (1, False),
        "old.log.zip": (0, True),
    }
    with pytest.raises(ConfigurationError, match=r"old\.log\.zip cannot be read to its end: File is not a zip file"):
        read_files(log_files([tmp_path / "old.log.zip"]))
