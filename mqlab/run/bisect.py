"""``mqlab bisect``: which release changed a verdict, measured at both sides of each boundary.

Verdicts come and go again, so that halving alone would miss boundaries. What is recorded is known; each release whose cited code
differs from that of both its neighbours is measured; then each interval with unlike ends is halved, until the two releases of
every boundary are neighbours. A release between two of its own code and verdict is not measured, and stands as such in the
answer.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import scenarios
from analysis.ledger.since import BOTH, RECORDED, Bisected, Boundary, Measured, as_told, chance_of, counts_of
from analysis.verdicts.claims import without_lack
from harness.errors import EXIT_OK, ConfigurationError, LabError, ReleaseError, UsageError
from harness.faults.injections import USUAL_INJECTION
from harness.host.abilities import Abilities
from harness.model.findings import Finding
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.plan.request import Request
from harness.releases.central import releases_between, version_key
from harness.releases.compare import compare, names_in, rests_on
from harness.releases.java import Java
from harness.run.pace import duration
from mqlab.ask.carried import LOCAL
from mqlab.ask.looking import prepare
from mqlab.ask.recorded import committed_ledger, committed_since, usual_verdicts
from mqlab.kinds import NEW_FOLDER, RELEASE, SEED, one_of
from mqlab.options import DEFAULT_RUNS, Adder, add_analysis, print_json
from mqlab.run.analysis_apart import AnalysisApart
from mqlab.run.on_release import on_releases
from mqlab.run.running import Job, carry_out, make_ready, plan_of

CLIENT, BROKER = "client", "broker"


def _claims() -> list[str]:
    return [claim.id for scenario in scenarios.ALL for claim in scenario.claims]


def add_command(add: Adder) -> None:
    """``bisect``."""
    command = add("bisect", bisect, "which release changed a verdict: measured at both sides of each boundary")
    command.add_argument("claim", type=one_of("claim", _claims), metavar="CLAIM", help="see `mqlab explain`")
    command.add_argument("--from", dest="before", type=RELEASE, required=True, metavar="RELEASE")
    command.add_argument("--to", dest="after", type=RELEASE, required=True, metavar="RELEASE")
    command.add_argument(
        "--moves", choices=(BOTH, CLIENT, BROKER), default=BOTH,
        help="whose release moves; of the other one it is that of --to. Default: both move together",
    )  # fmt: skip
    command.add_argument("--seed", type=SEED, default=1, help="draws orders and phases; default: 1")
    command.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR",
        help="where the run directory of each release goes; those that are there are not run again; default: a new one in "
        f"{DEFAULT_RUNS}/",
    )  # fmt: skip
    command.add_argument(
        "--plan", action="store_true", help="say what is known, what is run first, how long it takes, and stop"
    )
    add_analysis(command)
    command.set_defaults(
        verb="verify", all=False, quick=False, trials=None, bundle=None, topology=None, of_bundle=False, resume=None,
        anyway=False, trust=False, backend=LOCAL, image=None, broker_conf=None, set=(), injection=(), part=None, register=False,
    )  # fmt: skip


def next_release(order: Sequence[str], known: Mapping[str, VerdictKind | None], code: Mapping[str, str]) -> str | None:
    """The release to measure next; None when each boundary lies between neighbours.

    ``order`` are the releases from the oldest; ``known`` those that were measured, None where that decided nothing; ``code`` is
    equal for releases whose cited code is the same.
    """
    for end in (order[0], order[-1]):
        if end not in known:
            return end
    for before, one, after in zip(order, order[1:], order[2:], strict=False):
        if one not in known and code[one] not in (code[before], code[after]):
            return one
    decided = [one for one in order if known.get(one) is not None]
    for before, after in itertools.pairwise(decided):
        between = [one for one in order[order.index(before) + 1 : order.index(after)] if one not in known]
        if between and known[before] is not known[after]:
            # Where the code changes is the likeliest place.
            changes = [pair for pair in itertools.pairwise([before, *between, after]) if code[pair[0]] != code[pair[1]]]
            at_change = [one for one in changes[len(changes) // 2] if one in between] if changes else []
            return at_change[0] if at_change else between[len(between) // 2]
    return None


def boundaries(order: Sequence[str], known: Mapping[str, VerdictKind | None]) -> list[tuple[str, str]]:
    """The neighbours, of those that were decided, whose verdicts differ."""
    decided = [one for one in order if known.get(one) is not None]
    return [(a, b) for a, b in itertools.pairwise(decided) if known[a] is not known[b]]


def bisect(options: argparse.Namespace, console: Console) -> int:
    """Measure until each boundary lies between neighbours, and name each with what differs in the code."""
    if version_key(options.before) >= version_key(options.after):
        raise UsageError(f"--from {options.before} is not older than --to {options.after}", advice="Exchange them.")
    scenario, claim = _claim(options.claim)
    java = make_ready(console)
    order = [options.before, *releases_between(options.before, options.after), options.after]
    left_out: dict[str, str] = {}
    for release in tuple(order):
        try:
            prepare(java, (release,), console)
        except LabError as error:
            if release in (options.before, options.after):
                raise
            left_out[release] = error.message
            order.remove(release)
    code = {release: _code(claim, release) for release in order}
    held = "" if options.moves == BOTH else options.after
    known = dict(_bisected(claim, options.moves, held, order))
    known |= _recorded(scenario, claim, order if options.moves == BOTH else (options.after,))
    work = _Work(options=options, console=console, java=java, scenario=scenario, claim=claim)
    if len({code[one] for one in order}) == 1 and len({known[one].verdict for one in known}) == 1 and len(known) > 1:
        raise UsageError(
            f"{claim.id} is {next(iter(known.values())).verdict} on {' and '.join(known)}, and no release between has other code",
            advice="Give releases whose verdicts differ: mqlab explain shows them.",
        )

    def came_to() -> Bisected:
        edges = boundaries(order, _verdicts(known))
        return Bisected(
            claim=claim.id,
            moves=options.moves,
            releases=tuple(known[one] for one in order if one in known),
            boundaries=tuple(
                Boundary(before=a, after=b, differs=_differing(claim, a, b), chance=chance_of(known[a], known[b]))
                for a, b in edges
            ),
            not_measured=tuple(one for one in order if one not in known),
            left_out=tuple(left_out.items()),
            rule_hash=claim.rule_hash(),
            held=held,
        )

    if options.plan:
        print("\n".join(_planned(order, came_to(), code, work)))
        return EXIT_OK
    known |= {one: work.measure(one) for one in order if one not in known and work.is_there(one)}
    while (release := next_release(order, _verdicts(known), code)) is not None:
        known[release] = work.measure(release)
        console.print(f"{release}: {known[release].verdict}: {known[release].says}", markup=False, highlight=False)
    found = came_to()
    if options.json:
        print_json(dataclasses.asdict(found))
    else:
        print("\n".join(_told(claim, order, found, code)))
    return EXIT_OK


def _claim(name: str) -> tuple[Scenario, Claim]:
    return next((scenario, claim) for scenario in scenarios.ALL for claim in scenario.claims if claim.id == name)


def _cited(claim: Claim) -> tuple[str, ...]:
    """The classes and members that its expectations name, of whichever recorded release."""
    return tuple(dict.fromkeys(name for one in claim.expected.values() for name in names_in(one.source)))


def _code(claim: Claim, release: str) -> str:
    """Equal for releases whose cited code, down to what that calls itself, is the same."""
    found = []
    for name in _cited(claim):
        rests = _rests_on(name, release)
        found.append(f"{name} is not there" if rests is None else f"{name} {','.join(sorted(rests))}")
    return "\n".join(found)


def _rests_on(name: str, release: str) -> frozenset[str] | None:
    """What a class or member calls, down to what that calls itself; None where the release does not have it."""
    try:
        return rests_on(name, release)
    except ReleaseError:
        return None


def _differing(claim: Claim, before: str, after: str) -> tuple[str, ...]:
    """What of the cited code differs, a member each."""
    found = []
    for name in _cited(claim):
        lacks = [release for release in (before, after) if _rests_on(name, release) is None]
        # What neither has is nothing that differs.
        if len(lacks) == 1:
            found.append(f"{name}, which {lacks[0]} does not have")
        elif not lacks and _rests_on(name, before) != _rests_on(name, after):
            change = compare(name, before, after)
            found.append(name if change.concerned else f"{name}, in what it calls")
    return tuple(dict.fromkeys(found))


def _recorded(scenario: Scenario, claim: Claim, order: Sequence[str]) -> dict[str, Measured]:
    return {
        line.release: _measured(line, RECORDED)
        for line in usual_verdicts([scenario])
        if line.claim == claim.id and line.release in order
    }


def _bisected(claim: Claim, moves: str, held: str, order: Sequence[str]) -> Iterator[tuple[str, Measured]]:
    """What bisections that are kept have measured by the rule of today, with the same release of what does not move."""
    for one in committed_since():
        if (one.claim, one.moves, one.held, one.rule_hash) == (claim.id, moves, held, claim.rule_hash()):
            yield from ((of.release, of) for of in one.releases if of.release in order)


def _measured(finding: Finding, by: str) -> Measured:
    return Measured(
        release=finding.release,
        verdict=finding.verdict,
        says=without_lack(finding.summary),
        by=by,
        counts=counts_of(finding),
    )


def _verdicts(known: Mapping[str, Measured]) -> dict[str, VerdictKind | None]:
    return {one: None if of.verdict is VerdictKind.UNDECIDED else of.verdict for one, of in known.items()}


@dataclass(frozen=True, kw_only=True)
class _Work:
    """Measures a release: a run of its own, of the arms of the claim."""

    options: argparse.Namespace
    console: Console
    java: Java
    scenario: Scenario
    claim: Claim

    @property
    def arms(self) -> tuple[str, ...]:
        """Those that the claim is judged by."""
        names = {arm.name for arm in self.scenario.arms}
        return tuple(dict.fromkeys(one.arm for one in self.claim.quantities() if one.arm in names))

    def request(self, release: str) -> Request:
        """All deployments of the claim's arms."""
        brokers = self.options.after if self.options.moves == CLIENT else release
        found = on_releases([self.scenario], (brokers,))
        return Request(
            scenarios=found, releases=(brokers,), seed=self.options.seed, arms=self.arms, injections=(USUAL_INJECTION,),
            abilities=Abilities.of_this_host(), backend=LOCAL,
        )  # fmt: skip

    def is_there(self, release: str) -> bool:
        """Whether ``--out`` has its run, analysed."""
        return self.options.out is not None and (self.options.out / release / "analysis").is_dir()

    def measure(self, release: str) -> Measured:
        """Run it, unless its folder is there already."""
        from analysis.report.document import load_findings

        folder = self._folder(release)
        if not (folder / "analysis").is_dir():
            request = self.request(release)
            options = copy.copy(self.options)
            options.out, options.incidents, options.arm = folder, (self.scenario.name,), self.arms
            options.release = request.releases
            client = self.options.after if self.options.moves == BROKER else release
            analyse = AnalysisApart(
                options=options, java=self.java, scenarios=request.scenarios, console=self.console, command="verify"
            )
            job = Job(
                request=request, java=self.java, started=time.monotonic(),
                client_release="" if client == request.releases[0] else client,
            )  # fmt: skip
            carry_out(job, options, self.console, _judged_by(analyse))
        finding = next((one for one in load_findings(folder).findings if one.claim == self.claim.id), None)
        if finding is None:
            return Measured(release=release, verdict=VerdictKind.UNDECIDED, says="nothing was measured", by=str(folder))
        return dataclasses.replace(_measured(finding, str(folder)), release=release)

    def _folder(self, release: str) -> Path:
        if self.options.out is None:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            self.options.out = DEFAULT_RUNS / f"{stamp}-bisect"
        self.options.out.mkdir(parents=True, exist_ok=True)
        return Path(self.options.out) / release


def _judged_by(analyse: Callable[[Path], None]) -> Callable[[Path], int]:
    def judge(run: Path) -> int:
        from analysis.report.write import write_reports

        analyse(run)
        write_reports(run, committed_ledger())
        return EXIT_OK

    return judge


def _planned(order: Sequence[str], so_far: Bisected, code: Mapping[str, str], work: _Work) -> list[str]:
    known = {one.release: one for one in so_far.releases}
    groups = {text: number for number, text in enumerate(dict.fromkeys(code[one] for one in order), start=1)}
    told = [
        f"{work.claim.id}: {work.claim.says}",
        "Releases with one number have the same code of what the claim cites, down to what that calls.",
    ]
    for release in order:
        of = known.get(release)
        told.append(f"  {release:10} code {groups[code[release]]}  {f'{of.verdict}, {of.by}' if of else 'not known'}")
    told += [f"  {release:10} left out: {why}" for release, why in so_far.left_out]
    first = next_release(order, _verdicts(known), code)
    if first is None:
        return [*told, *(_changed(so_far, edge) for edge in so_far.boundaries), "nothing is left to measure"]
    seconds, left = plan_of(work.request(first)).seconds, len(so_far.not_measured)
    return [
        *told,
        f"first {first}; each release takes about {duration(seconds)} on an idle machine, at most {left} of them: "
        f"{duration(left * seconds)}",
    ]


def _changed(found: Bisected, edge: Boundary) -> str:
    return f"since {as_told(found, edge)}: changed from {edge.before}"


def _may_be_chance(edge: Boundary, known: Mapping[str, Measured]) -> str:
    def told(release: str) -> str:
        return f"{', '.join(f'{seen} of {tries}' for _, seen, tries in known[release].counts)} on {release}"

    return (
        f"  this may be chance, and no change: {told(edge.before)} beside {told(edge.after)} differ as much in "
        f"{edge.chance:.0%} of cases without any"
    )


def _told(claim: Claim, order: Sequence[str], found: Bisected, code: Mapping[str, str]) -> list[str]:
    known = {one.release: one for one in found.releases}
    told = [f"{claim.id}: {claim.says}"]
    for at, release in enumerate(order):
        if of := known.get(release):
            told.append(f"  {release:10} {of.verdict:10} {of.by}")
        else:
            same = [one for one in (order[at - 1], order[at + 1]) if code[one] == code[release]]
            told.append(
                f"  {release:10} not measured; its cited code is that of {' and '.join(same) or 'no neighbour'}"
            )
    told += [f"  {release:10} left out: {why}" for release, why in found.left_out]
    for one in found.boundaries:
        between = order[order.index(one.before) + 1 : order.index(one.after)]
        told += [
            _changed(found, one) + (f" (between them nothing was decided: {', '.join(between)})" if between else ""),
            f"  {one.before}: {known[one.before].verdict}: {known[one.before].says}",
            f"  {one.after}: {known[one.after].verdict}: {known[one.after].says}",
            f"  cited code that differs: {', '.join(one.differs) or 'none; what is not cited must have changed'}",
            *([_may_be_chance(one, known)] if one.may_be_chance else []),
        ]
    if not found.boundaries:
        if all(of.verdict is VerdictKind.UNDECIDED for of in known.values()):
            raise ConfigurationError(f"{claim.id}: no release was decided", advice="The runs' pages say why.")
        told.append("no boundary: the verdict is the same wherever it was decided")
    return told
