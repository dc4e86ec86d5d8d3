"""Which releases write the words by which logs are read: ``python -m tools.words RELEASE...``, a line for each that not all have.

The first and the last release of a line are what ``since`` and ``until`` of harness/model/log_events.py and of
harness/model/alert_lines.py say.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from harness.model.alert_lines import ALERT_LINES
from harness.model.log_events import WORDINGS
from harness.releases.log_words import writes, writes_line


def words(releases: Sequence[str]) -> Iterator[str]:
    """Raises as ``ensure_jars`` does."""
    for wording in WORDINGS:
        if wording.by.startswith("org.apache.rocketmq."):
            by = [release for release in releases if writes(release, wording)]
            if by != list(releases):
                yield f"{wording.event}: {wording.words!r}: {' '.join(by) or 'none'}"
    for line in ALERT_LINES:
        for one in line.wordings:
            by = [release for release in releases if writes_line(release, one)]
            yield f"{line.tells}: {one.words!r}: {' '.join(by) or 'none'}"


if __name__ == "__main__":
    print("\n".join(words(sys.argv[1:])))
