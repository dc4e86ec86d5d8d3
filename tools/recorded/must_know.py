"""The one sentence of a family that an operator must know: printed for as long as the record bears it out."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from harness.model.verdicts import VerdictKind

WIDTH = 120
"""Columns of the README."""


@dataclass(frozen=True, kw_only=True)
class MustKnow:
    """``says`` holds on the releases where ``claim`` has that verdict."""

    says: str
    claim: str
    verdict: VerdictKind


MUST_KNOW: Mapping[str, MustKnow] = {
    "BUSY": MustKnow(
        says="An append that stalls for 250 ms has sends refused; none has to reach a second.",
        claim="BUSY-09",
        verdict=VerdictKind.CONFIRMED,
    ),
    "POOL": MustKnow(
        says="A transient store pool with too few buffers refuses sends by itself.",
        claim="POOL-03",
        verdict=VerdictKind.CONFIRMED,
    ),
    "ORDER": MustKnow(
        says="A killed ordered consumer's queues stand still for about a minute.",
        claim="ORDER-01",
        verdict=VerdictKind.CONFIRMED,
    ),
    "QUEUES": MustKnow(
        says="With more write than read queues, some messages are never consumed.",
        claim="QUEUES-02",
        verdict=VerdictKind.CONFIRMED,
    ),
    "TOPICS": MustKnow(
        says="A broker with too many topics leaves its routes, and it alone.",
        claim="TOPICS-14",
        verdict=VerdictKind.CONFIRMED,
    ),
    "NAMES": MustKnow(
        says="Name servers that differ go on answering; a console shows one of them.",
        claim="NAMES-06",
        verdict=VerdictKind.CONFIRMED,
    ),
    "SENDS": MustKnow(
        says="How often a normal synchronous send is tried depends on how its broker fails.",
        claim="SENDS-01",
        verdict=VerdictKind.REFUTED,
    ),
    "AVOID": MustKnow(
        says="A synchronous send to a chosen queue has no broker avoided, however slow it was.",
        claim="AVOID-01",
        verdict=VerdictKind.REFUTED,
    ),
    "X": MustKnow(
        says="One group that asks for two tags: most messages come to nobody.",
        claim="X-subscriptions-that-differ-01",
        verdict=VerdictKind.CONFIRMED,
    ),
}
"""By family; one that is not here has no sentence yet."""


def sentences(
    verdicts: Mapping[str, Mapping[str, VerdictKind]], families: Collection[str], releases: Sequence[str]
) -> list[str]:
    """A list item for each family whose sentence holds on some release, and one that names the others.

    Args:
        verdicts: by claim, then by release, on the defaults' backend.
        families: those of the table, in its order.
        releases: those of the table.
    """
    items = []
    open_families = []
    for family in families:
        known = MUST_KNOW.get(family)
        found = verdicts.get(known.claim, {}) if known else {}
        bearing = [release for release in releases if known and found.get(release) is known.verdict]
        if known is None or not bearing:
            open_families.append(family)
            continue
        where = "all releases" if len(bearing) == len(releases) > 1 else ", ".join(bearing)
        items.append(f"- **{family}**: {known.says} ({known.claim}, {where})")
    if open_families:
        items.append(f"- **Not decided by the present rules yet**: {', '.join(open_families)}.")
    return [
        line
        for item in items
        for line in textwrap.wrap(item, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    ]
