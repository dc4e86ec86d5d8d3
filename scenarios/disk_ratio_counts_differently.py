"""Users: after an upgrade the disk is full at a fill that was fine before (apache/rocketmq 3245, 4707, 2138, 4549).

A broker refuses sends when more than 0.90 of its disk is used, and deletes files that nobody has consumed above 0.85. 4.6.0
counts what a file system reserves for root, 5 % of ext4's blocks by default, as free; 4.9.7 and 5.x as if it were not there, as df
does, and round up. At 0.82 and 0.87 of all blocks they see 0.88 and 0.94 of a store of 1 GiB, where ext4 keeps a further 16 MiB
for itself, and 0.87 and 0.92 of a large one.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import DiskFilled
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

SINCE_4_9_7 = tuple(release for release in RELEASES if release != "4.6.0")
TO_DELETE, TO_REFUSE = 0.82, 0.87
RESERVE_PERCENT = 5
HOLD_S = 80.0
"""The first cleaning comes 60 s after a start, and one every 10 s from then on (DefaultMessageStore.addScheduleTask)."""
LOAD = OpenLoopSends(body_bytes=1024, readings=("deleted_log_mb",))
CONF = {"diskMaxUsedSpaceRatio": "75", "mappedFileSizeCommitLog": str(2**20)}
"""The default ratio, which the lab raises, and files so small that several are full."""
HIGHER = {"rocketmq.broker.diskSpaceWarningLevelRatio": "0.95"}

DELETES_LATER = {"rocketmq.broker.diskSpaceCleanForciblyRatio": "0.95"}

XFS, REFUSES, DELETES, NO_RESERVE, RATIO, KEEPS = (
    "baseline",
    "incident",
    "incident-deletes",
    "fix-no-reserve",
    "fix-higher-ratio",
    "fix-higher-clean-ratio",
)

USED = "org.apache.rocketmq.common.UtilAll.getDiskPartitionSpaceUsedPercent"
CLEAN = "org.apache.rocketmq.store.DefaultMessageStore.CleanCommitLogService"

ALL = side(1, 0, "the disk is full as the broker counts, and each of the last sends is refused, or none is")
NONE = side(0, 1, "the disk is not full as the broker counts, and none of the last sends is refused, or each is")
FILES = side(2, 0, "all files but the last are deleted, of 2 MB and more, or none of them", bound=0.5)
NO_FILE = side(0, 2, "no file is deleted, or all but the last, of 2 MB and more", bound=0.5)


def _refused(arm: str, at: Side) -> Part:
    return fact(of("unaccepted_last_share", arm), at)


def _deleted(arm: str, at: Side) -> Part:
    return fact(of("deleted_log_mb", arm, moment="after"), at)


COUNTS_AS_FREE = "what is reserved counts as free"
AS_DF = "what is reserved counts neither as free nor as used, and the share is rounded up"

GO = f"{USED}, {CLEAN}.isSpaceToDelete, {CLEAN}.deleteExpiredFiles"
FILES_GO = refuted(
    f"{COUNTS_AS_FREE}: at {TO_DELETE:g} only files older than fileReservedTime go", GO, ("4.6.0",)
) | confirmed(f"{AS_DF}: 0.88 is above 0.85, from which on files go whatever their age", GO, SINCE_4_9_7)  # fmt: skip

X_01 = claim(
    "X-disk-ratio-counts-differently-01", "", "service not available now, maybe disk full: after an upgrade sends are refused at a "
    "fill that was fine before.",
    reading=f"With {TO_REFUSE:g} of the blocks of an ext4 used that reserves {RESERVE_PERCENT} % for root, a broker refuses each "
    "send once it has looked.",
    expected=refuted(f"{COUNTS_AS_FREE}, and {TO_REFUSE:g} is not above 0.90", f"{USED}, {CLEAN}.isSpaceToDelete", ("4.6.0",))
    | confirmed(f"{AS_DF}: 0.94 is above 0.90", f"{USED}, {CLEAN}.isSpaceToDelete", SINCE_4_9_7),
    parts={"refused": _refused(REFUSES, ALL), "xfs": control(_refused(XFS, NONE))},
    summary=f"At {TO_REFUSE:g} of an ext4 with a reserve of {RESERVE_PERCENT} % sends were refused {{refused}}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="the file system's reserve counts as used: sends are refused (maybe disk full) at a fill that was fine",
        fails="the file system's reserve does not count as used",
    ),
)  # fmt: skip

X_02 = claim(
    "X-disk-ratio-counts-differently-02", "", "Messages pile up, and at a disk share of 0.85 files are deleted at once: messages "
    "that nobody has consumed are lost.",
    reading=f"With {TO_DELETE:g} of those blocks used, which 4.6.0 leaves alone, the files of the commit log are deleted, though "
    "nobody has consumed anything and none is 72 hours old.",
    expected=FILES_GO,
    parts={"deleted": _deleted(DELETES, FILES), "xfs": control(_deleted(XFS, NO_FILE))},
    summary=f"At {TO_DELETE:g} of an ext4 with a reserve of {RESERVE_PERCENT} % files with unconsumed messages were deleted "
    "{deleted}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.HOLDS,
        holds="the file system's reserve counts as used: files are deleted sooner, with messages that nobody has consumed",
        fails="the file system's reserve makes no file be deleted sooner",
    ),
)  # fmt: skip

X_03 = claim(
    "X-disk-ratio-counts-differently-03", "", "tune2fs -m 0 takes the reserve away, and the disk is not full any more.",
    cure_of=X_01.id,
    reading=f"With {TO_REFUSE:g} of the blocks of an ext4 without a reserve used, no send is refused. What it does not keep: files "
    "are deleted all the same.",
    expected=confirmed("without a reserve the share is 0.89, between both", f"{USED}, {CLEAN}.isSpaceToDelete", SINCE_4_9_7),
    parts={
        "none refused": _refused(NO_RESERVE, NONE),
        "files": _deleted(NO_RESERVE, FILES),
        "with a reserve": control(_refused(REFUSES, ALL)),
    },
    summary=f"At {TO_REFUSE:g} of an ext4 without a reserve sends were refused {{!none refused}}, and files were "
    "deleted {files}.",
    told=Told(
        weight=Weight.OUTAGE,
        do="tune2fs -m 0 on the store's file system",
    ),
)  # fmt: skip

X_04 = claim(
    "X-disk-ratio-counts-differently-04", "", "A diskSpaceWarningLevelRatio above the disk's share has sends accepted again.",
    cure_of=X_01.id,
    reading="With -Drocketmq.broker.diskSpaceWarningLevelRatio=0.95 no send is refused at 0.94 as the broker counts. What it does "
    "not keep: files are deleted all the same.",
    expected=confirmed("the property is the limit", f"{CLEAN}.isSpaceToDelete, {CLEAN}.isSpaceFull", ("4.9.7",))
    | refuted("whatever is set above 0.90 counts as 0.90", f"{CLEAN}.getDiskSpaceWarningLevelRatio", RELEASES_5X),
    parts={
        "none refused": _refused(RATIO, NONE),
        "files": _deleted(RATIO, FILES),
        "by default": control(_refused(REFUSES, ALL)),
    }, summary="With a diskSpaceWarningLevelRatio of 0.95 sends were refused at 0.94 {!none refused}, and files were "
    "deleted {files}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.FAILS,
        holds="a higher diskSpaceWarningLevelRatio has sends accepted again on a filling disk",
        fails="a higher diskSpaceWarningLevelRatio no longer keeps sends accepted on a filling disk",
        do="diskSpaceWarningLevelRatio above the disk's fill",
    ),
)  # fmt: skip

X_05 = claim(
    "X-disk-ratio-counts-differently-05", "", "A file system that reserves nothing is counted alike by all releases.",
    reading=f"With {TO_DELETE:g} of an xfs used no send is refused, and no file is deleted.",
    expected=confirmed(f"nothing is reserved: {TO_DELETE:g}, or little more, is below 0.85", f"{USED}, {CLEAN}.isSpaceToDelete"),
    parts={"none refused": _refused(XFS, NONE), "none deleted": _deleted(XFS, NO_FILE)},
    summary=f"At {TO_DELETE:g} of an xfs sends were refused {{!none refused}}, and files were deleted {{!none deleted}}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.FAILS,
        holds=f"a file system that reserves nothing, {TO_DELETE:g} full, has no file deleted and no send refused",
        fails=f"a file system that reserves nothing, {TO_DELETE:g} full, has files deleted or sends refused",
        do=f"a file system that reserves nothing, such as xfs: {TO_DELETE:g} full, no file is deleted",
    ),
)  # fmt: skip

X_06 = claim(
    "X-disk-ratio-counts-differently-06", "", "A diskSpaceCleanForciblyRatio above the disk's share keeps files that nobody has "
    "consumed.",
    cure_of=X_02.id,
    reading=f"With -Drocketmq.broker.diskSpaceCleanForciblyRatio=0.95 and {TO_DELETE:g} of those blocks used, 0.88 as the broker "
    "counts, no file is deleted.",
    expected=confirmed("the property is the limit; below it files go that are older than fileReservedTime",
                       f"{CLEAN}.isSpaceToDelete, {CLEAN}.deleteExpiredFiles", ("4.9.7",))
    | refuted("whatever is set above 0.85 counts as 0.85", f"{CLEAN}.getDiskSpaceCleanForciblyRatio", RELEASES_5X),
    parts={"none deleted": _deleted(KEEPS, NO_FILE), "by default": control(_deleted(DELETES, FILES))},
    summary="With a diskSpaceCleanForciblyRatio of 0.95 files were deleted at 0.88 {!none deleted}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.FAILS,
        holds="a higher diskSpaceCleanForciblyRatio keeps files that nobody has consumed",
        fails="a higher diskSpaceCleanForciblyRatio no longer keeps files that nobody has consumed",
        do="diskSpaceCleanForciblyRatio above the disk's fill",
        cures=(X_05.id,),
    ),
)  # fmt: skip


def _arm(
    name: str,
    what: str,
    share: float,
    *,
    reserve_percent: int = RESERVE_PERCENT,
    properties: Mapping[str, str] | None = None,
    xfs: bool = False,
    releases: tuple[str, ...] = (),
) -> Arm:
    broker = BrokerSettings(
        conf=CONF,
        properties=properties or {},
        store="loop-xfs" if xfs else "loop-ext4",
        store_reserve_percent=0 if xfs else reserve_percent,
    )
    fault = DiskFilled(node="broker-a", share=share)
    return Arm(name=name, what=what, fault=fault, load=LOAD, broker=broker, cells=({"rate_hz": 20},), releases=releases)


SCENARIO = Scenario(
    name="disk-ratio-counts-differently",
    title="After an upgrade the disk is full at a fill that was fine before",
    summary="A store lies on a file system that is filled to 0.82 or 0.87 of its blocks, with 5 % reserved for root or nothing.",
    symptom="After an upgrade a broker refuses sends (service not available now, maybe disk full), or deletes files "
    "that nobody has consumed, at a fill of its disk that was fine before.",
    threads=("issues/3245", "issues/4707", "issues/2138", "issues/4549"),
    faces={
        "sends are refused": "X-disk-ratio-counts-differently-01",
        "files are deleted": "X-disk-ratio-counts-differently-02",
    },
    advice="Compare with df, and with what is reserved (tune2fs -l): tune2fs -m 0, a file system that reserves "
    "nothing, or more room. A higher diskSpaceWarningLevelRatio helps against refusals, and "
    "diskSpaceCleanForciblyRatio against deletions; 5.3.3 and 5.5.0 take up to 90 and 85.",
    cures=(
        "X-disk-ratio-counts-differently-03",
        "X-disk-ratio-counts-differently-04",
        "X-disk-ratio-counts-differently-06",
    ),
    sign=Sign(
        pattern=LogPattern.DISK_NEAR_LIMIT,
        events=(Logged.DISK_FULL, Logged.FILES_FORCED),
        because="the disk's share was above 0.90, where sends are refused, or above 0.85, where files go whatever their "
        "age, and not far above: an upgrade, or what is reserved, may have brought it there; "
        "4.9.2 and newer count what the file system reserves for root as if it were not there, older ones as free",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm(XFS, "An xfs, which reserves nothing, filled to 0.82.", TO_DELETE, xfs=True),
        _arm(REFUSES, "An ext4 with its default reserve, filled to 0.87.", TO_REFUSE),
        _arm(DELETES, "The same, filled to 0.82.", TO_DELETE),
        _arm(NO_RESERVE, "An ext4 without a reserve, filled to 0.87.", TO_REFUSE, reserve_percent=0, releases=SINCE_4_9_7),
        _arm(
            RATIO,
            "An ext4 with its default reserve, filled to 0.87, and a diskSpaceWarningLevelRatio of 0.95.",
            TO_REFUSE,
            properties=HIGHER,
            releases=SINCE_4_9_7,
        ),
        _arm(
            KEEPS,
            "An ext4 with its default reserve, filled to 0.82, and a diskSpaceCleanForciblyRatio of 0.95.",
            TO_DELETE,
            properties=DELETES_LATER,
            releases=SINCE_4_9_7,
        ),
    ),
    phases=Phases(steady_s=2.0, hold_s_min=HOLD_S, hold_s_max=HOLD_S, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04, X_05, X_06),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    hiccup_ms_max=2000.0,
    schedule="side by side",
    cluster_per_trial=True,
)  # fmt: skip
"""What a broker counts is decided by code and by the file system: two deployments, not five."""
