"""The store's file system stands still for an exact time, by the kernel's own freeze.

A freeze write-protects the mapped pages of the commit log, so the append that touches one next waits, inside the put
lock, until the thaw. It is asked for by a process of its own (``programs/freezer.py``) under a lease, whose healer
thaws within milliseconds when this program dies. Where all of them are killed, the freezer's own thawer is left. The time
counts from the moment at which the freeze call has returned.
"""

import dataclasses
import select
import subprocess
from dataclasses import dataclass
from typing import Self

from harness.backends.cluster import masters
from harness.backends.store_mount import StoreMount
from harness.errors import ClientError
from harness.faults.append_stall import record_tally, watch_appends
from harness.faults.targets import store_of
from harness.host.abilities import Abilities
from harness.leases.kernel_kinds import FREEZE
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.model.cluster import BrokerSettings
from harness.model.faults import AppendStall, StoreFreeze
from harness.paths import isolated
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

START_S_MAX = 20.0
GRACE_S = 10.0
"""A freeze that is not over so long after its time is thawed by the healer."""

FREEZE_JVM = (
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:GuaranteedSafepointInterval=0",
    "-Xms768m",
    "-Xmx896m",
    "-Xmn512m",
)
"""A thread that waits in a page fault reaches no safepoint, so that any safepoint during the freeze would stop the whole
broker with it. These make one rare: none for its own sake, and a young generation that lasts for minutes."""


@dataclass(frozen=True)
class FreezeStamps:
    """CLOCK_MONOTONIC in nanoseconds: the freeze was asked for, engaged, the thaw asked for, and everything released."""

    asked_ns: int
    engaged_ns: int
    thawing_ns: int
    released_ns: int

    @property
    def achieved_ms(self) -> float:
        """From engaged to released."""
        return (self.released_ns - self.engaged_ns) / 1e6


class Freezer:
    """A freezer process, ready to freeze one mount of ours.

    ::

        with Freezer.start(leases, mount, until_s=60) as freezer:
            stamps = freezer.freeze(300)
    """

    def __init__(self, leases: Leases, mount: StoreMount, process: LeasedProcess) -> None:
        self._leases = leases
        self._mount = mount
        self._process = process
        self.realtime = False
        """Whether it has a real-time priority."""

    @classmethod
    def start(cls, leases: Leases, mount: StoreMount, *, until_s: float) -> Self:
        """Start the process and wait until it is ready. Raises ClientError."""
        process = leases.spawn(
            [*isolated("harness.faults.programs.freezer"), str(mount.mountpoint)],
            name=f"freezer of {mount.mountpoint}",
            until_s=until_s,
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        freezer = cls(leases, mount, process)
        try:
            freezer.realtime = freezer._answer(START_S_MAX) == ["ready", "1"]
        except BaseException:
            freezer.close()
            raise
        return freezer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def freeze(self, freeze_ms: float) -> FreezeStamps:
        """Freeze for so long and return when it is over. Raises ClientError when it was not achieved; it is thawed then."""
        until_s = freeze_ms / 1000 + GRACE_S
        # The lease is younger than the freezer's own, so that the healer thaws before it looks at any process.
        lease = self._leases.hold(FREEZE, {**self._mount.identity(), **self._process.identity()}, until_s=until_s)
        try:
            self._ask(f"freeze {int(freeze_ms * 1e6)}\n")
            words = self._answer(until_s)
            if len(words) != 4 or not all(word.isdigit() for word in words):
                raise ClientError(f"{self._mount.mountpoint} could not be frozen: {' '.join(words)}")
        except BaseException:
            lease.heal()
            raise
        lease.release()
        return FreezeStamps(*map(int, words))

    def close(self) -> None:
        """End the process."""
        self._process.release()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except OSError as error:
            raise ClientError(f"the freezer is gone: {error}") from error

    def _answer(self, timeout_s: float) -> list[str]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        line = self._process.stdout.readline().decode() if readable else ""
        if not line:
            raise ClientError("the freezer ended" if readable else f"the freezer did not answer in {timeout_s:.0f} s")
        return line.split()


def settings_for_freeze(settings: BrokerSettings) -> BrokerSettings:
    """A store of its own, and a JVM that hardly ever needs a safepoint."""
    jvm = tuple(dict.fromkeys((*settings.jvm, *FREEZE_JVM)))
    # A thaw writes the superblock: in memory that does not wait for the host's disk, which others may keep busy.
    return dataclasses.replace(settings, store="loop-ext4", store_image="memory", jvm=jvm)


def freeze(fault: AppendStall | StoreFreeze, trial: TrialContext, load: LoadSession) -> Injected:
    """Freeze the first master's store for the cell's time, while the broker's rule watches its appends.

    A stall is the freeze of the append that it stalls, and ends with it. A freeze as a cause tells what all appends were like:
    with the transient store pool none need be slow.
    """
    if isinstance(fault, AppendStall) and (fault.every_master or fault.times > 1):
        raise ClientError(
            "a freeze is one of the first master's store: more stalls than that are made by byteman alone"
        )
    broker = masters(trial.cluster)[0]
    store = store_of(broker)
    asked_ms = float(trial.params["stall_ms"])
    with Freezer.start(trial.leases, store, until_s=trial.until_s) as freezer, watch_appends(broker) as appends:
        stamps = freezer.freeze(asked_ms)
        if isinstance(fault, StoreFreeze):
            record_tally(trial.events, broker.name, appends.tally())
        else:
            entry_ns, exit_ns = appends.longest()
            trial.events.record(
                "append", node=broker.name, entry_ns=entry_ns, delay_end_ns=stamps.released_ns, exit_ns=exit_ns
            )
    return Injected(
        target=broker.name,
        detail=f"{store.kind}, engaging took {(stamps.engaged_ns - stamps.asked_ns) / 1e6:.1f} ms",
        asked_ms=asked_ms,
        achieved_ms=stamps.achieved_ms,
        injecting_ns=stamps.asked_ns,
        injected_ns=stamps.engaged_ns,
        healing_ns=stamps.thawing_ns,
        healed_ns=stamps.released_ns,
    )


BY_FREEZE: Injection[AppendStall | StoreFreeze] = Injection(
    name="freeze",
    asks="root, loop devices and mkfs.ext4",
    inject=freeze,
    can=Abilities.why_no_loop_mount,
    brokers=settings_for_freeze,
)

INJECTIONS: Injections = {AppendStall: BY_FREEZE, StoreFreeze: BY_FREEZE}
