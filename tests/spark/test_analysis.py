"""The whole analysis on runs that have something wrong with them: never a crash, never green."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.checkers.base import Inputs, Value, giving, observations, together
from analysis.checkers.locks import handover as handover_checker
from analysis.evidence.tables import OBSERVATIONS
from analysis.ledger.runs import FINDINGS, read_lines
from analysis.pipeline import analyze_in
from analysis.report.document import load_report_data
from analysis.verdicts.evidence import Evidence, TrialValidity
from analysis.verdicts.judge import findings
from analysis.verdicts.unjudged import UnjudgedClaims
from harness.rundir.reading import read_run_directory
from tests.lib.own_scenarios import SCENARIOS, handover
from tests.lib.runs import Analysis, Run
from tests.lib.trials import Trial, at


@pytest.fixture(scope="module")
def mixed(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    """Trials of which not all count."""
    noisy = handover("noisy")
    noisy.superseded_by = "noisy.a2"
    hiccup = handover("hiccup")
    _late(hiccup, at_s=7, late_ms=45)
    early = handover("early-hiccup")
    _late(early, at_s=2, late_ms=45)
    stepped = handover("stepped")
    for record in stepped.history["owner"][1:3]:
        assert record["type"] == "anchor"
        record["wall_us"] += 60_000
    slewed = handover("slewed")
    slewed.history["owner"][2]["wall_us"] += 40_000
    unfinished = handover("unfinished")
    unfinished.status, unfinished.error = "failed", "a broker went away"
    untouched = handover("untouched")
    untouched.drop(lambda r: r["type"] == "fault" and r["state"] == "injected")
    empty = handover("empty")
    empty.history = {"owner": [], "successor": [], "producer": []}
    silent = handover("silent")
    silent.events = []
    trials = [handover("good"), noisy, hiccup, early, stepped, slewed, unfinished, untouched, empty, silent]
    return analysed(new_run(trials=trials), everything=True)


def _late(trial: Trial, *, at_s: int, late_ms: float) -> None:
    for event in trial.events:
        if event["type"] == "hiccup" and event["from_ns"] == at((at_s - 6) * 1000):
            event["late_ms_max"] = late_ms


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        ("noisy", "repeated as noisy.a2"),
        ("stepped", "wall clock stepped by 60 ms"),
        ("untouched", "owners did not end"),
        ("empty", "history is empty"),
        ("silent", "events do not say"),
    ],
)
def test_a_trial_that_does_not_count_says_why(mixed: Analysis, trial: str, words: str) -> None:
    assert any(words in reason for reason in mixed.reasons(trial))
    assert not mixed.trial(trial).counts


@pytest.mark.parametrize(
    ("trial", "words"),
    [("hiccup", "stalled for 45.0 ms"), ("unfinished", "failed, not complete: a broker went away")],
)
def test_what_is_notable_of_a_trial_that_counts_is_no_reason_against_it(
    mixed: Analysis, trial: str, words: str
) -> None:
    shown = mixed.trial(trial)
    assert shown.counts
    assert shown.exclusions == ()
    assert any(words in note for note in shown.notes)


@pytest.mark.parametrize("trial", ["good", "early-hiccup", "slewed"])
def test_noise_before_the_fault_and_slewing_do_not_matter(mixed: Analysis, trial: str) -> None:
    assert mixed.reasons(trial) == mixed.notes(trial) == []


def test_only_trials_that_count_are_in_findings_and_their_evidence(mixed: Analysis) -> None:
    found = mixed.finding("HAND-01")
    # How noisy the host may be is asked by the rule, and a trial that fails after its fault has begun is a result.
    counting = {"good", "hiccup", "early-hiccup", "slewed", "unfinished"}
    assert {one.trial for one in mixed.counted if one.counts} == counting
    assert found.trials == len(counting)
    assert found.parts[0].tries == 2 * len(counting)
    assert {line.file.split("/")[1] for line in found.evidence} <= counting
    assert "1 trials were repeated because of noise and do not count" in found.notes


def test_the_report_can_load_what_the_analysis_wrote(mixed: Analysis) -> None:
    data = load_report_data(mixed.path)
    assert data == mixed.data
    assert {finding.claim for finding in data.findings} == {"HAND-01", "HAND-02", "HAND-03", "STALL-01"}
    assert data.claims["HAND-01"].incident == "handover"
    (series,) = [item for item in data.series if item.arm == "incident"]
    assert series.trial == "good"
    assert sum(filter(None, series.consumed)) == 440
    # The shade of a killed owner lasts to the end of the hold.
    assert series.fault_s == (0.0, 6.0)
    (values,) = [item for item in data.distributions if item.measure == "handover_s"]
    assert len(values.values) == 20


def test_findings_are_written_beside_the_report_and_the_tables_as_parquet(mixed: Analysis, spark: SparkSession) -> None:
    written = read_lines(mixed.path / FINDINGS).findings
    assert [one.claim for one in written] == [one.claim for one in mixed.judged]
    queues = spark.read.parquet(str(mixed.path / "analysis" / "queues.parquet"))
    assert queues.where("trial = 'good'").count() == 4


def test_what_the_record_keeps_of_a_run_is_written_beside_the_findings(mixed: Analysis) -> None:
    kept = read_lines(mixed.path / FINDINGS)
    assert sorted(one.trial for one in kept.trials) == sorted(path.name for path in (mixed.path / "trials").iterdir())
    assert [one.claim for one in kept.findings]
    good = next(one for one in kept.trials if one.trial == "good")
    (handover_s,) = [one for one in good.values if one.measure == "handover_s"]
    assert [one.name for one in handover_s.tries] == ["g0", "g1"]
    assert all(one.median > 0 for one in handover_s.tries)


def test_an_empty_history_is_undecided_and_cites_nothing(
    new_run: Callable[..., Run], analysed: Callable[..., Analysis]
) -> None:
    empty = handover("empty")
    empty.history = {"owner": [], "successor": [], "producer": []}
    found = analysed(new_run(trials=[empty]), everything=True)
    for finding in found.judged:
        assert (finding.verdict, finding.evidence, finding.trials) == ("undecided", (), 0)
        assert finding.reason == "not exercised"


def test_a_run_without_any_trial_is_undecided(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> None:
    result = analysed(new_run())
    assert {finding.verdict for finding in result.judged} == {"undecided"}
    assert result.counted == ()


def test_a_checker_that_fails_takes_only_its_own_claims_with_it(
    new_run: Callable[..., Run], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(inputs: Inputs) -> DataFrame:
        return inputs.trials.select("a column that is not there")

    monkeypatch.setattr(handover_checker, "observe", broken)
    path = new_run(trials=[handover("good")]).save()
    found = {item.claim: item for item in analyze_in(spark, read_run_directory(path), SCENARIOS).findings}
    assert (found["HAND-01"].verdict, found["HAND-01"].reason) == ("undecided", "checker failed")
    assert any("the checker handover failed" in words for words in found["HAND-01"].notes)
    assert found["HAND-02"].verdict == "confirmed"


def test_claims_whose_code_was_not_run_are_undecided_beside_those_that_are_judged(
    new_run: Callable[..., Run], spark: SparkSession
) -> None:
    path = new_run("handover", "own-disk", trials=[handover("good")]).save()
    unjudged = UnjudgedClaims(incident="own-disk", claims=("MINE-01",), why="own_disk.py was not run.")
    data = analyze_in(spark, read_run_directory(path), SCENARIOS[:1], unjudged=[unjudged])
    by_claim = {finding.claim: finding for finding in data.findings}
    assert by_claim["HAND-02"].verdict == "confirmed"
    assert (by_claim["MINE-01"].verdict, by_claim["MINE-01"].reason) == ("undecided", "code not run")
    assert by_claim["MINE-01"] in load_report_data(path).findings


def test_a_table_is_made_where_a_value_of_it_is_wanted(spark: SparkSession) -> None:
    def table() -> DataFrame:
        return spark.sql("SELECT 't' AS trial, 'd' AS deployment, 'g' AS group, 'f' AS file, 7 AS n, 1 AS found")

    def never() -> DataFrame:
        raise AssertionError("nobody wants what is in it")

    with giving({"lost_count"}):
        both = [Value("lost_count", "found", "lost"), Value("duplicate_count", "found", "twice")]
        made = together(observations(never, *both[1:]), observations(table, *both), observations(table(), *both[1:]))
    assert made.columns == OBSERVATIONS.names
    assert [(row["measure"], row["value"], row["line"]) for row in made.collect()] == [("lost_count", 1.0, 7)]


def test_evidence_of_another_run_is_not_needed_to_know_that_nothing_counts(new_run: Callable[..., Run]) -> None:
    path = new_run(trials=[handover("good")]).save()
    run = read_run_directory(path)
    nothing = Evidence.of(run=run, validity=[TrialValidity(trial="good")], observations=[])
    assert {item.verdict for item in findings(SCENARIOS, nothing)} == {"undecided"}
