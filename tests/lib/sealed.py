"""Sealed runs that are committed as test data, and what their verdicts become when some of their files are damaged."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import scenarios
from analysis.checkers.base import inputs_of, read_recorded
from analysis.evidence.trials import TrialFacts
from analysis.evidence.trusted import trusted_run
from analysis.observe import Observed, observe
from analysis.verdicts import validity
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.judge import findings
from analysis.verdicts.of_run import tries_of_run
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from harness.paths import PACKAGES
from harness.rundir.reading import RunDirectory, read_run_directory
from tests.lib.packed_run import pack_run

SEALED = PACKAGES / "tests" / "data" / "sealed"

Verdicts = Mapping[tuple[str, str, int], tuple[str, str]]
"""Verdict and reason by claim, release and number, where a claim has a finding for each of several injections."""


def packed_runs() -> list[Path]:
    """The committed runs' files, in the order of their names."""
    return sorted(SEALED.glob("*.json.xz"))


def pack_sealed(run: Path, file: Path) -> None:
    """Keep of a run its documents, and what they name."""
    read = read_run_directory(run)
    places = ["manifest.json", *read.manifest.documents]
    for trial in read.trials:
        places += [f"trials/{trial.trial}/{name}" for name in trial.files]
    for deployment in read.deployments:
        places += [f"deployments/{deployment.deployment}/{name}" for name in deployment.files]
    with tempfile.TemporaryDirectory() as folder:
        for place in places:
            target = Path(folder) / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(run / place, target)
        pack_run(Path(folder), file)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What was observed of a whole run, by the analysis itself."""

    path: Path
    scenarios: Sequence[Scenario]
    facts: Mapping[str, TrialFacts]
    observed: Observed
    findings: Sequence[Finding]


def observation_of(spark: SparkSession, path: Path) -> Observation:
    """Observe a run none of whose files is damaged."""
    run = trusted_run(path)
    assert not run.damage
    known = [scenarios.find(name) for name in run.manifest.incidents]
    (path / "analysis").mkdir(exist_ok=True)
    inputs = inputs_of(read_recorded(spark, run, known))
    observed = observe(inputs, validity.judge(inputs.facts, known), known)
    spark.catalog.clearCache()
    shutil.rmtree(path / "analysis")
    by_trial = {one.trial.trial: one for one in inputs.facts}
    return Observation(
        path=path, scenarios=known, facts=by_trial, observed=observed,
        findings=judged(run, known, by_trial, observed),
    )  # fmt: skip


def judged(
    run: RunDirectory, scenarios: Sequence[Scenario], facts: Mapping[str, TrialFacts], observed: Observed
) -> list[Finding]:
    """The verdicts of a run of which this was observed, as far as its trials are not damaged."""
    of_run = [facts.get(trial.trial, TrialFacts(trial=trial)) for trial in run.trials]
    judged = validity.judge(of_run, scenarios, run.damage)
    names = {trial.trial for trial in run.trials if not run.damage_of(trial.trial)}
    observations = [one for one in observed.of_all_trials if one.trial in names]
    evidence = Evidence.of(
        run=run,
        validity=judged,
        observations=observations,
        failed=observed.failed,
        tries=tries_of_run(observations, run.trials, judged, scenarios),
    )
    return findings(scenarios, evidence)


def verdicts_of(found: Sequence[Finding]) -> Verdicts:
    verdicts: dict[tuple[str, str, int], tuple[str, str]] = {}
    for one in found:
        number = sum(key[:2] == (one.claim, one.release) for key in verdicts)
        verdicts[one.claim, one.release, number] = (str(one.verdict), one.reason)
    return verdicts
