"""Every process and every fault is written down before it exists, and ends even if this program dies.

A *lease* says what exists (or is about to), whose it is, and when it has to be gone at the latest. It is one JSON file
in the state folder, on disk before the thing itself. Three parties heal what a lease describes:

* its *owner* (the harness process), in the ordinary course of a run;
* the *healer*, a detached process (harness/leases/healer.py) that notices the owner's death at once, since it holds the other
  end of a pipe, and that ends single leases whose time is over; when it is killed, its *understudy* takes its place;
* ``clean``, called by the next run and by ``mqlab runs clean``, for what a crashed machine left, or somebody who killed all three.

A lease that is *kept* outlives its owner (``mqlab cluster up``) until it is cleaned with ``include_kept`` or its time is over.
Nothing is touched that cannot be shown to be ours: see harness/leases/proc.py for processes. Standard library only.
"""

import os
import secrets
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, ClassVar, Self

from harness.errors import LeaseError
from harness.leases import proc
from harness.leases.healer_process import HealerHandle
from harness.leases.healing import PROCESS, heal, require_known
from harness.leases.inherited import without_what_leads_out
from harness.leases.lease import Lease
from harness.leases.proc import TOKEN_VARIABLE, ProcessId
from harness.leases.process import LeasedProcess, reap
from harness.leases.spawner import in_spawner
from harness.leases.store import (
    Healed,
    LeaseData,
    LeaseRecord,
    LeaseStore,
    LeaseValue,
    Owner,
    until_mono_ns,
)
from harness.leases.with_parent import PARENT_VARIABLE
from harness.paths import state_home


class Leases:
    """The leases of one owner, and the healer that guards them. Safe to use from several threads.

    ::

        with Leases.open(state_home()) as leases:
            broker = leases.spawn(["java", ...], name="broker-a", until_s=3600)
            stop = broker.pause(leases, until_s=30)

    Leaving the block heals everything that is not kept.
    """

    HEALER_START_TIMEOUT_S: ClassVar[float] = 20.0

    def __init__(self, store: LeaseStore, owner: Owner) -> None:
        self._store = store
        self.owner = owner
        self._opened_by = os.getpid()
        # Held while something is written down and started, so that nothing is started behind ``close``.
        self._lock = threading.RLock()
        self._processes: list[LeasedProcess] = []
        self._healer: HealerHandle | None = None
        self._closed = False

    @classmethod
    def open(cls, state_dir: Path | None = None, owner_pid: int | None = None) -> Self:
        """Open the state folder for this process (or ``owner_pid``) and start the healer. Raises LeaseError."""
        if not Path("/proc/self/environ").exists():
            raise LeaseError("leases need Linux's /proc", advice="Run the lab on Linux, or in a container.")
        store = LeaseStore((state_dir or state_home()).absolute())
        leases = cls(store, Owner.of(owner_pid or os.getpid()))
        leases.ensure_healer()
        return leases

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state_dir(self) -> Path:
        """The folder of the lease files."""
        return self._store.state_dir

    @property
    def files(self) -> Path:
        """The folder of the lease files, each of which is called as its token is."""
        return self._store.files

    @property
    def healer_pid(self) -> int:
        """The pid of the healer, as of the last lease."""
        return self._healer.pid if self._healer else 0

    @property
    def understudy_pid(self) -> int:
        """The pid of the healer's understudy, as of the last lease."""
        return self._healer.understudy_pid if self._healer else 0

    def ensure_healer(self) -> None:
        """Start the healer if neither it nor its understudy runs. Every new lease does this first."""
        with self._lock:
            if self._closed:
                raise LeaseError("these leases are closed already")
            if self._healer is not None and self._healer.is_running():
                self._healer.ring()
                return
            if self._healer is not None:
                self._healer.close()
            self._healer = HealerHandle.start(self._store, self.owner, timeout_s=self.HEALER_START_TIMEOUT_S)

    def hold(self, kind: str, data: LeaseData, until_s: float, *, kept: bool = False) -> Lease:
        """Write down something that is about to be done; it is healed in ``until_s`` seconds at the latest.

        When this returns, do it; when it is undone, ``release`` the lease.
        """
        require_known(kind)
        with self._lock:
            self.ensure_healer()
            record = self._record(kind, data, until_s=until_s, kept=kept)
            self._store.write(record)
            self._ring()
        return Lease(self._store, record)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        until_s: float,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | IO[bytes] | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        kept: bool = False,
    ) -> LeasedProcess:
        """Start a process in a session of its own, with its lease written down first.

        ``env`` is its whole environment (None: ours), without what leads out of the lab and with the lease's token. It is killed
        in ``until_s`` seconds at the latest, when this process dies (unless ``kept``), and when the leases are closed. Raises
        LeaseError when it cannot be started.

        A program of ours that asks for it (``harness.leases.with_parent``) ends with this process even when nobody heals.
        """
        data: dict[str, LeaseValue] = {"name": name, "argv": shlex.join(argv)[:500], "pid": None, "start_ticks": None}
        with self._lock:
            self.ensure_healer()
            record = self._record(PROCESS, data, until_s=until_s, kept=kept)
            lease = Lease(self._store, record)
            self._store.write(record)
            environment = {**without_what_leads_out(os.environ if env is None else env), TOKEN_VARIABLE: record.id}
            environment |= {PARENT_VARIABLE: "" if kept else str(os.getpid())}
            try:
                popen = in_spawner(
                    lambda: subprocess.Popen(
                        list(argv),
                        env=environment,
                        cwd=cwd,
                        stdin=stdin,
                        stdout=stdout,
                        stderr=stderr,
                        start_new_session=True,
                    )
                )
            except (OSError, ValueError) as error:
                lease.release()
                raise LeaseError(f"cannot start {name} ({argv[0]}): {error}") from error
            # A child that has ended already is still identified, as a zombie; gone only where zombies are not kept.
            process = proc.identify(popen.pid) or ProcessId(pid=popen.pid, start_ticks=-1)
            leased = LeasedProcess(popen, lease, process, name)
            self._processes.append(leased)
        try:
            lease.update({"pid": process.pid, "start_ticks": process.start_ticks})
        except LeaseError:
            leased.kill()
            raise
        self._ring()
        return leased

    def close(self) -> list[Healed]:
        """Heal everything that is not kept, and let the healer go. Raises LeaseError when something stays.

        In a forked child this does nothing: it owns nothing.
        """
        with self._lock:
            if self._closed or os.getpid() != self._opened_by:
                return []
            self._closed = True
        records, _ = self._store.read_all()
        mine = [record for record in records if record.owner == self.owner]
        healed = heal(self._store, [record for record in mine if not record.kept])
        for process in self._processes:
            reap(process)
        if self._healer is not None:
            is_over = not any(record.kept for record in mine) and all(result.complete for result in healed)
            self._healer.close(wait_s=3.0 if is_over else 0.0)
        left = [result for result in healed if not result.complete]
        if left:
            raise LeaseError(
                f"could not heal {'; '.join(map(str, left))}",
                advice=f"`mqlab runs clean` tries again; the leases are in {self._store.state_dir}.",
            )
        return healed

    def _record(self, kind: str, data: LeaseData, *, until_s: float, kept: bool) -> LeaseRecord:
        return LeaseRecord(
            id=secrets.token_hex(16),
            kind=kind,
            data=dict(data),
            owner=self.owner,
            kept=kept,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            created_mono_ns=time.monotonic_ns(),
            until_mono_ns=until_mono_ns(until_s),
        )

    def _ring(self) -> None:
        if self._healer is not None:
            self._healer.ring()
