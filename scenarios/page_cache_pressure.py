"""A1: does dirty memory alone make this hardware's appends slow? A search over pressure, everything else at its default.

A neighbour rewrites a file of growing size on the store's file system; then the broker's own memory is limited more and
more while the neighbour writes, as in a small container. The longest append of each step is the curve, with the 200 ms at
which a waiting request is refused and the 1 s at which the lock counts as busy as its marks. No claim is judged by it:
where the curve lies is a matter of the machine.
"""

from __future__ import annotations

import dataclasses

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings
from harness.model.faults import AppendWatch, LimitedPageCache, PageCacheNeighbour
from harness.model.scenario import Arm, Scenario, TrialBudget
from scenarios import page_cache_stress

NEIGHBOUR_MB = 1024
"""Of the neighbour beside a limited broker: half of the store's file system."""


def _cell(neighbour_mb: int, **limit: int) -> Parameters:
    return {"neighbour_mb": neighbour_mb, **limit, "watch_ms": 3000, "rate_hz": page_cache_stress.RATE_HZ}


FLOODS = tuple(_cell(neighbour_mb) for neighbour_mb in (64, 256, 512, 1024, 1536))
LIMITS = tuple(_cell(NEIGHBOUR_MB, limit_mb=limit_mb) for limit_mb in (128, 64, 32, 16))
"""Of memory beyond what the broker has when it is limited. A second of the load is a mebibyte of pages."""


def _arm(
    name: str, what: str, fault: AppendWatch | PageCacheNeighbour | LimitedPageCache, cells: tuple[Parameters, ...]
) -> Arm:
    pool = page_cache_stress.POOL if name.startswith("fix") else {}
    broker = BrokerSettings(store="loop-ext4", store_mb=2048, conf=pool, jvm=page_cache_stress.PRESENT_HEAP)
    return Arm(
        name=name,
        what=what,
        fault=fault,
        load=page_cache_stress.LOAD,
        broker=broker,
        live_conf=page_cache_stress.NO_AGE_LIMIT,
        cells=cells,
    )


SCENARIO: Scenario = dataclasses.replace(
    page_cache_stress.SCENARIO,
    name="page-cache-pressure",
    title="How much pressure on the page cache makes an append slow here",
    summary="A neighbour writes files of growing size, and the broker's memory is limited more and more: the longest append.",
    symptom="Appends become slow while something else on the host uses the page cache.",
    advice="Measure where it begins on your host (mqlab verify page-cache-pressure), and see who else writes to the "
    "store's disk.",
    cures=(),
    sign=None,
    no_sign="Dirty memory leaves the lines of append-stall at most: look at /proc/vmstat and at the disk.",
    arms=(
        _arm("baseline", "No neighbour.", AppendWatch(), (page_cache_stress.CALM,)),
        _arm(
            "incident-flood",
            "A neighbour writes a file of so many mebibytes again and again.",
            PageCacheNeighbour(),
            FLOODS,
        ),
        _arm("incident-limit", "The same, and the broker may have so many mebibytes more.", LimitedPageCache(), LIMITS),
        _arm("fix-pool-flood", "With the pool, the largest neighbour.", PageCacheNeighbour(), FLOODS[-1:]),
        _arm("fix-pool-limit", "With the pool, the smallest memory.", LimitedPageCache(), LIMITS[-1:]),
    ),
    claims=(),
    budget=TrialBudget(trials=3, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={},
    extra_measures=("append_longest_ms", "append_mean_ms", "append_over_500_count", "append_short_share"),
)
