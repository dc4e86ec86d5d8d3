"""Which arms of an incident there are on a release that is not recorded: asked of its classes, and named where there are none.

So are events that logs tell of on the releases beside it, and not on this one.

An arm that names its releases is of another one only where the recorded ones beside it have it, or where the settings that it is
about are what they differ by. A setting that brokers do not know, or a rule that meets no method, leaves an arm out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.faults.injections import ways_of
from harness.model.faults import (
    AppendStall,
    AppendThrows,
    CommitStall,
    DeliveryThrows,
    DispatchThrows,
    JavaRule,
    PoolJam,
    SlowBroker,
    SlowFlush,
    SlowSends,
)
from harness.model.scenario import Arm, Scenario
from harness.releases.central import version_key
from harness.releases.compare import CodeChange, classes_that_differ
from harness.releases.jars import is_build, recorded_releases
from harness.releases.log_words import unwritten
from harness.releases.rules import unmet_rules
from harness.releases.settings import settings_of
from mqlab.ask.carried import beside

BYTEMAN = "byteman"
RULES = {
    AppendStall: "append_stall",
    CommitStall: "append_stall",
    AppendThrows: "append_throws",
    DeliveryThrows: "delivery_throws",
    DispatchThrows: "dispatch_throws",
    PoolJam: "pool_jam",
    SlowBroker: "slow_sends",
    SlowFlush: "slow_flush",
    SlowSends: "slow_sends",
}
"""The file of the rules by which a fault is made where it is made by Byteman."""


def on_releases(found: Sequence[Scenario], releases: Sequence[str]) -> list[Scenario]:
    """The incidents, each arm with those of the releases that have what it is about. Raises as ``settings_of`` does."""
    learned = [release for release in releases if release not in recorded_releases()]
    if not learned:
        return list(found)
    return [replace(one, arms=tuple(_of_releases(arm, releases, learned) for arm in one.arms)) for one in found]


def not_there(found: Sequence[Scenario], releases: Sequence[str]) -> Iterator[str]:
    """A sentence for each arm that a release that is not recorded has nothing for, and for each event it alone is silent of."""
    for release in releases:
        if release not in recorded_releases():
            silent = {event for near in beside(release) for event, _ in unwritten(near)}
            for event, where in unwritten(release):
                if event not in silent:
                    yield f'{release} has other words for "{event}" in its logs, or none ({where}): that is not seen there'
            for scenario in found:
                for arm in scenario.arms:
                    if why := why_not_on(arm, release):
                        yield f"{scenario.name}: {arm.name} is not applicable on {release}: {why}"


def _of_releases(arm: Arm, releases: Sequence[str], learned: Sequence[str]) -> Arm:
    fits = [release for release in learned if not why_not_on(arm, release)]
    if not arm.releases and len(fits) == len(learned):
        return arm
    # Empty stands for all, so that one that no release has keeps those that are not asked for.
    had = arm.releases or tuple(dict.fromkeys((*recorded_releases(), *(one for one in releases if one not in learned))))
    return replace(arm, releases=tuple(dict.fromkeys((*had, *fits))))


def why_not_on(arm: Arm, release: str) -> str:
    """Why an arm is not one of a release that is not recorded; empty where it is. Raises as ``settings_of`` does."""
    near, known = beside(release), settings_of(release).broker
    keys = dict.fromkeys((*arm.broker.conf, *arm.live_conf))
    have = [one for one in near if not arm.releases or one in arm.releases]
    for key in keys:
        if key not in known and any(key in settings_of(one).broker for one in near):
            return f"its brokers know no {key} (BrokerConfig, MessageStoreConfig)"
    if not have:
        return f"it is of {', '.join(arm.releases)} alone, and not of {' and '.join(near)}, which are beside it"
    lack = [one for one in near if one not in have]
    if lack and not any(key not in settings_of(one).broker for key in keys for one in lack):
        return f"{' and '.join(have)} has what it is about, {' and '.join(lack)} has not, and no setting tells of {release}"
    ways = [one.name for one in ways_of(arm.fault)]
    if isinstance(arm.fault, JavaRule):
        return ""
    if ways == [BYTEMAN] and (unmet := unmet_rules(release, RULES[arm.fault.of_the_lab()])):
        return f"there is no method for the rules of its fault: {'; '.join(unmet)}"
    return ""


CLASSES_NAMED_MAX = 5


def builds_told(releases: Sequence[str]) -> Iterator[str]:
    """For each build of the user's own, in which classes it differs from a release beside it: from which, if any, it was made."""
    for build in releases:
        if not is_build(build):
            continue
        for release in (one for one in releases if one != build and version_key(one) == version_key(build)):
            differ = classes_that_differ(release, build)
            named = ", ".join(_class_told(one) for one in differ[:CLASSES_NAMED_MAX])
            more = f" and {len(differ) - CLASSES_NAMED_MAX} more" if len(differ) > CLASSES_NAMED_MAX else ""
            differing = f"differs from {release} in {_counted(differ)} of RocketMQ's own: {named}{more}"
            yield f"{build} {differing if differ else f'has the same classes as {release}'}"


def _counted(differ: Sequence[CodeChange]) -> str:
    return "1 class" if len(differ) == 1 else f"{len(differ):,} classes"


def _class_told(one: CodeChange) -> str:
    """``store.CommitLog (putMessage, doAppend)``, without a word of methods where no code differs."""
    name = one.name.removeprefix("org.apache.rocketmq.")
    return f"{name} ({', '.join(one.changed[:CLASSES_NAMED_MAX])})" if one.changed else f"{name} (no method's code)"
