"""Where the sends of three producers go after a slow or failed one, by hand."""

from __future__ import annotations

import json

import pytest

from scenarios import avoidance_in_outages, broker_killed, broker_slow
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, Trial, at

MEASURES = (
    "avoided_s",
    "first_broker_share",
    "busiest_queue_share",
    "out_of_turn_share",
    "unused_queues_count",
    "failed_of_producer_share",
    "late_of_producer_share",
    "p99_of_producer_ms",
    "accepted_of_producer_per_s",
    "to_faulty_share",
)
PLACES = ("broker-a:0", "broker-b:0")


def sent(
    trial: Trial,
    producer: str,
    seq: int,
    place: str,
    *,
    at_ms: float,
    took_ms: float = 2.0,
    ok: bool = True,
    of: str = "",
) -> None:
    """A send of a producer to its own topic, or to another one of its topics."""
    broker, _, queue = place.partition(":")
    answer = {"broker": broker, "queue": int(queue), "offset": seq, "msg_id": f"M{seq}"} if ok else {"error": "gone"}
    trial.record(
        PRODUCER,
        "send",
        instance=producer,
        client="java 4.6.0",
        topic=f"{trial.topic}-{producer}{of}",
        seq=seq,
        intended_ns=at(at_ms),
        started_ns=at(at_ms),
        finished_ns=at(at_ms + took_ms),
        outcome="ok" if ok else "unknown",
        **answer,
    )


def in_turn(
    trial: Trial, producer: str, first_seq: int, *, from_ms: float, count: int, places: tuple[str, ...] = PLACES
) -> None:
    for index in range(count):
        sent(trial, producer, first_seq + index, places[index % len(places)], at_ms=from_ms + 500 * index)


def slow(run: Run, name: str) -> Trial:
    """Of one producer a send of 2 s, after which the first broker gets nothing for 30 s, and the second one all; of another
    one a send to another topic, after which nothing changes."""
    trial = run.trial(name, "broker-slow", "fix-avoidance", fault="slow-sends", hold_ms=60_000.0)
    for producer, of in (("after-1400", ""), ("fixed", "-fixed")):
        topic = f"{trial.topic}-{producer}{of}"
        trial.event(
            "reading", at_ns=at(2_100), name="slow_send_ms", value=2000.0, target=topic, moment="after", detail=""
        )
    in_turn(trial, "after-1400", 0, from_ms=-1_000, count=2)
    sent(trial, "after-1400", 2, "broker-a:0", at_ms=99, took_ms=2_001)
    in_turn(trial, "after-1400", 3, from_ms=2_200, count=60, places=("broker-b:0",))
    in_turn(trial, "after-1400", 63, from_ms=32_100, count=50)
    sent(trial, "fixed", 10_000, "broker-a:0", at_ms=99, took_ms=2_001, of="-fixed")
    in_turn(trial, "fixed", 0, from_ms=-1_000, count=120)
    return trial


def spoiled(run: Run, name: str) -> Trial:
    """The same producer, of which each time something else is slow too, or a quick send ends after the slow one."""
    trial = run.trial(name, "broker-slow", "fix-avoidance", fault="slow-sends", hold_ms=60_000.0)
    for index, producer in enumerate(("early", "other", "after", "behind")):
        slow_ms, first = 2000.0, 1000 * index
        topic = f"{trial.topic}-{producer}"
        trial.event(
            "reading", at_ns=at(2_100), name="slow_send_ms", value=slow_ms, target=topic, moment="after", detail=""
        )
        in_turn(trial, producer, first, from_ms=-1_000, count=2)
        sent(trial, producer, first + 2, "broker-a:0", at_ms=99, took_ms=2_001)
        if producer == "early":
            sent(trial, producer, first + 900, "broker-b:0", at_ms=-1_800, took_ms=600)
        if producer == "other":
            sent(trial, producer, first + 900, "broker-b:0", at_ms=20_000, took_ms=600)
        if producer == "behind":
            sent(trial, producer, first + 900, "broker-a:0", at_ms=2_080, took_ms=40)
        in_turn(trial, producer, first + 3, from_ms=2_200, count=60, places=("broker-b:0",))
        in_turn(trial, producer, first + 63, from_ms=32_100, count=20)
        if producer == "after":
            sent(trial, producer, first + 900, "broker-b:0", at_ms=40_000, took_ms=600)
    return trial


def killed(run: Run, name: str) -> Trial:
    """A producer whose last send that failed ended at 4 s, and that goes on to send in turn, by number."""
    trial = run.trial(name, "broker-killed", "incident", fault="restart-broker", hold_ms=20_000.0)
    in_turn(trial, "once", 0, from_ms=-1_000, count=2)
    for index in range(4):
        sent(trial, "once", 2 + 2 * index, "broker-a:0", at_ms=1_000 * index, ok=False)
        sent(trial, "once", 3 + 2 * index, "broker-b:0", at_ms=1_000 * index + 500)
    in_turn(trial, "once", 10, from_ms=4_002, count=30)
    return trial


def outage(run: Run, name: str) -> Trial:
    """Forty seconds in which every fourth send of one producer is late or fails, and after which it gets none there."""
    trial = run.trial(name, "avoidance-in-outages", "fix-stopped", fault="pause-node", hold_ms=40_000.0)
    for second in range(40):
        is_late = second % 4 == 0
        took_ms = {0: 3_000.0, 4: 1_200.0}.get(second % 8, 2.0)
        sent(trial, "on", second, PLACES[is_late ^ 1], at_ms=1_000 * second + 500, took_ms=took_ms, ok=second % 8 != 0)
    for second in range(25):
        place = PLACES[1] if second >= 10 else PLACES[0]
        sent(trial, "on", 40 + second, place, at_ms=40_500 + 1_000 * second, took_ms=2.0)
    return trial


def plant(run: Run) -> Asked:
    slow(run, "slow")
    killed(run, "killed")
    spoiled(run, "spoiled")
    outage(run, "outage")
    scenarios = (broker_slow.SCENARIO, broker_killed.SCENARIO, avoidance_in_outages.SCENARIO)
    return Asked(scenarios=scenarios, measures=MEASURES)


def test_a_broker_is_avoided_from_the_end_of_the_slow_send_to_the_next_send_to_it(seen: Analysis) -> None:
    assert seen.one("avoided_s", "slow", producer="after-1400") == pytest.approx(30.0)
    assert seen.shown_record("avoided_s", "slow", producer="after-1400")["seq"] == 63


def test_a_slow_send_to_another_topic_counts_for_the_normal_sends_of_its_producer(seen: Analysis) -> None:
    assert seen.one("avoided_s", "slow", producer="fixed") == pytest.approx(0.9)


def test_a_producer_whose_other_sends_were_slow_too_says_nothing_of_the_one(seen: Analysis) -> None:
    kept = {json.loads(row.params)["producer"]: row.value for row in seen.found("avoided_s", "spoiled")}
    assert kept == {"after": pytest.approx(30.0)}
    assert seen.values("first_broker_share", "spoiled", producer="early") == []
    assert len(seen.values("first_broker_share", "spoiled")) == 3
    assert seen.values("out_of_turn_share", "spoiled", producer="after") == []
    assert len(seen.values("out_of_turn_share", "spoiled")) == 1


def test_shares_are_those_of_the_seconds_after_it(seen: Analysis) -> None:
    assert seen.one("first_broker_share", "slow", producer="after-1400") == 0.0
    assert seen.one("busiest_queue_share", "slow", producer="after-1400") == 1.0
    assert seen.one("first_broker_share", "slow", producer="fixed") == pytest.approx(0.5)


def test_a_broker_that_was_gone_is_avoided_from_the_last_send_that_failed(seen: Analysis) -> None:
    assert seen.one("avoided_s", "killed", producer="once") == pytest.approx(1.0)
    assert seen.one("failed_of_producer_share", "killed", producer="once") == pytest.approx(4 / 38, rel=0.1)


def test_a_turn_that_failed_is_a_turn(seen: Analysis) -> None:
    assert seen.one("out_of_turn_share", "killed", producer="once") == 0.0
    assert seen.one("out_of_turn_share", "slow", producer="fixed") == 0.0
    assert seen.one("out_of_turn_share", "slow", producer="after-1400") > 0.2


def test_queues_that_are_used_to_the_end_are_not_unused(seen: Analysis) -> None:
    assert seen.one("unused_queues_count", "slow", producer="fixed") == 0.0


def test_an_outage_is_told_by_what_was_due_in_it(seen: Analysis) -> None:
    during = {"producer": "on", "when": "during"}
    assert seen.one("late_of_producer_share", "outage", **during) == pytest.approx(10 / 40)
    assert seen.one("p99_of_producer_ms", "outage", **during) == pytest.approx(3_000)
    assert seen.shown_record("p99_of_producer_ms", "outage", **during)["outcome"] == "unknown"
    assert seen.one("accepted_of_producer_per_s", "outage", **during) == pytest.approx(35 / 40, rel=0.01)
    assert seen.one("to_faulty_share", "outage", **during) == pytest.approx(5 / 35)


def test_after_an_outage_its_first_ten_seconds_do_not_count(seen: Analysis) -> None:
    after = {"producer": "on", "when": "after"}
    assert seen.one("late_of_producer_share", "outage", **after) == 0.0
    assert seen.one("to_faulty_share", "outage", **after) == 0.0
    assert seen.one("accepted_of_producer_per_s", "outage", **after) == pytest.approx(1.0)
