"""Transactions that brokers ask about, deliver late or twice, or give up: one planted fact a trial."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from harness.model.loads import COMMITTED, UNDECIDED
from harness.model.rocketmq import CHECKS_MAX
from scenarios import delete_topic_rechecks_transactions
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import OWNER, PRODUCER, Trial, at

MEASURES = (
    "asked_again_count", "committed_twice_count", "committed_late_share", "given_up_s", "transaction_ms"
)  # fmt: skip
HOLD_MS = 20_000.0
SECONDS = range(-4, 14)
"""A transaction of each state is sent each second; sequence numbers go through the states."""
STATES = 3


def _seq(second: int, state: int = COMMITTED) -> int:
    return (second - SECONDS[0]) * STATES + state


def _trial(
    run: Run, name: str, *, late_ms: Callable[[int], float | None] = lambda second: 20.0, twice: Collection[int] = (),
    drained: bool = True,
) -> Trial:  # fmt: skip
    """``late_ms`` says how long after its send a committed message comes; None: never."""
    trial = run.trial(
        name, "delete-topic-rechecks-transactions", "incident", fault="delete-topic", hold_ms=HOLD_MS, groups=["g0"],
        drained=drained,
    )  # fmt: skip
    for second in SECONDS:
        for state in range(STATES):
            trial.send(_seq(second, state), due_ms=second * 1_000.0, took_ms=4.0)
            trial.history[PRODUCER][-1]["key"] = f"state{state}"
        came = late_ms(second)
        copies = 2 if second in twice else 1
        for copy in range(copies if came is not None else 0):
            trial.consume(_seq(second) + 1_000 * copy, at_ms=second * 1_000.0 + 4.0 + (came or 0.0), process=OWNER)
            trial.history[OWNER][-1]["seq"] = _seq(second)
    return trial


def _ask(trial: Trial, seq: int, *at_s: float) -> None:
    for seconds in at_s:
        trial.record(PRODUCER, "check", seq=seq, key=f"state{seq % STATES}", at_ns=at(seconds * 1_000.0))


def _plain(trial: Trial) -> None:
    """A message that is no transaction."""
    trial.send(10**9, due_ms=-4_500.0)


def plant(run: Run) -> Asked:
    _plain(_trial(run, "as_it_should_be"))
    asked = _trial(run, "asked_again", twice=(-1, 0))
    _ask(asked, _seq(-3), -1.0)
    _ask(asked, _seq(-2), 3.0, 9.0)
    _ask(asked, _seq(-1, 1), 3.5)
    _ask(asked, _seq(-1, UNDECIDED), 3.5)
    _trial(run, "late", late_ms=lambda second: None if second % 2 else 6_000.0 if second % 4 else 20.0)
    given_up = _trial(run, "given_up")
    _ask(given_up, _seq(-4, UNDECIDED), *(2.0 + number for number in range(CHECKS_MAX)))
    _ask(given_up, _seq(-3, UNDECIDED), *(2.0 + number for number in range(CHECKS_MAX - 1)))
    _ask(_trial(run, "checks_not_drained", drained=False), _seq(-2), 3.0)
    return Asked(scenarios=(delete_topic_rechecks_transactions.SCENARIO,), measures=MEASURES)


def _asked(seen: Analysis, trial: str) -> list[float]:
    return [seen.one("asked_again_count", trial, by=by) for by in ("before", "after")]


def test_where_nothing_is_asked_and_all_comes_at_once_there_is_nothing_to_count(seen: Analysis) -> None:
    assert _asked(seen, "as_it_should_be") == [0, 0]
    assert seen.one("committed_twice_count", "as_it_should_be") == 0
    assert seen.one("committed_late_share", "as_it_should_be") == 0
    assert seen.found("given_up_s", "as_it_should_be") == []
    assert seen.one("transaction_ms", "as_it_should_be") == pytest.approx(4.0, abs=0.01)


def test_ended_transactions_count_once_however_often_they_are_asked_about_and_undecided_ones_do_not(
    seen: Analysis,
) -> None:
    assert _asked(seen, "asked_again") == [1, 2]
    assert seen.shown_record("asked_again_count", "asked_again", by="after")["type"] == "check"


def test_a_message_that_lies_in_two_places_of_its_topic_came_twice(seen: Analysis) -> None:
    assert seen.one("committed_twice_count", "asked_again") == 2
    assert seen.shown_record("committed_twice_count", "asked_again")["seq"] == _seq(-1)


def test_late_is_what_comes_after_5_s_or_never_of_what_was_sent_since_the_fault(seen: Analysis) -> None:
    # Of the seconds 1 to 13 the seven odd ones never come, and three of the even ones 6 s late.
    assert seen.one("committed_late_share", "late") == pytest.approx(10 / 13)
    assert seen.shown_record("committed_late_share", "late")["seq"] == _seq(1)


def test_given_up_is_what_was_asked_about_as_often_as_a_broker_asks(seen: Analysis) -> None:
    assert seen.one("given_up_s", "given_up") == pytest.approx(4.0 + 2.0 + CHECKS_MAX - 1, abs=0.01)


def test_more_may_come_where_the_load_was_not_drained(seen: Analysis) -> None:
    assert [seen.found(measure, "checks_not_drained") for measure in MEASURES] == [[]] * len(MEASURES)
