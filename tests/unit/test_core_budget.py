from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from harness.plan.core_budget import CoreBudget, fits


def test_what_fits_is_served_and_what_does_not_waits_for_it() -> None:
    budget = CoreBudget(1.0, threading.Event())
    order: list[str] = []
    first_is_in, let_first_go = threading.Event(), threading.Event()

    def first() -> None:
        with budget.taken(0.7):
            first_is_in.set()
            let_first_go.wait(30)
            order.append("first ends")

    def other(name: str, cores: float) -> None:
        with budget.taken(cores):
            order.append(name)

    budget.expect(4)
    with ThreadPoolExecutor(4) as pool:
        pool.submit(first)
        assert first_is_in.wait(30)
        other("small", 0.3)
        large = pool.submit(other, "large", 0.8)
        # The small one that comes after it must not keep it waiting for ever.
        assert budget.expects_few(2, 30)
        assert not large.done()
        let_first_go.set()
        large.result(30)
        other("small", 0.1)
    assert order == ["small", "first ends", "large", "small"]
    assert budget.expects_few(0, 0)


def test_one_that_is_larger_than_all_is_served_alone() -> None:
    assert fits([], 3.0, of=2.0)
    assert not fits([0.1], 3.0, of=2.0)
    assert fits([1.5], 0.5, of=2.0)
    with CoreBudget(2.0, threading.Event()).taken(3.0):
        pass


def test_a_cancelled_run_lets_everybody_in() -> None:
    cancel = threading.Event()
    budget = CoreBudget(1.0, cancel)
    with budget.taken(1.0), ThreadPoolExecutor(1) as pool:

        def late() -> bool:
            with budget.taken(1.0):
                return cancel.is_set()

        waits = pool.submit(late)
        cancel.set()
        assert waits.result(30)


def test_without_cores_one_at_a_time_finds_room_and_all_do_when_there_are_some() -> None:
    budget = CoreBudget(0.0, threading.Event())
    first_is_in, let_first_go = threading.Event(), threading.Event()

    def first() -> None:
        with budget.taken(0.3):
            first_is_in.set()
            let_first_go.wait(30)

    def second() -> None:
        with budget.taken(0.3):
            return

    budget.expect(2)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        assert first_is_in.wait(30)
        waits = pool.submit(second)
        assert not budget.expects_few(0, 0.2)
        budget.has(1.0)
        waits.result(30)
        let_first_go.set()


def test_beside_others_one_that_waits_for_rest_begins_when_there_was_some() -> None:
    has_rested = threading.Event()
    asked = threading.Event()

    def rested() -> bool:
        asked.set()
        return has_rested.is_set()

    budget = CoreBudget(2.0, threading.Event(), rested)

    def second() -> None:
        with budget.taken(0.1, after_rest=True):
            return

    with budget.taken(0.1, after_rest=True), ThreadPoolExecutor(1) as pool:
        assert not asked.is_set(), "nobody else had any"
        waits = pool.submit(second)
        assert asked.wait(30)
        assert not waits.done()
        has_rested.set()
        waits.result(30)


def test_those_that_will_not_come_are_not_waited_for() -> None:
    budget = CoreBudget(1.0, threading.Event())
    budget.expect(3)
    assert not budget.expects_few(2, 0)
    budget.expect(-3)
    assert budget.expects_few(0, 0)
