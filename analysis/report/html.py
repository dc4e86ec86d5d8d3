"""``report.html``: one page that needs no network, no server and, but for its plots, no scripts.

plotly.js is carried once, compressed, and unpacked by the browser. A content security policy in the page names the
hashes of the two scripts that may run and forbids every request: a remark in a broker's log can neither run nor load
anything, whatever it has in it.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup

from analysis.ledger.agreement import MEANINGS, agreements, beside_record, tried, with_recorded_verdicts
from analysis.ledger.runs import CountedTrial
from analysis.report import claims
from analysis.report.answers import answers
from analysis.report.cells import CellLabels
from analysis.report.document import IncidentText, ReportData, Table
from analysis.report.facts import counted, facts, warnings
from analysis.report.heat_table import HeatTable, rejections
from analysis.report.injections import by_injection, told_apart
from analysis.report.send_matrix import send_tables
from analysis.report.stack import Stack, stack
from analysis.report.strips import Strips, strips
from analysis.report.timeline import Timeline, timeline
from analysis.report.todo import differs_between_releases, todos, was_tried
from analysis.verdicts.numbers import finite, number, printable, quantity, shortened
from analysis.verdicts.order import arm_key, natural_key
from analysis.verdicts.words import (
    REASON_MEANINGS,
    SYMBOLS,
    VERDICT_MEANINGS,
    Tally,
    in_order,
    is_mismatch,
    left_open,
    listed,
    spoken,
    tally,
    tally_words,
    unlike,
)
from harness.language import phrase, tag, translated
from harness.model.findings import Finding

TEMPLATE = "report.html.j2"
PICTURES_MAX = 3
"""Of so many incidents each has its picture on the first screens; of more the tables alone."""

YOUR_TURN = {
    phrase("your broker.conf"): "mqlab audit --broker-conf broker.conf",
    phrase("your upgrade"): "mqlab upgrade --from RELEASE --to RELEASE --broker-conf broker.conf",
    phrase("your logs"): "mqlab diagnose LOG...",
    phrase("your load"): "mqlab load --rate SENDS_PER_S --broker-conf broker.conf",
    phrase("an error line"): "mqlab explain 'LINE'",
}

EXCERPT_LENGTH_MAX = 1500
"""A page stays readable; the whole line is in the file that is named beside it."""


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """How many trials of an arm in a release counted, why the others did not, and what else is notable of any."""

    release: str
    arm: str
    planned: int
    valid: int
    deployments: int
    hiccup: str
    waited: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IncidentView:
    """One incident with its figures and claims."""

    name: str
    text: IncidentText
    articles: str
    tally: Tally
    claims: tuple[claims.ClaimView, ...]
    constants: str
    """Parameters that are the same in all cells, in words; the figures leave them out."""
    timeline: Timeline | None
    stack: Stack | None
    strips: Strips | None
    rejections: tuple[HeatTable, ...]
    tables: tuple[Table, ...]
    trials: tuple[TrialRow, ...]


def render(data: ReportData, record: Sequence[Finding] = ()) -> str:
    """The whole page as text. The same data give the same bytes. A short run is compared with the ``record``."""
    manifest = data.manifest
    is_short = manifest.budget == "quick"
    settled_here = tally(data.findings)
    compared = agreements(tried(data.findings), record) if is_short else []
    if is_short:
        data = dataclasses.replace(
            data, findings=tuple(with_recorded_verdicts(beside_record(data.findings, record), record))
        )
    shown = answers(data, record)
    names = sorted({*manifest.incidents, *(finding.incident for finding in data.findings)})
    releases = sorted({*manifest.releases, *(finding.release for finding in data.findings)}, key=natural_key)
    carries = dict.fromkeys(note for finding in in_order(data.findings) for note in finding.notes)
    incidents = [_incident(data, name) for name in names]
    plots = any(incident.timeline or incident.stack or incident.strips for incident in incidents)
    plotly, sha256 = _plotly()
    script = asset("plots.js")
    return (
        environment()
        .get_template(TEMPLATE)
        .render(
            manifest=manifest,
            tally=settled_here,
            answers=shown,
            headline=data.headline,
            pictured={one.name for one in shown} if len(shown) <= PICTURES_MAX else set(),
            counted=counted(data),
            your_turn=YOUR_TURN,
            standing=next((one for one in todos(data, compared) if compared), None),
            facts=facts(data),
            warnings=warnings(data),
            carries=(*carries, *(note for note in manifest.notes if note not in carries)),
            releases=releases,
            # The properties of a load are no families.
            families=sorted({"" if data.headline else finding.claim.partition("-")[0] for finding in data.findings}),
            todos=todos(data, compared),
            differing=differs_between_releases(data.findings),
            matrix={name: _matrix(data, name) for name in names},
            claims=data.claims,
            incidents=incidents,
            reason_meanings=_meanings_in(data.findings) if is_short else REASON_MEANINGS,
            logs=[
                (
                    log.file,
                    phrase("{count} of {lines} lines", count=number(log.unmatched), lines=number(log.lines)),
                    log.sample,
                )
                for log in sorted(data.logs.unmatched, key=lambda log: (-log.unmatched, log.file))
            ],
            style=Markup(asset("style.css")),  # our own file, not data
            script=Markup(script),
            plotly=plotly if plots else "",
            policy=_policy(script, sha256),
        )
    )


def prepare() -> None:
    """What every page takes, half a second's work, made before there is anything to render."""
    environment().get_template(TEMPLATE)
    _plotly()


# --- assets -----------------------------------------------------------------------------------------------------------


@cache
def _plotly() -> tuple[str, str]:
    """The script as base64 of gzip, and the hash of its text for the content security policy."""
    # The package has the full bundle of 4.8 MB only; compressed it adds 2 MB to the page, and browsers unpack gzip.
    source = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return base64.b64encode(gzip.compress(source, 9, mtime=0)).decode("ascii"), _sha256(source)


@cache
def asset(name: str) -> str:
    """A file of the templates' folder that pages carry, such as style.css."""
    return resources.files("analysis.report").joinpath("templates", name).read_text(encoding="utf-8")


def _sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")


def _policy(script: str, plotly_sha256: str) -> str:
    # Plotly sets styles on its elements, and saves a picture by way of a data or blob address.
    return (
        "default-src 'none'; "
        f"script-src 'sha256-{_sha256(script.encode())}' 'sha256-{plotly_sha256}'; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def environment() -> jinja2.Environment:
    """The templates of all pages: all text is escaped, and control characters are written out."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.globals.update(
        excerpt_length_max=EXCERPT_LENGTH_MAX,
        figure_json=_figure_json,
        left_open=left_open,
        symbols=SYMBOLS,
        verdict_meanings=VERDICT_MEANINGS,
        tally_words=tally_words,
        is_mismatch=is_mismatch,
        unlike=unlike,
        shortened=shortened,
        spoken=spoken,
        listed=listed,
        _=translated,
        language_tag=tag,
        first_sentence=first_sentence,
    )
    made.tests["tried"] = was_tried
    return made


def first_sentence(text: str) -> str:
    """Without its full stop, in English or Chinese."""
    return re.split(r"\. |\u3002", text)[0].rstrip(".")


def _finalize(value: object) -> object:
    """Control characters of remarks are written out before they are escaped; our own markup stays as it is."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _figure_json(figure: Timeline | Strips | Stack) -> Markup:
    """A figure's data for a script element of type application/json; ``<`` cannot close that element."""
    text = json.dumps(finite(figure.json()), separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


# --- the page's values ------------------------------------------------------------------------------------------------


def _meanings_in(findings: Sequence[Finding]) -> dict[str, str]:
    """Of the standings and reasons that a short run has."""
    shown = {reason for one in findings for reason in (one.reason, *(part.reason for part in one.parts))}
    return {reason: words for reason, words in (*MEANINGS.items(), *REASON_MEANINGS.items()) if reason in shown}


def _matrix(data: ReportData, incident: str) -> dict[tuple[str, str], dict[str, Finding]]:
    """The findings by release, by claim and way; the way is empty where there is one only. What was not tried comes last."""
    apart = told_apart(data.findings)
    rows: dict[tuple[str, str], dict[str, Finding]] = {}
    for finding in in_order(data.findings):
        if finding.incident == incident:
            injection = finding.injection if incident in apart else ""
            rows.setdefault((finding.claim, injection), {})[finding.release] = finding
    return dict(sorted(rows.items(), key=lambda row: not any(map(was_tried, row[1].values()))))


def _articles(text: str) -> list[str]:
    """The articles that a claim is from: those of the lab, such as A1, A2, or what a user calls theirs."""
    names = text.split(", ")
    return names if all(re.fullmatch(r"A\d+", one) for one in names) else [text] if text else []


def _incident(data: ReportData, name: str) -> IncidentView:
    views = tuple(sorted(claims.claim_views(data, name), key=lambda view: not any(map(was_tried, view.findings))))
    shown = by_injection(data)
    labels = CellLabels.of(data, name)
    articles = sorted({name for view in views for name in _articles(view.text.article)}, key=natural_key)
    return IncidentView(
        name=name,
        text=data.incidents.get(name, IncidentText()),
        articles=", ".join(articles),
        tally=tally(finding for finding in data.findings if finding.incident == name),
        claims=views,
        constants=labels.constants(),
        timeline=timeline(shown, name, labels),
        stack=stack(shown, name, labels),
        strips=strips(shown, name, labels),
        rejections=rejections(shown, name, labels),
        tables=(*data.tables.get(name, ()), *send_tables(shown.distributions, name)),
        trials=_trials(shown, name),
    )


def _trials(data: ReportData, incident: str) -> tuple[TrialRow, ...]:
    groups: dict[tuple[str, str], list[CountedTrial]] = {}
    for trial in data.trials:
        if trial.incident == incident:
            groups.setdefault((trial.release, trial.arm), []).append(trial)
    rows = []
    for (release, arm), trials in sorted(
        groups.items(), key=lambda item: (natural_key(item[0][0]), arm_key(item[0][1]))
    ):
        hiccups = [trial.hiccup_ms for trial in trials if trial.counts and trial.hiccup_ms]
        waited = [trial.waited_share for trial in trials if trial.counts and trial.waited_share is not None]
        rows.append(
            TrialRow(
                release=release,
                arm=arm,
                planned=len(trials),
                valid=sum(trial.counts for trial in trials),
                deployments=len({trial.deployment for trial in trials}),
                hiccup=quantity(max(hiccups), "ms") if hiccups else "",
                waited=f"{100 * max(waited):.0f} %" if waited else "",
                reasons=tuple(words.removeprefix(f"{arm}: ") for words in claims.not_counted(trials)),
                notes=tuple(words.removeprefix(f"{arm}: ") for words in claims.notable(trials)),
            )
        )
    return tuple(rows)
