"""What a group gets that starts when its topic has messages: one planted fact a trial."""

from __future__ import annotations

from scenarios import last_offset_reads_history
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import OWNER, Trial

MEASURES = ("history_read_share", "later_read_share")
IN_HOLD = "read_in_hold_share"


def _trial(run: Run, name: str, consumed: tuple[int, ...], *, drained: bool = True, at_ms: float = 3_000.0) -> Trial:
    """Four messages before the group, and two after it."""
    trial = run.trial(
        name, "last-offset-reads-history", "incident", fault="none", hold_ms=5_000.0, groups=["late"], drained=drained
    )
    for seq in range(4):
        trial.send(seq, due_ms=-2_000 + 100 * seq, offset=seq)
    for seq in (4, 5):
        trial.send(seq, due_ms=2_000 + 100 * seq, offset=seq)
    for seq in consumed:
        trial.consume(seq, at_ms=at_ms + 10 * seq, process=OWNER)
    trial.store_max(6, group="late", consumer_offset=6)
    return trial


def _made_anew(run: Run) -> None:
    """Messages of before the topic was made anew and of after it have the same places; of the latter the group skips two."""
    trial = run.trial(
        "made_anew", "last-offset-reads-history", "incident", fault="none", hold_ms=5_000.0, groups=["late"]
    )
    for seq in range(2):
        trial.send(seq, due_ms=-2_000 + 100 * seq, offset=seq)
        trial.consume(seq, at_ms=-1_000 + 10 * seq, process=OWNER)
    for seq in range(2, 6):
        trial.send(seq, due_ms=2_000 + 100 * seq, offset=seq - 2)
    for seq in (4, 5):
        trial.consume(seq - 2, at_ms=4_000 + 10 * seq, process=OWNER)
        trial.history[OWNER][-1]["seq"] = seq
    trial.store_max(4, group="late", consumer_offset=4)


def plant(run: Run) -> Asked:
    _trial(run, "reads_all", (0, 1, 2, 3, 4, 5))
    _trial(run, "reads_what_is_new", (4, 5))
    _trial(run, "reads_one_of_before_twice", (3, 3, 4, 5))
    _trial(run, "reads_nothing", ())
    _trial(run, "reads_late", (0, 1, 2, 3), at_ms=4_985.0)
    _trial(run, "reads_not_drained", (4,), drained=False)
    _made_anew(run)
    return Asked(scenarios=(last_offset_reads_history.SCENARIO,), measures=(*MEASURES, IN_HOLD))


def _shares(seen: Analysis, trial: str) -> list[float]:
    return [seen.one(measure, trial) for measure in MEASURES]


def test_what_was_there_counts_apart_from_what_came_later(seen: Analysis) -> None:
    assert _shares(seen, "reads_all") == [1, 1]
    assert _shares(seen, "reads_what_is_new") == [0, 1]
    assert _shares(seen, "reads_nothing") == [0, 0]
    assert seen.shown_record("history_read_share", "reads_all")["seq"] == 0


def test_a_message_that_comes_twice_counts_once(seen: Analysis) -> None:
    assert _shares(seen, "reads_one_of_before_twice") == [0.25, 1]


def test_what_came_within_the_hold_counts_apart_from_what_came_at_all(seen: Analysis) -> None:
    assert [seen.one(IN_HOLD, name) for name in ("reads_all", "reads_nothing")] == [1, 0]
    assert (seen.one("history_read_share", "reads_late"), seen.one(IN_HOLD, "reads_late")) == (1, 0.5)


def test_messages_are_told_by_what_they_are_not_by_their_place(seen: Analysis) -> None:
    assert _shares(seen, "made_anew") == [1, 0.5]


def test_more_may_have_come_to_a_group_that_was_not_drained(seen: Analysis) -> None:
    assert [seen.values(measure, "reads_not_drained") for measure in MEASURES] == [[], []]
