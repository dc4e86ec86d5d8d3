"""The pool's switch, its buffers and its end, made by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import pool_exhausted
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(pool_exhausted.SCENARIO)
LARGEST = 2147483647

FREE = {
    arm: f"free_buffers {arm} moment=after rate_hz=500"
    for arm in ("baseline", "incident-pool-5-calm", "incident-pool-sync-flush")
}
REJECTED = {
    arm: f"rejected_count {arm} keyword=REJECTREQUEST rate_hz=500"
    for arm in ("baseline", "incident-pool-1", "incident-pool-2", "incident-pool-5", "incident-pool-5-calm")
}
FILES, FIVE = (
    f"{measure} incident-pool-5-calm moment=after rate_hz=500" for measure in ("locked_files_mb", "locked_mb")
)
TWO = "locked_mb incident-pool-2 moment=after rate_hz=500"
READS = "limit_mb=0 watch_ms=3000 rate_hz=500"
RANDOM, SEQUENCE = (
    f"cold_disk_reads incident-cold-reads consecutive={many} moment=after {READS}" for many in (1, 1000)
)
COLD = f"cold_share incident-cold-reads consecutive=1 moment=after {READS}"

AS_THE_CODE_SAYS: History = {
    FREE["baseline"]: [[LARGEST]] * 2,
    FREE["incident-pool-5-calm"]: [[3]] * 2,
    FREE["incident-pool-sync-flush"]: [[LARGEST]] * 2,
    REJECTED["baseline"]: [[0]] * 2,
    REJECTED["incident-pool-1"]: [[201]] * 2,
    REJECTED["incident-pool-2"]: [[200]] * 2,
    REJECTED["incident-pool-5"]: [[760], [930]],
    REJECTED["incident-pool-5-calm"]: [[0]] * 2,
    FILES: [[0]] * 2,
    FIVE: [[5.02]] * 2,
    TWO: [[2.01]] * 2,
}
READ: History = {RANDOM: [[0.85]] * 5, SEQUENCE: [[0.02]] * 5, COLD: [[0.99]] * 5}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("POOL-01", "the switch alone"): ({}, {FREE["incident-pool-5-calm"]: [[LARGEST]] * 2}),
    ("POOL-01", "synchronous flush"): ({FREE["incident-pool-sync-flush"]: [[3]] * 2}, {}),
    ("POOL-01", "no switch"): ({}, {FREE["baseline"]: [[3]] * 2}),
    ("POOL-03", "pool of 5, stalled"): ({}, {REJECTED["incident-pool-5"]: [[0]] * 2}),
    ("POOL-03", "pool of 1"): ({}, {REJECTED["incident-pool-1"]: [[0]] * 2}),
    ("POOL-03", "pool of 2"): ({}, {REJECTED["incident-pool-2"]: [[0]] * 2}),
    ("POOL-03", "pool of 5"): ({}, {REJECTED["incident-pool-5-calm"]: [[30], [0]]}),
    ("POOL-03", "no pool"): ({}, {REJECTED["baseline"]: [[30], [0]]}),
    ("POOL-09", "mapped files"): ({FILES: [[1.05]] * 2}, {}),
    ("POOL-09", "buffers"): ({}, {FIVE: [[0.1]] * 2}),
    ("POOL-10", "largest integer"): ({}, {FREE["baseline"]: [[LARGEST - 1]] * 2}),
    ("POOL-10", "none rejected"): ({}, {REJECTED["baseline"]: [[200]] * 2}),
    ("POOL-11", "five"): ({}, {FIVE: [[2.6]] * 2}),
    ("POOL-11", "two"): ({}, {TWO: [[1.1]] * 2}),
    ("POOL-11", "disk reads"): (READ, {**READ, RANDOM: [[0.03]] * 5}),
    ("POOL-11", "cold"): (READ, {**READ, COLD: [[0.1]] * 5}),
}  # fmt: skip
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_CODE_SAYS, PARTS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    assert verdict(CLAIMS[claim], {**AS_THE_CODE_SAYS, **READ}) == (CLAIMS[claim].expected["4.6.0"].verdict, "")


def test_a_pool_that_was_never_read_from_leaves_its_claim_undecided() -> None:
    assert verdict(CLAIMS["POOL-11"], AS_THE_CODE_SAYS)[0] is UNDECIDED


def test_reads_that_were_not_cold_leave_the_claim_undecided() -> None:
    history = {**AS_THE_CODE_SAYS, **READ, COLD: [[0.1]] * 5}
    assert verdict(CLAIMS["POOL-11"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_a_broker_that_rejects_anyway_says_nothing_of_free_buffers() -> None:
    history = {**AS_THE_CODE_SAYS, REJECTED["baseline"]: [[30], [0]]}
    assert verdict(CLAIMS["POOL-03"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_a_second_setting_turns_off() -> None:
    assert said(CLAIMS["POOL-01"], AS_THE_CODE_SAYS).startswith(
        "The switch alone turned the pool on in 2 of 2 deployments"
    )
