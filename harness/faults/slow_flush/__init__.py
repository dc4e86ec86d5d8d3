"""Every flush of a broker's commit log takes longer, as on a slow disk: a Byteman rule in the broker's own JVM."""

from harness.faults.rules import asked_rule
from harness.faults.targets import node_of
from harness.model.faults import SlowFlush
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


def slow(fault: SlowFlush, trial: TrialContext, load: LoadSession) -> Injected:
    """Hold up every flush until it is healed; the rule counts them. Raises ClientError."""
    broker = node_of(trial, fault.node)

    def tell(flush_ms: float) -> int:
        return asked_rule(broker, f"FlushHelper {flush_ms}", 1)[0]

    before = tell(fault.flush_ms)

    def end() -> Healed:
        held = tell(0) - before
        for name, value in {"flush_count": held, "flush_held_ms": fault.flush_ms}.items():
            trial.events.reading(name, value, target=broker.name, moment="after", detail="")
        return Healed(achieved=f"{held} flushes were held up for {fault.flush_ms:g} ms each", exercised=held > 0)

    return Injected(target=broker.name, detail="until it is healed", end=end)


INJECTIONS: Injections = {SlowFlush: Injection(name="byteman", inject=slow)}
