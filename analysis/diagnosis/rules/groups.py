"""Consumer groups whose members differ, or do not differ where they should (ConsumerGroupInfo of 4.x and 5.x)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from harness.model.log_events import Logged

TURNS_MIN = 2
"""A group that is deployed anew changes its subscription once; one that has two goes to and fro."""
RESET_GAP_S = 10.0


def equal_ids(logs: Logs) -> Iterator[Found]:
    """Members of a group that are connected at once under one client id.

    A connection that was lost without a word may be there still when its client comes back. Only the client itself unregisters
    one: if it does so after another one came under its id, there were two.
    """
    events = sorted(logs.of(Logged.CONSUMER_CAME, Logged.CONSUMER_WENT), key=lambda one: (one.from_s or 0.0, one.line))
    came: dict[tuple[str, str, str], dict[str, Event]] = {}
    pairs: dict[tuple[str, str, str], list[Event]] = {}
    for one in events:
        key = (one.node, one.get("group"), one.get("client"))
        channels = came.setdefault(key, {})
        if one.kind is Logged.CONSUMER_CAME:
            channels[one.get("channel")] = one
        elif (own := channels.get(one.get("channel"))) is not None:
            later = [other for other in channels.values() if other is not own and _is_before(own, other)]
            if later:
                pairs.setdefault(key, []).extend([own, *later, one])
    by_client: dict[str, list[tuple[tuple[str, str, str], list[Event]]]] = {}
    for key, found in pairs.items():
        by_client.setdefault(key[2], []).append((key, found))
    for client, members in by_client.items():
        told = [one for _, found in members for one in found]
        from_s, to_s = span(told)
        yield Found(
            incident="same-client-id-in-containers", sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(logs.broker(one) for one in told), groups=distinct(key[1] for key, _ in members),
            lines=lines_of(told),
            why=(f"{client} came again while it was connected, and a client unregistered the older connection later: two members "
                 "had one id",),
        )  # fmt: skip


def _is_before(one: Event, other: Event) -> bool:
    return (one.from_s or 0.0, one.line) < (other.from_s or 0.0, other.line)


def subscriptions(logs: Logs) -> Iterator[Found]:
    """Groups whose subscription of a topic goes to and fro, or whose topics are removed and added again."""
    changes: dict[tuple[str, str, str], list[Event]] = {}
    for one in logs.of(Logged.SUBSCRIPTION_CHANGED, Logged.SUBSCRIPTION_REMOVED):
        if one.kind is Logged.SUBSCRIPTION_REMOVED or one.get("old") != one.get("new"):
            changes.setdefault((one.node, one.get("group"), one.get("topic")), []).append(one)
    by_group: dict[str, list[Event]] = {}
    for (_, group, _), found in changes.items():
        if sum(one.count for one in found) >= TURNS_MIN:
            by_group.setdefault(group, []).extend(found)
    for group, found in by_group.items():
        from_s, to_s = span(found)
        topics = distinct(one.get("topic") for one in found)
        expressions = sorted({one.get(name) for one in found for name in ("old", "new") if one.get(name)})
        which = f"between {' and '.join(expressions)}" if expressions else "of different topics"
        yield Found(
            incident="subscriptions-that-differ", sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, found)), groups=(group,), topics=topics, lines=lines_of(found),
            why=(f"the subscription of {group} changed to and fro {which}: its members subscribe to different things",),
        )  # fmt: skip


def offsets_reset(logs: Logs) -> Iterator[Found]:
    """Groups whose members were told to reset their offsets: one finding for each time."""
    for told in together(logs.of(Logged.OFFSETS_RESET), RESET_GAP_S):
        from_s, to_s = span(told)
        groups = distinct(one.get("group") for one in told)
        clients = distinct(one.get("client") for one in told)
        yield Found(
            incident="reset-offset-stops-consumption", sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, told)), groups=groups, topics=distinct(one.get("topic") for one in told),
            lines=lines_of(told),
            why=(f"{len(clients)} clients of {len(groups)} groups were told to reset their offsets: each stops for 10 s then",),
            against=("an ordered consumer of 5.5.0 stops for as long as it works on a message",),
        )  # fmt: skip
