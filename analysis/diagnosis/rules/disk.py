"""A disk that counts as full (CleanCommitLogService of 4.x and 5.x)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from harness.model.log_events import Logged, LogPattern

GAP_S = 60.0
"""A broker looks every 10 s."""
ROUNDED = 4
"""Characters of a share that is rounded up to hundredths, as releases do that count as df does; a share of 4.6.0 has more."""
WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
AS_FULL = "the disk may be as full as this"
WITHOUT_RESERVE, LIMIT = 0.95, 0.90
"""What of an ext4 its default reserve leaves, and the share from which on sends are refused."""


def full(logs: Logs) -> Iterator[Found]:
    """Where the share is one that 4.6.0 would have counted as below the limit, the reserve may be what makes it full."""
    for group in together(logs.of(Logged.DISK_FULL, Logged.FILES_FORCED), GAP_S):
        from_s, to_s = span(group)
        shares = [one.get("ratio") for one in group if one.get("ratio")]
        as_df = [share for share in shares if len(share) <= ROUNDED]
        # Windows reserves nothing for root, and has no tune2fs.
        is_windows = any(WINDOWS.match(one.get("path")) for one in group)
        fine_before = not is_windows and bool(as_df) and WITHOUT_RESERVE * max(map(float, as_df)) <= LIMIT
        why = [f"the disk counted as full, at {' and '.join(sorted(set(shares)))}: sends are refused"] if shares else []
        if any(one.kind is Logged.FILES_FORCED for one in group):
            why.append("files were deleted whatever their age, and whether or not their messages had been consumed")
        if fine_before:
            why.append(
                "with ext4's default reserve of 5 % a broker of 4.6.0 would count less than 0.90, and take sends"
            )
        yield Found(
            pattern=LogPattern.DISK_FULL, sure=Sure.LIKELY if fine_before else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), lines=lines_of(group), why=tuple(why),
            against=() if fine_before else (AS_FULL if is_windows else f"{AS_FULL}: see df, and tune2fs -l for what is reserved",),
            advice="Make room on that drive." if is_windows else "",
        )  # fmt: skip
