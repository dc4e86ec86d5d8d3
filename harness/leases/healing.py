"""How what a lease stands for is undone, kind by kind, and how leftovers of dead owners are cleaned up.

Nothing is touched that cannot be shown to be ours: see harness/leases/proc.py for processes. Standard library only.
"""

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from harness.errors import LeaseError
from harness.leases import proc
from harness.leases.container_kinds import CONTAINER_KINDS
from harness.leases.elsewhere_kinds import ELSEWHERE_KINDS
from harness.leases.given_kinds import GIVEN_KINDS
from harness.leases.kernel_kinds import KERNEL_KINDS
from harness.leases.proc import ProcessId
from harness.leases.store import Healable, Healed, LeaseRecord, LeaseStore, OneByOne
from harness.scratch import remove_abandoned

PROCESS = "process"
STOPPED_PROCESS = "stopped-process"

HEAL_TIMEOUT_S = 5.0
_SETTLE_S = 2.0
"""A process may still be between fork and exec, or, on a busy machine, in exec but without its environment yet (the
kernel lets the parent go on before that is set up), where it does not show its token. It is waited for this long."""
_FRESH_NS = 30_000_000_000
"""Nothing is waited for when the lease is older than this; fork and exec take milliseconds."""


class _Process:
    """A process and its descendants. data: name, argv (for people), pid, start_ticks (null until it is started)."""

    survives_boot: bool = False

    def describe(self, lease: LeaseRecord) -> str:
        pid = lease.data.get("pid")
        return f"process {lease.data.get('name')}" + (f" (pid {pid})" if pid is not None else " (being started)")

    def is_ours(self, lease: LeaseRecord) -> bool:
        process = _process_of(lease)
        if process is not None and process.has_token(lease.id):
            return True
        return bool(proc.with_tokens({lease.id}))

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        tokens = {lease.id for lease in leases}
        killed: dict[str, set[ProcessId]] = {token: set() for token in tokens}
        started_s = time.monotonic()
        while True:
            # Everything that carries the token is killed, not the recorded pid alone: that finds the process whose
            # pid was never written down, and what it started itself. The scan is repeated until it finds nothing,
            # since a process may fork between the scan and the signal.
            found = proc.with_tokens(tokens)
            for token, processes in found.items():
                killed[token] |= {process for process in processes if proc.send_signal(process, token, signal.SIGKILL)}
            left = set(proc.wait_gone(set().union(*killed.values()), timeout_s=0.2))
            elapsed_s = time.monotonic() - started_s
            awaited = any(_may_yet_appear(lease) for lease in leases if not killed[lease.id])
            if not found and not left and (elapsed_s >= _SETTLE_S or not awaited):
                break
            if elapsed_s >= timeout_s:
                break
            if not found:
                time.sleep(0.02)
        return {
            token: (_killed_in_words(processes), token not in found and not processes & left)
            for token, processes in killed.items()
        }


class _StoppedProcess(OneByOne):
    """A process that was stopped with SIGSTOP. data: name, pid, start_ticks, token (of its own lease; null for one that is the
    user's, which a nodes file names)."""

    def describe(self, lease: LeaseRecord) -> str:
        return f"stop signal of {lease.data.get('name')} (pid {lease.data.get('pid')})"

    def is_ours(self, lease: LeaseRecord) -> bool:
        process, token = _process_of(lease), _token_of(lease)
        return process is not None and (process.is_alive() if token is None else process.has_token(token))

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        process = _process_of(lease)
        settled_s = time.monotonic() + _SETTLE_S
        while process is None or not proc.send_signal(process, _token_of(lease), signal.SIGCONT):
            if process is None or time.monotonic() >= settled_s or not _may_yet_appear(lease):
                return "it is gone", True
            time.sleep(0.02)
        while process.is_stopped():
            if time.monotonic() >= deadline_s:
                return "sent SIGCONT, and it is still stopped", False
            time.sleep(0.005)
        return "continued", True


HEALABLE: Mapping[str, Healable] = {
    PROCESS: _Process(),
    STOPPED_PROCESS: _StoppedProcess(),
    **KERNEL_KINDS,
    **CONTAINER_KINDS,
    **GIVEN_KINDS,
    **ELSEWHERE_KINDS,
}
"""Kind to implementation; the one place to add a kind. The healer runs without site-packages: standard library only."""


def require_known(kind: str) -> None:
    """Raises LeaseError for a kind that nobody could heal."""
    if kind not in HEALABLE:
        raise LeaseError(f"nobody knows how to heal {kind!r}; known kinds: {', '.join(HEALABLE)}")


def heal(store: LeaseStore, records: Iterable[LeaseRecord], *, timeout_s: float = HEAL_TIMEOUT_S) -> list[Healed]:
    """Undo what the leases describe, newest first, and remove those that are healed.

    Newest first, since later things stand on earlier ones: a fault on the process that it is injected into, a process
    on the file system that was mounted for it. Neighbours of one kind are healed together.
    """
    healed: list[Healed] = []
    newest_first = sorted(records, key=lambda record: record.created_mono_ns, reverse=True)
    for kind, group in groupby(newest_first, key=lambda record: record.kind):
        healed += _heal_kind(kind, list(group), timeout_s=timeout_s)
    for result in healed:
        if result.complete:
            store.remove(result.lease)
    return healed


def _heal_kind(kind: str, records: list[LeaseRecord], *, timeout_s: float) -> list[Healed]:
    healable = HEALABLE.get(kind)
    if healable is None:
        action = "this version does not know how to heal it"
        return [Healed(lease=r.id, kind=kind, what=f"{kind} lease", action=action, complete=False) for r in records]
    gone = [r for r in records if not healable.survives_boot and not r.owner.is_of_this_boot()]
    hidden = [r for r in records if r not in gone and not r.owner.is_visible()]
    present = [r for r in records if r not in gone and r not in hidden]
    outcomes: dict[str, tuple[str, bool]] = {record.id: ("gone with an earlier boot", True) for record in gone}
    outcomes |= {record.id: ("it belongs to another container", True) for record in hidden}
    try:
        if present:
            outcomes |= healable.heal(present, timeout_s=timeout_s)
    except (OSError, LeaseError) as error:
        # What one kind cannot do must not keep the others from being healed.
        outcomes |= {record.id: (f"failed: {error}", False) for record in present}
    return [
        Healed(lease=r.id, kind=kind, what=healable.describe(r), action=outcomes[r.id][0], complete=outcomes[r.id][1])
        for r in records
    ]


def _process_of(lease: LeaseRecord) -> ProcessId | None:
    pid, start_ticks = lease.data.get("pid"), lease.data.get("start_ticks")
    if isinstance(pid, int) and isinstance(start_ticks, int):
        return ProcessId(pid=pid, start_ticks=start_ticks)
    return None


def _token_of(lease: LeaseRecord) -> str | None:
    token = lease.data.get("token")
    return None if token is None else str(token)


def _may_yet_appear(lease: LeaseRecord) -> bool:
    process = _process_of(lease)
    is_fresh = time.monotonic_ns() - lease.created_mono_ns < _FRESH_NS
    return is_fresh and (process is None or process.is_alive())


def _killed_in_words(processes: set[ProcessId]) -> str:
    pids = sorted(process.pid for process in processes)
    return f"killed {', '.join(map(str, pids))}" if pids else "it is gone"


def clean(
    state_dir: Path,
    *,
    dry_run: bool = False,
    include_kept: bool = False,
    only: Callable[[LeaseRecord], bool] = lambda _: True,
) -> list[Healed]:
    """Heal what earlier owners left: those that died, those of an earlier boot, and kept leases whose time is over.

    Leases of owners that are alive are never touched. ``include_kept`` heals kept leases of dead owners as well,
    ``only`` narrows down which leases are considered. A dry run says what would be done.
    """
    store = LeaseStore(state_dir)
    records, damaged = store.read_all()
    leftovers = [record for record in records if only(record) and _is_leftover(record, include_kept=include_kept)]
    if dry_run:
        return [_would_heal(record) for record in reversed(leftovers)] + [_would_set_aside(path) for path in damaged]
    store.remove_drafts()
    remove_abandoned(state_dir)
    return heal(store, leftovers) + [store.set_aside(path) for path in damaged]


def _is_leftover(record: LeaseRecord, *, include_kept: bool) -> bool:
    if record.owner.is_of_this_boot() and not record.owner.is_visible():
        return record.is_over()
    if record.owner.is_alive():
        return False
    return include_kept or not record.kept or record.is_over()


def _would_heal(record: LeaseRecord) -> Healed:
    healable = HEALABLE.get(record.kind)
    what = healable.describe(record) if healable else f"{record.kind} lease"
    present = healable is not None and record.owner.is_visible() and healable.is_ours(record)
    action = "would be healed" if present else "nothing is left of it; the lease would be removed"
    return Healed(lease=record.id, kind=record.kind, what=what, action=action, complete=not present)


def _would_set_aside(path: Path) -> Healed:
    what = f"damaged lease {path.name}"
    return Healed(lease=path.stem, kind="damaged", what=what, action="would be set aside", complete=False)
