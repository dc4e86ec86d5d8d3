"""Appends that took too long, sends that were refused, and the transient store pool (CommitLog, BrokerFastFailure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from analysis.diagnosis.reading import ReadFile
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import (
    CONSUMER_SEND_MSG_BACK,
    HEART_BEAT,
    OVERLOAD,
    PAGE_CACHE_BUSY,
    PAGE_CACHE_BUSY_MS,
    PULL_MESSAGE,
    REJECTREQUEST,
    SEND_MESSAGE,
)
from harness.printable import counted

STUCK_S = 10_000.0
"""From this age on the lock counts as busy no more (DefaultMessageStore.isOSPageCacheBusy)."""
GAP_S = 60.0
AROUND_S = 2.0
"""Stock times are whole seconds, and a line is written when its append is over."""
WHOLE_S = 10.0
"""A store log of so nearly all of a time has that time."""
GONE_S = 60.0
"""A broker that has just started refuses some sends for their age, with no append that is slow."""
REFUSED_MIN = 10
SLAVE_ADVICE = phrase(
    "Look at the slave and the way to it: a SYNC_MASTER waits for it for up to syncFlushTimeout, and sends that "
    "queue behind one that waits are refused for their age.",
)
SEND_CODES = frozenset(map(str, (SEND_MESSAGE, CONSUMER_SEND_MSG_BACK, 310, 320)))
"""Requests of the send pool; 310 and 320 are SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE of RequestCode."""
POOLS = {
    **dict.fromkeys(SEND_CODES, phrase("the send pool")),
    str(PULL_MESSAGE): phrase("the pull pool"),
    str(HEART_BEAT): phrase("the heartbeat pool"),
}
"""By the code of a request (BrokerController.registerProcessor); others are told by the code."""
REFUSED = (Logged.REFUSED_FOR_AGE, Logged.REFUSED_FOR_CACHE)


def slow(logs: Logs) -> Iterator[Found]:
    """Appends that a broker itself says were slow, in those of a second (the page cache counts as busy) and shorter ones."""
    seen: set[tuple[str, str]] = set()
    appends: dict[tuple[str, LogPattern], list[Event]] = {}
    for one in logs.of(Logged.SLOW_APPEND):
        # The store's warnings are in storeerror.log as well.
        if (one.node, one.text) not in seen:
            seen.add((one.node, one.text))
            is_long = one.most_ms > _busy_ms(logs, one.node)
            pattern = LogPattern.LONG_STALL if is_long else LogPattern.SHORT_STALL
            appends.setdefault((one.node, pattern), []).append(one)
    told: dict[int, list[Event]] = {}
    slow_ones = [one for events in appends.values() for one in events]
    for refusal in logs.of(*REFUSED):
        if (append := _append_of(refusal, slow_ones)) is not None:
            told.setdefault(id(append), []).append(refusal)
    for (_, pattern), events in appends.items():
        for group in together(events, GAP_S):
            yield _slow(logs, pattern, group, told)


def _busy_ms(logs: Logs, node: str) -> float:
    value = logs.setting(node, PAGE_CACHE_BUSY)
    return float(value) if value.isascii() and value.isdigit() else PAGE_CACHE_BUSY_MS


def _slow(logs: Logs, pattern: LogPattern, group: Sequence[Event], told: Mapping[int, Sequence[Event]]) -> Found:
    """Those of one time; ``told`` has the refusals by the identity of the append with which each is told."""
    from_s, to_s = span(group)
    lengths = [one.most_ms for one in group]
    first_s = None if from_s is None else from_s - max(lengths) / 1e3
    refused = [(one, append) for append in group for one in told.get(id(append), ())]
    puts = [
        one for one in logs.of(Logged.SLOW_PUT) if one.node == group[0].node and overlap(one, from_s, to_s, AROUND_S)
    ]
    took = (
        phrase("{shortest:.0f} to {longest:.0f} ms", shortest=min(lengths), longest=max(lengths))
        if len(group) > 1
        else phrase("{length:.0f} ms", length=lengths[0])
    )
    related = [
        phrase(
            "{sends} refused by [{keyword}] from {at} to {until} ({file}), with the append of {length_ms:.0f} ms",
            sends=counted(one.count, "send"),
            keyword=one.get("keyword"),
            at=words_of(one.from_s),
            until=words_of(one.to_s),
            file=one.file,
            length_ms=append.most_ms,
        )
        for one, append in refused
    ]
    is_any = any(True for _ in logs.of(*REFUSED))
    # What is told with another append may have begun with one of these.
    is_with_some = any(
        overlap(one, _start_s(append), append.to_s, AROUND_S) for one in logs.of(*REFUSED) for append in group
    )
    against = [] if is_with_some else [
        phrase("refused sends stand in the clients' logs, and none of those given has any at this time")
        if is_any else phrase("no client's log here has a refused send: brokers do not log them")
    ]  # fmt: skip
    return Found(
        pattern=pattern, sure=Sure.SURE, from_s=first_s, to_s=to_s, brokers=distinct(map(logs.broker, group)),
        topics=distinct(one.get("topic") for one in puts), related=tuple(related), against=tuple(against),
        why=(phrase(
            "{appends} held the lock for {took}, by the broker's own line",
            appends=counted(len(group), "append"), took=took,
        ),),
        lines=lines_of([*group, *(one for one, _ in refused)]),
    )  # fmt: skip


def _append_of(refusal: Event, appends: Sequence[Event]) -> Event | None:
    """The append that was going on when these sends were refused; of several the one that ended next to them."""
    near = (one for one in appends if overlap(refusal, _start_s(one), one.to_s, AROUND_S))
    return min(near, key=lambda one: (_apart_s(refusal, one), abs((one.to_s or 0) - (refusal.to_s or 0))), default=None)


def _apart_s(refusal: Event, append: Event) -> float:
    """Seconds between them; stock times are whole seconds, so that an append may have ended almost a second later."""
    before_s = (_start_s(append) or 0) - (refusal.to_s or 0)
    after_s = (refusal.from_s or 0) - (append.to_s or 0) - 1
    return max(before_s, after_s, 0.0)


def refused(logs: Logs) -> Iterator[Found]:
    """Sends that clients say were refused, at times of which no store log has the append."""
    slow_ones = list(logs.of(Logged.SLOW_APPEND))
    gone, threw_ones = list(logs.of(Logged.UNREACHABLE)), list(logs.of(Logged.APPEND_THREW))
    pools = [one for one in logs.files if one.settings.get("transientStorePoolEnable") == "true"]
    for kind, pattern in zip(REFUSED, (LogPattern.SHORT_STALL, LogPattern.LONG_STALL), strict=True):
        alone = [
            one
            for one in logs.of(kind)
            if not any(overlap(one, _start_s(a), a.to_s, AROUND_S) for a in slow_ones)
            and not _is_left_behind(one, threw_ones)
        ]
        for group in together(alone, GAP_S):
            from_s, to_s = span(group)
            count = sum(one.count for one in group)
            if any(_same_log(one, group) and _near(one, from_s, to_s) for one in gone):
                continue
            if (
                kind is Logged.REFUSED_FOR_CACHE
                and pools
                and any(one.get("keyword") == "REJECTREQUEST" for one in group)
            ):
                continue  # of the pool, or of an append: what the pool says decides
            brokers = distinct(logs.broker_at(one.get("address")) for one in group)
            keywords = distinct(f"[{one.get('keyword')}]" for one in group)
            late = [one for one in logs.of(Logged.SLAVE_LATE) if overlap(one, from_s, to_s, GAP_S)]
            stores = distinct(
                logs.names.get(one.node, one.node) for one in logs.files if _has_appends_of(one, from_s, to_s)
            )
            # A store log of another broker says nothing of these sends.
            whole = [one for one in stores if not any(map(logs.names_broker, brokers)) or one in brokers]
            against = [phrase("no store log here has the append, which a broker logs above 500 ms")]
            if whole:
                against = [
                    phrase(
                        "the store log of {brokers} has that time, and no append above 500 ms",
                        brokers=", ".join(whole),
                    )
                ]
            if late:
                waited_at = ", ".join(distinct(map(logs.broker, late)))
                against.append(
                    phrase(
                        "{sends} at {waited_at} waited for a slave that had not copied them in time (do sync "
                        "transfer other node): others grew too old behind those",
                        sends=counted_in(late, "send"),
                        waited_at=waited_at,
                    )
                )
            few = count < REFUSED_MIN or bool(whole) or bool(late)
            if count < REFUSED_MIN:
                against.append(phrase("they are few: a garbage collection or a cold start does the same"))
            yield Found(
                pattern=pattern, sure=Sure.POSSIBLE if few else Sure.LIKELY, from_s=from_s, to_s=to_s,
                why=(phrase(
                    "{sends} refused by {keywords}",
                    sends=counted(count, "send", were=True), keywords=", ".join(keywords),
                ),),
                brokers=brokers, against=tuple(against),
                lines=lines_of([*group, *late]), advice=SLAVE_ADVICE if late else "",
            )  # fmt: skip


def _has_appends_of(file: ReadFile, from_s: float | None, to_s: float | None) -> bool:
    """Whether it is a store log of all of this time."""
    return (
        bool(file.durations)
        and None not in (file.from_s, file.to_s, from_s, to_s)
        and file.from_s <= from_s + WHOLE_S  # type: ignore[operator]
        and file.to_s >= to_s - WHOLE_S  # type: ignore[operator]
    )


def _start_s(append: Event) -> float | None:
    return None if append.from_s is None else append.from_s - append.most_ms / 1e3


def _same_log(event: Event, group: Sequence[Event]) -> bool:
    return any(event.file == one.file for one in group)


def _near(event: Event, from_s: float | None, to_s: float | None) -> bool:
    return from_s is None or event.from_s is None or overlap(event, from_s, to_s, GONE_S)


def threw(logs: Logs) -> Iterator[Found]:
    """Appends that threw an exception, after which a quiet broker may refuse all sends."""
    for group in together(logs.of(Logged.APPEND_THREW), GAP_S):
        from_s, to_s = span(group)
        after = [one for one in logs.of(Logged.REFUSED_FOR_CACHE) if _is_left_behind(one, group)]
        rejected = (
            (
                phrase(
                    "{sends} refused by [REJECTREQUEST] after it",
                    sends=counted_in(after, "send", were=True),
                ),
            )
            if after
            else ()
        )
        appends = phrase("an append") if len(group) == 1 else phrase("{count} appends", count=len(group))
        yield Found(
            pattern=LogPattern.APPEND_THREW, sure=Sure.LIKELY if after else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            why=(phrase("{appends} threw an exception inside the put lock", appends=appends), *rejected),
            brokers=distinct(map(logs.broker, group)), lines=lines_of([*group, *after]),
            against=() if after else (phrase(
                "no client's log here has a send that was refused by [REJECTREQUEST] after it",
            ),),
        )  # fmt: skip


def _is_left_behind(refusal: Event, appends: Iterable[Event]) -> bool:
    """Whether a refusal came while the begin of the lock of an append that threw counts as busy."""
    return refusal.get("keyword") == REJECTREQUEST and any(
        one.from_s is not None and overlap(refusal, one.from_s, one.from_s + STUCK_S, 0.0) for one in appends
    )


def queue_full(logs: Logs) -> Iterator[Found]:
    """Requests that a thread pool had no place for, by the node's sample or by the clients."""
    sampled = [one for one in logs.of(Logged.POOL_BUSY) if one.get("state") in ("", "Running")]
    for group in together([*sampled, *logs.of(Logged.REFUSED_FULL)], GAP_S):
        samples = [one for one in group if one.kind is Logged.POOL_BUSY]
        told = [one for one in group if one.kind is Logged.REFUSED_FULL]
        from_s, to_s = span(group)
        by_pool: dict[str, Event] = {}
        for one in samples:
            by_pool.setdefault(
                POOLS.get(
                    one.get("code"),
                    phrase(
                        "the pool of request code {code}",
                        code=one.get("code"),
                    ),
                ),
                one,
            )
        why = [
            phrase(
                "{pool} took no request, with {queued} tasks in its queue",
                pool=pool,
                queued=one.get("queued") or phrase("all"),
            )
            for pool, one in by_pool.items()
        ]
        if told:
            why.append(
                phrase(
                    "{requests} refused by [{words}]",
                    requests=counted_in(told, "request"),
                    words=OVERLOAD,
                )
            )
        against = (
            ()
            if samples
            else (phrase("no remoting.log here says which pool was full; it samples one refusal in 10 s at most"),)
        )
        yield Found(
            pattern=LogPattern.SEND_POOL_FULL, sure=Sure.SURE if samples else Sure.LIKELY, from_s=from_s, to_s=to_s, why=tuple(why),
            brokers=distinct([*map(logs.broker, samples), *(logs.broker_at(one.get("address")) for one in told)]),
            against=against, lines=lines_of(group),
        )  # fmt: skip


def pool_exhausted(logs: Logs) -> Iterator[Found]:
    """A transient store pool without a free buffer."""
    low = [one for one in logs.of(Logged.POOL_LOW) if one.get("left") == "0"]
    for group in together([*logs.of(Logged.POOL_EMPTY), *low], GAP_S):
        from_s, to_s = span(group)
        empty = [one for one in group if one.kind is Logged.POOL_EMPTY]
        rejected = [
            one
            for one in logs.of(Logged.REFUSED_FOR_CACHE)
            if one.get("keyword") == "REJECTREQUEST" and overlap(one, from_s, to_s, GAP_S)
        ]
        why = [
            phrase("the pool had no buffer for a new file, {times}", times=counted_in(empty, "time")) if empty
            else phrase("the last buffer of the pool was taken, {times}", times=counted_in(group, "time"))
        ]  # fmt: skip
        if rejected:
            why.append(phrase("{sends} refused by [REJECTREQUEST]", sends=counted_in(rejected, "send", were=True)))
        yield Found(
            pattern=LogPattern.POOL_EXHAUSTED, sure=Sure.SURE if empty or rejected else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            why=tuple(why), brokers=distinct(map(logs.broker, group)), lines=lines_of([*group, *rejected]),
            against=() if rejected else (phrase("no client's log here has a refused send"),),
        )  # fmt: skip


def files_late(logs: Logs) -> Iterator[Found]:
    """Commit-log files that were not there when an append needed them."""
    for group in together(logs.of(Logged.FILE_TIMEOUT), GAP_S):
        from_s, to_s = span(group)
        slow_ones = [one for one in logs.of(Logged.SLOW_APPEND) if overlap(one, from_s, to_s, GAP_S)]
        yield Found(
            pattern=LogPattern.FILES_LATE, sure=Sure.SURE if slow_ones else Sure.LIKELY, from_s=from_s, to_s=to_s,
            why=(phrase(
                "{files} not made within 5 s",
                files=counted_in(group, "commit-log file", were=True),
            ),),
            brokers=distinct(map(logs.broker, group)), lines=lines_of([*group, *slow_ones]),
            against=() if slow_ones else (phrase("no append was slow at that time"),),
        )  # fmt: skip
    known = list(logs.of(Logged.FILE_TIMEOUT, Logged.MAP_FAILED, Logged.DISK_FULL))
    alone = (one for one in logs.of(Logged.NO_FILE) if not any(overlap(one, *span([other]), GAP_S) for other in known))
    for group in together(alone, GAP_S):
        from_s, to_s = span(group)
        yield Found(
            pattern=LogPattern.FILES_LATE, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s, lines=lines_of(group),
            why=(phrase(
                "{count} sends were refused, since there was no file to append to (CODE 1)",
                count=sum(one.count for one in group),
            ),),
            brokers=distinct(logs.broker_at(one.get("address")) for one in group if one.get("address")),
            against=(phrase(
                "a full disk and files that cannot be mapped end so, too: the broker's storeerror.log says which",
            ),),
        )  # fmt: skip


def pool_loss(logs: Logs) -> Iterator[Found]:
    """A broker with the transient store pool that came back without having been shut down."""
    for killed in logs.of(Logged.KILLED):
        # 5.x prints none of the store's settings: there the pool's own lines tell.
        pool = [one for one in logs.of(Logged.POOL_LOW, Logged.POOL_EMPTY) if one.node == killed.node]
        if not pool and logs.setting(killed.node, "transientStorePoolEnable") != "true":
            continue
        yield Found(
            pattern=LogPattern.KILLED_WITH_POOL, sure=Sure.LIKELY, from_s=killed.from_s, to_s=killed.to_s,
            brokers=(logs.broker(killed),),
            why=(phrase("the broker was not shut down before this start, and transientStorePoolEnable is on"),),
            against=(phrase("which messages were lost, if any, is in no log"),), lines=lines_of([killed, *pool]),
        )  # fmt: skip
