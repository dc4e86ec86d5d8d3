"""A broker that forgets messages gives their offsets to others: what was lost is told by the messages, not by their offsets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenarios import ordered_lock_handover
from tests.lib.runs import Analysis, Run
from tests.lib.trials import SUCCESSOR, Trial

MEASURES = ("lost_count", "duplicate_count", "out_of_order_count")
FORGOTTEN = range(100, 103)
"""Numbers of messages that were acknowledged at the offsets 2, 3 and 4, and are not in the store any more."""


def _forgotten(trial: Trial) -> None:
    for offset, seq in enumerate(FORGOTTEN, 2):
        trial.send(seq, due_ms=1, offset=offset)


def _consume_forgotten(trial: Trial, seqs: range) -> None:
    for seq in seqs:
        trial.consume(2 + FORGOTTEN.index(seq), at_ms=3, process=SUCCESSOR)
        trial.history[SUCCESSOR][-1] |= {"seq": seq, "key": f"k{seq}"}


@pytest.fixture(scope="module")
def seen(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    run = new_run("ordered-lock-handover")
    run.ordered("clean")
    _forgotten(run.ordered("never_consumed"))
    one = run.ordered("one_consumed_before", queues=(0, 1))
    _forgotten(one)
    _consume_forgotten(one, FORGOTTEN[:1])
    all_of_them = run.ordered("all_consumed_before")
    _forgotten(all_of_them)
    _consume_forgotten(all_of_them, FORGOTTEN)
    neither = run.ordered("neither_consumed")
    _forgotten(neither)
    neither.history = {
        name: [one for one in records if not (one["type"] == "consume" and one["offset"] == 3)]
        for name, records in neither.history.items()
    }
    return analysed(run, ordered_lock_handover.SCENARIO, measures=MEASURES)


@pytest.mark.parametrize(
    ("trial", "lost"),
    [("clean", 0), ("never_consumed", 3), ("all_consumed_before", 0), ("neither_consumed", 4)],
)
def test_a_message_whose_offset_another_one_has_is_lost_where_it_was_not_consumed(
    seen: Analysis, trial: str, lost: int
) -> None:
    assert seen.one("lost_count", trial) == lost


def test_a_queue_beside_it_is_counted_as_ever(seen: Analysis) -> None:
    assert sorted(seen.values("lost_count", "one_consumed_before")) == [0, 2]
    assert seen.values("duplicate_count", "one_consumed_before") == [0]


@pytest.mark.parametrize("measure", ["duplicate_count", "out_of_order_count"])
def test_offsets_that_were_given_again_tell_neither_order_nor_repeats(seen: Analysis, measure: str) -> None:
    assert seen.values(measure, "clean") == [0]
    assert seen.values(measure, "all_consumed_before") == []
