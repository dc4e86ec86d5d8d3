"""Stores that cannot map files, and sends that they refuse for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, overlap, span, together
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern
from harness.printable import counted

GAP_S = 300.0
REFUSALS = (Logged.NOT_WRITABLE, Logged.STORE_REFUSES)
"""As the client has it, and as the broker's own log does."""
FULL = 0.85
"""From here on a broker deletes whatever the age is."""
REFUSES = 0.90
"""Above it a broker refuses sends, as diskSpaceWarningLevelRatio is by default."""


def map_failed(logs: Logs) -> Iterator[Found]:
    """Files that a broker could not map into memory."""
    for node in dict.fromkeys(one.node for one in logs.of(Logged.MAP_FAILED)):
        for group in together((one for one in logs.of(Logged.MAP_FAILED) if one.node == node), GAP_S):
            from_s, to_s = span(group)
            refused = [one for one in logs.of(*REFUSALS, Logged.NO_FILE) if overlap(one, from_s, to_s, GAP_S)]
            yield Found(
                pattern=LogPattern.MAP_FAILED, sure=Sure.SURE if refused else Sure.LIKELY, from_s=from_s, to_s=to_s,
                brokers=distinct(map(logs.broker, group)), lines=lines_of([*group, *refused]),
                why=(phrase(
                    "the JVM could not map files of the store: vm.max_map_count, or the memory that the process may "
                    "address",
                ),),
                related=tuple(said_of_refusal(one) for one in refused[:1]),
            )  # fmt: skip


def refused_alone(logs: Logs) -> Iterator[list[Event]]:
    """Sends that were refused as if the disk were full, where no line of a broker says that it is, or why."""
    known = list(logs.of(Logged.MAP_FAILED, Logged.DISK_FULL, Logged.SHUT_DOWN))
    alone = [one for one in logs.of(*REFUSALS) if not any(overlap(one, *span([other]), GAP_S) for other in known)]
    return together(alone, GAP_S)


def share_told(group: Iterable[Event]) -> float | None:
    """The largest share of the disk that an answer has; None without one."""
    return max((float(one.get(of)) for one in group for of in ("ratio", "queues") if one.get(of)), default=None)


def not_writable(logs: Logs) -> Iterator[Found]:
    """Such sends, where no answer has a share of the disk at which a broker refuses them."""
    for group in refused_alone(logs):
        from_s, to_s = span(group)
        most = share_told(group)
        if most is not None and most > REFUSES:
            continue  # the disk is full
        own = [one for one in group if one.kind is Logged.STORE_REFUSES]
        disk = () if most is None else (
            phrase("the disk was at {most}: it is nearly full", most=most) if most >= FULL
            else phrase("the disk was at {most}: it is not for want of room", most=most),
        )  # fmt: skip
        yield Found(
            pattern=LogPattern.NOT_WRITABLE, sure=Sure.LIKELY if own else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct([*(logs.broker_at(one.get("address")) for one in group if one.get("address")),
                              *map(logs.broker, own)]),
            lines=lines_of(group), why=(*dict.fromkeys(map(said_of_refusal, group[:1] + own[:1])), *disk),
            against=(phrase(
                "no line here says what marked it: an error of the disk, a full one, or files that cannot be mapped",
            ),) if own
            else (phrase(
                "why its store is not writable is in the broker's store.log and storeerror.log, which are not here",
            ),),
        )  # fmt: skip


def said_of_refusal(one: Event) -> str:
    """What a refusal says, as a clause."""
    if one.kind is Logged.STORE_REFUSES:
        return phrase("the broker's own log says that its store is not writable")
    if one.kind is Logged.NO_FILE:
        return phrase(
            "{sends} refused, since there was no file to append to (CODE 1)",
            sends=counted(one.count, "send", were=True),
        )
    return phrase(
        "{sends} refused, since the store was not writable (CODE 14)",
        sends=counted(one.count, "send", were=True),
    )
