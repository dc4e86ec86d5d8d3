"""What dead brokers took with them, made by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import pool_loss, sync_flush_power_loss
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(pool_loss.SCENARIO, sync_flush_power_loss.SCENARIO)

NO_POOL, POOL = "lost_count incident-killed rate_hz=1000", "lost_count incident-killed-pool rate_hz=1000"
COMMIT, FLUSH = (f"lost_count incident-killed-pool-slow-{what} rate_hz=1000" for what in ("commit", "flush"))
POWER = "lost_count incident-powerless-pool-slow-flush rate_hz=1000"
DEFAULT_FLUSH = "lost_from_log_count incident-powerless rate_hz=1000"
TIMER = "commit_after_period_share incident-watched-commits rate_hz=1000 watch_ms=3000"
CONTROL, SYNC = "lost_count incident-default-flush rate_hz=1000", "lost_count fix-sync-flush rate_hz=1000"
BUSY, LARGE, BUSY_LARGE, ALL_FLUSHED = (
    f"lost_count {arm} rate_hz=1000"
    for arm in (
        "fix-sync-flush-busy-queue",
        "fix-sync-flush-large-files",
        "fix-sync-flush-busy-queue-large-files",
        "better-flush-all-queues",
    )
)
FROM_LOG = "lost_from_log_count fix-sync-flush-busy-queue rate_hz=1000"
WHOLE, ONE_LOSS = [[0, 0]] * 18, [[0, 0]] * 17 + [[0, 310]]

AS_THE_CODE_SAYS: History = {
    NO_POOL: [[0] * 8] * 5,
    TIMER: [[0.01]] * 5,
    POOL: [[4, 13, 22]] * 5,
    COMMIT: [[200, 700, 1300]] * 5,
    FLUSH: [[15]] * 5,
    POWER: [[500, 1100]] * 5,
    DEFAULT_FLUSH: [[200]] * 5,
    CONTROL: [[200]] * 5,
    SYNC: [[0, 0]] * 20,
    **dict.fromkeys((BUSY, LARGE, BUSY_LARGE, ALL_FLUSHED, FROM_LOG), WHOLE),
}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("BUSY-05", "killed with the pool"): ({}, {POOL: [[0] * 15] * 5}),
    ("BUSY-05", "killed without the pool"): ({}, {NO_POOL: [[0] * 7 + [240]] * 5}),
    ("POOL-04", "by its timer"): ({TIMER: [[0.97]] * 5}, {}),
    ("POOL-04", "slow flush"): ({}, {FLUSH: [[2600]] * 5}),
    ("POOL-04", "slow commit"): ({}, {COMMIT: [[4, 13, 22]] * 5}),
    ("POOL-04", "without power"): ({}, {POWER: [[4, 22]] * 5}),
    ("POOL-05", "slow commit"): ({}, {COMMIT: [[4, 13, 22]] * 7, POOL: [[4, 13, 22]] * 7}),
    ("POOL-05", "slow flush"): ({}, {FLUSH: [[2600]] * 7, POOL: [[4, 13, 22]] * 7}),
    ("POOL-06", "killed"): ({}, {NO_POOL: [[0] * 7 + [240]] * 5}),
    ("POOL-07", "powerless"): ({DEFAULT_FLUSH: [[0] * 8] * 5}, {}),
    ("POOL-12", "powerless"): ({}, {SYNC: [[0, 0]] * 19 + [[0, 97]]}),
    ("POOL-12", "busy queue"): ({}, {BUSY: ONE_LOSS}),
    ("POOL-12", "large files"): ({}, {LARGE: ONE_LOSS}),
    ("POOL-12", "busy queue, large files"): ({}, {BUSY_LARGE: ONE_LOSS}),
    ("POOL-12", "all flushed"): ({}, {ALL_FLUSHED: ONE_LOSS}),
    ("POOL-12", "from the log"): ({}, {FROM_LOG: ONE_LOSS}),
    ("POOL-12", "default flush"): ({}, {CONTROL: [[0] * 15] * 5}),
}  # fmt: skip
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_CODE_SAYS, PARTS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    assert verdict(CLAIMS[claim], AS_THE_CODE_SAYS) == (CLAIMS[claim].expected["4.6.0"].verdict, "")


def test_a_power_loss_that_loses_nothing_anyway_says_nothing_of_the_synchronous_flush() -> None:
    history = {**AS_THE_CODE_SAYS, CONTROL: [[0] * 15] * 5}
    assert verdict(CLAIMS["POOL-12"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_queues_that_get_little_refute_for_themselves_and_the_sentence_says_where_it_holds() -> None:
    history = {**AS_THE_CODE_SAYS, BUSY: [[0, 600]] * 18, BUSY_LARGE: [[0, 310]] * 18}
    sentence = said(CLAIMS["POOL-12"], history)
    assert "in 18 of 36 deaths" in sentence
    assert (
        "files of 16 MiB; one busy queue, files of 1 MiB, flushConsumeQueueLeastPages=0; the commit log alone."
        in sentence
    )
    assert "one busy queue of eight" not in sentence


def test_a_death_with_loss_is_told_with_its_share_of_deaths() -> None:
    sentence = said(CLAIMS["POOL-12"], {**AS_THE_CODE_SAYS, SYNC: [[0, 0]] * 19 + [[0, 97]]})
    assert "lost messages in 1 of 40 deaths" in sentence
    assert "at worst 97" in sentence
