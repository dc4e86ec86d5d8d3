"""A page cache that stands still, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import page_cache_stress
from tests.lib.histories import History, both_ways, claims_of, part, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(page_cache_stress.SCENARIO)
FROZEN, CALM, ROLLS = "stall_ms=1200 rate_hz=500", "watch_ms=3000 rate_hz=2000", "stall_ms=2500 rate_hz=500"


def _refused(arm: str, cell: str = FROZEN) -> str:
    return f"rejected_count {arm} keyword=first-four {cell}"


WITHOUT, WITH = _refused("incident"), _refused("fix-pool")
DEFAULT, POOL_DEFAULT = _refused("incident-default-wait"), _refused("fix-pool-default-wait")
ROLLED, LOGGED = _refused("incident-pool-rolls", ROLLS), f"slow_append_lines incident-pool-rolls {ROLLS}"
LOGGED_CALM = f"slow_append_lines fix-pool-calm {CALM}"
LONGEST, POOL_LONGEST = (f"append_longest_ms {arm} moment=after {FROZEN}" for arm in ("incident", "fix-pool"))
FAULTS, POOL_FAULTS = (f"append_faults {arm} {CALM}" for arm in ("baseline", "fix-pool-calm"))
READS = "watch_ms=3000 rate_hz=2000 limit_mb=32"
ALONE, READ = (
    {
        "each": f"faults_per_append incident-reader readers={readers} {READS}",
        "held": f"append_mean_ms incident-reader readers={readers} moment=after {READS}",
        "pool": f"append_mean_ms fix-pool-reader readers={readers} moment=after {READS}",
        "refused": f"rejected_count incident-reader readers={readers} keyword=any {READS}",
        "cold": f"cold_share incident-reader readers={readers} moment=after {READS}",
        "pool cold": f"cold_share fix-pool-reader readers={readers} moment=after {READS}",
    }
    for readers in (0, 1)
)

AS_THE_CODE_SAYS: History = {
    WITHOUT: [[603]] * 5,
    WITH: [[0]] * 5,
    DEFAULT: [[201]] * 5,
    POOL_DEFAULT: [[0]] * 5,
    ROLLED: [[849], [877], [860]],
    LOGGED: [[1]] * 3,
    LOGGED_CALM: [[0]] * 5,
    LONGEST: [[1207]] * 5,
    POOL_LONGEST: [[0.1]] * 5,
    FAULTS: [[2300]] * 5,
    POOL_FAULTS: [[1]] * 5,
}
NO_MATTER: History = {
    **{one["each"]: [[0.4]] * 7 for one in (ALONE, READ)},
    **{one["held"]: [[0.03]] * 7 for one in (ALONE, READ)},
    **{one["pool"]: [[0.02]] * 7 for one in (ALONE, READ)},
    **{one["refused"]: [[0] * 15] * 5 for one in (ALONE, READ)},
    **{one[name]: [[0.99]] * 5 for one in (ALONE, READ) for name in ("cold", "pool cold")},
}
"""A reader of cold data that nobody who sends takes note of."""
CONTENDS: History = {
    **NO_MATTER,
    READ["each"]: [[2]] * 7,
    READ["held"]: [[0.2]] * 7,
    READ["refused"]: [[0] * 15, [0, 120, *[0] * 13], *[[0] * 15] * 3],
}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("BUSY-04", "1200 ms"): ({}, {WITH: [[590]] * 7, WITHOUT: [[603]] * 7}),
    ("BUSY-04", "default wait"): ({}, {POOL_DEFAULT: [[190]] * 7, DEFAULT: [[201]] * 7}),
    ("BUSY-04", "2500 ms"): ({ROLLED: [[0]] * 3}, {}),
    ("BUSY-18", "appends over 500 ms"): ({}, {LOGGED: [[0] * 15] * 5}),
    ("BUSY-22", "faults"): (CONTENDS, NO_MATTER),
    ("BUSY-22", "held"): (CONTENDS, NO_MATTER),
    ("BUSY-22", "refused"): (CONTENDS, NO_MATTER),
    ("BUSY-22", "waits"): ({}, {LONGEST: [[0.2]] * 5}),
    ("BUSY-22", "cold"): (NO_MATTER, {READ["cold"]: [[0.1]] * 5}),
    ("POOL-02", "longest"): ({}, {POOL_LONGEST: [[1200]] * 7, LONGEST: [[1207]] * 7}),
    ("POOL-02", "beside a reader"): (NO_MATTER, {**NO_MATTER, READ["pool"]: [[0.2]] * 7}),
    ("POOL-02", "cold"): (NO_MATTER, {READ["pool cold"]: [[0.1]] * 5}),
    ("POOL-08", "faults"): ({}, {POOL_FAULTS: [[2200]] * 5}),
}  # fmt: skip
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_CODE_SAYS, PARTS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    assert verdict(CLAIMS[claim], {**AS_THE_CODE_SAYS, **NO_MATTER}) == (CLAIMS[claim].expected["4.6.0"].verdict, "")


@pytest.mark.parametrize("claim", ["BUSY-22", "POOL-02"])
def test_what_is_said_of_readers_is_undecided_without_one(claim: str) -> None:
    assert verdict(CLAIMS[claim], AS_THE_CODE_SAYS)[0] is UNDECIDED


def test_a_page_cache_for_which_no_append_waits_says_nothing() -> None:
    history = {**AS_THE_CODE_SAYS, **CONTENDS, LONGEST: [[0.2]] * 5}
    assert verdict(CLAIMS["BUSY-22"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


@pytest.mark.parametrize(("claim", "cold"), [("BUSY-22", "cold"), ("POOL-02", "pool cold")])
def test_reads_that_were_not_cold_say_nothing(claim: str, cold: str) -> None:
    history = {**AS_THE_CODE_SAYS, **NO_MATTER, READ[cold]: [[0.99]] * 4 + [[0.5]]}
    assert verdict(CLAIMS[claim], history)[0] is UNDECIDED


def test_appends_that_a_reader_holds_up_confirm_what_is_said_of_readers() -> None:
    assert verdict(CLAIMS["BUSY-22"], {**AS_THE_CODE_SAYS, **CONTENDS}) == (CONFIRMED, "")


def test_refusals_without_a_reader_are_none_that_it_brought_about() -> None:
    history = {**CONTENDS, ALONE["refused"]: [[0, 3, *[0] * 13], *[[0] * 15] * 4]}
    assert part(CLAIMS["BUSY-22"], "refused", history).reason == Reason.CONTROL_FAILED


def test_a_broker_that_stops_itself_leaves_the_default_wait_open_and_the_verdict_as_it_is() -> None:
    history = {**AS_THE_CODE_SAYS, DEFAULT: [[0]] * 5}
    assert part(CLAIMS["BUSY-04"], "default wait", history).reason == Reason.NOT_EXERCISED
    assert verdict(CLAIMS["BUSY-04"], history) == (REFUTED, "")


def test_the_sentence_names_the_setting_and_where_the_pool_helps() -> None:
    sentence = said(CLAIMS["BUSY-04"], AS_THE_CODE_SAYS)
    assert "waitTimeMillsInSendQueue=100000" in sentence
    assert (
        "It holds in these scopes: 1200 ms with waitTimeMillsInSendQueue=100000; 1200 ms with waitTimeMillsInSendQueue=200."
        in sentence
    )
