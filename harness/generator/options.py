"""What a load is asked to be, and what its processes are told. Plain values, written to them as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from harness.clients.commands import SendSettings

Role = Literal["local", "master", "worker"]

SEQUENCE_STEP = 1000
"""Locust workers number their operations worker + i * this, so that no two send the same number."""

CLIENT_FAILED = 5
"""Exit code of a Locust process whose client process is gone or no longer answers."""

REPORT_S = 0.25
"""A user's task is a slice of the schedule of this length at least: at its end what has ended goes to Locust."""
TASKS_PER_S_MAX = 40
"""With many users the slices are longer, so that Locust itself stays a small part of the load."""


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


@dataclass(frozen=True, kw_only=True)
class DriverSpec:
    """How a worker starts its client process. ``first_line`` is what that process reads first; its ``process`` and the
    ``{folder}`` in its JVM options are filled in by the worker, which knows its own index only once it is connected.
    """

    module: str
    search_path: tuple[str, ...]
    """Folders that its Python finds packages in, before ours."""
    first_line: Mapping[str, object]
    namesrv: str
    queues: int
    """Of the topic; the load begins when the client's own route has as many. 0: it is not asked."""
    settings: Mapping[str, bool | int | str] = field(default_factory=dict)
    """Of the client's producer, by its own names."""
    java_release: str = ""
    """Of a Java client: its log is set up where the worker's folder is known. Empty for others."""


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
    """False records nothing, which is what the cost of recording is measured against."""
    web_port: int = 0
    """Of Locust's own page on loopback; 0 is none."""

    def to_json(self) -> str:
        """One line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The same again."""
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
