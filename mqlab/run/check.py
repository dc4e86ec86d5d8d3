"""``mqlab check``: what is different on a release, beside the measured one next to it, within minutes that one gives.

A full run repeats what is known, mostly. A check has one cluster for each arm first, those first whose answer is the likeliest
to be another one for the minutes that it takes. What lies on the same side of its rule as on the reference is left at that; what
does not is repeated until the usual rule decides. So a verdict of a check is a verdict, and what one cluster agrees on is called
so.

It may miss what is seen now and then only, what changed by less than its rule asks for, and what it had no minutes left for.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import scenarios
from analysis.ledger.checked import OPEN, CheckedClaim, Outcome, checked, lines
from analysis.verdicts.order import natural_key
from harness.errors import EXIT_OK, ConfigurationError, UsageError
from harness.faults.injections import USUAL_INJECTION
from harness.host.abilities import Abilities
from harness.host.facts import Host, host_of_plan
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from harness.plan.request import Request
from harness.plan.schedule import CORES_SHARE, NODE_CORE_S, make_plan
from harness.releases.central import version_key
from harness.releases.jars import recorded_releases
from harness.run.pace import duration
from harness.rundir.reading import read_run_directory
from mqlab.ask.carried import LOCAL, alike, beside, other_code
from mqlab.ask.looking import prepare
from mqlab.ask.recorded import committed_ledger, usual_verdicts
from mqlab.kinds import INCIDENTS, NEW_FOLDER, RELEASE, SEED, number
from mqlab.options import DEFAULT_RUNS, Adder, add_analysis, add_releases, print_json
from mqlab.own.own_incident import SUFFIX, incidents_of
from mqlab.run.analysis_apart import AnalysisApart
from mqlab.run.on_release import builds_told, not_there, on_releases
from mqlab.run.resume import Resumed, add_resume, require_resumed, restore_options
from mqlab.run.running import Job, carry_out, make_ready, plan_of

FIRST_S = 150.0
"""The first answers come so soon, by the plan, Spark's start included."""

LOOKS_SHARE = 0.5
"""Of the time that is left, what first looks may take at a time: the rest is for repeating what they show."""
LAST_S = 480.0
"""With less time than this left nothing of it is kept for repeating."""

SAME_CODE, OTHER_CODE, BOTH_SIDES = 0.01, 0.19, 0.5
"""How likely a verdict is another one: between the recorded releases 4 of 302 pairs of verdicts differ whose claims cite the same
code, and 350 of 1,840 of the others. Where the releases on both sides differ, this one is not as one of them."""

EARLIER_TRIAL_S = 0.2
"""Of the analysis, for each trial of the steps before."""


def add_command(add: Adder) -> None:
    """``check``."""
    command = add("check", check, "what is different on a release: an hour's check beside the measured one next to it")
    command.add_argument(
        "incidents", nargs="*", type=INCIDENTS, metavar="INCIDENT",
        help="of these alone, or of families of claims; default: of all",
    )  # fmt: skip
    add_releases(command, "none: name the one that is to be checked")
    command.add_argument(
        "--against", type=RELEASE, metavar="RELEASE",
        help="the recorded release to compare with; default: the nearest by its number",
    )  # fmt: skip
    command.add_argument(
        "--minutes", type=number(3, 600), default=60.0, metavar="N", help="to take at most; default: 60"
    )
    command.add_argument("--seed", type=SEED, default=1, help="draws orders and phases; default: 1")
    command.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    add_resume(command, "go on with a check, for --minutes more")
    command.add_argument(
        "--register", action="store_true", help="a run for the record of this checkout: it gets in whatever it shows"
    )
    command.add_argument("--plan", action="store_true", help="say in which order it would look, and stop")
    add_analysis(command)
    command.set_defaults(
        verb="check", all=False, quick=False, trials=None, bundle=None, topology=None, of_bundle=False,
        backend=LOCAL, image=None, broker_conf=None, set=(), arm=(), injection=(), part=None,
    )  # fmt: skip


def check(options: argparse.Namespace, console: Console) -> int:
    """Look, repeat what looks different, and print what is different, as on the reference, and not settled."""
    started = time.monotonic()
    require_resumed(options)
    resumed = restore_options(options) if options.resume else Resumed()
    if len(options.release) != 1:
        raise UsageError("a check is of one release", advice="Name it: mqlab check --release 5.1.4.")
    if any(word.endswith(SUFFIX) for word in options.incidents):
        raise UsageError(
            "nothing is recorded of an incident of your own",
            advice="mqlab verify FILE --release R,R compares two releases by it.",
        )
    (release,) = options.release
    against = options.against = options.against or _nearest(release)
    if against not in recorded_releases() or against == release:
        raise UsageError(
            f"--against {against}: {'is the release itself' if against == release else 'nothing is recorded of it'}",
            advice=f"Give one of {', '.join(one for one in recorded_releases() if one != release)}.",
        )
    java = make_ready(console)
    prepare(java, options.release, console)
    found = on_releases(incidents_of(options.incidents, resumed.own) or scenarios.ALL, options.release)
    reference = reference_of(against, found)
    request = Request(
        scenarios=found, releases=options.release, seed=options.seed, injections=(USUAL_INJECTION,),
        abilities=Abilities.of_this_host(), backend=LOCAL,
    )  # fmt: skip
    steps = Steps(
        request=request, reference=reference, chances=dict(chances(found, reference, release)), host=host_of_plan(),
        deadline_s=started + 60 * options.minutes, console=console,
        analyse=AnalysisApart(options=options, java=java, scenarios=found, console=console, command="check"),
    )  # fmt: skip
    if not steps.looks:
        raise ConfigurationError(
            f"nothing that is decided on {against} can be run on {release} here",
            advice="`mqlab doctor` says what this host can do.",
        )
    if options.plan:
        print("\n".join(steps.planned(options.minutes)))
        return EXIT_OK
    notes = (
        f"A check of {release} beside {against}, of {options.minutes:g} minutes: one cluster an arm first, and what differs again.",
        *not_there(found, options.release),
        *builds_told(options.release),
    )
    job = Job(
        request=steps.first(), java=java, started=started, notes=notes, resumed=resumed.note, resumed_by="check",
        further=steps.further,
    )  # fmt: skip
    return carry_out(job, options, console, lambda run: _judge(run, steps, options))


def _nearest(release: str) -> str:
    near = [one for one in beside(release) if one != release]
    if not near:
        raise UsageError(
            f"{release} is measured itself",
            advice=f"mqlab explain has its verdicts; --against {recorded_releases()[0]} checks it all the same.",
        )
    return max(near, key=lambda one: alike(version_key(one), version_key(release)))


def reference_of(release: str, found: Sequence[Scenario]) -> list[Finding]:
    """What is decided there of these incidents, on local processes, by the usual injection; one line a claim."""
    lines_of: dict[str, Finding] = {}
    for line in usual_verdicts(found):
        if line.release == release:
            lines_of.setdefault(line.claim, line)
    return [lines_of[claim] for claim in sorted(lines_of, key=natural_key)]


def chances(found: Sequence[Scenario], reference: Sequence[Finding], release: str) -> Iterator[tuple[str, float]]:
    """By claim, how likely its verdict is another one than the reference's."""
    lines_of = {line.claim: line for line in reference}
    others = {*beside(release)} - {release, *(line.release for line in reference)}
    elsewhere = {(line.claim, line.injection): line.verdict for line in usual_verdicts(found) if line.release in others}
    for scenario in found:
        arms = {arm.name: arm for arm in scenario.arms}
        for claim in scenario.claims:
            if (line := lines_of.get(claim.id)) is None:
                continue
            other = elsewhere.get((claim.id, line.injection))
            asked = [arms[quantity.arm] for quantity in claim.quantities() if quantity.arm in arms]
            if other is not None and other is not line.verdict:
                yield claim.id, BOTH_SIDES
            else:
                yield claim.id, OTHER_CODE if other_code(claim, asked, line.release, release) else SAME_CODE


@dataclass(frozen=True, kw_only=True)
class Look:
    """Some arms of an incident, and those of its deployments that are asked for; what it may tell, and what it takes alone."""

    scenario: Scenario
    deployments: tuple[int, ...]
    gain: float
    seconds: float

    @property
    def worth(self) -> float:
        """What a second of it may tell."""
        return self.gain / max(self.seconds, 1.0)


class Steps:
    """What is to be run next: a function of what the run's folder holds and of the time that is left."""

    def __init__(
        self, *, request: Request, reference: Sequence[Finding], chances: Mapping[str, float], host: Host,
        deadline_s: float, console: Console, analyse: Callable[[Path], None], clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.reference, self.chances = reference, chances
        self._request, self._host, self._deadline_s = request, host, deadline_s
        self._console, self._analyse = console, analyse
        self._clock, self._started_s = clock, clock()
        self.looks = sorted(filter(None, map(self._first_look, request.scenarios)), key=lambda one: -one.worth)

    @property
    def release(self) -> str:
        """The one that is checked."""
        return self._request.releases[0]

    def planned(self, minutes: float) -> Iterator[str]:
        """The order of the first looks, what each takes by itself, and where the minutes end."""
        yield (
            f"{self.release} beside {self.reference[0].release}. In this order, with how many of its verdicts are expected to "
            "differ, by how often the record's do:"
        )
        together_s, is_over = 0.0, False
        for one in self.looks:
            together_s += one.seconds
            if together_s > 60 * minutes and not is_over:
                is_over = True
                yield f"  ---- here {minutes:g} minutes end, one after another, without what is to be repeated ----"
            yield f"  {one.scenario.name:45} {duration(one.seconds):>12}  {one.gain:.2f}"
        yield f"all together {duration(together_s)}; what looks different is repeated first, until the usual rule decides"

    def first(self) -> Request:
        """The step that gives the first answers."""
        taken = self._fitting(self.looks, FIRST_S, 0) or self.looks[:1]
        asked = self._of(taken)
        names = {one.scenario.name for one in taken}
        others = [one for one in self._request.scenarios if one.name not in names]
        # All that a check may come to stand in its manifest.
        return dataclasses.replace(
            asked, scenarios=[*asked.scenarios, *others], deployments={**asked.deployments, **{one.name: () for one in others}}
        )  # fmt: skip

    def further(self, run: Path) -> Request | None:
        """What is to be repeated, and then what is to be looked at, as it fits into the time that is left."""
        rows = self.look(run)
        directory = read_run_directory(run)
        seen = {(one.incident, one.index) for one in directory.deployments}
        left_s = self._deadline_s - self._clock()
        trials = len(directory.trials)
        repeated = self._fitting(list(self._repeats(rows, seen)), left_s, trials)
        new = [one for one in self.looks if (one.scenario.name, 1) not in seen]
        looks_s = left_s if left_s < LAST_S else LOOKS_SHARE * left_s
        taken = self._fitting(new, looks_s, trials, repeated)
        found = {kind: sum(one.outcome is kind for one in rows) for kind in Outcome}
        told = ", ".join(f"{count} {kind}" for kind, count in found.items() if count and kind is not Outcome.NOT_RUN)
        self._console.print(
            f"after {duration(self._clock() - self._started_s)}: {told or 'nothing yet'}; "
            f"next {len(repeated)} to repeat, {len(taken) - len(repeated)} to look at, of {len(new)} that are left",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        return self._of(taken) if taken else None

    def look(self, run: Path) -> list[CheckedClaim]:
        """Analyse what there is, and hold it against the reference."""
        from analysis.report.document import load_findings

        self._analyse(run)
        return checked(load_findings(run).findings, self.reference)

    def _first_look(self, scenario: Scenario) -> Look | None:
        """One deployment of the arms of its claims, of those alone that cite other code where there are any."""
        by_chance = {claim.id: self.chances[claim.id] for claim in scenario.claims if claim.id in self.chances}
        likely = {name: chance for name, chance in by_chance.items() if chance > SAME_CODE} or by_chance
        return self._of_claims(scenario, likely, (1,)) if likely else None

    def _repeats(self, rows: Sequence[CheckedClaim], seen: set[tuple[str, int]]) -> Iterator[Look]:
        """The other deployments of the arms of what looks different, of each incident once."""
        by_incident: dict[str, dict[str, float]] = {}
        for row in rows:
            if row.outcome is Outcome.LOOKS_DIFFERENT:
                by_incident.setdefault(row.incident, {})[row.claim] = 1.0
        for scenario in self._request.scenarios:
            number = self._request.budget_of(scenario).deployments
            if scenario.name in by_incident and (scenario.name, number) not in seen and number > 1:
                look = self._of_claims(scenario, by_incident[scenario.name], tuple(range(2, number + 1)))
                if look is not None:
                    yield look

    def _of_claims(self, scenario: Scenario, gains: Mapping[str, float], deployments: tuple[int, ...]) -> Look | None:
        asked = {quantity.arm for claim in scenario.claims if claim.id in gains for quantity in claim.quantities()}
        left = dataclasses.replace(scenario, arms=tuple(arm for arm in scenario.arms if arm.name in asked))
        plan = plan_of(self._asking([left], {scenario.name: deployments}))
        if not any(plan.trials()):
            return None
        seconds = 0.0
        for one in plan.deployments():
            beside_others = not (one.needs.alone or one.needs.no_boots_meanwhile)
            share = min(1.0, one.cores / (CORES_SHARE * self._host.cores)) if beside_others else 1.0
            boot_s = NODE_CORE_S * one.topology.nodes / self._host.cores if beside_others else one.boot_s
            seconds += boot_s + share * one.seconds
        return Look(scenario=left, deployments=deployments, gain=sum(gains.values()), seconds=seconds)

    def _fitting(self, looks: Sequence[Look], seconds: float, trials: int, taken: Sequence[Look] = ()) -> list[Look]:
        """``taken``, and of the looks in their order each that still fits beside what was taken, by the plan of all together."""
        chosen = list(taken)
        for one in sorted(looks, key=lambda look: -look.worth):
            if one.seconds <= seconds and self._seconds_of([*chosen, one]) + EARLIER_TRIAL_S * trials <= seconds:
                chosen.append(one)
        return chosen

    def _seconds_of(self, looks: Sequence[Look]) -> float:
        return make_plan(self._of(looks), self._host).seconds

    def _of(self, looks: Sequence[Look]) -> Request:
        return self._asking([one.scenario for one in looks], {one.scenario.name: one.deployments for one in looks})

    def _asking(self, found: Sequence[Scenario], deployments: Mapping[str, tuple[int, ...]]) -> Request:
        return dataclasses.replace(self._request, scenarios=found, deployments=deployments)


def _judge(run: Path, steps: Steps, options: argparse.Namespace) -> int:
    from analysis.report.document import load_findings
    from analysis.report.terminal import exit_code
    from analysis.report.write import write_reports

    findings = load_findings(run).findings
    rows = checked(findings, steps.reference)
    write_reports(run, committed_ledger())
    reference = steps.reference[0].release
    if options.json:
        print_json(
            {"release": steps.release, "reference": reference, "claims": [dataclasses.asdict(one) for one in rows]}
        )
    else:
        same = {claim: chance == SAME_CODE for claim, chance in steps.chances.items()}
        print("\n".join(lines(rows, release=steps.release, reference=reference, same_code=same)))
        if any(one.outcome in (*OPEN, Outcome.NOT_RUN) for one in rows):
            print(f"\nTo go on: mqlab check --resume {run} --minutes N")
    ours = [one for one in findings if one.trials]
    return exit_code(ours, options.strict)
