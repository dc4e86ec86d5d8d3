"""Users: a broker does not start, since its store cannot be loaded (apache/rocketmq 9728, 10108, 6096)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="store-not-loaded",
    title="A broker does not start, as its store cannot be loaded",
    symptom="A broker ends while it starts, often without a word on the terminal, after a crash, a full disk, or a "
    "changed setting.",
    threads=("issues/9728", "issues/10108", "issues/6096"),
    advice="The exception below the line names what cannot be read. Keep a copy of the store first. A consume queue "
    "can be made anew: move STORE/consumequeue away and start, which takes as long as it takes to read the "
    "commit log. A JSON file of STORE/config that is empty or cut has a .bak beside it. A file whose length is "
    "not the one that is set (mappedFileSizeCommitLog, mappedFileSizeConsumeQueue) wants the old setting back. "
    "4.9.3 to 5.3.3 fail in correctMinOffset where a consume queue's last file is empty: move that file away.",
    sign=Sign(
        events=(Logged.STORE_UNLOADED,),
        because="DefaultMessageStore.load threw an exception, after which a broker ends",
        having="said",
        lines=("2026-11-23 14:10:29 ERROR main - load exception",),
    ),
)
