"""The ledger, made from the record and the rules alone."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.ledger.lines import ordered
from analysis.ledger.runs import CountedTrial, RecordedRun
from analysis.verdicts.claims import judge, without_lack
from analysis.verdicts.evidence import unit_of
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.sentences import refuting
from analysis.verdicts.settings import settings_of
from analysis.verdicts.tries import Tries
from harness.model.findings import FROM_RECORD, FROM_RUN, FROM_SUMMARY, Earlier, EvidenceLine, Figure, Finding
from harness.model.rules import Claim, Kind, Part, Role
from harness.model.scenario import Scenario
from harness.model.verdicts import Reason, VerdictKind
from tools.recorded.kept_parts import asked_by
from tools.recorded.record import Record, RecordedEvent, Summary

ExperimentOf = Callable[[CountedTrial], str]
"""The hash that a trial of the same cell would have today; empty where there is no such cell any more."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A rule (by its claim) or an experiment (by its cell) that is another one than was recorded."""

    about: str
    was: str
    now: str
    because: str

    def __str__(self) -> str:
        return f"{self.about}: {self.was[:12]} -> {self.now[:12] or 'gone'}  {self.because or 'no reason is given'}"


Cell = tuple[str, str, str]
"""Release, backend and the injection that a claim's trials were made by, empty where there was none to choose."""

NO_TRIAL = "No trial of its present rule and experiment is recorded yet."
EVIDENCE_MAX = 2
"""Lines of a finding; the record of its run has all of them."""

NO_INJECTION = "none"
"""What a run says of a claim of which it had trials without a fault alone, as one that was stopped."""


def recompute(record: Record, scenarios: Sequence[Scenario], experiment_of: ExperimentOf) -> list[Finding]:
    """A line for each claim, release, backend and injection that the record knows of.

    All trials of one experiment are pooled, whichever run they come from. Those of a run that began before the claim's rule
    was as it is today, and those of another experiment, are not in the odds; a counterexample among them refutes all the same.
    A claim that no incident has any more keeps the verdict that it was given, and says so.
    """
    chosen = {(trial.incident, trial.chosen_injection) for run in record.runs for trial in run.trials}

    def cell_of(one: Finding) -> Cell:
        return one.release, one.backend, one.injection if (one.incident, one.injection) in chosen else ""

    told: dict[tuple[str, Cell], list[Summary]] = defaultdict(list)
    for one in record.summaries:
        told[one.claim, cell_of(one)].append(one)
    lines: dict[tuple[str, Cell], Finding] = {}
    shown: dict[tuple[str, Cell], list[_Found]] = defaultdict(list)
    of_scenario = {claim.id: (claim, scenario) for scenario in scenarios for claim in scenario.claims}
    for (claim_id, cell), given in told.items():
        claim = of_scenario[claim_id][0] if claim_id in of_scenario else None
        lines[claim_id, cell] = _summarised(given, claim, record.events)
    for run in record.runs:
        for finding in run.findings:
            cell = cell_of(finding)
            shown[finding.claim, cell].append(_Found(run=run.run, finding=finding))
            earlier = lines.get((finding.claim, cell))
            if earlier is not None and finding.injection == NO_INJECTION:
                finding = dataclasses.replace(finding, injection=earlier.injection)
            lines[finding.claim, cell] = _found(finding, earlier, of_scenario.get(finding.claim, (None,))[0], record)
    made = _made(record, experiment_of)
    for (claim_id, cell), line in lines.items():
        claim, scenario = of_scenario.get(claim_id, (None, None))
        if claim is not None and scenario is not None:
            lines[claim_id, cell] = _judged(line, claim, scenario, record, made, shown[claim_id, cell])
    return ordered(lines.values())


def _summarised(given: Sequence[Summary], claim: Claim | None, events: Sequence[RecordedEvent]) -> Finding:
    # What has no sentence was kept as figures alone, beside the ledger.
    *earlier, last = sorted(given, key=lambda one: (bool(one.summary), one.recorded, one.created))
    same = {one.name: getattr(last, one.name) for one in dataclasses.fields(Finding)}
    return Finding(
        **{
            **same,
            "article": claim.article if claim else "",
            "says": claim.says if claim else "",
            "basis": FROM_SUMMARY,
            "runs": (last.run,),
            "counterexamples": counterexamples(events, last.claim, last.release),
            "earlier": tuple(one.as_earlier() for one in earlier),
        }
    )


def _found(finding: Finding, before: Finding | None, claim: Claim | None, record: Record) -> Finding:
    """A run's own finding; the one before it becomes an earlier one."""
    return dataclasses.replace(
        finding,
        says=claim.says if claim else finding.says,
        basis=FROM_RUN,
        counterexamples=counterexamples(record.events, finding.claim, finding.release),
        earlier=_with_present(before),
    )


def _with_present(line: Finding | None) -> tuple[Earlier, ...]:
    if line is None:
        return ()
    present = Earlier(
        run=", ".join(line.runs), created="", commit=line.rule_commit, verdict=line.verdict, reason=line.reason,
        summary=line.summary, trials=line.trials,
    )  # fmt: skip
    return (*line.earlier, present)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What a run found of a claim in a cell."""

    run: str
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A recorded trial in its run; ``is_of_today``: its experiment is the one that its cell would have now."""

    run: RecordedRun
    trial: CountedTrial
    is_of_today: bool
    rows: Sequence[Tries]


def _made(record: Record, experiment_of: ExperimentOf) -> dict[tuple[str, str, str], list[_Made]]:
    """All trials by incident, release and backend, as they were recorded."""
    found: dict[tuple[str, str, str], list[_Made]] = defaultdict(list)
    for run in record.runs:
        for trial in run.trials:
            today = trial.experiment == experiment_of(trial)
            one = _Made(run=run, trial=trial, is_of_today=today, rows=trial.rows(run.run))
            found[trial.incident, trial.release, trial.backend].append(one)
    return found


def _judged(
    line: Finding,
    claim: Claim,
    scenario: Scenario,
    record: Record,
    made: Mapping[tuple[str, str, str], Sequence[_Made]],
    shown: Sequence[_Found],
) -> Finding:
    """By the rule of today, from all recorded trials of the line's cell; each part from those that it was fixed before."""
    arms = {quantity.arm for quantity in claim.quantities()}
    of_line = [
        one
        for one in made.get((scenario.name, line.release, line.backend), ())
        if (one.trial.chosen_injection or line.injection) == line.injection
    ]
    of_cell = [one for one in of_line if one.trial.arm in arms]
    rules = {one.run.rules.get(claim.id, "") for one in of_cell}
    asked = {rule: asked_by(rule, claim, record.journal) for rule in rules}
    decide = [part.hash() for part in claim.parts]

    def counts(one: _Made, *parts: str) -> bool:
        return one.is_of_today and not asked[one.run.rules.get(claim.id, "")].isdisjoint(parts)

    runs = {one.run.run: one.run for one in of_cell if counts(one, *decide)}
    failed = {name for run in runs.values() for name in run.failed}
    asking = {hashed: [one for one in of_cell if counts(one, hashed)] for hashed in decide}
    tries = {part.hash(): _with_pairs(part, _rows(asking[part.hash()])) for part in claim.parts}
    # What decides nothing needs no rule that was there before it, and may be of arms that decide nothing.
    today = _rows(one for one in of_line if one.is_of_today)
    tries |= {part.hash(): _with_pairs(part, _told_by(part, today)) for part in claim.beside}
    found = judge(claim, tries, failed, line.release)
    now = _rows(one for one in of_cell if counts(one, *decide))
    before = _rows(one for one in of_cell if not counts(one, *decide))
    verdict, reason, summary = found.verdict, found.reason, found.summary
    if not now:
        reason, summary = str(Reason.TOO_FEW_DEPLOYMENTS), f"Undecided (too few deployments): {NO_TRIAL}"
    notes = [f"{len(runs)} run" if len(runs) == 1 else f"replicated in {len(runs)} runs"] if runs else []
    if seen := {row.deployment for row in before}:
        notes.append(
            f"{len(seen)} deployments were seen before the rule, or in another experiment: they are not in the odds"
        )
    unasked = [(part, _rows(one for one in of_cell if not counts(one, part.hash()))) for part in claim.parts]
    if (against := _against(line, unasked, record.events)) and verdict is not VerdictKind.REFUTED:
        present = f"By its present rule: {without_lack(summary)}" if now else NO_TRIAL
        verdict, reason, summary = VerdictKind.REFUTED, "", f"Refuted by what was seen before: {against}. {present}"
    made_by = _made_by(scenario, [one.trial for one in of_cell if counts(one, *decide)])
    return dataclasses.replace(
        found,
        incident=line.incident,
        article=claim.article,
        backend=line.backend,
        injection=made_by or line.injection,
        client=line.client,
        verdict=verdict,
        reason=reason,
        summary=summary,
        rule_commit=line.rule_commit,
        settings=settings_of(claim, scenario),
        basis=FROM_RECORD,
        runs=tuple(runs),
        trials=len({row.trial for row in now}),
        notes=tuple(notes),
        # Until trials are recorded, those that the earlier rule rested on: a short run can be compared with them.
        figures=_figures(claim, now) or line.figures,
        evidence=_shown_by([one for one in shown if one.run in runs], claim, verdict),
        counterexamples=line.counterexamples,
        # What a run found by another rule or experiment is an earlier verdict as soon as none of its trials counts.
        earlier=line.earlier if line.basis == FROM_RUN and now else _with_present(line),
    )


def _shown_by(found: Sequence[_Found], claim: Claim, verdict: VerdictKind) -> tuple[EvidenceLine, ...]:
    """What one of the runs that count showed first: of those that found the same, by today's rule, with most of its parts, the
    newest.

    Where the runs decide it together alone, or by a rule some parts of which went on, it is what one of them showed of its share.
    Lines of a finding that says the opposite are not shown for it.
    """
    rule = claim.rule_hash()
    kinds = {verdict, VerdictKind.UNDECIDED} if verdict is not VerdictKind.UNDECIDED else {*VerdictKind}
    of_kind = [one for one in found if one.finding.evidence and one.finding.verdict in kinds]

    def worth(one: _Found) -> tuple[bool, bool, int]:
        told = one.finding
        return told.verdict is verdict, told.rule_hash == rule, sum(bool(part.tries) for part in told.parts)

    best = max(reversed(of_kind), key=worth, default=None)
    if best is None:
        return ()
    return tuple(dataclasses.replace(line, run=best.run) for line in best.finding.evidence[:EVIDENCE_MAX])


def _made_by(scenario: Scenario, trials: Sequence[CountedTrial]) -> str:
    """How the faults of trials were made, in the order of the incident's arms; empty where that was chosen, or there are none.

    The last run may have had some of a claim's arms alone.
    """
    if any(trial.chosen_injection for trial in trials):
        return ""
    arms = [arm.name for arm in scenario.arms]
    in_order = sorted(trials, key=lambda trial: (arms.index(trial.arm), trial.injection))
    return ", ".join(dict.fromkeys(trial.injection for trial in in_order if trial.injection != NO_INJECTION))


def _rows(of: Iterable[_Made]) -> list[Tries]:
    return [row for one in of for row in one.rows]


def _against(line: Finding, unasked: Iterable[tuple[Part, list[Tries]]], events: Sequence[RecordedEvent]) -> str:
    """A verified counterexample of what was recorded before a part was as it is, in words; empty where there is none."""
    never = [(part, rows) for part, rows in unasked if part.kind is Kind.UNIVERSAL and part.role is Role.CLAIM]
    if not never:
        return ""
    kept = [one.says for one in events if one.verified and (one.claim, one.release) == (line.claim, line.release)]
    found = [judge_part(part, rows) for part, rows in never]
    kept += [refuting(part) for part in found if part.verdict is VerdictKind.REFUTED]
    return "; ".join(kept)


def _told_by(part: Part, rows: Iterable[Tries]) -> list[Tries]:
    """Those of the arms that the part asks."""
    arms = {quantity.arm for quantity in part.quantities()}
    return [row for row in rows if row.arm in arms]


def _with_pairs(part: Part, rows: Sequence[Tries]) -> list[Tries]:
    """A comparison needs both of its arms from one run."""
    arms = {quantity.arm for quantity in part.quantities()}
    had: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        had[row.trial.partition("/")[0]].add(row.arm)
    return [row for row in rows if arms <= had[row.trial.partition("/")[0]]]


def _figures(claim: Claim, rows: Iterable[Tries]) -> tuple[Figure, ...]:
    """Of the judged measures, over all deployments that count."""
    cells: dict[tuple[str, str, str], list[Tries]] = defaultdict(list)
    wanted = {(quantity.measure, quantity.arm) for quantity in claim.quantities()}
    for row in rows:
        if (row.measure, row.arm) in wanted and row.tries and row.counts:
            cells[row.measure, row.arm, str(sorted(row.where.items()))].append(row)
    return tuple(_figure(of) for of in cells.values())


def _figure(rows: Sequence[Tries]) -> Figure:
    tries = [one for row in rows for one in row.tries]
    return Figure(
        name=rows[0].measure,
        arm=rows[0].arm,
        params=dict(rows[0].where),
        unit=unit_of(rows[0].measure),
        deployments=len({row.deployment for row in rows}),
        tries=len(tries),
        p50=statistics.median(one.median for one in tries),
        min=min(one.min for one in tries),
        max=max(one.max for one in tries),
        censored=sum(one.censored for one in tries),
    )


def counterexamples(events: Sequence[RecordedEvent], claim: str, release: str) -> tuple[str, ...]:
    """Those of a claim in a release, each with whether it is verified."""
    return tuple(
        f"{'verified' if event.verified else 'unverified'}: {event.says}"
        for event in events
        if (event.claim, event.release) == (claim, release)
    )


def changes_of(record: Record, scenarios: Sequence[Scenario], experiment_of: ExperimentOf) -> list[Change]:
    """Rules and experiments that are not as the newest run that tried them had them, each with the reason that was given."""
    given = {
        (entry.about, entry.hash): entry.because for kind in ("rule", "experiment") for entry in record.journal.of(kind)
    }
    was: dict[str, str] = {}
    now = {claim.id: claim.rule_hash() for scenario in scenarios for claim in scenario.claims}
    for run in record.runs:
        was |= run.rules
        was |= {trial.cell_name: trial.experiment for trial in run.trials}
        now |= {trial.cell_name: experiment_of(trial) for trial in run.trials}
    return [
        Change(about=name, was=old, now=now.get(name, ""), because=given.get((name, now.get(name, "")), ""))
        for name, old in was.items()
        if now.get(name, "") != old
    ]
