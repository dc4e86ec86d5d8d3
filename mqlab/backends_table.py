"""docs/backends.md: whether runs in containers say what those of local processes say, release by release.

``python -m mqlab.backends_table`` writes it anew; so does ``mqlab ledger`` with the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.verdicts.order import natural_key
from harness.backends.abilities import COMPOSE, LOCAL
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.rundir.files import replace_file
from mqlab.compared import Pair, agreement, paired, rows_of_differing, tried_by_both
from mqlab.recorded import committed_ledger

DOCUMENT = PACKAGES / "docs" / "backends.md"
HEAD = """# Processes and containers

An incident can be run with local processes, which is the default, or with each node and client in [a container](containers.md).
The two are judged apart, by the same rules. {cells} cells, each a claim on a release with its faults made one way, have trials of
both. {agreement}
Written by `mqlab ledger`; do not edit it.

| incident | releases | cells | same verdict | undecided in containers alone | undecided locally alone | against each other |
|---|---|---|---|---|---|---|
"""
DIFFER = """
## Where they differ

| claim | release | part | processes | containers | why |
|---|---|---|---|---|---|
"""
BECAUSE: Mapping[str, str] = {
    "BUSY-20 not left behind": "a freeze holds up a safepoint in about 2 of 100 stalls, with processes as well: "
    "too few stalls to see one",
    "QUEUES-04 in order": "on a machine with more to do than it can a group may be behind a minute after the write step "
    "([how long to wait](findings.md)); the one group with processes is of such a run",
}
"""Why the two differ, by claim and part."""


def document(lines: Sequence[Finding]) -> str:
    """Its text."""
    pairs = paired(*([line for line in lines if line.backend == backend] for backend in (LOCAL, COMPOSE)))
    parts = tried_by_both(pairs)
    differing = rows_of_differing(parts, BECAUSE)
    head = HEAD.format(cells=len(pairs), agreement=agreement(parts))
    return head + "".join(_of_incidents(pairs)) + (DIFFER + "".join(differing) if differing else "")


def _of_incidents(pairs: Iterable[Pair]) -> Iterator[str]:
    by_incident: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_incident[pair[0].incident].append(pair)
    for incident, of in sorted(by_incident.items()):
        releases = sorted({local.release for local, _ in of}, key=natural_key)
        counts = " | ".join(map(str, _counts(of)))
        yield f"| {incident} | {', '.join(releases)} | {len(of)} | {counts} |\n"


def _counts(pairs: Sequence[Pair]) -> tuple[int, int, int, int]:
    """How many have the same verdict, are undecided in containers alone, locally alone, and have opposite ones."""
    verdicts = [(local.verdict, compose.verdict) for local, compose in pairs]
    same = sum(local is compose for local, compose in verdicts)
    in_containers = sum(local is not compose is VerdictKind.UNDECIDED for local, compose in verdicts)
    locally = sum(compose is not local is VerdictKind.UNDECIDED for local, compose in verdicts)
    return same, in_containers, locally, len(pairs) - same - in_containers - locally


def write() -> None:
    """Write it from the committed ledger. Raises LedgerError."""
    replace_file(DOCUMENT, document(committed_ledger()))


if __name__ == "__main__":
    write()
