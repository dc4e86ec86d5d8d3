"""What backends let the lab do to the nodes and clients that they run, as data that a plan asks before anything starts."""

from collections.abc import Mapping
from enum import StrEnum


class Ability(StrEnum):
    """What an arm may ask of a backend, in words that follow "it cannot"."""

    NODES = "kill, pause and start nodes again, with other JVM options where asked"
    PROCESSES = "tell the kernel which processes are meant"
    RULES = "load rules into a broker's JVM"
    STORE = "give a broker's store a file system of its own"
    LOCKED_MEMORY = "limit how much memory a broker locks"
    RELEASES = "start a node again of another release"


NODES, PROCESSES = frozenset({Ability.NODES}), frozenset({Ability.PROCESSES})

LOCAL, COMPOSE = "local", "compose"
ABILITIES: Mapping[str, frozenset[Ability]] = {
    LOCAL: frozenset(Ability),
    COMPOSE: frozenset(Ability) - {Ability.RELEASES},
}
"""By backend. Containers share the host's network, its process ids (as the host sees them) and the run directory's mounts, so
that a fault of the kernel finds them as it finds processes; their JVM options are read from a file at each start, and the image
is that of their release for good."""
