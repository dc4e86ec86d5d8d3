"""What is carried over to a release that is not recorded: tried by hiding each recorded one, whose verdicts were measured."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import scenarios
from harness.errors import EXIT_OK
from harness.model.findings import CarriedFinding
from harness.model.rules import Claim
from harness.model.verdicts import VerdictKind
from harness.releases.builds import take_build
from harness.releases.class_file import class_of
from harness.releases.compare import compare, names_in, rests_on
from harness.releases.jars import ensure_jars, recorded_releases
from mqlab.ask import carried, upgrade
from mqlab.ask.recorded import committed_ledger
from mqlab.main import main
from mqlab.run.on_release import builds_told

BROKER, CLIENT = "org.apache.rocketmq.broker", "org.apache.rocketmq.client"
ALL = recorded_releases()
OTHERWISE = {
    ("4.6.0", "X-orderly-start-waits-03", "none"),
    ("4.9.7", "X-orderly-start-waits-03", "none"),
    ("5.3.3", "BUSY-20", "freeze"),
    ("5.5.0", "BUSY-20", "freeze"),
}
"""By release, claim and injection what the same code was measured to do otherwise: it is called by other code there."""


@pytest.fixture(params=ALL)
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One of the recorded releases, which the command takes for one that is not."""
    monkeypatch.setattr(carried, "recorded_releases", lambda: tuple(one for one in ALL if one != request.param))
    carried.carried.cache_clear()
    yield request.param
    carried.carried.cache_clear()


def test_what_is_carried_over_is_what_was_measured(hidden: str) -> None:
    measured = {
        (line.claim, line.injection): line.verdict
        for line in committed_ledger()
        if (line.release, line.backend) == (hidden, carried.LOCAL) and line.verdict is not VerdictKind.UNDECIDED
    }
    found = [
        line
        for line in carried.carried(hidden).lines
        if line.verdict is not VerdictKind.UNDECIDED and (line.claim, line.injection) in measured
    ]
    assert len(found) >= 40
    otherwise = {
        (hidden, line.claim, line.injection)
        for line in found
        if line.verdict is not measured[line.claim, line.injection]
    }
    assert otherwise == {one for one in OTHERWISE if one[0] == hidden}


def test_each_claim_is_carried_over_or_it_is_said_why_not(hidden: str) -> None:
    found = carried.carried(hidden)
    assert found.donors.keys().isdisjoint(found.unknown)
    assert all(found.unknown.values())
    assert {*found.donors.values()} <= {*carried.beside(hidden)}
    assert {line.claim for line in found.lines} == found.donors.keys()


def test_what_is_carried_over_has_no_neighbour_that_was_measured_otherwise(hidden: str) -> None:
    found, neighbours = carried.carried(hidden), carried.beside(hidden)
    measured = {
        (line.claim, line.injection, line.release): line.verdict
        for line in committed_ledger()
        if line.backend == carried.LOCAL and line.verdict is not VerdictKind.UNDECIDED
    }
    for line in found.lines:
        if line.verdict is not VerdictKind.UNDECIDED:
            of = {measured.get((line.claim, line.injection, one), line.verdict) for one in neighbours}
            assert of == {line.verdict}
    said = {claim for claim, why in found.unknown.items() if why.endswith("differ in their verdicts")}
    assert bool(said) == (len(neighbours) == 2)


def test_a_line_that_is_carried_over_says_so_wherever_it_is_told(hidden: str) -> None:
    lines = [line for line in carried.ledger_on(hidden) if isinstance(line, CarriedFinding)]
    assert lines
    assert {line.release for line in lines} == {hidden}
    for line in lines:
        assert line.provenance == f"carried over from {line.carried_from}, not measured on {hidden}"
        assert line.provenance in line.status
        assert line.carried_from != hidden


def test_a_recorded_release_is_beside_itself() -> None:
    assert carried.beside("5.3.3") == ("5.3.3",)
    assert carried.beside("5.3.3-corp1-1a2b3c4d") == ("5.3.3",)
    assert carried.beside("4.9.4") == ("4.6.0", "4.9.7")
    assert carried.beside("5.1.4") == ("4.9.7", "5.3.3")
    assert carried.beside("4.4.0") == ("4.6.0",)
    assert carried.beside("5.9.0") == ("5.5.0",)
    assert carried.ledger_on("5.3.3") == committed_ledger()


@pytest.mark.parametrize(
    ("name", "before", "after", "same"),
    [
        (f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select", "4.9.7", "5.3.3", True),
        (f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select", "4.6.0", "4.9.7", False),
        # Its own code is the same; what it calls is not.
        (f"{CLIENT}.impl.consumer.ConsumeMessageConcurrentlyService.processConsumeResult", "4.6.0", "4.9.7", False),
    ],
)
def test_code_is_the_same_with_what_it_calls(name: str, before: str, after: str, same: bool) -> None:
    assert not compare(name, before, after).concerned or name.endswith("select")
    assert (rests_on(name, before) == rests_on(name, after)) is same


def test_an_upgrade_tells_what_is_carried_over_and_what_is_unknown(
    hidden: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(upgrade, "recorded_releases", lambda: tuple(one for one in ALL if one != hidden))
    other = next(one for one in ALL if one != hidden)
    assert main(["upgrade", "--from", other, "--to", hidden, "--json"]) == EXIT_OK
    told = json.loads(capsys.readouterr().out)
    (known,) = told["known"]
    found = carried.carried(hidden)
    assert known["release"] == hidden
    assert sum(known["carried"].values()) == len(found.donors)
    assert known["unknown"] == [*found.unknown]
    assert known["command"].startswith("mqlab verify ")
    assert known["command"].endswith(f"--release {hidden}")
    assert known["minutes"] > 0


def _build(folder: Path, *, replaced: dict[str, bytes]) -> Path:
    """A distribution of 5.3.3's jars, with some entries of its broker's jar replaced."""
    lib = folder / "lib"
    lib.mkdir(parents=True)
    for jar in ensure_jars("5.3.3"):
        if jar.name.startswith("rocketmq-broker-") and replaced:
            with zipfile.ZipFile(jar) as source, zipfile.ZipFile(lib / jar.name, "w") as target:
                for entry in source.namelist():
                    target.writestr(entry, replaced.get(entry) or source.read(entry))
        else:
            (lib / jar.name).symlink_to(jar)
    return folder


SENDS = f"{BROKER}.processor.SendMessageProcessor"


def test_a_build_of_the_same_jars_is_the_same_and_one_class_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQLAB_HOME", str(tmp_path / "home"))
    entry = f"{SENDS.replace('.', '/')}.class"
    same = carried.carried(take_build(_build(tmp_path / "same", replaced={})))
    other = carried.carried(take_build(_build(tmp_path / "other", replaced={entry: class_of("5.5.0", SENDS)})))
    assert same.release != other.release
    assert {*same.donors.values()} == {"5.3.3"}
    decided = {
        line.claim
        for line in committed_ledger()
        if (line.release, line.backend) == ("5.3.3", carried.LOCAL) and line.verdict is not VerdictKind.UNDECIDED
    }
    cited = {claim.id for one in scenarios.ALL for claim in one.claims if names_in(_source(claim))}
    assert same.donors.keys() == decided & cited
    lost = same.donors.keys() - other.donors.keys()
    assert lost
    assert {claim for claim in lost if SENDS in other.unknown[claim]} == lost
    # Beside the release that they were made from, whose classes are compared as bytes.
    assert list(builds_told(("5.3.3", same.release, "5.5.0"))) == [f"{same.release} has the same classes as 5.3.3"]
    (told,) = builds_told(("5.3.3", other.release))
    assert told.startswith(
        f"{other.release} differs from 5.3.3 in 1 class of RocketMQ's own: broker.processor.SendMessageProcessor ("
    )
    assert list(builds_told(("5.3.3", "5.5.0"))) == []


def _source(claim: Claim) -> str:
    expected = claim.expected.get("5.3.3")
    return expected.source if expected else ""
