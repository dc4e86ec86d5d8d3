"""A broker ends some seconds after it has written how far its delay levels are: what it delivered since is in no file."""

from pathlib import Path

from harness.backends.abilities import NODES
from harness.backends.cluster import Cluster, Node, masters
from harness.clock import mono_ns
from harness.faults.throws import STOP_S_MAX
from harness.model.faults import RestartAmidDelays
from harness.model.rocketmq import DELAY_OFFSETS_MS
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext
from harness.wait import wait_until

FILE = "delayOffset.json"
"""In the folder config of a broker's store (org.apache.rocketmq.store.StorePathConfigHelper.getDelayOffsetStorePath)."""
WRITE_S_MAX = 3 * DELAY_OFFSETS_MS / 1000
"""A broker writes for the first time 10 s after its start (ScheduleMessageService.start)."""


def end_and_restart(fault: RestartAmidDelays, trial: TrialContext, load: LoadSession) -> Injected:
    """Wait for a write of the first master, end it ``age_s`` later, and start it."""
    broker = masters(trial.cluster)[0]
    _wait_written(trial, broker)
    trial.stay(fault.age_s)
    before_ns, gone_ns = _end(trial.cluster, broker, fault)
    healing_ns = mono_ns()
    trial.cluster.restart_node(broker.name)
    return Injected(
        target=broker.broker_name,
        detail=f"{fault.ends} {fault.age_s:g} s after {FILE} was written",
        injecting_ns=before_ns,
        injected_ns=gone_ns,
        healing_ns=healing_ns,
        healed_ns=mono_ns(),
    )


def _end(cluster: Cluster, broker: Node, fault: RestartAmidDelays) -> tuple[int, int]:
    if fault.ends == "killed":
        return cluster.kill_node(broker.name)
    before_ns = mono_ns()
    cluster.stop_node(broker.name, grace_s=STOP_S_MAX)
    return before_ns, mono_ns()


def _wait_written(trial: TrialContext, broker: Node) -> None:
    path = trial.cluster.folder / "nodes" / broker.name / "store" / "config" / FILE
    before = changed_ns(path)
    wait_until(
        f"{broker.name} to write {FILE}",
        lambda: changed_ns(path) > before,
        timeout_s=WRITE_S_MAX,
        cancel=trial.cancel,
    )


def changed_ns(path: Path) -> int:
    """When a file was changed last, in nanoseconds since 1970; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


INJECTIONS: Injections = {RestartAmidDelays: Injection(name="signal", inject=end_and_restart, needs=NODES)}
