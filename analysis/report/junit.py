"""junit.xml: a test suite for each incident and release, a test case for each claim and injection.

Decided as expected passes, as does what is decided without an expectation; a mismatch is a failure, an undecided claim an
error. Each suite ends with how many trials count, and why others do not. A run without findings is one error, so that a pipeline
which reads nothing but this file cannot take it for a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from analysis.report.claims import not_counted, notable
from analysis.report.document import ClaimText, ReportData
from analysis.report.injections import claim_name, told_apart
from analysis.report.story import evidence, plain, story
from analysis.verdicts.numbers import cell_label, printable
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import expectation, in_order, is_mismatch
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind


def junit_xml(data: ReportData) -> str:
    """The document as text, valid XML 1.0 whatever characters a broker's remark has."""
    root = ElementTree.Element("testsuites", name="rocketmq-incident-lab")
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in in_order(data.findings):
        groups.setdefault((finding.incident, finding.release), []).append(finding)
    ordered = sorted(groups, key=lambda group: (group[0], natural_key(group[1])))
    suites = [_suite(data, *group, groups[group]) for group in ordered] or [_empty_suite()]
    root.extend(suites)
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(data: ReportData, incident: str, release: str, findings: Sequence[Finding]) -> ElementTree.Element:
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(f"{incident} on {release}"),
        tests=str(len(findings)),
        failures=str(sum(map(is_mismatch, findings))),
        errors=str(sum(finding.verdict is VerdictKind.UNDECIDED for finding in findings)),
        skipped="0",
        timestamp=_xml(data.manifest.created),
    )
    manifest = data.manifest
    _properties(
        suite,
        {
            **{name: getattr(manifest, name) for name in ("run", "commit", "dirty", "seed", "budget", "backend")},
            "dirty": str(manifest.dirty).lower(),
            "release": release,
            "incident": incident,
        },
    )
    apart = told_apart(data.findings)
    for finding in findings:
        suite.append(_case(finding, claim_name(finding, apart), data.claims.get(finding.claim)))
    of = [one for one in data.trials if (one.incident, one.release) == (incident, release)]
    if of:
        counting = f"{sum(one.counts for one in of)} of {len(of)} trials count"
        out = ElementTree.SubElement(suite, "system-out")
        out.text = _xml("\n".join((counting, *not_counted(of), *notable(of))))
    return suite


def _case(finding: Finding, name: str, text: ClaimText | None) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=_xml(f"{finding.incident}.{finding.release}"), name=_xml(name))
    _properties(case, _numbers(finding))
    if finding.verdict is VerdictKind.UNDECIDED:
        message = f"undecided: {finding.reason or 'no reason was recorded'}"
        outcome = ElementTree.SubElement(case, "error", type="undecided", message=_xml(message))
        outcome.text = _xml("\n".join(story(finding, text)))
    elif is_mismatch(finding):
        message = f"expected {finding.expected}, measured {finding.verdict}"
        outcome = ElementTree.SubElement(case, "failure", type="mismatch", message=_xml(message))
        outcome.text = _xml("\n".join(story(finding, text)))
    out = ElementTree.SubElement(case, "system-out")
    out.text = _xml("\n".join(evidence(finding)) or "no evidence")
    return case


def _numbers(finding: Finding) -> dict[str, str]:
    names = ("verdict", "status", "reason", "summary", "trials", "client", "injection", "rule_hash")
    properties = {name: str(getattr(finding, name)) for name in names} | {"expected": expectation(finding)}
    for part in finding.parts:
        for name in ("estimate", "low", "high", "bound"):
            properties[f"part.{part.name}.{name}"] = plain(getattr(part, name))
        properties[f"part.{part.name}.unit"] = part.unit
        properties[f"part.{part.name}.verdict"] = str(part.verdict)
    for measure in finding.figures:
        cell = f" ({cell_label(measure.params)})" if measure.params else ""
        properties[f"measure.{measure.name}.{measure.arm}{cell}"] = (
            f"p50={plain(measure.p50)} p90={plain(measure.p90)} p99={plain(measure.p99)} "
            f"n={measure.n} independent={measure.tries} censored={measure.censored} unit={measure.unit}"
        )
    return properties


def _empty_suite() -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name="no findings", tests="1", failures="0", errors="1", skipped="0")
    case = ElementTree.SubElement(suite, "testcase", classname="run", name="has findings")
    ElementTree.SubElement(case, "error", type="undecided", message="the run has no findings")
    return suite


def _properties(parent: ElementTree.Element, values: Mapping[str, object]) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=_xml(name), value=_xml(str(value)))


def _xml(text: str) -> str:
    # A carriage return would be read back as a line feed, and is no help to a reader either.
    return printable(text).replace("\r", "\\x0d")
