"""Readers of messages that are in no memory, beside the sends of a trial: each of their pulls waits for the disk.

That is what a consumer does that is far behind. The old part of the commit log is put out of memory before each trial, with
readers and without, so that both find the same broker. A trial whose reads were not cold did not happen.
"""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.backends.abilities import PROCESSES
from harness.backends.cluster import Node, ask, masters
from harness.clock import mono_ns
from harness.errors import ClientError, ConfigurationError, WaitTimeout
from harness.faults.append_stall import record_tally, watch_appends
from harness.faults.dirty_pages import limited
from harness.faults.old_log import GROUP, TOPIC, OldLog, old_log
from harness.faults.targets import pid_of, store_of, with_own_store
from harness.host.abilities import Abilities
from harness.host.block_devices import READS, SECTORS_READ, device_bytes, device_count
from harness.host.cgroups import controller_root, is_v2, make_group, why_no_controller
from harness.host.meter import times_of_threads
from harness.host.page_cache import why_no_eviction
from harness.model import rocketmq
from harness.model.faults import ColdReads
from harness.protocol.broker import pull_fields
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

COLD_SHARE_MIN = 0.9
FROM_DEVICE_MIN = 0.5
"""Of what readers were given, the least that the device has to have read meanwhile. What is read ahead makes it more."""
PULL_S_MAX = 20.0
COMPILERS = ("C1 Compiler", "C2 Compiler")
COMPILING_S = 0.1
"""Of a second. A broker that was just started compiles for half a second of each and more, one that has done the same before for
less than a tenth."""
READERS_MAX = 64
"""Each has a thread and a connection of its own."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What readers were given: messages, their bytes, and the time that their pulls took."""

    messages: int = 0
    bytes: int = 0
    ns: int = 0

    def __add__(self, other: "Given") -> "Given":
        """Of both."""
        return Given(messages=self.messages + other.messages, bytes=self.bytes + other.bytes, ns=self.ns + other.ns)


class Reader:
    """One client, with a thread of its own, that pulls messages of an old log until it is ended or has had all of them once."""

    def __init__(self, broker: Node, old: OldLog, fault: ColdReads, *, consecutive: int, seed: int) -> None:
        self._broker = broker
        self._fault = fault
        self._places = places(old.messages, max(1, consecutive), seed)
        self._given = Given()
        self._error: ClientError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cold-reads", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Pull nothing more than what is under way."""
        self._stop.set()

    def end(self) -> Given:
        """Stop, and wait for the last answer. Raises ClientError: there was none, or one without messages."""
        self.stop()
        self._thread.join(2 * PULL_S_MAX)
        if self._error is not None:
            raise self._error
        return self._given

    def _run(self) -> None:
        try:
            with ask(self._broker, timeout_s=PULL_S_MAX) as connection:
                begun_s, pulls = time.monotonic(), 0
                for first, end in self._places:
                    while first < end:
                        due_s = begun_s + pulls / self._fault.pulls_hz if self._fault.pulls_hz else 0.0
                        if self._stop.wait(max(0.0, due_s - time.monotonic())):
                            return
                        started_ns = mono_ns()
                        fields = pull_fields(GROUP, TOPIC, 0, first, min(self._fault.at_once, end - first))
                        answer = connection.call(rocketmq.PULL_MESSAGE, fields)
                        took_ns, found = mono_ns() - started_ns, int(answer.fields["nextBeginOffset"]) - first
                        if found <= 0:
                            raise ClientError(f"{self._broker.name} gave no message at offset {first} of {TOPIC}")
                        self._given += Given(messages=found, bytes=len(answer.body), ns=took_ns)
                        first, pulls = first + found, pulls + 1
        except ClientError as error:
            self._error = error


def places(messages: int, consecutive: int, seed: int) -> list[tuple[int, int]]:
    """Every message once, so many in sequence, in an order that the seed draws: (first offset, the one after the last)."""
    found = [(first, min(first + consecutive, messages)) for first in range(0, messages, consecutive)]
    random.Random(seed).shuffle(found)
    return found


def prepare(fault: ColdReads, trial: TrialContext) -> None:
    """Write the old log, and put it out of memory for the first time, which writes all of it to the disk."""
    broker = masters(trial.cluster)[0]
    old_log(trial.cluster, broker, fault.old_mb).make_cold(pid_of(trial, broker.name))


def rehearse(fault: ColdReads, trial: TrialContext) -> None:
    """Do what ``read_cold`` does until the broker's compilers rest, and keep nothing of it."""
    if fault.rehearsal_s_max:
        broker = masters(trial.cluster)[0]
        pid, old = pid_of(trial, broker.name), old_log(trial.cluster, broker, fault.old_mb)
        with watch_appends(broker) as appends, _reading(trial, broker, old, fault) as readers:
            _stay_until_compiled(trial, pid, fault.rehearsal_s_max)
            appends.tally()
        for reader in readers:
            reader.end()


def _stay_until_compiled(trial: TrialContext, pid: int, s_max: float) -> None:
    """Until a Java's compilers have computed for less than ``COMPILING_S`` in each of two seconds.

    Raises WaitTimeout after ``s_max`` seconds: such a trial would measure them, so that there is none.
    """
    begun_s, quiet, before_s, computed_s = time.monotonic(), 0, compiled_s(pid), 0.0
    while (waited_s := time.monotonic() - begun_s) < s_max:
        trial.stay(1.0)
        now_s = compiled_s(pid)
        computed_s, before_s = now_s - before_s, now_s
        quiet = quiet + 1 if computed_s < COMPILING_S else 0
        if quiet == 2:
            return
    state = f"they computed for {computed_s:.1f} s of the last second"
    raise WaitTimeout("the broker's compilers to rest", waited_s=waited_s, last_state=state)


def compiled_s(pid: int) -> float:
    """For how many seconds a Java's compilers have computed so far; one that has ended is not counted any more."""
    times = times_of_threads(pid).items()
    return sum(computed_ns for (_, name), (computed_ns, _) in times if name.startswith(COMPILERS)) / 1e9


def read_cold(fault: ColdReads, trial: TrialContext, load: LoadSession) -> Injected:
    """Let readers read for the cell's ``watch_ms``, and watch the appends meanwhile."""
    broker = masters(trial.cluster)[0]
    pid, device, params = pid_of(trial, broker.name), store_of(broker).mounted().device, trial.params
    limit_mb, count = int(params["limit_mb"]), int(params["readers"])
    if count > READERS_MAX:
        raise ConfigurationError(f"{count} readers are more than {READERS_MAX}", advice="Ask for fewer.")
    if limit_mb and fault.disk_reads_hz and is_v2():
        raise ConfigurationError(
            "with control groups of version 2 a broker's memory and its reads cannot both be limited",
            advice="Leave limit_mb or disk_reads_hz out.",
        )
    old = old_log(trial.cluster, broker, fault.old_mb)
    cold_share = old.make_cold(pid)
    with (
        watch_appends(broker) as appends,
        limited(trial, broker, limit_mb) as is_limited,
        slow_disk(trial, pid, device, fault.disk_reads_hz),
    ):
        begun_ns, reads_before, faults_before = mono_ns(), device_count(device, READS), _major_faults(pid)
        bytes_before = device_bytes(device, SECTORS_READ)
        with _reading(trial, broker, old, fault) as readers:
            trial.stay(float(params["watch_ms"]) / 1000)
        given = sum((reader.end() for reader in readers), Given())
        disk_reads = device_count(device, READS) - reads_before
        from_device = device_bytes(device, SECTORS_READ) - bytes_before
        major_faults = _major_faults(pid) - faults_before
        stayed = is_limited()
        tally = appends.tally()
    record_tally(trial.events, broker.name, tally)
    readings = {"cold_share": cold_share, "cold_read_mb": given.bytes / 2**20, "major_faults": float(major_faults)}
    if given.messages:
        readings["cold_read_ms"] = given.ns / given.messages / 1e6
        readings["cold_disk_reads"] = disk_reads / given.messages
    for name, value in readings.items():
        trial.events.reading(name, value, target=broker.name)
    detail = (
        f"{cold_share:.1%} of {len(old.files)} old files in no memory; {given.messages} messages of {given.bytes / 2**20:.1f} MiB "
        f"were read, {from_device / 2**20:.1f} MiB in {disk_reads} reads of the device, with {major_faults} major page faults"
    )
    is_cold = cold_share >= COLD_SHARE_MIN and from_device >= FROM_DEVICE_MIN * given.bytes
    has_read = bool(given.messages) or not count
    detail += "" if stayed else "; the broker's memory was not limited"
    return Injected(target=broker.name, detail=detail, exercised=is_cold and has_read and stayed, injecting_ns=begun_ns)


@contextmanager
def _reading(trial: TrialContext, broker: Node, old: OldLog, fault: ColdReads) -> Iterator[list[Reader]]:
    """The cell's readers at work, and told to stop at the end."""
    consecutive, seed = int(trial.params["consecutive"]), trial.record.seed
    readers = [
        Reader(broker, old, fault, consecutive=consecutive, seed=seed + number)
        for number in range(int(trial.params["readers"]))
    ]
    try:
        yield readers
    finally:
        for reader in readers:
            reader.stop()


@contextmanager
def slow_disk(trial: TrialContext, pid: int, device: str, reads_hz: int) -> Iterator[None]:
    """The broker in a group that may read the device so often in a second; 0: as it is."""
    if not reads_hz:
        yield
        return
    group = make_group(trial.leases, pid, controller_root("io"), until_s=trial.until_s)
    if is_v2():
        group.set("io.max", f"{device} riops={reads_hz}")
    else:
        group.set("blkio.throttle.read_iops_device", f"{device} {reads_hz}")
    group.set("cgroup.procs", str(pid))
    try:
        yield
    finally:
        group.end()


def _major_faults(pid: int) -> int:
    """Page faults of a process so far that had to read (the 12th field of proc(5), behind a name that may hold spaces)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[9])


def why_no_cold_reads(host: Abilities) -> str | None:
    """They need pages put out of memory, and control groups of memory and of reads."""
    return why_no_eviction(host) or why_no_controller("memory", host) or why_no_controller("io", host)


INJECTIONS: Injections = {
    ColdReads: Injection(
        name="reader",
        asks="root, loop devices and mkfs.ext4, control groups of memory and of reads, and Linux 5.10",
        inject=read_cold,
        prepare=prepare,
        rehearse=rehearse,
        needs=PROCESSES,
        can=why_no_cold_reads,
        brokers=with_own_store,
    )
}
