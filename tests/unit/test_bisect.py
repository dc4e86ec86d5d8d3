"""Which release is measured next, and which boundaries that finds, on histories that are made up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness.releases.central
import scenarios
from harness.errors import EXIT_USAGE, ReleaseError
from harness.model.verdicts import VerdictKind
from mqlab.main import main
from mqlab.run import bisect
from mqlab.run.bisect import boundaries, next_release

CONFIRMED, REFUTED = VerdictKind.CONFIRMED, VerdictKind.REFUTED
SIDES = {"c": CONFIRMED, "r": REFUTED, "-": None}


def _measured(truth: str, code: str, known: str) -> tuple[list[str], dict[str, VerdictKind | None]]:
    """The releases in the order in which they are measured, and all that is known then. A letter is a release."""
    order = [f"{at:02}" for at in range(len(truth))]
    found = {one: SIDES[truth[at]] for at, one in enumerate(order) if known[at] == "k"}
    asked = []
    while (one := next_release(order, found, dict(zip(order, code, strict=True)))) is not None:
        assert one not in found
        asked.append(one)
        found[one] = SIDES[truth[int(one)]]
    return asked, found


@pytest.mark.parametrize(
    ("truth", "code", "known", "asked", "found"),
    [
        # One change of the code between two recorded releases: both sides of it, and nothing else.
        ("ccccrr", "aaaabb", "k....k", ["03", "04"], [("03", "04")]),
        # Code that differs from both neighbours is measured though the ends are alike: the verdict came and went.
        ("ccrcc", "aabaa", "k...k", ["02", "01", "03"], [("01", "02"), ("02", "03")]),
        ("ccccc", "aabaa", "k...k", ["02"], []),
        # The cited code is the same all along, and the verdict is not: halved.
        ("cccccrrr", "aaaaaaaa", "k......k", ["04", "06", "05"], [("04", "05")]),
        # What decided nothing is stepped over.
        ("cc-rr", "aabcc", "k...k", ["02", "01", "03"], [("01", "03")]),
        # The ends are measured first where nothing is recorded.
        ("cr", "ab", "..", ["00", "01"], [("00", "01")]),
    ],
)
def test_each_boundary_is_measured_at_its_neighbours(
    truth: str, code: str, known: str, asked: list[str], found: list[tuple[str, str]]
) -> None:
    order = [f"{at:02}" for at in range(len(truth))]
    measured, verdicts = _measured(truth, code, known)
    assert measured == asked
    assert boundaries(order, verdicts) == found


@given(st.data())
def test_every_boundary_that_a_change_of_the_code_makes_is_found_and_its_sides_are_neighbours(
    data: st.DataObject,
) -> None:
    length = data.draw(st.integers(2, 14))
    code = "".join(data.draw(st.lists(st.sampled_from("abc"), min_size=length, max_size=length)))
    by_code = {letter: data.draw(st.sampled_from("cr")) for letter in "abc"}
    truth = "".join(by_code[letter] for letter in code)
    order = [f"{at:02}" for at in range(length)]
    _, verdicts = _measured(truth, code, "k" + "." * (length - 2) + "k")
    for before, after in boundaries(order, verdicts):
        assert order.index(after) == order.index(before) + 1
    # A release alone with its code is measured, whatever its neighbours are.
    for at in range(1, length - 1):
        if code[at] not in (code[at - 1], code[at + 1]):
            assert order[at] in verdicts


def test_code_that_neither_side_has_differs_in_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(one for scenario in scenarios.ALL for one in scenario.claims if one.id == "TOPICS-02")
    codes = {name: number for number, name in enumerate(bisect._cited(claim))}
    absent = {("b", 0), ("a", 1), ("b", 1)}

    def rests_on(name: str, release: str) -> frozenset[str]:
        if (release, codes[name]) in absent:
            raise ReleaseError("not there", advice="")
        return frozenset({name})

    monkeypatch.setattr(bisect, "rests_on", rests_on)
    assert len(codes) > 1
    assert bisect._differing(claim, "a", "b") == (f"{next(iter(codes))}, which b does not have",)
    assert bisect._code(claim, "a") != bisect._code(claim, "b")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--from", "5.5.0", "--to", "4.9.7"), "--from 5.5.0 is not older than --to 4.9.7"),
        (("--from", "4.9.7", "--to", "4.9.7"), "--from 4.9.7 is not older than --to 4.9.7"),
    ],
)
def test_releases_in_the_wrong_order_are_one_sentence(words: tuple[str, ...], says: str, capsys: Any) -> None:
    assert main(("bisect", "BUSY-10", *words)) == EXIT_USAGE
    assert says in capsys.readouterr().err


def test_releases_between_are_in_order_and_without_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = frozenset({"4.9.7", "5.0.0", "5.0.0-ALPHA", "5.0.0-PREVIEW", "5.1.10", "5.1.9", "5.3.3", "4.9.4"})
    monkeypatch.setattr(harness.releases.central, "_listed", lambda asked: listed)
    assert harness.releases.central.releases_between("4.9.7", "5.3.3") == ["5.0.0", "5.1.9", "5.1.10"]
