"""What an audit tells of an incident has the incident's name and advice; all else brings its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import scenarios
from harness.audit.conf import judge_conf
from harness.audit.finding import AuditFinding, Severity
from harness.model.broker_conf import conf_of
from harness.paths import PACKAGES
from mqlab.ask.audit_advice import named
from mqlab.ask.audit_conf import named_conf

AUDITED = {kind for one in scenarios.INCIDENTS for kind in (*one.audited, one.audited_as_itself) if kind}


def _findings() -> Iterator[dict[str, ast.expr]]:
    """The arguments of each finding that the audit makes."""
    for path in sorted((PACKAGES / "harness" / "audit").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "AuditFinding":
                yield {word.arg or "": word.value for word in node.keywords}


def test_a_finding_has_an_advice_or_is_an_incidents() -> None:
    without = {ast.literal_eval(one["kind"]) for one in _findings() if "advice" not in one}
    assert without
    assert without <= AUDITED
    kinds = {one["kind"].value for one in _findings() if isinstance(one["kind"], ast.Constant)}
    assert not AUDITED - kinds


def test_a_finding_of_an_incident_is_told_by_its_name_and_with_its_advice() -> None:
    conf = conf_of({"brokerRole": "SLAVE"})
    (found,) = [one for one in judge_conf(conf, "5.5.0").findings if one.kind == "reads-refused-by-slave"]
    (told,) = [one for one in named_conf(conf, "5.5.0").findings if one.where == found.where and one.says == found.says]
    incident = scenarios.incident("slave-serves-no-reads")
    assert (told.kind, told.advice, told.severity) == (incident.name, incident.advice, found.severity)


def test_a_kind_of_its_own_stays_and_the_incident_stands_beside_it() -> None:
    found = AuditFinding(kind="client-ids-equal", severity=Severity.CRITICAL, where="1@1", says="two members")
    (told,) = named([found])
    incident = scenarios.incident("same-client-id-in-containers")
    assert (told.kind, told.advice, told.incident) == ("client-ids-equal", incident.advice, incident.name)


def test_an_advice_of_its_own_is_kept_and_so_is_what_tells_of_no_incident() -> None:
    of_incident = AuditFinding(
        kind="configuration-open", severity=Severity.WARNING, where="b", says="open", advice="Shut it."
    )
    other = AuditFinding(kind="no-leader", severity=Severity.CRITICAL, where="b", says="none", advice="Wait.")
    told = named([of_incident, other])
    assert [(one.kind, one.advice) for one in told] == [("remote-configuration", "Shut it."), ("no-leader", "Wait.")]
