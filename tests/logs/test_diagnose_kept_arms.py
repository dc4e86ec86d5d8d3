"""What ``mqlab diagnose`` makes of the logs of real runs that are kept: of all nodes, an arm and release a folder."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import scenarios
from analysis.diagnosis.found import Found
from harness.model.rocketmq import BUSY_KEYWORDS
from harness.paths import PACKAGES
from tests.lib.operators_logs import SURENESS, changed, found_in, found_in_kept, later
from tools.kept_logs import KEPT, arm_folders

FOLDERS = arm_folders()
INCIDENTS = sorted((one.name for one in scenarios.INCIDENTS), key=len, reverse=True)
ALL = ("4.6.0", "4.9.7", "5.3.3", "5.5.0")
NEWER, OF_4X, OF_5X = ALL[1:], ALL[:2], ALL[2:]


def _each(arm: str, releases: tuple[str, ...], because: str) -> dict[str, str]:
    return {f"{arm}-{release}": because for release in releases}


WITHOUT_A_LINE: Mapping[str, str] = {
    "avoidance-mended-stopped-5.3.3": "a single attempt had no time left, the others failed with the connection that they shared",
    "delayed-message-fails-once-error-4.6.0": "an error ends the thread of the Timer, which logs nothing",
    "delayed-message-fails-once-error-4.9.7": "an error ends the level's task, which logs nothing",
    **_each(
        "delayed-message-fails-once-error", OF_5X, "what is thrown is caught, and the level goes on with it 10 s later"
    ),
    **_each(
        "delete-topic-rechecks-transactions", NEWER, "4.6.0 alone deletes the queue of what has ended with a topic"
    ),
    "disk-ratio-counts-differently-deletes-4.6.0": "4.6.0 counts what is reserved as free, and deletes nothing",
    **_each("async-timeout-stored-twice", NEWER, "a client newer than 4.6.0 has no time left for another try"),
    **_each("name-server-divergence-broker-killed", ALL, "all name servers see that the broker is gone"),
    "offset-past-the-end-4.9.7": "the group was let in again when its queue had grown beyond the offset",
    **_each("orderly-start-waits", NEWER, "a client newer than 4.6.0 pulls as soon as it has the lock"),
    **_each(
        "page-cache-stress",
        ALL,
        "appends stood still for 1.2 s, which is append-lock-over-1s; a file is given up after 5 s",
    ),
    **_each("page-cache-stress-pool-rolls", ALL, "a file took two seconds to be made, and is given up after 5"),
    **_each("page-cache-stress-reader", ALL, "beside a reader of cold data no append was slow enough for a line"),
    **_each("pool-loss-powerless", ALL, "it has no pool, and what a power loss takes is in no log"),
    **_each("reset-offset-stops-consumption", OF_5X, "a broker of 5.x sets offsets back by itself, and nobody stops"),
    "restarted-broker-forgets-consumers-4.9.7": "groups were refused for three seconds; who waited for longer did not ask",
    "restarted-broker-forgets-consumers-5.5.0": "no pull was refused; who waited did not ask",
    **_each("same-client-id-in-containers", NEWER, "a client newer than 4.6.0 has a name of its own by itself"),
    **_each(
        "send-queue-full", ALL, "an append that stands still for 1.2 s does not fill a queue of the default length"
    ),
    **_each("send-queue-full-small-queue", ALL, "of refusals a broker logs those in one millisecond of ten thousand"),
    **_each("slave-serves-no-reads", OF_4X, "a slave of 4.x is read from"),
}
"""Where the incident does not come about, and so leaves nothing."""
OF_THE_HOST = {"append-stall", "append-lock-over-1s"}
"""The runs were made on a busy host, whose stalls brokers and clients log: appends stood still, and sends were refused."""
APPEND = re.compile(r"\[NOTIFYME\]putMessage in lock cost time\(ms\)=(\d+),")
LEFT, GONE = {"broker-leaves-keys-move"}, {"broker-leaves-keys-move", "broker-gone"}
BESIDES: Mapping[str, set[str]] = {
    **{f"broker-leaves-keys-move-{one}": GONE for one in ALL},
    "broker-leaves-keys-move-4.6.0": {*GONE, "orderly-start-waits"},
    "broker-leaves-keys-move-5.5.0": {*GONE, "ordered-lock-handover"},
    **{f"delayed-message-fails-once-error-{one}": {"page-cache-stress"} for one in OF_5X},
    **{f"disk-ratio-counts-differently{arm}-{one}": {"disk-is-full"} for arm in ("", "-deletes") for one in ALL},
    **{f"name-server-divergence-{arm}-{one}": LEFT for arm in ("server-paused", "unheard-broker") for one in ALL},
    **{f"name-server-divergence-broker-killed-{one}": GONE for one in ALL},
    **{f"offset-past-the-end-{one}": GONE for one in ALL},
    **{f"offset-past-the-end-few-sent-{one}": GONE for one in ALL},
    **{f"pool-loss-{arm}-{one}": GONE for arm in ("killed-pool", "powerless") for one in ALL},
    "offset-past-the-end-4.9.7": {*GONE, "restarted-broker-forgets-consumers"},
    **{f"restarted-broker-forgets-consumers-{one}": GONE for one in ALL},
    **{f"restarted-broker-forgets-consumers-known-route-{one}": GONE for one in OF_4X},
    "retry-topic-flood-full-size-5.5.0": {"slave-serves-no-reads"},
    **{f"same-client-id-in-containers-{one}": {"dead-letter"} for one in ALL},
    **{f"slave-serves-no-reads-{one}": GONE for one in ALL},
    **{f"sync-master-acknowledges-alone-{one}": GONE for one in ALL},
}
"""What comes of it: a master is out of the routes, be it those of one name server, and clients ask its slave. And what else was
done: a master is killed, or loses its power; messages fail to their last retry; members leave, or come with a client of 4.6.0.
Where the host stood still for seconds, appends did, too. A disk that counts as full for what is reserved counts as full."""
OF_CLIENTS = {"async-timeout-stored-twice"}
"""Clients alone write of it, and do not say which broker."""
WITH_GROUPS = {
    "dead-letter", "offset-past-the-end", "orderly-start-waits", "reset-offset-stops-consumption",
    "restarted-broker-forgets-consumers", "same-client-id-in-containers", "slave-serves-no-reads", "subscriptions-that-differ",
}  # fmt: skip
WITH_TOPICS = {
    "async-timeout-stored-twice", "dead-letter", "delete-topic-rechecks-transactions", "offset-past-the-end",
    "orderly-start-waits", "queue-number-mismatch", "recreated-topic-keeps-offsets", "reset-offset-stops-consumption",
    "slave-serves-no-reads", "subscriptions-that-differ",
}  # fmt: skip
OURS = ("mqlab-", "%RETRY%", "%DLQ%")


def _incident(folder: str) -> str:
    return next(name for name in INCIDENTS if folder.startswith(name))


def _is_shown(folder: str) -> bool:
    return (
        "-baseline-" not in folder
        and folder not in WITHOUT_A_LINE
        and scenarios.incident(_incident(folder)).sign is not None
    )


def _allowed(folder: str) -> set[str]:
    return OF_THE_HOST | BESIDES.get(folder, set()) | ({_incident(folder)} if _is_shown(folder) else set())


def _of_it(folder: str, found: Sequence[Found]) -> list[Found]:
    return [one for one in found if one.incident == _incident(folder)]


def _of_the_host(folder: str) -> list[Found]:
    """Stalls that nobody made."""
    return [one for one in found_in_kept(folder) if one.incident in OF_THE_HOST - {_incident(folder)}]


def _has_its_line(found: Found) -> bool:
    """Whether it shows an append as slow as it says, or at least a refused send, by which alone it is not sure."""
    held_ms = [int(append[1]) for line in found.lines if (append := APPEND.search(line.text))]
    if max(held_ms, default=0) > (1000 if found.incident == "append-lock-over-1s" else 500):
        return True
    refused = any(f"[{keyword}]" in line.text for line in found.lines for keyword in BUSY_KEYWORDS)
    return refused and found.sure != "sure"


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_incident_is_named_where_it_leaves_a_line_and_no_other(folder: str) -> None:
    found = found_in_kept(folder)
    assert {one.incident for one in found} <= _allowed(folder)
    assert [one for one in _of_the_host(folder) if not _has_its_line(one)] == []
    named = _of_it(folder, found)
    assert bool(named) == _is_shown(folder)
    incident = _incident(folder)
    for one in named:
        assert all(name.startswith("broker-") for name in one.brokers)
        assert one.brokers or incident in OF_CLIENTS
        assert all(name.startswith("incident-") for name in one.groups)
        assert one.groups or incident not in WITH_GROUPS
        assert all(name.startswith(OURS) for name in one.topics)
    if named and incident in WITH_TOPICS:
        assert any(one.topics for one in named)


def test_the_document_says_how_many_runs_without_a_fault_had_a_stall_of_the_host() -> None:
    baselines = [folder for folder in FOLDERS if "-baseline-" in folder]
    found = {folder: len(_of_the_host(folder)) for folder in baselines}
    text = " ".join((PACKAGES / "docs" / "diagnose.md").read_text("utf-8").split())
    assert f"{len(baselines)} of them of runs in which nothing was done" in text
    assert f"{sum(found.values())} findings in {sum(map(bool, found.values()))} of the {len(baselines)}" in text


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("folder", FOLDERS)
def test_with_a_tenth_of_the_lines_gone_it_is_less_sure_never_wrong(folder: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    found = found_in(changed(folder, tmp_path, lambda _, lines: [one for one in lines if draw.random() > 0.1]))
    assert {one.incident for one in found} <= _allowed(folder)
    sure = max((SURENESS.index(one.sure) for one in _of_it(folder, found)), default=-1)
    assert sure <= max((SURENESS.index(one.sure) for one in _of_it(folder, found_in_kept(folder))), default=-1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("folder", FOLDERS)
def test_with_files_missing_it_is_less_sure_never_wrong(folder: str, seed: int, tmp_path: Path) -> None:
    names = sorted(str(path.relative_to(KEPT / folder).with_suffix("")) for path in (KEPT / folder).rglob("*.gz"))
    gone = set(random.Random(seed).sample(names, k=max(1, len(names) // 3)))
    found = found_in(changed(folder, tmp_path, lambda name, lines: [] if name in gone else lines))
    assert {one.incident for one in found} <= _allowed(folder)
    sure = max((SURENESS.index(one.sure) for one in _of_it(folder, found)), default=-1)
    assert sure <= max((SURENESS.index(one.sure) for one in _of_it(folder, found_in_kept(folder))), default=-1)


@pytest.mark.parametrize("minutes", [-7, 90])
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_node_whose_clock_is_off_makes_it_less_sure_never_wrong(folder: str, minutes: int, tmp_path: Path) -> None:
    def shifted(name: str, lines: list[bytes]) -> list[bytes]:
        return later(lines, minutes) if name.startswith("broker-a/") else lines

    found = found_in(changed(folder, tmp_path, shifted))
    assert {one.incident for one in found} <= _allowed(folder)
    assert bool(_of_it(folder, found)) == _is_shown(folder)
