"""What is shown of a node that has ended: the exception that ended it, not the lines of its shutdown alone."""

from __future__ import annotations

from pathlib import Path

from harness.backends.cluster import Node
from harness.backends.nodes import Launch, first_exception, last_words

STACK = [
    "2026-11-28 01:00:00 INFO main - load config properties file OK",
    "2026-11-28 01:00:01 ERROR main - Failed to start",
    "java.net.BindException: Address already in use",
    "\tat java.base/sun.nio.ch.Net.bind0(Native Method)",
    "\tat java.base/sun.nio.ch.Net.bind(Net.java:555)",
    "\tat java.base/sun.nio.ch.Net.bind(Net.java:544)",
    "Caused by: java.io.IOException: the port is taken",
    "\t... 3 more",
]
SHUTDOWN = [f"2026-11-28 01:00:02 INFO ShutdownHook - shutdown of service {number}" for number in range(30)]


def _launch(home: Path, **written: list[str]) -> Launch:
    (home / "logs" / "rocketmqlogs").mkdir(parents=True)
    for name, lines in written.items():
        folder = home if name == "stdout" else home / "logs" / "rocketmqlogs"
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n")
    return Launch(node=Node(name="broker-a", kind="broker", address="x"), home=home, settings={}, heap=(), options=())


def test_the_first_exception_stands_before_the_lines_of_the_shutdown(tmp_path: Path) -> None:
    lines = last_words(_launch(tmp_path, broker=[*STACK, *SHUTDOWN]))
    assert lines[:5] == [
        "broker.log: 2026-11-28 01:00:01 ERROR main - Failed to start",
        "broker.log: java.net.BindException: Address already in use",
        "broker.log: \tat java.base/sun.nio.ch.Net.bind0(Native Method)",
        "broker.log: \tat java.base/sun.nio.ch.Net.bind(Net.java:555)",
        "broker.log: Caused by: java.io.IOException: the port is taken",
    ]
    assert lines[5:] == ["...", *(f"broker.log: {line}" for line in SHUTDOWN[-12:])]


def test_an_exception_among_the_last_lines_is_shown_once(tmp_path: Path) -> None:
    assert last_words(_launch(tmp_path, stdout=STACK)) == [f"stdout.log: {line}" for line in STACK]


def test_what_was_printed_goes_before_what_was_logged(tmp_path: Path) -> None:
    told = ['Exception in thread "main" java.lang.IllegalStateException: no store', "\tat org.apache.A.b(A.java:1)"]
    lines = last_words(_launch(tmp_path, broker=[*STACK, *SHUTDOWN], stdout=[*told, *SHUTDOWN]))
    assert lines[:2] == [f"stdout.log: {line}" for line in told]


def test_without_an_exception_the_last_lines_are_all(tmp_path: Path) -> None:
    assert last_words(_launch(tmp_path, broker=SHUTDOWN)) == [f"broker.log: {line}" for line in SHUTDOWN[-12:]]
    assert last_words(_launch(tmp_path / "nothing")) == []


def test_a_name_without_a_stack_is_no_exception() -> None:
    assert first_exception(["INFO handler of org.apache.rocketmq.MQClientException is set", "INFO next"]) == []
