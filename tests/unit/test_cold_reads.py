"""Readers of an old log: which messages they pull, what they were given, and when a trial of theirs did not happen."""

from __future__ import annotations

import itertools
import re
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError, ConfigurationError, WaitTimeout
from harness.faults import cold_reads, old_log
from harness.faults.append_stall import AppendTally
from harness.faults.cold_reads import Given, Reader, compiled_s, places, read_cold, rehearse
from harness.faults.old_log import BATCH, BODY_BYTES, OldLog, batch_of
from harness.host import page_cache
from harness.host.page_cache import resident_bytes
from harness.model import rocketmq
from harness.model.faults import ColdReads
from harness.trial import LoadSession, TrialContext
from harness.wait import wait_until

FILE_BYTES, STORED_BYTES = 10_000, 100
NOBODY = cast(LoadSession, None)


class Broker:
    """Has messages of 100 bytes, the first of which lies at byte 300 of its commit log, in files of 10,000."""

    address = "127.0.0.1:1"

    def __init__(self, messages: int = 0) -> None:
        self.messages = messages
        self.batches: list[bytes] = []
        self.pulled: list[tuple[int, int]] = []
        self.refuses = 0
        self.at_most = 8

    def max_offset(self, topic: str, queue: int) -> int:
        return self.messages

    def ask(self, code: int, fields: Mapping[str, Any], body: bytes = b"") -> SimpleNamespace:
        assert (code, fields["batch"]) == (rocketmq.SEND_MESSAGE, "true")
        if self.refuses:
            self.refuses -= 1
            return SimpleNamespace(code=2, remark="busy")
        self.batches.append(body)
        self.messages += BATCH
        return SimpleNamespace(code=rocketmq.SUCCESS)

    def call(self, code: int, fields: Mapping[str, Any]) -> SimpleNamespace:
        assert code == rocketmq.PULL_MESSAGE
        offset, asked = int(fields["queueOffset"]), int(fields["maxMsgNums"])
        if offset >= self.messages:
            raise ClientError("PULL_NOT_FOUND")
        count = min(asked, self.at_most)
        self.pulled.append((offset, count))
        first = bytearray(STORED_BYTES)
        struct.pack_into(">Q", first, 28, 300 + STORED_BYTES * offset)
        return SimpleNamespace(fields={"nextBeginOffset": str(offset + count)}, body=bytes(first) * count)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()

    @contextmanager
    def ask(node: object, timeout_s: float) -> Iterator[Broker]:
        yield broker

    monkeypatch.setattr(old_log, "ask", ask)
    monkeypatch.setattr(cold_reads, "ask", ask)
    monkeypatch.setattr(old_log, "create_topic", lambda *_, **__: None)
    monkeypatch.setattr(old_log, "REFUSED_S", 0.0)
    return broker


@pytest.fixture
def node(tmp_path: Path) -> Any:
    """A broker's node; its commit log has four files, the last of which is not full yet."""
    (tmp_path / "commitlog").mkdir()
    for number in range(4):
        (tmp_path / "commitlog" / f"{number * FILE_BYTES:020}").write_bytes(bytes(FILE_BYTES))
    store = SimpleNamespace(mountpoint=tmp_path, image=tmp_path / "store.img")
    return SimpleNamespace(name="broker-a", store=store)


# --- which messages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("consecutive", [1, 7, 1000])
def test_every_message_has_its_place_once(consecutive: int) -> None:
    found = places(100, consecutive, seed=3)
    assert sorted(offset for first, end in found for offset in range(first, end)) == list(range(100))
    assert all(end - first <= consecutive for first, end in found)
    assert found == places(100, consecutive, seed=3)


def test_places_are_drawn_by_the_seed() -> None:
    assert places(1000, 1, seed=1) != places(1000, 1, seed=2) != sorted(places(1000, 1, seed=2))


def _old(messages: int) -> OldLog:
    return OldLog(files=(), image=Path("image"), messages=messages)


def _all_of(reader: Reader, broker: Broker, messages: int) -> Given:
    wait_until("all messages", lambda: sum(count for _, count in broker.pulled) >= messages, timeout_s=30)
    return reader.end()


def test_a_reader_goes_on_where_an_answer_ended_until_it_has_had_all(broker: Broker, node: Any) -> None:
    broker.messages = 50
    given = _all_of(Reader(node, _old(50), ColdReads(at_once=32), consecutive=25, seed=1), broker, 50)
    assert (given.messages, given.bytes) == (50, 50 * STORED_BYTES)
    assert given.ns > 0
    assert {offset % 25 for offset, _ in broker.pulled} == {0, 8, 16, 24}
    assert [count for offset, count in sorted(broker.pulled)] == [8, 8, 8, 1] * 2


def test_at_random_places_one_message_is_pulled_at_a_time(broker: Broker, node: Any) -> None:
    broker.messages = 50
    _all_of(Reader(node, _old(50), ColdReads(at_once=32), consecutive=1, seed=1), broker, 50)
    assert sorted(broker.pulled) == [(offset, 1) for offset in range(50)]
    assert broker.pulled != sorted(broker.pulled)


def test_a_reader_that_is_ended_pulls_no_more(broker: Broker, node: Any) -> None:
    broker.messages = 10**6
    reader = Reader(node, _old(10**6), ColdReads(at_once=1, pulls_hz=1), consecutive=1, seed=1)
    wait_until("the first pull", lambda: bool(broker.pulled), timeout_s=30)
    assert reader.end().messages == sum(count for _, count in broker.pulled) < 10**6


@pytest.mark.parametrize("at_most", [0, 8])
def test_a_reader_that_is_given_nothing_says_so(broker: Broker, node: Any, at_most: int) -> None:
    broker.messages, broker.at_most = at_most, at_most
    reader = Reader(node, _old(100), ColdReads(), consecutive=100, seed=1)
    wait_until("its end", lambda: not reader._thread.is_alive(), timeout_s=30)
    with pytest.raises(ClientError):
        reader.end()


# --- the old log ----------------------------------------------------------------------------------------------------------


def test_a_batch_is_messages_as_the_client_encodes_them() -> None:
    batch = batch_of(b"body", 3)
    assert len(batch) == 3 * 26
    assert struct.unpack_from(">iiiii4sh", batch, 26) == (26, 0, 0, 0, 4, b"body", 0)


def test_the_old_log_is_what_full_files_hold_of_what_was_written(broker: Broker, node: Any) -> None:
    broker.refuses = 2
    mebibytes = 1
    wanted = 2**20 // BODY_BYTES
    made = old_log.old_log(cast(Any, None), node, mebibytes)
    assert len(broker.batches) == -(-wanted // BATCH)
    # 512 messages end at 51,500: beyond all four files.
    assert [file.name for file in made.files] == [f"{number * FILE_BYTES:020}" for number in range(4)]
    assert made.messages == (4 * FILE_BYTES - 300) // STORED_BYTES


def test_an_old_log_that_is_there_is_not_written_again(broker: Broker, node: Any) -> None:
    broker.messages = 2**20 // BODY_BYTES
    old_log.old_log(cast(Any, None), node, 1)
    assert broker.batches == []


def test_a_log_that_fills_no_file_is_refused(broker: Broker, node: Any) -> None:
    for file in (node.store.mountpoint / "commitlog").iterdir():
        file.unlink()
    with pytest.raises(ConfigurationError, match="fills no file"):
        old_log.old_log(cast(Any, None), node, 1)


def test_a_log_that_has_no_room_is_refused(broker: Broker, node: Any) -> None:
    with pytest.raises(ConfigurationError, match="has no room") as caught:
        old_log.old_log(cast(Any, None), node, 10**9)
    assert "old_mb" in caught.value.advice
    assert broker.batches == []


def test_what_is_left_in_memory_is_not_cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one", "two")]
    for file in files:
        file.write_bytes(bytes(1000))
    left = {files[0]: 100, files[1]: 0, tmp_path / "image": 300}
    evicted: list[Path] = []
    monkeypatch.setattr(old_log, "evict", lambda paths, pid: evicted.extend(paths))
    monkeypatch.setattr(old_log, "resident_bytes", left.__getitem__)
    assert OldLog(files=tuple(files), image=tmp_path / "image", messages=1).make_cold(7) == pytest.approx(0.8)
    assert evicted == [*files, tmp_path / "image"]


def test_what_was_just_written_is_in_memory_and_an_empty_file_has_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "written").write_bytes(bytes(3 * 4096 + 1))
    (tmp_path / "empty").touch()
    assert resident_bytes(tmp_path / "written") == 4 * 4096
    assert resident_bytes(tmp_path / "empty") == 0


def test_without_root_nobody_elses_pages_are_put_out_of_memory() -> None:
    why = page_cache.why_no_eviction(cast(Any, SimpleNamespace(root=False)))
    assert why is not None
    assert "root" in why


# --- a trial --------------------------------------------------------------------------------------------------------------


class Events:
    """The readings that were recorded."""

    def __init__(self) -> None:
        self.readings: dict[str, float] = {}

    def reading(self, name: str, value: float, *, target: str) -> None:
        assert target == "broker-a"
        self.readings[name] = value


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, broker: Broker, node: Any) -> Callable[..., tuple[Any, Events]]:
    """Makes the fault with so much cold, and so many bytes that the device read for each that a reader was given.

    ``compiled`` are the seconds for which the broker's compilers have computed, from one second to the next; none: no rehearsal.
    """

    def make(
        cold_share: float = 1.0, from_device: float = 2.0, compiled: Sequence[float] = (), **params: int
    ) -> tuple[Any, Events]:
        broker.messages = 50
        seen = iter(compiled)
        tally = AppendTally(count=10, under_1_ms=10, over_500_ms=0, sum_ns=1000, longest_ns=200)
        old = SimpleNamespace(files=(), messages=50, make_cold=lambda pid: cold_share)
        store = SimpleNamespace(mounted=lambda: SimpleNamespace(device="7:0"))
        watched = SimpleNamespace(tally=lambda: tally)
        given = lambda device, field: from_device * STORED_BYTES * sum(count for _, count in broker.pulled)  # noqa: E731
        for name, value in {
            "masters": lambda cluster: [node],
            "pid_of": lambda trial, name: 7,
            "store_of": lambda node: store,
            "old_log": lambda cluster, broker, mebibytes: old,
            "watch_appends": lambda broker: nullcontext(watched),
            "device_bytes": given,
            "device_count": lambda device, field: 7 * sum(count for _, count in broker.pulled),
            "_major_faults": lambda pid: 5,
            "compiled_s": lambda pid: next(seen),
        }.items():
            monkeypatch.setattr(cold_reads, name, value)
        events = Events()
        stays: list[float] = []

        def stay(seconds: float) -> None:
            stays.append(seconds)
            if params.get("readers", 1):
                wanted = 100 if compiled and seconds == 3.0 else 50
                wait_until("all messages", lambda: sum(count for _, count in broker.pulled) >= wanted, timeout_s=30)

        trial = SimpleNamespace(
            cluster=None,
            events=events,
            record=SimpleNamespace(seed=1),
            params={"readers": 1, "consecutive": 10, "limit_mb": 0, "watch_ms": 3000, **params},
            stay=stay,
            cancel=threading.Event(),
        )
        fault = ColdReads(rehearsal_s_max=30.0 if compiled else 0.0)
        rehearse(fault, cast(TrialContext, trial))
        assert events.readings == {}
        done = read_cold(fault, cast(TrialContext, trial), NOBODY)
        assert stays == [*[1.0] * len(compiled[1:]), 3.0]
        return done, events

    return make


def test_what_was_read_is_recorded_with_how_cold_it_was(made: Callable[..., tuple[Any, Events]]) -> None:
    done, events = made(cold_share=0.95)
    assert done.exercised is True
    assert "95.0% of 0 old files in no memory; 50 messages" in done.detail
    assert events.readings["cold_share"] == 0.95
    assert events.readings["cold_read_mb"] == 50 * STORED_BYTES / 2**20
    assert events.readings["cold_read_ms"] > 0
    assert events.readings["cold_disk_reads"] == 7
    assert events.readings["major_faults"] == 0
    assert events.readings["append_count"] == 10


def test_a_rehearsal_lasts_until_the_compilers_rest_for_two_seconds_and_nothing_of_it_is_kept(
    made: Callable[..., tuple[Any, Events]],
) -> None:
    assert ColdReads(rehearsal_s_max=30.0).seconds({"watch_ms": 3000}) == 33.0
    done, events = made(compiled=[5.0, 5.9, 5.95, 6.1, 6.15, 6.15])
    assert "; 50 messages" in done.detail
    assert events.readings["cold_read_mb"] == 50 * STORED_BYTES / 2**20


def test_without_rest_for_its_compilers_a_broker_gives_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two quiet seconds have to follow one another."""
    seen = itertools.accumulate(itertools.cycle([0.7, 0.05]))
    stays: list[float] = []
    monkeypatch.setattr(cold_reads, "compiled_s", lambda pid: next(seen))
    monkeypatch.setattr(cold_reads, "time", SimpleNamespace(monotonic=lambda: sum(stays)))
    said = "waited 30.0 s for the broker's compilers to rest, in vain; last seen: they computed for 0.7 s of the last second"
    with pytest.raises(WaitTimeout, match=re.escape(said)):
        cold_reads._stay_until_compiled(cast(TrialContext, SimpleNamespace(stay=stays.append)), 7, 30.0)


def test_of_a_javas_threads_those_that_compile_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {
        (1, "C1 CompilerThre"): (10**9, 5),
        (2, "C2 CompilerThre"): (5 * 10**8, 5),
        (3, "SendMessageThre"): (10**10, 5),
    }
    monkeypatch.setattr(cold_reads, "times_of_threads", lambda pid: times)
    assert compiled_s(7) == 1.5


@pytest.mark.parametrize("warm", [{"cold_share": 0.85}, {"from_device": 0.4}])
def test_reads_from_memory_are_no_trial(made: Callable[..., tuple[Any, Events]], warm: dict[str, float]) -> None:
    done, _ = made(**warm)
    assert done.exercised is False


def test_without_readers_nothing_is_read_and_the_trial_counts(made: Callable[..., tuple[Any, Events]]) -> None:
    done, events = made(readers=0)
    assert done.exercised is True
    assert events.readings["cold_read_mb"] == 0
    assert events.readings.keys().isdisjoint({"cold_read_ms", "cold_disk_reads"})


def test_what_cannot_be_made_is_refused(
    made: Callable[..., tuple[Any, Events]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold_reads, "is_v2", lambda: True)
    with pytest.raises(ConfigurationError, match="100 readers are more than 64"):
        made(readers=100)
    trial = SimpleNamespace(cluster=None, params={"limit_mb": 8, "readers": 1})
    with pytest.raises(ConfigurationError, match="cannot both be limited"):
        read_cold(ColdReads(disk_reads_hz=5), cast(TrialContext, trial), NOBODY)
