"""A fault that is on from inject to heal: what is asked, what is achieved, and whether it bit."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from harness.backends.cluster import Node
from harness.backends.store_mount import StoreMount
from harness.clock import mono_ns
from harness.errors import ConfigurationError
from harness.host.abilities import Abilities
from harness.model.cluster import BrokerSettings
from harness.trial import HeldFault, LoadSession, TrialContext


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A fault that is on. ``asked`` is in words; ``held`` ends it."""

    target: str
    asked: str
    held: HeldFault


class HeldInjection(abc.ABC):
    """Stamps a fault's states around its ``begin`` and its end. A subclass is one event."""

    way: str
    kind: str

    @abc.abstractmethod
    def can(self, host: Abilities) -> str | None:
        """Why it cannot be made on this host; None when it can."""

    def brokers(self, settings: BrokerSettings) -> BrokerSettings:
        """As they are, unless a subclass needs more."""
        return settings

    @abc.abstractmethod
    def begin(self, trial: TrialContext) -> Begun:
        """Switch it on; nothing of it is left when this raises."""

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Switch it on; the runner ends it at the latest when the trial does."""
        asked_ns = mono_ns()
        begun = self.begin(trial)
        trial.held.append(begun.held)
        for state, at_ns in (("asked", asked_ns), ("injecting", asked_ns), ("injected", mono_ns())):
            trial.events.fault(self.kind, state, target=begun.target, detail=begun.asked, at_ns=at_ns)  # type: ignore[arg-type]

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Switch it off and say what was achieved."""
        trial.events.fault(self.kind, "healing")
        end = trial.held.pop().end()
        trial.events.fault(self.kind, "healed", detail=end.achieved, exercised=end.exercised)


def node_of(trial: TrialContext, name: str) -> Node:
    """The node of that name. Raises ConfigurationError."""
    for node in trial.cluster.nodes:
        if node.name == name:
            return node
    known = ", ".join(node.name for node in trial.cluster.nodes)
    raise ConfigurationError(f"this cluster has no node {name}", advice=f"It has {known}.")


def store_of(node: Node) -> StoreMount:
    """The file system of its own that the node's store lies on. Raises ConfigurationError."""
    if node.store is None:
        raise ConfigurationError(
            f"the store of {node.name} has no file system of its own",
            advice="Give its arm BrokerSettings(store='loop-ext4').",
        )
    return node.store
