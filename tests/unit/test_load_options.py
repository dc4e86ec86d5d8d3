from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import pytest

from harness.clients.python.body import make_body, read_body
from harness.clients.python.schedule import Schedule
from harness.clients.python.tally import Tally
from harness.errors import EXIT_USAGE, UsageError
from harness.generator import senders, shapes
from harness.generator.options import DriverSpec, LoadOptions, LocustSpec
from harness.generator.shapes import read_replay, shape_named, share_at
from harness.generator.target import Target
from harness.releases.java import Java
from mqlab.load.options import add_options, load_options_of, parse_sizes
from mqlab.main import main


def _options(*arguments: str) -> LoadOptions:
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", default="")
    add_options(parser)
    return load_options_of(parser.parse_args(arguments), "run")


def test_the_rate_is_shared_by_the_users() -> None:
    options = _options("--rate", "5000", "--users", "50")
    assert options.users * options.per_user == 5000
    assert not options.closed


def test_a_fault_may_come_at_any_time_of_a_load_without_an_end() -> None:
    for more in (["--duration", "0"], ["--web", "8089"], ["--duration", "100"]):
        assert _options("--fault", "append-stall@99s", *more).duration_s in (0, 100)


def test_a_closed_loop_has_a_thread_for_every_send_that_waits() -> None:
    options = _options("--closed", "--mode", "sync", "--users", "32")
    assert (options.sends.threads, options.per_user) == (32, 1)
    assert _options("--closed", "--users", "4", "--in-flight", "64").sends.threads == 1


JOIN = ["--join", "127.0.0.1:2", "--namesrv", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mode", "batch", "--route", "selector"], "takes no selector"),
        (["--mode", "transaction", "--route", "fixed"], "chooses its queue itself"),
        (["--route", "selector", "--keys", "0"], "goes by keys"),
        (["--ordered"], "--consumers"),
        (["--size", "12:x"], "BYTES:WEIGHT"),
        (["--key-distribution", "zipff"], "unknown key distribution"),
        (["--key-distribution", "hot:1.5"], "between 0 and 1"),
        (["--shape", "ramp", "--duration", "0"], "fills a time"),
        (["--client", "native", "--mode", "transaction"], "no transaction sends"),
        (["--client", "rocketmq-client-python", "--mode", "async"], "no async sends"),
        (["--client", "native", "--mode", "async", "--route", "selector"], "with --mode sync or oneway"),
        (["--client", "native", "--route", "fixed"], "cannot send"),
        (["--client", "grpc", "--mode", "oneway"], "no oneway sends"),
        (["--client", "grpc", "--namesrv", "127.0.0.1:1"], "--proxy HOST:PORT"),
        (["--namesrv", "127.0.0.1:1", "--release", "4.6.0"], "one names"),
        (["--keep-groups", "--consumers", "1"], "--namesrv and --consumers"),
        ([*JOIN, "--consumers", "1", "--run-name", "one"], "--join only brings workers"),
        ([*JOIN, "--web", "8089", "--run-name", "one"], "--join only brings workers"),
        ([*JOIN, "--expect-workers", "2", "--run-name", "one"], "--join only brings workers"),
        ([*JOIN, "--bind", "127.0.0.2", "--run-name", "one"], "--join only brings workers"),
        (["--join", "127.0.0.1:2", "--run-name", "one"], "Name it with --namesrv"),
        (JOIN, "the same --run-name"),
        (["--namesrv", "127.0.0.1:1", "--expect-workers", "3"], "the same --run-name"),
        (["--expect-workers", "3", "--run-name", "one"], "Name it with --namesrv"),
        (["--bind", "127.0.0.2"], "--expect-workers how many in all"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_way_out(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        _options(*arguments)
    said = f"{caught.value} {caught.value.advice}"
    assert words in said or (words == "one names" and "--namesrv names one" in said)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--namesrv", "127.0.0.1:1", "--set", "broker.flushDiskType=SYNC_FLUSH"], "--namesrv are up already"),
        (["--namesrv", "127.0.0.1:1", "--set", "broker-jvm.a.b=1"], "--namesrv are up already"),
        (["--client", "grpc", "--set", "client.a.b=1"], "--client grpc has no such settings"),
    ],
)
def test_settings_for_what_a_load_does_not_start_are_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", *arguments]) == EXIT_USAGE
    assert words in capsys.readouterr().err


def test_a_producer_has_the_settings_of_its_user_and_tries_again_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(namesrv=("127.0.0.1:1",), topic="t", allowed=(), brokers={}, queues={"broker-a": 8}, read_queues={})
    monkeypatch.setattr(senders, "worker_spec", lambda **spec: spec)
    user = {"retryTimesWhenSendFailed": "2", "a.b": "1", "unitName": "mine"}
    driver = senders.java_driver("5.3.3", Java(home=Path(), version="21", source=""), target, user=user)
    assert driver.settings == {"retryTimesWhenSendAsyncFailed": 0}
    assert driver.first_line["user"] == user
    options = driver.first_line["jvm_options"]
    assert isinstance(options, tuple)
    assert [one for one in options if one.startswith("-D")] == ["-Da.b=1"]


def test_sizes_and_their_weights() -> None:
    assert parse_sizes("1024") == ((1024,), (1.0,))
    assert parse_sizes("128:3,4096:1") == ((128, 4096), (0.75, 0.25))


def test_shapes_fill_their_time() -> None:
    step = shape_named("step", 40)
    assert [share_at(step, at) for at in (0, 9.9, 10, 25, 39, 100)] == [0.25, 0.25, 0.5, 0.75, 1.0, 1.0]
    spike = shape_named("spike", 100)
    assert share_at(spike, 45) == 1.0
    assert share_at(spike, 39) == share_at(spike, 51) < 0.5
    ramp = shape_named("ramp", 10)
    assert [share for _, share in ramp] == sorted(share for _, share in ramp)
    assert ramp[-1][1] == 1.0


def test_a_recorded_rate_is_replayed_with_its_pauses(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    seconds = [10] * 100 + [11] * 50 + [13] * 25
    lines = [f'{{"type":"send","n":{n},"intended_ns":{second * 10**9 + n}}}' for n, second in enumerate(seconds, 1)]
    history.write_text("\n".join([*lines, '{"type":"anchor"}']) + "\n")
    replay = read_replay(history)
    assert replay.rate_hz == 100
    assert replay.seconds == ((0.0, 1.0), (1.0, 0.5), (2.0, 0.0), (3.0, 0.25))
    history.write_text('{"type":"anchor"}\n')
    with pytest.raises(UsageError, match="no sends"):
        read_replay(history)


def _send(due: object) -> str:
    return f'{{"type":"send","intended_ns":{due}}}'


@pytest.mark.parametrize(("lines", "says"), [
    (['[{"type":"send"}]'], "line 1 has no time in nanoseconds"), (['"type":"send"'], "line 1 is no record of a history"),
    *[([_send(due)], "line 1 has no time in nanoseconds") for due in
      ("null", "Infinity", "-Infinity", "NaN", "1.5", "1e300", "-1", 2**63, '"12"', "true", "[1]", "{}")],
    ([_send("1" * 5000)], "line 1 is no record of a history"),
    ([_send("[" * 100_000)], "recursion"),
    ([_send(1), _send(3 * 10**17)], "its sends are spread over 300,000,001 s, and a load has 86,400 at most"),
    ([_send(3 * 10**17), _send(1)], "its sends are spread over 300,000,001 s"),
    ([_send(1), '{"type":"send"}'], "line 2 has no time in nanoseconds"),
    ([_send(1), '{"type":"send","x":"\x1b[2J'], "line 2 is no record of a history"),
    ([" " * 2**20 + _send(1)], "a line of more than 1,048,576 bytes"),
    (["\udcff"], "it holds no sends"),
])  # fmt: skip
def test_an_odd_history_is_not_replayed(tmp_path: Path, lines: list[str], says: str) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text("\n".join(lines) + "\n", "utf-8", errors="surrogateescape")
    with pytest.raises(UsageError, match=says):
        read_replay(history)


def test_more_sends_in_a_second_than_a_load_may_have_are_not_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "RATE_HZ_MAX", 2)
    history = tmp_path / "history.jsonl"
    history.write_text(f"{_send(1)}\n" * 3)
    with pytest.raises(UsageError, match="3 of its sends are due in one second, and a load has 2 at most"):
        read_replay(history)


def test_what_a_locust_process_is_told_arrives_unchanged() -> None:
    driver = DriverSpec(
        module="m", search_path=("a",), first_line={"jvm_options": ["-Xlog:{folder}"]}, namesrv="n", queues=8
    )
    options = _options("--shape", "step", "--size", "1:1,2:3")
    spec = LocustSpec(role="master", options=options, driver=driver, folder="f", workers=2)
    assert LocustSpec.from_json(spec.to_json()) == spec
    assert json.loads(spec.to_json())["workers"] == 2


def test_a_body_proves_run_sequence_and_content() -> None:
    body = make_body("run-1", 17, 123456789, 128)
    assert len(body) == 128
    assert read_body(body, "run-1") == (17, 123456789)
    assert read_body(body, "run-2") is None
    assert read_body(body[:60] + b"x" + body[61:], "run-1") is None
    assert read_body(body[:-1], "run-1") is None
    short = make_body("run-1", 17, 123456789, 4)
    assert read_body(short, "run-1") == (17, 123456789)


def test_a_change_of_rate_neither_loses_nor_adds_an_operation() -> None:
    start_ns = time.monotonic_ns()
    schedule = Schedule(start_ns, 1000.0)
    time.sleep(0.05)
    for rate_hz in (0.0, 500.0, 2000.0, 1000.0):
        schedule.steer(rate_hz)
    due = [schedule.due_ns(index) for index in range(300)]
    times = [one for one in due if one is not None]
    assert len(times) == 300
    assert times == sorted(times)
    # The four changes were made within microseconds: together they moved the schedule by no more than they took.
    assert times[40] == start_ns + 40_000_000
    assert abs(times[299] - (start_ns + 299_000_000)) < 20_000_000


def test_response_times_are_rounded_as_locust_rounds_them() -> None:
    from_locust = {3: 3, 99: 99, 104: 100, 147: 150, 3432: 3400, 58760: 59000}
    for ms, rounded in from_locust.items():
        tally = Tally()
        tally.add(ms * 1_000_000, 1, "")
        assert list(tally.response_ms) == [rounded]
