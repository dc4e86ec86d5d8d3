"""Sends that a broker stored without being sure of it: told apart by status, and from successes, refusals, timeouts."""

from __future__ import annotations

import pytest

from harness.model.rocketmq import STORED_UNSURE
from scenarios import append_stall
from tests.lib.runs import Analysis, Asked, Run

MEASURES = ("failed_count", "stored_unsure_count", "unknown_count")
FLUSH_DISK, FLUSH_SLAVE, NO_SLAVE = STORED_UNSURE
SENT_MS = 1_000.0


def plant(run: Run) -> Asked:
    """Eleven sends that ended with SEND_OK are in each trial."""
    run.stalled("all_ok")

    others = run.stalled("refused_and_timed_out")
    others.refused(50, "PC_SYNCHRONIZED", due_ms=SENT_MS)
    others.send(51, due_ms=SENT_MS, outcome="unknown")

    each = run.stalled("each_status")
    each.refused(50, "PC_SYNCHRONIZED", due_ms=SENT_MS)
    each.send(51, due_ms=SENT_MS, outcome="unknown")
    for seq, status in enumerate((FLUSH_DISK, FLUSH_SLAVE, FLUSH_SLAVE, NO_SLAVE, NO_SLAVE, NO_SLAVE), start=60):
        each.send(seq, due_ms=SENT_MS + seq, outcome="unknown", offset=seq, status=status)
    return Asked(scenarios=(append_stall.SCENARIO,), measures=MEASURES)


def counts(seen: Analysis, trial: str) -> dict[str, float]:
    return {status: seen.one("stored_unsure_count", trial, status=status) for status in STORED_UNSURE}


def test_each_status_is_counted_apart_and_shows_its_first_send(seen: Analysis) -> None:
    assert counts(seen, "each_status") == {FLUSH_DISK: 1, FLUSH_SLAVE: 2, NO_SLAVE: 3}
    shown = seen.shown_record("stored_unsure_count", "each_status", status=FLUSH_SLAVE)
    assert (shown["seq"], shown["status"]) == (61, FLUSH_SLAVE)


@pytest.mark.parametrize("trial", ["all_ok", "refused_and_timed_out"])
def test_successes_refusals_and_timeouts_are_none_of_them(seen: Analysis, trial: str) -> None:
    assert counts(seen, trial) == dict.fromkeys(STORED_UNSURE, 0)
    for status in STORED_UNSURE:
        assert seen.shown_record("stored_unsure_count", trial, status=status)["type"] == "fault"


def test_the_other_outcomes_are_what_they_were(seen: Analysis) -> None:
    for trial, unknown in (("all_ok", 0), ("refused_and_timed_out", 1), ("each_status", 7)):
        assert seen.one("unknown_count", trial) == unknown
        assert seen.one("failed_count", trial) == (trial != "all_ok")
