"""Lost messages: as ranges that name each of them, in the record, and in the tables of the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.ledger.runs import CountedTrial, RecordedRun, read_lines, write_lines
from analysis.report.losses import ROWS_MAX, exchanged, loss_tables, write_messages
from analysis.verdicts.losses import NAMED_MAX, LostMessage, LostRange, LostStep, by_step
from harness.paths import PACKAGES
from harness.rundir.manifest import HostRecord, TrialRecord
from tools.recorded.write import RECORD


def lost(offset: int | None, **changed: Any) -> LostMessage:
    """A message that broker-a's master lost when it was upgraded in step 4."""
    told: dict[str, Any] = {
        "trial": "t1", "step": 4, "role": "master", "node": "broker-a", "from_release": "4.6.0", "to_release": "5.5.0",
        "back": False, "topic": "T-normal", "key": "", "seq": 1000 + (offset or 0), "broker": "broker-a", "queue": 0,
        "offset": offset, "sent_s": -0.001 * (offset or 0), "stop_s": None, "file": "trials/t1/history.jsonl", "line": 7,
    }  # fmt: skip
    return LostMessage(**{**told, **changed})


BACK = {"step": 5, "back": True, "from_release": "5.5.0", "to_release": "4.6.0"}


def named(ranges: Sequence[LostRange]) -> list[tuple[str, int | None, int | None, int | None, int]]:
    return [(one.broker, one.queue, one.first, one.last, one.count) for one in ranges]


# --- ranges -----------------------------------------------------------------------------------------------------------


def test_nothing_lost_has_no_steps() -> None:
    assert by_step([]) == {}


def test_offsets_that_follow_each_other_are_a_range_of_their_queue() -> None:
    messages = [lost(offset, queue=queue) for offset, queue in [(7, 1), (5, 0), (6, 0), (8, 0), (7, 0), (12, 0)]]
    (step,) = by_step(messages)["t1"]
    assert (step.step, step.node, step.count) == (4, "broker-a", 6)
    assert named(step.ranges) == [("broker-a", 0, 5, 8, 4), ("broker-a", 0, 12, 12, 1), ("broker-a", 1, 7, 7, 1)]
    assert step.ranges[0].seqs == (1005, 1006, 1007, 1008)
    assert (step.ranges[0].sent_s, step.ranges[0].sent_to_s) == (-0.008, -0.005)


def test_an_upgrade_and_a_roll_back_of_one_node_are_two_steps() -> None:
    there, back = by_step([lost(5), lost(6, **BACK)])["t1"]
    assert (there.step, there.back, named(there.ranges)) == (4, False, [("broker-a", 0, 5, 5, 1)])
    assert (back.step, back.back, named(back.ranges)) == (5, True, [("broker-a", 0, 6, 6, 1)])
    assert exchanged(there) == "broker-a (master), 4.6.0 to 5.5.0"
    assert exchanged(back) == "broker-a (master), 5.5.0 to 4.6.0, roll-back"


def test_an_offset_that_was_given_twice_has_both_of_its_messages() -> None:
    messages = [lost(5, seq=1), lost(6, seq=2), lost(5, seq=3, sent_s=9.0), lost(6, seq=4, sent_s=9.1)]
    (step,) = by_step(messages)["t1"]
    assert [(one.first, one.last, one.seqs) for one in step.ranges] == [(5, 6, (1, 2)), (5, 6, (3, 4))]


def test_a_message_without_an_offset_is_by_itself() -> None:
    (step,) = by_step([lost(None, seq=1), lost(None, seq=2), lost(0, seq=3)])["t1"]
    assert [(one.first, one.count, one.seqs) for one in step.ranges] == [(None, 1, (1,)), (None, 1, (2,)), (0, 1, (3,))]


def test_thousands_are_named_by_their_offsets_and_of_the_numbers_the_first_and_the_last_is_kept() -> None:
    (step,) = by_step(lost(offset, key=f"k{offset % 97}", stop_s=offset / 10) for offset in range(3_000))["t1"]
    (one,) = step.ranges
    assert (one.first, one.last, one.count) == (0, 2_999, 3_000)
    assert (one.seqs, one.keys, one.stop_s) == ((1000, 3999), ("k0", f"k{2_999 % 97}"), 0.0)
    (few,) = by_step(lost(offset, key="k") for offset in range(NAMED_MAX))["t1"][0].ranges
    assert len(few.seqs) == len(few.keys) == NAMED_MAX


# --- the record -------------------------------------------------------------------------------------------------------


def recorded(steps: tuple[LostStep, ...] | None) -> RecordedRun:
    trial = CountedTrial(
        trial="t1", experiment="e", incident="rolling-upgrade", arm="incident", cell={"to": "5.5.0"}, release="4.6.0",
        client="java 4.6.0", backend="local", injection="signal", deployment="d1", attempt=1, seed=1, status="complete",
        lost=steps,
    )  # fmt: skip
    return RecordedRun(
        run="r", commit="c", analysis_commit="c", created="x", status="complete", host=HostRecord(cores=2),
        backend="local", seed=1, jars={}, rules={}, trials=(trial,),
    )  # fmt: skip


@pytest.mark.parametrize(
    "messages", [(), (lost(5), lost(6, **BACK)), (lost(None, queue=None, key="k1"), lost(1, stop_s=0.012))]
)
def test_the_record_keeps_the_list_and_an_empty_one_is_said(tmp_path: Path, messages: Sequence[LostMessage]) -> None:
    steps = by_step(messages).get("t1", ())
    write_lines(tmp_path / "r.jsonl", recorded(steps))
    assert read_lines(tmp_path / "r.jsonl").trials[0].lost == steps
    assert "lost" in json.loads((tmp_path / "r.jsonl").read_text().splitlines()[1])


def test_a_trial_without_the_list_is_written_as_before(tmp_path: Path) -> None:
    write_lines(tmp_path / "r.jsonl", recorded(None))
    assert "lost" not in json.loads((tmp_path / "r.jsonl").read_text().splitlines()[1])
    assert read_lines(tmp_path / "r.jsonl").trials[0].lost is None


def test_the_list_changes_no_line_that_is_recorded_already(tmp_path: Path) -> None:
    newest = max((PACKAGES / "scenarios" / RECORD).glob("2*.jsonl"))
    write_lines(tmp_path / newest.name, read_lines(newest))
    assert (tmp_path / newest.name).read_bytes() == newest.read_bytes()


# --- the report -------------------------------------------------------------------------------------------------------


def _trial(name: str) -> TrialRecord:
    return TrialRecord(
        trial=name, incident="rolling-upgrade", arm="incident", params={"to": "5.5.0"}, release="4.6.0", client="java 4.6.0",
        backend="local", injection="signal", deployment="d", repetition=1, seed=1, topic="T",
    )  # fmt: skip


def test_each_step_and_broker_has_a_row_and_all_ranges_are_folded_below() -> None:
    found = by_step([lost(5, key="k1"), lost(6, key="k2", stop_s=0.5), lost(9, broker="broker-b"), lost(7, **BACK)])
    steps, ranges = loss_tables([_trial("t1"), _trial("t2"), _trial("t3")], {"t2": (), **found})["rolling-upgrade"]
    assert [row[2:6] for row in steps.rows] == [
        ("4", "broker-a (master), 4.6.0 to 5.5.0", "broker-a", "2"),
        ("4", "broker-a (master), 4.6.0 to 5.5.0", "broker-b", "1"),
        ("5", "broker-a (master), 5.5.0 to 4.6.0, roll-back", "broker-a", "1"),
    ]
    assert steps.rows[0][6:] == ("-0.006 to -0.005 s", "0.500 s later")
    assert steps.note.startswith("4 in 1 of 2 trials")
    assert steps.note.endswith("Not judged, since the drain was not complete: t3.")
    assert (steps.folded, ranges.folded) == (False, True)
    assert ranges.rows[0] == (
        "t1", "4", "T-normal", "broker-a", "0", "5-6", "2", "-0.006 to -0.005 s", "1005 1006", "k1 k2",
    )  # fmt: skip
    assert {len(row) for row in ranges.rows} == {len(ranges.columns)}
    assert {len(row) for row in steps.rows} == {len(steps.columns)}


def test_where_nothing_is_lost_the_report_says_so() -> None:
    (table,) = loss_tables([_trial("t1"), _trial("t2")], {"t1": (), "t2": ()})["rolling-upgrade"]
    assert table.rows == ()
    assert table.note == "None: in 2 of 2 trials every acknowledged message was consumed."


def test_more_ranges_than_a_page_can_show_are_in_the_file() -> None:
    found = by_step(lost(2 * offset) for offset in range(ROWS_MAX + 5))
    steps, ranges = loss_tables([_trial("t1")], found)["rolling-upgrade"]
    assert len(ranges.rows) == ROWS_MAX
    assert "5 more rows are left out here" in ranges.note
    assert list(steps.links.values()) == ["analysis/lost_messages.csv"]


def test_other_incidents_have_no_table() -> None:
    assert loss_tables([_trial("t1")], {}) == {}


def test_the_file_has_a_row_a_message(tmp_path: Path) -> None:
    write_messages(tmp_path / "lost.csv", [lost(5), lost(None, **BACK)])
    rows = list(csv.DictReader((tmp_path / "lost.csv").open()))
    assert [(row["broker"], row["queue"], row["offset"], row["back"]) for row in rows] == [
        ("broker-a", "0", "5", "False"), ("broker-a", "0", "", "True"),
    ]  # fmt: skip
    write_messages(tmp_path / "none.csv", [])
    assert list(csv.DictReader((tmp_path / "none.csv").open())) == []
