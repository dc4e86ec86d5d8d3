"""The settings that a finding rests on: what its arms have set otherwise than the releases do by themselves."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cells import ParameterValue
from harness.model.cluster import UserSettings
from harness.model.loads import LoadValue
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS, SEND_WAIT, SEND_WAIT_MS
from harness.model.rules import Claim, Kind
from harness.model.scenario import Arm, Scenario

_OF_LOADS = {
    "poll_route_ms": "pollNameServerInterval",
    "heartbeat_ms": "heartbeatBrokerInterval",
    "send_timeout_ms": "sendMsgTimeout",
    "timeout_ms": "sendMsgTimeout",
    "durations_ms": "notAvailableDuration",
}
"""Fields of loads that are settings of their clients."""

DEFAULTS = frozenset(
    {
        f"broker.{SEND_WAIT}={SEND_WAIT_MS:g}",
        f"broker.{PAGE_CACHE_BUSY}={PAGE_CACHE_BUSY_MS:g}",
        "broker.accessMessageInMemoryMaxRatio=40",
        "broker.commitCommitLogLeastPages=4",
        "broker.commitCommitLogThoroughInterval=200",
        "broker.commitIntervalCommitLog=200",
        "broker.diskMaxUsedSpaceRatio=75",
        "broker.flushCommitLogLeastPages=4",
        "broker.flushCommitLogThoroughInterval=10000",
        "broker.transientStorePoolSize=5",
        "client.heartbeatBrokerInterval=30000",
        "client.pollNameServerInterval=30000",
        "client.sendMsgTimeout=3000",
    }
)
"""What every release has by itself; an arm sets it all the same where another arm, or the lab, has another value."""


def settings_of(claim: Claim, scenario: Scenario) -> tuple[str, ...]:
    """Those of the arms that measure the claim, as ``--set`` names them, sorted: ``broker.messageDelayLevel=1s 2s``.

    One that not all of these arms have is followed by the names of those that do. What only the code tells rests on none.
    """
    measured = [quantity for part in claim.parts if part.kind is not Kind.JAR for quantity in part.quantities()]
    arms = [arm for arm in scenario.arms if any(quantity.arm == arm.name for quantity in measured)]
    producers = {name for quantity in measured for name in quantity.where.get("producer", ())}
    having: dict[str, list[str]] = defaultdict(list)
    for arm in arms:
        for setting in {*_of_arm(arm), *_of_clients(arm.load, producers)} - DEFAULTS:
            having[setting].append(arm.name)
    return tuple(sorted(one if len(of) == len(arms) else f"{one} ({', '.join(of)})" for one, of in having.items()))


def _of_arm(arm: Arm) -> Iterator[str]:
    own = arm.broker
    named = UserSettings(broker={**own.conf, **arm.live_conf}, broker_jvm=own.properties, client=arm.client)
    yield from (f"{key}={value}" for key, value in named.by_prefix().items())
    yield from (f"environment.{key}={value}" for key, value in own.environment.items())
    yield from own.jvm


def _of_clients(load: LoadValue, producers: Collection[ParameterValue]) -> Iterator[str]:
    """Of producers side by side those alone that the claim is about."""
    asked: list[LoadValue | Avoider] = [load]
    if isinstance(load, AvoidingProducers):
        asked += [one for one in load.producers if one.name in producers]
    for one in asked:
        for field in dataclasses.fields(one):
            value = getattr(one, field.name)
            if isinstance(value, Mapping):
                yield from (f"client.{key}={item}" for key, item in value.items())
            elif value and field.name in _OF_LOADS:
                yield f"client.{_OF_LOADS[field.name]}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
