"""Both injections, beside each other in everything that a run writes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from analysis.report import html
from analysis.report.claims import claim_views
from analysis.report.document import ReportData
from analysis.report.injections import by_injection
from analysis.report.junit import junit_xml
from analysis.report.terminal import summary_lines
from tests.lib.samples import loaded, sample

STALL = "append-stall"


@pytest.fixture
def both(tmp_path: Path) -> Callable[..., ReportData]:
    """The sample with every finding, trial and series of the stall once more, made by a freeze; some of it changed."""

    def made(**changes: Any) -> ReportData:
        document = sample()
        for kind in ("trials", "series", "distributions"):
            own = [item for item in document[kind] if item["incident"] == STALL]
            document[kind] += [{**copy.deepcopy(item), "injection": "freeze"} for item in own]
            for item in own:
                item["injection"] = "byteman"
        own = [item for item in document["findings"] if item["incident"] == STALL]
        frozen = [{**copy.deepcopy(item), "injection": "freeze"} for item in own]
        for item in frozen:
            if (item["claim"], item["release"]) == ("BUSY-09", "4.6.0"):
                item.update(changes.get("finding", {}))
                item["parts"][0].update(changes.get("part", {}))
        document["findings"] += frozen
        return loaded(tmp_path, document)

    return made


def test_ways_stand_beside_each_other_wherever_releases_do(both: Callable[..., ReportData]) -> None:
    data = both()
    shown = by_injection(data)
    releases = {item.release for kind in (shown.findings, shown.trials) for item in kind if item.incident == STALL}
    assert {"4.6.0 byteman", "4.6.0 freeze"} <= releases
    assert not releases & {"4.6.0", "4.9.7", "5.3.3"}
    others = {item.release for item in shown.findings if item.incident != STALL}
    assert others == {"4.6.0", "4.9.7", "5.3.3"}
    claim = claim_views(data, STALL)[0]
    assert [finding.release for finding in claim.findings][:2] == ["4.6.0 byteman", "4.6.0 freeze"]


def test_ways_that_agree_are_said_to_agree(both: Callable[..., ReportData]) -> None:
    for claim in claim_views(both(), STALL):
        assert claim.injections == ("byteman and freeze give the same verdicts, and no part's intervals lie apart.",)


def test_a_verdict_that_differs_between_the_ways_is_said_with_both(both: Callable[..., ReportData]) -> None:
    data = both(finding={"verdict": "undecided", "reason": "too noisy"})
    claim = next(view for view in claim_views(data, STALL) if view.id == "BUSY-09")
    assert claim.injections == ("On 4.6.0 the verdicts differ: confirmed by byteman, undecided (too noisy) by freeze.",)
    assert "undecided (too noisy) by freeze" in html.render(data)


def test_numbers_whose_intervals_have_nothing_in_common_are_said_with_both(both: Callable[..., ReportData]) -> None:
    data = both(part={"estimate": 0.2, "low": 0.1, "high": 0.3})
    claim = next(view for view in claim_views(data, STALL) if view.id == "BUSY-09")
    name = next(finding for finding in data.findings if finding.claim == "BUSY-09").parts[0].name
    (sentence,) = claim.injections
    assert sentence.startswith(f"On 4.6.0 the numbers differ for {name}: ")
    assert " by byteman, 20" in sentence
    assert sentence.endswith("by freeze.")


def test_a_claim_of_one_way_has_nothing_to_compare(both: Callable[..., ReportData]) -> None:
    assert {claim.injections for claim in claim_views(both(), "ordered-lock-handover")} == {()}


def test_every_output_names_the_way_of_an_incident_that_has_two(both: Callable[..., ReportData]) -> None:
    data = both()
    lines = summary_lines(data.findings)
    assert sum(line.startswith("BUSY-09 (freeze) ") for line in lines) == 3
    assert sum(line.startswith("BUSY-09 (byteman) ") for line in lines) == 3
    assert any(line.startswith("ORDER-01 ") for line in lines)
    cases = [
        case.get("name")
        for suite in ElementTree.fromstring(junit_xml(data))
        for case in suite.iter("testcase")
        if suite.get("name") == f"{STALL} on 4.6.0"
    ]
    assert cases[:2] == ["BUSY-09 (byteman)", "BUSY-09 (freeze)"]
