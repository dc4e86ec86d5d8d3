"""Whether what is carried over to a release is what is measured there: cells drawn by a seed, then held against runs.

    python tools/carried_sample.py draw --seed 55 --release 4.9.4,5.1.4,5.2.0 --out carried.jsonl
    python tools/carried_sample.py compare carried.jsonl RUN_DIR...

A cell is a claim on a release by an injection. ``draw`` prints the runs that measure the cells, and writes them before anything
is run; ``compare`` writes what was measured beside each. Only incidents whose quick runs fit into the minutes are drawn from.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scenarios
from analysis.ledger.lines import decode_line, lines_text, ordered
from analysis.report.document import load_findings
from harness.faults.injections import USUAL_INJECTION, injections_of
from harness.host.facts import host_of_plan
from harness.model.findings import CarriedFinding, Finding, PartResult
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from mqlab.ask.carried import carried
from mqlab.run.on_release import on_releases

SAME, OTHER, LEANS_SAME, LEANS_OTHER, NOTHING = (
    "the same",
    "another one",
    "leans to it",
    "leans to another one",
    "not measured",
)


def draw(releases: Sequence[str], *, seed: int, count: int, minutes: float) -> list[Cell]:
    """The cells, of incidents that are drawn until the minutes are used up, as many minutes for each release."""
    lots = random.Random(seed)
    drawn: list[CarriedFinding] = []
    for release in releases:
        found = {one.name: one for one in on_releases(scenarios.ALL, (release,))}
        lines = [
            line
            for line in carried(release).lines
            if line.verdict is not VerdictKind.UNDECIDED
            and line.injection not in {*injections_of(found[line.incident])} - {USUAL_INJECTION}
            and _is_quick(found[line.incident], line.claim, release)
        ]
        names = sorted({line.incident for line in lines})
        lots.shuffle(names)
        taken: list[Scenario] = []
        for name in names:
            if _planned_s([*taken, found[name]], release) <= 60 * minutes / len(releases):
                taken.append(found[name])
        drawn += [line for line in lines if line.incident in {one.name for one in taken}]
    return [_cell(line) for line in ordered(lots.sample(drawn, min(count, len(drawn))))]


def _is_quick(scenario: Scenario, claim: str, release: str) -> bool:
    """Whether a quick run has all arms that the claim is about."""
    request = Request(scenarios=(scenario,), releases=(release,), budget="quick")
    run = {arm.name for arm in request.arms_of(scenario, release, "") if arm.cells}
    return {quantity.arm for quantity in _claim(scenario, claim).quantities()} <= run


def _claim(scenario: Scenario, name: str) -> Claim:
    return next(one for one in scenario.claims if one.id == name)


def _planned_s(found: Sequence[Scenario], release: str) -> float:
    return make_plan(Request(scenarios=found, releases=(release,), budget="quick"), host_of_plan()).seconds


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is carried over to a release by an injection; of the claim's parts those that are decided."""

    release: str
    claim: str
    injection: str
    incident: str
    carried_from: str
    verdict: VerdictKind
    parts: tuple[tuple[str, str, VerdictKind], ...]


def _cell(line: CarriedFinding) -> Cell:
    decided = (part for part in line.parts if part.verdict is not VerdictKind.UNDECIDED and part.role == "claim")
    return Cell(
        release=line.release, claim=line.claim, injection=line.injection, incident=line.incident,
        carried_from=line.carried_from, verdict=line.verdict,
        parts=tuple((part.name, part.scope, part.verdict) for part in decided),
    )  # fmt: skip


def compared(cell: Cell, measured: Finding | None) -> str:
    """Whether a run found what was carried over; where it decided nothing, what its deployments lean to."""
    if measured is None:
        return NOTHING
    if measured.verdict is not VerdictKind.UNDECIDED:
        return SAME if measured.verdict is cell.verdict else OTHER
    sides = {(part.name, part.scope): _side(part) for part in measured.parts}
    found = [(verdict, sides.get((name, scope), VerdictKind.UNDECIDED)) for name, scope, verdict in cell.parts]
    leans = [side is verdict for verdict, side in found if side is not VerdictKind.UNDECIDED]
    return NOTHING if not leans else LEANS_SAME if all(leans) else LEANS_OTHER


def _side(part: PartResult) -> VerdictKind:
    """A part's verdict, else where more of its deployments are."""
    if part.verdict is not VerdictKind.UNDECIDED or not part.deployments:
        return part.verdict
    right, wrong = part.right or 0, part.wrong or 0
    return VerdictKind.CONFIRMED if right > wrong else VerdictKind.REFUTED if wrong > right else VerdictKind.UNDECIDED


def measured_in(runs: Iterable[Path]) -> dict[tuple[str, str, str], Finding]:
    """What runs found, by claim, release and injection; of several the one that decided, else the last."""
    found: dict[tuple[str, str, str], Finding] = {}
    for run in runs:
        for line in load_findings(run).findings:
            key = (line.claim, line.release, line.injection)
            if key not in found or line.verdict is not VerdictKind.UNDECIDED:
                found[key] = line
    return found


def _drawn(options: argparse.Namespace) -> None:
    cells = draw(options.release.split(","), seed=options.seed, count=options.cells, minutes=options.minutes)
    options.out.write_text(lines_text(cells), "utf-8")
    for release in dict.fromkeys(cell.release for cell in cells):
        of = [cell for cell in cells if cell.release == release]
        incidents = dict.fromkeys(cell.incident for cell in of)
        planned = _planned_s([one for one in on_releases(scenarios.ALL, (release,)) if one.name in incidents], release)
        print(f"{release}: {len(of)} cells, about {planned / 60:.0f} minutes")
        print(f"mqlab verify {' '.join(incidents)} --quick --release {release}")


def _compared(options: argparse.Namespace) -> None:
    cells = [
        decode_line(Cell, json.loads(line), f"{options.cells}:{number}")
        for number, line in enumerate(options.cells.read_text("utf-8").splitlines(), start=1)
    ]
    found = measured_in(options.runs)
    rows: list[tuple[Any, ...]] = []
    for cell in cells:
        measured = found.get((cell.claim, cell.release, cell.injection))
        said = "" if measured is None else f"{measured.verdict}: {measured.summary}"
        rows.append((cell.release, cell.claim, cell.carried_from, str(cell.verdict), compared(cell, measured), said))
    print("| release | claim | carried over from | verdict | measured | which says |\n|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print("\n" + "; ".join(f"{kind}: {number}" for kind, number in Counter(row[4] for row in rows).most_common()))


def main() -> None:
    """Draw, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    drawn = verbs.add_parser("draw", help="write cells and print the runs that measure them")
    drawn.add_argument("--seed", type=int, required=True)
    drawn.add_argument("--release", required=True, metavar="R,R", help="releases that are not recorded")
    drawn.add_argument("--cells", type=int, default=40, help="of all releases; default: 40")
    drawn.add_argument("--minutes", type=float, default=45.0, help="that the runs may take by their plans; default: 45")
    drawn.add_argument("--out", type=Path, required=True)
    drawn.set_defaults(do=_drawn)
    held = verbs.add_parser("compare", help="print each cell with what runs measured")
    held.add_argument("cells", type=Path)
    held.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR")
    held.set_defaults(do=_compared)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
