"""What ``mqlab diagnose`` makes of logs as operators post them: wrapped by containers, rolled by date, in zones of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from analysis.diagnosis.diagnosis import Diagnosis, diagnose
from analysis.diagnosis.moments import words_of
from analysis.diagnosis.page import render
from analysis.diagnosis.reading import WARNED_MAX
from mqlab.logs.diagnose import report
from mqlab.main import main
from tests.lib.operators_logs import read

REPORTED = Path(__file__).parents[1] / "data" / "reported"
DAY = "2026-03-05"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is to be told of one case: one finding, by whom and when in UTC; ``says`` are words in why, against or advice."""

    incident: str
    sure: str
    brokers: tuple[str, ...]
    from_: str
    to: str
    queues: int = 0
    groups: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    beside: str = ""
    """Another incident that the same lines show, told before it."""


CASES = {
    "broker-address-unreachable": Told(
        incident="broker-address-unreachable", sure="likely", brokers=("172.17.0.3:10911",), from_="18:20:08.002Z",
        to="18:22:28.002Z", says=("each of 8 attempts", "the address of a container", "brokerIP1"),
    ),
    "group-unknown-for-hours": Told(
        incident="group-never-known", sure="likely", brokers=("kiwi-a",), from_="10:20:00Z", to="10:53:15Z", groups=("GID_PARCEL",),
        says=("400 pulls of GID_PARCEL were refused over 33 min",),
    ),
    "range-ends-with-trace": Told(
        incident="map-failed", sure="likely", brokers=("kiwi-a",), from_="12:00:00Z", to="12:00:00Z", says=("max_map_count",),
    ),
    "unknown-acl": Told(
        incident="requests-not-authorised", sure="likely", brokers=("kiwi-a",), from_="10:20:00Z", to="10:39:30Z",
        says=("(40 x): No accessKey is configured",),
    ),
    "unknown-broadcast-offset-illegal": Told(
        incident="illegal-offset-again", sure="likely", brokers=("kiwi-a",), from_="18:20:00Z", to="18:20:49.500Z", queues=1,
        groups=("GID_PARCEL_BC",), says=("offset 0 was asked for 100 times", "offsets.json"),
    ),
    "unknown-delay-offset": Told(
        incident="delayed-messages-stuck", sure="likely", brokers=("kiwi-a",), from_="10:20:00Z", to="10:21:39Z",
        says=("(200 x)", "delayOffset.json"),
    ),
    "unknown-disk-minus-one": Told(
        incident="store-path-unreadable", sure="possible", brokers=("kiwi-a",), from_="10:20:00Z", to="10:29:50Z",
        says=("(60 x)", "has stored nothing yet"),
    ),
    "unknown-expire-msg-back": Told(
        incident="consume-timeout", sure="likely", brokers=(), from_="18:20:00Z", to="19:49:00Z", says=("(90 x)", "consumeTimeout"),
    ),
    "unknown-flow-control": Told(
        incident="consumer-too-slow", sure="likely", brokers=("kiwi-a",), from_="18:20:00Z", to="18:29:57Z", queues=1,
        groups=("GID_PARCEL",), says=("200 times", "jstack"),
    ),
    "unknown-heap-oom": Told(
        incident="heap-full", sure="likely", brokers=("kiwi-a",), from_="10:20:00Z", to="10:20:57Z",
        says=("(20 x): Java heap space", "jmap"),
    ),
    "unknown-map-failed": Told(
        incident="map-failed", sure="sure", brokers=("kiwi-a",), from_="10:20:00Z", to="10:20:22Z", says=("vm.max_map_count",),
    ),
    "unknown-message-illegal": Told(
        incident="message-too-long", sure="likely", brokers=("192.0.2.51:30931",), from_="18:20:00Z", to="18:21:39Z",
        says=("(12 x)", "on 4.8.0 and older it reads 128k", "maxMessageSize"),
    ),
    "unknown-no-route": Told(
        incident="topic-without-route", sure="likely", brokers=(), from_="18:20:00Z", to="18:22:13Z",
        says=("no route of PARCEL_EVENTS", "autoCreateTopicEnable"),
    ),
    "unknown-pull-is-pause": Told(
        incident="nothing-pulled", sure="possible", brokers=("kiwi-a",), from_="10:20:00Z", to="10:31:00Z", queues=2,
        groups=("GID_PARCEL",), says=("(67 x)", "jstack"),
    ),
    "unknown-slave-out-of-sync": Told(
        incident="slave-diverged", sure="likely", brokers=("kiwi-a-s",), from_="10:20:00Z", to="10:24:55Z",
        says=("(60 x)", "move its store away"),
    ),
    "unknown-slave-overflow": Told(
        incident="slave-lacks-messages", sure="likely", brokers=("kiwi-a-s",), from_="10:20:00Z", to="10:21:39Z",
        groups=("GID_PARCEL",), says=("(100 x)",),
    ),
    "unknown-span-too-long": Told(
        incident="one-message-holds-offset", sure="likely", brokers=("kiwi-c",), from_="18:20:00Z", to="18:36:35Z", queues=1,
        groups=("GID_PARCEL",), says=("offset 551204 of PARCEL_EVENTS@kiwi-c:30", "queryMsgByOffset"),
    ),
    "unknown-start-fails": Told(
        incident="store-not-loaded", sure="likely", brokers=("kiwi-a",), from_="10:20:01Z", to="10:20:01Z",
        says=("correctMinOffset",),
    ),
    "unknown-timer-enqueue": Told(
        incident="timer-messages-stuck", sure="likely", brokers=("kiwi-a",), from_="10:20:00Z", to="10:20:28Z", says=("(29 x)",),
    ),
    "app-log-in-local-time": Told(
        incident="append-stall", sure="sure", brokers=("kiwi-a",), from_="10:25:33.140Z", to="10:26:34Z",
    ),
    "compose-logs-one-file": Told(
        incident="append-lock-over-1s", sure="sure", brokers=("kiwi-b",), from_="10:25:32.340Z", to="10:26:34Z",
    ),
    "delayed-lost-510": Told(
        incident="delayed-message-fails-once", sure="sure", brokers=("kiwi-a",), from_="10:21:00Z", to="10:21:00Z",
        says=("they are lost",),
    ),
    "docker-json-file": Told(
        incident="append-lock-over-1s", sure="sure", brokers=("kiwi-a",), from_="10:25:28.463Z", to="10:26:30.123Z",
    ),
    "frame-too-long-other-file-name": Told(
        incident="retry-topic-flood", sure="sure", brokers=("rmq-broker-0",), from_="10:20:00Z", to="10:22:30Z",
        says=("limit of 16,777,216 bytes, the first of 16,777,295",),
    ),
    "hung-broker-471": Told(
        incident="avoidance-mended", sure="possible", brokers=("kiwi-f",), from_="18:20:03Z", to="18:21:59Z",
        says=("30 had waited at kiwi-f (192.0.2.56:10911)", "30 attempts failed at kiwi-a"),
    ),
    "json-time-last": Told(
        incident="append-lock-over-1s", sure="sure", brokers=("kiwi-a",), from_="10:25:28.463Z", to="10:26:30.123Z",
    ),
    "kubectl-prefix-timestamps": Told(
        incident="append-lock-over-1s", sure="sure", brokers=("rmq-broker-1-0",), from_="10:25:32.660Z", to="10:26:34.129Z",
    ),
    "lock-log-cut": Told(
        incident="ordered-lock-handover", sure="likely", brokers=("kiwi-a",), from_="10:21:59Z", to="10:22:02Z", queues=4,
        groups=("GID_PARCEL",), says=("the log ends at 2026-03-05 10:22:02Z, while they wait",),
    ),
    "ordered-successor-client-only": Told(
        incident="ordered-lock-handover", sure="possible", brokers=("kiwi-a",), from_="18:21:40Z", to="18:22:51Z", queues=3,
        groups=("GID_PARCEL",), says=("3 of them were assigned then", "no broker's log here"),
    ),
    "ordered-successor-cpp": Told(
        incident="ordered-lock-handover", sure="possible", brokers=("kiwi-a",), from_="18:20:00Z", to="18:21:10Z", queues=4,
        groups=("GID_PARCEL",), says=("for up to 70 s",),
    ),
    "registrations-440": Told(
        incident="name-server-divergence", sure="likely", brokers=("kiwi-a",), from_="10:20:00Z", to="10:29:30Z",
        says=("registrations with 192.0.2.41:9876 failed 20 times while those with 192.0.2.40:9876 went on",),
    ),
    "short-lock-life-533": Told(
        incident="ordered-lock-handover", sure="sure", brokers=("kiwi-a",), from_="10:22:01Z", to="10:22:09Z", queues=4,
        groups=("GID_PARCEL",), says=("taken over when their locks had expired",),
    ),
    "sync-replication-slow": Told(
        incident="append-stall", sure="possible", brokers=(), from_="10:21:01Z", to="10:22:20.400Z",
        says=("no append above 500 ms", "waited for a slave", "Look at the slave"),
    ),
    "windows-disk": Told(
        incident="disk-ratio-counts-differently", sure="possible", brokers=("kiwi-a",), from_="10:20:00Z", to="10:21:50Z",
        beside="disk-is-full",
    ),
}  # fmt: skip
"""By the folder of the logs."""
NONE = ("ipv6-addresses", "late-first-registration")
"""Logs of which no known incident is to be told."""
SHAPES = {
    "unknown-acl": (40, "ERROR", "process request exception", "AclException: No accessKey is configured"),
    "unknown-heap-oom": (20, "WARN", "exceptionCaught", "java.lang.OutOfMemoryError: Java heap space"),
    "unknown-map-failed": (23, "ERROR", "Failed to map file", "java.io.IOException: Map failed"),
    "unknown-no-route": (20, "ERROR", "c.k.p.EventBus", "No route info of this topic: PARCEL_EVENTS"),
    "group-unknown-for-hours": (400, "WARN", "the consumer's group info not exist", ""),
}
"""How many warnings or errors of one shape a log has, and what stands in and below the first."""


@cache
def told(case: str) -> Diagnosis:
    return read(REPORTED / case)


def unknown(case: str) -> Diagnosis:
    """What is told where no incident is known, which leaves all warnings unexplained."""
    return diagnose([REPORTED / case], (), ())


@pytest.mark.parametrize("case", CASES)
def test_the_incident_is_named_where_and_when_it_was(case: str) -> None:
    expected = CASES[case]
    *others, one = told(case).incidents
    assert [other.found.incident for other in others] == [expected.beside] * bool(expected.beside)
    found = one.found
    assert (found.incident, found.sure) == (expected.incident, expected.sure)
    assert (words_of(found.from_s), words_of(found.to_s)) == (f"{DAY} {expected.from_}", f"{DAY} {expected.to}")
    assert not expected.brokers or found.brokers == expected.brokers
    assert not expected.groups or found.groups == expected.groups
    assert len(found.queues) == expected.queues
    said = " ".join((*found.why, *found.against, one.advice))
    assert [words for words in expected.says if words not in said] == []
    assert "tune2fs" not in said


@pytest.mark.parametrize("case", NONE)
def test_none_is_told_where_the_lines_show_none(case: str) -> None:
    found = told(case)
    assert found.incidents == ()
    assert found.skews == ()


@pytest.mark.parametrize("case", SHAPES)
def test_none_comes_with_the_commonest_warnings_and_what_stands_below_them(case: str) -> None:
    count, level, words, below = SHAPES[case]
    (seen,) = [one for one in unknown(case).warned if words in one.sample]
    assert (seen.lines, seen.level) == (count, level)
    assert below in seen.exception
    assert any(f"{count} x {level}, " in line for line in report(unknown(case)))
    assert f"{count} x {level}, " in render(unknown(case))


@pytest.mark.parametrize(
    "case", ["app-log-in-local-time", "broker-killed", "sync-replication-slow", "unknown-map-failed"]
)
def test_an_application_in_local_time_is_put_beside_its_broker(case: str) -> None:
    assert {one.zone for one in told(case).files} == {"UTC+08:00"}


def test_logs_that_are_rolled_by_date_or_packed_are_read_and_the_rest_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = [words_of(one.found.from_s)[:10] for one in told("dated-rotation").incidents]
    assert days == ["2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]
    (tmp_path / "broker.out").write_text(f"{DAY} 18:20:00 INFO main - well\n")
    (tmp_path / "notes.txt").write_text("no log\n")
    assert main(["diagnose", str(tmp_path)]) == 0
    assert f"not read, as no log has such a name: {tmp_path / 'notes.txt'}" in capsys.readouterr().out


def test_the_page_has_what_was_not_read_and_says_where_nothing_replays_an_incident() -> None:
    page = render(replace(told("unknown-acl"), left_out=("b1/notes.txt",)))
    assert "1 files were not read" in page
    assert "b1/notes.txt" in page
    assert "nothing replays it" in page


def test_a_client_in_go_is_read_in_both_of_its_layouts() -> None:
    found = told("ordered-successor-go")
    assert {(one.found.incident, one.found.sure) for one in found.incidents} == {("ordered-lock-handover", "possible")}
    assert {one.found.queues for one in found.incidents} == {("PARCEL_EVENTS@kiwi-b:1",)}
    assert {one.found.groups for one in found.incidents} == {("GID_PARCEL",)}
    assert all("its holder is at work" in " ".join(one.found.against) for one in found.incidents)
    assert found.unknown == 0


def test_the_time_of_a_file_is_that_of_its_dated_lines() -> None:
    (file,) = told("range-ends-with-trace").files
    assert (words_of(file.from_s), words_of(file.to_s)) == (f"{DAY} 10:20:00Z", f"{DAY} 12:00:00Z")


def test_an_exception_without_a_time_is_known_for_what_it_is() -> None:
    found = told("nohup-out")
    assert [(one.found.incident, one.found.from_s) for one in found.incidents] == [("store-locked", None)]
    samples = [one.sample for one in unknown("nohup-out").warned]
    assert samples == ["java.lang.RuntimeException: Lock failed,MQ already started"]
    assert found.warned == ()


def test_a_broker_that_was_killed_is_gone_by_three_witnesses() -> None:
    gone, moved = told("broker-killed").incidents
    assert (gone.found.incident, gone.found.sure, gone.found.brokers) == ("broker-gone", "sure", ("kiwi-a",))
    assert (words_of(gone.found.from_s), words_of(gone.found.to_s)) == (f"{DAY} 10:21:40Z", f"{DAY} 10:22:30Z")
    assert gone.found.why[0] == "60 attempts to connect to 192.0.2.51:10911 failed"
    assert len(gone.found.why) == 3
    assert (moved.found.incident, moved.found.sure) == ("broker-leaves-keys-move", "possible")


def test_so_many_warnings_are_looked_at_and_the_output_says_so(tmp_path: Path) -> None:
    lines = [f"{DAY} 18:20:00 WARN x_1 - send {number} failed\n" for number in range(WARNED_MAX)]
    (tmp_path / "broker.log").write_text("".join(lines[:-1]))
    assert [(one.lines, one.sample) for one in read(tmp_path).warned] == [(WARNED_MAX - 1, lines[0].strip())]
    (tmp_path / "broker.log").write_text("".join(lines))
    assert "the first 20,000 were looked at" in read(tmp_path).files[0].problem


def test_two_brokers_files_in_one_folder_are_two_nodes(tmp_path: Path) -> None:
    slow = "[NOTIFYME]putMessage in lock cost time(ms)=1640, bodyLength=912"
    for name, words in (("a", "well"), ("b", slow)):
        (tmp_path / f"out{name}.log").write_text(
            f"{DAY} 18:20:00 INFO main - The broker[kiwi-{name}, 192.0.2.5:10911] boot success. serializeType=JSON\n"
            f"{DAY} 18:21:00 WARN SendMessageThread_1 - {words}\n"
        )
    (one,) = read(tmp_path).incidents
    assert one.found.brokers == ("kiwi-b",)
