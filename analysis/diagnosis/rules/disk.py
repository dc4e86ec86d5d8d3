"""A disk that counts as full (CleanCommitLogService of 4.x and 5.x)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from analysis.diagnosis.rules.stores import REFUSALS, refused_alone, said_of_refusal, share_told
from analysis.diagnosis.rules.stores import REFUSES as LIMIT
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 60.0
"""A broker looks every 10 s."""
REFUSED_S, OVER_S = 300.0, 86_400.0
"""Within these, sends that were refused are of a disk that was marked full, and a line that it is not full any more is of it."""
ROUNDED = 4
"""Characters of a share that is rounded up to hundredths, as releases do that count as df does; a share of 4.6.0 has more."""
WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
AS_FULL = phrase("the disk may be as full as this")
FORCED = phrase("files were deleted whatever their age, and whether or not their messages had been consumed")
WITHOUT_RESERVE = 0.95
"""What of an ext4 its default reserve leaves."""
ON_WINDOWS = phrase("Make room on that drive.")


def full(logs: Logs) -> Iterator[Found]:
    """What brokers, or the answers that they gave, say of a disk without room."""
    ends = list(logs.of(Logged.DISK_OK))
    for group in _marked(logs):
        from_s, to_s = span(group)
        marks = [one for one in group if one.kind is Logged.DISK_FULL]
        refused = [one for one in logs.of(*REFUSALS) if overlap(one, from_s, to_s, REFUSED_S)]
        kept = [
            one
            for one in logs.of(Logged.NOTHING_DELETED)
            if one.node == group[0].node and overlap(one, from_s, to_s, GAP_S)
        ]
        over = [
            one
            for one in ends
            if one.node == group[0].node and overlap(one, to_s, to_s if to_s is None else to_s + OVER_S)
        ]
        paths = distinct(one.get("path") for one in marks)
        why = (
            [phrase("the broker counted its disk as full, {shares}: it refuses sends", shares=_shares(marks))]
            if marks
            else []
        )
        if any(one.kind is Logged.FILES_FORCED for one in group):
            why.append(FORCED if marks else phrase("the disk was nearly full: {forced}", forced=FORCED))
        yield Found(
            pattern=LogPattern.DISK_FULL, sure=Sure.SURE if marks else Sure.LIKELY, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), lines=lines_of([*group, *refused[:2], *kept]),
            why=(*why, *(phrase("the full disk is that of {path}", path=path) for path in paths)),
            related=(
                *((phrase(
                    "{sends} refused, since the store was not writable (CODE 14)",
                    sends=counted_in(of, "send", were=True),
                ),)
                  if (of := [one for one in refused if one.kind is Logged.NOT_WRITABLE]) else ()),
                *((phrase(
                    "it looked for old files, and found none to delete ({times})",
                    times=counted_in(kept, "time"),
                ),) if kept else ()),
                *(phrase("{at} the broker counted it as full no more", at=words_of(one.from_s)) for one in over[:1]),
            ),
            advice=ON_WINDOWS if _is_windows(group) else "",
        )  # fmt: skip
    for group in refused_alone(logs):
        most = share_told(group)
        if most is None or most <= LIMIT:
            continue
        from_s, to_s = span(group)
        own = [one for one in group if one.kind is not Logged.NOT_WRITABLE]
        yield Found(
            pattern=LogPattern.DISK_FULL, sure=Sure.LIKELY, from_s=from_s, to_s=to_s, lines=lines_of(group),
            brokers=distinct([*(logs.broker_at(one.get("address")) for one in group if one.get("address")),
                              *map(logs.broker, own)]),
            why=(phrase(
                "the disk was at {most}, by what the broker answered: above {limit:.2f} it refuses sends",
                most=most, limit=LIMIT,
            ),
                 *dict.fromkeys(map(said_of_refusal, [*group[:1], *own[:1]]))),
        )  # fmt: skip


def near_the_limit(logs: Logs) -> Iterator[Found]:
    """Shares that 4.6.0 would have counted as below the limit: what the file system reserves may be what makes the disk full.

    Of files that were deleted whatever their age no line has the share.
    """
    for group in _marked(logs):
        from_s, to_s = span(group)
        shares = [one.get("ratio") for one in group if one.get("ratio")]
        as_df = [share for share in shares if len(share) <= ROUNDED]
        if shares and (not as_df or WITHOUT_RESERVE * max(map(float, as_df)) > LIMIT):
            continue
        # Windows reserves nothing for root, and has no tune2fs.
        is_windows = _is_windows(group)
        why = (
            [
                phrase(
                    "the disk counted as full, at {shares}: sends are refused",
                    shares=" and ".join(sorted(set(shares))),
                )
            ]
            if shares
            else []
        )
        if any(one.kind is Logged.FILES_FORCED for one in group):
            why.append(FORCED)
        if as_df and not is_windows:
            why.append(
                phrase(
                    "with ext4's default reserve of 5 % a broker of 4.6.0 would count less than 0.90, and take sends",
                )
            )
        yield Found(
            pattern=LogPattern.DISK_NEAR_LIMIT, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), lines=lines_of(group), why=tuple(why),
            against=(AS_FULL if is_windows else phrase(
                "{as_full}: see df, and tune2fs -l for what is reserved",
                as_full=AS_FULL,
            ),),
            advice=ON_WINDOWS if is_windows else "",
        )  # fmt: skip


def _marked(logs: Logs) -> Iterator[list[Event]]:
    events = list(logs.of(Logged.DISK_FULL, Logged.FILES_FORCED))
    for node in dict.fromkeys(one.node for one in events):
        yield from together((one for one in events if one.node == node), GAP_S)


def _shares(marks: Sequence[Event]) -> str:
    told = sorted({one.get("ratio") for one in marks if one.get("ratio")})
    return phrase("at {shares}", shares=" and ".join(told)) if told else phrase("at a share that no line has")


def _is_windows(group: Sequence[Event]) -> bool:
    return any(WINDOWS.match(one.get("path")) for one in group)
