"""Single sends are slow, each for as long as its topic is given, or all to a broker: a Byteman rule in the brokers' own JVMs."""

from dataclasses import dataclass

from harness.backends.cluster import Node, masters
from harness.clock import mono_ns
from harness.faults.rules import asked_rule
from harness.faults.targets import node_of
from harness.model.faults import SlowBroker, SlowSends
from harness.trial import HasSlowSends, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able
from harness.wait import wait_until

SEND_S_MAX = 30.0
"""An armed topic's next send comes within a second."""
POLL_S = 0.1


@dataclass(frozen=True)
class _SlowSend:
    broker: Node
    topic: str
    asked_ms: float

    def arm(self) -> None:
        asked_rule(self.broker, f"SlowHelper arm {self.topic} {self.asked_ms}", 1)

    def has_begun(self) -> bool:
        return self._stamps()[0] > 0

    def ended(self) -> tuple[int, int] | None:
        begin_ns, end_ns = self._stamps()
        return (begin_ns, end_ns) if end_ns else None

    def _stamps(self) -> tuple[int, int]:
        begin_ns, end_ns = asked_rule(self.broker, f"SlowHelper stamps {self.topic}", 2)
        return begin_ns, end_ns


def slow(fault: SlowSends, trial: TrialContext, load: LoadSession) -> Injected:
    """Hold up the next send of each topic that the load names; returns when all have ended, by the rules' own stamps.

    The last master's come first: a producer that sends one message after another meets them in that order.
    """
    armed_ns, by_broker = mono_ns(), able(load, HasSlowSends).slow_sends()
    sends: list[_SlowSend] = []
    for broker, by_topic in reversed(list(zip(masters(trial.cluster), by_broker, strict=False))):
        of_broker = [_SlowSend(broker, topic, asked_ms) for topic, asked_ms in by_topic.items()]
        for send in of_broker:
            send.arm()
        for send in of_broker:
            wait_until(
                f"a send to {send.topic}", send.has_begun, timeout_s=SEND_S_MAX, poll_s=POLL_S, cancel=trial.cancel
            )
        sends += of_broker
    stamps = []
    for send in sends:
        limit_s = send.asked_ms / 1000 + SEND_S_MAX
        begin_ns, end_ns = wait_until("its end", send.ended, timeout_s=limit_s, poll_s=POLL_S, cancel=trial.cancel)
        stamps.append((begin_ns, end_ns))
        slow_ms, node = (end_ns - begin_ns) / 1e6, send.broker.name
        trial.events.record(
            "reading", at_ns=end_ns, name="slow_send_ms", value=slow_ms, target=send.topic, moment="after", detail=node
        )
    lengths_ms = [(end_ns - begin_ns) / 1e6 for begin_ns, end_ns in stamps]
    longest = max(range(len(sends)), key=lambda index: sends[index].asked_ms)
    return Injected(
        target=", ".join(dict.fromkeys(send.broker.broker_name for send in sends)),
        detail=f"{len(sends)} sends",
        asked_ms=sends[longest].asked_ms,
        achieved_ms=lengths_ms[longest],
        injecting_ns=armed_ns,
        injected_ns=min(begin_ns for begin_ns, _ in stamps),
        healing_ns=max(end_ns for _, end_ns in stamps),
        healed_ns=max(end_ns for _, end_ns in stamps),
    )


def slow_all(fault: SlowBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Hold up every send to the broker, or to all masters, until it is healed; the rules count them."""
    brokers = masters(trial.cluster) if fault.every_master else (node_of(trial, fault.node),)

    def tell(slow_ms: float) -> int:
        return sum(asked_rule(broker, f"SlowHelper all {slow_ms}", 1)[0] for broker in brokers)

    before = tell(fault.slow_ms)

    def end() -> Healed:
        held = tell(0) - before
        return Healed(achieved=f"{held} sends were held up for {fault.slow_ms:g} ms each", exercised=held > 0)

    target = ", ".join(broker.name for broker in brokers)
    return Injected(target=target, detail="until it is healed", end=end)


INJECTIONS: Injections = {
    SlowSends: Injection(name="byteman", inject=slow),
    SlowBroker: Injection(name="byteman", inject=slow_all),
}
