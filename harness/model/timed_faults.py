"""A fault at a time of a load: ``NAME[:VALUE[,KEY=VALUE...]]@TIME``, as ``mqlab load --fault`` takes it.

Every fault of the library has its name here, and its parameters, which ``fault_parameters`` reads.
"""

import dataclasses
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from harness.errors import UsageError, shown
from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.fault_parameters import Parameter, choice, parameter, quantity, read_quantity, whole
from harness.model.faults import FAULTS, Fault, JavaRule, NoFault
from harness.model.steps import Step

FOR, BY, CONSUMER = "for", "by", "consumer"
"""How long it stays, how it is made, and which consumer process it is about: what a fault by itself does not have."""

OF_NAMED_NODES = tuple(one.kind for one in FAULTS if one.done_to == "node")

MASTER, FOLLOWER, OTHERS = "master", "follower", "others"
"""Stand for the nodes that have these roles when the fault comes; the last one is for the peers of a cut."""
ROLES = (MASTER, FOLLOWER)

SLAVES = "slave"
"""The step of a fault that is done node by node."""

ALIASES: Mapping[str, str] = {"page-cache-stall": "append-stall"}
_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class LibraryFault:
    """A fault by the name that a user gives it, with its parameters."""

    name: str
    fault: type[Fault]
    parameters: tuple[Parameter, ...]

    @property
    def needs_consumers(self) -> bool:
        """Whether there must be a consumer process that it is about."""
        return "owners" in self.fault.kind


@dataclass(frozen=True, kw_only=True)
class Inject(Step):
    """A fault as a step: it comes, stays for ``stays_s`` and is healed, and then the next step comes.

    One that stays for ``math.inf`` stays on while the next ones come, until a ``Heal`` or the end of all steps. ``params`` are of a
    cell; what they have no value for is of the arm's own.
    """

    fault: Fault
    params: Parameters = field(default_factory=dict)
    stays_s: float = 0.0
    injection: str = ""
    consumer: int | None = None

    @property
    def words(self) -> str:
        """Its kind."""
        return self.fault.kind

    @property
    def seconds(self) -> float:
        """Its own, and those that it stays."""
        stays_s = self.stays_s if math.isfinite(self.stays_s) else 0.0
        return self.takes_s + stays_s + self.fault.seconds(self.params)


@dataclass(frozen=True, kw_only=True)
class TimedFault(Inject):
    """A fault ``at_s`` after the hold has begun, whatever the other steps do; ``text`` is what was asked for."""

    at_s: float
    text: str = ""

    @property
    def words(self) -> str:
        """What was asked for."""
        return self.text or f"{self.fault.kind}@{self.at_s:g}s"

    @property
    def seconds(self) -> float:
        """It takes nothing of the other steps' time."""
        return 0.0


def parse_fault(text: str) -> TimedFault:
    """Raises UsageError, which names the nearest fault or parameter."""
    what, at, when = text.rpartition("@")
    name, _, given = what.partition(":")
    if not at or not _NAME.fullmatch(name):
        raise UsageError(
            f"--fault {shown(text)} is not NAME[:VALUE[,KEY=VALUE...]]@TIME",
            advice="For example --fault append-stall:1200ms@10s; mqlab explain --faults names them all.",
        )
    if (found := LIBRARY.get(ALIASES.get(name, name))) is None:
        raise UsageError.unknown("fault", name, (*LIBRARY, *ALIASES))
    values = _values(found, given)
    stays_s = values.pop(FOR, 0.0)
    consumer = values.pop(CONSUMER, None)
    injection = values.pop(BY, "")
    if found.fault.stays_by:
        stays_s = values[found.fault.stays_by]
    fields = {field.name for field in dataclasses.fields(found.fault)}
    return TimedFault(
        text=text,
        fault=found.fault(**{key: value for key, value in values.items() if key in fields}),
        params={key: value for key, value in values.items() if key not in fields},
        at_s=quantity("s", when, f"--fault {shown(text)}"),
        stays_s=stays_s,
        injection=injection,
        consumer=consumer,
    )


def parse_seconds(text: str) -> float:
    """``60s``, ``1.5min`` or ``60``. Raises UsageError."""
    seconds = quantity("s", text, shown(text))
    if seconds <= 0:
        raise UsageError(f"{shown(text)} is not above 0")
    return seconds


def why_not_on(
    timed: TimedFault, topology: Topology, *, consumers: int, given: Collection[str] | None = None
) -> str | None:
    """Why a fault cannot be put on a load, in words that follow its name; None where nothing is in its way.

    ``given`` is for a cluster that is the user's own: its nodes that faults may be done to, by name.
    """
    found = _library_fault(timed.fault)
    if given is not None and (why := _why_not_given(timed.fault, given)):
        return why
    if found.needs_consumers and consumers < 2:
        return "is done to a consumer whose queues others take over, and asks for --consumers 2 or more"
    if timed.consumer is not None and timed.consumer >= consumers:
        return f"names consumer {timed.consumer}, and there are {consumers}, from 0"
    if topology.masters < timed.fault.masters_min:
        return "is done while a second broker is there, and asks for --topology two-masters or another one with several"
    if topology.elects and (needs_slaves(timed.fault) or (timed.fault.kills_broker and timed.fault.done_to != "node")):
        return f"is of brokers whose roles stay, and those of {topology.name} are elected: kill-node:{MASTER} goes with them"
    if needs_slaves(timed.fault) and not topology.slaves_per_master:
        return "is done to a slave, and asks for --topology article or another one with slaves"
    nodes = node_names(topology) if given is None else given
    roles = ROLES if given is None and topology.brokers > topology.masters else (MASTER,) if given is None else ()
    for node in nodes_of(timed.fault):
        if node not in nodes and node not in roles:
            also = f", or {MASTER}, whichever that is then" if roles else ""
            return f"names {node}, and the nodes are {', '.join(nodes)}{also}"
    return None


def _why_not_given(fault: Fault, given: Collection[str]) -> str | None:
    if fault.done_to == "client" or (fault.done_to == "node" and given):
        return None
    if fault.done_to == "node":
        return "is done to a node, and of a cluster that is there already (--namesrv) only a file of --nodes says how to reach one"
    if fault.needs_rules:
        return "is made by rules in a broker's JVM, which only a broker that the lab has started carries"
    return (
        "is done to a cluster that the lab has started; on one that is there already (--namesrv) go the faults of the load's "
        f"clients, and {', '.join(OF_NAMED_NODES)} on nodes that a file of --nodes names"
    )


def needs_slaves(fault: Fault) -> bool:
    """Whether it is done to slaves, among others."""
    return fault.needs_slaves or SLAVES in getattr(fault, "order", ())


def node_names(topology: Topology) -> tuple[str, ...]:
    """As a cluster names its nodes."""
    servers = [f"namesrv-{index + 1}" for index in range(topology.name_servers)]
    brokers = sorted(topology.broker_nodes(), key=lambda one: one[2])
    proxies = [f"proxy-{index + 1}" for index in range(topology.proxies)]
    return (*servers, *(name for name, _, _ in brokers), *proxies)


def nodes_of(fault: Fault) -> tuple[str, ...]:
    """The names of the nodes that it is done to, where it names some."""
    one = getattr(fault, "node", None)
    return (*((one,) if one else ()), *getattr(fault, "nodes", ()))


def _library_fault(fault: Fault) -> LibraryFault:
    return next(one for one in LIBRARY.values() if one.fault is type(fault))


def _values(found: LibraryFault, given: str) -> dict[str, Any]:
    known = {one.name: one for one in found.parameters}
    values: dict[str, Any] = {}
    for number, part in enumerate(filter(None, given.split(","))):
        key, equals, value = part.partition("=")
        if not equals and number == 0 and found.parameters:
            key, value = found.parameters[0].name, part
        if key not in known:
            raise UsageError.unknown(f"parameter of {found.name}", key, known)
        if key in values:
            raise UsageError(f"{found.name} has {key} twice", advice="Keep the one that you mean.")
        try:
            values[key] = known[key].read(value)
        except ValueError:
            unit = f" in {known[key].unit}" if known[key].unit else ""
            raise UsageError(
                f"{found.name}: {key}={shown(value)} is no value{unit}", advice=f"For example {known[key]}."
            ) from None
    return {**{key: one.default for key, one in known.items() if one.default is not None}, **values}


# --- the library ------------------------------------------------------------------------------------------------------


def _parameters(fault: type[Fault]) -> tuple[Parameter, ...]:
    """Those of the cell, then the fault's own; how long it stays, how it is made, and whom it is about."""
    of_cell = [parameter(name, type(value), value) for name, value in fault.cell.items()]
    hints, defaults = get_type_hints(fault), fault.unless_said
    fields = {field.name: field for field in dataclasses.fields(fault)}
    order = [*defaults, *(name for name in fields if name not in defaults and name not in fault.of_incidents)]
    own = [parameter(name, hints[name], defaults.get(name, fields[name].default)) for name in order]
    more = []
    if fault.stays_s is not None:
        more.append(Parameter(name=FOR, unit="s", default=fault.stays_s, read=read_quantity("s")))
    if fault.ways:
        more.append(Parameter(name=BY, unit="", default=fault.ways[0], read=choice(*fault.ways)))
    if "owners" in fault.kind:
        more.append(Parameter(name=CONSUMER, unit="", default=None, read=whole))
    return (*of_cell, *own, *more)


LIBRARY: Mapping[str, LibraryFault] = {
    name: LibraryFault(name=name, fault=fault, parameters=_parameters(fault))
    for fault in FAULTS
    if fault not in (NoFault, JavaRule)
    for name in [fault.kind.replace("owners", "consumer")]
}
"""Every fault there is but what needs an incident's file, by the name that a user gives it: to whoever loads a cluster owners are
its consumers."""
