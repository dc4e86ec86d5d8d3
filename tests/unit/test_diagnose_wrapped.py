"""What containers and hosts put around a log's lines: it is taken off, and tells whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.diagnosis.moments import words_of
from analysis.diagnosis.wrapped import NODES_MAX, Unwrapping
from harness.errors import EXIT_OK
from tests.lib.commands import typed
from tests.lib.operators_logs import found_in, read

LINE = "2026-03-05 18:25:34 WARN SendMessageThread_1 - [NOTIFYME]putMessage in lock cost time(ms)=700, bodyLength=9"
WELL = "2026-03-05 18:25:30 INFO main - well"
TRACE = "\tat org.apache.rocketmq.store.CommitLog.asyncPutMessage(CommitLog.java:1)"
UTC = "2026-03-05T10:25:34.123456789Z"


@pytest.mark.parametrize(
    ("before", "node"),
    [
        ("kiwi-b-1  | ", "kiwi-b-1"),
        ("\x1b[36mkiwi-b-1  |\x1b[0m ", "kiwi-b-1"),
        (f"kiwi-b-1  | {UTC} ", "kiwi-b-1"),
        ("[pod/rmq-1/broker] ", "rmq-1"),
        (f"[pod/rmq-1/broker] {UTC} ", "rmq-1"),
        ("Mar 05 18:25:34 host-7 mqbroker[4711]: ", "host-7/mqbroker"),
        ("2026-03-05T18:25:34+08:00 host-7 mqbroker[4711]: ", "host-7/mqbroker"),
        (f"{UTC} ", "plain"),
        (f"{UTC} stdout F ", "plain"),
        ("", "plain"),
    ],
)
def test_the_node_is_what_stands_before_the_line_else_the_folder(before: str, node: str, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "all.log").write_text("".join(f"{before}{one}\n" for one in (WELL, LINE, TRACE)))
    incidents = {one.incident: one for one in found_in(folder)}
    assert set(incidents) == {"append-stall", "busy-flag-stuck"}
    assert incidents["append-stall"].brokers == (node,)
    assert words_of(incidents["append-stall"].to_s)[:19] == "2026-03-05 10:25:34"
    assert [one.line for one in incidents["busy-flag-stuck"].lines] == [3]


def test_lines_keep_their_numbers_and_what_has_no_prefix_goes_on_from_the_line_above() -> None:
    block = b"a-1  | one\nb-1  | two\n\tat three\na-1  | four\n"
    unwrapping = Unwrapping()
    assert {one.node: (one.block, one.numbers) for one in unwrapping.parts(block)} == {
        "a-1": (b"one\nfour\n", [1, 4]),
        "b-1": (b"two\n\tat three\n", [2, 3]),
    }
    assert [one.numbers for one in unwrapping.parts(b"b-1  | five\n")] == [[5]]


def test_levels_of_a_wrappers_own_layout_are_no_nodes(tmp_path: Path) -> None:
    (tmp_path / "wrapper.log").write_text(f"INFO   | jvm 1 | {LINE}\n" * 3)
    assert {one.node for one in read(tmp_path).files} == {tmp_path.name}


def test_a_json_line_may_have_its_time_in_numbers_its_host_inside_and_its_trace_beside(tmp_path: Path) -> None:
    line = (
        '{"message": "[NOTIFYME]putMessage in lock cost time(ms)=700, bodyLength=9", "level": "warn", "host": {"name": "kiwi-a"}, '
        '"stack_trace": "x.Y: z\\n\\tat org.apache.rocketmq.store.CommitLog.putMessage(CommitLog.java:1)", '
        '"timestamp": 1772706334123}\n'
    )
    (tmp_path / "all.log").write_text(line)
    found = {one.incident: one for one in found_in(tmp_path)}
    assert set(found) == {"append-stall", "busy-flag-stuck"}
    assert found["append-stall"].brokers == ("kiwi-a",)
    assert words_of(found["append-stall"].to_s) == "2026-03-05 10:25:34.123Z"


def test_garbled_json_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "all.log").write_text('{"log": "x", "time": 1}\n' * 5 + '{"log": {\n[1]\n{"a": 1e999}\n{"log": 5}\n')
    assert read(tmp_path).lines == 9


SURROGATE = "\\ud800"


@pytest.mark.parametrize(
    "line",
    [
        b"[pod/\xff\xfe\x1b[2J/broker] " + LINE.encode(),
        f'{{"log": "{LINE}", "host": "kiwi{SURROGATE}"}}'.encode(),
        f'{{"log": "{LINE}", "pod": {{"name": "{SURROGATE}"}}}}'.encode(),
        f'{{"log": "{LINE}", "time": "{UTC}{SURROGATE}"}}'.encode(),
        f'{{"message": "{LINE[40:]}{SURROGATE}", "level": "{SURROGATE}", "thread": "{SURROGATE}", "time": "{UTC}"}}'.encode(),
    ],
    ids=["bad bytes", "host", "pod", "time", "message"],
)
def test_half_a_character_around_a_line_is_one_that_a_page_can_show(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "all.log").write_bytes((line + b"\n") * 3)
    said = typed("diagnose", str(tmp_path), "--out", str(tmp_path / "page.html"))
    assert said.code == EXIT_OK, said.err
    assert "append-stall" in said.out
    assert "append-stall" in (tmp_path / "page.html").read_text("utf-8")


def test_so_many_nodes_of_a_file_are_told_apart_and_no_line_is_lost(tmp_path: Path) -> None:
    count = NODES_MAX + 500
    (tmp_path / "all.log").write_text("".join(f"kiwi-{number}-1  | {LINE}\n" for number in range(count)))
    files = read(tmp_path).files
    assert len(files) == NODES_MAX + 1
    assert sum(one.lines for one in files) == count
    assert {one.lines for one in files if one.node == tmp_path.name} == {500}
