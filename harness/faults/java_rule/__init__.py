"""What an incident's own file has a method of a broker do: a Byteman rule, on from its injection until it is healed."""

from harness.faults.rules import asked_rule
from harness.faults.targets import node_of
from harness.model.faults import JavaRule
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


def switch_on(fault: JavaRule, trial: TrialContext, load: LoadSession) -> Injected:
    """Let the rule take effect until it is healed; it counts how often it does. Raises ClientError."""
    broker = node_of(trial, fault.node)

    def tell(state: str) -> int:
        return asked_rule(broker, f"RuleHelper {state} {fault.word}", 1)[0]

    before = tell("on")

    def end() -> Healed:
        taken = tell("off") - before
        return Healed(achieved=f"it took effect {taken:,} times at {' or '.join(fault.places)}", exercised=taken > 0)

    return Injected(target=broker.name, detail="until it is healed", end=end)


INJECTIONS: Injections = {JavaRule: Injection(name="byteman", inject=switch_on)}
