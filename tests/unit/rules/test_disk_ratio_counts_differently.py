"""Disks that count as full, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.disk_ratio_counts_differently import DELETES, KEEPS, NO_RESERVE, RATIO, REFUSES, SCENARIO, XFS
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE, SIX = (f"X-disk-ratio-counts-differently-{number:02}" for number in range(1, 7))


def _refused(arm: str, share: float) -> History:
    return {f"unaccepted_last_share {arm}": [[share]] * SCENARIO.budget.deployments}


def _deleted(arm: str, megabytes: float) -> History:
    return {f"deleted_log_mb {arm} moment=after": [[megabytes]] * SCENARIO.budget.deployments}


WELL: History = {**_refused(XFS, 0), **_deleted(XFS, 0)}
OF_4_6_0: History = {**WELL, **_refused(REFUSES, 0), **_deleted(DELETES, 0)}
OF_4_9_7: History = {
    **WELL, **_refused(REFUSES, 1), **_deleted(DELETES, 4), **_refused(NO_RESERVE, 0), **_deleted(NO_RESERVE, 4),
    **_refused(RATIO, 0), **_deleted(RATIO, 4), **_deleted(KEEPS, 0),
}  # fmt: skip
OF_5X: History = {**OF_4_9_7, **_refused(RATIO, 1), **_deleted(KEEPS, 4)}
"""It takes no limit above 0.90, and none above 0.85 for deletions."""

PARTS: dict[tuple[str, str], History] = {
    (ONE, "refused"): _refused(REFUSES, 0),
    (ONE, "xfs"): _refused(XFS, 1),
    (TWO, "deleted"): _deleted(DELETES, 0),
    (TWO, "xfs"): _deleted(XFS, 4),
    (THREE, "refused"): _refused(NO_RESERVE, 1),
    (THREE, "files"): _deleted(NO_RESERVE, 0),
    (THREE, "with a reserve"): _refused(REFUSES, 0),
    (FOUR, "refused"): _refused(RATIO, 1),
    (FOUR, "files"): _deleted(RATIO, 0),
    (FOUR, "by default"): _refused(REFUSES, 0),
    (FIVE, "refused"): _refused(XFS, 1),
    (FIVE, "deleted"): _deleted(XFS, 4),
    (SIX, "deleted"): _deleted(KEEPS, 4),
    (SIX, "by default"): _deleted(DELETES, 0),
}
"""By part what is changed to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(
    CLAIMS, OF_4_9_7, {key: ({}, change) for key, change in PARTS.items()}
)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4_6_0), ("4.9.7", OF_4_9_7), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_a_broker_that_counts_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_cure_is_of_releases_that_have_something_to_cure() -> None:
    assert not any(SCENARIO.asks(CLAIMS[claim], "4.6.0") for claim in (THREE, FOUR, SIX))
    for claim in (THREE, FOUR):
        assert verdict(CLAIMS[claim], {**OF_4_9_7, **_refused(REFUSES, 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)
    assert verdict(CLAIMS[SIX], {**OF_4_9_7, **_deleted(DELETES, 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_was_refused() -> None:
    assert said(CLAIMS[ONE], OF_4_9_7) == (
        "At 0.87 of an ext4 with a reserve of 5 % sends were refused in 2 of 2 deployments."
    )
