"""What comes from a node and goes to a terminal never steers it."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness.host.facts import Host
from harness.plan.schedule import Plan, Schedule
from harness.printable import EXCERPT_CHARS_MAX, counted, excerpt, printable, printable_lines
from harness.run.display import Display
from mqlab.main import main
from tests.lib.audited import Fake, cluster, serve, serving
from tests.lib.bad_nodes import answer_to, answering, node
from tests.lib.prometheus_text import read_exposition

__all__ = ["serving"]

EVIL = "\x1b]0;owned\x07\x1b[2J\r\nnothing is wrong\x9b31m\u202e\x7f[/]"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\r\nnothing is wrong\x9b31m\u202e\x7f[/]"


@given(text=st.text(st.characters(exclude_categories=())))
def test_whatever_is_written_is_one_printable_line_and_stays_so(text: str) -> None:
    line = printable(text)
    assert line.isprintable()
    assert printable(line) == line
    assert line.encode().decode() == line
    assert text == line or not text.isprintable()


def test_controls_are_written_out_and_letters_of_all_languages_stay() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("zażółć 订单 µs \\n") == "zażółć 订单 µs \\n"


def test_a_narrow_space_before_a_unit_is_a_space() -> None:
    assert printable("79.4\u202f% of 1\u202f002\u00a0ms") == "79.4 % of 1 002 ms"


def test_lines_of_our_own_stay_lines() -> None:
    assert printable_lines("a\x1b[2J\n\tb\r") == "a\\x1b[2J\n    b\\r"


def test_of_a_long_text_the_beginning_is_told() -> None:
    assert excerpt("x" * 1_000_000) == "x" * EXCERPT_CHARS_MAX + "..."


def _steers(text: str) -> list[str]:
    return [char for char in text if not char.isprintable() and char != "\n"]


@pytest.mark.parametrize("form", ["text", "json", "prometheus"])
def test_no_name_of_a_node_steers_the_terminal_of_an_audit(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    broker, servers, addresses = cluster(serving, {EVIL: (8, 4), "%RETRY%g": (1, 1)})
    twice = ["a\x1b[31mclient"] * 2
    broker.members = {"g": twice}
    for server in servers:
        server.brokers[f"{EVIL}-broker"] = {0: serving.enter_context(serve(Fake(topics={"odd": (9, 1)})))}
    assert main(["audit", "--namesrv", ",".join(addresses), "--format", form]) == 2
    out, err = capsys.readouterr()
    assert _steers(out) + _steers(err) == []
    lines = out.splitlines()
    if form == "text":
        assert "nothing is wrong" not in lines
        assert sum(line.startswith(f"CRITICAL queue-numbers-differ: {SHOWN} on broker-a: ") for line in lines) == 1
        assert any(f"{SHOWN}-broker: " in line for line in lines)
    elif form == "json":
        wheres = {finding["where"] for finding in json.loads(out)["findings"]}
        assert {f"{EVIL} on broker-a", twice[0]} <= wheres, "in JSON they are what the node wrote"
    else:
        wheres = {dict(labels).get("where", "") for _, labels in read_exposition(out)}
        assert "{} on broker-a".format(SHOWN.replace(r"\n", "\n")) in wheres, (
            "a line's end is an escape of the format's own"
        )


def test_a_remark_steers_no_terminal_and_its_beginning_is_told(
    serving: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    remark = EVIL + "x" * 100_000
    address = serving.enter_context(node(answering(lambda request: answer_to(request, code=1, remark=remark))))
    assert main(["audit", "--namesrv", address]) == 2
    out, err = capsys.readouterr()
    assert f"CRITICAL unreachable: name server {address}: {address} answered request 106 with code 1: {SHOWN}" in out
    assert _steers(out) + _steers(err) == []
    assert len(out) < 2_000


def test_a_load_says_what_a_node_answered_without_being_steered(
    serving: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    address = serving.enter_context(node(answering(lambda request: answer_to(request, code=1, remark=EVIL))))
    assert main(["load", "--namesrv", address, "--topic", "orders"]) == 4
    out, err = capsys.readouterr()
    assert f"mqlab: {address} answered request 106 with code 1: {SHOWN}" in err
    assert _steers(out) + _steers(err) == []


@pytest.mark.parametrize("is_terminal", [False, True])
def test_lines_of_a_run_do_not_steer(is_terminal: bool) -> None:
    out = io.StringIO()
    plan = Plan(schedule=Schedule(deployments=(), host=Host(cores=2, memory_mb=20_000)), budget="full")
    console = Console(file=out, width=200, force_terminal=is_terminal, color_system=None)
    Display(console, plan).say(f"it could not be removed: {EVIL}")
    assert f"it could not be removed: {SHOWN}".replace(r"\n", "\n") in out.getvalue(), "what has lines is our own"
    assert _steers(out.getvalue()) == []


def test_one_has_no_plural_and_its_verb_agrees() -> None:
    assert [counted(number, "append") for number in (0, 1, 2, 1200)] == [
        "0 appends", "1 append", "2 appends", "1,200 appends",
    ]  # fmt: skip
    assert counted(1, "commit-log file", were=True) == "1 commit-log file was"
    assert counted(2, "send", were=True) == "2 sends were"
