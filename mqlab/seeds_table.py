"""docs/seeds.md: whether the runs of the first seed and those of other seeds, each judged alone, say the same.

``python -m mqlab.seeds_table`` writes it anew; so does ``mqlab ledger`` with the ledger.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import scenarios
from analysis.ledger.lines import LedgerLine
from analysis.ledger.recompute import ExperimentOf, recompute
from analysis.ledger.record import Record, read_record
from harness.backends.abilities import LOCAL
from harness.model.scenario import Scenario
from harness.paths import PACKAGES
from harness.releases.jars import known_releases
from harness.rundir.files import replace_file
from mqlab.compared import Compared, agreement, rows_of_differing, tried_by_both
from mqlab.recorded import FOLDER_OF_RECORD, committed_ledger, experiment_now

DOCUMENT = PACKAGES / "docs" / "seeds.md"
FIRST_SEED = 1
HEAD = """# Two seeds

The order of a run's trials, and the keys, groups and moments that are drawn for them, come from its seed. All runs of local
processes are pooled in [the ledger](../scenarios/LEDGER.md); here those of seed 1 are judged alone, and those of other seeds alone.
{both} of {lines} lines have trials of both. {agreement}
Written by `mqlab ledger`; do not edit it.
"""
DIFFER = """
## Where they differ

| claim | release | part | seed 1 | other seeds | why |
|---|---|---|---|---|---|
"""
LACKING = """
## Which have one seed

A second seed is of what was undecided or new. These have one so far; a registered run with `--seed 2`
gives them another.

| incident | releases |
|---|---|
"""
BECAUSE: Mapping[str, str] = {
    "BUSY-20 not left behind": "one seen refutes it: a freeze holds up a safepoint now and then, which stops the cleaner, too "
    "([what was seen](findings.md)); at 2 in 100 stalls, 24 show none in 6 of 10 runs",
    "NAMES-04 dead": "few deployments of seed 1: its two lie within the range of the others",
    "TOPICS-01 slave": "a slave of 5.5.0 copies its master's topics every minute, and has no master once it registers without it: "
    "[chance](findings.md) has it that it copies in between",
}
"""Why the two differ, by claim and part."""

Cell = tuple[str, str, str, str]


def compared(record: Record, of: Sequence[Scenario], experiment_of: ExperimentOf) -> tuple[int, list[Compared]]:
    """How many lines have trials of both, and their parts that both tried."""
    first = _judged(record, of, experiment_of, is_first=True)
    other = _judged(record, of, experiment_of, is_first=False)
    both = [cell for cell, line in first.items() if line.trials and cell in other and other[cell].trials]
    return len(both), tried_by_both((first[cell], other[cell]) for cell in both)


def _judged(
    record: Record, of: Sequence[Scenario], experiment_of: ExperimentOf, *, is_first: bool
) -> dict[Cell, LedgerLine]:
    """By the runs of some seeds alone, of incidents that have runs of both."""
    several = {name for name, seeds in seeds_of(record).items() if _is_both(seeds)}
    runs = tuple(
        dataclasses.replace(run, trials=tuple(trial for trial in run.trials if trial.incident in several))
        for run in record.runs
        if (run.seed == FIRST_SEED) is is_first and run.backend == LOCAL
    )
    chosen = [scenario for scenario in of if scenario.name in several]
    alone = dataclasses.replace(record, runs=runs, summaries=(), events=())
    return {line.cell(): line for line in recompute(alone, chosen, experiment_of) if line.incident in several}


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


def document(
    record: Record, lines: Sequence[LedgerLine], of: Sequence[Scenario], found: tuple[int, Sequence[Compared]]
) -> str:
    """Its text; ``found`` is what was ``compared``."""
    both, parts = found
    other = rows_of_differing(parts, BECAUSE)
    head = HEAD.format(
        both=both,
        lines=sum(line.backend == LOCAL and line.trials > 0 for line in lines),
        agreement=agreement(parts),
    )
    lacking = LACKING + "".join(_lacking(seeds_of(record), of))
    return head + (DIFFER + "".join(other) if other else "") + lacking


def _lacking(seeds: Mapping[str, set[tuple[str, int]]], of: Sequence[Scenario]) -> Iterator[str]:
    for scenario in of:
        has = seeds.get(scenario.name, set())
        lacks = [
            release
            for release in known_releases()
            if (release, FIRST_SEED) in has and not any(one == release and seed != FIRST_SEED for one, seed in has)
        ]
        if lacks:
            yield f"| {scenario.name} | {', '.join(lacks)} |\n"


def write(record: Record | None = None) -> None:
    """Write it from the committed record. Raises LedgerError."""
    record = record or read_record(FOLDER_OF_RECORD)
    found = compared(record, scenarios.ALL, experiment_now)
    replace_file(DOCUMENT, document(record, committed_ledger(), scenarios.ALL, found))


if __name__ == "__main__":
    write()
