"""The driver of a load, with a client that is a book of its calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from harness.clients.commands import CommandedClient, SendSettings
from harness.generator.driver import Driver
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

    def __init__(self, spec: LocustSpec, client: Client) -> None:
        self._given = cast(CommandedClient, client)
        super().__init__(spec, 0)

    def _connect(self) -> CommandedClient:
        return self._given


def test_nothing_is_sent_after_a_drain_though_nobody_followed_the_last_user(tmp_path: Path) -> None:
    sends = SendSettings(topic="t")
    options = LoadOptions(users=1, per_user=PER_USER_HZ, closed=False, duration_s=0.0, shape=((0.0, 1.0),), sends=sends)
    spec = LocustSpec(
        role="local",
        options=options,
        driver=DriverSpec(module="", search_path=(), first_line={}, namesrv="", queues=0),
        folder=str(tmp_path),
    )
    client = Client()
    driver = Unfollowed(spec, client)
    driver.join(1)
    driver.leave(1)
    assert driver.drain() == 0
    assert (client.rate_hz, client.sent) == (0.0, 0)
