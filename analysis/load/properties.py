"""Properties of a load, each with a verdict: confirmed, refuted, or undecided with the reason in its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from harness.model.verdicts import VerdictKind

SAYS: Mapping[str, tuple[str, str]] = {
    "all arrived": (
        "Every accepted message was consumed.",
        "The sequence numbers in accepted bodies, less the consumed ones.",
    ),
    "nothing lost": (
        "No acknowledged message is lost.",
        "Acknowledged offsets that were never consumed, after a drain.",
    ),
    "nothing twice": ("No message is delivered twice.", "Consumptions of a queue's offsets beyond the first of each."),
    "stored once": ("No message is stored twice.", "Sequence numbers that lie in more than one place of the stores."),
    "in order": ("Each queue's messages come in order.", "First consumptions of a queue after one of a higher offset."),
    "one consumer a queue": ("No two consumers work on one queue at once.", "Milliseconds of overlap of two members."),
    "bodies whole": ("Bodies arrive unchanged.", "Bodies that name this run and have their checksum."),
    "store agrees": ("The brokers hold what they acknowledged.", "The queues' ends against acknowledged offsets."),
    "a key, a queue": ("A key stays in one queue.", "Different queues of a key's messages, where sends go by key."),
    "Locust agrees": ("Locust counted what the history has.", "Requests and failures of both accounts."),
    "history whole": ("The history has no damaged line.", "Lines that are no whole records."),
    "faults took effect": (
        "Each fault was made, and took effect.",
        "What proves a fault in an incident: its own stamps.",
    ),
    "refusals as predicted": (
        "A stalled append has the refusals that the model predicts.",
        "Refused sends by keyword, within 5 %, one period of the cleaner, or the 95 % Poisson interval of the prediction.",
    ),
    "queues taken over": (
        "Others take the queues of an ended consumer over.",
        "The next consumption of each queue by another.",
    ),
}
"""What each says, and how it is measured, in the order in which they are told."""


@dataclass(frozen=True, kw_only=True)
class Property:
    """One thing that a load can show. ``count`` is of violations; ``file`` and ``line`` say where the first one is."""

    name: str
    verdict: VerdictKind
    words: str
    count: int | None = None
    file: str = ""
    line: int = 0

    @property
    def claim(self) -> str:
        """Its name as an id: ``a-key-a-queue``."""
        return "-".join(self.name.replace(",", "").split())


def in_their_order(properties: Iterable[Property]) -> list[Property]:
    """As ``SAYS`` has them, whichever was judged first."""
    return sorted(properties, key=lambda one: list(SAYS).index(one.name))


def decided(violations: object) -> VerdictKind:
    """Refuted when there is any violation."""
    return VerdictKind.REFUTED if violations else VerdictKind.CONFIRMED


def undecided(name: str, why: str) -> Property:
    """It could not be judged."""
    return Property(name=name, verdict=VerdictKind.UNDECIDED, words=why)


def none_of(name: str, row: Row, words: str) -> Property:
    """Confirmed when the row's ``count`` is zero; its ``file`` and ``line`` are a place where it is not."""
    return Property(
        name=name,
        verdict=decided(row["count"]),
        words=words,
        count=round(row["count"]),
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def counted_rows(table: DataFrame) -> Row:
    """How many rows there are, and where the first of them stands."""
    first = (F.min_by("file", "n").alias("file"), F.min("n").alias("line"))
    return table.agg(F.count("*").alias("count"), *first).collect()[0]
