"""Loss, duplicates, order, exclusivity and hand-over on histories with one planted violation each.

All trials lie in one run directory, so that they are analysed together as those of a real run are.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lib.own_scenarios import handover
from tests.lib.runs import Analysis, Run
from tests.lib.trials import MS, Record, S, Trial, at

START = at(-6_000)
MEASURES = (
    "delayed_over_1s_count", "duplicate_count", "lock_age_at_takeover_s", "message_delay_max_s", "out_of_order_count", "overlap_ms",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    trials = [
        handover("clean"),
        handover("clean-two"),
        handover("baseline", arm="baseline", fault="none"),
        _redelivered(handover("redelivered")),
        _out_of_order(handover("out-of-order")),
        _lost(handover("lost")),
        _absent(handover("absent")),
        _expired(handover("expired")),
        _unknown(handover("unknown-send")),
        _nothing_of_a_queue(handover("queue-never-consumed")),
        _passed_over(handover("passed-over")),
        _undrained(handover("undrained")),
        _store_not_read(handover("store-not-read")),
        _overlap(handover("overlap")),
        _alternating(handover("alternating")),
        _handed_back(handover("handed-back")),
        _never_taken(handover("never-taken")),
        _idle_before(handover("idle-before")),
        _truncated(handover("truncated")),
        handover("shut-down", arm="fix-shutdown", fault="shut-down-owners"),
    ]
    return analysed(new_run(trials=trials), measures=MEASURES)


def _owner(trial: Trial, offset: int, *, queue: int = 0, group: str = "g0") -> Record:
    return next(r for r in trial.consumptions(group=group, queue=queue) if r["offset"] == offset)


def _redelivered(trial: Trial) -> Trial:
    """The owner had consumed 57 to 59 without reporting it, and the successor consumes them again."""
    for offset in (57, 58, 59):
        trial.consume_again(_owner(trial, offset), process="successor", started_ns=START + 9 * S - (60 - offset) * MS)
    return trial


def _out_of_order(trial: Trial) -> Trial:
    """30 is consumed after 31."""
    first, second = _owner(trial, 30), _owner(trial, 31)
    first["started_ns"], second["started_ns"] = second["started_ns"], first["started_ns"]
    return trial


def _lost(trial: Trial) -> Trial:
    """Group g0 never gets offset 63 of queue 1 nor offset 64, on both sides of a chunk's boundary."""
    trial.drop(lambda r: r["type"] == "consume" and (r["group"], r["queue"]) == ("g0", 1) and r["offset"] in (63, 64))
    return trial


def _absent(trial: Trial) -> Trial:
    """Queue 0 was acknowledged up to 109 and the store ends at 105: its last five were never stored."""
    trial.drop(lambda r: r["type"] == "consume" and r["queue"] == 0 and r["offset"] >= 105)
    for event in trial.events:
        if event["type"] == "store_max" and event["queue"] == 0:
            event["max_offset"] = 105
    return trial


def _expired(trial: Trial) -> Trial:
    """Offsets 0 to 4 of queue 0 were not consumed, and the store does not have them any more."""
    trial.drop(lambda r: r["type"] == "consume" and r["queue"] == 0 and r["offset"] < 5)
    for event in trial.events:
        if event["type"] == "store_max" and event["queue"] == 0:
            event["min_offset"] = 5
    return trial


def _unknown(trial: Trial) -> Trial:
    """A send that timed out was not consumed: it promises nothing."""
    trial.drop(lambda r: r["type"] == "consume" and r["queue"] == 0 and r["offset"] == 20)
    for record in trial.history["producer"]:
        if record["type"] == "send" and record["queue"] == 0 and record["offset"] == 20:
            record["outcome"] = "unknown"
    return trial


def _nothing_of_a_queue(trial: Trial) -> Trial:
    """The broker says that g1 has passed 50 of queue 0, and g1 never consumed any of it."""
    trial.drop(lambda r: r["type"] == "consume" and (r["group"], r["queue"]) == ("g1", 0))
    trial.event(
        "store_max",
        topic=trial.topic,
        broker="broker-a",
        queue=0,
        min_offset=0,
        max_offset=110,
        group="g1",
        consumer_offset=50,
        moment="end",
    )
    return trial


def _passed_over(trial: Trial) -> Trial:
    """Nothing of queue 0 from 100 on was consumed by g0, nor did the broker see it pass: not below what was observed."""
    trial.drop(lambda r: r["type"] == "consume" and (r["group"], r["queue"]) == ("g0", 0) and r["offset"] >= 100)
    return trial


def _undrained(trial: Trial) -> Trial:
    for event in trial.events:
        if event["type"] == "drain":
            event |= {"complete": False, "remaining": 4}
    return _lost(trial)


def _store_not_read(trial: Trial) -> Trial:
    trial.drop(lambda r: r["type"] == "store_max")
    return _lost(trial)


def _overlap(trial: Trial) -> Trial:
    """The owner's last consumption of queue 1 goes on for exactly 1 ms of the successor's first."""
    first = min(trial.consumptions(group="g1", queue=1, process="successor"), key=lambda r: r["started_ns"])
    last = max(trial.consumptions(group="g1", queue=1, process="owner"), key=lambda r: r["started_ns"])
    last["finished_ns"] = first["started_ns"] + MS
    first["finished_ns"] = first["started_ns"] + 2 * MS
    return trial


def _alternating(trial: Trial) -> Trial:
    """Between two consumptions of the owner 100 ms apart the successor consumes for 2 ms, without any overlap."""
    record = _owner(trial, 30)
    trial.consume_again(record, process="successor", started_ns=record["started_ns"] + 50 * MS, took_ns=2 * MS)
    return trial


def _handed_back(trial: Trial) -> Trial:
    """The successor had the queue for a while, and gave it back: the owner's consumptions around it lie 2 s apart."""
    trial.drop(
        lambda r: (
            r["type"] == "consume"
            and (r["group"], r["queue"]) == ("g0", 0)
            and 25 <= r["offset"] < 45
            and r["process"] == "owner"
        )
    )
    for offset in range(25, 45):
        record = next(
            r for r in trial.history["producer"] if r["type"] == "send" and r["queue"] == 0 and r["offset"] == offset
        )
        trial.consume_again({**record, "group": "g0"}, process="successor", started_ns=record["intended_ns"] + 5 * MS)
    return trial


def _never_taken(trial: Trial) -> Trial:
    """Nobody consumes queue 1 of g1 after the kill."""
    trial.drop(
        lambda r: r["type"] == "consume" and (r["group"], r["queue"]) == ("g1", 1) and r["process"] == "successor"
    )
    return trial


def _idle_before(trial: Trial) -> Trial:
    """The owner's last consumption of queue 1 of g1 was more than 5 s before the kill: the queue was not its any more."""
    trial.drop(
        lambda r: (
            r["type"] == "consume"
            and (r["group"], r["queue"], r["process"]) == ("g1", 1, "owner")
            and r["started_ns"] >= START + S
        )
    )
    return trial


def _truncated(trial: Trial) -> Trial:
    trial.tails["owner"] = '{"type":"consume","process":"owner","instance":"g0-ow'
    return trial


# --- order ------------------------------------------------------------------------------------------------------------


def test_a_clean_trial_has_zero_of_everything_in_every_group_and_queue(run: Analysis) -> None:
    for trial in ("clean", "baseline", "shut-down"):
        for measure in ("out_of_order_count", "duplicate_count", "lost_count", "overlap_ms"):
            assert run.values(measure, trial) == [0, 0, 0, 0], (trial, measure)


def test_a_message_after_a_later_one_is_out_of_order_and_cited(run: Analysis) -> None:
    assert run.values("out_of_order_count", "out-of-order") == [0, 0, 0, 1]
    (found,) = [seen for seen in run.found("out_of_order_count", "out-of-order") if seen.value]
    assert run.record(found)["offset"] == 30
    assert run.values("duplicate_count", "out-of-order") == [0, 0, 0, 0]


def test_a_redelivery_after_a_kill_is_a_duplicate_and_no_order_violation(run: Analysis) -> None:
    assert run.values("duplicate_count", "redelivered") == [0, 0, 0, 3]
    assert run.values("out_of_order_count", "redelivered") == [0, 0, 0, 0]
    (found,) = [seen for seen in run.found("duplicate_count", "redelivered") if seen.value]
    record = run.record(found)
    assert (record["offset"], record["process"], record["group"]) == (57, "successor", "g0")


# --- loss -------------------------------------------------------------------------------------------------------------


def test_an_acknowledged_message_that_was_passed_by_is_lost_and_its_send_is_cited(run: Analysis) -> None:
    assert run.values("lost_count", "lost") == [0, 0, 0, 2]
    (found,) = [seen for seen in run.found("lost_count", "lost") if seen.value]
    record = run.record(found)
    assert (record["type"], record["queue"], record["offset"]) == ("send", 1, 63)


def test_an_acknowledged_message_that_the_store_does_not_have_is_lost_to_every_group(run: Analysis) -> None:
    assert run.values("lost_count", "absent") == [0, 0, 5, 5]


def test_an_expired_message_is_not_lost(run: Analysis) -> None:
    assert run.values("lost_count", "expired") == [0, 0, 0, 0]


def test_a_send_of_unknown_outcome_is_never_loss(run: Analysis) -> None:
    assert run.values("lost_count", "unknown-send") == [0, 0, 0, 0]


def test_a_group_that_got_nothing_of_a_queue_lost_what_the_broker_saw_it_pass(run: Analysis) -> None:
    assert run.values("lost_count", "queue-never-consumed") == [0, 0, 0, 50]


def test_loss_is_judged_only_below_what_was_observed(run: Analysis) -> None:
    assert run.values("lost_count", "passed-over") == [0, 0, 0, 0]


def test_loss_and_duplicates_are_unknown_when_the_drain_did_not_finish(run: Analysis) -> None:
    assert run.values("lost_count", "undrained") == []
    assert run.values("duplicate_count", "undrained") == []
    assert any("4 messages were left" in note for note in run.notes("undrained"))
    assert all(seen.censored for seen in run.found("message_delay_max_s", "undrained"))


def test_loss_is_unknown_when_the_store_was_not_read(run: Analysis) -> None:
    assert run.values("lost_count", "store-not-read") == []
    assert run.values("duplicate_count", "store-not-read") == [0, 0, 0, 0]


# --- exclusivity ------------------------------------------------------------------------------------------------------


def test_an_overlap_of_one_millisecond_is_found(run: Analysis) -> None:
    assert run.values("overlap_ms", "overlap") == [0, 0, 0, 1.0]
    (found,) = [seen for seen in run.found("overlap_ms", "overlap") if seen.value]
    assert run.record(found)["process"] == "successor"


def test_two_instances_that_take_turns_within_a_second_overlap(run: Analysis) -> None:
    assert run.values("overlap_ms", "alternating") == [0, 0, 0, 2.0]


def test_a_queue_that_was_given_and_given_back_does_not_overlap(run: Analysis) -> None:
    assert run.values("overlap_ms", "handed-back") == [0, 0, 0, 0]


# --- hand-over --------------------------------------------------------------------------------------------------------


def test_the_hand_over_is_from_the_kill_to_the_successors_first_consumption(run: Analysis) -> None:
    values = run.values("handover_s", "clean")
    assert len(values) == 4
    # The first message of the successor is the 60th, and each one follows 10 us after the one before.
    assert values == pytest.approx([3.0006] * 4)
    for seen in run.found("handover_s", "clean"):
        record = run.record(seen)
        assert (record["process"], record["offset"]) == ("successor", 60)
        assert not seen.censored
    assert len(run.values("handover_s", "shut-down")) == 4


def test_there_is_no_hand_over_without_a_fault(run: Analysis) -> None:
    assert run.values("handover_s", "baseline") == []
    assert run.values("lock_age_at_takeover_s", "baseline") == []


def test_a_queue_that_nobody_took_is_censored_at_the_end_of_the_trial(run: Analysis) -> None:
    censored = [seen for seen in run.found("handover_s", "never-taken") if seen.censored]
    assert [seen.value for seen in censored] == [pytest.approx(8.0)]
    assert run.record(censored[0])["process"] == "owner"
    assert len(run.found("handover_s", "never-taken")) == 4


def test_a_queue_that_was_not_the_owners_any_more_has_no_hand_over(run: Analysis) -> None:
    assert len(run.values("handover_s", "idle-before")) == 3


def test_queues_of_one_group_are_one_unit(run: Analysis) -> None:
    units = {seen.unit for seen in run.found("handover_s", "clean")}
    assert units == {"d1/clean/g0", "d1/clean/g1"}


def test_delays_are_of_messages_from_five_seconds_before_the_fault_to_the_end_of_the_hold(run: Analysis) -> None:
    # Messages 10 to 59 take 5 ms; 60 to 89 wait for the successor, 3.0 s at most; 90 to 109 take 5 ms again.
    assert run.values("message_delay_max_s", "clean") == pytest.approx([3.0006] * 4)
    # From 9.0006 s on the successor is there; messages due at 8.0 s and before waited over one second.
    assert run.values("delayed_over_1s_count", "clean") == [21, 21, 21, 21]
    assert run.values("delayed_over_1s_count", "baseline") == [0, 0, 0, 0]


# --- what a kill does to the files ------------------------------------------------------------------------------------


def test_a_truncated_last_line_is_told_and_left_out(run: Analysis) -> None:
    assert any("1 lines are no whole records" in note for note in run.notes("truncated"))
    assert run.values("out_of_order_count", "truncated") == [0, 0, 0, 0]
    assert len(run.values("handover_s", "truncated")) == 4


def test_findings_rest_on_all_trials_that_count_and_cite_their_own_lines(run: Analysis) -> None:
    found = run.finding("HAND-01")
    assert found.verdict == "confirmed"
    assert found.trials == 18
    assert found.evidence
    for line in found.evidence:
        assert (run.path / line.file).read_text().splitlines()[line.line - 1] == line.excerpt
