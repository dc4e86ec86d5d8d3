"""Consumer groups whose members differ, or do not differ where they should (ConsumerGroupInfo of 4.x and 5.x)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern
from harness.printable import counted

TURNS_MIN = 2
"""A group that is deployed anew changes its subscription once; one that has two goes to and fro."""
RESET_GAP_S = 10.0
HEARTBEATS_S = 65.0
"""Clients tell a broker of their groups every 30 s (heartbeatBrokerInterval): two of these, and some time. A group that is unknown
for longer has no client that does."""
STARTING_S = 5.0
"""A broker takes requests before its line that it has started."""
REFUSED_S_MIN = 2.0
"""A group that begins or ends may have one pull refused."""
REFUSED_AT_FIRST_S_MIN = 10.0
"""Of a broker that may never have run before: on a busy host a group that begins had pulls refused for 4 s."""


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
            pattern=LogPattern.CLIENT_IDS_EQUAL, sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(logs.broker(one) for one in told), groups=distinct(key[1] for key, _ in members),
            lines=lines_of(told),
            why=(phrase(
                "{client} came again while it was connected, and a client unregistered the older connection later: "
                "two members had one id",
                client=client,
            ),),
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
        which = (
            phrase("between {expressions}", expressions=" and ".join(expressions))
            if expressions
            else phrase("of different topics")
        )
        yield Found(
            pattern=LogPattern.SUBSCRIPTIONS_DIFFER, sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, found)), groups=(group,), topics=topics, lines=lines_of(found),
            why=(phrase(
                "the subscription of {group} changed to and fro {which}: its members subscribe to different things",
                group=group, which=which,
            ),),
        )  # fmt: skip


def offsets_reset(logs: Logs) -> Iterator[Found]:
    """Groups whose members were told to reset their offsets: one finding for each time."""
    for told in together(logs.of(Logged.OFFSETS_RESET), RESET_GAP_S):
        from_s, to_s = span(told)
        groups = distinct(one.get("group") for one in told)
        clients = distinct(one.get("client") for one in told)
        yield Found(
            pattern=LogPattern.OFFSETS_RESET, sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, told)), groups=groups, topics=distinct(one.get("topic") for one in told),
            lines=lines_of(told),
            why=(phrase(
                "{clients} of {groups} were told to reset their offsets: each stops for 10 s then",
                clients=counted(len(clients), "client"), groups=counted(len(groups), "group"),
            ),),
            against=(phrase("an ordered consumer of 5.5.0 stops for as long as it works on a message"),),
        )  # fmt: skip


def forgotten(logs: Logs) -> Iterator[Found]:
    """Groups that a broker does not know after a restart, and whose pulls it refuses until a client tells it of them."""
    for start in logs.of(Logged.BOOTED):
        if start.from_s is None or not start.get("broker"):
            continue  # a name server's, or of an unknown time
        refused: dict[str, list[Event]] = {}
        for one in logs.of(Logged.GROUP_UNKNOWN):
            if one.node == start.node and overlap(one, start.from_s - STARTING_S, start.from_s + HEARTBEATS_S):
                refused.setdefault(one.get("group"), []).append(one)
        waited_s = {group: _length_s(events) for group, events in refused.items()}
        late = sorted(group for group, length_s in waited_s.items() if REFUSED_S_MIN <= length_s <= HEARTBEATS_S)
        if not late:
            continue
        came = [one for one in logs.of(Logged.CONSUMER_CAME) if one.node == start.node and one.get("group") in late]
        known = [one for one in came if _is_earlier(one, start)]
        again = [
            one
            for one in came
            if not _is_earlier(one, start) and overlap(one, start.from_s, start.from_s + HEARTBEATS_S)
        ]
        ran = [
            one
            for one in logs.of(Logged.BOOTED, Logged.SHUT_DOWN, Logged.KILLED)
            if one.node == start.node and one is not start and overlap(one, 0.0, start.from_s)
        ]
        if not known and not ran and max(waited_s[group] for group in late) < REFUSED_AT_FIRST_S_MIN:
            continue
        told = [start, *(one for group in late for one in refused[group])]
        from_s, to_s = span(told)
        yield Found(
            pattern=LogPattern.GROUPS_UNKNOWN, from_s=from_s, to_s=to_s, brokers=(start.get("broker"),),
            sure=Sure.SURE if known else Sure.LIKELY if ran else Sure.POSSIBLE, groups=tuple(late),
            lines=lines_of([*ran[-1:], *known[-1:], *told]),
            why=(phrase(
                "the broker started, and refused pulls of {groups} as unknown for up to {longest_s:.0f} s",
                groups=counted(len(late), "group"), longest_s=max(waited_s[group] for group in late),
            ),),
            related=tuple(phrase(
                "{at} a member of {group} told the broker of itself",
                at=words_of(one.from_s), group=one.get("group"),
            ) for one in again[:3]),
            against=() if known or ran else (phrase("no line here says that this broker had run before"),),
        )  # fmt: skip


NEVER_KNOWN_S_MIN = 180.0
"""Longer than a restart with two heartbeats after it takes."""


def never_known(logs: Logs) -> Iterator[Found]:
    """Groups that a broker does not know for longer than heartbeats take to tell it, so that no restart explains it."""
    refused: dict[tuple[str, str], list[Event]] = {}
    for one in logs.of(Logged.GROUP_UNKNOWN):
        refused.setdefault((one.node, one.get("group")), []).append(one)
    for (node, group), events in refused.items():
        came = [one for one in logs.of(Logged.CONSUMER_CAME) if (one.node, one.get("group")) == (node, group)]
        for of_it in together(events, HEARTBEATS_S):
            from_s, to_s = span(of_it)
            if _length_s(of_it) < NEVER_KNOWN_S_MIN:
                continue
            members = [one for one in came if overlap(one, from_s, to_s)]
            yield Found(
                pattern=LogPattern.GROUPS_NEVER_KNOWN, sure=Sure.POSSIBLE if members else Sure.LIKELY, from_s=from_s, to_s=to_s,
                brokers=distinct(map(logs.broker, of_it)), groups=(group,), lines=lines_of(of_it),
                why=(phrase(
                    "{pulls} of {group} were refused over {minutes:.0f} min: the broker does not know the group, "
                    "whose clients tell it of themselves every 30 s",
                    pulls=counted_in(of_it, "pull"), group=group, minutes=_length_s(of_it) / 60,
                ),),
                against=tuple(
                    phrase("{at} a member of it told the broker of itself", at=words_of(one.from_s)) for one in members[:1]
                ),
            )  # fmt: skip


def _length_s(events: Iterable[Event]) -> float:
    from_s, to_s = span(events)
    return 0.0 if from_s is None or to_s is None else to_s - from_s


def _is_earlier(one: Event, start: Event) -> bool:
    return one.from_s is not None and start.from_s is not None and one.from_s < start.from_s - STARTING_S
