"""``mqlab tune INCIDENT --sweep``: deployments of every point, looked at until it is decided, and what they came to."""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from analysis.verdicts.sides import deployments_needed
from analysis.verdicts.sweep import UNDECIDED
from analysis.verdicts.tries import Tries
from harness.errors import EXIT_OK, ConfigurationError, RunDirectoryError, UsageError
from harness.faults.injections import USUAL_INJECTION
from harness.host.abilities import Abilities
from harness.model.cluster import UserSettings
from harness.model.scenario import Scenario, TrialBudget
from harness.model.sweep import Sweep
from harness.plan.request import Request
from harness.releases.jars import recorded_releases
from harness.run.pace import duration, why_slow
from harness.rundir.manifest import USER_SETTING
from harness.rundir.reading import RunDirectory, read_run_directory
from mqlab.ask.looking import prepare
from mqlab.options import print_json, read_settings
from mqlab.own.own_incident import incidents_of
from mqlab.run.analysis_apart import AnalysisApart
from mqlab.run.on_release import on_releases
from mqlab.run.one_trial import params_of
from mqlab.run.resume import Resumed, restore_options
from mqlab.run.running import Job, carry_out, make_ready, plan_of
from mqlab.run.verify import injections_asked
from mqlab.tune.sweep import Asked, Swept, check_settings, check_swept, read_swept, sweep_of, without

if TYPE_CHECKING:
    from analysis.report.sweep import SweepResult

DEPLOYMENTS = 13
"""Of each point, at most: enough for two that disagree."""

INTERVAL = 5
"""So many deployments have an interval, where there is nothing to decide."""


def sweep(options: argparse.Namespace, console: Console) -> int:
    """Run the points, or go on with a run of them; print what is recommended, why, and what it costs."""
    started = time.monotonic()
    more = options.deployments or 0
    resumed = restore_options(options) if options.resume else Resumed()
    options.deployments = max(more, options.deployments or DEPLOYMENTS) if options.resume else more or DEPLOYMENTS
    found = incidents_of(options.incidents, resumed.own)
    options.sweep = options.sweep or [text for one in found for text in one.sweep]
    if len(found) != 1 or not options.sweep:
        raise UsageError(
            "a sweep is of one incident and at least one list of values",
            advice="For example mqlab tune append-stall --sweep broker.waitTimeMillsInSendQueue=100,200,400.",
        )
    swept = [read_swept(text) for text in options.sweep]
    params = params_of(options.param)
    check_swept(swept, [text.partition("=")[0] for text in options.set])
    releases = options.release or recorded_releases()[-1:]
    (scenario,) = on_releases(found, releases)
    asked = Asked(
        scenario=scenario, arm=options.arm or "", releases=tuple(releases), params=params, goal=options.goal or "",
        margin=options.margin / 100, sample=options.sample, seed=options.seed,
    )  # fmt: skip
    sweep_of(asked, swept)
    java = make_ready(console)
    prepare(java, releases, console)
    check_settings(swept, releases)
    user = read_settings(options, releases, console)
    found_sweep, scenario = sweep_of(dataclasses.replace(asked, user=user), swept)
    request = _request(options, scenario, releases, without(user, swept))
    place = AnalysisApart(options=options, java=java, scenarios=(scenario,), console=console, command="tune")
    rounds = Rounds(sweep=found_sweep, request=request, most=options.deployments, analyse=place)
    most_s = plan_of(rounds.at_most()).seconds

    def further(run: Path) -> Request | None:
        wanted = rounds.further(run)
        if wanted is not None and (words := _late(time.monotonic() - started, most_s, plan_of(wanted).seconds)):
            console.print(words, highlight=False)
        return wanted

    job = Job(
        request=rounds.request(), java=java, started=started, notes=_notes(rounds, swept, options), resumed=resumed.note,
        resumed_by="tune", further=further,
    )  # fmt: skip
    return carry_out(job, options, console, lambda path: _judge(path, rounds, options))


def _request(options: argparse.Namespace, scenario: Scenario, releases: Sequence[str], user: UserSettings) -> Request:
    options.injection = (options.injection,) if options.injection else ()
    injections, _ = injections_asked(options, [scenario], "quick")
    request = Request(
        scenarios=[scenario], releases=releases, seed=options.seed, user=user,
        injections=injections or (USUAL_INJECTION,), abilities=Abilities.of_this_host(), backend=options.backend,
    )  # fmt: skip
    for arm, reason in request.left_out(scenario).items():
        raise ConfigurationError(f"arm {arm} cannot be run here: {reason}", advice="See `mqlab doctor`.")
    return request


def _notes(rounds: Rounds, swept: Sequence[Swept], options: argparse.Namespace) -> tuple[str, ...]:
    """Says how long all may take, by the most deployments. Raises UsageError: that is longer than it may."""
    plan = plan_of(rounds.at_most())
    minutes, points = plan.seconds / 60, len(rounds.sweep.points)
    if minutes > options.minutes and not options.resume:
        fits = int(points * options.minutes / minutes)
        fewer = f"--sample {fits}, " if fits >= 2 and not options.sample else ""
        raise UsageError(
            f"{points} points, up to {rounds.most} deployments of each, may take {minutes:.0f} minutes, and --minutes "
            f"allows {options.minutes:g}",
            advice=f"Give fewer values, {fewer}fewer --deployments, or more --minutes.",
        )
    short = f"nothing will be recommended: {points} points take {rounds.needed} deployments of each"
    return (
        *((short,) if rounds.most < rounds.needed else ()),
        f"{points} points; looked at after {rounds.rounds} deployments of each and then until it is decided, at most "
        f"{rounds.most}: up to {duration(plan.seconds)}",
        *(f"{USER_SETTING}{one.key}={','.join(one.values)}, swept" for one in swept),
    )


def _late(elapsed_s: float, said_s: float, round_s: float) -> str:
    """That a sweep lasts longer than was said at its beginning, and what its next round takes; empty where it does not."""
    if elapsed_s + round_s <= said_s:
        return ""
    return (
        f"the sweep takes longer than the {duration(said_s)} that it was to take at most: {duration(elapsed_s)} so far, "
        f"and about {duration(round_s)} for what is undecided still; {why_slow()}"
    )


class Rounds:
    """How many deployments of which points are wanted, and what the recorded ones come to.

    A look is made when the fewest deployments are there that can decide; it is a function of the record alone, so that a run that
    goes on after a kill looks at the same and asks for the same.
    """

    def __init__(self, *, sweep: Sweep, request: Request, most: int, analyse: Callable[[Path], None]) -> None:
        self.sweep, self.most = sweep, most
        self._request, self._analyse = request, analyse
        points = max(map(len, sweep.by_load()))
        self.needed = deployments_needed(0, points - 1) if points > 1 else INTERVAL
        self.rounds = min(most, self.needed)
        every = frozenset(point.arm for point in sweep.points)
        self._wanted: Mapping[str, frozenset[str]] = dict.fromkeys(request.releases, every)

    def request(self) -> Request:
        """So many deployments of the points that are wanted still, on each release."""
        return self._of(self.rounds, self._wanted)

    def at_most(self) -> Request:
        """All that may ever be wanted."""
        every = frozenset(point.arm for point in self.sweep.points)
        return self._of(self.most, dict.fromkeys(self._request.releases, every))

    def _of(self, rounds: int, wanted: Mapping[str, frozenset[str]]) -> Request:
        (scenario,) = self._request.scenarios
        arms = [
            dataclasses.replace(arm, releases=tuple(one for one in self._request.releases if arm.name in wanted[one]))
            for arm in scenario.arms
        ]
        budget = TrialBudget(trials=rounds, deployments=rounds)
        left = dataclasses.replace(scenario, arms=tuple(arm for arm in arms if arm.releases), budget=budget)
        return dataclasses.replace(self._request, scenarios=[left])

    def further(self, run: Path) -> Request | None:
        """What the deployments so far leave undecided, with as many more as may decide it; None when nothing is left to do."""
        found = self.look(run)
        undecided = [
            (one.release, each.choice)
            for one in found.releases
            for each in one.recommended
            if each.choice.kind == UNDECIDED
        ]
        if not undecided or self.rounds >= self.most:
            return None
        self.rounds = min(self.most, max(self.rounds + 1, min(choice.rounds_needed for _, choice in undecided)))
        self._wanted = {
            release: frozenset(
                arm for of, choice in undecided if of == release for arm in (choice.now, *choice.still_in)
            )
            for release in self._request.releases
        }
        return self.request()

    def look(self, run: Path) -> SweepResult:
        """What the first deployments of each point come to, up to the number that is wanted."""
        from analysis.ledger.runs import FINDINGS, read_lines
        from analysis.report.sweep import SweepResult, of_release

        directory = read_run_directory(run)
        self._check_clients(directory)
        complete = {trial.trial for trial in directory.trials if trial.status == "complete"}
        lines = run / FINDINGS
        if not lines.is_file() or not complete <= {
            one.trial for one in read_lines(lines).trials if one.status == "complete"
        }:
            self._analyse(run)
        index = {one.deployment: one.index for one in directory.deployments}
        rows: dict[str, list[Tries]] = {release: [] for release in self._request.releases}
        for trial in read_lines(lines).trials:
            if trial.deployment in index and index[trial.deployment] <= self.rounds:
                name = f"{index[trial.deployment]:03}"
                rows[trial.release] += [dataclasses.replace(row, deployment=name) for row in trial.rows("")]
        predicted = _predicted(run) if self.sweep.goal == "rejected_count" else {}
        return SweepResult(
            sweep=self.sweep,
            deployments_max=self.most,
            releases=tuple(
                of_release(
                    self.sweep,
                    release,
                    of_one,
                    {arm: count for (of, arm), count in predicted.items() if of == release},
                )
                for release, of_one in rows.items()
            ),
        )

    def _check_clients(self, directory: RunDirectory) -> None:
        """Raises ConfigurationError: what is swept never reached a client."""
        swept = {key for point in self.sweep.points for key in point.settings}
        for change in (change for one in directory.deployments for change in one.overrides):
            key, _, values = change.partition(": ")
            if key.startswith("client.") and key in swept:
                raise ConfigurationError(
                    f"{key} is swept, and the load of {self.sweep.incident} sets it itself ({values})",
                    advice="Sweep what the load leaves alone, or a field of the load (load.NAME).",
                )


def _judge(run: Path, rounds: Rounds, options: argparse.Namespace) -> int:
    """Write the reports, and print what it came to."""
    from analysis.report.sweep import lines
    from analysis.report.sweep_page import write_sweep
    from analysis.report.write import write_reports

    result = rounds.look(run)
    page = write_sweep(run, result)
    write_reports(run)
    if options.json:
        print_json(dataclasses.asdict(result))
    else:
        print("\n".join(lines(result)))
        print(page)
    return EXIT_OK


def _predicted(run: Path) -> dict[tuple[str, str], float]:
    """Refusals of any keyword by release and arm, as the model of a stall has them; empty where it does not speak of the run."""
    from analysis.stall_model.document import load_score

    found: dict[tuple[str, str], float] = {}
    try:
        rows = load_score(run).rows
    except RunDirectoryError:
        return found
    for row in rows:
        key = row.release, row.arm
        found[key] = found.get(key, 0.0) + row.predicted
    return found
