from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.stall_model.document import FILE, score_document
from analysis.stall_model.model import Score, ScoredCount, Stall, allowed, predict, score
from analysis.verdicts.evidence import Remark, TrialValidity
from analysis.verdicts.observations import Observation
from harness.errors import EXIT_OK, EXIT_USAGE
from harness.model.rocketmq import OVERLOAD, PC_SYNCHRONIZED, PCBUSY_CLEAN_QUEUE, REJECTREQUEST, TIMEOUT_CLEAN_QUEUE
from harness.rundir.manifest import DeploymentRecord, HostRecord, Manifest, TrialRecord
from harness.rundir.reading import RunDirectory
from tests.lib.commands import typed


def _stall(stall_ms: float, *, wait_ms: float = 200, busy_ms: float = 1000, threads: int = 1) -> Stall:
    return Stall(stall_ms=stall_ms, rate_hz=500, wait_ms=wait_ms, busy_ms=busy_ms, threads=threads)


def test_a_stall_below_the_waiting_limit_refuses_nothing() -> None:
    assert set(predict(_stall(150)).values()) == {0.0}


def test_a_stall_above_the_limit_refuses_what_has_waited_at_the_cleaners_last_look() -> None:
    expected = {
        TIMEOUT_CLEAN_QUEUE: 122.5,
        PCBUSY_CLEAN_QUEUE: 0.0,
        REJECTREQUEST: 0.0,
        PC_SYNCHRONIZED: 0.0,
        OVERLOAD: 0.0,
    }
    assert predict(_stall(450)) == expected


def test_threads_that_wait_for_the_lock_hold_a_request_each() -> None:
    assert predict(_stall(450, threads=3))[TIMEOUT_CLEAN_QUEUE] == 120.5


def test_a_busy_page_cache_empties_the_queue_once_and_rejects_the_rest() -> None:
    found = predict(_stall(1200))
    assert found[PCBUSY_CLEAN_QUEUE] == pytest.approx(500 * 0.205)
    assert found[REJECTREQUEST] == pytest.approx(100)
    assert found[TIMEOUT_CLEAN_QUEUE] == pytest.approx(500 * 0.795)


def test_a_limit_beyond_the_busy_age_is_never_reached() -> None:
    found = predict(_stall(700, wait_ms=600, busy_ms=500))
    assert found[TIMEOUT_CLEAN_QUEUE] == 0
    assert found[PCBUSY_CLEAN_QUEUE] == pytest.approx(500 * 0.505)


def test_what_is_allowed_is_the_largest_of_the_three() -> None:
    assert allowed(0, 500, 5) == 5  # one period of the cleaner
    assert allowed(1000, 500, 5) == 50  # 5 %
    assert allowed(4, 10, 1) == pytest.approx(6.24, abs=0.01)  # the Poisson interval of 4 ends at 10.24


def test_a_cell_counts_only_when_every_keyword_is_within() -> None:
    row = {
        "release": "4.6.0",
        "injection": "byteman",
        "arm": "incident",
        "wait_ms": 200.0,
        "busy_ms": 1000.0,
        "trials": 5,
        "predicted": 100.0,
        "measured": 100.0,
        "allowed": 5.0,
    }
    good = [ScoredCount(**row, params={"stall_ms": 450}, keyword=TIMEOUT_CLEAN_QUEUE, within=True)]  # type: ignore[arg-type]
    bad = [
        ScoredCount(**row, params={"stall_ms": 1200}, keyword=keyword, within=keyword == REJECTREQUEST)  # type: ignore[arg-type]
        for keyword in (TIMEOUT_CLEAN_QUEUE, REJECTREQUEST)
    ]
    score = Score(rows=(*good, *bad), left_out=("t1: a safepoint",))
    assert score.cells() == (2, 1)
    document = score_document(score)
    assert "1 of 2 cells" in document
    assert document.count("**outside**") == 1
    assert "- t1: a safepoint" in document


ROW = {
    "release": "4.6.0", "injection": "byteman", "arm": "incident", "params": {}, "wait_ms": 200.0, "busy_ms": 1000.0,
    "keyword": REJECTREQUEST, "trials": 5, "predicted": 100.0, "measured": 100.0, "allowed": 5.0, "within": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "holds no JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ("\0", "cannot be read"),
        ("{}", "has schema None"),
        ('{"schema": 1}', "lacks rows"),
        (json.dumps({"schema": 1, "rows": {}, "left_out": []}), "rows"),
        (json.dumps({"schema": 1, "rows": [[]], "left_out": []}), "rows[0]"),
        (json.dumps({"schema": 1, "rows": [{**ROW, "params": 1}], "left_out": []}), "rows[0].params"),
        (json.dumps({"schema": 1, "rows": [{**ROW, "wait_ms": "x"}], "left_out": []}), "rows[0].wait_ms"),
        (json.dumps({"schema": 1, "rows": [{**ROW, "trials": 10**400}], "left_out": []}), "rows[0].trials"),
        (json.dumps({"schema": 1, "rows": [], "left_out": [1]}), "left_out[0]"),
    ],
)
def test_a_document_of_somebody_else_s_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / FILE).write_text(text)
    for more in ((), ("--json",)):
        said = typed("runs", "model", str(tmp_path), *more)
        assert said.code == EXIT_USAGE, said.err
        assert says in said.err
        assert "defect" not in said.err


def test_a_document_of_somebody_else_s_steers_no_terminal(tmp_path: Path) -> None:
    row = {**ROW, "release": "\x1b[2J\u202e", "params": {"stall_ms": "\x1b]0;x\x07"}}
    (tmp_path / FILE).write_text(json.dumps({"schema": 1, "rows": [row], "left_out": ["\x1b[31m\n# heading"]}))
    said = typed("runs", "model", str(tmp_path))
    assert said.code == EXIT_OK, said.err
    assert "\\x1b[2J\\u202e" in said.out
    assert not {"\x1b", "\u202e", "\x07"} & {*said.out}
    assert "\n# heading" not in said.out


def _scored(user: dict[str, str], scenario: dict[str, str], *remarks: Remark) -> Score:
    """One trial with a stall of 450 ms of which that was remarked."""
    trial = TrialRecord(
        trial="t", incident="append-stall", arm="incident", params={"stall_ms": 450, "rate_hz": 500},
        release="5.3.3", client="", backend="local", injection="byteman", deployment="d", repetition=1, seed=1, topic="T",
        groups=(), live_conf={}, status="complete", error="", superseded_by="",
    )  # fmt: skip
    deployment = DeploymentRecord(
        deployment="d", incident="append-stall", release="5.3.3", index=1, topology={}, logging="lab", log_zone="UTC",
        settings={"conf": scenario, "user_conf": user},
    )  # fmt: skip
    manifest = Manifest(
        run="r", created="", command="", commit="c", dirty=False, seed=1,
        incidents=("append-stall",), releases=("5.3.3",), backend="local",
        budget="full", status="complete", trials=("t",), client_releases={}, rules={}, host=HostRecord(cores=4),
    )  # fmt: skip
    run = RunDirectory(path=Path("/r"), manifest=manifest, trials=(trial,), deployments=(deployment,))
    seen = Observation(
        measure="append_in_lock_ms", incident="append-stall", arm="incident", release="5.3.3", trial="t",
        params=trial.params, unit="u", block="d", value=450.0, source=None, extra={},
    )  # fmt: skip
    return score(run, [seen], [TrialValidity(trial="t", remarks=remarks)], ("append-stall",))


def test_the_settings_of_the_user_are_the_models() -> None:
    def predicted(user: dict[str, str], scenario: dict[str, str]) -> float:
        rows = _scored(user, scenario).rows
        return next(row.predicted for row in rows if row.keyword == TIMEOUT_CLEAN_QUEUE)

    assert predicted({}, {}) == 122.5 - 3
    assert predicted({"sendMessageThreadPoolNums": "2"}, {}) == 122.5 - 1
    assert predicted({"waitTimeMillsInSendQueue": "400"}, {}) == 122.5 - 3 - 100
    # The scenario's own win, as they do in the broker.conf.
    assert predicted({"sendMessageThreadPoolNums": "2"}, {"sendMessageThreadPoolNums": "1"}) == 122.5


def test_a_stall_that_was_not_clean_is_told_and_left_out_though_its_trial_counts_for_claims() -> None:
    remark = Remark(words="a safepoint stopped the whole broker")
    assert TrialValidity(trial="t", remarks=(remark,)).counts()
    made = _scored({}, {}, remark)
    assert made.rows == ()
    assert made.left_out == ("t: a safepoint stopped the whole broker",)
