"""Ordered consumers that waited for the locks of a client that was gone (RebalanceLockManager of 4.x and 5.x)."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import LOCK_INTERVAL_MS
from harness.printable import counted

APART_S = 30.0
"""Longer than the interval between the requests of one client."""
GAP_S = 120.0
"""A client dies at most a lock's life and a request before its queues are taken over."""
CUT_S = 5.0
"""A log that ends so soon after somebody asked for a lock ends while they wait."""
CUT_WAITED_S_MIN = 2.0
"""Of an owner that ends well the next request gets the lock."""
LIFE_S = 60.0
"""For how long a lock lives without a word of its holder, unless lockMaxLiveTime says otherwise."""
STUCK_S_MIN = 1.5 * LOCK_INTERVAL_MS / 1e3
"""Without the line of the take-over: longer than the next request of an owner that is well."""
GONE_S = 5.0
JOIN_S = 3.0
"""A queue is pulled from as soon as a rebalance has assigned it, by clients of 5.x half a second later."""
PUT_OFF_S_MIN = 2.0
"""A first pull that is put off once, for a second, is no delay that anybody notices."""
TIMER_S = LOCK_INTERVAL_MS / 1e3 + JOIN_S


def handover(logs: Logs) -> Iterator[Found]:
    """Queues that were taken over when the lock of another client had expired, after a wait for it."""
    waits: dict[tuple[str, ...], list[Event]] = {}
    for wait in logs.of(Logged.LOCK_WAITED):
        if wait.get("holder") and wait.get("holder") != wait.get("client"):
            waits.setdefault((wait.node, *_queue(wait), wait.get("holder")), []).append(wait)
    taken: list[tuple[Event, list[Event]]] = []
    used: set[int] = set()
    for expiry in logs.of(Logged.LOCK_EXPIRED):
        before = [
            one for one in waits.get((expiry.node, *_queue(expiry), expiry.get("holder")), ()) if _led_to(one, expiry)
        ]
        # A lock lives as long as lockMaxLiveTime says: that it expired, and who asked for it had been refused, is the proof.
        if before and expiry.from_s is not None:
            taken.append((expiry, before))
            used.update(map(id, before))
    unused = [one for of in waits.values() for one in of if id(one) not in used]
    stuck = [one for one in unused if _length_s(one) >= STUCK_S_MIN or _is_cut(logs, one)]
    ends = {id(expiry): before for expiry, before in taken}
    told = [*stuck, *(one for expiry, before in taken for one in (expiry, *before))]
    yield from _by_clients(logs, told)
    for group in together(told, APART_S):
        expiries = [one for one in group if id(one) in ends]
        yield _found(
            logs, group, expiries, [one for one in group if one.kind is Logged.LOCK_WAITED and id(one) not in used]
        )


def _by_clients(logs: Logs, told: Sequence[Event]) -> Iterator[Found]:
    """Consumers that say that they wait for a lock, at times of which no broker's log has who held it."""
    waits = [
        one
        for one in logs.of(Logged.NOT_LOCKED, Logged.NOT_ASSIGNED)
        if _length_s(one) >= STUCK_S_MIN and not any(overlap(other, one.from_s, one.to_s) for other in told)
    ]
    for group in together(waits, APART_S):
        longest_s = max(map(_length_s, group))
        got = [one for one in (_assigned_after(logs, wait) for wait in group) if one is not None]
        from_s, to_s = span([*group, *got])
        queues = distinct(f"{one.get('topic')}@{logs.broker(one)}:{one.get('queue')}" for one in group)
        against = [
            phrase(
                "no broker's log here says who held the locks (lock.log of 4.x, filter.log of stock 5.x)",
            )
        ]
        if longest_s > 2 * LIFE_S:
            against.append(
                phrase(
                    "no lock of a holder that is gone lives for so long: its holder is at work, or the broker gives "
                    "it to nobody",
                )
            )
        yield Found(
            pattern=LogPattern.LOCK_WAITED, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s, lines=lines_of([*group, *got]),
            why=(
                phrase(
                    "consumers waited for the locks of {queues} for up to {longest_s:.0f} s",
                    queues=counted(len(queues), "queue"), longest_s=longest_s,
                ),
                *((phrase("{count} of them were assigned then", count=len(got)),) if got else ()),
            ),
            brokers=distinct(map(logs.broker, group)), topics=distinct(one.get("topic") for one in group),
            groups=distinct(one.get("group") for one in group), queues=queues, against=tuple(against),
        )  # fmt: skip


def _assigned_after(logs: Logs, wait: Event) -> Event | None:
    """The line by which the client got the queue that it had waited for."""
    return next(
        (
            one
            for one in logs.of(Logged.QUEUE_ASSIGNED)
            if one.file == wait.file
            and (one.get("broker"), *_queue(one)) == (wait.get("broker"), *_queue(wait))
            and overlap(one, wait.to_s, wait.to_s, APART_S)
        ),
        None,
    )


def _is_cut(logs: Logs, wait: Event) -> bool:
    """Whether the log ends while somebody waits for the lock of a client that is gone, and that had not given it back."""
    ends_s = next((one.to_s for one in logs.files if one.path == wait.file and one.node == wait.node), None)
    if ends_s is None or wait.to_s is None or ends_s - wait.to_s > CUT_S or _length_s(wait) < CUT_WAITED_S_MIN:
        return False
    owner = (wait.get("holder"), wait.node)
    given_back = any(
        (one.get("client"), one.node) == owner and _queue(one) == _queue(wait) for one in logs.of(Logged.UNLOCKED)
    )
    return not given_back and _death(logs, owner, [wait]) is not None


def own_lock(logs: Logs) -> Iterator[Found]:
    """Queues whose lock a member was granted by a rebalance, and whose pulls it puts off as not locked from then on.

    A queue whose lock another client has is not assigned ("add a new mq failed"), and has no pull to put off. One that a member
    had for longer, and whose lock it lost, was not assigned just before.
    """
    assigned: dict[tuple[str, ...], list[Event]] = {}
    for one in logs.of(Logged.QUEUE_ASSIGNED):
        assigned.setdefault((one.file, one.get("broker"), *_queue(one)), []).append(one)
    pairs: list[tuple[Event, Event]] = []
    for wait in logs.of(Logged.PULL_PUT_OFF):
        before = [
            one
            for one in assigned.get((wait.file, wait.get("broker"), *_queue(wait)), ())
            if one.from_s is not None and wait.from_s is not None and -1 <= wait.from_s - one.from_s <= JOIN_S
        ]
        if before and _length_s(wait) >= PUT_OFF_S_MIN:
            pairs.append((before[-1], wait))
    for waits in together((wait for _, wait in pairs), APART_S):
        ids = set(map(id, waits))
        told = [one for pair in pairs if id(pair[1]) in ids for one in pair]
        longest_s = max(map(_length_s, waits))
        against = (
            phrase(
                "the lock timer asks every {interval_s:.0f} s unless lockInterval is set: the broker did not "
                "answer, or another client has the locks",
                interval_s=LOCK_INTERVAL_MS / 1e3,
            ),
        )
        from_s, to_s = span(told)
        yield Found(
            pattern=LogPattern.OWN_LOCK_WAITED, from_s=from_s, to_s=to_s, lines=lines_of(told),
            sure=Sure.POSSIBLE if longest_s > TIMER_S else Sure.SURE, against=against if longest_s > TIMER_S else (),
            why=(phrase(
                "{queues} assigned with their locks, and their pulls were put off as not locked for up to "
                "{longest_s:.0f} s",
                queues=counted(len(waits), "queue", were=True), longest_s=longest_s,
            ),),
            brokers=distinct(map(logs.broker, waits)), groups=distinct(one.get("group") for one in waits),
            topics=distinct(one.get("topic") for one in waits),
            queues=distinct(f"{one.get('topic')}@{logs.broker(one)}:{one.get('queue')}" for one in waits),
        )  # fmt: skip


def _queue(event: Event) -> tuple[str, str, str]:
    return event.get("group"), event.get("topic"), event.get("queue")


def _led_to(wait: Event, expiry: Event) -> bool:
    if wait.to_s is None or expiry.from_s is None:
        return False
    return -1 <= expiry.from_s - wait.to_s <= GAP_S / 2 or (wait.from_s or 0) <= expiry.from_s <= wait.to_s


def _length_s(event: Event) -> float:
    return 0.0 if event.from_s is None or event.to_s is None else event.to_s - event.from_s


def _found(logs: Logs, group: Sequence[Event], expiries: Sequence[Event], stuck: Sequence[Event]) -> Found:
    waits = [one for one in group if one.kind is Logged.LOCK_WAITED]
    holders = distinct(one.get("holder") for one in group)
    owners = sorted({(one.get("holder"), one.node) for one in group})
    deaths = {owner: gone for owner in owners if (gone := _death(logs, owner, group)) is not None}
    from_s, to_s = span([*group, *deaths.values()])
    why, against = [], []
    if expiries:
        why.append(
            phrase(
                "{queues} of {clients} were taken over when their locks had expired, which no client had given "
                "back; others asked for them {times} meanwhile",
                queues=counted(len(expiries), "queue"),
                clients=counted(len(holders), "client"),
                times=counted_in(waits, "time"),
            )
        )
    if stuck:
        longest = max(map(_length_s, stuck))
        why.append(
            phrase(
                "others asked for the lock of {queues} for up to {longest:.0f} s and did not get it",
                queues=counted(len(stuck), "queue"),
                longest=longest,
            )
        )
        cut = [one for one in stuck if _length_s(one) < STUCK_S_MIN]
        if cut:
            against.append(
                phrase(
                    "the log ends at {at}, while they wait: until when is not in it",
                    at=words_of(span(cut)[1]),
                )
            )
        elif not expiries:
            against.append(
                phrase(
                    "no line says that a lock expired and was taken over: its owner may be at work and slow",
                )
            )
    related = [
        phrase(
            "{at} the connection of {client} was lost, its queues were taken over until {until} ({after_s:.0f} s later)",
            at=words_of(gone.from_s),
            client=owner[0],
            until=words_of(last_s),
            after_s=last_s - gone.from_s,
        )
        for owner, gone in deaths.items()
        if (last_s := _last_taken_s(expiries, owner)) is not None and gone.from_s is not None
    ]
    dead = {holder for holder, _ in deaths}
    alive = [holder for holder in holders if holder not in dead]
    if alive and any(logs.has(one.node, "broker.log") for one in group):
        against.append(
            phrase(
                "no line says that the connection of {clients} was lost: it may have stood still, or the clocks differ",
                clients=_some(alive),
            )
        )
    elif alive:
        against.append(phrase("no broker.log of this broker is here, which has the end of a client's connection"))
    ended = expiries or any(_length_s(one) < STUCK_S_MIN for one in stuck)
    sure = Sure.SURE if expiries and deaths else Sure.LIKELY if ended else Sure.POSSIBLE
    first = expiries[0] if expiries else waits[0]
    of_first = [one for one in waits if (*_queue(one), one.get("holder")) == (*_queue(first), first.get("holder"))]
    died = [gone for owner, gone in deaths.items() if owner == (first.get("holder"), first.node)]
    shown = [*died, *of_first, *expiries]
    return Found(
        pattern=LogPattern.LOCK_WAITED, sure=sure, from_s=from_s, to_s=to_s, why=tuple(why), against=tuple(against),
        brokers=distinct(logs.broker(one) for one in group), groups=distinct(one.get("group") for one in group),
        topics=distinct(one.get("topic") for one in group), related=tuple(related), lines=lines_of(shown),
        queues=distinct(f"{one.get('topic')}@{logs.broker(one)}:{one.get('queue')}" for one in group),
    )  # fmt: skip


def _death(logs: Logs, owner: tuple[str, str], group: Sequence[Event]) -> Event | None:
    """The loss of the owner's connection to this node, before anybody had its queues."""
    from_s, to_s = span(one for one in group if (one.get("holder"), one.node) == owner)
    if from_s is None or to_s is None:
        return None
    lost = logs.connections_lost.get(owner, ())
    first = bisect.bisect_left(lost, from_s - GAP_S, key=lambda one: one.from_s or 0.0)
    return next((one for one in lost[first : first + 1] if (one.from_s or 0.0) <= to_s + GONE_S), None)


def _last_taken_s(expiries: Sequence[Event], owner: tuple[str, str]) -> float | None:
    times = (one.from_s for one in expiries if (one.get("holder"), one.node) == owner and one.from_s is not None)
    return max(times, default=None)


def _some(names: Sequence[str]) -> str:
    first = ", ".join(names[:3])
    return phrase("{names} and {count} more", names=first, count=len(names) - 3) if len(names) > 3 else first
