"""Users: the share of the disk that is used is -1.0."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="store-path-unreadable",
    title="A broker cannot see how full its disk is",
    symptom="A broker deletes nothing, or says each ten seconds that the disk will be full soon; the share is -1.0.",
    advice="The directory that it measures is not there, or not its user's to read: `ls -ld STORE/commitlog "
    "STORE/consumequeue`, `df -h STORE`, and storePathRootDir and storePathCommitLog in the broker's file, where "
    "a path with several directories wants 4.9.0 or newer. No full disk: nothing has to be deleted.",
    sign=Sign(
        events=(Logged.NO_DIRECTORY,),
        because="UtilAll.getDiskPartitionSpaceUsedPercent gives -1 where the directory is not there or cannot be "
        "read, which counts as full",
        against="a broker of 4.6.0 or 4.9.7 that has stored nothing yet has no such directory, and writes the same",
        gap_s=300.0,
        at_least=30,
        lines=("2026-11-23 14:10:29 INFO StoreScheduledThread1 - physic disk maybe full soon, so reclaim space, -1.0",)
        * 30,
    ),
)
