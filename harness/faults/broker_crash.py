"""The first master dies under load and is started again on what its store then has: by its process, or by its power.

Power loss: the process is killed and the file system under the store is shut down at once without flushing its journal
(ext4's own ioctl), so that the device has what had been synced before and nothing else. Mounted again it is what a
machine finds after its power came back. A freeze or an ordinary unmount would write everything back first.

The load ends with the crash: offsets of a queue that lost its tail are given out again, so that what was acknowledged
before could not be told from what is sent after.
"""

import math
import os
import secrets

from harness.backends.abilities import NODES
from harness.backends.cluster import RECORD_S_MAX, Node, ask, masters
from harness.backends.store_mount import StoreMount
from harness.clock import mono_ns
from harness.errors import LeaseError
from harness.faults.targets import store_of
from harness.host.commit_log import queue_ends
from harness.leases import kernel
from harness.model.faults import REST_S, BrokerCrash
from harness.trial import CanStopSending, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able
from harness.wait import wait_until

SLAVE_S = 1.0
UNMOUNT_S_MAX, ROLL_S_MAX, ROLL_POLL_S = 20.0, 240.0, 0.2
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def crash(fault: BrokerCrash, trial: TrialContext, load: LoadSession) -> Injected:
    """Kill the first master while sends are under way, take the power where asked, and end the load."""
    sends = able(load, CanStopSending)
    broker = masters(trial.cluster)[0]
    store = store_of(broker) if fault.power else None
    if fault.after_roll:
        _wait_for_new_file(trial, broker)
    trial.stay(fault.spread_s * evenly(trial.record.repetition))
    if fault.after_lone:
        sends.stop_sending()
        trial.stay(REST_S)
        sends.send_one()
    asked_ns, gone_ns = trial.cluster.kill_node(broker.name)
    detail, is_cut = "its process was killed", None
    if store is not None:
        cut_power(store)
        gone_ns = mono_ns()
        is_cut = takes_nothing(store)
        detail += f", and its {store.kind} shut down without flushing its journal"
        detail += "" if is_cut else ", but it took a file all the same"
    sends.stop_sending()
    return Injected(target=broker.name, detail=detail, injecting_ns=asked_ns, injected_ns=gone_ns, exercised=is_cut)


def restore(fault: BrokerCrash, trial: TrialContext, load: LoadSession) -> Healed:
    """Give the power back and start the broker on what its store has."""
    broker = masters(trial.cluster)[0]
    sends = able(load, CanStopSending)
    if slaves := [node for node in trial.cluster.nodes if node.broker_name == broker.broker_name and node.broker_id]:
        # What it was sent it dispatches to its queues within milliseconds.
        trial.stay(SLAVE_S)
        sends.record_ends("held", on=slaves)
    if fault.power:
        restore_power(store_of(broker))
        _record_log(trial, broker)
    trial.cluster.restart_node(broker.name)
    sends.restore_topic()
    return Healed()


def _wait_for_new_file(trial: TrialContext, broker: Node) -> None:
    """Raises WaitTimeout where the load does not fill the file that the commit log is in."""
    file_bytes = int(trial.cluster.spec.settings.conf["mappedFileSizeCommitLog"])

    def file_number() -> int:
        with ask(broker, timeout_s=RECORD_S_MAX) as connection:
            return int(connection.runtime_info()["commitLogMaxOffset"]) // file_bytes

    first = file_number()
    wait_until(
        "the commit log's next file",
        lambda: file_number() > first,
        timeout_s=ROLL_S_MAX,
        poll_s=ROLL_POLL_S,
        cancel=trial.cancel,
    )


def _record_log(trial: TrialContext, broker: Node) -> None:
    """What the commit log has of the trial's topic, before a start of the broker makes queues of it."""
    topic = trial.record.topic
    for queue, end in sorted(queue_ends(store_of(broker).mountpoint / "commitlog", topic).items()):
        trial.events.record("log_end", topic=topic, broker=broker.broker_name, queue=queue, max_offset=end)


def evenly(number: int) -> float:
    """The place between 0 and 1 of the 1st, 2nd, ... of any number of moments: each falls into the widest gap there is."""
    return number * GOLDEN % 1.0


def cut_power(store: StoreMount) -> None:
    """Shut the file system down as it is. Raises LeaseError when the mount is not ours any more, or OSError."""
    if store.kind != "ext4":
        raise LeaseError(f"the power of {store.kind} cannot be cut; use loop-ext4")
    if kernel.our_mount(str(store.mountpoint), str(store.image), store.uuid) is None:
        raise LeaseError(f"{store.mountpoint} is not the file system that was mounted there")
    handle = kernel.open_mountpoint(str(store.mountpoint))
    try:
        kernel.shut_down_ext4(handle)
    finally:
        os.close(handle)


def takes_nothing(store: StoreMount) -> bool:
    """Whether no file can be made there, as on one that was shut down."""
    path = store.mountpoint / f"mqlab-{secrets.token_hex(8)}"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return True
    path.unlink()
    return False


def restore_power(store: StoreMount) -> None:
    """Mount again what the device has; the journal is replayed by that."""

    def is_unmounted() -> bool:
        kernel.unmount(str(store.mountpoint))
        return True

    wait_until(f"{store.mountpoint} to be unmounted", is_unmounted, timeout_s=UNMOUNT_S_MAX, poll_s=0.05)
    kernel.mount_image(store.image, store.mountpoint, store.kind)


INJECTIONS: Injections = {
    BrokerCrash: Injection(
        name="signal", asks="root, loop devices and mkfs.ext4 where power=true", inject=crash, needs=NODES, heal=restore
    )
}
