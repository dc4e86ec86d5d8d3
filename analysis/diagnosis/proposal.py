"""What logs show of a cluster and of the load that an incident met, for a proposal of how to reproduce it."""

from __future__ import annotations

import contextlib
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from analysis.diagnosis.blocks import blocks
from analysis.diagnosis.found import Found, Logs, overlap
from analysis.diagnosis.reading import ToRead
from harness.model.log_events import Logged
from harness.model.rocketmq import PAGE_CACHE_BUSY, SEND_WAIT

AROUND_S = 60.0
"""A stall belongs to an incident within so many seconds of it."""
STALLS_MAX = 4
ALIKE = 1.1
SETTINGS = (SEND_WAIT, PAGE_CACHE_BUSY, "flushDiskType", "transientStorePoolEnable", "transientStorePoolSize")
"""Of those that brokers print when they start, what an incident may hang on."""
_PUT_TPS = re.compile(rb"\[STORETPS\] put_tps \d[\d.]* (\d{1,12}(?:\.\d{1,20})?)\b(?!\.)")
"""``StoreStatsService`` of org.apache.rocketmq.store: over the last 10 s, minute and 10 minutes, once a minute."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the logs show; None or empty where they do not. Rates are messages a second of the busiest broker's busiest minute."""

    masters: int | None = None
    slaves: int | None = None
    name_servers: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    stalls_ms: tuple[int, ...] = ()
    """The longest appends, in ascending order."""
    rate_hz: float | None = None
    queues: int | None = None
    groups: int | None = None


def shown_of(found: Found, logs: Logs, files: Sequence[ToRead]) -> Shown:
    """What ``logs`` show of an incident that was found in them; their files are read again for the rate."""
    roles = {logs.setting(one.node, "brokerRole") for one in logs.files if one.settings}
    booted = {(logs.broker(one), one.get("address")) for one in logs.of(Logged.BOOTED)}
    names = {name for name, _ in booted}
    slaves = sum(logs.setting(node, "brokerRole") == "SLAVE" for node in {one.node for one in logs.files})
    servers = {one.get("address") for one in logs.of(Logged.REGISTERED)} - {""}
    near = [one for one in logs.of(Logged.SLOW_APPEND) if overlap(one, found.from_s, found.to_s, AROUND_S)]
    stalls = sorted({round(one.most_ms) for one in near or logs.of(Logged.SLOW_APPEND)})
    # Of stalls that are nearly as long the longest stands for all.
    told_apart = [one for one, next_ in zip(stalls, [*stalls[1:], math.inf], strict=False) if next_ > ALIKE * one]
    # A line that is cut has the words alone.
    all_made = [one for one in logs.of(Logged.TOPIC_MADE) if one.get("write")]
    made = [int(one.get("write")) for one in all_made if one.get("topic") in found.topics]
    any_made = [int(one.get("write")) for one in all_made if not one.get("topic").startswith("%")]
    rates = [float(match[1]) for one in files for match in _matches(one)]
    return Shown(
        masters=len(names) or None,
        slaves=slaves // max(1, len(names)) if roles - {""} else None,
        name_servers=len(servers) or None,
        settings=_settings(logs),
        stalls_ms=tuple(told_apart[-STALLS_MAX:]),
        rate_hz=round(max(rates), 1) or None if rates else None,
        queues=max(made or any_made, default=None),
        groups=len(found.groups) or None,
    )


def _settings(logs: Logs) -> dict[str, str]:
    """Those of the first broker that printed them."""
    nodes = dict.fromkeys(one.node for one in logs.files)
    found = {key: [value for node in nodes if (value := logs.setting(node, key))] for key in SETTINGS}
    return {key: values[0] for key, values in found.items() if values}


def _matches(one: ToRead) -> list[re.Match[bytes]]:
    if not PurePosixPath(one.file).name.startswith("store"):
        return []
    with one.path.open("rb") as raw, contextlib.suppress(OSError, EOFError, zlib.error):
        return [match for block in blocks(raw) for match in _PUT_TPS.finditer(block)]
    return []
