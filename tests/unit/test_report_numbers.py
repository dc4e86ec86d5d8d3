"""Numbers in words."""

from __future__ import annotations

import pytest

from analysis.verdicts.numbers import (
    cell_key,
    cell_label,
    estimate,
    interval,
    number,
    printable,
    quantiles,
    quantity,
    shortened,
)
from analysis.verdicts.order import arm_key, natural_key

THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (float("nan"), "—"),
        (float("inf"), "∞"),
        (0.0, "0"),
        (54.7219, "54.7"),
        (0.01324, "0.0132"),
        (127, "127"),
        (1203.4, "1,203"),
        (99.96, "100"),
        (-2.5, "\N{MINUS SIGN}2.5"),
        (0.000042, "0.000042"),
        (0.0000004, "4.00e\N{MINUS SIGN}07"),
    ],
)
def test_numbers_have_three_significant_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_shares_are_per_cent_of_what_they_are_of() -> None:
    assert quantity(0.385, "share") == f"38.5{THIN}%"
    assert quantity(0.5, "of owners") == f"50{THIN}% of owners"
    assert quantity(0.5, "of owners", short=True) == f"50{THIN}%"


def test_an_interval_has_one_unit_and_less_than_a_millisecond_is_told_in_milliseconds() -> None:
    assert quantity(0.0004, "s") == f"0.4{THIN}ms"
    assert estimate(0.00064, 0.00012, 0.0047, "s") == f"0.64{THIN}ms (0.00012\N{EN DASH}0.0047{THIN}s)"
    assert estimate(0.00038, 0.00003, 0.00047, "s") == f"0.38{THIN}ms (0.03\N{EN DASH}0.47{THIN}ms)"


def test_an_open_interval_says_at_least_and_never_invents_an_end() -> None:
    assert interval(54.1, float("inf"), "s") == f"at least 54.1{THIN}s"
    assert interval(54.1, None, "s") == f"at least 54.1{THIN}s"
    assert interval(None, None, "s") == ""
    assert estimate(None, 54.1, None, "s") == f"at least 54.1{THIN}s"
    assert estimate(0.97, 0.88, 1.0, "of stalls") == f"97{THIN}% of stalls (88\N{EN DASH}100{THIN}%)"


def test_an_estimate_without_anything_is_a_dash() -> None:
    assert estimate(None, None, None, "s") == "—"


def test_parameters_carry_the_unit_of_their_name() -> None:
    label = cell_label({"rate_hz": 500, "stall_ms": 1200, "keyword": "any"})
    assert label == f"stall 1,200{THIN}ms, keyword any, rate 500{THIN}/s"


def test_cells_sort_by_value_and_not_by_text() -> None:
    cells = [{"stall_ms": 1200}, {"stall_ms": 150}, {"stall_ms": 700}]
    assert [cell["stall_ms"] for cell in sorted(cells, key=cell_key)] == [150, 700, 1200]
    # A parameter may be text in one cell and a number in another, and the order must not fail on that.
    mixed: list[dict[str, str | int | float]] = [{"kind": "a"}, {"kind": 1}, {}]
    assert len(sorted(mixed, key=cell_key)) == 3


def test_names_sort_by_the_numbers_in_them() -> None:
    assert sorted(["BUSY-10", "BUSY-9", "ORDER-1"], key=natural_key) == ["BUSY-9", "BUSY-10", "ORDER-1"]
    assert sorted(["4.10.0", "4.9.7", "5.3.3"], key=natural_key) == ["4.9.7", "4.10.0", "5.3.3"]
    arms = ["baseline", "better-x", "fix-b", "fix-a", "incident", "odd"]
    assert sorted(arms, key=arm_key) == ["incident", "fix-a", "fix-b", "better-x", "baseline", "odd"]


def test_the_median_is_known_while_fewer_than_half_are_censored() -> None:
    known = quantiles([1.0, 2.0, 3.0, 75.0, 75.0], [False, False, False, True, True])
    assert (known.p50, known.p75, known.max, known.mean) == (3.0, None, None, None)
    assert known.censored == 2
    unknown = quantiles([1.0, 75.0, 75.0], [False, True, True])
    assert unknown.p50 is None


def test_quantiles_of_nothing_are_none() -> None:
    empty = quantiles([], [])
    assert (empty.n, empty.p50, empty.max) == (0, None, None)


def test_control_characters_are_written_out() -> None:
    assert printable("a\x00b\x1b[31m\tc\n\ud800") == "a\\x00b\\x1b[31m\tc\n\\xd800"


def test_a_shortened_text_is_one_line_and_ends_at_a_word() -> None:
    assert shortened("one  two\nthree", 100) == "one two three"
    cut = shortened("word " * 50, 30)
    assert cut == "word word word word word…"
    assert len(shortened("x" * 500, 30)) == 30
