"""What the record says of a release that it has nothing of: verdicts that are carried over from one beside it.

A verdict is carried over where what the claim cites is the same code on both releases, down to what that calls itself, and where
the settings that this code asks for have the same defaults. It is never more than that: the same code may be called by other code.
Everything else is unknown there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache

import scenarios
from harness.errors import ReleaseError
from harness.model.findings import CarriedFinding, Finding
from harness.model.rules import Claim
from harness.model.scenario import Arm, Scenario
from harness.model.verdicts import VerdictKind
from harness.releases.central import version_key
from harness.releases.compare import calls_of, names_in, rests_on
from harness.releases.jars import recorded_releases
from harness.releases.settings import Settings, settings_of
from mqlab.ask.recorded import committed_ledger

LOCAL = "local"


@dataclass(frozen=True, kw_only=True)
class Carried:
    """``donors`` are by claim the release that it is carried over from; of each other one ``unknown`` says why it is not."""

    release: str
    lines: tuple[CarriedFinding, ...]
    donors: Mapping[str, str]
    unknown: Mapping[str, str]


def ledger_on(*releases: str) -> list[Finding]:
    """The committed ledger, and what is carried over to those of the releases that it has nothing of.

    Raises as ``settings_of`` does.
    """
    more = (
        line
        for release in dict.fromkeys(releases)
        if release not in recorded_releases()
        for line in carried(release).lines
    )
    return [*committed_ledger(), *more]


def unknown_on(releases: Sequence[str], scenario: Scenario) -> Iterator[tuple[str, str, str]]:
    """Claim, release and reason of what is neither measured nor carried over of an incident's claims."""
    for release in releases:
        unknown = {} if release in recorded_releases() else carried(release).unknown
        yield from ((claim.id, release, unknown[claim.id]) for claim in scenario.claims if claim.id in unknown)


@cache
def carried(release: str) -> Carried:
    """What is carried over to a release that is not recorded. Raises as ``settings_of`` does."""
    by_claim: dict[str, list[Finding]] = {}
    for line in committed_ledger():
        if line.backend == LOCAL:
            by_claim.setdefault(line.claim, []).append(line)
    lines: list[CarriedFinding] = []
    donors: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for scenario in scenarios.ALL:
        arms = {arm.name: arm for arm in scenario.arms}
        for claim in scenario.claims:
            of = [arms[quantity.arm] for quantity in claim.quantities() if quantity.arm in arms]
            donor, why = _donor(claim, of, by_claim.get(claim.id, ()), release)
            if not donor:
                unknown[claim.id] = why
                continue
            donors[claim.id] = donor
            lines += [_carried(line, release) for line in by_claim[claim.id] if line.release == donor]
    return Carried(release=release, lines=tuple(lines), donors=donors, unknown=unknown)


def beside(release: str) -> tuple[str, ...]:
    """The recorded releases next to one, the older first; the one of its own version alone, of which a build may be."""
    recorded = recorded_releases()
    if own := [one for one in recorded if version_key(one) == version_key(release)]:
        return tuple(own)
    older = [one for one in recorded if version_key(one) <= version_key(release)]
    return (*older[-1:], *[one for one in recorded if one not in older][:1])


def _donor(claim: Claim, arms: Sequence[Arm], lines: Sequence[Finding], release: str) -> tuple[str, str]:
    """The release that a claim is carried over from, or empty, and why not."""
    differs = {one: other_code(claim, arms, one, release) for one in beside(release)}
    same = [one for one, why in differs.items() if not why]
    if not same:
        return "", "; ".join(f"{one}: {why}" for one, why in differs.items())
    decided = {one: _verdicts(lines, one) for one in differs}
    has = [one for one in same if decided[one]]
    if not has:
        return "", f"it is not decided on {' and '.join(same)}"
    # Also of a neighbour with other code: where the verdict changes between the two, where in between is to be measured.
    if not _agree(list(decided.values())):
        return "", f"{' and '.join(decided)} differ in their verdicts"
    # The nearest by its numbers: of the same minor version, then of the same major one.
    return max(has, key=lambda one: alike(version_key(one), version_key(release))), ""


def alike(one: Sequence[int], other: Sequence[int]) -> int:
    """In how many leading numbers two versions are the same."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(other))


def _verdicts(lines: Sequence[Finding], release: str) -> dict[str, VerdictKind]:
    """What is decided on a release, by the injection."""
    return {
        line.injection: line.verdict
        for line in lines
        if line.release == release and line.verdict is not VerdictKind.UNDECIDED
    }


def _agree(decided: Sequence[Mapping[str, VerdictKind]]) -> bool:
    """Whether no two releases have another verdict by the same injection."""
    found: dict[str, VerdictKind] = {}
    return all(found.setdefault(injection, verdict) is verdict for of in decided for injection, verdict in of.items())


def other_code(claim: Claim, arms: Sequence[Arm], measured: str, release: str) -> str:
    """Why a verdict on one release says nothing of another; empty where it does."""
    if measured not in claim.expected:
        return "no code is cited"
    if any(arm.releases and measured not in arm.releases for arm in arms):
        return "it is not run there"
    cited = names_in(claim.expected[measured].source)
    if not cited:
        return "no code is cited"
    settings = settings_of(measured), settings_of(release)
    for name in cited:
        try:
            if rests_on(name, measured) != rests_on(name, release):
                return f"{name} or what it calls is other code"
            asked = {call for call in calls_of(name, measured) if call.startswith(("get", "is"))}
        except ReleaseError as error:
            return str(error)
        if other := next((key for key in sorted(asked) if _defaultother_code(key, *settings)), ""):
            return f"{name} asks for {other}, whose default is another one"
    return next(_lacks(arms, *settings), "")


def _defaultother_code(getter: str, before: Settings, after: Settings) -> bool:
    stem = getter.removeprefix("get").removeprefix("is")
    key = stem[:1].lower() + stem[1:]
    return any(
        old.get(key) != new.get(key) for old, new in ((before.broker, after.broker), (before.client, after.client))
    )


def _lacks(arms: Sequence[Arm], before: Settings, after: Settings) -> Iterator[str]:
    """Settings of its arms that one of the two does not know: a broker ignores them, and what is run is another thing."""
    for arm in arms:
        for key in (*arm.broker.conf, *arm.live_conf):
            if (key in before.broker) != (key in after.broker):
                yield f"brokers of one of the two do not know {key}"


def _carried(line: Finding, release: str) -> CarriedFinding:
    values = {field.name: getattr(line, field.name) for field in fields(line)}
    return CarriedFinding(**(values | {"release": release}), carried_from=line.release)
