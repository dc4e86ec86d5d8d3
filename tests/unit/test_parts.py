"""A campaign in parts: all of it, each part within its bound, and the same parts whenever one is asked for; families."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest

import scenarios
from harness.errors import EXIT_OK, EXIT_USAGE, UsageError
from harness.host.abilities import Abilities
from harness.paths import PACKAGES
from harness.plan import parts
from harness.plan.parts import PART_S_MAX, REFERENCE, parts_of
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from mqlab.main import main
from mqlab.own.own_incident import incidents_of
from mqlab.run.resume import command_line
from scenarios.releases import RELEASES

ALL = Request(scenarios=scenarios.ALL, releases=RELEASES)
SOME = Request(scenarios=incidents_of(["ORDER", "TOPICS"]), releases=RELEASES[:2])


def _pairs(request: Request) -> list[tuple[str, str]]:
    return [(scenario.name, release) for scenario in request.scenarios for release in request.releases]


def _least(request: Request) -> int:
    with pytest.raises(UsageError, match="takes more than") as refused:
        parts_of(request, 1)
    return int(refused.value.advice.partition("1/")[2].split()[0])


def test_all_incidents_are_each_in_one_part_on_each_release_and_no_part_is_longer_than_it_may_be() -> None:
    found = parts_of(ALL, _least(ALL))
    counts = Counter(pair for part in found for pair in _pairs(part))
    asked = {(one.scenario.name, one.release) for one in make_plan(ALL, REFERENCE).deployments()}
    assert asked <= set(counts) <= set(_pairs(ALL))
    assert set(counts.values()) == {1}
    assert max(make_plan(part, REFERENCE).seconds for part in found) <= PART_S_MAX


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/verdicts.md"])
def test_as_many_parts_as_the_documents_say_are_enough(document: str) -> None:
    (count,) = {
        int(count) for count in re.findall(r"--all .*--part \d+/(\d+)", (PACKAGES / document).read_text("utf-8"))
    }
    both = dataclasses.replace(ALL, injections=("byteman", "freeze"))
    assert len(parts_of(both, count)) == count


def test_parts_are_the_same_whatever_this_host_can() -> None:
    count = _least(SOME) + 2
    nobody = Abilities(
        root=False, loop_devices=False, file_systems=frozenset(), tools=frozenset(), cgroup="none", firewall=False,
        delay=False,
    )  # fmt: skip
    once, again = parts_of(SOME, count), parts_of(dataclasses.replace(SOME, abilities=nobody), count)
    assert list(map(_pairs, once)) == list(map(_pairs, again))
    assert sorted(pair for part in once for pair in _pairs(part)) == sorted(_pairs(SOME))
    assert {part.abilities for part in again} == {nobody}, "what cannot be run here is left out of its part"


def test_an_incident_that_is_too_long_on_all_releases_is_in_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    handover = Request(scenarios=[scenarios.find("ordered-lock-handover")], releases=RELEASES)
    monkeypatch.setattr(parts, "PART_S_MAX", 0.6 * make_plan(handover, REFERENCE).seconds)
    found = parts_of(handover, _least(handover))
    assert [release for part in found for release in part.releases] == list(RELEASES)
    assert len(found) > 1


def test_more_parts_than_there_is_to_do_are_refused() -> None:
    one = Request(scenarios=[scenarios.find("dead-letter")], releases=["4.6.0"])
    assert list(map(_pairs, parts_of(one, 1))) == [[("dead-letter", "4.6.0")]]
    with pytest.raises(UsageError, match="not enough for so many"):
        parts_of(one, 2)


def test_a_family_is_every_incident_that_judges_one_of_its_claims() -> None:
    assert {"BUSY", "POOL", "ORDER", "QUEUES", "TOPICS", "NAMES", "SENDS", "AVOID", "X"} == set(scenarios.FAMILIES)
    for family in scenarios.FAMILIES:
        claims = {claim.id for one in incidents_of([family]) for claim in one.claims}
        everywhere = {claim.id for one in scenarios.ALL for claim in one.claims}
        assert {claim for claim in everywhere if claim.startswith(f"{family}-")} <= claims
    assert [one.name for one in incidents_of(["NAMES", "name-server-divergence", "dead-letter"])][-1] == "dead-letter"
    names = [one.name for one in incidents_of(["BUSY", "POOL", "append-stall"])]
    assert len(names) == len(set(names)), "what is of two families is run once"


def test_the_command_takes_families_and_a_part_and_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "NAMES", "TOPICS", "--part", "2/2", "--release", "4.6.0", "--plan"]) == EXIT_OK
    said = capsys.readouterr().err
    assert "part 2/2 of NAMES, TOPICS" in said
    assert main(["explain", "--record", "NAMES"]) == EXIT_OK
    assert "NAMES-06" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--part", "1/2"], "Give --all, or name them"),
        (["--all", "--part", "3/2"], "there is no such part"),
        (["--all", "--part", "1/1"], "one takes more than 90 minutes"),
        (["--all", "--part", "0/2"], "is not a part such as 2/4"),
        (["BUSSY"], "Did you mean BUSY"),
    ],
)
def test_what_is_no_part_or_family_is_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["verify", *words, "--plan"])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == EXIT_USAGE
    assert says in " ".join(capsys.readouterr().err.split())


def test_a_run_that_is_gone_on_with_is_the_same_part() -> None:
    from mqlab.main import _parsed

    options = _parsed(["verify", "BUSY", "--part", "2/3", "--register"])
    again = _parsed(command_line(options).split()[1:])
    assert (again.incidents, again.part) == (["BUSY"], "2/3")
