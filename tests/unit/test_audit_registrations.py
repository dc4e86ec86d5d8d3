"""What an audit says of the length of a registration, and the law that predicts it from the topics."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.audit.findings import Growth, crossing, judge
from harness.audit.reading import Reading
from harness.backends.topics_ahead import flood_group, write_topics_ahead
from harness.model.cluster import TopicsAhead, TopicsByNumber
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.protocol.broker import TopicConfig
from harness.protocol.registration import Registrant, fixed_bytes, frame_of_listing, topic_bytes, topics_at_limit
from tests.lib.audited import broker_of, kinds_of, reading_of, table_of

REGISTRANT = Registrant(
    broker_name="broker-a",
    broker_id=0,
    cluster="c",
    address="127.0.0.1:1",
    ha_address="127.0.0.1:2",
    has_attributes=False,
)


def frame_of_topics(topics: Iterable[tuple[str, int]], registrant: Registrant) -> int:
    """The length of the frame of a broker with these topics, each a name and its number of queues."""
    each = sum(
        topic_bytes(len(name.encode()), queues, has_attributes=registrant.has_attributes) for name, queues in topics
    )
    return fixed_bytes(registrant) + each - 1


@pytest.mark.parametrize(
    ("frame_bytes", "kinds"),
    [
        (799_999, []),
        (800_000, ["registration-nearly-full"]),
        (1_000_000, ["registration-nearly-full"]),
        (1_000_001, ["registration-over-limit"]),
    ],
)
def test_a_registration_is_judged_against_the_limit(frame_bytes: int, kinds: list[str]) -> None:
    assert kinds_of(reading_of(broker_of(frame_bytes)), 1_000_000) == kinds


def test_growth_since_an_earlier_reading_gives_the_date_of_the_crossing() -> None:
    earlier = Growth(at_s=0.0, frame_bytes={"broker-a": 100})
    assert crossing(broker_of(200), 10.0, earlier, 1000) == pytest.approx(90.0)
    assert crossing(broker_of(100), 10.0, earlier, 1000) is None
    assert crossing(broker_of(200), 10.0, None, 1000) is None
    assert crossing(broker_of(101), 86_400.0, earlier, FRAME_BYTES_MAX) is None, "it would be in some 40,000 years"
    found = judge(reading_of(broker_of(200), at_s=10.0), limit_bytes=1000, earlier=earlier)
    assert [one.kind for one in found] == ["registration-growing"]
    assert "1970-01-01 00:01" in found[0].says


def test_a_few_retry_topics_of_offline_groups_are_normal_and_many_are_a_warning() -> None:
    def flooded(count: int) -> Reading:
        names = [f"%RETRY%gone-{index:05d}" for index in range(count)]
        topics = tuple(TopicConfig(name=name, read_queues=1, write_queues=1) for name in names)
        offline = frozenset(name.removeprefix("%RETRY%") for name in names)
        return reading_of(replace(broker_of(), topics=topics), offline=offline)

    assert kinds_of(flooded(10), 1_000_000) == []
    assert kinds_of(flooded(1000), 1_000_000) == ["offline-retry-topics"]


@pytest.mark.parametrize("name_bytes", [20, 51, 127])
def test_the_law_agrees_with_the_listing_that_it_predicts(name_bytes: int) -> None:
    topics = {"%RETRY%" + flood_group(index, name_bytes): (1, 1) for index in range(500)}
    assert {len(name) for name in topics} == {name_bytes}
    listing = table_of(topics)
    by_law = frame_of_topics([(name, 1) for name in topics], REGISTRANT)
    # The version's numbers are of other lengths here.
    assert abs(by_law - frame_of_listing(len(listing), REGISTRANT)) < 20


def test_a_topic_costs_its_name_twice_and_5x_has_attributes_as_well() -> None:
    assert topic_bytes(52, has_attributes=False) - topic_bytes(51, has_attributes=False) == 2
    assert topic_bytes(51, has_attributes=True) - topic_bytes(51, has_attributes=False) == len('"attributes":{},')
    assert topic_bytes(54, has_attributes=False) == 236


def test_the_first_number_of_topics_that_is_too_many_is_the_one_beyond_the_limit() -> None:
    each = topic_bytes(30, has_attributes=False)
    assert topics_at_limit(1000 + 3 * each, 1000, 10, 30, has_attributes=False) == 14
    assert topics_at_limit(999 + 3 * each, 1000, 10, 30, has_attributes=False) == 13


def test_topics_written_ahead_fill_the_share_that_was_asked_for(tmp_path: Path) -> None:
    ahead = TopicsAhead(frame_bytes=100_000, share=0.9, name_bytes=40)
    count = write_topics_ahead(tmp_path, ahead, REGISTRANT)
    table = json.loads((tmp_path / "config" / "topics.json").read_text())["topicConfigTable"]
    assert len(table) == count
    frame = frame_of_topics([(name, 1) for name in table], REGISTRANT)
    assert 0 <= 90_000 - frame <= topic_bytes(40, has_attributes=False) + 1


def test_topics_ahead_are_as_many_as_are_asked_for_by_number(tmp_path: Path) -> None:
    assert write_topics_ahead(tmp_path, TopicsByNumber(topics=300, name_bytes=30), REGISTRANT) == 300
    table = json.loads((tmp_path / "config" / "topics.json").read_text())["topicConfigTable"]
    assert {len(name) for name in table} == {30}
    assert len(table) == 300
