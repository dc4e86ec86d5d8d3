"""Members of a group that differ: for each part a history that confirms it and one that refutes it, made by hand."""

from __future__ import annotations

import pytest

from harness.model.cluster import Topology
from harness.model.group_members import GroupMembers, Member
from harness.model.verdicts import Reason, VerdictKind
from scenarios import same_client_id_in_containers, subscriptions_that_differ
from scenarios.releases import RELEASES
from tests.lib.histories import History, claims_of, part, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(same_client_id_in_containers.SCENARIO, subscriptions_that_differ.SCENARIO)
IDS, TAGS = "X-same-client-id-in-containers", "X-subscriptions-that-differ"
GROUPS, DEPLOYMENTS = 8, 5


def _all(value: float, groups: int = GROUPS) -> list[list[float]]:
    return [[value] * groups for _ in range(DEPLOYMENTS)]


def _but_one(value: float, other: float) -> list[list[float]]:
    first, *more = _all(value)
    return [[other, *first[1:]], *more]


def _members(
    arm: str, *, unread: float, doubled: float, copies: float | None = None, ids: float | None = None
) -> History:
    history = {f"unread_share {arm}": _all(unread), f"doubled_share {arm}": _all(doubled)}
    if copies is not None:
        history[f"retry_copies_count {arm} retry=3"] = _all(copies)
    if ids is not None:
        history[f"client_ids_count {arm}"] = _all(ids)
    return history


def _filtered(unread: float, least: float, passed: float, groups: int = GROUPS) -> History:
    return {
        "unread_share incident": _all(unread, groups),
        "least_tag_share incident": _all(least, groups),
        "passed_over_share incident": _all(passed, groups),
        "least_tag_share baseline": _all(1.0),
    }


def _two_topics(unread: float, passed: float) -> History:
    return {"unread_share incident-two-topics": _all(unread), "passed_over_share incident-two-topics": _all(passed)}


HALVED, WHOLE = {"unread": 0.5, "doubled": 0.5}, {"unread": 0.0, "doubled": 0.0}
AS_EXPECTED: dict[str, History] = {
    f"{IDS}-02": _members("incident-one-name", **HALVED, copies=16),
    f"{IDS}-03": _members("fix-own-names", **WHOLE, copies=1),
    f"{IDS}-04": _members("baseline", **WHOLE, copies=1),
    f"{TAGS}-01": _filtered(0.75, 0.0, 1.0),
    f"{TAGS}-02": _members("fix-group-each", **WHOLE),
    f"{TAGS}-03": _members("baseline", **WHOLE),
    f"{TAGS}-04": _two_topics(0.6, 0.0),
}
"""What all releases are expected to show."""
BY_DEFAULT = {
    release: _members("incident", **HALVED, ids=1) if release == "4.6.0" else _members("incident", **WHOLE, ids=2)
    for release in RELEASES
}
REFUTING: dict[tuple[str, str], History] = {
    (f"{IDS}-01", "one id"): _members("incident", **HALVED, ids=2),
    (f"{IDS}-01", "twice"): _members("incident", unread=0.5, doubled=0.0, ids=1),
    (f"{IDS}-01", "unread"): _members("incident", unread=0.0, doubled=0.5, ids=1),
    (f"{IDS}-02", "twice"): _members("incident-one-name", unread=0.5, doubled=0.0, copies=16),
    (f"{IDS}-02", "unread"): _members("incident-one-name", unread=0.0, doubled=0.5, copies=16),
    (f"{IDS}-02", "copies"): _members("incident-one-name", **HALVED, copies=2),
    **{
        (claim, name): change
        for claim, arm in ((f"{IDS}-03", "fix-own-names"), (f"{IDS}-04", "baseline"))
        for name, change in {
            "twice": {f"doubled_share {arm}": _but_one(0, 0.01)},
            "unread": {f"unread_share {arm}": _but_one(0, 0.01)},
            "copies": {f"retry_copies_count {arm} retry=3": _all(16)},
        }.items()
    },
    (f"{TAGS}-01", "unread"): _filtered(0.5, 0.0, 1.0),
    (f"{TAGS}-01", "of one tag"): _filtered(0.75, 0.5, 1.0, groups=15),
    (f"{TAGS}-01", "passed over"): _filtered(0.75, 0.0, 0.0),
    **{
        (claim, name): {f"{measure} {arm}": _but_one(0, 0.01)}
        for claim, arm in ((f"{TAGS}-02", "fix-group-each"), (f"{TAGS}-03", "baseline"))
        for name, measure in (("unread", "unread_share"), ("twice", "doubled_share"))
    },
    (f"{TAGS}-04", "unread"): _two_topics(0.0, 0.0),
    (f"{TAGS}-04", "passed over"): _two_topics(0.6, 1.0),
}


def test_no_part_is_left_out() -> None:
    assert set(REFUTING) == {(name, one.name) for name, claim in CLAIMS.items() for one in claim.parts}


@pytest.mark.parametrize(("claim", "name"), REFUTING)
def test_a_part_is_confirmed_and_refuted(claim: str, name: str) -> None:
    history = AS_EXPECTED.get(claim, BY_DEFAULT["4.6.0"])
    assert part(CLAIMS[claim], name, history).verdict is CONFIRMED
    changed = {**history, **REFUTING[claim, name]}
    assert part(CLAIMS[claim], name, changed).verdict is REFUTED
    assert verdict(CLAIMS[claim], changed) == (REFUTED, "")


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_code_of_a_release_does_gives_what_is_expected_of_it(release: str) -> None:
    claims = {**AS_EXPECTED, f"{IDS}-01": BY_DEFAULT[release]}
    assert set(claims) == set(CLAIMS)
    for name, history in claims.items():
        assert verdict(CLAIMS[name], history) == (CLAIMS[name].expected[release].verdict, ""), name


def test_a_few_groups_do_not_show_that_a_cure_never_fails() -> None:
    history: History = {name: [tries[:2] for tries in rows] for name, rows in AS_EXPECTED[f"{IDS}-03"].items()}
    assert verdict(CLAIMS[f"{IDS}-03"], history) == (UNDECIDED, Reason.TOO_FEW_TRIES)


def test_the_sentence_says_how_many_copies_there_were() -> None:
    sentence = said(CLAIMS[f"{IDS}-02"], AS_EXPECTED[f"{IDS}-02"])
    assert "at retry 3, each 1 s after the one before, differed from 16 by 0" in sentence
    assert "not measured" not in sentence


def test_a_version_that_two_members_have_in_one_millisecond_changes_nothing() -> None:
    one_even: History = {
        "unread_share incident": _but_one(0.75, 0.5), "least_tag_share incident": _but_one(0.0, 0.5),
    }  # fmt: skip
    assert verdict(CLAIMS[f"{TAGS}-01"], {**AS_EXPECTED[f"{TAGS}-01"], **one_even}) == (CONFIRMED, "")


# --- the load -------------------------------------------------------------------------------------------------------------


def test_a_group_has_every_member_in_a_process_of_its_own_or_one_in_turn() -> None:
    one, other = Member(tags="tag0"), Member(tags="tag1")
    together, apart = GroupMembers(members=(one, other)), GroupMembers(members=(one, other), is_apart=True)
    assert together.members_of(5) == (("first", one), ("second", other))
    assert [apart.members_of(group) for group in range(3)] == [
        (("first", one),), (("second", other),), (("first", one),)
    ]  # fmt: skip


def test_each_topic_has_the_rate() -> None:
    load = GroupMembers(members=(Member(), Member(topic=1)), topics=2, rate_hz=20.0)
    assert load.messages_hz(Topology(name="two-masters", masters=2), {}) == 40.0
