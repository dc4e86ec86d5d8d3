"""docs/seeds.md: whether the runs of the first seed and those of other seeds, each judged alone, say the same.

``python -m mqlab.seeds_table`` writes it anew; so does ``mqlab ledger`` with the ledger.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import scenarios
from analysis.ledger.lines import ordered
from analysis.ledger.recompute import ExperimentOf, recompute
from analysis.ledger.record import Record, read_record
from harness.backends.abilities import LOCAL
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from harness.paths import PACKAGES
from harness.rundir.files import replace_file
from mqlab.compared import Compared, agreement, paired, rows_of_differing, tried_by_both
from mqlab.recorded import FOLDER_OF_RECORD, committed_ledger, experiment_now

DOCUMENT = PACKAGES / "docs" / "seeds.md"
FIRST_SEED = 1
HEAD = """# Two seeds

The order of a run's trials, and the keys, groups and moments that are drawn for them, come from its seed. All runs of local
processes are pooled in [the ledger](../scenarios/LEDGER.md); here those of seed 1 are judged alone, and those of other seeds alone.
Its {lines} lines with trials have {parts} parts, and {both} of these were tried by both.
{agreement}
Written by `mqlab ledger`; do not edit it.
"""
DIFFER = """
## Where they differ

| claim | release | part | seed 1 | other seeds | why |
|---|---|---|---|---|---|
"""
LACKING = """
## What one seed has tried

A second seed is of what was undecided or new first. These have trials of seed 1, or of others, alone; a registered run with
`--seed 2` gives most of them another. Where parts stand beside a claim, its other parts were tried by both, and where a fault can
be made in several ways, the way.

| incident | claims | releases |
|---|---|---|
"""
BECAUSE: Mapping[str, str] = {
    "BUSY-20 not left behind": "one seen refutes it: a freeze holds up a safepoint now and then, which stops the cleaner, too "
    "([what was seen](findings.md)); at 2 in 100 stalls, 24 show none in 6 of 10 runs",
    "NAMES-04 dead": "few deployments of seed 1: its two lie within the range of the others",
    "ORDER-06 every queue within 3 s": "3.04 s where the bound is 3 s: the last of a deployment whose 21 owners shut down "
    "at once; that they waited for cores is not shown ([what was seen](findings.md))",
    "QUEUES-04 in order": "the run of seed 1 asked too much of two cores: these groups were shared out among three or four "
    "members, two of whom were there ([a heartbeat read late](findings.md)), and a share of the queues was nobody's",
    "QUEUES-04 mended": "the same run: the group was shared out among four, and its trial ended while the queues of two messages "
    "were nobody's ([a heartbeat read late](findings.md))",
    "TOPICS-01 slave": "a slave of 5.5.0 copies its master's topics every minute, and has no master once it registers without it: "
    "[chance](findings.md) has it that it copies in between",
}
"""Why the two differ, by claim and part."""


def compared(record: Record, of: Sequence[Scenario], experiment_of: ExperimentOf) -> list[Compared]:
    """The parts of lines that the first seed and others tried."""
    first, other = (_judged(record, of, experiment_of, is_first=is_first) for is_first in (True, False))
    return tried_by_both(paired(first, other))


def _judged(record: Record, of: Sequence[Scenario], experiment_of: ExperimentOf, *, is_first: bool) -> list[Finding]:
    """By the runs of some seeds alone, of incidents that have runs of both."""
    several = {name for name, seeds in seeds_of(record).items() if _is_both(seeds)}
    runs = tuple(
        dataclasses.replace(run, trials=tuple(trial for trial in run.trials if trial.incident in several))
        for run in record.runs
        if (run.seed == FIRST_SEED) is is_first and run.backend == LOCAL
    )
    chosen = [scenario for scenario in of if scenario.name in several]
    alone = dataclasses.replace(record, runs=runs, summaries=(), events=())
    return [line for line in recompute(alone, chosen, experiment_of) if line.incident in several]


def seeds_of(record: Record) -> dict[str, set[tuple[str, int]]]:
    """By incident, each release with a seed that it was run with on this backend."""
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for run in record.runs:
        if run.backend == LOCAL:
            for trial in run.trials:
                found[trial.incident].add((trial.release, run.seed))
    return found


def _is_both(seeds: set[tuple[str, int]]) -> bool:
    return len({seed == FIRST_SEED for _, seed in seeds}) > 1


def document(lines: Sequence[Finding], both: Sequence[Compared]) -> str:
    """Its text; ``both`` is what was ``compared``."""
    tried = [line for line in lines if line.backend == LOCAL and line.trials]
    other = rows_of_differing(both, BECAUSE)
    head = HEAD.format(
        both=len(both),
        parts=sum(bool(part.tries) for line in tried for part in line.parts),
        lines=len(tried),
        agreement=agreement(both),
    )
    return head + (DIFFER + "".join(other) if other else "") + LACKING + "".join(_rows(tried, both))


def _rows(lines: Sequence[Finding], both: Sequence[Compared]) -> Iterator[str]:
    """A row for each incident and the releases on which the same of it lacks trials of the other seeds."""
    of_both = defaultdict(set)
    for line, one in paired(lines, {one.line.cell(): one.line for one in both}.values()):
        of_both[line.cell()] = {part.first.name for part in both if part.line is one}
    ways = Counter((line.claim, line.release) for line in lines)
    releases: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in ordered(lines):
        lacks = [part.name for part in line.parts if part.tries and part.name not in of_both[line.cell()]]
        if lacks:
            way = line.injection if ways[line.claim, line.release] > 1 else ""
            which = ", ".join(filter(None, (way, *(lacks if of_both[line.cell()] else ()))))
            releases[line.incident, f"{line.claim} ({which})" if which else line.claim].append(line.release)
    claims: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (incident, claim), on in releases.items():
        claims[incident, ", ".join(on)].append(claim)
    for (incident, of), named in sorted(claims.items()):
        yield f"| {incident} | {'; '.join(named)} | {of} |\n"


def write(record: Record | None = None) -> None:
    """Write it from the committed record. Raises LedgerError."""
    record = record or read_record(FOLDER_OF_RECORD)
    replace_file(DOCUMENT, document(committed_ledger(), compared(record, scenarios.ALL, experiment_now)))


if __name__ == "__main__":
    write()
