"""What a load came to, in the sentences that its page begins with."""

from __future__ import annotations

import dataclasses

from analysis.load.ending import Ending
from analysis.load.figures import Figures
from analysis.load.headline import headline_of
from analysis.load.judged import JudgedLoad
from analysis.load.unavailable import Gap, Unavailable
from analysis.report.document import Series
from tests.lib.load_findings import found as finding

FIGURES = Figures(
    sends=1000, ok=900, failed=95, unknown=5, unknown_arrived=2, unplaced=0, not_accepted=100, consumptions=902, seconds=10.0,
    asked_per_s=100.0, started_per_s=100.0, ok_per_s=90.0, late_ms=(0.0,) * 3, latency_ms=(1.0, 20.0, 30.0), late_ms_max=0.0,
    hiccup_ms_max=None,
)  # fmt: skip
LOAD = JudgedLoad(
    ending=Ending(is_reached=True, is_under_way=False, phase="", status="complete", error="", why="", words=""),
    client="java 5.5.0", release="5.5.0", params={}, figures=FIGURES, faults=(), notes=(), locust_requests=1000,
    locust_failures=100, errors={"MQBrokerException 2 [TIMEOUT_CLEAN_QUEUE]": 90, "RemotingTimeoutException": 5},
    findings=(
        finding("nothing lost", 7, "7 acknowledged and never consumed"),
        finding("nothing twice", 0, "0"),
        finding("stored once", 0, "0"),
        finding("in order", None, "the load did not drain"),
        finding("all arrived", None, "the load did not drain"),
    ),
)  # fmt: skip
BINS = (0.0, 2.0, 4.0, 6.0)
SERIES = Series(
    incident="load", release="5.5.0", arm="incident", params={}, trial="load", bin_ms=2000, t_s=BINS, sent=(250,) * 4,
    ok=(250, 200, 205, 250), failed=(0, 50, 45, 0), consumed=(250,) * 4, delay_p50_ms=(1,) * 4, delay_max_ms=(2,) * 4,
)  # fmt: skip


def test_what_does_not_hold_comes_first_and_failed_sends_have_their_time_and_error() -> None:
    found = headline_of(LOAD, SERIES)
    assert found.title == "What became of 1,000 sends to RocketMQ 5.5.0"
    assert found.says == (
        "No acknowledged message is lost. That does not hold: 7 acknowledged and never consumed.",
        "95 of 1,000 sends failed (9.5\N{NARROW NO-BREAK SPACE}%), from 2.0 s to 6.0 s of the load: "
        "MQBrokerException 2 [TIMEOUT_CLEAN_QUEUE] 90, RemotingTimeoutException 5.",
        "Of 5 more the outcome is unknown; 2 of them were consumed.",
        "900 were accepted: half of the accepted within 1\N{NARROW NO-BREAK SPACE}ms, 99 % within 20\N{NARROW NO-BREAK SPACE}ms.",
        "Holds: nothing twice and stored once.",
        "Not settled, as the load did not drain: in order and all arrived.",
    )
    assert found.do == ("mqlab explain '[TIMEOUT_CLEAN_QUEUE]'",)


def test_a_load_without_a_failure_says_so_in_one_sentence() -> None:
    figures = dataclasses.replace(FIGURES, ok=1000, failed=0, unknown=0)
    found = headline_of(dataclasses.replace(LOAD, figures=figures, errors={}), None)
    assert found.says[1].startswith("All 1,000 sends were accepted: half of the accepted within 1")
    assert found.do == ()


def test_a_load_of_which_nothing_is_counted_names_no_sends() -> None:
    found = headline_of(dataclasses.replace(LOAD, figures=dataclasses.replace(FIGURES, sends=0)), None)
    assert found.title == "What became of a load"
    assert not any("sends" in one for one in found.says)


def test_how_long_nothing_was_accepted_or_consumed_is_said_before_what_failed() -> None:
    gaps = Unavailable(
        sends=Gap(from_s=2.0, to_s=5.5), key=Gap(from_s=2.0, to_s=9.0, key="k7"), consumption=Gap(from_s=1.9, to_s=6.2)
    )
    says = headline_of(dataclasses.replace(LOAD, unavailable=gaps), SERIES).says
    assert says[1:4] == (
        "No send was acknowledged for 3.5 s, from 2.0 s to 5.5 s of the load.",
        "None of key k7 for 7.0 s, from 2.0 s to 9.0 s of the load.",
        "Nothing was consumed for 4.3 s, from 1.9 s to 6.2 s of the load.",
    )
    assert says[4].startswith("95 of 1,000 sends failed")


def test_a_key_that_lacked_no_more_than_all_of_them_and_short_gaps_are_not_told() -> None:
    gaps = Unavailable(sends=Gap(from_s=2.0, to_s=5.5), key=Gap(from_s=2.0, to_s=5.6, key="k7"))
    says = headline_of(dataclasses.replace(LOAD, unavailable=gaps), SERIES).says
    assert not any("key" in one for one in says)
    for short in (Gap(from_s=2.0, to_s=2.9), None):
        gaps = Unavailable(sends=short, key=short, consumption=short)
        says = headline_of(dataclasses.replace(LOAD, unavailable=gaps), SERIES).says
        assert not any("acknowledged for" in one or "was consumed for" in one for one in says)


def test_a_slow_loads_usual_intervals_are_no_gaps() -> None:
    slow = Gap(from_s=2.0, to_s=6.0)
    assert Unavailable(sends=slow).told(1.0) == (None, None, None)
    assert Unavailable(sends=slow).told(2.0) == (slow, None, None)
