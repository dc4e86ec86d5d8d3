"""docs/incidents.md: what users reported, by what the committed ledger says of each.

``python -m tools.incident_table`` writes it anew; so does ``python -m tools.ledger`` with the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import scenarios
from analysis.ledger.absent import NOT_APPLICABLE, NOT_RUN, Reasons, not_applicable
from harness.audit.exposed import CURED, is_open
from harness.model.findings import Finding
from harness.model.incident import NOTHING_REPLAYS, REPOSITORY, Incident
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.protocol.frames import Version
from harness.releases.jars import recorded_releases
from mqlab.ask.recorded import committed_ledger

DOCUMENT = PACKAGES / "docs" / "incidents.md"
HEAD = f"""# Incidents that users reported

`mqlab explain INCIDENT` says what one is, what to do and what was measured; `mqlab verify INCIDENT` replays one of the first table.
A number is an issue or a pull request of RocketMQ's repository: {REPOSITORY}/issues/NUMBER.
`tools/ledger.py` makes this page from [the ledger](../scenarios/ledger.jsonl); do not edit it by hand.

An incident may have several faces. Each has the releases on which it was confirmed, of {{releases}}. *Gone in* names the
first of these without it, not the release that mended it; *new in* and *back in* name the first that has it. *Not applicable* is
what a release has no setting for, or the cure of a failure that it refutes; *not run* is what nobody has measured.

| incident | what users see | threads | releases that have it | what avoids or ends it |
|---|---|---|---|---|
"""
UNREPLAYED_HEAD = f"""
## What {NOTHING_REPLAYS}

These are known by logs, code and reports. `mqlab explain INCIDENT` has the commands to run, and what to do.

| incident | what users see | threads | how it is told |
|---|---|---|---|
"""
BAR = "\\|"
"""Within a cell, be it in code."""
NOT_MEASURED = "not measured yet"
NVD = "https://nvd.nist.gov/vuln/detail"

Verdicts = Mapping[str, Mapping[str, VerdictKind]]
"""By claim and release, of local processes."""


def document(lines: Sequence[Finding], incidents: Sequence[Incident] = scenarios.INCIDENTS) -> str:
    """Its text: those of the articles are left out."""
    verdicts: dict[str, dict[str, VerdictKind]] = {}
    for line in lines:
        if line.backend == "local":
            verdicts.setdefault(line.claim, {})[line.release] = line.verdict
    reasons = not_applicable(lines, scenarios.ALL, recorded_releases())
    return "".join(
        [
            HEAD.format(releases=", ".join(recorded_releases())),
            *(_line(_row(one, verdicts, reasons)) for one in incidents if one.is_replayed and not one.article),
            UNREPLAYED_HEAD,
            *(_line(_unreplayed(one)) for one in incidents if not one.is_replayed),
        ]
    )


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |\n"


def _beginning(one: Incident) -> Iterator[str]:
    yield f"[{one.name}](../scenarios/{one.name.replace('-', '_')}.py)"
    yield one.symptom
    yield ", ".join(thread.rpartition("/")[2] for thread in one.threads)


def _row(one: Incident, verdicts: Verdicts, reasons: Reasons) -> Iterator[str]:
    yield from _beginning(one)
    yield "<br>".join(
        (f"{face}: " if face else "") + _has(claim, verdicts.get(claim, {}), reasons)
        for face, claim in one.faces.items()
    )
    yield "<br>".join(
        [one.advice, *(f"{claim}: {_tried(claim, verdicts.get(claim, {}), reasons)}" for claim in one.cures)]
    )


def _has(claim: str, found: Mapping[str, VerdictKind], reasons: Reasons) -> str:
    """The releases on which a face was confirmed, how that changed from one to the next, and those of which it is not known."""
    if not found:
        return NOT_MEASURED
    words = [_named(has)] if (has := _of(found, VerdictKind.CONFIRMED)) else []
    words += ["none"] if not has and VerdictKind.REFUTED in found.values() else []
    words += [changed] if (changed := _changes(found)) else []
    words += [f"undecided on {_named(open_)}"] if (open_ := _of(found, VerdictKind.UNDECIDED)) else []
    return "; ".join([*words, *_absent(claim, found, reasons)])


def _changes(found: Mapping[str, VerdictKind]) -> str:
    """The releases with which it came, went and came back, in their order.

    Each is told from the release before it: where that one is not decided, nobody knows with which of the two it changed.
    """
    words: list[str] = []
    before, had = None, False
    for release in recorded_releases():
        now = found.get(release)
        if (before, now) == (VerdictKind.CONFIRMED, VerdictKind.REFUTED):
            words.append(f"gone in {release}")
        elif (before, now) == (VerdictKind.REFUTED, VerdictKind.CONFIRMED):
            words.append(f"{'back' if had else 'new'} in {release}")
        before, had = now, had or now is VerdictKind.CONFIRMED
    return ", ".join(words)


def _tried(claim: str, found: Mapping[str, VerdictKind], reasons: Reasons) -> str:
    """What the ledger says of a cure."""
    if not found:
        return NOT_MEASURED
    said = [f"{kind} on {_named(on)}" for kind in VerdictKind if (on := _of(found, kind))]
    return "; ".join([", ".join(said), *_absent(claim, found, reasons)])


def _absent(claim: str, found: Mapping[str, VerdictKind], reasons: Reasons) -> Iterator[str]:
    """The releases without a verdict of a claim, by whether there is a reason."""
    by_word: dict[str, list[str]] = {}
    for release in recorded_releases():
        if release not in found:
            by_word.setdefault(NOT_APPLICABLE if reasons.get((claim, release)) else NOT_RUN, []).append(release)
    for word, on in by_word.items():
        yield f"{word} on {', '.join(on)}"


def _of(found: Mapping[str, VerdictKind], kind: VerdictKind) -> list[str]:
    return [release for release in recorded_releases() if found.get(release) is kind]


def _named(releases: Sequence[str]) -> str:
    return "all" if len(releases) == len(recorded_releases()) else ", ".join(releases)


def _unreplayed(one: Incident) -> Iterator[str]:
    yield from _beginning(one)
    told = f"in logs: {one.sign.because}" if one.sign else one.no_sign
    yield "<br>".join([told, *(f"{face}: {_exposed(cve)}" for face, cve in one.faces.items())])


def _exposed(cve: str) -> str:
    """The releases with a defect: by those that cured it, and which of the measured ones they are."""
    of_4x, of_5x = CURED[cve]
    has = [release for release in recorded_releases() if is_open(_version(release), cve)]
    before = f"before {'.'.join(map(str, of_4x))}, and of 5.x before {'.'.join(map(str, of_5x))}"
    return f"{before}; {', '.join(has) or 'none'} of the measured ones ([{cve}]({NVD}/{cve}))"


def _version(release: str) -> Version:
    return tuple(map(int, release.split(".")))


def write() -> None:
    """Write it from the committed ledger. Raises LedgerError."""
    DOCUMENT.write_text(document(committed_ledger()), "utf-8")


if __name__ == "__main__":
    write()
