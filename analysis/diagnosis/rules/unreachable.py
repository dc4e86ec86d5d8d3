"""Brokers that were gone, and addresses that nobody ever reached, by clients, name servers and the brokers' own next start."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 120.0
"""A name server drops a broker that has said nothing for two minutes."""
STARTS_S = 600.0
"""From the line about the last shutdown to that of the start, while the store recovers."""
ATTEMPTS_MIN = 3
ALONE_MIN, ALONE_S_MIN = 5, 10.0
"""By clients alone, of which one may have had a bad moment, and which see a cluster that is shut down as one that is gone."""
ALWAYS_S_MIN, APART_S = 60.0, 300.0
LOST = "RemotingSendRequestException"
_PORT = re.compile(r":(?:\d*9876|\d*109\d\d|8081)$")
"""Of name servers, brokers and proxies: Go's and gRPC's words are those of any connection."""
_NAME_SERVER = re.compile(r":\d*9876$")
_DOCKER = ipaddress.ip_network("172.16.0.0/12")
NOT_ROUTED = phrase("the address of a container, which is reached from its own host alone unless it is published")
OF_ITSELF = phrase(
    "the address of each host itself: what runs elsewhere, or in another container, reaches itself there",
)
NO_ADDRESS = "null"
NONE_GIVEN = phrase("what a client says that was given no name server")
NO_COMMENT = phrase("a value with a comment behind it: properties take the rest of the line as the value")


def gone(logs: Logs) -> Iterator[Found]:
    """Brokers of which two kinds of lines agree that they were away, or that were not shut down before they started."""
    never = {found.brokers for found in never_reached(logs)}
    by_address: dict[str, list[Event]] = {}
    for one in (*_refused(logs), *logs.of(Logged.BROKER_WENT, Logged.BROKER_CAME)):
        if one.get("address"):
            by_address.setdefault(one.get("address"), []).append(one)
    for killed in logs.of(Logged.KILLED):
        by_address.setdefault(_address(logs, killed) or f"of {killed.node}", []).append(killed)
    for address, events in by_address.items():
        for group in together(events, GAP_S):
            found = _gone(logs, address, group)
            if found is not None and found.brokers not in never:
                yield found


def _refused(logs: Logs) -> Iterator[Event]:
    """Attempts of clients to connect to a broker; those of brokers to register are not among them.

    A request that could not be sent is of a connection that was lost, as that of a broker that stands still is, too.
    """
    return (
        one
        for one in logs.of(Logged.UNREACHABLE)
        if one.within not in (Logged.NOT_REGISTERED, Logged.SHUT_DOWN) and one.get("error") != LOST and _is_ours(one)
    )


def _is_ours(event: Event) -> bool:
    return event.get("error").startswith("Remoting") or bool(_PORT.search(event.get("address")))


def _address(logs: Logs, killed: Event) -> str:
    """Of the broker whose start this line is of, where it says it."""
    return next(
        (
            one.get("address")
            for one in logs.of(Logged.BOOTED)
            if one.node == killed.node
            and killed.from_s is not None
            and overlap(one, killed.from_s, killed.from_s + STARTS_S)
        ),
        "",
    )


def _gone(logs: Logs, address: str, group: Sequence[Event]) -> Found | None:
    refused = [one for one in group if one.kind is Logged.UNREACHABLE]
    killed = [one for one in group if one.kind is Logged.KILLED]
    went = [one for one in group if one.kind is Logged.BROKER_WENT]
    tries = sum(one.count for one in refused)
    witnesses = bool(went) + bool(killed) + bool(refused)
    tried_from, tried_to = span(refused)
    is_lasting = tries >= ALONE_MIN and (tried_to or 0.0) - (tried_from or 0.0) >= ALONE_S_MIN
    if witnesses < 2 and not killed and (not is_lasting or _NAME_SERVER.search(address)):
        return None
    came = [
        one
        for one in group
        if one.kind is Logged.BROKER_CAME and went and (one.from_s or 0.0) >= (went[0].from_s or 0.0)
    ]
    told = [*refused, *went, *killed, *came]
    from_s, to_s = span(told)
    ended = [
        one
        for one in logs.of(Logged.SHUT_DOWN)
        if killed == [] and overlap(one, from_s, to_s, GAP_S) and _address_of(logs, one) == address
    ]
    why = [phrase("{tries} attempts to connect to {address} failed", tries=tries, address=address)] if refused else []
    why += [phrase("a name server dropped it at {at}", at=words_of(went[0].from_s))] if went else []
    why += [phrase("it was not shut down before it started again: it was killed, or lost its power")] if killed else []
    related = [phrase("{at} it registered with a name server again", at=words_of(one.from_s)) for one in came[:1]]
    related += [phrase("{at} it was told to shut down", at=words_of(one.from_s)) for one in ended[:1]]
    unseen = "" if witnesses > 1 else (
        phrase("no log of a client or of a name server here has that it was away") if killed
        else phrase("no log of a broker or of a name server here has it: it may be the way there")
    )  # fmt: skip
    return Found(
        pattern=LogPattern.BROKER_GONE, from_s=from_s, to_s=to_s, lines=lines_of(told), why=tuple(why), related=tuple(related),
        sure=Sure.SURE if witnesses > 1 else Sure.LIKELY if killed else Sure.POSSIBLE, against=(unseen,) if unseen else (),
        brokers=distinct([logs.broker(killed[0]) if killed else logs.broker_at(address)]),
        topics=distinct(one.get("topic") for one in refused),
    )  # fmt: skip


def _address_of(logs: Logs, event: Event) -> str:
    return next((one.get("address") for one in logs.of(Logged.BOOTED) if one.node == event.node), "")


def never_reached(logs: Logs) -> Iterator[Found]:
    """Addresses that a file's process tried from its first lines to its last, and never once reached."""
    spans = {one.path: (one.from_s, one.to_s) for one in logs.files}
    tried: dict[tuple[str, str, str], list[Event]] = {}
    for one in _refused(logs):
        if one.get("address"):
            tried.setdefault((one.file, one.node, one.get("address")), []).append(one)
    for (file, node, address), events in tried.items():
        from_s, to_s = span(events)
        begins, ends = spans.get(file, (None, None))
        tries = sum(one.count for one in events)
        if None in (from_s, to_s, begins, ends) or tries < ATTEMPTS_MIN or to_s - from_s < ALWAYS_S_MIN:  # type: ignore[operator]
            continue
        is_always = from_s - begins <= GAP_S and ends - to_s <= GAP_S  # type: ignore[operator]
        # What was reached between is in no log: attempts far apart may be of two outages.
        if not is_always or len(list(together(events, APART_S))) > 1 or _was_reached(logs, node, address):
            continue
        what, is_server = _what_kind(address), bool(_NAME_SERVER.search(address))
        whose = phrase("name server") if is_server else phrase("broker")
        pattern = LogPattern.NAME_SERVER_UNREACHED if is_server else LogPattern.NEVER_REACHED
        yield Found(
            pattern=pattern, from_s=from_s, to_s=to_s, lines=lines_of(events), brokers=(address,),
            sure=Sure.LIKELY if what else Sure.POSSIBLE,
            why=(phrase(
                "each of {tries} attempts to connect to {address} failed, and none succeeded",
                tries=tries, address=address,
            ),
                 *(phrase("it is {what}", what=one) for one in (what,) if one)),
            against=() if what else (phrase(
                "the {node} may have been down all the time: see its own log",
                node=whose,
            ),),
        )  # fmt: skip


def pasted(logs: Logs) -> Iterator[Found]:
    """Addresses that an application's log has a few failed attempts of, and nothing else that would tell why: mostly an exception
    that somebody pasted.

    Whether such an address is never reached, or its node was down for a moment, no log here can say. RocketMQ's own logs have such
    lines as its processes end.
    """
    if len({one.node for one in logs.files}) != 1 or any(one.stock_layout for one in logs.files):
        return
    told = {address for found in (*gone(logs), *never_reached(logs)) for address in found.brokers}
    tried: dict[str, list[Event]] = {}
    for one in _refused(logs):
        address = one.get("address")
        if address and address not in told and logs.broker_at(address) not in told:
            tried.setdefault(address, []).append(one)
    for address, events in tried.items():
        if sum(one.count for one in events) >= ATTEMPTS_MIN or _was_reached(logs, events[0].node, address):
            continue
        is_server = bool(_NAME_SERVER.search(address)) or address == NO_ADDRESS
        what = NONE_GIVEN if address == NO_ADDRESS else NO_COMMENT if "#" in address else _what_kind(address)
        from_s, to_s = span(events)
        yield Found(
            pattern=LogPattern.NAME_SERVER_UNREACHED if is_server else LogPattern.NEVER_REACHED,
            from_s=from_s, to_s=to_s, lines=lines_of(events), brokers=(address,),
            sure=Sure.LIKELY if what else Sure.POSSIBLE,
            why=(phrase("an attempt to connect to {address} failed", address=address),
                 *(phrase("it is {what}", what=one) for one in (what,) if one)),
            against=() if what else (
                phrase(
                    "few attempts do not tell an address that is never reached from a node that was down at that "
                    "moment",
                ),
            ),
        )  # fmt: skip


def _was_reached(logs: Logs, node: str, address: str) -> bool:
    """Whether the node had an answer from there, or a name server or the broker itself knows that it came or went."""
    answered = (
        Logged.CONNECTED,
        Logged.NO_ANSWER,
        Logged.REFUSED_FOR_AGE,
        Logged.REFUSED_FOR_CACHE,
        Logged.REFUSED_FULL,
        Logged.NOT_WRITABLE,
    )
    return any(one.node == node and one.get("address") == address for one in logs.of(*answered)) or any(
        one.get("address") == address for one in logs.of(Logged.BROKER_WENT)
    )


def _what_kind(address: str) -> str:
    host = address.rpartition(":")[0].strip("[]")
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if ip.is_loopback:
        return OF_ITSELF
    return NOT_ROUTED if ip in _DOCKER or ip.is_link_local else ""
