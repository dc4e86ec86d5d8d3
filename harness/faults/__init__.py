"""One event per file: what injects it and what heals it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.faults.append_stall import StallByByteman
from harness.faults.base import Injection
from harness.faults.none import NothingHappens
from harness.faults.owners import KillOwnersBySignal, ShutDownOwnersByCall
from harness.faults.store_freeze import StallByFreeze
from harness.model import AppendStall, Fault, KillOwners, NoFault, ShutDownOwners

INJECTIONS: Mapping[type[Fault], tuple[Injection, ...]] = {
    NoFault: (NothingHappens(),),
    KillOwners: (KillOwnersBySignal(),),
    ShutDownOwners: (ShutDownOwnersByCall(),),
    AppendStall: (StallByByteman(), StallByFreeze()),
}
"""Who makes each fault happen; the first way is the one that is taken when none is asked for."""


def injection_of(fault: Fault, way: str = "") -> Injection:
    """Who makes the fault in the way that is asked for; in its first one where it has no such way."""
    ways = INJECTIONS[type(fault)]
    return next((injection for injection in ways if injection.way == way), ways[0])


def ways_of(fault: Fault) -> tuple[str, ...]:
    """The ways in which a fault can be made, of which one is chosen; empty where there is no choice."""
    ways = INJECTIONS[type(fault)]
    return tuple(injection.way for injection in ways) if len(ways) > 1 else ()
