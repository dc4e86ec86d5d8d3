"""Runs in the record: how they get in, how they are pooled, and what keeps them out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import scenarios
from analysis.ledger.add import add, register
from analysis.ledger.journal import JOURNAL, Entry, append, read_journal
from analysis.ledger.runs import FINDINGS, CountedTrial, RecordedRun, RecordedValues, read_lines, write_lines
from analysis.verdicts.tries import Try
from harness.errors import LedgerError
from harness.model.findings import FROM_RECORD, FROM_RUN, FROM_SUMMARY, EvidenceLine, Finding
from harness.model.rules import Claim, Part
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import HostRecord, Manifest, read_manifest
from harness.rundir.writing import RunWriter
from mqlab.ask.recorded import committed_ledger, experiment_now
from scenarios.rules import median, never, of, ratio, side
from tests.lib.ledger import EVENT, committed, record_of, summary
from tools.recorded.recompute import NO_TRIAL, changes_of, recompute
from tools.recorded.record import Record, read_record
from tools.rules_at import RuleThen, rule_at

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED

NONE_LOST = never(of("lost_count", "incident"), 100, "a death loses what was not flushed", noun="deaths")
FAST = median(of("handover_s", "incident"), side(13.5, 24, "16 s of lock life", bound=16))

HANDOVER = scenarios.find("ordered-lock-handover")


def with_claim(*parts: Part, reading: str = "r") -> Scenario:
    claim = Claim(id="ORDER-06", article="A3", says="s", reading=reading, parts=parts, expected={}, summary="Said.")
    return dataclasses.replace(HANDOVER, claims=(claim,))


def trial(
    name: str, deployment: str, *measured: tuple[str, float], arm: str = "incident", proof: str = ""
) -> CountedTrial:
    told = CountedTrial(
        trial=name, experiment="", incident=HANDOVER.name, arm=arm, cell={}, release="5.3.3", client="java 5.3.3",
        backend="local", injection="signal", deployment=deployment, attempt=1, seed=1, status="complete", hiccup_ms=1.0,
        values=tuple(
            RecordedValues(measure=measure, tries=(Try.of("", [(value, False)], proof),)) for measure, value in measured
        ),
    )  # fmt: skip
    return dataclasses.replace(told, experiment=experiment_now(told))


def run(name: str, scenario: Scenario, *trials: CountedTrial, **changed: Any) -> RecordedRun:
    line = Finding(
        claim="ORDER-06", incident=HANDOVER.name, article="A3", says="s", release="5.3.3", backend="local",
        injection="signal", client="java 5.3.3", verdict=UNDECIDED, reason="too few deployments", summary="Of one run.",
        expected=CONFIRMED, expected_from_code="", runs=(name,),
    )  # fmt: skip
    told = RecordedRun(
        run=name, commit="c" * 40, analysis_commit="c" * 40, created="2026-11-23T00:00:00+00:00", status="complete",
        host=HostRecord(cores=2), backend="local", seed=1, jars={"5.3.3": "a" * 64},
        rules={claim.id: claim.rule_hash() for claim in scenario.claims},
        experiments={one.cell_name: one.experiment for one in trials}, trials=trials, findings=(line,),
    )  # fmt: skip
    return dataclasses.replace(told, **changed)


def record(folder: Path, *runs: RecordedRun) -> Record:
    folder.mkdir(parents=True, exist_ok=True)
    for one in runs:
        write_lines(folder / f"{one.run}.jsonl", one)
        append(folder, Entry(kind="recorded", about=one.run, at="x"), [f"{one.run}.jsonl"])
    return read_record(folder)


def deaths(lost: Sequence[float], deployment: str, proof: str = "") -> list[CountedTrial]:
    return [trial(f"{deployment}-{at}", deployment, ("lost_count", one), proof=proof) for at, one in enumerate(lost)]


def judged(kept: Record, scenario: Scenario) -> Finding:
    (line,) = recompute(kept, [scenario], experiment_now)
    return line


# --- pooling ----------------------------------------------------------------------------------------------------------


def test_a_counterexample_in_one_of_two_pooled_runs_refutes(tmp_path: Path) -> None:
    scenario = with_claim(NONE_LOST)
    clean = [one for place in range(5) for one in deaths([0] * 8, f"d{place}")]
    kept = record(tmp_path, run("one", scenario, *clean))
    assert judged(kept, scenario).verdict is CONFIRMED
    planted = deaths([0] * 39 + [103], "d9", proof="history and store")
    kept = record(tmp_path, run("two", scenario, *planted))
    line = judged(kept, scenario)
    assert (line.verdict, line.basis, line.runs) == (REFUTED, FROM_RECORD, ("one", "two"))
    assert (line.parts[0].tries, line.parts[0].events, line.parts[0].deployments) == (80, 1, 6)
    assert line.notes == ("replicated in 2 runs",)


def shown(
    name: str, scenario: Scenario, verdict: VerdictKind, *trials: CountedTrial, rule_hash: str = ""
) -> RecordedRun:
    """A run that found a verdict, and showed four lines."""
    told, (rule,) = run(name, scenario, *trials), scenario.claims
    lines = tuple(EvidenceLine(excerpt=f"line {n} of {name}", file="f", line=n) for n in range(1, 5))
    found = dataclasses.replace(
        told.findings[0], verdict=verdict, evidence=lines, rule_hash=rule_hash or rule.rule_hash()
    )
    return dataclasses.replace(told, findings=(found,))


def test_the_evidence_is_of_the_newest_run_that_found_the_same_by_the_same_rule(tmp_path: Path) -> None:
    scenario = with_claim(NONE_LOST)
    clean = [one for place in range(5) for one in deaths([0] * 8, f"d{place}")]
    kept = record(
        tmp_path,
        shown("one", scenario, CONFIRMED, *clean),
        shown("two", scenario, CONFIRMED, *deaths([0], "d7")),
        shown("three", scenario, UNDECIDED, *deaths([0], "d8")),
        shown("four", scenario, CONFIRMED, *deaths([0], "d9"), rule_hash="another"),
    )
    line = judged(kept, scenario)
    assert line.verdict is CONFIRMED
    assert [(one.run, one.excerpt) for one in line.evidence] == [("two", "line 1 of two"), ("two", "line 2 of two")]


def test_what_runs_decide_together_alone_has_the_evidence_of_one_that_decided_nothing_and_never_of_the_opposite(
    tmp_path: Path,
) -> None:
    scenario = with_claim(NONE_LOST)
    half = [one for place in range(3) for one in deaths([0] * 8, f"d{place}")]
    kept = record(
        tmp_path,
        shown("one", scenario, UNDECIDED, *half),
        shown("two", scenario, UNDECIDED, *deaths([0] * 8, "d7"), *deaths([0] * 8, "d8")),
        shown("three", scenario, REFUTED, *deaths([0], "d9")),
    )
    line = judged(kept, scenario)
    assert line.verdict is CONFIRMED
    assert {one.run for one in line.evidence} == {"two"}


def test_what_an_incident_s_faults_were_made_by_in_one_run_hides_no_evidence(tmp_path: Path) -> None:
    scenario = with_claim(NONE_LOST)
    clean = [one for place in range(5) for one in deaths([0] * 8, f"d{place}")]
    whole, part = shown("one", scenario, CONFIRMED, *clean), shown("two", scenario, UNDECIDED, *deaths([0], "d7"))
    other = dataclasses.replace(part.findings[0], injection="another", evidence=())
    line = judged(record(tmp_path, whole, dataclasses.replace(part, findings=(other,))), scenario)
    assert {one.run for one in line.evidence} == {"one"}


def test_every_line_of_the_committed_ledger_has_evidence_or_no_trial_that_counts() -> None:
    for line in committed_ledger():
        assert bool(line.evidence) == bool(line.runs), (line.claim, line.release, line.backend, line.injection)
        assert all(one.run in line.runs for one in line.evidence)
        assert line.runs or NO_TRIAL in line.summary, line.summary


def test_deployments_of_all_runs_of_an_experiment_are_one_series(tmp_path: Path) -> None:
    scenario = with_claim(FAST)
    one = run("one", scenario, *(trial(f"t{at}", f"d{at}", ("handover_s", 13.0)) for at in range(3)))
    two = run("two", scenario, *(trial(f"t{at}", f"d{at}", ("handover_s", 14.0)) for at in range(2)))
    line = judged(record(tmp_path, one), scenario)
    assert (line.verdict, line.reason) == (UNDECIDED, "too few deployments")
    line = judged(record(tmp_path, two), scenario)
    assert (line.verdict, line.parts[0].values) == (CONFIRMED, (13, 13, 13, 14, 14))
    (figure,) = line.figures
    assert (figure.deployments, figure.tries, figure.min, figure.p50, figure.max) == (5, 5, 13, 13, 14)


def test_a_line_names_all_ways_of_its_faults_whichever_arms_its_last_run_had(tmp_path: Path) -> None:
    throttled = median(of("handover_s", "incident-throttled-disk"), side(13.5, 24, "16 s of lock life", bound=16))
    scenario = with_claim(FAST, throttled)
    left = trial("t", "d", ("handover_s", 13.0), arm="incident-throttled-disk")
    left = dataclasses.replace(left, injection="cgroup")
    left = dataclasses.replace(left, experiment=experiment_now(left))
    of_both = run("one", scenario, left, trial("u", "d", ("handover_s", 13.0)), trial("v", "d", arm="baseline"))
    of_one = run("two", scenario, left)
    last = (dataclasses.replace(of_one.findings[0], injection="cgroup"),)
    kept = record(tmp_path, of_both, dataclasses.replace(of_one, findings=last))
    assert judged(kept, scenario).injection == "signal, cgroup"


def test_what_was_seen_before_the_rule_is_not_in_the_odds(tmp_path: Path) -> None:
    old, new = with_claim(FAST, reading="old"), with_claim(FAST, reading="new")
    trials = [trial(f"t{at}", f"d{at}", ("handover_s", 13.0)) for at in range(5)]
    kept = record(tmp_path, run("one", old, *trials))
    assert judged(kept, old).verdict is CONFIRMED
    line = judged(kept, new)
    assert (line.verdict, line.reason, line.trials) == (UNDECIDED, "too few deployments", 0)
    assert line.notes == (
        "5 deployments were seen before the rule, or in another experiment: they are not in the odds",
    )


def test_a_counterexample_that_was_seen_before_the_rule_refutes_all_the_same(tmp_path: Path) -> None:
    old, new = with_claim(NONE_LOST, reading="old"), with_claim(NONE_LOST, reading="new")
    clean = [one for place in range(5) for one in deaths([0] * 8, f"d{place}")]
    kept = record(tmp_path, run("one", old, *deaths([7], "d0", proof="history and store")), run("two", new, *clean))
    line = judged(kept, new)
    assert line.verdict is REFUTED
    assert line.summary.startswith("Refuted by what was seen before:")


def changed(folder: Path, old: Scenario, new: Scenario, *kept: Part) -> Record:
    (was,), (now,) = old.claims, new.claims
    hashes = tuple(part.hash() for part in kept)
    append(folder, Entry(kind="rule", about=now.id, at="x", was=was.rule_hash(), hash=now.rule_hash(), kept=hashes))
    return read_record(folder)


def test_a_part_that_asks_for_the_same_goes_on_when_the_rule_becomes_another_one(tmp_path: Path) -> None:
    one, two, three = with_claim(FAST), with_claim(FAST, NONE_LOST), with_claim(FAST, NONE_LOST, reading="new")
    kept = record(tmp_path, run("one", one, *(trial(f"t{at}", f"d{at}", ("handover_s", 13.0)) for at in range(5))))
    assert judged(kept, two).trials == 0, "nobody has said which parts go on"
    kept = changed(tmp_path, one, two, FAST)
    line = judged(kept, two)
    assert (line.verdict, line.trials, line.notes) == (UNDECIDED, 5, ("1 run",))
    assert [part.verdict for part in line.parts] == [CONFIRMED, UNDECIDED]
    clean = [one for place in range(5) for one in deaths([0] * 8, f"e{place}")]
    kept = record(tmp_path, run("two", two, *clean))
    line = judged(kept, two)
    assert (line.verdict, line.trials, line.runs) == (CONFIRMED, 45, ("one", "two"))
    assert judged(changed(tmp_path, two, three, NONE_LOST), three).parts[0].verdict is UNDECIDED, "FAST did not go on"


def test_a_counterexample_to_a_part_that_did_not_go_on_refutes_though_another_did(tmp_path: Path) -> None:
    few = dataclasses.replace(NONE_LOST, scope="few")
    old, new = with_claim(FAST, NONE_LOST), with_claim(FAST, few)
    trials = [trial(f"t{at}", f"d{at}", ("handover_s", 13.0)) for at in range(5)]
    record(tmp_path, run("one", old, *trials, *deaths([7], "d0", proof="history and store")))
    line = judged(changed(tmp_path, old, new, FAST), new)
    assert line.parts[0].verdict is CONFIRMED
    assert line.verdict is REFUTED
    assert line.summary.startswith("Refuted by what was seen before:")


CODE_OF_THEN = """
import dataclasses

@dataclasses.dataclass
class Part:
    name: str
    bound: float
    because: str = "b"
    noun: str = "n"
    scope: str = "s"

@dataclasses.dataclass
class Claim:
    id: str
    parts: tuple

    def rule_hash(self):
        return "then"

@dataclasses.dataclass
class Scenario:
    claims: tuple

ALL = [Scenario((Claim("ORDER-06", (Part("fast", 2.0), Part("named otherwise", 2.0))),))]
"""


def test_the_rule_of_an_earlier_commit_is_what_its_code_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    monkeypatch.setattr("tools.rules_at.PACKAGES", tmp_path)
    for name, text in {"scenarios/__init__.py": CODE_OF_THEN, "harness/__init__.py": ""}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "then")
    (tmp_path / "scenarios" / "__init__.py").write_text("raise ValueError")
    then = rule_at("HEAD", "ORDER-06")
    decides = json.dumps({"name": "", "bound": 2.0, "because": "", "noun": "", "scope": ""}, sort_keys=True)
    assert then == RuleThen(rule="then", parts=(hashlib.sha256(decides.encode()).hexdigest(),) * 2)
    assert rule_at("HEAD", "ORDER-07") is None, "a claim that there was not"
    assert rule_at("b" * 40, "ORDER-06") is None, "a commit that is not here"


def test_a_verified_event_of_a_summary_refutes_a_never_and_no_other_claim(tmp_path: Path) -> None:
    kept = record_of(tmp_path / "record", summary("old", CONFIRMED), events=(EVENT,))
    line = judged(kept, with_claim(NONE_LOST))
    assert (line.verdict, line.counterexamples) == (REFUTED, ("verified: a queue waited for 63.4 s",))
    line = judged(kept, with_claim(FAST))
    assert (line.verdict, line.reason) == (UNDECIDED, "too few deployments")
    assert [(one.run, one.verdict) for one in line.earlier] == [("old", CONFIRMED)]


def test_another_experiment_is_another_series(tmp_path: Path) -> None:
    scenario = with_claim(FAST)
    kept = record(tmp_path, run("one", scenario, *(trial(f"t{at}", f"d{at}", ("handover_s", 13.0)) for at in range(5))))
    raised = dataclasses.replace(scenario, experiment_version=2)
    (line,) = recompute(kept, [raised], lambda one: "another" if one else "")
    assert (line.verdict, line.trials) == (UNDECIDED, 0)


def test_a_comparison_needs_both_of_its_arms_from_one_run(tmp_path: Path) -> None:
    part = ratio(of("rejected_count", "incident"), of("rejected_count", "baseline"), side(0.5, 1, "half", bound=0.75))
    scenario = with_claim(part)
    above = [trial(f"a{at}", f"d{at}", ("rejected_count", 50.0)) for at in range(5)]
    below = [trial(f"b{at}", f"d{at}", ("rejected_count", 100.0), arm="baseline") for at in range(5)]
    apart = record(tmp_path / "apart", run("one", scenario, *above), run("two", scenario, *below))
    assert judged(apart, scenario).parts[0].deployments in (0, None)
    together = record(tmp_path / "together", run("one", scenario, *above, *below))
    assert judged(together, scenario).verdict is CONFIRMED


def test_a_claim_without_a_rule_by_kinds_has_what_the_newest_run_found(tmp_path: Path) -> None:
    kept = record_of(tmp_path / "record", summary("old", CONFIRMED, injection="signal"))
    old_style = dataclasses.replace(HANDOVER, claims=())
    (line,) = recompute(kept, [old_style], experiment_now)
    assert line.basis == FROM_SUMMARY
    kept = record(tmp_path / "record", run("new", old_style, trial("t", "d", ("handover_s", 60.0))))
    (line,) = recompute(kept, [old_style], experiment_now)
    assert (line.basis, line.summary, line.runs) == (FROM_RUN, "Of one run.", ("new",))
    assert [(one.run, one.summary) for one in line.earlier] == [("old", "As old has it.")]


# --- what changed -----------------------------------------------------------------------------------------------------


def test_rules_and_experiments_that_changed_are_named_with_the_reason_that_was_given(tmp_path: Path) -> None:
    old, new = with_claim(FAST, reading="old"), with_claim(FAST, reading="new")
    one = trial("t", "d", ("handover_s", 13.0))
    kept = record(tmp_path, run("one", old, one))
    assert changes_of(kept, [old], experiment_now) == []
    (change,) = changes_of(kept, [new], experiment_now)
    assert str(change).endswith("no reason is given")
    append(
        tmp_path, Entry(kind="rule", about="ORDER-06", at="x", hash=change.now, because="the bound was the median's")
    )
    (change,) = changes_of(read_record(tmp_path), [new], experiment_now)
    assert str(change).endswith("the bound was the median's")
    (cell,) = changes_of(kept, [old], lambda one: "another")
    assert (cell.about, cell.was, cell.now) == (one.cell_name, one.experiment, "another")


def test_no_recorded_rule_and_no_recorded_cell_has_changed_without_a_reason() -> None:
    """Say why with `python -m tools.ledger --changed CLAIM --because TEXT`, or INCIDENT for its cells."""
    unexplained = [str(one) for one in changes_of(committed(), scenarios.ALL, experiment_now) if not one.because]
    assert unexplained == []


# --- getting in -------------------------------------------------------------------------------------------------------

MANIFEST = Manifest(
    run="20261123T000000Z-ab12", created="2026-11-23T00:00:00+00:00", command="mqlab verify", commit="c" * 40,
    dirty=False, seed=1, incidents=(HANDOVER.name,), releases=("5.3.3",), client_releases={"5.3.3": "5.3.3"},
    backend="local", budget="full", rules={}, host=HostRecord(cores=2), status="complete",
)  # fmt: skip


def made(folder: Path, manifest: Manifest = MANIFEST, **changed: Any) -> Path:
    """A run directory as its analysis leaves it."""
    with RunWriter.create(folder, dataclasses.replace(manifest, status="running")) as writer:
        writer.set_status(manifest.status)
    told = run(manifest.run, with_claim(FAST), trial("t", "d", ("handover_s", 13.0)), status=manifest.status)
    (folder / FINDINGS).parent.mkdir()
    write_lines(folder / FINDINGS, dataclasses.replace(told, **changed))
    return folder


def test_a_registered_run_gets_in_once(tmp_path: Path) -> None:
    register(tmp_path / "record", MANIFEST)
    path = made(tmp_path / "run")
    add(tmp_path / "record", path, "now")
    (kept,) = read_record(tmp_path / "record").runs
    assert kept == read_lines(path / FINDINGS)
    assert [entry.kind for entry in read_journal(tmp_path / "record").entries] == ["registered", "recorded"]
    head = json.loads((tmp_path / "record" / f"{MANIFEST.run}.jsonl").read_text("utf-8").splitlines()[0])
    assert set(head) >= {"run", "commit", "analysis_commit", "created", "host", "backend", "seed", "jars", "rules"}
    assert list(head["experiments"].values()) == [kept.trials[0].experiment]
    with pytest.raises(LedgerError, match="recorded already"):
        add(tmp_path / "record", path, "now")


def test_an_interrupted_run_gets_in_whatever_it_showed(tmp_path: Path) -> None:
    register(tmp_path / "record", MANIFEST)
    path = made(tmp_path / "run", dataclasses.replace(MANIFEST, status="interrupted"))
    assert add(tmp_path / "record", path, "now").status == "interrupted"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"dirty": True}, "uncommitted changes"),
        ({"budget": "quick"}, "a quick run"),
        ({"notes": ("setting of the user: client.useTLS=true",)}, "client.useTLS=true"),
        ({"notes": ("resumed by other code: another commit",)}, "another commit"),
    ],
)
def test_what_must_not_enter_is_refused_when_it_starts_and_when_it_is_added(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    manifest = dataclasses.replace(MANIFEST, **changed)
    with pytest.raises(LedgerError, match=words):
        register(tmp_path / "record", manifest)
    assert not (tmp_path / "record" / JOURNAL).exists()
    register(tmp_path / "record", MANIFEST)
    with pytest.raises(LedgerError, match=words):
        add(tmp_path / "record", made(tmp_path / "run", manifest), "now")
    assert read_record(tmp_path / "record").runs == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"analysis_commit": ""}, "no commit's"),
        ({"status": "running"}, "went on after"),
        ({"trials": (dataclasses.replace(trial("t", "d"), experiment=""),)}, "no experiment's hash"),
    ],
)
def test_an_analysis_that_nobody_can_look_up_keeps_a_run_out(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    register(tmp_path / "record", MANIFEST)
    with pytest.raises(LedgerError, match=words):
        add(tmp_path / "record", made(tmp_path / "run", **changed), "now")


def test_a_run_that_was_not_registered_or_not_analysed_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "run")
    with pytest.raises(LedgerError, match="was not registered"):
        add(tmp_path / "record", path, "now")
    register(tmp_path / "record", MANIFEST)
    (path / FINDINGS).unlink()
    with pytest.raises(LedgerError, match="was not analysed"):
        add(tmp_path / "record", path, "now")
    assert read_manifest(path).run == MANIFEST.run


def test_what_a_log_says_ends_no_line_of_the_record(tmp_path: Path) -> None:
    said = "".join(map(chr, (0x0B, 0x0C, 0x0D, 0x1C, 0x85, 0x2028, 0x2029)))
    path = made(tmp_path / "run", failed={"handover_s": said})
    assert read_lines(path / FINDINGS).failed == {"handover_s": said}
    register(tmp_path / "record", MANIFEST)
    add(tmp_path / "record", path, "now")
    (kept,) = read_record(tmp_path / "record").runs
    assert kept == read_lines(path / FINDINGS)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", "lacks run"),
        ("7", ":1 is not as expected"),
        ("[" * 100_000, ":1 is not as expected: it is nested too deeply"),
        ("{}\n7", ":1 is not as expected"),
        ("WHOLE7", ":2 is not as expected"),
        ('WHOLE"trial"', ":2 is not as expected"),
        ('WHOLE{"trial": 1}', ":2 is not as expected"),
        ("WHOLE" + "[" * 100_000, "nested too deeply"),
        ("WHOLE" + "9" * 5000, ":2 is not as expected"),
    ],
)
def test_the_lines_of_somebody_else_s_run_are_one_sentence(tmp_path: Path, lines: str, says: str) -> None:
    path = made(tmp_path / "run")
    whole = (path / FINDINGS).read_text("utf-8").partition("\n")[0] + "\n"
    (path / FINDINGS).write_text(lines.replace("WHOLE", whole), "utf-8")
    register(tmp_path / "record", MANIFEST)
    with pytest.raises(LedgerError, match=re.escape(says)):
        add(tmp_path / "record", path, "now")
