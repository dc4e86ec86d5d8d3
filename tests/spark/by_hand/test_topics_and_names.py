"""Views of name servers, refused registrations, retries and senders, in histories made by hand."""

from __future__ import annotations

import pytest

from scenarios import dead_letter, name_server_divergence, retry_topic_flood
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial, at, log_time, started

ALL = "broker-a:0,broker-b:0"
FIRST = "broker-a:0"
SILENT = "no answer"
LEVELS = "1s 2s 1s 2s 3s"
"""Retries 1, 2 and 3 come after 1, 2 and 3 s."""
MEASURES = (
    "back_untold",
    "consumption_count",
    "dead_letter_share",
    "duplicate_messages",
    "failed_send_share",
    "frame_bytes_over",
    "frame_bytes_refused",
    "late_messages",
    "notice_s",
    "ok_lines",
    "other_delay_s",
    "refusals_logged",
    "registration_failures",
    "retry_late_s",
    "route_absent_s",
    "route_stays_s",
    "server_silent_s",
    "size_lines",
    "through_s",
    "topic_count_lines",
    "unregistered_s",
    "views_differ_s",
)


def _view(trial: Trial, server: str, after_ms: float, registered: str, routed: str = "q") -> None:
    trial.event("route", node=server, at_ns=at(after_ms), topic=trial.topic, registered=registered, routed=routed)


def _consumed(
    trial: Trial,
    seq: int,
    at_ms: float,
    *,
    due_ms: float = 0.0,
    fails: bool = False,
    retry: int = 0,
    group: str | None = None,
) -> None:
    trial.record(
        "consumer",
        "consume",
        instance="consumer",
        group=group or trial.group,
        topic=f"%RETRY%{trial.group}" if retry else trial.topic,
        broker="broker-a",
        queue=0,
        offset=seq,
        seq=seq,
        intended_ns=at(due_ms),
        started_ns=at(at_ms),
        finished_ns=at(at_ms + 1),
        outcome="failed" if fails else "ok",
        reconsume=retry,
        stored_ms=0,
    )


def plant(run: Run) -> Asked:
    parted = run.trial(
        "parted",
        "name-server-divergence",
        "incident-more-queues",
        fault="more-queues",
        groups=["parted-g0"],
    )
    for server in ("namesrv-1", "namesrv-2", "namesrv-3"):
        _view(parted, server, -5_000, ALL)
    _view(parted, "namesrv-3", 10_000, FIRST)
    _view(parted, "namesrv-3", 25_000, SILENT)
    _view(parted, "namesrv-3", 29_000, ALL)
    for seq, due_ms, queue, outcome in (
        (0, -100, 0, "ok"),
        (1, 500, 1, "ok"),
        (2, 7_000, 4, "ok"),
        (3, 8_000, 0, "failed"),
    ):
        parted.send(seq, due_ms=due_ms, queue=queue, offset=seq, outcome=outcome)
    _consumed(parted, 1, 600, due_ms=500)
    _consumed(parted, 1, 700, due_ms=500)
    _consumed(parted, 2, 40_000, due_ms=7_000)

    over = run.trial("over", "name-server-divergence", "incident-more-queues", fault="more-queues", groups=["over-g0"])
    over.send(0, due_ms=-3_000, offset=0)
    over.send(1, due_ms=-100, queue=1, offset=1)

    apart = run.trial(
        "apart", "name-server-divergence", "incident-unheard-broker", groups=["apart-g0"], fault="unheard-broker"
    )
    for server in ("namesrv-1", "namesrv-2", "namesrv-3"):
        _view(apart, server, -5_000, ALL)
    _view(apart, "namesrv-3", 50_000, FIRST)
    _consumed(apart, 1, 55_000, due_ms=500)
    _consumed(apart, 1, 52_000, due_ms=500, group="apart-g1")
    _consumed(apart, 1, 53_000, due_ms=500, group="apart-g1")

    registered = "INFO [t] RocketmqBroker - register broker[0]to name server 127.0.0.1:9876 OK"
    in_turn = run.trial(
        "in_turn", "name-server-divergence", "incident-server-paused", fault="pause-node", groups=["in_turn-g0"]
    )
    run.log(
        in_turn.deployment,
        "broker.log",
        started(),
        *(f"{log_time(at_ms)} {registered}" for at_ms in (-70_000, -40_000, -10_000, 44_000)),
        f"{log_time(20_000)} WARN [t] RocketmqBroker - registerBroker Exception, 127.0.0.1:9876",
    )
    for name, back_ms, registered_ms in (
        ("topic_told", 20_400, 20_000),
        ("topic_untold", 20_400, 15_000),
        ("topic_gone", None, 15_000),
    ):
        lost = run.trial(
            name, "name-server-divergence", "incident-forgotten-topic", fault="forgotten-topic", groups=[f"{name}-g0"]
        )
        _view(lost, "namesrv-1", -5_000, ALL)
        _view(lost, "namesrv-1", 300, ALL, routed="")
        if back_ms is not None:
            _view(lost, "namesrv-1", back_ms, ALL)
        run.log(lost.deployment, "broker.log", started(), f"{log_time(registered_ms)} {registered}")

    agreed = run.trial("agreed", "name-server-divergence", "baseline", groups=["agreed-g0"])
    for server in ("namesrv-1", "namesrv-2", "namesrv-3"):
        _view(agreed, server, -5_000, ALL)
    agreed.send(0, due_ms=100, offset=0)
    _consumed(agreed, 0, 110, due_ms=100)

    run.deployment("d-failing", incident="dead-letter", conf={"messageDelayLevel": LEVELS})
    failing = run.trial("failing", "dead-letter", "incident", deployment="d-failing", groups=["failing-g0"])
    for retry, at_ms in enumerate((100, 1_150, 3_250, 6_200)):
        _consumed(failing, 10, at_ms, fails=True, retry=retry)
    for retry, at_ms in enumerate((100, 600)):
        _consumed(failing, 20, at_ms, fails=True, retry=retry)
    _consumed(failing, 11, 50, due_ms=20)
    # Message 12 is never consumed; 30 is not either, and would have failed as each tenth does.
    for seq, due_ms in ((10, 10), (11, 20), (12, 30), (20, 40), (30, 50)):
        failing.send(seq, due_ms=due_ms, offset=seq)
    failing.event(
        "probe",
        at_ns=at(1),
        measure="dead_letter_share",
        value=0.5,
        of="g",
        params="{}",
        detail="1 of 2",
    )

    flooded = run.trial("flooded", "retry-topic-flood", "incident", groups=["flooded-g0"], params={"name_bytes": 54})
    flooded.send(0, due_ms=100, offset=0)
    flooded.event(
        "probe",
        at_ns=at(1_000),
        measure="topics_at_limit",
        value=1107.0,
        of="broker-a",
        params="{}",
        detail="1107 expected",
    )
    run.log(
        flooded.deployment,
        "namesrv.log",
        started(),
        f"{log_time(1_000)} ERROR [t] RocketmqRemoting - decode exception, 127.0.0.1:1",
        "io.netty.handler.codec.TooLongFrameException: Adjusted frame length exceeds 262144: 262300 - discarded",
        f"{log_time(9_000)} ERROR [t] RocketmqRemoting - decode exception, 127.0.0.1:1",
        "io.netty.handler.codec.TooLongFrameException: Adjusted frame length exceeds 262144: 262536 - discarded",
        node="namesrv-1",
    )
    run.log(
        flooded.deployment,
        "broker.log",
        started(),
        f"{log_time(900)} INFO [t] RocketmqBroker - register broker[0]to name server 127.0.0.1:9 OK",
        f"{log_time(1_500)} INFO [t] RocketmqBroker - register broker[0]to name server 127.0.0.1:9 OK",
        f"{log_time(2_000)} WARN [t] RocketmqBroker - registerBroker Exception, 127.0.0.1:9",
        "org.apache.rocketmq.remoting.exception.RemotingSendRequestException: send request to <127.0.0.1:9> failed",
        f"{log_time(2_100)} INFO [t] RocketmqBroker - register 127.0.0.1:1107, topics-1107, 1107ms, counter=1107, 1106 and 1200",
        f"{log_time(2_200)} INFO [t] RocketmqBroker - topics are 1107 now, which is no word of the other thing",
        f"{log_time(60_500)} INFO [t] RocketmqBroker - register broker[0]to name server 127.0.0.1:9 OK",
        f"{log_time(90_000)} WARN [Thread-0] RocketmqBroker - unregisterBroker Exception, NamesrvAddr: 127.0.0.1:9",
    )
    counted = run.trial("counted", "retry-topic-flood", "incident", groups=["counted-g0"], params={"name_bytes": 54})
    counted.send(0, due_ms=100, offset=0)
    counted.event(
        "probe", at_ns=at(1_000), measure="topics_at_limit", value=1107.0, of="broker-a", params="{}", detail=""
    )
    run.log(counted.deployment, "namesrv.log", started(), node="namesrv-1")
    run.log(
        counted.deployment,
        "broker.log",
        started(),
        f"{log_time(1_500)} WARN [t] RocketmqBroker - registerBroker Exception, 1107 topics",
        f"{log_time(2_500)} WARN [t] RocketmqBroker - registering 1110 topics failed",
    )
    scenarios = (name_server_divergence.SCENARIO, dead_letter.SCENARIO, retry_topic_flood.SCENARIO)
    return Asked(scenarios=scenarios, measures=MEASURES)


def test_a_broker_is_absent_from_the_change_that_lost_it_to_the_one_that_brought_it_back(seen: Analysis) -> None:
    assert seen.one("route_absent_s", "parted", server="namesrv-3", broker="broker-b") == pytest.approx(15.0)
    assert seen.one("route_absent_s", "parted", server="namesrv-3", broker="broker-a") == 0
    assert seen.one("route_absent_s", "parted", server="namesrv-1", broker="broker-b") == 0


def test_a_name_server_that_does_not_answer_is_silent_and_says_nothing_of_brokers(seen: Analysis) -> None:
    assert seen.values("server_silent_s", "parted", servers="others") == [0.0, 0.0, 4.0]


def test_views_differ_while_both_answer_and_do_not_say_the_same(seen: Analysis) -> None:
    assert seen.values("views_differ_s", "parted", other="namesrv-3", when="held") == [15.0, 15.0]
    assert seen.values("views_differ_s", "parted", other="namesrv-2", when="held") == [0.0]
    assert set(seen.values("views_differ_s", "agreed")) == {0.0}


def test_what_differs_after_the_hold_is_told_apart(seen: Analysis) -> None:
    assert set(seen.values("views_differ_s", "parted", when="after")) == {0.0}
    assert seen.values("views_differ_s", "apart", other="namesrv-3", when="held") == [10.0, 10.0]
    assert seen.values("views_differ_s", "apart", other="namesrv-3", when="after") == [2.0, 2.0]


def test_a_broker_is_without_a_registration_from_one_to_the_next_or_to_the_end_of_the_hold(seen: Analysis) -> None:
    assert seen.one("unregistered_s", "in_turn", servers="others", when="before") == pytest.approx(30.0)
    assert seen.one("unregistered_s", "in_turn", servers="others", when="held") == pytest.approx(54.0)
    assert seen.one("unregistered_s", "topic_told", when="held") == pytest.approx(40.0)


def test_a_topic_is_back_untold_when_no_broker_registered_at_that_moment(seen: Analysis) -> None:
    assert [seen.one("back_untold", name) for name in ("topic_told", "topic_untold", "topic_gone")] == [0, 1, 0]
    assert seen.values("back_untold", "parted") == []


def test_a_group_is_through_when_it_had_the_last_message_that_was_sent_before_the_views_were_equal(
    seen: Analysis,
) -> None:
    assert seen.one("through_s", "parted") == pytest.approx(11.0)
    # The views of the one are never equal again, those of the other always were.
    assert seen.values("through_s", "apart") == seen.values("through_s", "agreed") == []


def test_late_and_twice_consumed_messages_are_each_groups_own(seen: Analysis) -> None:
    assert seen.values("late_messages", "apart") == [1, 1]
    assert seen.values("duplicate_messages", "apart") == [0, 1]


def test_a_broker_that_never_goes_stays_for_at_least_the_hold(seen: Analysis) -> None:
    (gone,) = seen.found("route_stays_s", "parted", server="namesrv-3", broker="broker-b")
    assert (gone.value, gone.censored) == (10.0, False)
    stays = seen.found("route_stays_s", "agreed")
    assert len(stays) == 6
    assert all(row.censored and row.value == pytest.approx(60.0) for row in stays)


def test_a_producer_notices_at_its_first_send_to_a_queue_that_is_new(seen: Analysis) -> None:
    # Queue 1 was not used before either: what is new is beyond the largest that was.
    assert seen.one("notice_s", "parted") == pytest.approx(0.5, abs=0.01)
    assert seen.found("notice_s", "agreed") == []


def test_a_producer_whose_load_was_over_before_the_change_notices_nothing(seen: Analysis) -> None:
    assert seen.found("notice_s", "over") == []


def test_failed_sends_late_and_twice_consumed_messages_are_counted_within_the_hold(seen: Analysis) -> None:
    assert seen.one("failed_send_share", "parted") == pytest.approx(1 / 3)
    assert seen.one("failed_send_share", "agreed") == 0
    assert seen.one("duplicate_messages", "parted") == 1
    assert seen.one("late_messages", "parted") == 1
    assert seen.one("duplicate_messages", "agreed") == 0
    assert seen.one("late_messages", "agreed") == 0


def test_each_retry_is_measured_against_the_delay_of_its_level(seen: Analysis) -> None:
    late = [seen.values("retry_late_s", "failing", retry=str(retry)) for retry in (1, 2, 3)]
    # Message 20 came again half a second too early.
    assert late == [pytest.approx([-0.5, 0.05]), pytest.approx([0.1]), pytest.approx([-0.05])]
    assert sorted(seen.values("consumption_count", "failing")) == [2, 4]


def test_a_message_that_nobody_has_consumed_waits_at_least_until_the_end_of_the_trial(seen: Analysis) -> None:
    consumed, waits = sorted(seen.found("other_delay_s", "failing"), key=lambda row: row.value)
    assert (consumed.value, consumed.censored) == (pytest.approx(0.03), False)
    assert waits.censored
    assert waits.value > 10
    assert seen.record(waits)["seq"] == 12


def test_an_answer_to_a_probe_is_an_observation_that_can_be_looked_up(seen: Analysis) -> None:
    assert seen.one("dead_letter_share", "failing") == 0.5
    assert seen.shown_record("dead_letter_share", "failing")["detail"] == "1 of 2"


def test_the_first_refused_frame_is_told_with_how_far_it_is_beyond_the_limit(seen: Analysis) -> None:
    assert seen.one("frame_bytes_refused", "d-flooded") == 262_300
    assert seen.one("frame_bytes_over", "d-flooded") == 156
    assert seen.one("refusals_logged", "d-flooded") == 2
    (row,) = seen.found("frame_bytes_refused", "d-flooded")
    assert "262300" in seen.shown(row)


def test_failures_are_counted_by_exception_and_no_line_of_the_broker_names_a_size(seen: Analysis) -> None:
    assert seen.one("registration_failures", "d-flooded", exception="RemotingSendRequestException") == 1
    assert seen.one("registration_failures", "d-flooded", exception="RemotingTimeoutException") == 0
    # One of its two lines with these words tells that the broker was stopped.
    assert seen.one("registration_failures", "d-flooded", words="registerBroker Exception") == 1
    assert seen.one("size_lines", "d-flooded", role="master") == 0


def test_a_line_about_a_registration_counts_that_names_its_number_of_topics(seen: Analysis) -> None:
    assert seen.one("topic_count_lines", "d-flooded", role="master") == 0
    assert seen.one("topic_count_lines", "d-counted", role="master") == 2


def test_a_registration_that_is_called_done_while_it_is_refused_is_counted_apart(seen: Analysis) -> None:
    assert seen.one("ok_lines", "flooded", when="refused") == 1
    assert seen.one("ok_lines", "flooded", when="after") == 1
