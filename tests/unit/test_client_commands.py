"""The driving end of a client process, against a small process that answers as the test wants."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.clients import commands
from harness.clients.commands import CommandedClient
from harness.errors import ClientError
from harness.paths import PACKAGES

WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from harness.clients.serve import serve

class Worker:
    def echo(self, text, after_s=0.0):
        time.sleep(after_s)
        return text

    def fail(self):
        raise ValueError("not today")

    def leave(self):
        sys.exit(3)

    def end(self):
        pass

serve(lambda first: Worker())
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[CommandedClient]:
    command = [sys.executable, "-c", WORKER, str(PACKAGES)]
    with (
        (tmp_path / "stderr.log").open("wb") as stderr,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr) as process,
    ):
        driven = CommandedClient(process, "echo", tmp_path)
        driven.write({})
        driven.wait_started()
        yield driven
        driven.end()
        process.kill()


def test_each_command_gets_its_own_result(client: CommandedClient) -> None:
    assert [client.call("echo", text=text) for text in ("one", "two")] == ["one", "two"]


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_commands(
    client: CommandedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "COMMAND_S_MAX", 0.2)
    for text in ("late", "later"):
        with pytest.raises(ClientError, match="did not echo in time"):
            client.call("echo", text=text, after_s=0.7)
    monkeypatch.setattr(commands, "COMMAND_S_MAX", 30.0)
    assert client.call("echo", text="mine") == "mine"


def test_what_a_command_raised_is_told_and_the_next_one_works(client: CommandedClient) -> None:
    with pytest.raises(ClientError, match="ValueError: not today"):
        client.call("fail")
    assert client.call("echo", text="still here") == "still here"


def test_a_process_that_ends_is_said(client: CommandedClient) -> None:
    with pytest.raises(ClientError, match="ended while it should leave"):
        client.call("leave")
