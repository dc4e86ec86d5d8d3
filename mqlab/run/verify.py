"""``mqlab verify``: from options to a request that is carried out and judged."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator, Sequence

from rich.console import Console

import scenarios
from analysis.analyst import analyst_at
from harness.errors import ConfigurationError, UsageError
from harness.faults.injections import USUAL_INJECTION, injections_of
from harness.host.abilities import Abilities
from harness.model.faults import JavaRule
from harness.model.scenario import Scenario
from harness.plan.parts import parts_of
from harness.plan.request import BudgetName, Request
from harness.releases.jars import recorded_releases
from harness.releases.rules import check_own_rules
from mqlab.ask.looking import prepare
from mqlab.kinds import INCIDENTS, NAMES, NEW_FOLDER, PART, SEED, whole
from mqlab.options import (
    DEFAULT_RUNS,
    Adder,
    add_analysis,
    add_backend_options,
    add_bundle,
    add_releases,
    add_settings,
    read_settings,
)
from mqlab.own.own_incident import SUFFIX, incidents_of
from mqlab.run.judging import judge, place_of_analyst
from mqlab.run.on_release import builds_told, not_there, on_releases
from mqlab.run.resume import Resumed, add_resume, require_resumed, restore_options
from mqlab.run.running import Job, carry_out, make_ready


def add_command(add: Adder) -> None:
    """``verify``."""
    command = add("verify", verify, "run incidents and judge their claims")
    command.add_argument(
        "incidents",
        nargs="*",
        type=INCIDENTS,
        metavar="INCIDENT",
        help="see `mqlab explain`; also a family of claims (BUSY, POOL, ...), which is all incidents that judge one, or a file "
        "of your own (`mqlab new`); none: a quick run of two",
    )
    command.add_argument("--all", action="store_true", help="every incident")
    command.add_argument(
        "--part",
        type=PART,
        metavar="K/N",
        help="of these the part K of N, each of which takes 90 minutes at most by the plan",
    )
    command.add_argument("--quick", action="store_true", help="fewer trials and cells: minutes instead of an hour")
    command.add_argument(
        "--arm", type=NAMES, default=(), metavar="ARM,ARM", help="only these arms; their claims may stay undecided"
    )
    add_releases(command, "all that are recorded; a quick run without incidents: the oldest and the newest")
    command.add_argument(
        "--trials", type=whole(1, 100), metavar="N", help="trials a cell instead of the scenario's own number"
    )
    command.add_argument(
        "--injection",
        type=NAMES,
        default=(),
        metavar="NAME,NAME",
        help="how appends are stalled: byteman (in the broker's JVM), freeze (of the store's file system; needs root); "
        "default: byteman, and in a full run freeze where this host can",
    )
    command.add_argument("--seed", type=SEED, default=1, help="draws orders and phases; default: 1")
    command.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    add_resume(command, "go on with an interrupted run, as it was started")
    command.add_argument(
        "--register", action="store_true", help="a run for the record of this checkout: it gets in whatever it shows"
    )
    command.add_argument("--plan", action="store_true", help="say what would be run, how long it takes, and stop")
    add_bundle(command)
    command.set_defaults(verb="verify", of_bundle=False)
    add_backend_options(command)
    add_settings(command)
    add_analysis(command)


def verify(options: argparse.Namespace, console: Console) -> int:
    """Run incidents and judge their claims; returns the exit code of the verdicts."""
    started = time.monotonic()
    require_resumed(options)
    if options.register and options.resume:
        raise UsageError(
            "a run is registered when it starts", advice="Start it with --register; --resume goes on with it."
        )
    if options.part and not (options.all or options.incidents):
        raise UsageError("--part is of several incidents", advice="Give --all, or name them or their families.")
    if options.register and any(word.endswith(SUFFIX) for word in options.incidents):
        raise UsageError("the record is of the lab's own incidents", advice="Leave --register out for one of yours.")
    resumed = restore_options(options) if options.resume else Resumed()
    java = make_ready(console)
    budget: BudgetName = "quick" if options.quick or not (options.incidents or options.all) else "full"
    unnamed = scenarios.ALL if options.all else scenarios.QUICK
    chosen = incidents_of(options.incidents, resumed.own) or list(unnamed)
    unnamed_quick = budget == "quick" and not options.incidents and not options.all
    default = (recorded_releases()[0], recorded_releases()[-1]) if unnamed_quick else recorded_releases()
    releases = options.release or default
    arms = _arms(options.arm, chosen)
    injections, injection_notes = injections_asked(options, chosen, budget)
    answer_first = budget == "quick" and not any(word.endswith(SUFFIX) for word in options.incidents)
    with contextlib.ExitStack() as beside:
        analyst = None
        if answer_first and not options.plan:
            # Before the downloads, which leave it the cores.
            analyst = beside.enter_context(analyst_at(place_of_analyst(options, java.home)))
        prepare(java, releases, console)
        notes = (*injection_notes, *not_there(chosen, releases), *builds_told(releases))
        chosen = on_releases(chosen, releases)
        for release in releases:
            check_own_rules((rule for one in chosen for rule in _own_rules(one, release)), release, java)
        user = read_settings(options, releases, console)
        request = Request(
            scenarios=chosen, releases=releases, budget=budget, trials=options.trials, seed=options.seed, arms=arms,
            user=user, injections=injections, abilities=Abilities.of_this_host(),
            backend=options.backend, answer_first=answer_first,
        )  # fmt: skip
        if options.part:
            request = _part(options.part, request)
            notes = (*notes, f"part {options.part} of {', '.join(options.incidents) or '--all'}")
        job = Job(request=request, java=java, started=started, notes=notes, resumed=resumed.note, analyst=analyst)
        judged = request.scenarios
        return carry_out(job, options, console, lambda path: judge(path, judged, options, java, console, analyst))


def _own_rules(scenario: Scenario, release: str) -> Iterator[JavaRule]:
    for arm in scenario.arms:
        if not arm.releases or release in arm.releases:
            yield from (fault for fault in arm.faults if isinstance(fault, JavaRule))


def _part(text: str, request: Request) -> Request:
    number, _, count = text.partition("/")
    if int(number) > int(count):
        raise UsageError(
            f"--part {text}: there is no such part", advice=f"Give --part {count}/{count} for the last one."
        )
    return parts_of(request, int(count))[int(number) - 1]


def _arms(names: tuple[str, ...], chosen: Sequence[Scenario]) -> tuple[str, ...]:
    known = {arm.name for scenario in chosen for arm in scenario.arms}
    for name in names:
        if name not in known:
            raise UsageError.unknown("arm", name, known)
    return names


def injections_asked(
    options: argparse.Namespace, chosen: Sequence[Scenario], budget: BudgetName
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The injections, a note of the incidents that have no choice, and one for each that a full run would have taken and that
    this host cannot."""
    offered = {name: injection for scenario in chosen for name, injection in injections_of(scenario).items()}
    asked = options.injection
    known = {*offered, *(name for scenario in chosen for name in scenario.injections)}
    for name in asked:
        if name not in known:
            raise UsageError.unknown("injection", name, known)
    others = [one.name for one in chosen if asked and not injections_of(one) and not set(asked) & set(one.injections)]
    left = (f"--injection {', '.join(asked)} changes nothing of {', '.join(others)}",) if others else ()
    wanted = asked or (tuple(offered) if budget == "full" else (USUAL_INJECTION,))
    obstacles = {
        name: reason
        for name in wanted
        if name in offered and (reason := offered[name].can(Abilities.of_this_host())) is not None
    }
    if asked and obstacles:
        name, reason = next(iter(obstacles.items()))
        raise ConfigurationError(f"--injection {name} cannot be done here: {reason}", advice="See `mqlab doctor`.")
    injections = tuple(name for name in wanted if name not in obstacles)
    if offered:
        # A resumed run makes the trials that it planned, whatever this host can by then.
        options.injection = injections
    missed = (f"appends were not stalled by {name}: {reason}" for name, reason in obstacles.items())
    return injections, (*left, *missed)
