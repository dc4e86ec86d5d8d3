"""The page's content, read as text and as a tree; tests/browser looks at it with a browser."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import scenarios
from analysis.report import html
from analysis.report.answers import answers
from analysis.report.cells import CellLabels
from analysis.report.claims import claim_views
from analysis.report.document import LOAD, ReportData
from analysis.report.heat_table import rejections
from analysis.report.strips import strips
from analysis.report.timeline import timeline
from analysis.report.todo import differs_between_releases, todos
from analysis.verdicts.numbers import quantity
from harness.model.measures import MEASURES
from tests.lib.samples import loaded, sample, short_sample

STALL, HANDOVER = "append-stall", "ordered-lock-handover"
VOID = {"meta", "link", "img", "br", "hr", "input", "path", "circle"}


class Tree(HTMLParser):
    """Open elements must be closed in their order; keeps ids, targets of links and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.sources: list[str] = []
        self.problems: list[str] = []
        self.feed(page)
        self.problems += self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag not in VOID:
            self.stack.append(tag)
        if named.get("id"):
            self.ids.append(str(named["id"]))
        if tag == "a":
            self.targets.append(str(named.get("href")))
        if tag == "script":
            self.scripts.append(named)
        self.sources += [str(named[name]) for name in ("src", "srcset", "action") if name in named]
        if any(name.startswith("on") for name in named):
            self.problems.append(f"handler on {tag}")

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"{tag} closed out of order")


@pytest.fixture
def document() -> dict[str, Any]:
    return sample()


@pytest.fixture
def load(tmp_path: Path) -> Callable[[dict[str, Any]], ReportData]:
    return functools.partial(loaded, tmp_path)


Load = Callable[[dict[str, Any]], ReportData]


def test_the_page_is_well_formed_and_every_link_leads_somewhere(load: Load, document: dict[str, Any]) -> None:
    tree = Tree(html.render(load(document)))
    assert tree.problems == []
    assert len(tree.ids) == len(set(tree.ids))
    assert {target for target in tree.targets if target.removeprefix("#") not in tree.ids} == set()


def test_the_page_refers_to_nothing_outside_of_itself(load: Load, document: dict[str, Any]) -> None:
    page = html.render(load(document))
    assert Tree(page).sources == []
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert not re.search(r"@import|url\(", page.split("</style>")[0])


def test_the_same_data_give_the_same_bytes(load: Load, document: dict[str, Any]) -> None:
    assert html.render(load(document)) == html.render(load(document))


def test_the_page_is_smaller_than_five_megabytes(load: Load, document: dict[str, Any]) -> None:
    assert len(html.render(load(document)).encode()) < 3_000_000


def test_each_claim_has_its_article_reading_rule_expectation_and_evidence(load: Load, document: dict[str, Any]) -> None:
    page = html.render(load(document))
    card = page.split('id="ORDER-06"')[1].split("</article>")[0]
    assert "A graceful shutdown unlocks every queue at once" in card
    assert "handover_s in fix-graceful-shutdown" in card
    assert "must be at most 5" in card
    assert "One rebalance of the successor" in card
    assert "RebalancePushImpl.unlock" in card
    assert "trials/t9/events.jsonl:44" in card
    assert "19.8 s (median of 64 queues)" in card


def test_a_mismatch_says_what_was_expected_in_the_matrix_and_at_the_claim(load: Load, document: dict[str, Any]) -> None:
    page = html.render(load(document))
    matrix = page.split('class="matrix"')[1].split("</table>")[0]
    assert matrix.count("expected confirmed</small>") == 1
    assert 'aria-label="ORDER-06 on 5.3.3: refuted, expected confirmed"' in matrix
    assert page.split('id="ORDER-06"')[1].split("</article>")[0].count("expected confirmed</small>") == 1


def test_a_claim_without_an_expectation_says_so_in_the_matrix_and_at_the_claim(
    load: Load, document: dict[str, Any]
) -> None:
    for finding in document["findings"]:
        if (finding["claim"], finding["release"]) == ("ORDER-06", "5.3.3"):
            finding["expected"], finding["expected_from_code"] = None, ""
    page = html.render(load(document))
    assert 'aria-label="ORDER-06 on 5.3.3: refuted, no expectation"' in page
    assert "<b>1</b> with no expectation" in page
    card = page.split('id="ORDER-06"')[1].split("</article>")[0]
    assert "<b>no expectation</b> on 5.3.3." in card
    assert "expected confirmed</small>" not in card


@pytest.mark.parametrize(
    "reason",
    [
        "not exercised",
        "too noisy",
        "too few tries",
        "too few deployments on one side",
        "missing evidence",
        "checker failed",
        "not measurable",
    ],
)
def test_each_reason_of_an_undecided_claim_is_shown_and_explained(
    load: Load, document: dict[str, Any], reason: str
) -> None:
    page = html.render(load(document))
    assert f'<small class="reason">{reason}</small>' in page
    assert f"<dt>{reason}</dt>" in page


def test_hostile_text_stays_text(load: Load, document: dict[str, Any]) -> None:
    hostile = "</script><script>hostile()</script><img src=x onerror=hostile()>\x00\x1b ]]> {{ 7 * 7 }}"
    finding = document["findings"][0]
    finding["summary"] = finding["expected_from_code"] = finding["client"] = finding["injection"] = hostile
    finding["notes"] = [hostile]
    finding["evidence"] = [{"excerpt": hostile, "file": hostile, "line": 1, "operation": hostile}]
    finding["parts"][0]["name"] = finding["parts"][0]["why"] = hostile
    finding["figures"][0]["arm"] = hostile
    for claim in document["claims"].values():
        claim["says"] = claim["reading"] = claim["article"] = hostile
    for series in document["series"]:
        series["trial"] = hostile
    document["manifest"]["notes"] = [hostile]
    document["logs"]["unmatched"][0]["sample"] = [hostile]
    document["trials"][0].update(exclusions=[hostile], notes=[hostile])
    page = html.render(load(document))
    tree = Tree(page)
    assert tree.problems == []
    assert tree.sources == []
    # Two figures an incident carry data, one element carries plotly.js, one is our own script.
    assert len(tree.scripts) == 2 * 2 + 1 + 1
    assert "<script>hostile" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "{{ 7 * 7 }}" in page


def test_a_folded_table_has_all_of_its_rows_and_one_without_rows_its_words(
    load: Load, document: dict[str, Any]
) -> None:
    folded = {"title": "Many", "columns": ["a"], "rows": [["one"], ["two"]], "folded": True}
    empty = {
        "title": "None of them",
        "columns": [],
        "rows": [],
        "note": "Nothing was lost.",
        "links": {"file": "a.csv"},
    }
    before = html.render(load(document))
    document["tables"] = {STALL: [folded, empty]}
    page = html.render(load(document))
    assert Tree(page).problems == []
    assert page.count("<details>") == before.count("<details>") + 1
    assert "<summary>2 rows</summary>" in page
    assert "<p>Nothing was lost.</p>" in page
    assert page.count("<table") == before.count("<table") + 1
    assert "a.csv" in Tree(page).targets


def test_a_trial_that_counts_is_counted_with_what_is_notable_of_it(load: Load, document: dict[str, Any]) -> None:
    of = [one for one in document["trials"] if (one["release"], one["arm"]) == ("4.6.0", "incident-kill")]
    first, second, *_ = of
    first.update(exclusions=[], notes=["the fault was not healed"])
    second.update(exclusions=["the wall clock stepped by 60 ms"])
    page = html.render(load(document)).partition('id="ordered-lock-handover-trials"')[2]
    row = re.search(r"<tr><th[^>]*>4\.6\.0</th><td[^>]*>incident-kill</td>.*?</tr>", page)
    assert row is not None
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row[0])
    assert cells[1:3] == [str(len(of)), str(len(of) - 1)]
    assert cells[-2:] == [
        "<span>1 trial did not count: the wall clock stepped by 60 ms</span>",
        "<span>1 trial: the fault was not healed</span>",
    ]


def test_a_very_long_remark_is_cut_and_the_rest_is_counted(load: Load, document: dict[str, Any]) -> None:
    document["findings"][0]["evidence"] = [{"excerpt": "x" * 100_000, "file": "f.log", "line": 1, "operation": ""}]
    page = html.render(load(document))
    assert "98500 more characters are in the file" in page
    assert "x" * 2000 not in page


def test_a_run_without_findings_says_so_and_shows_no_verdict(load: Load, document: dict[str, Any]) -> None:
    document.update(findings=[], series=[], distributions=[], trials=[], claims={})
    page = html.render(load(document))
    assert "This run has no findings" in page
    assert Tree(page).problems == []
    assert "✓ confirmed" not in page.split('id="glossary"')[0]
    assert '<script type="application/octet-stream"' not in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budget": "quick"}, "Quick run"),
        ({"status": "interrupted"}, "This run is interrupted, not complete"),
        ({"dirty": True}, "uncommitted changes"),
    ],
)
def test_what_weakens_a_run_stands_at_its_top(
    load: Load, document: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    document["manifest"].update(changes)
    header = html.render(load(document)).split('id="summary"')[0]
    assert words in header


def test_trials_that_did_not_count_are_named_with_their_reason(load: Load, document: dict[str, Any]) -> None:
    page = html.render(load(document))
    assert "incident: 2 trials did not count: stall of 131 ms where 100 ms were asked" in page


# --- figures ----------------------------------------------------------------------------------------------------------


def test_a_timeline_puts_the_fix_beside_the_incident_of_the_same_cell(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    drawn = timeline(data, STALL, CellLabels.of(data, STALL))
    assert drawn is not None
    view = next(view for view in drawn.views if view.release == "4.9.7")
    panels = [drawn.panels[index] for index in view.panels]
    assert [panel.arm for panel in panels] == ["incident", "fix-send-queue-wait-400", "baseline"]
    assert {panel.params.get("stall_ms") for panel in panels[:2]} == {450}
    assert view.cell == "stall 450\N{NARROW NO-BREAK SPACE}ms"


@pytest.mark.parametrize("faults", [[], [[8.0, 12.0]], [[8.0, 12.0], [20.0, 24.0]]], ids=["none", "one", "two"])
def test_a_load_counts_from_its_start_however_many_faults_it_has(
    load: Load, document: dict[str, Any], faults: list[list[float]]
) -> None:
    document["series"] = [
        {**document["series"][0], "incident": LOAD, "fault_s": None, "faults_s": faults},
    ]
    data = load(document)
    drawn = timeline(data, LOAD, CellLabels.of(data, LOAD))
    assert drawn is not None
    assert [panel["since"] for panel in json.loads(json.dumps(drawn.json()))["panels"]] == ["the start"]


def test_an_incident_counts_from_its_fault(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    drawn = timeline(data, STALL, CellLabels.of(data, STALL))
    assert drawn is not None
    told = {panel["arm"]: panel["since"] for panel in json.loads(json.dumps(drawn.json()))["panels"]}
    assert told["incident"] == "the fault began"
    assert told["baseline"] == "the moment of the other arms' fault"


def test_a_timeline_in_numbers_has_the_phases_of_the_fault(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    drawn = timeline(data, STALL, CellLabels.of(data, STALL))
    assert drawn is not None
    rows = [row for row in drawn.views[0].rows if row.arm == "incident"]
    assert [row.phase for row in rows] == ["before", "fault", "after"]
    assert rows[0].failed == "0\N{NARROW NO-BREAK SPACE}/s"
    assert rows[1].failed != rows[0].failed
    assert rows[0].sent == "500\N{NARROW NO-BREAK SPACE}/s"


def test_censored_values_are_drawn_apart_and_counted(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    drawn = strips(data, HANDOVER, CellLabels.of(data, HANDOVER))
    assert drawn is not None
    assert drawn.strips[0].measure == "handover_s"
    row = next(row for row in drawn.strips[0].rows if row.arm.startswith("incident") and row.release == "5.3.3")
    assert row.summary.censored == 7
    assert row.text(row.summary.max) == "not reached"
    payload = json.loads(json.dumps(drawn.json()))
    shown = next(r for r in payload["strips"][0]["rows"] if r["release"] == "5.3.3" and r["role"] == "incident")
    assert shown["atleast"] == [75] * 7
    assert len(shown["seen"]) == 13


def test_a_row_of_very_many_values_keeps_its_ends_and_its_true_count(load: Load, document: dict[str, Any]) -> None:
    document["distributions"] = [
        {
            "incident": HANDOVER,
            "release": "4.6.0",
            "arm": "incident",
            "params": {},
            "measure": "handover_s",
            "unit": "s",
            "values": [float(value) for value in range(5000)],
            "censored": [],
        }
    ]
    data = load(document)
    drawn = strips(data, HANDOVER, CellLabels.of(data, HANDOVER))
    assert drawn is not None
    row = json.loads(json.dumps(drawn.json()))["strips"][0]["rows"][0]
    assert row["n"] == 5000
    assert len(row["seen"]) == 400
    assert (row["seen"][0], row["seen"][-1]) == (0, 4999)


def test_rejections_stand_by_stall_in_order_with_the_fix_under_the_incident(
    load: Load, document: dict[str, Any]
) -> None:
    data = load(document)
    tables = rejections(data, STALL, CellLabels.of(data, STALL))
    assert [table.release for table in tables] == ["4.6.0", "4.9.7", "5.3.3"]
    assert [column.split("\N{NARROW NO-BREAK SPACE}")[0] for column in tables[0].columns] == [
        "stall 100",
        "stall 250",
        "stall 450",
        "stall 1,200",
    ]
    timeout = next(group for group in tables[0].groups if group.keyword == "TIMEOUT_CLEAN_QUEUE")
    assert [row.arm for row in timeout.rows] == ["incident", "fix-send-queue-wait-400", "baseline"]
    incident, fix, baseline = timeout.rows
    assert [cell is not None and cell.text == "0" for cell in incident.cells] == [True, False, False, False]
    assert [cell is not None and cell.text == "0" for cell in fix.cells] == [True, True, False, False]
    assert baseline.without is not None
    assert baseline.without.text == "0"


def test_a_keyword_that_never_came_says_in_how_many_trials(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    tables = rejections(data, STALL, CellLabels.of(data, STALL))
    overload = next(group for group in tables[0].groups if group.keyword == "OVERLOAD")
    assert overload.rows == ()
    assert overload.trials == 72


def test_an_interval_that_is_open_above_reaches_the_end_of_its_axis(load: Load, document: dict[str, Any]) -> None:
    claim = next(view for view in claim_views(load(document), HANDOVER) if view.id == "ORDER-01")
    part = next(part for part in claim.parts if part.name == "the successor waits")
    noisy = next(mark for mark in part.marks if mark.release == "5.3.3")
    assert noisy.open_end
    assert noisy.left is not None
    assert noisy.width is not None
    assert noisy.left + noisy.width == pytest.approx(100)
    assert "at least 15" in noisy.words


def test_the_bound_parts_the_axis_where_it_belongs(load: Load, document: dict[str, Any]) -> None:
    claim = next(view for view in claim_views(load(document), HANDOVER) if view.id == "ORDER-06")
    (part,) = claim.parts
    good, _, bad = part.marks
    assert good.left is not None
    assert good.width is not None
    assert bad.left is not None
    assert good.left + good.width < part.bound_at < bad.left
    assert not part.holds_right


def test_a_part_without_any_number_is_still_drawn(load: Load, document: dict[str, Any]) -> None:
    for finding in document["findings"]:
        for part in finding["parts"]:
            part.update(estimate=None, low=None, high=None, units=0)
    data = load(document)
    for view in claim_views(data, HANDOVER) + claim_views(data, STALL):
        for part in view.parts:
            assert all(mark.left is None and mark.words == "—" for mark in part.marks)
    assert Tree(html.render(data)).problems == []


# --- what to do, and what is shown first ----------------------------------------------------------------------------------


def _verdicts(document: dict[str, Any], claim: str, *verdicts: str, reason: str = "") -> None:
    found = [one for one in document["findings"] if one["claim"] == claim]
    for finding, verdict in zip(found, verdicts, strict=True):
        finding.update(verdict=verdict, reason=reason)


def test_the_summary_first_says_what_to_do(load: Load, document: dict[str, Any]) -> None:
    for finding in document["findings"]:
        finding.update(verdict="confirmed", expected="confirmed", reason="")
    assert [one.says for one in todos(load(document))] == [
        "Nothing was refuted. Look below for how far each verdict carries."
    ]
    releases = [one["release"] for one in document["findings"] if one["claim"] == "ORDER-06"]
    _verdicts(document, "ORDER-06", "refuted", *("confirmed" for _ in releases[1:]))
    data = load(document)
    refuted, differs, unlike = todos(data)
    assert refuted.claims == differs.claims == unlike.claims == ("ORDER-06",)
    assert differs_between_releases(data.findings) == {"ORDER-06"}
    page = html.render(data)
    assert page.index("What to do") < page.index("Each cell is one claim") < page.index('class="incident"')
    assert 'Before an upgrade, read what differs between releases: <a href="#ORDER-06">' in page


def test_an_interrupted_run_is_first_to_be_gone_on_with(load: Load, document: dict[str, Any]) -> None:
    document["manifest"]["status"] = "interrupted"
    assert todos(load(document))[0].command == "mqlab verify --resume RUN_DIR"


def test_a_quick_run_says_that_a_full_one_decides(load: Load, document: dict[str, Any]) -> None:
    document["manifest"]["budget"] = "quick"
    for finding in document["findings"]:
        finding.update(verdict="undecided", reason="too few deployments")
    (todo,) = todos(load(document))
    assert todo.command.startswith("mqlab verify ")
    assert todo.claims == ()


def test_the_page_of_a_short_run_says_how_it_stands_to_the_record(load: Load, document: dict[str, Any]) -> None:
    record = load(document).findings
    assert "with the record" not in html.render(load(document), record)
    document["manifest"]["budget"] = "quick"
    page = html.render(load(document), record)
    # ORDER-11 has no figure in the sample, on none of three releases.
    tried = len(record)
    assert (
        f"Nothing differs from the record: {tried - 3} of the {tried} findings that were tried are as recorded." in page
    )
    # In the matrix, and at the claim.
    assert page.count("as recorded</small>") == 2 * (tried - 3)
    assert page.count("not comparable with the record</small>") == 2 * 3
    elsewhere = next(one for one in record if one.figures)
    moved = tuple(dataclasses.replace(one, p50=-9.0, min=-9.0, max=-9.0) for one in elsewhere.figures)
    others = [one for one in record if one is not elsewhere]
    page = html.render(load(document), [*others, dataclasses.replace(elsewhere, rule_hash="", figures=moved)])
    assert page.count('<small class="differs">differs from the record</small>') == 2
    assert page.count("Differs from the record: ") == 1
    assert page.count(", recorded ") == len(moved)
    assert "What this run saw is not what the record has" in page


def test_the_page_of_a_short_run_gives_no_claim_a_reason_that_only_a_longer_run_takes_away(load: Load) -> None:
    record = load(sample()).findings
    page = html.render(load(short_sample()), record)
    assert "not exercised" not in page
    assert page.count("not tried in this run</small>") == 2 * 3
    assert 'aria-label="ORDER-01 on 4.6.0: confirmed, not tried in this run"' in page
    assert 'aria-label="ORDER-06 on 4.6.0: confirmed, as recorded"' in page
    rows = re.findall(r'<tr class="row untried"[^>]*>\s*<th scope="row"><a href="#(ORDER-\d+)"', page)
    assert rows == ["ORDER-01"]
    glossary = page.split('id="glossary"')[1]
    assert "<dt>as recorded</dt>" in glossary
    assert "<dt>not tried in this run</dt>" in glossary


def test_claims_that_were_not_tried_come_last(load: Load, document: dict[str, Any]) -> None:
    views = claim_views(load(document), HANDOVER)
    first = views[0].id
    _verdicts(document, first, *("undecided" for _ in views[0].findings), reason="not exercised")
    page = html.render(load(document))
    order = re.findall(r'<article class="claim" id="(ORDER-\d+)"', page)
    assert order[-1] == first
    rows = re.findall(r'<tr class="row( untried)?"[^>]*>\s*<th scope="row"><a href="#(ORDER-\d+)"', page)
    assert [claim for untried, claim in rows if untried] == [first] == [rows[-1][1]]


def test_what_is_of_a_release_is_marked_so_that_two_can_stand_side_by_side(
    load: Load, document: dict[str, Any]
) -> None:
    data = load(document)
    page = html.render(data)
    releases = sorted({one.release for one in data.findings})
    for finding in data.findings:
        column = releases.index(finding.release)
        card = page[page.index(f'<article class="claim" id="{finding.claim}"') :]
        sentence = rf'<li data-column="{column}">\s*<span class="release">{re.escape(finding.release)}</span>'
        assert len(re.findall(sentence, card[: card.index("</article>")])) == 1 + len(finding.parts)
    assert (
        html.environment()
        .from_string('{% from "parts.html.j2" import column %}{{ column("5.3.3 freeze", ["4.6.0", "5.3.3"]) }}')
        .render()
        .strip()
        == 'data-column="1"'
    )


def test_rows_can_be_filtered_without_a_script(load: Load, document: dict[str, Any]) -> None:
    data = load(document)
    page = html.render(data)
    chosen = set(re.findall(r'<input type="(?:radio|checkbox)" name="\w+" id="([\w-]+)"', page))
    assert {"show-0", "show-1", "show-2", "show-3", "release-0", "release-1", "family-all", "family-0"} <= chosen
    used = set(re.findall(r"main:has\(#([\w-]+):(?:not\(:)?checked\)", page))
    assert used == chosen - {"show-0", "family-all"}
    rows = re.findall(r'<tr class="row[^>]*>', page)
    refuted = {one.claim for one in data.findings if one.verdict == "refuted"}
    assert sum("data-refuted" in row for row in rows) == len(refuted)
    assert sum("data-differs" in row for row in rows) == len(differs_between_releases(data.findings))


def test_each_figure_of_an_answer_is_one_of_the_runs_findings_or_of_the_record(load: Load) -> None:
    data, record = load(short_sample()), load(sample()).findings
    shown = answers(data, record)
    assert [one.name for one in shown] == [STALL, HANDOVER]
    seen, recorded = (
        {cell[place] for answer in shown for row in answer.rows for cell in row.cells if cell[place]}
        for place in (0, 1)
    )
    assert seen
    assert seen <= {quantity(one.p50, one.unit, short=True) for finding in data.findings for one in finding.figures}
    assert recorded
    assert recorded <= {quantity(one.p50, one.unit, short=True) for line in record for one in line.figures}


def test_an_answer_shows_arms_and_a_measure_that_there_are() -> None:
    for scenario in scenarios.ALL:
        shown = scenario.to_show()
        assert set(shown.rows.values()) <= {arm.name for arm in scenario.arms}, scenario.name
        assert shown.measure in MEASURES or not scenario.claims, scenario.name


@pytest.mark.parametrize(
    ("article", "kicker"),
    [
        ("A1, A2", "Incident, from A1, A2"),
        ("post-mortem of 12 March, and May", "Incident, from post-mortem of 12 March, and May"),
    ],
)
def test_an_article_of_ones_own_is_named_as_it_is_written(
    article: str, kicker: str, document: dict[str, Any], load: Load
) -> None:
    for claim in document["claims"].values():
        claim["article"] = article
    assert f">{kicker}<" in html.render(load(document))
