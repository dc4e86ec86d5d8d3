"""What ``mqlab diagnose`` makes of the logs of real runs that are kept: of all nodes, an arm and release a folder."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from analysis.diagnosis.found import Found
from mqlab.kept_logs import KEPT, arm_folders
from scenarios.signs import SIGNS, SILENT
from tests.lib.operators_logs import SURENESS, changed, found_in, later

FOLDERS = arm_folders()
INCIDENTS = sorted({*(sign.incident for sign in SIGNS), *SILENT}, key=len, reverse=True)
WITHOUT_A_LINE: Mapping[str, str] = {
    "avoidance-mended-stopped-5.3.3": "a single attempt had no time left, the others failed with the connection that they shared",
    "delayed-message-fails-once-error-4.6.0": "an error ends the thread of the Timer, which logs nothing",
    "delayed-message-fails-once-error-4.9.7": "an error ends the level's task, which logs nothing",
    "delayed-message-fails-once-error-5.3.3": "what is thrown is caught, and the level goes on 10 s later with the same message",
    "delayed-message-fails-once-error-5.5.0": "what is thrown is caught, and the level goes on 10 s later with the same message",
    "disk-ratio-counts-differently-deletes-4.6.0": "4.6.0 counts what is reserved as free, and deletes nothing",
    "async-timeout-stored-twice-4.9.7": "a client newer than 4.6.0 has no time left for another try",
    "async-timeout-stored-twice-5.3.3": "a client newer than 4.6.0 has no time left for another try",
    "async-timeout-stored-twice-5.5.0": "a client newer than 4.6.0 has no time left for another try",
    "page-cache-stress-4.9.7": "appends stood still for 1.2 s, which is append-lock-over-1s; a file is given up after 5 s",
    "page-cache-stress-5.3.3": "appends stood still for 1.2 s, which is append-lock-over-1s; a file is given up after 5 s",
    "page-cache-stress-pool-rolls-4.9.7": "a file took two seconds to be made, and is given up after 5",
    "page-cache-stress-pool-rolls-5.3.3": "a file took two seconds to be made, and is given up after 5",
    "page-cache-stress-reader-4.9.7": "beside a reader of cold data no append was slow enough for a line",
    "page-cache-stress-reader-5.3.3": "beside a reader of cold data no append was slow enough for a line",
    "reset-offset-stops-consumption-5.3.3": "a broker of 5.x sets offsets back by itself, and nobody stops",
    "reset-offset-stops-consumption-5.5.0": "a broker of 5.x sets offsets back by itself, and nobody stops",
}
"""Where the incident does not come about, and so leaves nothing."""
OF_THE_HOST = {"append-stall", "append-lock-over-1s"}
"""The runs were made on a busy host, whose stalls brokers and clients log."""
BESIDES = {
    "delayed-message-fails-once-error-5.3.3": {"page-cache-stress"},
    "delayed-message-fails-once-error-5.5.0": {"page-cache-stress"},
    "restarted-broker-forgets-consumers-known-route-4.6.0": {"broker-leaves-keys-move"},
    "restarted-broker-forgets-consumers-known-route-4.9.7": {"broker-leaves-keys-move"},
    "retry-topic-flood-full-size-5.5.0": {"slave-serves-no-reads"},
    "sync-master-acknowledges-alone-5.3.3": {"broker-leaves-keys-move"},
    "sync-master-acknowledges-alone-5.5.0": {"broker-leaves-keys-move"},
}
"""What comes of it: a master is out of the routes, and clients ask its slave; and what else was done: the master is killed at its
end, to see what its slave has, or is killed as the incident itself. Where the host stood still for seconds, appends did, too."""
BROKERS = {"retry-topic-flood", "delayed-message-fails-once", "reset-offset-stops-consumption"}
GROUPS = {"reset-offset-stops-consumption": "incident-r1-g0"}
TOPICS = {"async-timeout-stored-twice", "reset-offset-stops-consumption"}


def _incident(folder: str) -> str:
    return next(name for name in INCIDENTS if folder.startswith(name))


def _is_shown(folder: str) -> bool:
    return "-baseline-" not in folder and folder not in WITHOUT_A_LINE and _incident(folder) not in SILENT


def _allowed(folder: str) -> set[str]:
    return OF_THE_HOST | BESIDES.get(folder, set()) | ({_incident(folder)} if _is_shown(folder) else set())


def _of_it(folder: str, found: list[Found]) -> list[Found]:
    return [one for one in found if one.incident == _incident(folder)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_incident_is_named_where_it_leaves_a_line_and_no_other(folder: str) -> None:
    found = found_in(KEPT / folder)
    assert {one.incident for one in found} <= _allowed(folder)
    named = _of_it(folder, found)
    assert bool(named) == _is_shown(folder)
    if named and _incident(folder) in BROKERS:
        assert all(one.brokers == ("broker-a",) for one in named)
    if named and (group := GROUPS.get(_incident(folder))):
        assert all(group in one.groups for one in named)
    if named and _incident(folder) in TOPICS:
        assert all(f"mqlab-{_incident(folder)}-incident" in topic for one in named for topic in one.topics)
        assert any(one.topics for one in named)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("seed", range(3))
def test_with_a_tenth_of_the_lines_gone_it_is_less_sure_never_wrong(folder: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    found = found_in(changed(folder, tmp_path, lambda _, lines: [one for one in lines if draw.random() > 0.1]))
    assert {one.incident for one in found} <= _allowed(folder)
    sure = max((SURENESS.index(one.sure) for one in _of_it(folder, found)), default=-1)
    assert sure <= max((SURENESS.index(one.sure) for one in _of_it(folder, found_in(KEPT / folder))), default=-1)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("minutes", [-7, 90])
def test_a_node_whose_clock_is_off_makes_it_less_sure_never_wrong(folder: str, minutes: int, tmp_path: Path) -> None:
    def shifted(name: str, lines: list[bytes]) -> list[bytes]:
        return later(lines, minutes) if name.startswith("broker-a/") else lines

    found = found_in(changed(folder, tmp_path, shifted))
    assert {one.incident for one in found} <= _allowed(folder)
    assert bool(_of_it(folder, found)) == _is_shown(folder)
