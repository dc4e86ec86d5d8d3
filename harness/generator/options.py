"""The options of a load, and what its processes are told: plain values, written to them as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from harness.clients.commands import SendSettings

Role = Literal["local", "master", "worker"]

SEQUENCE_STEP = 1000
"""A Locust worker numbers its operations worker + i * this, so that no two workers send the same number."""

CLIENT_FAILED = 5
"""Exit code of a Locust process whose client process is gone or no longer answers."""

REPORT_S = 0.25
"""The shortest slice of the schedule that is a user's task. At its end the messages that ended are given to Locust."""
TASKS_PER_S_MAX = 40
"""With many users slices are longer, so that Locust itself stays a small part of the load."""


USERS_MAX = 10_000
RATE_HZ_MAX = 1_000_000.0
IN_FLIGHT_MAX = 100_000.0
"""Of one load: what its options take at most, and what a person may set on Locust's page while it runs."""


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """One load: ``users`` times ``per_user`` is the rate in messages a second, or the messages on their way at once of a
    closed loop. ``shape`` gives the share of the users over time; a ``duration_s`` of 0 runs until it is stopped.
    """

    users: int
    per_user: float
    closed: bool
    duration_s: float
    shape: tuple[tuple[float, float], ...]
    sends: SendSettings

    @property
    def users_max(self) -> int:
        """How many users it may have at once, those included that are added later. As many as it was given it always may."""
        most = (IN_FLIGHT_MAX if self.closed else RATE_HZ_MAX) / self.per_user
        return max(self.users, int(min(USERS_MAX, most)))

    def of_worker(self) -> dict[str, object]:
        """The options that a worker goes by, as JSON values: those have to be the same on all machines of a load."""
        sends: dict[str, object] = json.loads(json.dumps(dataclasses.asdict(self.sends)))
        return {**sends, "per_user": self.per_user, "closed": self.closed}


@dataclass(frozen=True, kw_only=True)
class DriverSpec:
    """How a worker starts its client process. ``first_line`` is what that process reads first; its ``process`` and the
    ``{folder}`` in its JVM options are filled in by the worker, which knows its own index only once it is connected.
    """

    module: str
    search_path: tuple[str, ...]
    """Folders in which its Python looks for packages before it looks in ours."""
    first_line: Mapping[str, object]
    namesrv: str
    queues: int
    """Queues of the topic. The load begins when the client's own route has as many; 0 does not wait."""
    settings: Mapping[str, bool | int | str] = field(default_factory=dict)
    """Bean properties of the client's producer, by name."""
    java_release: str = ""
    """The release of a Java client, for the settings of its log; empty for other clients."""
    socket: str = ""
    """The abstract Unix socket at which a trial's own client takes commands (``harness.load.locust_rate``); empty starts one."""


@dataclass(frozen=True, kw_only=True)
class LocustSpec:
    """What one Locust process is told."""

    role: Role
    options: LoadOptions
    driver: DriverSpec
    folder: str
    """The trial's folder: histories, clients' logs and locust.json go there."""
    master_host: str = "127.0.0.1"
    master_port: int = 0
    workers: int = 0
    """How many workers a master waits for."""
    history: bool = True
    """False records nothing: the cost of recording is measured against that."""
    web_port: int = 0
    """Port of Locust's own page on loopback; 0 has no page."""

    def to_json(self) -> str:
        """The spec as one line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read ``to_json``'s line."""
        values = json.loads(text)
        sends = values["options"].pop("sends")
        for name in ("body_bytes", "body_shares"):
            sends[name] = tuple(sends[name])
        settings = SendSettings(**sends)
        shape = tuple((float(start), float(share)) for start, share in values["options"].pop("shape"))
        driver = values.pop("driver")
        driver["search_path"] = tuple(driver["search_path"])
        return cls(
            options=LoadOptions(**values.pop("options"), shape=shape, sends=settings),
            driver=DriverSpec(**driver),
            **values,
        )
