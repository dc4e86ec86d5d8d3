"""Users: CODE 14, "service not available now" (apache/rocketmq 486)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="store-not-writable",
    title="A broker refuses sends as not writable",
    symptom='Sends fail with CODE 14 "service not available now", which names the disk, the slave and a shutdown '
    "as reasons.",
    threads=("issues/486",),
    advice="The ratios in the answer say whether the disk is full (`df -h`, diskMaxUsedSpaceRatio, "
    "fileReservedTime). If not, look in the broker's store.log and storeerror.log for what marked it: \"Map "
    'failed", an error of the disk (`dmesg -T`), an exception of the consume queue; `mqadmin brokerStatus -b '
    "ADDRESS` has runtime flags. Restart the broker when the reason is gone. A send that reached a slave has a "
    "client with an old route.",
    sign=Sign(
        pattern=LogPattern.NOT_WRITABLE,
        events=(Logged.NOT_WRITABLE, Logged.STORE_REFUSES),
        because="a broker answers so while its store is marked as not writable, is shut down, or is a slave's",
    ),
)
