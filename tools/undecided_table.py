"""What is undecided, in docs/verdicts.md: what the committed ledger leaves open or has no line of, and what would decide it.

``python -m tools.undecided_table`` writes it anew; so does ``python -m tools.ledger`` with the ledger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import scenarios
from analysis.ledger.absent import never_run
from analysis.ledger.lines import ordered
from analysis.verdicts.order import natural_key
from harness.backends.abilities import COMPOSE, LOCAL
from harness.faults.injections import injections_of
from harness.host.facts import Host
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from harness.releases.jars import recorded_releases
from harness.rundir.files import replace_file
from mqlab.ask.recorded import committed_ledger
from scenarios.releases import IN_CONTAINERS
from tools.recorded.lacking import lacking
from tools.recorded.readme import between_markers

DOCUMENT = PACKAGES / "docs" / "verdicts.md"
MARKERS = ("<!-- undecided:begin -->", "<!-- undecided:end -->")
TWO_CORES = Host(cores=2, memory_mb=20_000)
HEAD = """## What is undecided

{undecided} of the ledger's {lines} lines are undecided: {not_run} of these have no trial under the rule and the experiment that
they have now, {measured} were measured and did not come out. {never} more, each a claim on a release, have no line: no run of them
is recorded.{elsewhere} `tools/ledger.py` makes it
from [the ledger](../scenarios/ledger.jsonl) and the claims; do not edit it by hand.
"""
ELSEWHERE = """ Clusters in containers are recorded on {releases}: {count} of their lines are of another release, without a trial
of these rules, and are not listed."""
NOT_RUN = """
### Not measured yet

What an earlier rule or experiment found of some of them stands in [the ledger](../scenarios/ledger.jsonl). The minutes are what the
plan guesses for two cores that have run none of it.

| incident | claims | releases | what measures them | minutes |
|---|---|---|---|---|
"""
MEASURED = """
### Measured, and undecided

The last column says how many more tries or clusters are needed if they agree with the majority so far. Where a fault can be made in
several ways, the way is named. Where no trial is recorded, a full `mqlab verify INCIDENT` makes them, with `--injection` where a
way is named.
{containers}"""
COUNTED = (
    "{} line of clusters in containers is not in the table.",
    "{} lines of clusters in containers are not in the table.",
)
TABLE = """
| claim | releases | part | what it lacks |
|---|---|---|---|
"""

Cell = tuple[str, str, str, str]
"""Incident, backend, claim and release."""


def page(text: str, lines: Sequence[Finding]) -> str:
    """The page with its section as the ledger has it. Raises LedgerError where it has no place for it."""
    return between_markers(text, document(lines).rstrip("\n"), DOCUMENT.name, MARKERS)


def document(lines: Sequence[Finding], incidents: Sequence[Scenario] = scenarios.ALL) -> str:
    """Its text."""
    undecided = [line for line in ordered(lines) if line.verdict is VerdictKind.UNDECIDED]
    measured = [line for line in undecided if line.trials]
    no_trial = [line for line in undecided if not line.trials]
    elsewhere = [line for line in no_trial if line.backend == COMPOSE and line.release not in IN_CONTAINERS]
    not_run: list[Cell] = [
        (line.incident, line.backend, line.claim, line.release) for line in no_trial if line not in elsewhere
    ]
    places = ((LOCAL, incidents, recorded_releases()), (COMPOSE, _in_containers(lines, incidents), IN_CONTAINERS))
    never: list[Cell] = [
        (incident, backend, claim, release)
        for backend, of, releases in places
        for incident, claim, release in never_run(lines, of, releases, backend)
    ]
    head = HEAD.format(
        undecided=len(undecided),
        lines=len(lines),
        not_run=len(no_trial),
        measured=len(measured),
        never=len(never),
        elsewhere=ELSEWHERE.format(releases=" and ".join(IN_CONTAINERS), count=len(elsewhere)) if elsewhere else "",
    )
    return (
        head
        + (NOT_RUN + "".join(_not_run([*not_run, *never], incidents)) if not_run or never else "")
        + (_measured_section(measured, _made_in_several_ways(lines)) if measured else "")
    )


def _in_containers(lines: Iterable[Finding], incidents: Iterable[Scenario]) -> list[Scenario]:
    """Those of which some verdict was recorded in containers."""
    names = {line.incident for line in lines if line.backend == COMPOSE}
    return [scenario for scenario in incidents if scenario.name in names]


def _not_run(cells: Iterable[Cell], incidents: Iterable[Scenario]) -> Iterator[str]:
    """A row for an incident, a backend and the releases of each of its claims; none for an incident that is gone."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for incident, backend, claim, release in cells:
        found.setdefault((incident, backend, claim), set()).add(release)
    claims: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (incident, backend, claim), on in found.items():
        claims.setdefault((incident, backend, _in_order(on)), []).append(claim)
    by_name = {scenario.name: scenario for scenario in incidents}
    for (incident, backend, releases), of in sorted(claims.items()):
        if incident in by_name:
            how = "" if backend == LOCAL else f" --backend {backend}"
            yield (
                f"| {incident} | {', '.join(sorted(of, key=natural_key))} | {', '.join(releases)} "
                f"| `mqlab verify {incident} --release {','.join(releases)}{how}` "
                f"| {_minutes(by_name[incident], releases)} |\n"
            )


def _minutes(scenario: Scenario, releases: Sequence[str]) -> str:
    """Of a full run, with each injection that it offers."""
    request = Request(scenarios=[scenario], releases=releases, injections=tuple(injections_of(scenario)))
    return f"{make_plan(request, TWO_CORES).seconds / 60:.0f}"


def _made_in_several_ways(lines: Iterable[Finding]) -> frozenset[str]:
    """The claims that have lines of several injections on one release, of which one may be decided and another not."""
    made: dict[tuple[str, str, str], set[str]] = {}
    for line in lines:
        made.setdefault((line.claim, line.release, line.backend), set()).add(line.injection)
    return frozenset(claim for (claim, _, _), ways in made.items() if len(ways) > 1)


def _measured_section(measured: Sequence[Finding], several: Collection[str]) -> str:
    """The table of what was measured in processes, and how many lines of containers are beside it."""
    of_processes = [line for line in measured if line.backend == LOCAL]
    others = len(measured) - len(of_processes)
    return MEASURED.format(containers=f"{COUNTED[others != 1].format(others)}\n" if others else "") + (
        TABLE + "".join(_measured(of_processes, several)) if of_processes else ""
    )


def _measured(lines: Iterable[Finding], several: Collection[str]) -> Iterator[str]:
    """A row for a part of a claim and what it lacks, with the releases on which it does; of ``several`` the injection is named."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for line in lines:
        where = f" ({line.injection})" if line.claim in several else ""
        lacks = [(part.name, what) for part, what in lacking(line)] or [("", line.reason)]
        for part, what in lacks:
            found.setdefault((line.claim, where, part, what), []).append(line.release)
    for (claim, where, part, what), releases in found.items():
        yield f"| {claim}{where} | {', '.join(releases)} | {part} | {what} |\n"


def _in_order(releases: set[str]) -> tuple[str, ...]:
    return tuple(release for release in recorded_releases() if release in releases)


def write() -> None:
    """Write it from the committed ledger. Raises LedgerError."""
    replace_file(DOCUMENT, page(DOCUMENT.read_text("utf-8"), committed_ledger()))


if __name__ == "__main__":
    write()
