"""Members of a group that differ, in histories made by hand: read by nobody, by two, passed over, and copied."""

from __future__ import annotations

import pytest

from scenarios import same_client_id_in_containers, subscriptions_that_differ
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, Trial, at

CONTAINERS, SUBSCRIPTIONS = same_client_id_in_containers.SCENARIO, subscriptions_that_differ.SCENARIO
MEASURES = (
    "client_ids_count",
    "doubled_share",
    "least_tag_share",
    "passed_over_share",
    "retry_copies_count",
    "unread_share",
)
FIRST, SECOND = "first", "second"
BEFORE_MS, SENT_MS, LATE_MS = -1_000, 1_000, 70_000
"""Before the hold, in it, and after the trial's end, when the members are told to stop."""


def _member(trial: Trial, process: str, *, client_id: str = "", tags: str = "*") -> None:
    instance = f"{trial.group}-{process}"
    trial.event("member", group=trial.group, instance=instance, topic=trial.topic, tags=tags)
    trial.record(
        process, "instance", instance=instance, group=trial.group, event="started", at_ns=at(-9_000),
        client_id=client_id or f"127.0.0.1@{process}",
    )  # fmt: skip


def _sent(trial: Trial, seq: int, *, tag: str | None = None, due_ms: float = SENT_MS, queue: int = 0) -> None:
    trial.record(
        PRODUCER, "send", instance="p0", client="java 4.6.0", topic=trial.topic, key=tag, seq=seq, intended_ns=at(due_ms),
        started_ns=at(due_ms), finished_ns=at(due_ms + 1), outcome="ok", broker="broker-a", queue=queue, offset=seq, msg_id="M",
    )  # fmt: skip


def _given(
    trial: Trial, seq: int, process: str, *, at_ms: float = SENT_MS + 5, fails: bool = False, retry: int = 0
) -> None:
    trial.record(
        process, "consume", instance=f"{trial.group}-{process}", group=trial.group,
        topic=f"%RETRY%{trial.group}" if retry else trial.topic, broker="broker-a", queue=0, offset=seq, seq=seq,
        intended_ns=at(SENT_MS), started_ns=at(at_ms), finished_ns=at(at_ms + 1), outcome="failed" if fails else "ok",
        reconsume=retry, stored_ms=0,
    )  # fmt: skip


def plant(run: Run) -> Asked:
    one_id = run.trial("one_id", CONTAINERS.name, "incident", groups=["one_id-g0"])
    for process in (FIRST, SECOND):
        _member(one_id, process, client_id="127.0.0.1@1")
        _given(one_id, 0, process, fails=True)
        for _ in range(2):
            _given(one_id, 0, process, fails=True, retry=1, at_ms=3_000)
        _given(one_id, 1, process)
        _given(one_id, 9, process)
    _given(one_id, 2, SECOND, at_ms=LATE_MS)
    for seq in range(4):
        _sent(one_id, seq, queue=seq // 2)
    _sent(one_id, 9, due_ms=BEFORE_MS)
    one_id.store_max(2, queue=0, group=one_id.group, consumer_offset=2)
    one_id.store_max(4, queue=1, group=one_id.group)

    own = run.trial("own", CONTAINERS.name, "fix-own-names", groups=["own-g0"])
    for process, seqs in ((FIRST, (0, 1)), (SECOND, (2, 3))):
        _member(own, process)
        for seq in seqs:
            _sent(own, seq)
            _given(own, seq, process, fails=seq == 0)
    for retry in (1, 2):
        _given(own, 0, SECOND, fails=True, retry=retry, at_ms=2_000 + 1_000 * retry)

    tags = run.trial("tags", SUBSCRIPTIONS.name, "incident", groups=["tags-g0"])
    _member(tags, FIRST, tags="tag0")
    _member(tags, SECOND, tags="tag1")
    for seq, tag in enumerate(("tag0", "tag1", "tag0", "tag1", "tag2")):
        _sent(tags, seq, tag=tag)
    _given(tags, 0, FIRST)
    tags.store_max(5, group=tags.group, consumer_offset=3)

    both = run.trial("both", SUBSCRIPTIONS.name, "baseline", groups=["both-g0"])
    for process in (FIRST, SECOND):
        _member(both, process, tags="tag0 || tag1")
    for seq, process in enumerate((FIRST, SECOND)):
        _sent(both, seq, tag=f"tag{seq}")
        _given(both, seq, process)
    return Asked(scenarios=(CONTAINERS, SUBSCRIPTIONS), measures=MEASURES)


def test_what_two_were_given_and_what_nobody_was_is_a_share_of_the_holds_messages(seen: Analysis) -> None:
    assert [seen.one(name, "one_id") for name in ("doubled_share", "unread_share")] == [0.5, 0.5]
    assert [seen.one(name, "own") for name in ("doubled_share", "unread_share")] == [0.0, 0.0]


def test_a_message_that_nobody_was_given_is_shown_by_its_send(seen: Analysis) -> None:
    assert seen.shown_record("unread_share", "one_id")["seq"] in (2, 3)


def test_ids_are_those_that_the_clients_had(seen: Analysis) -> None:
    assert [seen.one("client_ids_count", trial) for trial in ("one_id", "own")] == [1.0, 2.0]


def test_copies_of_a_failing_message_are_counted_by_retry(seen: Analysis) -> None:
    assert [seen.one("retry_copies_count", "one_id", retry=str(retry)) for retry in (0, 1)] == [2.0, 4.0]
    assert [seen.one("retry_copies_count", "own", retry=str(retry)) for retry in (0, 1, 2)] == [1.0, 1.0, 1.0]


def test_an_offset_passes_over_what_lies_below_it(seen: Analysis) -> None:
    assert seen.one("passed_over_share", "one_id") == 0.0
    assert seen.one("passed_over_share", "tags") == pytest.approx(2 / 3)
    assert seen.values("passed_over_share", "own") == []


def test_only_what_a_member_subscribes_to_counts_and_the_tag_that_is_read_least(seen: Analysis) -> None:
    assert seen.one("unread_share", "tags") == 0.75
    assert seen.one("least_tag_share", "tags") == 0.0
    assert [seen.one(name, "both") for name in ("unread_share", "least_tag_share")] == [0.0, 1.0]
    assert seen.values("least_tag_share", "own") == []
