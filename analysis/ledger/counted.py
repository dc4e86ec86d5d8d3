"""From what is known of a run's trials to what is kept of them: whether each counts, why not, and the values of its tries."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from analysis.evidence.trials import TrialFacts
from analysis.ledger.runs import CountedTrial, RecordedValues
from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.losses import LostStep
from analysis.verdicts.order import natural_key
from analysis.verdicts.tries import Tries


def counted_trials(
    facts: Sequence[TrialFacts],
    validity: Iterable[TrialValidity],
    tries: Iterable[Tries],
    lost: Mapping[str, tuple[LostStep, ...]],
) -> tuple[CountedTrial, ...]:
    """A line's content for each trial of a run; ``lost`` is by trial."""
    judged = {item.trial: item for item in validity}
    values: dict[str, list[RecordedValues]] = {}
    for row in tries:
        named = [dataclasses.replace(one, name=_short(one.name, row.deployment, row.trial)) for one in row.tries]
        tried = tuple(sorted(named, key=lambda one: natural_key(one.name)))
        one = RecordedValues(measure=row.measure, params=row.params, tries=tried)
        values.setdefault(row.trial, []).append(one)
    return tuple(
        _trial(item, judged[name], values.get(name, ()), lost.get(name))
        for item in facts
        for name in [item.trial.trial]
    )


def _short(name: str, *around: str) -> str:
    """Of ``d1/t1/g0`` what its line does not say already."""
    for said in around:
        name = name.removeprefix(said).removeprefix("/")
    return name


def _trial(
    facts: TrialFacts, judged: TrialValidity, values: Sequence[RecordedValues], lost: tuple[LostStep, ...] | None
) -> CountedTrial:
    return dataclasses.replace(
        counted_trial(facts),
        discarded=str(judged.discarded or ""),
        exclusions=judged.why_not(),
        notes=judged.told(),
        hiccup_ms=judged.hiccup_ms_max or 0.0,
        values=tuple(values),
        lost=lost,
    )


def counted_trial(facts: TrialFacts) -> CountedTrial:
    """A trial as its own documents have it, before anybody asks whether it counts."""
    trial = facts.trial
    same = {one.name: getattr(trial, one.name) for one in dataclasses.fields(CountedTrial) if hasattr(trial, one.name)}
    return CountedTrial(
        **same,
        cell=trial.params,
        superseded=bool(trial.superseded_by),
        hiccup_ms=facts.hiccup_ms_max or 0.0,
        waited_share=_waited_share(trial.took),
        asked_ms=facts.asked_ms,
        achieved_ms=facts.achieved_ms,
        no_effect=facts.no_effect,
    )


def _waited_share(took: Mapping[str, float]) -> float | None:
    """Of the time that threads of its nodes and clients could run, the share that they waited for a core."""
    if "wait_s" not in took or not took["wait_s"] + took["cpu_s"]:
        return None
    return round(took["wait_s"] / (took["wait_s"] + took["cpu_s"]), 3)
