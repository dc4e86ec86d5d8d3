"""A page cache that stands still, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import page_cache_stress
from tests.lib.histories import History, claims_of, part, said, verdict

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
EACH, LONGEST_CALM, POOL_LONGEST_CALM = (
    f"{what} reader=none {CALM}"
    for what in ("faults_per_append baseline", "append_longest_ms baseline", "append_longest_ms fix-pool-calm")
)
READ_EACH, READ_LONGEST, READ_POOL_LONGEST = (
    name.replace("reader=none", "reader=cold") for name in (EACH, LONGEST_CALM, POOL_LONGEST_CALM)
)
READ_REFUSED = f"rejected_count baseline keyword=any reader=cold {CALM}"

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
READ: History = {
    EACH: [[0.4]] * 7,
    READ_EACH: [[2]] * 7,
    LONGEST_CALM: [[40]] * 7,
    READ_LONGEST: [[300]] * 7,
    POOL_LONGEST_CALM: [[40]] * 7,
    READ_POOL_LONGEST: [[42]] * 7,
    READ_REFUSED: [[0], [120], *[[0]] * 5],
}
"""What a reader of cold data would show."""
NO_MATTER: History = {**READ, READ_EACH: [[0.4]] * 7, READ_LONGEST: [[42]] * 7, READ_REFUSED: [[0] * 15] * 5}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("BUSY-04", "1200 ms"): ({}, {WITH: [[590]] * 7, WITHOUT: [[603]] * 7}),
    ("BUSY-04", "default wait"): ({}, {POOL_DEFAULT: [[190]] * 7, DEFAULT: [[201]] * 7}),
    ("BUSY-04", "2500 ms"): ({ROLLED: [[0]] * 3}, {}),
    ("BUSY-18", "appends over 500 ms"): ({}, {LOGGED: [[0] * 15] * 5}),
    ("BUSY-22", "faults"): (READ, NO_MATTER),
    ("BUSY-22", "longest"): (READ, NO_MATTER),
    ("BUSY-22", "refused"): (READ, NO_MATTER),
    ("BUSY-22", "waits"): ({}, {LONGEST: [[0.2]] * 5}),
    ("POOL-02", "longest"): ({}, {POOL_LONGEST: [[1200]] * 7, LONGEST: [[1207]] * 7}),
    ("POOL-02", "beside a reader"): (READ, {**READ, READ_POOL_LONGEST: [[300]] * 7}),
    ("POOL-08", "faults"): ({}, {POOL_FAULTS: [[2200]] * 5}),
}  # fmt: skip
"""By claim and part what is changed to confirm it and to refute it."""


def test_no_part_is_left_out() -> None:
    assert set(PARTS) == {(claim.id, one.name) for claim in CLAIMS.values() for one in claim.parts}


@pytest.mark.parametrize(("claim", "name"), PARTS)
def test_a_part_is_confirmed_and_refuted(claim: str, name: str) -> None:
    found = [part(CLAIMS[claim], name, {**AS_THE_CODE_SAYS, **change}).verdict for change in PARTS[claim, name]]
    assert found == [CONFIRMED, REFUTED]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    assert verdict(CLAIMS[claim], {**AS_THE_CODE_SAYS, **READ}) == (CLAIMS[claim].expected["4.6.0"].verdict, "")


@pytest.mark.parametrize("claim", ["BUSY-22", "POOL-02"])
def test_what_is_said_of_readers_is_undecided_without_one(claim: str) -> None:
    assert verdict(CLAIMS[claim], AS_THE_CODE_SAYS)[0] is UNDECIDED


def test_a_page_cache_for_which_no_append_waits_says_nothing() -> None:
    history = {**AS_THE_CODE_SAYS, **READ, LONGEST: [[0.2]] * 5}
    assert verdict(CLAIMS["BUSY-22"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_a_broker_that_stops_itself_leaves_the_default_wait_open_and_the_verdict_as_it_is() -> None:
    history = {**AS_THE_CODE_SAYS, DEFAULT: [[0]] * 5}
    assert part(CLAIMS["BUSY-04"], "default wait", history).reason == Reason.NOT_EXERCISED
    assert verdict(CLAIMS["BUSY-04"], history) == (REFUTED, "")


def test_the_sentence_names_the_setting_and_where_the_pool_helps() -> None:
    sentence = said(CLAIMS["BUSY-04"], AS_THE_CODE_SAYS)
    assert "waitTimeMillsInSendQueue=100000" in sentence
    assert (
        "It holds at 1200 ms with waitTimeMillsInSendQueue=100000, 1200 ms with waitTimeMillsInSendQueue=200"
        in sentence
    )
