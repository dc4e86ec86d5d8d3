"""What of a broker's disk is used, as it counts itself, and as a newer release would."""

import math
import re
from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading

REFUSES, DELETES = 0.90, 0.85
"""diskSpaceWarningLevelRatio and diskSpaceCleanForciblyRatio, the defaults of org.apache.rocketmq.store.DefaultMessageStore's
CleanCommitLogService; 5.x takes no higher ones."""
MAX_USED_PERCENT = 75
"""diskMaxUsedSpaceRatio of org.apache.rocketmq.store.config.MessageStoreConfig: below it nothing is deleted for want of room."""
RESERVE_COUNTS_SINCE = "4.9.2"
"""Since when a broker counts as df does: what is reserved for root is no room."""
ROUNDED = 4
"""Characters of a share in hundredths. Releases that count as df does round up to them; older ones do not round."""
WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
"""A path of Windows."""
WITHOUT_RESERVE = 0.95
"""What of ext4 the default reserve for root leaves."""


def disk_fills(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A disk above a limit now, or after an upgrade from a release that counts what is reserved for root as free."""
    try:
        share = float(broker.disk_share)
    except ValueError:
        return
    if not 0 <= share <= 1:
        return
    deletes = max(DELETES, _percent(broker.conf.get("diskMaxUsedSpaceRatio")) / 100)
    after = math.ceil(100 * share / WITHOUT_RESERVE) / 100
    # Windows reserves nothing for root, and has no tune2fs.
    is_windows = WINDOWS.match(broker.conf.get("storePathCommitLog") or broker.conf.get("storePathRootDir", ""))
    if share > min(REFUSES, deletes):
        does = "refuses sends" if share > REFUSES else "deletes files that nobody may have consumed"
        yield AuditFinding(
            kind="disk-full",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"{share:.2f} of its disk is used, as it counts: it {does}",
            advice="Make room."
            + (
                ""
                if is_windows
                else f" Since {RESERVE_COUNTS_SINCE} what an ext4 reserves for root counts as if it were not there: tune2fs -m 0."
            ),
        )
    elif not is_windows and len(broker.disk_share) > ROUNDED and after > min(REFUSES, deletes):
        yield AuditFinding(
            kind="disk-full-after-upgrade",
            severity=Severity.WARNING,
            where=broker.words,
            says=f"{share:.2f} of its disk is used, with what is reserved for root as free; "
            f"{RESERVE_COUNTS_SINCE} and newer count {after:.2f} "
            "of an ext4 with the default reserve",
            advice=f"Above {deletes:.2f} files are deleted, above {REFUSES:.2f} sends are refused: tune2fs -m 0, or more room, "
            "before an upgrade.",
        )


def _percent(text: str | None) -> float:
    return float(text) if text and text.isascii() and text.isdigit() else MAX_USED_PERCENT
