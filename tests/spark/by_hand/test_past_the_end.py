"""A group whose offset lies beyond the end of its queue: what comes again, what is skipped, by how much it is beyond."""

from __future__ import annotations

import pytest

from scenarios import offset_past_the_end
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial

MEASURES = ("consumed_again_share", "skipped_after_share", "past_end_count", "send_took_ms")
AGAIN, SKIPPED, LOST, TOOK = MEASURES
BACK_MS = 5_001.0
"""When the fault is healed."""


def _trial(run: Run, name: str, *, end: int = 3, sent_back: int = 2, drained: bool = True) -> Trial:
    """Five messages are consumed before the broker dies, of which its queue then has ``end``."""
    trial = run.trial(
        name, "offset-past-the-end", "incident", fault="broker-crash", hold_ms=5_000.0, groups=["late"], drained=drained
    )
    for seq in range(5):
        trial.send(seq, due_ms=-600 + 100 * seq, took_ms=2 + seq, offset=seq)
        trial.consume(seq, at_ms=-590 + 100 * seq)
    trial.store_max(end, group="late", consumer_offset=5, moment="held")
    for seq in range(5, 5 + sent_back):
        trial.send(seq, due_ms=BACK_MS + 10 * seq, offset=end + seq - 5)
    trial.store_max(end + sent_back, group="late", consumer_offset=end + sent_back)
    return trial


def plant(run: Run) -> Asked:
    anew = _trial(run, "begins_anew")
    for seq in (0, 1, 2, 5, 6):
        anew.consume(seq, at_ms=BACK_MS + 100 + seq)
    _trial(run, "goes_on_from_the_end")
    _trial(run, "one_is_skipped").consume(6, at_ms=BACK_MS + 200)
    _trial(run, "nothing_is_lost", end=5, sent_back=0)
    _trial(run, "resets_not_drained", drained=False)
    return Asked(scenarios=(offset_past_the_end.SCENARIO,), measures=MEASURES)


def test_what_was_consumed_before_and_comes_after_the_return_is_consumed_again(seen: Analysis) -> None:
    assert [seen.one(AGAIN, name) for name in ("begins_anew", "goes_on_from_the_end")] == [0.6, 0]


def test_what_was_sent_after_the_return_and_never_came_is_skipped(seen: Analysis) -> None:
    found = [seen.one(SKIPPED, name) for name in ("begins_anew", "one_is_skipped", "goes_on_from_the_end")]
    assert found == [0, 0.5, 1]


def test_where_nothing_was_sent_nothing_can_be_skipped(seen: Analysis) -> None:
    assert seen.values(SKIPPED, "nothing_is_lost") == []


def test_an_offset_is_beyond_the_end_by_what_the_queue_has_lost(seen: Analysis) -> None:
    assert [seen.one(LOST, name) for name in ("begins_anew", "nothing_is_lost")] == [2, 0]


def test_more_may_have_come_to_a_group_that_was_not_drained(seen: Analysis) -> None:
    assert [seen.values(measure, "resets_not_drained") for measure in (AGAIN, SKIPPED)] == [[], []]


def test_a_send_takes_as_long_as_the_median_of_those_before_the_fault(seen: Analysis) -> None:
    assert seen.one(TOOK, "begins_anew") == pytest.approx(3.999)
