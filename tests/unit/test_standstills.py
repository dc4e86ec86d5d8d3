"""What stops listeners beside locks of queues: what the owners' process is told, and what proves it, on owners of values."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError, Interrupted
from harness.faults import standstills
from harness.faults.injections import injection_of
from harness.model.faults import CollectOwners, Fault, LockOwners, ThrottleOwners
from harness.trial import Healed, Injected

FULL = "[{at}s] GC({number}) Pause Full (System.gc()) {mb}M->{mb}M(2048M) {ms:.3f}ms"
YOUNG = "[1.2s] GC(1) Pause Young (Allocation Failure) 9M->2M(31M) 9000.000ms"


class Owners:
    """The process of the owners; it remembers what it was told."""

    name, pid = "owner", 42

    def __init__(self, waiting: int = 5) -> None:
        self.told: list[str] = []
        self._waiting = waiting

    def grow_live_set(self, stop_ms: float) -> tuple[int, int, bool]:
        self.told.append(f"grow {stop_ms:g}")
        steps = len(self.told)
        return steps * 1_000, steps * 1_000 + 500, steps == 2

    def clear_live_set(self) -> None:
        self.told.append("clear")

    def hold_lock(self) -> None:
        self.told.append("hold")

    def let_lock_go(self) -> int:
        self.told.append("let go")
        return self._waiting


class Load:
    """A load with owners that write to a disk."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners

    def owners(self) -> Any:
        return self._owners

    def disk(self) -> Any:
        return "the disk"


def _inject(fault: Fault, owners: Owners, folder: Path, stay: Any = lambda seconds: None) -> Injected:
    directory = SimpleNamespace(client_folder=lambda name: folder / name)
    trial = cast(Any, SimpleNamespace(directory=directory, leases="leases", until_s=60.0, stay=stay))
    return injection_of(fault).inject(fault, trial, cast(Any, Load(owners)))


def _ended(done: Injected) -> Healed:
    assert done.end is not None
    return done.end()


def _log(folder: Path, *lines: str) -> None:
    (folder / "owner").mkdir()
    (folder / "owner" / "gc.log").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(("longest_ms", "took_effect"), [(6200.5, True), (5900.0, False)])
def test_a_full_collection_is_proved_by_the_log_of_the_jvm(
    tmp_path: Path, longest_ms: float, took_effect: bool
) -> None:
    lines = [
        FULL.format(at=place, number=place, mb=400 * place, ms=ms) for place, ms in enumerate((2100.0, longest_ms), 1)
    ]
    _log(tmp_path, YOUNG, *lines)
    owners = Owners()
    done = _inject(CollectOwners(), owners, tmp_path)
    assert (done.injecting_ns, done.injected_ns) == (2_000, 2_500), "the last collection"
    healed = _ended(done)
    assert (healed.achieved_ms, healed.exercised) == (longest_ms, took_effect)
    assert owners.told == ["grow 6000", "grow 6000", "clear"]


def test_a_process_without_a_full_collection_was_not_stopped(tmp_path: Path) -> None:
    _log(tmp_path, YOUNG)
    with pytest.raises(ClientError, match="tells of no full collection"):
        _inject(CollectOwners(), Owners(), tmp_path)


@pytest.mark.parametrize(("waiting", "took_effect"), [(9, True), (2, True), (1, False)])
def test_a_lock_of_the_application_counts_if_several_listeners_wait_for_it(
    tmp_path: Path, waiting: int, took_effect: bool
) -> None:
    owners, stayed = Owners(waiting), list[float]()
    done = _inject(LockOwners(since_s=3.0), owners, tmp_path, stay=stayed.append)
    assert (owners.told, stayed, done.injecting_ns == done.injected_ns) == (["hold"], [3.0], True)
    healed = _ended(done)
    assert (healed.achieved, healed.exercised) == (f"{waiting} listeners waited for it", took_effect)
    assert owners.told == ["hold", "let go"]


def test_nothing_is_left_on_where_a_run_ends_before_anybody_looks(tmp_path: Path) -> None:
    def stopped(seconds: float) -> None:
        raise Interrupted("stopped by the user")

    owners = Owners()
    with pytest.raises(Interrupted):
        _inject(LockOwners(), owners, tmp_path, stay=stopped)
    assert owners.told == ["hold", "let go"]


def test_a_throttle_is_of_the_owners_and_of_their_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def limit(leases: Any, pid: int, disk: Any, *, rate_bps: int, until_s: float) -> Any:
        asked.append((leases, pid, disk, rate_bps, until_s))
        return SimpleNamespace(end=lambda: Healed(achieved="held back", exercised=True))

    monkeypatch.setattr(standstills, "limit", limit)
    done = _inject(ThrottleOwners(bytes_per_s=65_536), Owners(), tmp_path)
    assert asked == [("leases", 42, "the disk", 65_536, 60.0)]
    assert (done.target, done.detail, _ended(done).exercised) == ("owner", "64 KiB/s at most", True)
