"""What one trial of one arm showed, in lines: whether it counts, and what was measured of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from analysis.report.document import Distribution, ReportData
from analysis.verdicts.numbers import cell_label, number, printable, quantity
from harness.model.cells import ParameterValue
from harness.model.measures import MEASURES

VALUES_SHOWN = 8


def trial_lines(data: ReportData) -> Iterator[str]:
    """Each trial with whether it counts, why not, and what else is notable; beneath the one that does all of its measures."""
    for trial in data.trials:
        cell = f": {cell_label(trial.cell)}" if trial.cell else ""
        counts = "counts" if trial.counts else f"does not count: {', '.join(trial.exclusions)}"
        told = f" ({', '.join(trial.notes)})" if trial.notes else ""
        yield printable(f"{trial.incident}, {trial.arm} on {trial.release}{cell}; the trial {counts}{told}")
        of_arm = [one for one in data.distributions if trial.counts and one.arm == trial.arm]
        of_arm.sort(key=lambda one: (one.measure, cell_label(one.params)))
        for measure, found in itertools.groupby(of_arm, key=lambda one: one.measure):
            says = MEASURES[measure].says
            yield printable(f"  {measure}: {_values_of(list(found), trial.cell)}  ({says.rstrip('.')})")


def _values_of(found: Sequence[Distribution], cell: Mapping[str, ParameterValue]) -> str:
    """By the measure's own parameters, of which those that stayed zero are only counted."""
    said = {one.params[name]: one for one in found for name in one.params if name not in cell}
    if len(said) < len(found):
        return "; ".join(map(_values, found))
    zero = [str(name) for name, one in said.items() if not any(one.values)]
    other = [f"{_values(one)} {name}" for name, one in said.items() if any(one.values)]
    return "; ".join([*other, *([f"0 {', '.join(zero)}"] if zero else [])])


def _values(one: Distribution) -> str:
    """All of them where they are few; censored ones are lower bounds."""
    shown = [f"{'at least ' * flag}{number(value)}" for value, flag in zip(one.values, one.flags(), strict=True)]
    if len(set(shown)) == 1:
        only = f"{'at least ' * one.flags()[0]}{quantity(one.values[0], one.unit)}"
        return only if len(shown) == 1 else f"{only}, {len(shown)} times"
    if len(shown) <= VALUES_SHOWN:
        return f"{', '.join(shown)} {one.unit}".rstrip()
    return f"{shown[0]} to {shown[-1]} {one.unit}".rstrip() + f", {len(shown)} values"
