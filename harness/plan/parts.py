"""A campaign in parts, each a run of its own that ends within a bound: the same parts whenever one of them is asked for."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.host.facts import Host
from harness.model.scenario import Scenario
from harness.plan.request import Request
from harness.plan.schedule import make_plan

PART_S_MAX = 90 * 60.0

REFERENCE = Host(cores=2, memory_mb=23_500)
"""Parts are cut by what the committed first guess says of this host: what this one has learned, or can do, grows between them."""


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """An incident on some releases, and how long it takes by itself."""

    scenario: Scenario
    releases: tuple[str, ...]
    seconds: float


def parts_of(request: Request, count: int) -> list[Request]:
    """So many that together are the request.

    Raises UsageError: one of so many would take longer than ``PART_S_MAX``, or there is not enough for so many.
    """
    if not (units := _units(request)):
        return [request] * count  # of which it is said that nothing can be run
    least = sum(map(len, _fewest(units)))
    if count < least:
        raise UsageError(
            f"--part K/{count}: one takes more than {PART_S_MAX / 60:.0f} minutes by the plan",
            advice=f"Give --part 1/{least} to --part {least}/{least}, or more parts.",
        )
    if count > len(units):
        raise UsageError(
            f"--part K/{count}: there is not enough for so many",
            advice=f"Give --part 1/{least} to --part {least}/{least}.",
        )
    return [
        dataclasses.replace(request, scenarios=[unit.scenario for unit in part], releases=part[0].releases)
        for part in _in_parts(units, count, request.scenarios)
    ]


def _units(request: Request) -> list[_Unit]:
    """The incidents in the request's order, on all of its releases where they are short enough, else on as many as they are."""
    found = []
    for scenario in request.scenarios:
        releases = list(request.releases)
        while releases:
            taken = next(some for some in _shorter(releases) if len(some) == 1 or _fits(request, scenario, some))
            if seconds := _seconds(request, scenario, taken):
                found.append(_Unit(scenario=scenario, releases=tuple(taken), seconds=seconds))
            releases = releases[len(taken) :]
    return found


def _shorter(releases: Sequence[str]) -> Iterator[Sequence[str]]:
    return (releases[:count] for count in range(len(releases), 0, -1))


def _fits(request: Request, scenario: Scenario, releases: Sequence[str]) -> bool:
    return _seconds(request, scenario, releases) <= PART_S_MAX


def _seconds(request: Request, scenario: Scenario, releases: Sequence[str]) -> float:
    """How long it takes by itself; 0 where nothing of it is asked for."""
    alone = dataclasses.replace(request, scenarios=[scenario], releases=releases, abilities=None, answer_first=False)
    plan = make_plan(alone, REFERENCE)
    return plan.seconds if any(plan.trials()) else 0.0


def _fewest(units: Sequence[_Unit]) -> list[list[list[_Unit]]]:
    """For each set of releases as few parts as there can be, none too long unless a single unit is."""
    return [
        next(parts for count in range(1, len(of) + 1) if all(map(_is_short, parts := _balanced(of, count))))
        for of in _by_releases(units)
    ]


def _by_releases(units: Sequence[_Unit]) -> list[list[_Unit]]:
    """A run has each of its incidents on each of its releases."""
    releases = dict.fromkeys(unit.releases for unit in units)
    return [[unit for unit in units if unit.releases == some] for some in releases]


def _balanced(units: Sequence[_Unit], count: int) -> list[list[_Unit]]:
    """In so many parts: the longest first, each into the part that is the shortest so far."""
    parts: list[list[_Unit]] = [[] for _ in range(count)]
    for unit in sorted(units, key=lambda one: -one.seconds):
        min(parts, key=_length).append(unit)
    return parts


def _length(part: Sequence[_Unit]) -> float:
    return sum(unit.seconds for unit in part)


def _is_short(part: Sequence[_Unit]) -> bool:
    return len(part) < 2 or _length(part) <= PART_S_MAX


def _in_parts(units: Sequence[_Unit], count: int, order: Sequence[Scenario]) -> list[list[_Unit]]:
    """In so many: the fewest, and more where parts are the longest."""
    groups, parted = _by_releases(units), _fewest(units)
    while sum(map(len, parted)) < count:
        can = [index for index, parts in enumerate(parted) if len(parts) < len(groups[index])]
        longest = max(can, key=lambda index: max(map(_length, parted[index])))
        parted[longest] = _balanced(groups[longest], len(parted[longest]) + 1)
    place = {scenario.name: index for index, scenario in enumerate(order)}
    in_order = [sorted(part, key=lambda unit: place[unit.scenario.name]) for part in itertools.chain(*parted)]
    return sorted(in_order, key=lambda part: (place[part[0].scenario.name], part[0].releases))
