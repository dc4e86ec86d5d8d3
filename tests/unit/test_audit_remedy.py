"""Retry topics that the audit's remedy deletes, and those that it leaves."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from harness.audit.asking import read_cluster
from harness.audit.remedy import Applied, apply_remedy, deleted_before, plan_remedy
from tests.lib.audited import cluster


def test_only_topics_without_messages_of_offline_groups_are_deleted(serving: ExitStack, tmp_path: Path) -> None:
    names = {f"%RETRY%{name}": (1, 1) for name in ("gone", "pending", "here")}
    broker, servers, addresses = cluster(serving, {**names, "orders": (1, 1)})
    broker.online.add("here")
    broker.ends["%RETRY%pending"] = 3
    remedy = plan_remedy(read_cluster(addresses))
    assert [one.topic for one in remedy.deletions] == ["%RETRY%gone"]
    assert [topic for topic, _ in remedy.kept] == ["%RETRY%pending"]
    assert apply_remedy(remedy.deletions, addresses, per_s=1000, journal=tmp_path / "j").deleted == 1
    assert set(broker.topics) == {"%RETRY%pending", "%RETRY%here", "orders"}
    assert all("%RETRY%gone" not in server.topics for server in servers)


def test_a_topic_that_was_used_is_kept_on_4x_where_its_groups_offset_would_stay(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {"%RETRY%used": (1, 1)})
    broker.ends["%RETRY%used"] = broker.consumed["%RETRY%used"] = 3
    reading = read_cluster(addresses)
    remedy = plan_remedy(reading)
    assert remedy.deletions == ()
    assert "keeps the group's offset 3" in remedy.kept[0][1]
    of_5x = replace(reading, brokers=tuple(replace(one, has_attributes=True) for one in reading.brokers))
    assert [one.topic for one in plan_remedy(of_5x).deletions] == ["%RETRY%used"]


def test_nothing_is_deleted_while_retries_are_not_due_yet(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {"%RETRY%gone": (1, 1)})
    broker.delayed = 2
    remedy = plan_remedy(read_cluster(addresses))
    assert remedy.deletions == ()
    assert "2 delayed messages" in remedy.kept[0][1]


def test_a_remedy_goes_on_where_it_stopped_and_spares_a_group_that_came_back(
    serving: ExitStack, tmp_path: Path
) -> None:
    broker, _, addresses = cluster(serving, {f"%RETRY%g{index}": (1, 1) for index in range(4)})
    deletions = plan_remedy(read_cluster(addresses)).deletions
    journal = tmp_path / "j"
    assert apply_remedy(deletions[:2], addresses, per_s=1000, journal=journal).deleted == 2
    broker.topics["%RETRY%g0"] = (1, 1)
    broker.online.add("g2")
    applied = apply_remedy(deletions, addresses, per_s=1000, journal=journal)
    assert applied == Applied(deleted=1, before=2, online_again=1)
    assert set(broker.topics) == {"%RETRY%g0", "%RETRY%g2"}


def test_a_group_that_was_online_again_and_has_gone_since_is_looked_at_again(
    serving: ExitStack, tmp_path: Path
) -> None:
    broker, _, addresses = cluster(serving, {"%RETRY%g": (1, 1)})
    deletions = plan_remedy(read_cluster(addresses)).deletions
    journal = tmp_path / "j"
    broker.online.add("g")
    assert apply_remedy(deletions, addresses, per_s=1000, journal=journal).online_again == 1
    assert deleted_before(journal) == set()
    broker.online.clear()
    assert apply_remedy(deletions, addresses, per_s=1000, journal=journal).deleted == 1
    assert deleted_before(journal) == {"%RETRY%g"}
    with journal.open("a") as torn:
        torn.write('{"topic": "%RETRY%h", "outco')
    assert deleted_before(journal) == {"%RETRY%g"}


def test_deletions_keep_to_their_rate(serving: ExitStack, tmp_path: Path) -> None:
    _, _, addresses = cluster(serving, {f"%RETRY%g{index}": (1, 1) for index in range(6)})
    deletions = plan_remedy(read_cluster(addresses)).deletions
    started = time.monotonic()
    apply_remedy(deletions, addresses, per_s=20, journal=tmp_path / "j")
    assert time.monotonic() - started >= 5 / 20
