"""What an audit found, under the names and with the advice of the incidents that it tells of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.audit.finding import AuditFinding


def named(findings: Iterable[AuditFinding]) -> list[AuditFinding]:
    """The findings in their order; one that has an advice of its own keeps it."""
    import scenarios  # fifty files, which an audit that finds nothing does without

    by_kind = {one.audited: one for one in scenarios.INCIDENTS if one.audited}
    return [
        replace(one, kind=incident.name, advice=one.advice or incident.advice)
        if (incident := by_kind.get(one.kind))
        else one
        for one in findings
    ]
