"""What the page's head says of a run: what it was, where it was made, and what weakens it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.ledger.runs import CountedTrial
from analysis.report.document import ReportData
from analysis.report.injections import by_injection
from analysis.verdicts.numbers import NARROW_SPACE, number, parameter
from analysis.verdicts.order import natural_key
from harness.language import phrase
from harness.rundir.integrity import FOREIGN, UNVOUCHED
from harness.rundir.reading import DAMAGED

DAMAGE_MAX = 20

LEFT_OUT = phrase("No verdict rests on what is foreign, and all else stands.")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One line of the header: a name, its value, and what qualifies it."""

    name: str
    value: str
    note: str = ""


def warnings(data: ReportData) -> tuple[str, ...]:
    """What weakens a run, a sentence each; first what of its files is damaged."""
    manifest = data.manifest
    found = list(evidence_told(manifest.notes, manifest.command))
    if not data.findings:
        found.append(phrase("This run has no findings. Nothing was confirmed, and nothing was refuted."))
    if manifest.incidents == ("load",):
        # A load has one trial, which says better than the run how far it came.
        found += [
            f"{reason[:1].upper()}{reason[1:]}." for one in data.trials for reason in (*one.exclusions, *one.notes)
        ]
    elif manifest.status != "complete":
        found.append(
            phrase(
                "This run is {status}, not complete. What follows rests on the trials that were made.",
                status=phrase(manifest.status),
            )
        )
    if manifest.budget == "quick":
        found.append(
            phrase(
                "Quick run: fewer trials and cells than a full run. Good for a first look; the ledger takes full runs only.",
            )
        )
    if manifest.dirty:
        found.append(phrase("The tree had uncommitted changes: the commit does not name exactly what was run."))
    return tuple(found)


def evidence_told(notes: Sequence[str], command: str) -> list[str]:
    """What the notes of a run say of its files: each damage by its name, up to a bound, or that nothing vouches for them.

    ``command`` made the run: what to do hangs on it.
    """
    damage = [note for note in notes if note.startswith(DAMAGED)]
    told = damage[:DAMAGE_MAX]
    if more := len(damage) - len(told):
        told.append(f"{DAMAGED}{number(more)} more files and folders, which analysis/page.json names")
    if any(FOREIGN not in note for note in damage):
        told.append(_what_to_do(command))
    elif damage:
        told.append(LEFT_OUT)
    return [*told, *(note for note in notes if note == UNVOUCHED)]


def _what_to_do(command: str) -> str:
    """Only what ``mqlab verify`` made can be gone on with."""
    by_verify = command.split()[1:2] == ["verify"]
    again = (
        "mqlab verify --resume RUN_DIR makes again what is not whole."
        if by_verify
        else "start it again: a load or a single trial cannot be gone on with."
    )
    return (
        "What rests on it is undecided, and all else stands. Copy the run again from where it was made. If it is damaged there, "
        f"too, {again}"
    )


def facts(data: ReportData) -> tuple[Fact, ...]:
    """What a run was and where it was made."""
    manifest = data.manifest
    host = manifest.host
    machine = [f"{host.cores} cores" if host.cores is not None else "", _gibibytes(host.memory_bytes)]
    clients = sorted({finding.client for finding in data.findings if finding.client}, key=natural_key)
    if not clients:
        clients = [f"{release} for {cluster}" for cluster, release in manifest.client_releases.items()]
    found = [
        Fact(name=phrase("Releases"), value=", ".join(manifest.releases)),
        Fact(name=phrase("Clients"), value=", ".join(clients)),
        Fact(name=phrase("Budget"), value=manifest.budget, note=_budget(by_injection(data).trials)),
        Fact(name=phrase("Host"), value=", ".join(filter(None, machine)), note=host.kernel or host.system),
        Fact(name=phrase("Java of the brokers"), value=host.java, note=host.java_source),
        Fact(name=phrase("Backend"), value=manifest.backend),
        Fact(name=phrase("Seed"), value=str(manifest.seed)),
        Fact(
            name=phrase("Commit"), value=manifest.commit[:12], note="with uncommitted changes" if manifest.dirty else ""
        ),
        Fact(name=phrase("Started"), value=manifest.created.replace("T", " ").replace("Z", " UTC")),
    ]
    return tuple(fact for fact in found if fact.value)


def counted(data: ReportData) -> str:
    """How many of the trials count, in words."""
    trials = by_injection(data).trials
    counting = sum(trial.counts for trial in trials)
    return phrase("{count} of {trials} trials count", count=number(counting), trials=number(len(trials)))


def _gibibytes(size: int | None) -> str:
    return "" if size is None else f"{number(size / 2**30)}{NARROW_SPACE}GiB"


def _budget(trials: tuple[CountedTrial, ...]) -> str:
    """The numbers behind the budget's name: trials, how many counted, and how many a cell has."""
    if not trials:
        return ""
    cells = Counter(
        (trial.incident, trial.release, trial.arm, *(parameter(k, trial.cell[k]) for k in sorted(trial.cell)))
        for trial in trials
    )
    valid = sum(trial.counts for trial in trials)
    fewest, most = min(cells.values()), max(cells.values())
    each = str(fewest) if fewest == most else f"{fewest} to {most}"
    return f"{number(len(trials))} trials, {number(valid)} counted; {each} in each of {number(len(cells))} cells"
