"""How leases on containers are healed: what carries the lease's label is removed, and nothing else.

A lease's containers, volumes and networks carry the label ``mqlab.lease=ID``, which they are created with. The healer
imports this, so it is the standard library only and speaks HTTP over the engine's socket by itself.
"""

import http.client
import json
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast
from urllib.parse import quote

from harness.leases.store import Healable, LeaseRecord, OneByOne

CONTAINER, PAUSE = "container", "paused-container"
LEASE_LABEL = "mqlab.lease"

_ANSWER_S_MAX = 10.0
_SETTLE_S = 1.5
"""The engine may still be creating what somebody asked for who is gone; it is waited for this long."""
_POLL_S = 0.1
_GONE = 404
_REMOVALS_AT_ONCE = 8


class EngineSocket:
    """The few requests that healing needs. Raises OSError when the engine does not answer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def labelled(self, lease_id: str) -> list[str]:
        """The paths of all containers, then volumes and networks, that carry the lease's label."""
        label = quote(json.dumps({"label": [f"{LEASE_LABEL}={lease_id}"]}))
        containers = cast("list[dict[str, str]]", self._get(f"/containers/json?all=1&filters={label}"))
        volumes = cast("dict[str, list[dict[str, str]] | None]", self._get(f"/volumes?filters={label}"))
        networks = cast("list[dict[str, str]]", self._get(f"/networks?filters={label}"))
        return [
            *(f"/containers/{one['Id']}" for one in containers),
            *(f"/volumes/{one['Name']}" for one in volumes.get("Volumes") or ()),
            *(f"/networks/{one['Id']}" for one in networks),
        ]

    def remove(self, path: str) -> None:
        """Remove it, running or not. What is gone already, or still in use, is no error: look again."""
        self._ask("DELETE", f"{path}?force=1&v=1")

    def is_paused(self, container: str, lease_id: str | None) -> bool:
        """Whether the container is there, carries the label (where there is to be one), and stands still."""
        facts = self._inspect(container)
        is_ours = lease_id is None or facts.get("Config", {}).get("Labels", {}).get(LEASE_LABEL) == lease_id
        return is_ours and bool(facts.get("State", {}).get("Paused"))

    def runs(self, container: str) -> bool:
        """Whether the container is there and runs."""
        return bool(self._inspect(container).get("State", {}).get("Running"))

    def start(self, container: str) -> int:
        """Start it on what it has; the engine's answer."""
        return self._ask("POST", f"/containers/{container}/start")[0]

    def _inspect(self, container: str) -> dict[str, dict[str, dict[str, str]]]:
        """Empty where there is none."""
        status, answer = self._ask("GET", f"/containers/{container}/json")
        return {} if status == _GONE else cast("dict[str, dict[str, dict[str, str]]]", json.loads(answer))

    def unpause(self, container: str) -> None:
        """Let it go on."""
        self._ask("POST", f"/containers/{container}/unpause")

    def _get(self, path: str) -> object:
        status, answer = self._ask("GET", path)
        if status != http.client.OK:
            raise OSError(f"the engine answers {status} to {path}")
        return json.loads(answer)

    def _ask(self, method: str, path: str) -> tuple[int, bytes]:
        connection = _UnixConnection(self._path)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"the engine does not speak HTTP: {error}") from error
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_ANSWER_S_MAX)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_ANSWER_S_MAX)
        self.sock.connect(str(self._path))


class _Containers:
    """Containers with their volumes and networks. data: name, socket, settled (everything of it is created)."""

    survives_boot: bool = True

    def describe(self, lease: LeaseRecord) -> str:
        return f"containers of {lease.data.get('name')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        try:
            return bool(_engine_of(lease).labelled(lease.id))
        except OSError:
            return False

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        deadline_s = time.monotonic() + timeout_s
        with ThreadPoolExecutor(len(leases)) as pool:
            outcomes = pool.map(lambda lease: self._remove_all(lease, deadline_s), leases)
            return {lease.id: outcome for lease, outcome in zip(leases, outcomes, strict=True)}

    def _remove_all(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        engine = _engine_of(lease)
        settled_s = time.monotonic() + (0.0 if lease.data.get("settled") else _SETTLE_S)
        removed: set[str] = set()
        while True:
            try:
                left = engine.labelled(lease.id)
                # Volumes and networks go when no container uses them any more.
                first = [path for path in left if path.startswith("/containers/")] or left
                with ThreadPoolExecutor(_REMOVALS_AT_ONCE) as pool:
                    list(pool.map(engine.remove, first))
            except OSError as error:
                return f"its Docker Engine at {lease.data.get('socket')} does not answer: {error}", False
            removed |= set(left)
            now_s = time.monotonic()
            if not left and now_s >= settled_s:
                return (f"removed {len(removed)} containers and volumes" if removed else "they are gone"), True
            if now_s >= deadline_s:
                return f"{len(left)} of them are still there", False
            time.sleep(_POLL_S)


class _Pause(OneByOne):
    """A container that was paused. data: name, socket, container, token (of the container's own lease; null for one that is the
    user's, which a nodes file names)."""

    def describe(self, lease: LeaseRecord) -> str:
        return f"pause of {lease.data.get('name')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        try:
            return self._is_paused(lease)
        except OSError:
            return False

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        action = "it is gone, or goes on already"
        while self._is_paused(lease):
            _engine_of(lease).unpause(str(lease.data.get("container")))
            action = "resumed"
            if time.monotonic() >= deadline_s:
                return "it is still paused", False
        return action, True

    @staticmethod
    def _is_paused(lease: LeaseRecord) -> bool:
        token = lease.data.get("token")
        return _engine_of(lease).is_paused(str(lease.data.get("container")), None if token is None else str(token))


def _engine_of(lease: LeaseRecord) -> EngineSocket:
    return EngineSocket(Path(str(lease.data.get("socket"))))


CONTAINER_KINDS: Mapping[str, Healable] = {CONTAINER: _Containers(), PAUSE: _Pause()}
