"""Signs without a pattern: each of their events shows the incident by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.incident import Sign
from harness.model.log_events import Logged

ERRORS_MAX = 3


def shown_alone(logs: Logs, sign: Sign) -> Iterator[Found]:
    """A finding for the events of a node that are near each other; none where the node has one that speaks against it."""
    spared = {one.node for one in logs.of(*sign.unless)}
    events = [
        one
        for one in logs.of(*sign.events)
        if one.node not in spared and (not sign.having or one.get(sign.having))
    ]  # fmt: skip
    for node in dict.fromkeys(one.node for one in events):
        for group in together((one for one in events if one.node == node), sign.gap_s):
            if sum(one.count for one in group) < sign.at_least:
                continue
            from_s, to_s = span(group)
            started = [
                one for one in logs.of(Logged.BOOTED) if one.node == node and (one.from_s or 0.0) >= (to_s or 0.0)
            ]
            yield Found(
                sure=Sure.POSSIBLE if sign.against else Sure.LIKELY, from_s=from_s, to_s=to_s,
                brokers=_clients_brokers(logs, group) if sign.by_clients else distinct(map(logs.broker, group)),
                groups=distinct(one.get("group") for one in group), topics=distinct(one.get("topic") for one in group),
                queues=queues_of(group), lines=lines_of(group), why=tuple(_why(group)),
                related=tuple(phrase("{at} the broker started", at=words_of(one.from_s)) for one in started[:1]),
                against=(sign.against,) if sign.against else (),
            )  # fmt: skip


def _why(group: Sequence[Event]) -> Iterator[str]:
    for kind in distinct(str(one.kind) for one in group):
        of_kind = [one for one in group if one.kind == kind]
        errors = distinct(one.get("error") for one in of_kind)
        more = phrase(" and {count} more", count=len(errors) - ERRORS_MAX) if len(errors) > ERRORS_MAX else ""
        count = sum(one.count for one in of_kind)
        if errors:
            told = "; ".join(errors[:ERRORS_MAX])
            yield phrase("{kind} ({count} x): {errors}{more}", kind=phrase(kind), count=count, errors=told, more=more)
        else:
            yield phrase("{kind} ({count} x)", kind=phrase(kind), count=count)


def _clients_brokers(logs: Logs, group: Sequence[Event]) -> tuple[str, ...]:
    """The brokers that clients name, by their names or addresses."""
    return distinct(
        one.get("broker") or (logs.broker_at(one.get("address")) if one.get("address") else "") for one in group
    )


def queues_of(events: Sequence[Event]) -> tuple[str, ...]:
    """The queues that events name, as TOPIC@BROKER:NUMBER."""
    return distinct(
        f"{one.get('topic')}@{one.get('broker')}:{one.get('queue')}"
        for one in events
        if one.get("queue") and one.get("broker")
    )
