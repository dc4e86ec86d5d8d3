"""The native library's log: its calls, in lines as it writes them, and what the worker records of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from harness.clients.python.native_log import NativeCall, calls_of, log_lines
from harness.clients.python.worker import PythonWorker
from harness.clock import take_anchor
from harness.rundir.files import JsonValue
from harness.rundir.lines import read_records

PRODUCED = (
    "[2026-Nov-26 10:28:{at}](debug):produce before:Message [topic=T, flag=0, tag={tag}] to MessageQueue [topic=T, "
    "brokerName={broker}, queueId=0][sendKernelImpl:402]\n"
)
LINES = [
    "[2026-Nov-26 10:28:35.725611](debug):send to mq:MessageQueue [topic=T, brokerName=broker-b, queueId=0][sendDefaultImpl:350]\n",
    PRODUCED.format(at="35.725622", tag=8, broker="broker-b"),
    "[2026-Nov-26 10:28:35.725640](debug):msgBody is:body 8, msgBody length is:6[doBeforeRequest:55]\n",
    "[2026-Nov-26 10:28:38.726810](warning):waitResponse of code:10 with opaque:9 timeout[waitResponse:67]\n",
    "[2026-Nov-26 10:28:38.726901](error):send failed of times:1,brokerName:broker-b[sendDefaultImpl:369]\n",
    PRODUCED.format(at="38.727064", tag=8, broker="broker-a"),
    "[2026-Nov-26 10:28:38.731586](debug):sendMessageSync success:Message [topic=T, flag=0, tag=8] to addr:127.0.0.1:25543,"
    "brokername:broker-a, send status:0[sendMessageSync:390]\n",
]
AT_US = 1_795_688_915_725_622
"""The first call's time: 2026-11-26 10:28:35.725622 UTC."""


def test_a_call_is_a_message_that_is_handed_to_the_network_with_its_broker() -> None:
    assert list(calls_of(LINES)) == [
        NativeCall(tag="8", broker="broker-b", wall_us=AT_US),
        NativeCall(tag="8", broker="broker-a", wall_us=AT_US + 3_001_442),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "[2026-Nov-26 10:28:38.7](warning):retry send, opaque:998, sendTimes:2, maxRetryTimes:3, left_timeout:2796, "
        "brokerAddr:127.0.0.1:10911, msg:Message [topic=T, flag=0, tag=8][operationComplete:1]\n",
        "[2026-Nov-26 10:28:38.7](warning):invokeAsync retry failed to addr:127.0.0.1:10911,topic:T, timeout:9, maxRetryTimes:3, "
        "retrySendTimes:2[sendMessageAsync:1]\n",
    ],
)
def test_a_try_that_no_call_tells_of_is_not_passed_over(line: str) -> None:
    with pytest.raises(ValueError, match="tried a send again by itself"):
        list(calls_of([*LINES, line]))


def test_files_of_a_log_are_read_in_their_order_and_those_of_other_processes_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "rocketmq-cpp"
    folder.mkdir(parents=True)
    for number in (10, 9):
        (folder / f"{os.getpid()}_rocketmq-cpp.log.{number}").write_text(f"{number}\n")
    (folder / f"{os.getpid() + 1}_rocketmq-cpp.log.0").write_text("another\n")
    assert list(log_lines(tmp_path)) == ["9\n", "10\n"]


def _closed(
    tmp_path: Path, lines: list[str], *, accepted: int, traced: bool = True
) -> tuple[str, list[dict[str, Any]]]:
    """What a worker says, and has recorded, when it closes a history with one accepted send."""
    folder = tmp_path / "logs" / "rocketmq-cpp"
    folder.mkdir(parents=True)
    (folder / f"{os.getpid()}_rocketmq-cpp.log.0").write_text("".join(lines))
    spec = {"process": "native", "client": "c", "only_broker": "", "kind": "native", "logs": str(tmp_path)}
    worker = PythonWorker(spec)
    worker.open_history(str(tmp_path / "history.jsonl"))
    worker.start_producer("p", "g", "127.0.0.1:1", False, {"retries": 3})
    if traced:
        worker.record_calls("p", {"127.0.0.1:2": "broker-a"})
    times = {"intended_ns": 1, "started_ns": 1, "finished_ns": 2}
    sent: dict[str, JsonValue] = {
        "instance": "p",
        "client": "c",
        "topic": "T",
        "seq": accepted,
        "outcome": "ok",
        **times,
    }
    worker.record("send", sent)
    problem = worker.close_history()
    return problem, [dict(one) for one in read_records(tmp_path / "history.jsonl").records if one["type"] == "call"]


def test_a_worker_records_the_calls_of_its_log_by_the_monotonic_clock(tmp_path: Path) -> None:
    problem, calls = _closed(tmp_path, LINES, accepted=8)
    assert problem == ""
    assert [(call["seq"], call["broker"]) for call in calls] == [(8, "broker-b"), (8, "broker-a")]
    assert calls[1]["at_ns"] - calls[0]["at_ns"] == 3_001_442_000
    # The clocks drift apart by less than this between two looks.
    assert abs(calls[0]["at_ns"] + take_anchor().offset_ns - AT_US * 1000) < 1_000_000


def test_a_history_whose_accepted_send_has_no_call_is_not_whole(tmp_path: Path) -> None:
    problem, calls = _closed(tmp_path, LINES, accepted=9)
    assert problem == "the library's log has no call of 1 accepted sends"
    assert len(calls) == 2


def test_a_producer_that_is_not_traced_has_no_calls(tmp_path: Path) -> None:
    assert _closed(tmp_path, LINES, accepted=9, traced=False) == ("", [])
