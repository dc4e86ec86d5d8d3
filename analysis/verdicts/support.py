"""What goes with a verdict: the lines to cite, the measures' distributions, and how far the finding carries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.verdicts import stats
from analysis.verdicts.claim_evidence import ClaimEvidence
from analysis.verdicts.evidence import EVIDENCE_LINES_MAX, unit_of
from analysis.verdicts.numbers import cell_key
from analysis.verdicts.observations import Observation, Source
from analysis.verdicts.order import arm_key
from harness.model.cells import canonical, matches
from harness.model.findings import Figure
from harness.model.scenario import Arm
from harness.rundir.manifest import RESUMED, DeploymentRecord, TrialRecord


def sources(on: ClaimEvidence, decisive: str) -> list[Source]:
    """Lines to cite: of each part the values in the middle and at both ends, the decisive part's first."""
    ordered = sorted(on.claim.parts, key=lambda part: part.name != decisive)
    picked: list[list[Source]] = []
    for part in ordered:
        for quantity in part.quantities():
            picked.append(_telling([item for item in on.observed(quantity) if item.source is not None]))
    # In turns, so that every part shows its best line before any part shows its second.
    turns = [source for turn in range(3) for sources in picked for source in sources[turn : turn + 1]]
    first = picked[0] if picked else []
    return list(dict.fromkeys([*first, *turns]))[:EVIDENCE_LINES_MAX]


def _telling(observed: Sequence[Observation]) -> list[Source]:
    """The sources of the middle, the largest and the smallest value."""
    if not observed:
        return []
    ordered = sorted(observed, key=lambda item: item.value)
    chosen = (ordered[len(ordered) // 2], ordered[-1], ordered[0])
    return list(dict.fromkeys(item.source for item in chosen if item.source is not None))


def figures(on: ClaimEvidence) -> tuple[Figure, ...]:
    """One for each measure of the claim, cell and arm."""
    wanted: dict[str, set[tuple[tuple[str, tuple[str, ...]], ...]]] = {}
    for quantity in on.claim.quantities():
        where = tuple(sorted((name, tuple(map(str, allowed))) for name, allowed in quantity.where.items()))
        wanted.setdefault(quantity.measure, set()).add(where)
    found = [
        figure
        for measure, wheres in wanted.items()
        for arm in on.scenario.arms
        for figure in _cells(on, measure, arm, wheres)
    ]
    return tuple(sorted(found, key=lambda one: (one.name, cell_key(one.params), arm_key(one.arm))))


def _cells(
    on: ClaimEvidence, measure: str, arm: Arm, wheres: Iterable[tuple[tuple[str, tuple[str, ...]], ...]]
) -> list[Figure]:
    """One figure for each cell; of the measure's own parameters only the ones that the claim is about."""
    cells: dict[tuple[tuple[str, object], ...], list[Observation]] = {}
    for item in on.values(measure, arm.name):
        if any(
            matches(item.extra, {name: allowed for name, allowed in where if name in item.extra}) for where in wheres
        ):
            key = tuple(sorted((name, canonical(value)) for name, value in item.params.items()))
            cells.setdefault(key, []).append(item)
    ordered = sorted(cells.items(), key=lambda cell: [(name, str(type(v)), v) for name, v in cell[0]])
    return [_figure(measure, arm.name, observed) for _, observed in ordered]


def _figure(measure: str, arm: str, observed: Sequence[Observation]) -> Figure:
    found = stats.quantiles([item.value for item in observed], [item.censored for item in observed])
    return Figure(
        name=measure,
        arm=arm,
        params=dict(observed[0].params),
        unit=unit_of(measure),
        tries=len({(item.block, item.unit) for item in observed}),
        p50=found.p50,
        min=found.min,
        max=found.max,
        censored=sum(item.censored for item in observed),
        n=len(observed),
        p90=found.p90,
        p99=found.p99,
    )


_TRIALS_COUNT = " trials count"


def had_trials(notes: Sequence[str]) -> bool:
    """Whether a finding's reservations tell of any trial, also of such as do not count."""
    return any(note.endswith(_TRIALS_COUNT) and not note.startswith("0 of 0 ") for note in notes)


def reservations(on: ClaimEvidence, trials: Sequence[TrialRecord], counting: Sequence[TrialRecord]) -> tuple[str, ...]:
    """How far the finding carries, and which trials do not count, in words."""
    run = on.evidence.run
    said = [f"{len(counting)} of {len(trials)}{_TRIALS_COUNT}"]
    superseded = [trial for trial in trials if trial.superseded_by]
    if superseded:
        said.append(f"{len(superseded)} trials were repeated because of noise and do not count")
    for trial in trials:
        known = on.evidence.validity.get(trial.trial)
        if known is not None and not trial.superseded_by:
            said.extend(f"{trial.trial} does not count: {words}" for words in known.why_not(on.claim.id))
            said.extend(f"{trial.trial}: {words}" for words in known.told(on.claim.id))
    said.extend(
        f"{measure} was not judged: {on.evidence.failed[measure]}"
        for measure in sorted({quantity.measure for quantity in on.claim.quantities()} & set(on.evidence.failed))
    )
    said.extend(note for note in run.manifest.notes if note.startswith(RESUMED))
    if run.manifest.budget == "quick":
        said.append("a reduced number of trials (quick effort)")
    host = run.manifest.host
    said.append(f"Java {host.java or 'unknown'} on {host.cores or 'an unknown number of'} shared cores")
    deployments = [found for trial in counting if (found := run.deployment(trial.deployment)) is not None]
    said.extend(dict.fromkeys(map(_settings_words, deployments)))
    committed = run.manifest.rules.get(on.claim.id)
    if committed is not None and committed != on.claim.rule_hash():
        said.append("the rule that judged is not the one that was committed before the run")
    return tuple(item for item in said if item)


def _settings_words(deployment: DeploymentRecord) -> str:
    conf, properties = deployment.conf, deployment.properties
    scaled = [f"{key}={conf[key]}" for key in sorted(conf)]
    scaled += [f"-D{key}={properties[key]}" for key in sorted(properties)]
    words = [f"{deployment.logging} logging"] + ([f"settings {', '.join(scaled)}"] if scaled else [])
    of_the_scenario = {f"broker.{key}" for key in conf} | {f"broker-jvm.{key}" for key in properties}
    overridden = {change.partition(":")[0] for change in deployment.overrides}
    user = sorted(deployment.user.by_prefix().items())
    own = [f"{key}={value}" for key, value in user if key not in of_the_scenario | overridden]
    words += [f"the user's settings {', '.join(own)}"] if own else []
    if deployment.overrides:
        words.append(
            f"settings of the lab, the incident or its load instead of the user's {', '.join(deployment.overrides)}"
        )
    words += [f"its store on a file system of its own ({deployment.store})"] if deployment.store != "folder" else []
    words += [f"JVM options {' '.join(deployment.jvm)}"] if deployment.jvm else []
    words += [f"timers up to {deployment.timer_slack_ms:g} ms late"] if deployment.timer_slack_ms else []
    return "broker with " + ", ".join(words)
