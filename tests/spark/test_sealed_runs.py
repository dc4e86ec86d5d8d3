"""Damage to sealed runs never decides: each verdict is the undamaged run's or undecided, and what is damaged is named first.

200 mutations drawn by a seed, or ``MUTATIONS`` of the environment (``make campaign``: 2,000). What an analysis observes of trials
that are whole does not hang on those that are damaged, so that most mutations are judged by what was observed of the undamaged run;
one mutation in ``WHOLE_EVERY``, counted over all runs, is analysed as a whole, which has to say the same.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.evidence.trusted import trusted_run
from analysis.load.judged import JudgedLoad
from analysis.pipeline import analyze_in
from harness.errors import RunDirectoryError
from harness.model.verdicts import HOLDS_IN_PART, Reason, VerdictKind
from harness.rundir.reading import RunDirectory, read_run_directory
from tests.lib.judged_loads import judge_load_in
from tests.lib.kept_findings import of_load, of_run, require_kept
from tests.lib.mutations import KINDS, Mutable, Mutation
from tests.lib.packed_run import unpack_run
from tests.lib.sealed import Observation, judged, observation_of, packed_runs, verdicts_of

MUTATIONS = int(os.environ.get("MUTATIONS", "200"))
SEED = int(os.environ.get("MUTATIONS_SEED", "49"))
WHOLE_EVERY = 67
"""Of the 200 of one session every third run has one. An analysis takes as long as a hundred judgements."""

LOADS = [path for path in packed_runs() if path.name.startswith("load-")]
INCIDENTS = [path for path in packed_runs() if path not in LOADS]

pytestmark = pytest.mark.timeout(3600)


def _name(packed: Path) -> str:
    return packed.name.partition(".")[0]


NAMES = [_name(path) for path in INCIDENTS]


@dataclass(frozen=True, kw_only=True)
class WholeLoad:
    """A sealed load without its analysis, and what that found."""

    name: str
    path: Path
    judged: JudgedLoad


@pytest.fixture(scope="module", params=INCIDENTS, ids=_name)
def observation(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Observation:
    """A sealed run of an incident, as its analysis observes it."""
    folder = tmp_path_factory.mktemp("sealed") / _name(request.param)
    unpack_run(request.param, folder)
    return observation_of(spark, folder)


@pytest.fixture(scope="module", params=LOADS, ids=_name)
def whole_load(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> WholeLoad:
    """A sealed load, judged."""
    folder = tmp_path_factory.mktemp("sealed") / _name(request.param)
    unpack_run(request.param, folder)
    judged_load = judge_load_in(spark, trusted_run(folder))
    shutil.rmtree(folder / "analysis")
    (folder / "report.html").unlink()
    return WholeLoad(name=folder.name, path=folder, judged=judged_load)


@pytest.fixture
def mutable(tmp_path: Path) -> Iterator[Callable[[Path, random.Random], Mutable]]:
    """A copy of a run to be damaged; those before are gone."""
    place = tmp_path / "damaged"

    def copy(run: Path, rng: random.Random) -> Mutable:
        shutil.rmtree(place, ignore_errors=True)
        return Mutable(run, place, rng)

    yield copy
    shutil.rmtree(place, ignore_errors=True)


def test_a_sealed_run_is_found_to_show_what_it_showed(observation: Observation, tmp_path: Path) -> None:
    name = observation.path.name
    require_kept(name, of_run(name, observation.findings), tmp_path)


def test_a_sealed_load_is_found_to_show_what_it_showed(whole_load: WholeLoad, tmp_path: Path) -> None:
    require_kept(whole_load.name, of_load(whole_load.name, whole_load.judged.findings), tmp_path)


def test_no_verdict_comes_from_damage(
    observation: Observation, spark: SparkSession, mutable: Callable[[Path, random.Random], Mutable]
) -> None:
    whole, count = verdicts_of(observation.findings), MUTATIONS // len(INCIDENTS)
    decided = {name for name, (verdict, _) in whole.items() if verdict != VerdictKind.UNDECIDED}
    assert decided, "the run decides nothing, so that damage could change nothing"
    in_part = {one.cell() for one in observation.findings if one.status == HOLDS_IN_PART}
    rng = random.Random(SEED)
    lost = 0
    before = count * NAMES.index(observation.path.name)
    for number in range(count):
        copy = mutable(observation.path, rng)
        mutation = copy.mutate(rng.choice(list(KINDS)))
        run = _read(copy.path, mutation)
        if run is None:
            continue
        assert unnamed(run, mutation) == [], mutation
        found = judged(run, observation.scenarios, observation.facts, observation.observed)
        now = verdicts_of(found)
        assert now.keys() == whole.keys(), mutation
        # What held where the evidence is lost now is not refuted there.
        silent = [one.claim for one in found if one.cell() in in_part and one.status == VerdictKind.REFUTED]
        assert silent == [], mutation
        moved = {
            name: (whole[name], verdict)
            for name, verdict in now.items()
            if verdict[0] not in (whole[name][0], VerdictKind.UNDECIDED)
        }
        assert moved == {}, mutation
        lost += sum(now[name][1] == Reason.DAMAGED for name in decided)
        if (before + number) % WHOLE_EVERY == 0:
            by_analysis = verdicts_of(analyze_in(spark, trusted_run(copy.path), observation.scenarios).findings)
            assert by_analysis == now, mutation
    assert lost > count / 10, "damage hits hardly anything"


def test_losing_what_speaks_against_a_claim_never_confirms_it(
    observation: Observation, mutable: Callable[[Path, random.Random], Mutable]
) -> None:
    whole = verdicts_of(observation.findings)
    refuted = {name for name, (verdict, _) in whole.items() if verdict == VerdictKind.REFUTED}
    rng = random.Random(SEED)
    arms = {trial.trial.arm for trial in observation.facts.values()}
    for arm in sorted(arms):
        copy = mutable(observation.path, rng)
        for name, facts in observation.facts.items():
            if facts.trial.arm == arm:
                shutil.rmtree(copy.path / "trials" / name)
        run = trusted_run(copy.path)
        now = verdicts_of(judged(run, observation.scenarios, observation.facts, observation.observed))
        assert {name for name in refuted if now[name][0] == VerdictKind.CONFIRMED} == set(), arm


def test_no_property_of_a_load_comes_from_damage(
    whole_load: WholeLoad, spark: SparkSession, mutable: Callable[[Path, random.Random], Mutable]
) -> None:
    assert {one.verdict for one in whole_load.judged.findings} >= {VerdictKind.CONFIRMED}
    rng = random.Random(SEED)
    kinds = [kind for kind in KINDS if "exchanged" not in kind or kind == "lines exchanged"]
    for number in range(MUTATIONS // 20):
        copy = mutable(whole_load.path, rng)
        mutation = copy.mutate(rng.choice(kinds))
        run = _read(copy.path, mutation)
        if run is None:
            continue
        assert unnamed(run, mutation) == [], mutation
        if number % 5 or not run.damage_of("load"):
            continue
        if len(run.trials) != 1 or not (run.path / "trials" / "load").is_dir():
            with pytest.raises(RunDirectoryError):
                judge_load_in(spark, run)
        else:
            judged_load = judge_load_in(spark, run)
            assert {one.verdict for one in judged_load.findings} == {VerdictKind.UNDECIDED}, mutation
            assert {one.claim for one in judged_load.findings} >= {one.claim for one in whole_load.judged.findings}
            assert judged_load.notes[0].startswith("evidence damaged: "), mutation


def _read(path: Path, mutation: Mutation) -> RunDirectory | None:
    """The damaged run; None where it is refused, which its manifest's damage alone may bring about."""
    if mutation.kind == "byte of the manifest":
        with pytest.raises(RunDirectoryError, match=r"manifest\.json"):
            trusted_run(path)
        return None
    return trusted_run(path)


def unnamed(run: RunDirectory, mutation: Mutation) -> list[str]:
    """What was touched and is not named: neither itself nor, where that cannot be read any more, the record that names it."""
    named = {damage.file for damage in run.damage}
    documents = {
        file.removesuffix("/trial.json").removesuffix("/deployment.json") for file in named if file.endswith(".json")
    }
    return [
        file
        for file in mutation.touched
        if not any(
            one == file or one.startswith(f"{file}/") or file.startswith(f"{one}/") for one in (*named, *documents)
        )
    ]


def test_the_runs_that_are_kept_are_whole_and_of_every_family(tmp_path: Path) -> None:
    families: set[str] = set()
    for packed in packed_runs():
        unpack_run(packed, tmp_path / packed.name)
        run = read_run_directory(tmp_path / packed.name)
        assert (run.is_sealed, run.damage, run.problems, run.manifest.status) == (True, (), (), "complete")
        families |= {claim.partition("-")[0] for claim in run.manifest.rules}
    assert {"BUSY", "POOL", "ORDER", "QUEUES", "TOPICS", "NAMES", "SENDS", "AVOID", "X"} <= families
    assert len(LOADS) == 2
    assert sum(path.stat().st_size for path in packed_runs()) < 20 * 2**20
