"""Signs without a pattern: each of their events shows the incident by itself."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from harness.model.incident import Sign

GAP_S = 60.0


def shown_alone(logs: Logs, sign: Sign) -> Iterator[Found]:
    """A finding for the events of a node that are at most a minute apart; none where the node has one that speaks against it."""
    spared = {one.node for one in logs.of(*sign.unless)}
    events = [one for one in logs.of(*sign.events) if one.node not in spared]
    for node in dict.fromkeys(one.node for one in events):
        for group in together((one for one in events if one.node == node), GAP_S):
            from_s, to_s = span(group)
            kinds = distinct(str(one.kind) for one in group)
            yield Found(
                sure=Sure.POSSIBLE if sign.against else Sure.LIKELY, from_s=from_s, to_s=to_s,
                brokers=distinct(map(logs.broker, group)), groups=distinct(one.get("group") for one in group),
                topics=distinct(one.get("topic") for one in group), lines=lines_of(group),
                why=tuple(f"{kind} ({sum(one.count for one in group if one.kind == kind)} x)" for kind in kinds),
                against=(sign.against,) if sign.against else (),
            )  # fmt: skip
