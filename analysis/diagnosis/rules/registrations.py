"""Brokers and their name servers: registrations that are too long, that reach some servers only, brokers that left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 300.0
NEAR_S = 60.0
SAME_MOMENT_S = 2.0
EXPIRES_S = 120.0
"""A name server drops a broker that has said nothing for so long (RouteInfoManager.BROKER_CHANNEL_EXPIRED_TIME)."""
SCANNER_BYTES_MIN = 200_000_000
"""The first four bytes of HTTP or TLS read as a length are more than this; no registration is."""
RETRY_TOPICS_MIN = 1_000


def flood(logs: Logs) -> Iterator[Found]:
    """Registrations that are longer than the name server's frame."""
    refused = [
        one
        for one in logs.of(Logged.FRAME_TOO_LONG)
        if _at_name_server(logs, one) and int(one.get("bytes") or 0) < SCANNER_BYTES_MIN
    ]
    for group in together(refused, GAP_S):
        from_s, to_s = span(group)
        failed = [one for one in _failures(logs) if overlap(one, from_s, to_s, NEAR_S)]
        dropped = _dropped(logs, failed, from_s, to_s)
        sizes = [int(size) for one in group if (size := one.get("bytes"))]
        why = [
            phrase(
                "{requests} to the name server was longer than its limit of {limit:,} bytes{first}"
                if len(group) == 1
                else "{requests} to the name server were longer than its limit of {limit:,} bytes{first}",
                requests=counted_in(group, "request"),
                limit=int(group[0].get("limit") or 0),
                first=phrase(", the first of {size:,}", size=sizes[0]) if sizes else "",
            )
        ]
        related: list[str] = [
            phrase(
                "{at} {broker} failed to register with {address}",
                at=words_of(one.from_s),
                broker=logs.broker(one),
                address=one.get("address"),
            )
            for one in failed[:3]
        ]
        related += [
            phrase(
                "{at} the name server dropped {address}",
                at=words_of(one.from_s),
                address=one.get("address"),
            )
            for one in dropped[:3]
        ]
        related += _topics_made(logs, failed, to_s)
        against = () if failed else (phrase("no broker's log here has a registration that failed at that time"),)
        yield Found(
            pattern=LogPattern.FRAME_OVER_LIMIT, sure=Sure.SURE if failed else Sure.LIKELY, from_s=from_s, to_s=to_s,
            why=tuple(why),
            brokers=distinct([*map(logs.broker, failed), *(one.get("address") for one in dropped if not failed)]),
            related=tuple(related), against=against, lines=lines_of([*group, *failed, *dropped]),
        )  # fmt: skip
    if not refused:
        yield from _flood_by_broker(logs)


def _flood_by_broker(logs: Logs) -> Iterator[Found]:
    """Without the name server's log: failures that are no lost connection, of a broker that made very many retry topics."""
    for group in together(
        (one for one in _failures(logs) if one.get("error") == "RemotingSendRequestException"), GAP_S
    ):
        made = {one.node: sum(other.count for other in _retry(logs, one.node)) for one in group}
        if max(made.values()) >= RETRY_TOPICS_MIN:
            from_s, to_s = span(group)
            yield Found(
                pattern=LogPattern.FRAME_OVER_LIMIT, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s, lines=lines_of(group),
                brokers=distinct(map(logs.broker, group)),
                why=(phrase(
                    "registrations failed after {count:,} retry topics had been made",
                    count=max(made.values()),
                ),),
                against=(phrase("the name server's log is not here, which alone has the size of a registration"),),
            )  # fmt: skip


def _topics_made(logs: Logs, failed: Sequence[Event], to_s: float | None) -> list[str]:
    """What the broker had made until then, as far as its logs reach back."""
    counts: list[str] = []
    for node in dict.fromkeys(one.node for one in failed):
        made = [
            one
            for one in logs.of(Logged.TOPIC_MADE)
            if one.node == node and (one.from_s is None or to_s is None or one.from_s <= to_s)
        ]
        if made:
            retry = sum(one.count for one in made if one.get("topic").startswith("%RETRY%"))
            total = sum(one.count for one in made)
            counts.append(
                phrase(
                    "{broker} had made {total:,} topics in these logs until then, {retry:,} of them %RETRY%",
                    broker=logs.names.get(node, node),
                    total=total,
                    retry=retry,
                )
            )
    return counts


def _retry(logs: Logs, node: str) -> Iterator[Event]:
    return (one for one in logs.of(Logged.TOPIC_MADE) if one.node == node and one.get("topic").startswith("%RETRY%"))


def _at_name_server(logs: Logs, event: Event) -> bool:
    """By its file's name, by what only a name server writes, or, of a node that is no broker, by registrations that failed then."""
    if any(one.path == event.file and one.name.startswith("namesrv") for one in logs.files):
        return True
    if any(
        one.node == event.node and one.file == event.file for one in logs.of(Logged.BROKER_CAME, Logged.BROKER_WENT)
    ):
        return True
    of_brokers = (*logs.of(Logged.REGISTERED), *logs.of(Logged.NOT_REGISTERED), *logs.of(Logged.SLOW_APPEND))
    return not any(one.node == event.node for one in of_brokers) and any(
        overlap(one, event.from_s, event.to_s, SAME_MOMENT_S)
        for one in _failures(logs)
        if one.get("error") == "RemotingSendRequestException"
    )


def _failures(logs: Logs) -> Iterator[Event]:
    return logs.of(Logged.NOT_REGISTERED)


def _dropped(logs: Logs, failed: Sequence[Event], from_s: float | None, to_s: float | None) -> list[Event]:
    """What a name server dropped then: these brokers, where their logs have their addresses, else any."""
    nodes = {one.node for one in failed}
    addresses = _addresses(logs, nodes)
    return [
        one
        for one in logs.of(Logged.BROKER_WENT)
        if overlap(one, from_s, to_s, 3 * NEAR_S) and (not addresses or one.get("address") in addresses)
    ]


def _dropped_otherwise(
    logs: Logs, failed: Sequence[Event], from_s: float | None, to_s: float | None, flooded: Sequence[Event]
) -> list[Event]:
    """Those of them that no registration was too long for."""
    return [
        one
        for one in _dropped(logs, failed, from_s, to_s)
        if not any(overlap(one, *span([other]), NEAR_S) for other in flooded)
    ]


def divergence(logs: Logs) -> Iterator[Found]:
    """A broker that registers with one name server while another one does not hear of it, by either side's logs."""
    told = list(_registered_in_part(logs))
    yield from told
    for group in together(_dropped_by_some(logs), GAP_S):
        from_s, to_s = span(group)
        if any(overlap(one, other.from_s, other.to_s, GAP_S) for other in told for one in group):
            continue
        brokers = distinct(logs.broker_at(one.get("address")) for one in group)
        yield Found(
            pattern=LogPattern.REGISTRATIONS_DIFFER, sure=Sure.LIKELY, from_s=from_s, to_s=to_s,
            brokers=brokers, lines=lines_of(group),
            why=(phrase(
                "{servers} dropped {brokers}, which others kept",
                servers=", ".join(distinct(one.node for one in group)), brokers=", ".join(brokers),
            ),),
            against=(phrase("the broker's log has no registration that failed then"),),
        )  # fmt: skip


def _dropped_by_some(logs: Logs) -> Iterator[Event]:
    """Brokers that a name server dropped though they ran on and registered, while another one, which had them, did not."""
    drops = Counter((one.node, one.get("address")) for one in logs.of(Logged.BROKER_WENT))
    heard = {(one.node, one.get("address")) for one in logs.of(Logged.BROKER_CAME)}
    flooded = [one for one in logs.of(Logged.FRAME_TOO_LONG) if _at_name_server(logs, one)]
    for went in logs.of(Logged.BROKER_WENT):
        address = went.get("address")
        if any(overlap(one, went.from_s, went.to_s, NEAR_S) for one in flooded):
            continue
        dropping = {
            one.node
            for one in logs.of(Logged.BROKER_WENT)
            if one.get("address") == address and overlap(one, went.from_s, went.to_s, EXPIRES_S + NEAR_S)
        }
        kept = {node for node, of in heard if of == address} - dropping
        # One whose clock is off has dropped it at another time, and as often.
        if _ran_on(logs, went) and any(drops[node, address] < drops[went.node, address] for node in kept):
            yield went


def _ran_on(logs: Logs, went: Event) -> bool:
    """Whether the broker registered with somebody soon after it was dropped, and did not start anew."""
    nodes = {one.node for one in logs.of(Logged.BOOTED) if one.get("address") == went.get("address")}
    if went.from_s is None:
        return False
    soon = (went.from_s, went.from_s + NEAR_S)
    return any(one.node in nodes and overlap(one, *soon) for one in logs.of(Logged.REGISTERED)) and not any(
        one.node in nodes and overlap(one, *soon, SAME_MOMENT_S)
        for one in logs.of(Logged.BOOTED, Logged.SHUT_DOWN, Logged.KILLED)
    )


def _registered_in_part(logs: Logs) -> Iterator[Found]:
    flooded = [one for one in logs.of(Logged.FRAME_TOO_LONG) if _at_name_server(logs, one)]
    failures = [one for one in _failures(logs) if not any(overlap(one, *span([other]), NEAR_S) for other in flooded)]
    apart: list[tuple[Event, Event]] = []
    for failed in failures:
        # What no name server takes, as registrations that are too long, sets none of them apart.
        refusing = {
            one.get("address")
            for one in _failures(logs)
            if one.node == failed.node and overlap(one, failed.from_s, failed.to_s, 35)
        }
        others = [
            one
            for one in logs.of(Logged.REGISTERED)
            if one.node == failed.node
            and one.get("address") not in {failed.get("address"), *refusing}
            and overlap(one, failed.from_s, failed.to_s, 35)
        ]
        dropped = _dropped_otherwise(logs, [failed], failed.from_s, failed.to_s, flooded)
        # One failure that the next registration mends is no difference that anybody notices.
        long_enough = failed.count > 1 or dropped
        if others and long_enough and failed.from_s is not None:
            apart.append((failed, others[0]))
    for group in together((one for one, _ in apart), GAP_S):
        from_s, to_s = span(group)
        heard = [other for failed, other in apart if failed in group]
        dropped = _dropped_otherwise(logs, group, from_s, to_s, flooded)
        servers = distinct(one.get("address") for one in group)
        yield Found(
            pattern=LogPattern.REGISTRATIONS_DIFFER, sure=Sure.SURE if dropped else Sure.LIKELY, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), lines=lines_of([*group, *heard, *dropped]),
            why=(
                phrase(
                    "registrations with {servers} failed {times} while those with {others} went on",
                    servers=", ".join(servers),
                    times=counted_in(group, "time"),
                    others=", ".join(distinct(one.get("address") for one in heard)),
                ),
            ),
            related=tuple(phrase(
                "{at} a name server dropped {address}",
                at=words_of(one.from_s), address=one.get("address"),
            ) for one in dropped[:5]),
            against=() if dropped else (phrase(
                "no name server's log here says that it dropped the broker: routes may not have differed",
            ),),
        )  # fmt: skip


def left_and_returned(logs: Logs) -> Iterator[Found]:
    """A broker that a name server dropped, and that registered there anew."""
    explained = [*logs.of(Logged.NOT_REGISTERED), *logs.of(Logged.FRAME_TOO_LONG)]
    by_some = list(_dropped_by_some(logs))
    pairs: list[tuple[Event, Event]] = []
    for went in logs.of(Logged.BROKER_WENT):
        back = next(
            (
                one
                for one in logs.of(Logged.BROKER_CAME)
                if one.file == went.file and one.get("address") == went.get("address")
                and one.from_s is not None and went.from_s is not None and one.from_s >= went.from_s
            ),
            None,
        )  # fmt: skip
        if (
            back is not None
            and went not in by_some
            and not any(
                # One that fails when the broker comes back is not why it went.
                _is_why(logs, one, went)
                for one in explained
            )
        ):
            pairs.append((went, back))
    for group in together((one for pair in pairs for one in pair), GAP_S):
        from_s, to_s = span(group)
        yield Found(
            pattern=LogPattern.LEFT_AND_RETURNED, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(logs.broker_at(one.get("address")) for one in group), lines=lines_of(group),
            why=(phrase(
                "{brokers} left the route and came back",
                brokers=", ".join(distinct(one.get("address") for one in group)),
            ),),
            against=(phrase(
                "logs do not say whether messages were sent in order by key; without that nothing moved that matters",
            ),),
        )  # fmt: skip


def _is_why(logs: Logs, failed: Event, went: Event) -> bool:
    """Whether a registration that failed may be why a broker went: it failed before that, and is not known to be of another."""
    if went.from_s is None or not overlap(failed, went.from_s - EXPIRES_S, went.from_s, SAME_MOMENT_S):
        return False
    own = _addresses(logs, {failed.node})
    return not own or went.get("address") in own


def _addresses(logs: Logs, nodes: Collection[str]) -> set[str]:
    """Those of the brokers that started on these nodes, as far as their logs have them."""
    return {one.get("address") for one in logs.of(Logged.BOOTED) if one.node in nodes and one.get("broker")}
