"""Numbers that are read off a broker, or off its release's own code, before a trial's fault and after it.

An arm names those that it wants (``OpenLoopSends.readings``); each is one ``reading`` event, and the analysis takes its
name for the measure's.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.backends.cluster import Cluster, Node, ask
from harness.errors import ClientError
from harness.releases.class_file import class_of, method_of
from harness.releases.class_file import texts as texts_of

Moment = Literal["before", "after"]

SEND_THREADS = "SendMessageThre"
"""Linux keeps 15 characters of a thread's name (SendMessageThread_1)."""

ANSWERS_S_MAX = 30.0
"""A reading waits for a broker on a busy host, which its trial would be lost for: three of 5.3.3 needed more than 5 s."""

_MEMORY_ADVICE = "It is read from /proc of the host that the broker runs on."


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A value, and in words where it comes from."""

    value: float
    detail: str


def _free_buffers(cluster: Cluster, node: Node) -> Reading:
    with ask(node, timeout_s=ANSWERS_S_MAX) as connection:
        value = connection.runtime_info()["remainTransientStoreBufferNumbs"]
    return Reading(value=float(value), detail="remainTransientStoreBufferNumbs of the broker's runtime information")


def _deleted_log_mb(cluster: Cluster, node: Node) -> Reading:
    with ask(node, timeout_s=ANSWERS_S_MAX) as connection:
        value = connection.runtime_info()["commitLogMinOffset"]
    return Reading(value=int(value) / 2**20, detail="commitLogMinOffset of the broker's runtime information")


def _locked_mb(cluster: Cluster, node: Node) -> Reading:
    for line in _process_file(cluster, node, "status").splitlines():
        if line.startswith("VmLck:"):
            return Reading(value=int(line.split()[1]) / 1024, detail="VmLck of the broker's process")
    raise ClientError(f"/proc does not tell what {node.name} has locked in memory", advice=_MEMORY_ADVICE)


def _locked_files_mb(cluster: Cluster, node: Node) -> Reading:
    locked_kb, is_file = 0, False
    for line in _process_file(cluster, node, "smaps").splitlines():
        first = line.split(" ", 1)[0]
        if not first.endswith(":"):
            is_file = "/commitlog/" in line
        elif is_file and first == "Locked:":
            locked_kb += int(line.split()[1])
    return Reading(value=locked_kb / 1024, detail="locked pages of mapped commit-log files of the broker's process")


def _write_faults(cluster: Cluster, node: Node) -> Reading:
    """Page faults so far of the threads that append, minor and major."""
    tasks = Path(f"/proc/{_pid(cluster, node)}/task")
    counts = [_faults(task) for task in tasks.iterdir() if _thread_name(task).startswith(SEND_THREADS)]
    if not counts:
        raise ClientError(f"{node.name} has no thread that sends messages to its store", advice=_MEMORY_ADVICE)
    return Reading(value=float(sum(counts)), detail=f"page faults of {len(counts)} send threads")


def _thread_name(task: Path) -> str:
    try:
        return (task / "comm").read_text().strip()
    except OSError:
        return ""  # It has ended meanwhile.


def _faults(task: Path) -> int:
    # The name may hold spaces and brackets; minflt and majflt are the 10th and 12th field (proc(5)).
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return int(fields[7]) + int(fields[9])


def _pid(cluster: Cluster, node: Node) -> int:
    pid = cluster.pid(node.name)
    if pid is None:
        raise ClientError(f"{node.name} is down, so that nothing can be read off it")
    return pid


def _process_file(cluster: Cluster, node: Node, name: str) -> str:
    try:
        return Path(f"/proc/{_pid(cluster, node)}/{name}").read_text(errors="replace")
    except OSError as error:
        raise ClientError(f"{node.name}: {error}", advice=_MEMORY_ADVICE) from error


def _busy_ends_ms(cluster: Cluster, node: Node) -> Reading:
    class_name = "org.apache.rocketmq.store.DefaultMessageStore"
    (value,) = method_of(cluster.spec.release, class_name, "isOSPageCacheBusy").numbers
    return Reading(value=float(value), detail=f"the one constant that {class_name}.isOSPageCacheBusy compares with")


def _other_conditions(cluster: Cluster, node: Node) -> Reading:
    class_name = "org.apache.rocketmq.broker.processor.SendMessageProcessor"
    found = method_of(cluster.spec.release, class_name, "rejectRequest")
    asked = {"isOSPageCacheBusy", "isTransientStorePoolDeficient"}
    others = [name for name in dict.fromkeys(found.calls) if name not in asked | {"getMessageStore"}]
    words = f"it also asks {', '.join(others)}" if others else "and nothing else"
    missing = asked - set(found.calls)
    value = float(len([name for name in others if name.startswith(("is", "getBrokerRole"))]) + len(missing))
    return Reading(value=value, detail=f"{class_name}.rejectRequest calls {', '.join(sorted(asked))}: {words}")


def _clean_period_ms(cluster: Cluster, node: Node) -> Reading:
    class_name = "org.apache.rocketmq.broker.latency.BrokerFastFailure"
    found = method_of(cluster.spec.release, class_name, "start")
    return Reading(value=float(found.numbers[-1]), detail=f"the period that {class_name}.start schedules")


def _shared_executors(cluster: Cluster, node: Node) -> Reading:
    class_name = "org.apache.rocketmq.broker.BrokerController"
    found = method_of(cluster.spec.release, class_name, "registerProcessor")
    processors: dict[str, set[str]] = {}
    for call, loaded in zip(found.calls, found.loaded, strict=True):
        if call in ("registerProcessor", "registerDefaultProcessor"):
            # The last two are the controller and its executor; before them comes the processor, unless it was made for the call.
            processors.setdefault(loaded[-1], set()).add(loaded[-3] if len(loaded) > 2 else "its own")
    shared = [name for name, of in processors.items() if len(of) > 1]
    detail = f"{class_name}.registerProcessor gives {len(processors)} executors to processors"
    return Reading(value=float(len(shared)), detail=f"{detail}; shared are {', '.join(shared) or 'none'}")


def _fault_item_lacks(cluster: Cluster, node: Node) -> Reading:
    class_name = "org.apache.rocketmq.client.latency.LatencyFaultToleranceImpl$FaultItem"
    texts = set(texts_of(class_of(cluster.spec.release, class_name)))
    lacks = [name for name in ("name", "currentLatency", "startTimestamp") if name not in texts]
    return Reading(value=float(len(lacks)), detail=f"{class_name} lacks {', '.join(lacks) or 'none'} of the three")


READINGS: Mapping[str, Callable[[Cluster, Node], Reading]] = {
    "free_buffers": _free_buffers,
    "deleted_log_mb": _deleted_log_mb,
    "locked_mb": _locked_mb,
    "locked_files_mb": _locked_files_mb,
    "write_faults": _write_faults,
    "busy_ends_ms": _busy_ends_ms,
    "other_reject_conditions": _other_conditions,
    "clean_period_ms": _clean_period_ms,
    "shared_executors": _shared_executors,
    "fault_item_lacks": _fault_item_lacks,
}
"""By name, which is the measure's. The last five are read from the release's jars."""


def take(cluster: Cluster, node: Node, names: tuple[str, ...]) -> Iterator[tuple[str, Reading]]:
    """Read them one after another. Raises ClientError, ReleaseError; KeyError for a name that is none."""
    for name in names:
        yield name, READINGS[name](cluster, node)
