"""Messages of a rolling upgrade, restart by restart, in histories made by hand."""

from __future__ import annotations

import csv
import json

import pytest

from analysis.ledger.runs import FINDINGS, read_lines
from analysis.report.document import load_report_data
from analysis.report.losses import LOST_FILE
from analysis.verdicts.losses import LostRange, LostStep
from scenarios import rolling_upgrade
from tests.lib.own_names import own_name
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, SUCCESSOR, Trial, at

MEASURES = (
    "step_again_count",
    "step_failed_share",
    "step_key_silent_s",
    "step_lost_count",
    "step_silent_s",
    "step_took_s",
)

GROUPS = ["group-hash", "group-normal"]


def sent(trial: Trial, kind: str, seq: int, *, at_ms: float, key: str = "", ok: bool = True) -> None:
    """A send that takes 10 ms, and is consumed once by the group of its kind if it is acknowledged."""
    answer = {"broker": "broker-a", "queue": 0, "offset": seq, "msg_id": f"M{seq}"} if ok else {"error": "gone"}
    trial.record(
        PRODUCER, "send", instance=f"producer-{kind}", client="java 4.6.0", topic=f"{trial.topic}-{kind}", key=key, seq=seq,
        intended_ns=at(at_ms), started_ns=at(at_ms), finished_ns=at(at_ms + 10), outcome="ok" if ok else "unknown", **answer,
    )  # fmt: skip
    if ok:
        consumed(trial, kind, seq, at_ms=at_ms + 20, key=key)


def consumed(trial: Trial, kind: str, seq: int, *, at_ms: float, key: str = "") -> None:
    trial.record(
        SUCCESSOR, "consume", instance=f"member-{kind}", group=f"group-{kind}", topic=f"{trial.topic}-{kind}",
        broker="broker-a", queue=0, offset=seq, key=key, seq=seq, intended_ns=at(at_ms - 20), stored_ms=0, started_ns=at(at_ms),
        finished_ns=at(at_ms + 1), outcome="ok", reconsume=0,
    )  # fmt: skip


def restarted(
    trial: Trial, step: int, role: str, node: str, *, at_ms: float, took_ms: float, back: bool = False
) -> None:
    was, becomes = ("5.5.0", "4.6.0") if back else ("4.6.0", "5.5.0")
    trial.event(
        "restart", at_ns=at(at_ms + took_ms), node=node, role=role, step=step, from_release=was, to_release=becomes,
        orderly=True, stopping_ns=at(at_ms), stopped_ns=at(at_ms + 500), ready_ns=at(at_ms + took_ms),
    )  # fmt: skip


def upgraded(run: Run, name: str, *, drained: bool = True) -> Trial:
    """A slave is restarted at 1 s and a master at 10 s: of two keys one gets nothing through for 4 s then, message 2 never
    comes, message 12 comes again."""
    trial = run.trial(
        name, "rolling-upgrade", "incident", fault="rolling-upgrade", hold_ms=20_000.0, drained=drained, groups=GROUPS
    )
    restarted(trial, 1, "slave", "broker-a-s1", at_ms=1_000, took_ms=8_000)
    restarted(trial, 2, "master", "broker-a", at_ms=10_000, took_ms=9_000)
    for second in range(20):
        sent(trial, "normal", second, at_ms=1_000 * second)
        for key in ("k0", "k1"):
            gone = key == "k1" and 11 <= second < 14
            sent(trial, "hash", 100 * int(key[1]) + second, at_ms=1_000 * second, key=key, ok=not gone)
    trial.drop(lambda record: record["type"] == "consume" and record["group"].endswith("normal") and record["seq"] == 2)
    consumed(trial, "normal", 12, at_ms=15_000)
    # An answer that was on its way when the master was told to end is the master's.
    sent(trial, "normal", 50, at_ms=9_995)
    trial.drop(lambda record: record["type"] == "consume" and record["seq"] == 50)
    return trial


def rolled_back(run: Run, name: str) -> Trial:
    """A master is upgraded at 1 s and goes back at 10 s. Message 3, sent after the first, and message 120 of key k1, which was
    under way when the second came, are lost."""
    trial = run.trial(
        name, "rolling-upgrade", "incident-rollback", fault="rolling-upgrade", hold_ms=20_000.0, groups=GROUPS
    )
    restarted(trial, 1, "master", "broker-a", at_ms=1_000, took_ms=8_000)
    restarted(trial, 2, "master", "broker-a", at_ms=10_000, took_ms=9_000, back=True)
    for second in range(20):
        sent(trial, "normal", second, at_ms=1_000 * second)
        sent(trial, "hash", 100 + second, at_ms=1_000 * second, key="k1")
    sent(trial, "hash", 120, at_ms=9_995, key="k1")
    trial.drop(lambda record: record["type"] == "consume" and record["seq"] in (3, 120))
    return trial


def undisturbed(run: Run, name: str) -> Trial:
    trial = run.trial(name, "rolling-upgrade", "baseline", hold_ms=20_000.0, groups=GROUPS)
    for second in range(20):
        sent(trial, "normal", second, at_ms=1_000 * second)
    return trial


def plant(run: Run) -> Asked:
    upgraded(run, "upgraded")
    upgraded(run, "not-drained", drained=False)
    rolled_back(run, "rolled-back")
    undisturbed(run, "undisturbed")
    return Asked(scenarios=(rolling_upgrade.SCENARIO,), measures=MEASURES)


def losses(seen: Analysis, trial: str) -> tuple[LostStep, ...]:
    """What the record keeps of a trial's lost messages, where they were judged."""
    (kept,) = [one for one in read_lines(seen.path / FINDINGS).trials if one.trial == trial]
    assert kept.lost is not None
    return kept.lost


def test_a_message_that_never_came_is_of_the_restart_before_its_answer(seen: Analysis) -> None:
    assert seen.one("step_lost_count", "upgraded", role="slave") == 1.0
    assert seen.shown_record("step_lost_count", "upgraded", role="slave")["seq"] == 2
    assert seen.one("step_lost_count", "upgraded", role="master") == 1.0
    assert seen.shown_record("step_lost_count", "upgraded", role="master")["seq"] == 50


def test_each_lost_message_is_listed_with_the_step_that_lost_it(seen: Analysis) -> None:
    slave, master = losses(seen, "upgraded")
    assert [(one.step, one.role, one.node, one.back, one.count) for one in (slave, master)] == [
        (1, "slave", "broker-a-s1", False, 1), (2, "master", "broker-a", False, 1),
    ]  # fmt: skip
    assert slave.ranges == (
        LostRange(
            topic="T-upgraded-normal", broker="broker-a", queue=0, first=2, last=2, count=1, seqs=(2,), sent_s=1.0,
            sent_to_s=1.0, stop_s=8.0,
        ),
    )  # fmt: skip
    (range_of_master,) = master.ranges
    assert (range_of_master.seqs, range_of_master.sent_s, range_of_master.stop_s) == ((50,), -0.005, 0.005)


def test_a_message_that_a_roll_back_lost_is_listed_as_that(seen: Analysis) -> None:
    there, back = losses(seen, "rolled-back")
    assert (there.node, there.back, there.from_release, there.to_release) == ("broker-a", False, "4.6.0", "5.5.0")
    assert (back.node, back.back, back.from_release, back.to_release) == ("broker-a", True, "5.5.0", "4.6.0")
    assert [(one.topic, one.first, one.seqs, one.keys) for one in (*there.ranges, *back.ranges)] == [
        ("T-rolled-back-normal", 3, (3,), ()), ("T-rolled-back-hash", 120, (120,), ("k1",)),
    ]  # fmt: skip


def test_nothing_lost_is_an_empty_list_and_what_cannot_be_judged_is_none(seen: Analysis) -> None:
    assert losses(seen, "undisturbed") == ()
    kept = {one.trial: one for one in read_lines(seen.path / FINDINGS).trials}
    assert kept["not-drained"].lost is None


def test_the_file_and_the_report_have_every_lost_message(seen: Analysis) -> None:
    told = list(csv.DictReader((seen.path / LOST_FILE).open()))
    # Other files' trials with such a load are in one run with these.
    rows = [row for row in told if row["trial"] in ("rolled-back", "upgraded")]
    assert [(row["trial"], row["step"], row["seq"], row["offset"]) for row in rows] == [
        ("rolled-back", "1", "3", "3"),
        ("rolled-back", "2", "120", "120"),
        ("upgraded", "1", "2", "2"),
        ("upgraded", "2", "50", "50"),
    ]
    for row in rows:
        sent_record = json.loads((seen.path / row["file"]).read_text().splitlines()[int(row["line"]) - 1])
        assert (sent_record["type"], sent_record["seq"]) == ("send", int(row["seq"]))
    counts, ranges = load_report_data(seen.path).tables[own_name("rolling-upgrade")]
    assert counts.note.startswith("4 in 2 of 3 trials")
    assert (len(counts.rows), len(ranges.rows)) == (4, 4)


def test_what_was_not_acknowledged_failed_and_is_not_lost(seen: Analysis) -> None:
    assert seen.one("step_lost_count", "upgraded", role="master") == 1.0
    assert seen.one("step_failed_share", "upgraded", role="master", send="hash") == pytest.approx(3 / 20)
    assert seen.one("step_failed_share", "upgraded", role="slave", send="hash") == 0.0


def test_a_message_that_came_again_is_counted_where_it_was_sent(seen: Analysis) -> None:
    assert seen.one("step_again_count", "upgraded", role="master") == 1.0
    assert seen.one("step_again_count", "upgraded", role="slave") == 0.0


def test_silence_is_that_of_all_sends_and_that_of_one_key(seen: Analysis) -> None:
    assert seen.one("step_silent_s", "upgraded", role="master", send="hash") == pytest.approx(1.0)
    assert seen.one("step_key_silent_s", "upgraded", role="master", send="hash") == pytest.approx(4.0)
    assert seen.one("step_key_silent_s", "upgraded", role="slave", send="hash") == pytest.approx(1.0)


def test_a_restart_takes_until_its_node_can_be_used(seen: Analysis) -> None:
    assert seen.one("step_took_s", "upgraded", role="slave") == pytest.approx(8.0)
    assert seen.one("step_took_s", "upgraded", role="master") == pytest.approx(9.0)


def test_loss_is_not_judged_where_messages_were_left(seen: Analysis) -> None:
    assert seen.values("step_lost_count", "not-drained") == []
    assert seen.one("step_failed_share", "not-drained", role="master", send="hash") == pytest.approx(3 / 20)


def test_a_trial_without_restarts_is_one_step(seen: Analysis) -> None:
    assert seen.one("step_lost_count", "undisturbed", role="none") == 0.0
    assert seen.one("step_silent_s", "undisturbed", role="none", send="normal") == pytest.approx(1.0)
    assert seen.values("step_took_s", "undisturbed") == []
