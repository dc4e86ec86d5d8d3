"""Users: CODE 14, "service not available now, maybe disk full", and the disk is full (apache/rocketmq 486, 2138)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="disk-is-full",
    title="The disk is full: a broker refuses sends",
    symptom='Sends fail with CODE 14 "service not available now" and ratios above 0.90, while the store.log of the broker has '
    '"disk maybe full soon ..., so mark disk full" every 10 s.',
    threads=("issues/486", "issues/2138"),
    advice="In this order: 1. `df -h STORE; df -i STORE` on the broker's host, and what else than the store fills it: logs, "
    "dumps, another program. Delete that first. 2. `mqadmin deleteExpiredCommitLog -n NAMESRV -b ADDRESS` (4.9.4 and "
    "newer have it) deletes files that are older than fileReservedTime now, and not at deleteWhen. 3. If none is so "
    "old, `mqadmin updateBrokerConfig -n NAMESRV -b ADDRESS -k fileReservedTime -v HOURS` with fewer hours than the 72 of the "
    "default, and the same again: messages older than that are gone, consumed or not. 4. Give it a larger disk, or more "
    "brokers. Sends are taken again as soon as the "
    'share is below the limit ("so mark disk ok" in store.log), without a restart.',
    sign=Sign(
        pattern=LogPattern.DISK_FULL,
        events=(Logged.DISK_FULL, Logged.FILES_FORCED),
        because="the share of the disk that is used was above diskSpaceWarningLevelRatio, 0.90 by default, where each send is "
        "refused; above diskSpaceCleanForciblyRatio, 0.85, files go whatever their age",
        beside=(Logged.NOTHING_DELETED, Logged.NOT_WRITABLE, Logged.STORE_REFUSES),
        over=(Logged.DISK_OK,),
        over_because="the share of the disk that is used is no longer above the limit, and the broker takes sends again. A full "
        "disk stood before it",
    ),
)
