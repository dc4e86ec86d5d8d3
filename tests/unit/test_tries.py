from __future__ import annotations

from analysis.verdicts.tries import Tries, Try, deployments_of


def test_a_try_keeps_the_ends_the_middle_and_the_mean_of_its_values() -> None:
    one = Try.of("d1/t1/g0", [(3.0, False), (1.0, False), (180.0, True), (2.0, False)])
    assert (one.n, one.min, one.median, one.max, one.mean, one.censored) == (4, 1.0, 2.5, 180.0, 46.5, 1)


def test_a_parameter_of_the_measure_stands_beside_those_of_the_cell() -> None:
    cell = Tries(
        trial="t1", deployment="d1", release="5.3.3", arm="incident", cell={"stall_ms": 450}, measure="rejected_count",
        params={"keyword": "any"},
    )  # fmt: skip
    assert cell.where == {"stall_ms": 450, "keyword": "any"}
    assert deployments_of([cell, cell]) == ["d1"]
