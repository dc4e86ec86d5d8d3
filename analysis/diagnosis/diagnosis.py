"""The diagnosis of some logs as one document: what was read, what was found, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.diagnosis.found import Found, Logs, Writer, gather, writer_of
from analysis.diagnosis.moments import offset_of
from analysis.diagnosis.reading import WARNED_MAX, ReadFile, ToRead, Warned, log_files, read_files
from analysis.diagnosis.rules import RULES
from analysis.diagnosis.rules.events_alone import shown_alone
from analysis.diagnosis.skew import Skew, skews
from analysis.diagnosis.zones import settle_zones
from harness.errors import ConfigurationError
from harness.language import joined, phrase
from harness.model.findings import Finding
from harness.model.incident import Incident
from harness.model.log_events import WORDINGS
from harness.model.verdicts import VerdictKind

SHAPES_SHOWN = 5
DECIDED = (VerdictKind.CONFIRMED, VerdictKind.REFUTED)
LOCAL = "local"


@dataclass(frozen=True, kw_only=True)
class FileNote:
    """What was read of one file. ``zone`` is how far its clock face is ahead of UTC, ``known_by`` how that is known."""

    file: str
    node: str
    lines: int
    unknown: int
    zone: str
    known_by: str
    from_s: float | None
    to_s: float | None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class UnknownShape:
    """Lines of no known layout that differ in numbers only, and the first of them."""

    lines: int
    file: str
    line: int
    sample: str


@dataclass(frozen=True, kw_only=True)
class WarnedShape:
    """Warnings or errors that differ in numbers only, the first of them, and the exception below it; ``file`` has that one."""

    level: str
    lines: int
    from_s: float | None
    to_s: float | None
    file: str
    line: int
    sample: str
    exception: str


@dataclass(frozen=True, kw_only=True)
class Cure:
    """What the ledger says of a cure, on one release."""

    claim: str
    release: str
    verdict: str
    says: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class Diagnosed:
    """An incident that was found, what its lines mean and what to do; ``cures`` is what was measured of that, ``title`` and
    ``symptom`` the incident in words.

    ``is_replayed`` says whether the lab has arms of it.
    """

    found: Found
    because: str
    advice: str
    cures: tuple[Cure, ...]
    is_replayed: bool
    title: str
    symptom: str


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """All of it. ``releases`` are those whose words the logs have, or that the user named; empty where nothing tells."""

    files: tuple[FileNote, ...]
    lines: int
    unknown: int
    shapes: tuple[UnknownShape, ...]
    warned: tuple[WarnedShape, ...]
    releases: tuple[str, ...]
    skews: tuple[Skew, ...]
    incidents: tuple[Diagnosed, ...]
    silent: Mapping[str, str]
    left_out: tuple[str, ...] = ()
    """Files of the given folders that are no logs by their names."""

    @property
    def offset_s(self) -> float:
        """How far the zone of most files is ahead of UTC, in seconds: a reader looks for the times that stand in them."""
        zones = Counter(zone for _, zone in {(one.file, one.zone) for one in self.files if one.zone})
        return offset_of(max(sorted(zones), key=zones.__getitem__, default=""))


def diagnose(
    paths: Iterable[Path],
    incidents: Sequence[Incident],
    ledger: Sequence[Finding],
    *,
    releases: Sequence[str] = (),
    offset_s: float | None = None,
) -> Diagnosis:
    """Read these logs and say what they show.

    ``incidents`` are those that are known; ``releases`` what the user says is running, ``offset_s`` the zone of logs that say
    nothing about theirs.

    Raises:
        ConfigurationError: a file cannot be read, or a folder has no logs.
    """
    return diagnosis_of(read_logs(log_files(paths), offset_s), incidents, ledger, releases)


def read_logs(files: Sequence[ToRead], offset_s: float | None = None) -> Logs:
    """The events of these logs. Raises ConfigurationError, as above."""
    read = read_files(files, offset_s)
    if not any(one.lines for one in read):
        raise ConfigurationError("the logs are empty", advice="Give log files, or folders with them.")
    settle_zones(read)
    return gather(read)


def diagnosis_of(
    logs: Logs,
    incidents: Sequence[Incident],
    ledger: Sequence[Finding],
    releases: Sequence[str] = (),
) -> Diagnosis:
    """What logs that were read show."""
    files = logs.files
    found = sorted(_found(logs, incidents), key=lambda one: (one.from_s is None, one.from_s or 0.0, one.incident))
    running = tuple(releases) or _releases(files, sorted({line.release for line in ledger}))
    by_name = {one.name: one for one in incidents}
    return Diagnosis(
        files=tuple(map(_note, files)),
        lines=sum(one.lines for one in files),
        unknown=sum(one.unknown for one in files),
        shapes=tuple(_shapes(files)),
        warned=tuple(_warned(files, found, by_name)),
        releases=running,
        skews=skews(logs),
        incidents=tuple(_diagnosed(one, by_name[one.incident], ledger, running) for one in found),
        silent={one.name: one.no_sign for one in incidents if one.no_sign},
    )


def _found(logs: Logs, incidents: Sequence[Incident]) -> Iterator[Found]:
    """What the rules find, each by the name of the incident whose sign it is."""
    by_pattern = {one.sign.pattern: one.name for one in incidents if one.sign}
    for rule in RULES:
        yield from (replace(one, incident=by_pattern[one.pattern]) for one in rule(logs) if one.pattern in by_pattern)
    for incident in incidents:
        if incident.sign and incident.sign.pattern is None:
            yield from (replace(one, incident=incident.name) for one in shown_alone(logs, incident.sign))


def _releases(files: Sequence[ReadFile], known: Sequence[str]) -> tuple[str, ...]:
    """Those of the ledger's releases that write as the logs of one of these nodes do, or as a part of them after an upgrade."""
    by_node: dict[str, list[ReadFile]] = {}
    for one in files:
        by_node.setdefault(one.node, []).append(one)
    spans = {span for one in files for span in one.written_by}
    writers = [one for one in map(writer_of, by_node.values()) if one.is_told]
    writers += [Writer(since=since, until=until) for since, until in spans if any(one.is_none for one in writers)]
    return tuple(release for release in known if any(one.may_be(release) for one in writers))


def _diagnosed(found: Found, incident: Incident, ledger: Sequence[Finding], releases: Sequence[str]) -> Diagnosed:
    cures = tuple(
        Cure(claim=line.claim, release=line.release, verdict=line.status, says=line.says, summary=line.summary)
        for claim in (incident.cures if not found.advice else ())
        for line in ledger
        if line.claim == claim and line.verdict in DECIDED and line.backend == LOCAL and line.release in releases
    )
    return Diagnosed(
        found=found, because=incident.sign.because if incident.sign else "", advice=found.advice or incident.advice, cures=cures,
        is_replayed=incident.is_replayed, title=incident.title, symptom=incident.symptom,
    )  # fmt: skip


def _note(one: ReadFile) -> FileNote:
    problems = [
        one.broken,
        phrase("{count} events were left out, there are too many", count=one.left_out) if one.left_out else "",
        phrase("its times have no date") if one.undated else "",
        phrase("of its warnings and errors the first {count:,} were looked at", count=WARNED_MAX)
        if one.warned_in_part
        else "",
    ]
    return FileNote(
        file=one.path, node=one.node, lines=one.lines, unknown=one.unknown, from_s=one.from_s, to_s=one.to_s,
        zone=one.zone.name if one.zone else "", known_by=one.zone.known_by if one.zone else "",
        problem=joined("; ", filter(None, problems)),
    )  # fmt: skip


def _warned(
    files: Sequence[ReadFile], found: Sequence[Found], by_name: Mapping[str, Incident]
) -> Iterable[WarnedShape]:
    """The commonest shapes of warnings and errors that are no sign of what was found."""
    signs = (by_name[one.incident].sign for one in found)
    events = {event for sign in signs if sign for event in (*sign.events, *sign.beside, *sign.over)}
    words = [one.words.strip() for one in WORDINGS if one.event in events]
    proof = {(line.file, line.line) for one in found for line in one.lines}
    by_shape: dict[str, list[tuple[ReadFile, Warned]]] = {}
    for one in files:
        for shape, seen in one.warned.items():
            said = f"{seen.sample} {seen.exception}"
            if (one.path, seen.line) in proof or any(each in said for each in words):
                continue
            by_shape.setdefault(shape, []).append((one, seen))
    commonest = sorted(by_shape.values(), key=lambda of: -sum(seen.count for _, seen in of))
    for of in commonest[:SHAPES_SHOWN]:
        times = [at for _, seen in of for at in (seen.from_s, seen.to_s) if at is not None]
        first, seen = of[0]
        yield WarnedShape(
            level=seen.level, lines=sum(seen.count for _, seen in of), from_s=min(times, default=None),
            to_s=max(times, default=None), file=first.path, line=seen.line, sample=seen.sample, exception=seen.exception,
        )  # fmt: skip


def _shapes(files: Sequence[ReadFile]) -> Iterable[UnknownShape]:
    """The commonest shapes of lines of no known layout."""
    counts: Counter[str] = Counter()
    first: dict[str, UnknownShape] = {}
    for one in files:
        for shape, seen in one.shapes.items():
            counts[shape] += seen.count
            first.setdefault(shape, UnknownShape(lines=0, file=one.path, line=seen.line, sample=seen.sample))
    for shape, count in counts.most_common(SHAPES_SHOWN):
        yield UnknownShape(lines=count, file=first[shape].file, line=first[shape].line, sample=first[shape].sample)
