"""The driver of a load, with a client that is a book of its calls."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from harness.clients.commands import CommandedClient, SendSettings
from harness.errors import ClientError
from harness.generator.driver import Driver, SocketEnd
from harness.generator.options import DriverSpec, LoadOptions, LocustSpec

PER_USER_HZ = 20.0


class Client:
    """Sends until its rate is 0, and has nothing under way whenever it is looked at, as between two sends."""

    def __init__(self) -> None:
        self.rate_hz = PER_USER_HZ
        self.sent = 0

    def call(self, command: str, **arguments: Any) -> object:
        if command == "steer":
            self.rate_hz = arguments["to"]
            return None
        assert command == "schedule_state"
        answer = {"due": self.sent, "issued": self.sent, "ended": self.sent, "sending": True}
        self.sent += self.rate_hz > 0
        return answer


class Unfollowed(Driver):
    """Its thread that follows the users does not get a core."""

    def __init__(self, spec: LocustSpec, client: Client | CommandedClient) -> None:
        self._given = cast(CommandedClient, client)
        super().__init__(spec, 0)

    def _connect(self) -> CommandedClient:
        return self._given


@pytest.fixture
def spec(tmp_path: Path) -> LocustSpec:
    sends = SendSettings(topic="t")
    options = LoadOptions(users=1, per_user=PER_USER_HZ, closed=False, duration_s=0.0, shape=((0.0, 1.0),), sends=sends)
    return LocustSpec(
        role="local",
        options=options,
        driver=DriverSpec(module="", search_path=(), first_line={}, namesrv="", queues=0),
        folder=str(tmp_path),
    )


def test_nothing_is_sent_after_a_drain_though_nobody_followed_the_last_user(spec: LocustSpec) -> None:
    client = Client()
    driver = Unfollowed(spec, client)
    driver.join(1)
    driver.leave(1)
    assert driver.drain() == 0
    assert (client.rate_hz, client.sent) == (0.0, 0)


def _process(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-Sc", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.fixture(
    params=["has ended", "ends amid a command", "was closed here", "was closed while it was asked", "was reset"]
)
def gone(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandedClient]:
    """A client that is no more."""
    process: subprocess.Popen[bytes] | SocketEnd
    if request.param == "was reset":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"\0{tmp_path}")
        listener.listen()
        process = SocketEnd(str(tmp_path))
        peer, _ = listener.accept()

        def closed(*_: object) -> tuple[list[int], list[int], list[int]]:
            peer.close()  # What was not read of it resets the connection.
            return [0], [], []

        monkeypatch.setattr("harness.clients.commands.select.select", closed)
        yield CommandedClient(process, "producer-0", tmp_path)
        listener.close()
        return
    process = _process("" if request.param == "has ended" else "input()")
    client = CommandedClient(process, "producer-0", tmp_path)
    if request.param == "has ended":
        process.wait()
    if request.param == "was closed here":
        client.end()
    if request.param == "was closed while it was asked":
        write = client.write
        monkeypatch.setattr(client, "write", lambda message: (write(message), process.stdout.close()))  # type: ignore[union-attr]
    yield client
    process.kill()
    process.wait()


def test_who_follows_the_users_of_a_client_that_is_gone_ends_without_a_traceback(
    spec: LocustSpec, gone: CommandedClient
) -> None:
    driver = Unfollowed(spec, gone)
    driver.join(1)
    driver._steer_forever()
    with pytest.raises(ClientError, match=r"client producer-0 (is gone|ended)"):
        driver.take()
