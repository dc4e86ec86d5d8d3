"""A trial's client processes: they start as the turn allows, and none is left when one of them does not."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError
from harness.trial import TrialContext


class Process:
    """A client that notes what it is told."""

    def __init__(self, did: list[str], name: str, is_broken: bool) -> None:
        self._did, self._name, self._is_broken = did, name, is_broken

    def wait_started(self) -> None:
        if self._is_broken:
            raise ClientError(f"{self._name} did not start")
        self._did.append(f"{self._name} is up")

    def open_history(self, path: Path) -> None:
        self._did.append(path.name)

    def stop(self) -> None:
        self._did.append(f"{self._name} is stopped")


def _trial(did: list[str], starts: threading.Semaphore, broken: str = "") -> TrialContext:
    def client(name: str, options: Mapping[str, str] | None, release: str, heap_mb: int) -> Any:
        did.append(f"{name} {dict(options or {})} {release}")
        return Process(did, name, name == broken)

    directory = SimpleNamespace(history_path=lambda name: Path(f"{name}.jsonl"))
    return cast(TrialContext, SimpleNamespace(client=client, starts=starts, directory=directory))


def test_all_are_started_before_the_first_is_waited_for() -> None:
    did: list[str] = []
    started = TrialContext.start_clients(_trial(did, threading.Semaphore(1)), {"a": {"x": "1"}, "b": None}, "5.5.0")
    assert did == ["a {'x': '1'} 5.5.0", "b {} 5.5.0", "a is up", "a.jsonl", "b is up", "b.jsonl"]
    assert list(started) == ["a", "b"]


def test_nothing_starts_before_its_turn() -> None:
    did: list[str] = []
    turn = threading.Semaphore(0)
    waits = threading.Thread(target=TrialContext.start_clients, args=(_trial(did, turn), {"a": None}))
    waits.start()
    waits.join(0.2)
    assert waits.is_alive()
    assert not did
    turn.release()
    waits.join(30)
    assert did[-1] == "a.jsonl"
    assert turn.acquire(blocking=False), "the turn is given back"


def test_none_is_left_when_one_does_not_start() -> None:
    did: list[str] = []
    turn = threading.Semaphore(1)
    with pytest.raises(ClientError, match="b did not start"):
        TrialContext.start_clients(_trial(did, turn, broken="b"), {"a": None, "b": None})
    assert did[-2:] == ["a is stopped", "b is stopped"]
    assert turn.acquire(blocking=False), "the turn is given back"
