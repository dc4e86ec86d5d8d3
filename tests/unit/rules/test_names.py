"""Each part of the claims on name servers, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.measures import MEASURES
from harness.model.verdicts import Reason, VerdictKind
from scenarios.name_server_divergence import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, part, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)

FORGOTTEN, PAUSED = "incident-forgotten-topic", "incident-server-paused"
UNHEARD, ORDERED = "incident-unheard-broker", "incident-unheard-broker-ordered"
CONNECTIONS, TOLD = f"server_connections_count {FORGOTTEN}", f"back_untold {FORGOTTEN}"
DIFFER, DIFFER_CUT, DIFFER_NOT = (
    f"views_differ_s {arm} other=namesrv-3 when=held" for arm in (UNHEARD, "incident-cut", "baseline")
)
NOTICED = "notice_s incident-more-queues"
LATE, TWICE, LATE_NOT = f"late_messages {UNHEARD}", f"duplicate_messages {UNHEARD}", "late_messages baseline"
LOST, LOST_ORDERED, DISORDER = f"lost_count {UNHEARD}", f"lost_count {ORDERED}", f"out_of_order_count {ORDERED}"
THROUGH = f"through_s {UNHEARD}"
DEAD, STILL = "failed_send_share fix-avoidance-killed", "failed_send_share fix-avoidance-paused"
NO_RETRY, ALONE = "failed_send_share incident-broker-killed", "failed_send_share incident-broker-paused"
LISTED = "route_stays_s incident-broker-paused broker=broker-b"
OTHERS, BEFORE = (f"unregistered_s {PAUSED} servers=others when={when}" for when in ("held", "before"))
STOPPED = f"server_silent_s {PAUSED} servers=target"
SILENT, SILENT_CUT = f"server_silent_s {UNHEARD}", "server_silent_s incident-cut"

NOTICES = [2.5, 5.2, 8, 11, 14, 16, 19, 22, 26, 29.8]
"""Of ten producers, whose timers have their phases in ten parts of 30 s."""
NONE_OF_8, NONE_OF_12 = [[0] * 8] * 5, [[0] * 12] * 3

AS_THE_CODE_SAYS: History = {
    CONNECTIONS: [[0]] * 2,
    TOLD: [[0]] * 2,
    DIFFER: [[57.5, 58.2]] * 5,
    DIFFER_CUT: [[21.0, 21.3]],
    DIFFER_NOT: [[0, 0.4]],
    NOTICED: [NOTICES] * 5,
    LATE: [[130, 150, 175, 140, 160, 120, 110, 180]] * 5,
    TWICE: [[70, 80, 90, 75, 80, 65, 60, 95]] * 5,
    LATE_NOT: [[0]],
    LOST: NONE_OF_8,
    LOST_ORDERED: NONE_OF_12,
    DISORDER: NONE_OF_12,
    THROUGH: [[4, 12, 21, 25, 31, 36, 44, 49]] * 5,
    DEAD: [[0.001]] * 5,
    STILL: [[0.0013]] * 5,
    NO_RETRY: [[0.16]],
    ALONE: [[0.4]],
    LISTED: [[60.0, 60.0, 60.0]],
    OTHERS: [[(30.0, 30.1, 30.0, 30.2)]] * 2,
    BEFORE: [[30.0]] * 2,
    STOPPED: [[73.1]] * 2,
    SILENT: [[(0, 0, 0)]] * 5,
    SILENT_CUT: [[(0, 0, 0)]],
}  # fmt: skip

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("NAMES-01", "connections"): ({}, {CONNECTIONS: [[1]] * 2}),
    ("NAMES-01", "told"): ({}, {TOLD: [[1]] * 2}),
    ("NAMES-01", "differ"): ({}, {DIFFER: [[1.2, 1.4]] * 5}),
    ("NAMES-01", "without a fault"): ({}, {DIFFER_NOT: [[45, 45]]}),
    ("NAMES-02", "first send"): ({}, {NOTICED: [[0.2] * 10] * 5}),
    ("NAMES-02", "latest"): ({}, {NOTICED: [[*NOTICES[:9], 45.0]] * 5}),
    ("NAMES-03", "waited"): ({LATE: [[20] * 8] * 5}, {}),
    ("NAMES-03", "lost"): ({}, {LOST: [[0] * 7 + [3]] * 5}),
    ("NAMES-03", "without a fault"): ({}, {LATE_NOT: [[7]]}),
    ("NAMES-03", "lost in order"): ({}, {LOST_ORDERED: [[0] * 11 + [3]] * 3}),
    ("NAMES-03", "disorder"): ({}, {DISORDER: [[0] * 11 + [1]] * 3}),
    ("NAMES-03", "through"): ({}, {THROUGH: [[30] * 7 + [118]] * 5}),
    ("NAMES-04", "dead"): ({}, {DEAD: [[0.05]] * 7}),
    ("NAMES-04", "still"): ({}, {STILL: [[0.05]] * 7}),
    ("NAMES-04", "no retry"): ({}, {NO_RETRY: [[0.001]]}),
    ("NAMES-04", "retries alone"): ({}, {ALONE: [[0.0]]}),
    ("NAMES-04", "listed"): ({}, {LISTED: [[0.4, 0.5, 0.4]]}),
    ("NAMES-05", "others"): ({}, {OTHERS: [[(30.0, 54.0, 30.0, 30.1)]] * 2}),
    ("NAMES-05", "before"): ({}, {BEFORE: [[61.0]] * 2}),
    ("NAMES-05", "silent"): ({}, {STOPPED: [[0]] * 2}),
    ("NAMES-06", "differ"): ({}, {DIFFER: [[1.2, 1.4]] * 5}),
    ("NAMES-06", "silence"): ({}, {SILENT: [[(0, 0, 55)]] * 5}),
    ("NAMES-06", "differ after a cut"): ({}, {DIFFER_CUT: [[0, 0]]}),
    ("NAMES-06", "silence after a cut"): ({}, {SILENT_CUT: [[(0, 0, 55)]]}),
}  # fmt: skip
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_CODE_SAYS, PARTS)


TRIED_AGAIN: History = {STILL: [[0.0067]] * 7}
"""What a client of 5.x gives: a broker that stands still is tried again every 13 s."""


@pytest.mark.parametrize("claim", sorted(CLAIMS))
@pytest.mark.parametrize("release", ["4.6.0", "4.9.7", "5.3.3"])
def test_name_servers_that_do_as_their_code_says_give_what_is_expected(claim: str, release: str) -> None:
    seen = {**AS_THE_CODE_SAYS, **(TRIED_AGAIN if release.startswith("5.") else {})}
    assert verdict(CLAIMS[claim], seen) == (CLAIMS[claim].expected[release].verdict, "")


def test_a_route_that_is_not_stale_shows_nothing_of_what_covers_for_it() -> None:
    assert verdict(CLAIMS["NAMES-04"], {**AS_THE_CODE_SAYS, LISTED: [[0.4, 0.5, 0.4]]}) == (
        UNDECIDED,
        Reason.CONTROL_FAILED,
    )


def test_brokers_that_registered_late_before_the_fault_show_nothing_of_the_silent_server() -> None:
    late = {**AS_THE_CODE_SAYS, BEFORE: [[54.0]] * 2, OTHERS: [[54.0]] * 2}
    assert verdict(CLAIMS["NAMES-05"], late) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_one_deployment_is_too_few_for_what_is_so_by_code() -> None:
    found = part(CLAIMS["NAMES-01"], "told", {**AS_THE_CODE_SAYS, TOLD: [[0]]})
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)


def test_groups_of_which_none_lost_a_message_are_enough_by_their_number() -> None:
    of = {one.name: MEASURES[one.of.measure].origins for one in CLAIMS["NAMES-03"].parts}
    assert all(len(of[name]) > 1 for name in ("lost", "lost in order", "disorder", "through"))
    few = part(CLAIMS["NAMES-03"], "lost", {**AS_THE_CODE_SAYS, LOST: [[0] * 7] * 5})
    assert (few.verdict, few.reason) == (UNDECIDED, Reason.TOO_FEW_TRIES)


def test_the_sentence_says_what_the_article_leaves_out() -> None:
    told = said(CLAIMS["NAMES-03"], AS_THE_CODE_SAYS)
    assert told.startswith("1.89 (in each of 5 pairs) times as many messages waited as were consumed twice.")
    assert "None of 40 groups (below 8.81\u202f%, in 5 deployments) lost messages" in told
