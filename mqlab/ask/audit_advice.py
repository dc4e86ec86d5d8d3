"""What an audit found, with the advice of the incidents that it tells of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.audit.finding import AuditFinding
from harness.model.incident import Incident


def named(findings: Iterable[AuditFinding]) -> list[AuditFinding]:
    """The findings in their order; one that has an advice of its own keeps it."""
    import scenarios  # fifty files, which other commands of an audit do without

    by_kind = {kind: one for one in scenarios.INCIDENTS for kind in (*one.audited, one.audited_as_itself) if kind}
    return [_named(one, by_kind[one.kind]) if one.kind in by_kind else one for one in findings]


def _named(found: AuditFinding, incident: Incident) -> AuditFinding:
    kind = incident.name if found.kind == incident.audited_as_itself else found.kind
    return replace(found, kind=kind, advice=found.advice or incident.advice, incident=incident.name)
