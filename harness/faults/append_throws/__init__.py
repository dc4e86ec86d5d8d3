"""One append to the commit log throws inside the put lock: a Byteman rule in the broker's own JVM, over by itself.

What it leaves behind may stay (``beginTimeInLock`` of org.apache.rocketmq.store.CommitLog), until the fault's cure ends it.
"""

from harness.backends.cluster import Node, ask, change_live, masters
from harness.faults.throwing import restarted, thrown
from harness.model.faults import AppendThrows
from harness.model.rocketmq import PAGE_CACHE_BUSY
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext
from harness.wait import NotYet, patience, wait_until

APPEND_S_MAX = 30
RAISED_MS = "10000000"
"""From this age of the lock on the page cache does not count as busy, whatever the setting is."""


def throw(fault: AppendThrows, trial: TrialContext, load: LoadSession) -> Injected:
    """Throw in the next append of the first master, which is stamped where it throws."""
    return thrown(masters(trial.cluster)[0], "append", is_over=fault.cure == "none")


def cure(fault: AppendThrows, trial: TrialContext, load: LoadSession) -> Healed:
    """Stop the broker and start it, or raise its limit until something is appended. Raises LabError."""
    broker = masters(trial.cluster)[0]
    if fault.cure == "restart":
        return restarted(trial.cluster, broker)
    with ask(broker) as connection:
        limit_ms, end = connection.broker_config()[PAGE_CACHE_BUSY], connection.runtime_info()["commitLogMaxOffset"]
    change_live(broker, {PAGE_CACHE_BUSY: RAISED_MS})
    try:
        wait_until("an append under the raised limit", lambda: _has_appended(broker, end), timeout_s=APPEND_S_MAX)
    finally:
        change_live(broker, {PAGE_CACHE_BUSY: limit_ms})
    return Healed(achieved=f"{PAGE_CACHE_BUSY} was raised, and set back to {limit_ms}")


def _has_appended(broker: Node, end: str) -> bool:
    with patience(), ask(broker) as connection:
        now = connection.runtime_info()["commitLogMaxOffset"]
    if now == end:
        raise NotYet(f"the commit log still ends at {end}")
    return True


INJECTIONS: Injections = {AppendThrows: Injection(name="byteman", inject=throw, heal=cure)}
