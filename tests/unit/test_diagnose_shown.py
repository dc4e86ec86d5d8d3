"""What ``mqlab diagnose`` shows of what it found: in the terminal, as JSON and as a page, and how far clocks are apart."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

import scenarios
from analysis.diagnosis.moments import in_zone
from analysis.diagnosis.page import render
from analysis.diagnosis.skew import distance
from mqlab.logs.diagnose import report
from mqlab.main import main
from tests.lib.operators_logs import LOCKS, REFUSED, SLOW, read
from tools.kept_logs import KEPT


@pytest.mark.parametrize("ahead_s", [-40, 0, 1, 3600])
def test_the_distance_of_two_clocks_is_said_by_what_both_wrote(ahead_s: int, tmp_path: Path) -> None:
    for node in ("b1", "names", "app"):
        (tmp_path / node).mkdir()
    start = datetime(2026, 11, 21, 16, 46, 2)
    boots = [start + timedelta(seconds=at) for at in (0, 400, 1000)]
    slow = [start + timedelta(seconds=at) for at in (60, 460, 1100, 1500)]
    (tmp_path / "b1" / "broker.log").write_text(
        "".join(
            f"{at} INFO main - The broker[broker-a, 10.0.0.9:10911] boot success. serializeType=JSON\n" for at in boots
        )
    )
    (tmp_path / "b1" / "store.log").write_text("".join(f"{at} WARN x - {SLOW.format(ms=700)}" for at in slow))
    ahead = timedelta(seconds=ahead_s)
    (tmp_path / "names" / "namesrv.log").write_text(
        "".join(
            f"{at + ahead} INFO x - new broker registered, 10.0.0.9:10911 HAServer: 10.0.0.9:10912\n" for at in boots
        )
    )
    (tmp_path / "app" / "rocketmq_client.log").write_text("".join(f"{at + ahead} WARN x - y\n{REFUSED}" for at in slow))
    found = read(tmp_path)
    said = {(one.node, one.other): (one.ahead_s, one.pairs) for one in found.skews}
    far = abs(ahead_s) > 3
    assert said == ({("names", "b1"): (ahead_s, 3), ("app", "b1"): (ahead_s, 4)} if far else {})
    assert any("the clock of names is" in line for line in report(found)) == far
    assert ("The clock of app is" in render(found)) == far


def test_a_distance_that_is_one_of_many_is_not_said() -> None:
    assert distance([10.0, 20.0, 30.0], [0.0, 10.0, 20.0, 30.0, 40.0], least=3) is None
    assert distance([10.0], [], least=1) is None
    assert distance([10.0, 20.0], [110.0, 120.0], least=3) is None
    assert distance([110.0, 127.0, 190.0], [10.0, 27.0, 90.0, 300.0], least=3) == (100.0, 3)


def test_json_and_strict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(KEPT / LOCKS[0]), "--json", "--strict"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["incidents"]
    assert one["found"]["incident"] == "ordered-lock-handover"
    assert {cure["release"] for cure in one["cures"]} <= {"4.6.0", "4.9.7"}
    assert one["cures"]


class _Page(HTMLParser):
    """Every id, every link inside the page, and every element by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.seen: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.seen[tag] += 1
        self.seen[f"{tag}.{given.get('class', '')}"] += 1
        self.ids.add(given.get("id") or "")
        if (link := given.get("href")) is not None:
            assert link.startswith("#"), "the page needs no network"
            self.links.add(link[1:])


def test_the_page_has_a_band_and_its_lines_for_each_incident_without_scripts(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    folders = [str(KEPT / LOCKS[0]), str(KEPT / "append-stall-4.6.0")]
    assert main(["diagnose", *folders, "--out", str(out)]) == 0
    page = _Page()
    page.feed(out.read_text("utf-8"))
    assert page.links <= page.ids
    assert page.seen["script"] == 0
    assert page.seen["a.band sure"] == 2
    assert page.seen["a.tick"] > 5
    assert page.seen["details"] == 4, "the rest, the lines of each, and what else came with the locks"
    assert page.seen["section.answer"] == 2


def test_a_line_of_a_log_can_put_nothing_into_the_page(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text("2026-11-21 16:46:02 WARN <script>alert(1)</script> " + SLOW.format(ms=700))
    page = render(read(tmp_path))
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_page_of_calm_logs_says_so(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text("2026-11-21 16:46:02 INFO x - all is well\n")
    page = render(read(tmp_path))
    assert "None of the known incidents is in these logs" in page
    assert all(one.name in page for one in scenarios.INCIDENTS if one.no_sign)


def test_the_terminal_says_what_was_measured_on_the_release(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", str(KEPT / LOCKS[0]), "--release", "5.5.0"])
    said = capsys.readouterr().out
    assert "ordered-lock-handover (sure), 2026-11-23 13:" in said
    assert re.search(r"measured: 5\.5\.0: With lockInterval 5 s", said)
    assert "4.6.0" not in said.replace(LOCKS[0], "")


def test_times_are_told_as_most_files_have_them_with_their_zone(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text("2026-11-21 16:46:02 WARN SendMessageThread_1 - " + SLOW.format(ms=700))
    for offset_s, first, zone in (
        (None, "2026-11-21 16:46:01.300+08:00", "UTC+08:00"),
        (-12_600.0, "2026-11-21 16:46:01.300-03:30", "UTC-03:30"),
        (0.0, "2026-11-21 16:46:01.300Z", "UTC"),
    ):
        found = read(tmp_path, offset_s=offset_s)
        assert f"append-stall (sure), {first} to 2026-11-21 16:46:02" in "\n".join(report(found))
        page = render(found)
        assert f"{first} to 2026-11-21 16:46:02" in page
        assert f"Times are of {zone}." in page


def test_times_in_sentences_are_those_of_the_zone_and_others_stay() -> None:
    assert in_zone("from 2026-11-27 18:15:13.100Z on", 28_800.0) == "from 2026-11-28 02:15:13.100+08:00 on"
    for text in ("at 18:15:13", "9999-12-31 23:00:00Z", "2026-13-01 10:00:00Z", "12026-11-27 18:15:13Z"):
        assert in_zone(text, 28_800.0) == text
