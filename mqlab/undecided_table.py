"""docs/undecided.md: what the committed ledger leaves open, and what would decide it.

``python -m mqlab.undecided_table`` writes it anew; so does ``mqlab ledger`` with the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.ledger.lacking import lacking
from analysis.ledger.lines import LedgerLine, ordered
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.releases.jars import known_releases
from mqlab.recorded import committed_ledger

DOCUMENT = PACKAGES / "docs" / "undecided.md"
HEAD = """# What is undecided

{undecided} of the ledger's {lines} lines are undecided: {not_run} of these have no trial under the rule and the experiment that
they have now, {measured} were measured and did not come out. Written by `mqlab ledger` from
[the ledger](../scenarios/LEDGER.md); do not edit it by hand.
"""
NOT_RUN = """
## Not measured yet

What an earlier rule or experiment found of them stands in [the ledger](../scenarios/LEDGER.md).

| incident | claims | releases | what measures them |
|---|---|---|---|
"""
MEASURED = """
## Measured, and undecided

A part lacks what stands beside it, if what comes agrees with what most of it has shown so far.

| claim | releases | part | what it lacks |
|---|---|---|---|
"""


def document(lines: Sequence[LedgerLine]) -> str:
    """Its text."""
    undecided = [line for line in ordered(lines) if line.verdict is VerdictKind.UNDECIDED]
    measured = [line for line in undecided if line.trials]
    not_run = [line for line in undecided if not line.trials]
    return (
        HEAD.format(undecided=len(undecided), lines=len(lines), not_run=len(not_run), measured=len(measured))
        + (NOT_RUN + "".join(_not_run(not_run)) if not_run else "")
        + (MEASURED + "".join(_measured(measured)) if measured else "")
    )


def _not_run(lines: Iterable[LedgerLine]) -> Iterator[str]:
    """A row for an incident, a backend and the releases of each of its claims."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for one in lines:
        found.setdefault((one.incident, one.backend, one.claim), set()).add(one.release)
    claims: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (incident, backend, claim), on in found.items():
        claims.setdefault((incident, backend, _in_order(on)), []).append(claim)
    for (incident, backend, releases), of in sorted(claims.items()):
        how = "" if backend == "local" else f" --backend {backend}"
        yield (
            f"| {incident} | {', '.join(of)} | {', '.join(releases)} "
            f"| `mqlab verify {incident} --release {','.join(releases)}{how}` |\n"
        )


def _measured(lines: Iterable[LedgerLine]) -> Iterator[str]:
    """A row for a part of a claim and what it lacks, with the releases on which it does."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for line in lines:
        where = "" if line.backend == "local" else f" ({line.backend})"
        lacks = [(part.name, what) for part, what in lacking(line)] or [("", line.reason)]
        for part, what in lacks:
            found.setdefault((line.claim, where, part, what), []).append(line.release)
    for (claim, where, part, what), releases in found.items():
        yield f"| {claim}{where} | {', '.join(releases)} | {part} | {what} |\n"


def _in_order(releases: set[str]) -> tuple[str, ...]:
    return tuple(release for release in known_releases() if release in releases)


def write() -> None:
    """Write it from the committed ledger. Raises LedgerError."""
    DOCUMENT.write_text(document(committed_ledger()), "utf-8")


if __name__ == "__main__":
    write()
