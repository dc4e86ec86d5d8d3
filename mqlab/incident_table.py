"""docs/incidents.md: what users reported, by what the committed ledger says of each.

``python -m mqlab.incident_table`` writes it anew; so does ``mqlab ledger`` with the ledger.
"""

from collections.abc import Iterator, Mapping, Sequence

from analysis.ledger.lines import LedgerLine
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.releases.jars import known_releases
from mqlab.recorded import committed_ledger
from scenarios.reported import REPORTED, REPOSITORY, Reported

DOCUMENT = PACKAGES / "docs" / "incidents.md"
HEAD = """# Incidents that users reported

Each stands in a thread of RocketMQ's repository, and is replayed here on every release with what users were advised to do.
Written by `mqlab ledger` from [the ledger](../scenarios/LEDGER.md); do not edit it by hand. `mqlab verify INCIDENT` replays one.

| incident | what users see | threads | releases that have it | changed by | what avoids or ends it |
|---|---|---|---|---|---|
"""
NOT_MEASURED = "not measured yet"

Verdicts = Mapping[str, Mapping[str, VerdictKind]]
"""By claim and release, of local processes."""


def document(lines: Sequence[LedgerLine], reported: Mapping[str, Reported] = REPORTED) -> str:
    """Its text."""
    verdicts: dict[str, dict[str, VerdictKind]] = {}
    for line in lines:
        if line.backend == "local":
            verdicts.setdefault(line.claim, {})[line.release] = line.verdict
    return HEAD + "".join(f"| {' | '.join(_row(name, one, verdicts))} |\n" for name, one in reported.items())


def _row(name: str, one: Reported, verdicts: Verdicts) -> Iterator[str]:
    found = verdicts.get(one.happens, {})
    has = [release for release in known_releases() if found.get(release) is VerdictKind.CONFIRMED]
    yield f"[{name}](../scenarios/{name.replace('-', '_')}.py)"
    yield one.symptom
    yield ", ".join(f"[{thread.rpartition('/')[2]}]({REPOSITORY}/{thread})" for thread in one.threads)
    decided = [kind for kind in found.values() if kind is not VerdictKind.UNDECIDED]
    yield ", ".join(has) or ("none" if decided else NOT_MEASURED)
    yield _changes(found)
    yield f"{one.avoided_by} ({'; '.join(_tried(claim, verdicts.get(claim, {})) for claim in one.cures)})"


def _changes(found: Mapping[str, VerdictKind]) -> str:
    """The releases in which it went, and came back, in their order."""
    words, before = [], None
    for release in known_releases():
        now = found.get(release)
        if {before, now} == {VerdictKind.CONFIRMED, VerdictKind.REFUTED}:
            words.append(f"gone in {release}" if now is VerdictKind.REFUTED else f"back in {release}")
        before = now
    return ", ".join(words)


def _tried(claim: str, found: Mapping[str, VerdictKind]) -> str:
    """What the ledger says of a cure."""
    said = [
        f"{kind} on {', '.join(on)}" for kind in VerdictKind if (on := [one for one in found if found[one] is kind])
    ]
    return f"{claim}: {', '.join(said) or NOT_MEASURED}"


def write() -> None:
    """Write it from the committed ledger. Raises LedgerError."""
    DOCUMENT.write_text(document(committed_ledger()), "utf-8")


if __name__ == "__main__":
    write()
