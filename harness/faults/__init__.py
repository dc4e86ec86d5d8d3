"""One event per file: what injects it and what heals it."""

from __future__ import annotations

from harness.faults.append_stall import StallByByteman
from harness.faults.base import Injection
from harness.faults.none import NothingHappens
from harness.faults.owners import KillOwnersBySignal, ShutDownOwnersByCall
from harness.model import AppendStall, Fault, KillOwners, NoFault, ShutDownOwners

INJECTIONS: dict[type[Fault], Injection] = {
    NoFault: NothingHappens(),
    KillOwners: KillOwnersBySignal(),
    ShutDownOwners: ShutDownOwnersByCall(),
    AppendStall: StallByByteman(),
}
"""Who makes each fault happen."""


def injection_of(fault: Fault) -> Injection:
    """The way in which a fault is made here."""
    return INJECTIONS[type(fault)]
