"""Faults on a load: the options for them, what refuses them before the start, and the dry run of those on nodes of the user's."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence

from harness.backends.abilities import Ability
from harness.backends.node_elsewhere import NodeElsewhere
from harness.backends.nodes_file import NamedNode, read_nodes_file
from harness.backends.reached import Reached, ReachedNode, reach
from harness.errors import ConfigurationError, UsageError
from harness.faults.injections import injection_of, needs_of, why_not_made
from harness.faults.targets import with_own_store
from harness.host.abilities import Abilities
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import BrokerCrash, CrossFrameLimit, FlappingNode, KillNode
from harness.model.rocketmq import FRAME_LIMIT
from harness.model.timed_faults import OF_NAMED_NODES, TimedFault, nodes_of, why_not_on
from harness.protocol.targets import parse_networks
from mqlab.kinds import DURATION, FAULT, FILE, NAME
from mqlab.options import access_of, print_json

NOT_OF_THE_COMMAND = ("command", "parse", "dry_run", "confirm", "out", "json", "strict", "spark_master", "record_only")
"""Options that change nothing of what is done to a cluster."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Options that put faults on a load."""
    faults = command.add_argument_group("faults")
    faults.add_argument(
        "--fault",
        action="append",
        type=FAULT,
        default=[],
        metavar="NAME[:VALUE]@TIME",
        help="put a fault on the load, such as append-stall:1200ms@10s; `mqlab explain --faults` names them; may be repeated",
    )
    faults.add_argument("--fault-every", type=DURATION, metavar="TIME", help="each of them again after so long")
    faults.add_argument(
        "--nodes",
        type=FILE,
        metavar="FILE.toml",
        help="nodes of a cluster of yours that faults may be done to, and how each is reached",
    )
    faults.add_argument(
        "--dry-run", action="store_true", help="say what would be done to which of these nodes, and when; do nothing"
    )
    faults.add_argument("--confirm", type=NAME, metavar="CODE", help="do it: the code that the dry run has printed")


def check_options(options: argparse.Namespace, duration_s: float) -> None:
    """Raises UsageError: they contradict each other. A load of 0 s goes on until it is stopped."""
    options.fault = tuple(options.fault)
    late = next((one for one in options.fault if 0 < duration_s <= one.at_s), None)
    if late is not None:
        raise UsageError(
            f"--fault {late.text} would never come: the load ends after {duration_s:g} s",
            advice=f"Give an earlier time, or --duration of more than {late.at_s:g}.",
        )
    if options.fault_every and not options.fault:
        raise UsageError("--fault-every repeats faults", advice="Give --fault as well.")
    if options.nodes and not options.namesrv:
        raise UsageError(
            "--nodes is of a cluster of yours",
            advice="Name it with --namesrv; of one of the lab's every node is known.",
        )
    if options.nodes and not _on_nodes(options.fault):
        raise UsageError(
            "--nodes names what faults are done to, and none of them is",
            advice=f"Give --fault with {', '.join(OF_NAMED_NODES)}, such as --fault pause-node:NAME,for=5s@10s.",
        )
    if (options.dry_run or options.confirm) and not options.nodes:
        raise UsageError("--dry-run and --confirm are of faults on nodes of yours", advice="Give --nodes as well.")
    if options.dry_run and options.confirm:
        raise UsageError("--dry-run does nothing and --confirm does it", advice="Give one of the two.")


def check_faults(
    faults: Sequence[TimedFault], topology: Topology, options: argparse.Namespace, named: Sequence[NamedNode]
) -> None:
    """Raises ConfigurationError: one of them cannot be put on this load, or cannot be made on this host."""
    given = [node.name for node in named] if options.namesrv else None
    for timed in faults:
        injection = injection_of(timed.fault, timed.injection)
        settings = settings_for(BrokerSettings(), timed)
        why = None
        if options.namesrv and Ability.STORE in needs_of(timed.fault, injection, settings):
            why = "asks for a store on a file system of its own, which only a broker that the lab has started has"
        why = why or why_not_on(timed, topology, consumers=options.consumers, given=given)
        why = why or why_not_made(timed.fault, injection, settings, "local", Abilities.of_this_host())
        if why:
            raise ConfigurationError(
                f"--fault {timed.text} {why}", advice="mqlab explain --faults says what each asks for."
            )


def settings_for(settings: BrokerSettings, timed: TimedFault) -> BrokerSettings:
    """What brokers and name servers have to be started with for a fault to come later."""
    settings = injection_of(timed.fault, timed.injection).brokers(settings)
    if isinstance(timed.fault, BrokerCrash) and timed.fault.power:
        settings = with_own_store(settings)
    if isinstance(timed.fault, CrossFrameLimit):
        limit = (f"-D{FRAME_LIMIT}={timed.fault.frame_bytes}",)
        settings = dataclasses.replace(
            settings, jvm=(*settings.jvm, *limit), name_server_jvm=(*settings.name_server_jvm, *limit)
        )
    return settings


# --- on nodes of the user's -------------------------------------------------------------------------------------------


def named_nodes(options: argparse.Namespace) -> tuple[NamedNode, ...]:
    """Those of ``--nodes``. Raises ConfigurationError with the file's line."""
    return read_nodes_file(options.nodes) if options.nodes else ()


def reach_nodes(options: argparse.Namespace, named: Sequence[NamedNode], namesrv: Sequence[str]) -> Reached:
    """The nodes that faults are done to, each found and what the file says.

    Raises:
        ConfigurationError: one is not, or cannot be killed.
        UsageError: what would be done to them was not confirmed.
    """
    if not named:
        return Reached()
    stays_s: dict[str, float] = {}
    for timed in _on_nodes(options.fault):
        for name in nodes_of(timed.fault):
            stays_s[name] = max(timed.stays_s, stays_s.get(name, 0.0))
    for node in named:
        if node.ssh is not None and math.isinf(stays_s.get(node.name, 0.0)):
            raise node.mistake(
                "a fault on another machine needs an end, by which that machine heals it", "Give it for=TIME."
            )
    found = reach(
        [node for node in named if node.name in stays_s],
        namesrv,
        parse_networks(options.allow_target),
        access_of(options),
        stays_s,
    )
    for timed in options.fault:
        if isinstance(timed.fault, KillNode) and (why := found.nodes[timed.fault.node].why_no_kill()):
            raise found.nodes[timed.fault.node].named.mistake(f"--fault {timed.text} starts the node again, and {why}")
    if not options.dry_run and options.confirm != _code(options, found):
        says = "is of another command, file or process" if options.confirm else "lacks"
        raise UsageError(
            f"--confirm {options.confirm} {says}" if options.confirm else
            "faults on nodes of yours are made only after a dry run of exactly this command and file",
            advice="Give --dry-run first: it says what would be done to which process or container, and the code that does it.",
        )  # fmt: skip
    return found


def print_dry_run(options: argparse.Namespace, found: Reached) -> None:
    """What a load would do to the nodes, on standard output."""
    code = _code(options, found)
    steps = [step for timed in options.fault for step in _steps(timed, found.nodes)]
    if options.json:
        print_json({"steps": steps, "every_s": options.fault_every, "confirm": code})
        return
    print(f"After the beginning of a load to topic {options.topic} of {options.namesrv}:")
    for step in steps:
        print(f"  {step['at']}: {step['what']}")
    if options.fault_every:
        print(f"  and all of it again every {options.fault_every:g} s until the load ends")
    for name, node in found.nodes.items():
        if isinstance(node, NodeElsewhere):
            print(
                f"A script that is left on {node.named.ssh.host if node.named.ssh else ''} before each fault ends it for {name} "
                f"{node.heals_in_s(math.inf)} s after its beginning, whatever becomes of this machine and the network."
            )
    print("What is stopped goes on, and what was killed is started, when the load ends or mqlab dies before.")
    print(f"Nothing was done. The same command with --confirm {code} instead of --dry-run does it.")


def _on_nodes(faults: Sequence[TimedFault]) -> list[TimedFault]:
    return [timed for timed in faults if timed.fault.kind in OF_NAMED_NODES]


def _steps(timed: TimedFault, nodes: Mapping[str, ReachedNode]) -> Iterator[dict[str, str]]:
    """One for each thing that is done, in words."""
    if timed not in _on_nodes([timed]):
        yield {"at": f"{timed.at_s:g} s", "what": f"{timed.text}, to a client of the load's own", "node": ""}
        return
    (name,) = nodes_of(timed.fault)
    node = nodes[name]
    means, until_s = node.means(), timed.at_s + timed.stays_s
    first, last = (means.kill, means.start) if isinstance(timed.fault, KillNode) else (means.stop, means.go_on)
    what = f"{name}, {node.named.address}"
    if isinstance(timed.fault, FlappingNode):
        flaps = timed.fault
        first = f"{first}, {means.go_on} {flaps.stopped_s:g} s later, and so again every {flaps.stopped_s + flaps.runs_s:g} s"
    yield {"at": f"{timed.at_s:g} s", "what": f"{first} ({what})", "node": name}
    at = "the load's end" if math.isinf(until_s) else f"{until_s:g} s"
    yield {"at": at, "what": f"{last} ({what})", "node": name}


def _code(options: argparse.Namespace, found: Reached) -> str:
    """Of the command, the file and the very processes and containers, so that none of them can have changed since."""
    asked = {key: str(value) for key, value in sorted(vars(options).items()) if key not in NOT_OF_THE_COMMAND}
    what = {name: node.check() for name, node in sorted(found.nodes.items())}
    file = options.nodes.read_bytes().hex()
    return hashlib.sha256(json.dumps([asked, what, file]).encode()).hexdigest()[:8]
