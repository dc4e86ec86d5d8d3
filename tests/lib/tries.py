"""Hand-made tries: what a run would have shown, without a cluster and without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.verdicts.tries import Tries, Try
from harness.model.cells import ParameterValue
from harness.model.measures import MEASURES

Value = float | tuple[float, ...] | None
"""One try: its value, its several values, or that it could not be measured."""


def tries_of(
    measure: str,
    arm: str,
    by_deployment: Sequence[Sequence[Value]],
    *,
    hiccup_ms: float = 1.0,
    proof: str | None = None,
    censored: bool = False,
    discarded: str = "",
    superseded: bool = False,
    mark: str = "",
    **where: ParameterValue,
) -> list[Tries]:
    """A trial for each value of each deployment. Of ``where`` the numbers are the cell's, the words the measure's own.

    ``proof`` is by default what the measure's origins give. ``mark`` tells trials from others of the same arm.
    """
    origins = MEASURES[measure].origins
    given = proof if proof is not None else " and ".join(origins) if len(origins) > 1 else ""
    cell = {name: it for name, it in where.items() if not isinstance(it, str)}
    params = {name: it for name, it in where.items() if isinstance(it, str)}
    rows = []
    for place, values in enumerate(by_deployment, 1):
        for index, value in enumerate(values):
            trial = f"{arm}-{'-'.join(map(str, cell.values()))}-{place}-{index}{mark}"
            each = value if isinstance(value, tuple) else () if value is None else (value,)
            one = [Try.of(trial, [(number, censored) for number in each], given)] if each else []
            rows.append(
                Tries(
                    trial=trial,
                    deployment=f"d{place:03}",
                    release="5.3.3",
                    arm=arm,
                    cell=cell,
                    measure=measure,
                    params=params if each else {},
                    hiccup_ms=hiccup_ms,
                    discarded=discarded,
                    superseded=superseded,
                    tries=tuple(one),
                )
            )
    return rows
