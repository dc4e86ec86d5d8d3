"""Rows of the first guess for incidents that have none yet: what a run of them took on this machine.

``python -m tools.first_guess RUN_DIR...`` adds a row for each incident, and one for each arm that is far from it.
"""

import dataclasses
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.plan.cost import FIRST_GUESS, Cost, learned_cost
from harness.program import carried_out
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import read_run_directory

FAR = 1.5
"""So many times the incident's seconds or cores, or that part of them, makes an arm's own row."""

Row = Mapping[str, float | Mapping[str, float]]


def rows_of(trials: Iterable[TrialRecord]) -> dict[str, Row]:
    """By incident, and by incident and arm, what complete trials took; releases of 4.x and 5.x apart."""
    took: defaultdict[str, defaultdict[str, list[Mapping[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        if trial.status == "complete" and trial.took:
            line = trial.release.partition(".")[0]
            took[trial.incident][line].append(trial.took)
            took[f"{trial.incident}/{trial.arm}"][line].append(trial.took)
    costs = {name: {line: _cost(each) for line, each in lines.items()} for name, lines in sorted(took.items())}
    rows = {name: _row(found) for name, found in costs.items() if "/" not in name}
    for name, found in costs.items():
        incident, _, arm = name.partition("/")
        if arm and any(_is_far(cost, costs[incident][line]) for line, cost in found.items()):
            rows[name] = _row(found)
    return rows


def _cost(took: Sequence[Mapping[str, float]]) -> Cost:
    """As learned, but of the shortest: beside too many others, as a guess without a row has it, everything takes longer."""
    seconds, boot_s = (min(one[name] for one in took) for name in ("seconds", "boot_s"))
    return dataclasses.replace(learned_cost(took), seconds=seconds, boot_s=boot_s)


def _is_far(cost: Cost, usual: Cost) -> bool:
    pairs = ((cost.seconds, usual.seconds), (cost.cores, usual.cores))
    return any(max(pair) > FAR * min(pair) for pair in pairs)


def _row(lines: Mapping[str, Cost]) -> Row:
    fields = {line: dataclasses.asdict(cost) for line, cost in sorted(lines.items())}
    names = [name for name in next(iter(fields.values())) if any(one[name] for one in fields.values())]
    return {name: {line: round(one[name], 2) for line, one in fields.items()} for name in names}


def with_rows(text: str, rows: Mapping[str, Row]) -> str:
    """The file with a line more for each row whose incident has none."""
    known = {name.partition("/")[0] for name in json.loads(text)}
    added = [
        f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items() if name.partition("/")[0] not in known
    ]
    return ",\n".join([text.rstrip().removesuffix("}").rstrip(), *added]) + "\n}\n"


def main(runs: Sequence[str]) -> int:
    """Add the rows of these runs."""
    trials = [trial for name in runs for trial in read_run_directory(Path(name)).trials]
    text = FIRST_GUESS.read_text("utf-8")
    FIRST_GUESS.write_text(with_rows(text, rows_of(trials)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "tools.first_guess RUN_DIR..."))
