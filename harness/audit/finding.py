"""What an audit finds, as a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

SHOWN_MAX = 5


class Severity(IntEnum):
    """The exit code of an audit is that of its worst finding."""

    NONE = 0
    WARNING = 1
    CRITICAL = 2


@dataclass(frozen=True, kw_only=True)
class AuditFinding:
    """One thing that is wrong. ``kind`` is stable, ``where`` names a node or topic.

    Where an incident is ``audited`` by the kind, it is told with the advice of that incident, unless it has one of its own.
    """

    kind: str
    severity: Severity
    where: str
    says: str
    advice: str = ""
    incident: str = ""
    """The incident that it tells of, which `mqlab explain` knows; empty until it is looked up, and where there is none."""


def some(names: Sequence[str]) -> str:
    """The first few of the names, and how many more there are."""
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return ", ".join(names[:SHOWN_MAX]) + more
