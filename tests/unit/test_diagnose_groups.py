"""What a diagnosis finds of groups whose members have one client id, or subscribe to different things: lines made by hand."""

from __future__ import annotations

from pathlib import Path

from tests.lib.operators_logs import found_in

ID, TAGS = "same-client-id-in-containers", "subscriptions-that-differ"
LONG_TOPIC = "orders-" + 180 * "x"


def _channel(channel: str, client: str) -> str:
    return (
        f"ClientChannelInfo [channel=[id: {channel}, L:/10.0.0.1:10911 - R:/10.0.0.9:39614], clientId={client}, language=JAVA, "
        "version=333, lastUpdateTimestamp=1795440266537]"
    )


def _came(second: int, channel: str, client: str = "172.17.0.1@1", group: str = "billing") -> str:
    words = f"new consumer connected, group: {group} CONSUME_PASSIVELY CLUSTERING channel: {_channel(channel, client)}"
    return f"2026-11-21 16:46:{second:02} INFO HeartbeatThread_1 - {words}\n"


def _went(second: int, channel: str, client: str = "172.17.0.1@1", group: str = "billing") -> str:
    words = f"unregister a consumer[{group}] from consumerGroupInfo {_channel(channel, client)}"
    return f"2026-11-21 16:46:{second:02} INFO ClientManageThread_1 - {words}\n"


def _subscription(expression: str, topic: str) -> str:
    return (
        f"SubscriptionData [classFilterMode=false, topic={topic}, subString={expression}, tagsSet=[{expression}], "
        "codeSet=[3552214], subVersion=1795440598923, expressionType=TAG]"
    )


def _changed(second: int, old: str, new: str, topic: str = "orders") -> str:
    words = f"subscription changed, group: billing OLD: {_subscription(old, topic)} NEW: {_subscription(new, topic)}"
    return f"2026-11-21 16:46:{second:02} INFO HeartbeatThread_1 - {words}\n"


def _removed(second: int, topic: str) -> str:
    words = f"subscription changed, group: billing remove topic {topic} {_subscription('*', topic)}"
    return f"2026-11-21 16:46:{second:02} WARN HeartbeatThread_1 - {words}\n"


def _found(folder: Path, *lines: str) -> list[tuple[str, tuple[str, ...]]]:
    (folder / "broker.log").write_text("".join(lines))
    return [(one.incident, one.groups) for one in found_in(folder)]


def test_an_id_that_comes_again_while_its_first_client_lives_has_two(tmp_path: Path) -> None:
    assert _found(tmp_path, _came(1, "0xa1"), _came(5, "0xb2"), _went(30, "0xa1")) == [(ID, ("billing",))]


def test_whichever_of_the_two_ends_first(tmp_path: Path) -> None:
    lines = (_came(1, "0xa1"), _came(5, "0xb2"), _went(30, "0xb2"), _went(40, "0xa1"))
    assert _found(tmp_path, *lines) == [(ID, ("billing",))]


def test_a_client_that_comes_back_after_it_went_or_was_lost_is_one(tmp_path: Path) -> None:
    assert _found(tmp_path, _came(1, "0xa1"), _went(5, "0xa1"), _came(6, "0xb2"), _went(40, "0xb2")) == []
    assert _found(tmp_path, _came(1, "0xa1"), _came(6, "0xb2"), _went(40, "0xb2")) == []


def test_other_ids_and_other_groups_are_others(tmp_path: Path) -> None:
    other = (_came(5, "0xb2", client="172.17.0.1@2"), _came(6, "0xc3", group="stock"))
    assert _found(tmp_path, _came(1, "0xa1"), *other, _went(30, "0xa1")) == []


def test_a_subscription_that_goes_to_and_fro_is_that_of_members_that_differ(tmp_path: Path) -> None:
    assert _found(tmp_path, _changed(1, "a", "b"), _changed(2, "b", "a")) == [(TAGS, ("billing",))]
    (found,) = found_in(tmp_path)
    assert found.topics == ("orders",)
    assert "between a and b" in found.why[0]


def test_a_line_with_a_long_topic_is_read_to_its_end(tmp_path: Path) -> None:
    assert _found(tmp_path, _changed(1, "a", "b", LONG_TOPIC), _changed(2, "b", "a", LONG_TOPIC)) == [
        (TAGS, ("billing",))
    ]


def test_a_topic_that_is_removed_again_and_again_is_subscribed_to_by_some_members(tmp_path: Path) -> None:
    lines = (_removed(1, "orders"), _removed(31, "orders"), _removed(16, "bills"), _removed(46, "bills"))
    assert _found(tmp_path, *lines) == [(TAGS, ("billing",))]


def test_a_rebalance_and_one_new_deployment_are_no_sign(tmp_path: Path) -> None:
    assert _found(tmp_path, _changed(1, "a", "a"), _changed(2, "a", "a"), _changed(3, "a", "b")) == []
    assert _found(tmp_path, _removed(1, "orders")) == []


def test_members_that_were_told_to_reset_their_offsets_stop(tmp_path: Path) -> None:
    told = "[reset-offset] reset offset success. topic=orders, group=billing, clientId=10.0.0.{client}@1"
    lines = [f"2026-11-21 16:46:0{client} INFO AdminBrokerThread_2 - {told.format(client=client)}" for client in (1, 2)]
    (tmp_path / "broker.log").write_text("\n".join(lines) + "\n")
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("reset-offset-stops-consumption", "sure")
    assert one.why == ("2 clients of 1 group were told to reset their offsets: each stops for 10 s then",)
