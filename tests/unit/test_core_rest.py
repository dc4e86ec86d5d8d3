"""Rest of the cores, of two that compute by hand."""

from __future__ import annotations

from harness.host.rest import CoreRest, core_times


class Cores:
    """Two of them, of which so many are at rest while time passes."""

    def __init__(self) -> None:
        self.now = 100.0
        self.rest = 50.0

    def pass_s(self, seconds: float, resting: float) -> None:
        self.now += seconds
        self.rest += resting * seconds

    def look(self) -> tuple[float, float]:
        return self.rest, 2 * self.now


def _rest(cores: Cores) -> CoreRest:
    return CoreRest(cores.look, lambda: cores.now)


def test_cores_that_rest_a_tenth_of_the_time_have_some_and_busy_ones_do_not() -> None:
    for resting, had_some in ((0.2, True), (0.0, False), (0.05, False)):
        cores = Cores()
        rest = _rest(cores)
        rest.was_there()
        cores.pass_s(2.0, resting)
        assert rest.was_there() is had_some


def test_a_first_look_and_one_after_a_long_time_say_nothing() -> None:
    cores = Cores()
    rest = _rest(cores)
    assert not rest.was_there()
    cores.pass_s(60.0, 2.0)
    assert not rest.was_there(), "what was long ago is no evidence of now"
    cores.pass_s(1.0, 2.0)
    assert not rest.was_there()
    cores.pass_s(1.0, 2.0)
    assert rest.was_there()


def test_rest_of_long_ago_is_forgotten() -> None:
    cores = Cores()
    rest = _rest(cores)
    for resting in (2.0, 2.0, 0.0, 0.0, 0.0):
        rest.was_there()
        cores.pass_s(1.0, resting)
    assert not rest.was_there()


def test_the_kernel_counts_rest_and_all() -> None:
    rest, total = core_times()
    assert 0 <= rest <= total
