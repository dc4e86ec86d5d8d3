"""What an analysis hands to the report, loaded and checked: the run's findings, and ``page.json`` with what is drawn beside them.

Both files are written by ``analysis`` at its end and are all that the report needs, so that a page can be rendered again
on a machine without Spark, Java or a cluster. Times in series are seconds relative to the start of the fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.ledger.runs import FINDINGS, CountedTrial, RecordedRun, read_lines
from harness.errors import LedgerError, RunDirectoryError, shown
from harness.model.cells import ParameterValue
from harness.model.findings import Finding
from harness.model.scenario import Shown
from harness.rundir.decode import DecodeError, read_document
from harness.rundir.manifest import Manifest

_PLACE = re.compile(r"[\w~+=@%,.-]+(/[\w~+=@%,.-]+)*")
PAGE_DATA = Path("analysis") / "page.json"


LOAD = "load"
"""The incident that a load of one's own is called in the report's data."""


@dataclass(frozen=True, kw_only=True)
class ClaimText:
    """What an article says and the measurable reading that was taken of it."""

    says: str
    reading: str
    article: str
    incident: str
    why: Mapping[str, str] = field(default_factory=dict)
    """By part, the reason for its bound."""


@dataclass(frozen=True, kw_only=True)
class IncidentText:
    """What a page says of an incident itself, where the analysis hands it on."""

    title: str = ""
    summary: str = ""
    advice: str = ""
    shown: Shown | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """Rate and delay of one representative trial, in bins of ``bin_ms``.

    ``t_s`` is a bin's start relative to the fault's injecting stamp; ``fault_s`` the fault's window on the same axis,
    or None in an arm without one. ``sent`` counts sends that were due in the bin; ``ok``, ``failed`` and the delays
    (milliseconds from the intended time) are of those that ended in it; ``consumed`` and the delays of consumptions of those
    that began in it.
    """

    incident: str
    release: str
    arm: str
    params: Mapping[str, ParameterValue]
    trial: str
    bin_ms: int
    t_s: tuple[float, ...]
    sent: tuple[float | None, ...]
    ok: tuple[float | None, ...]
    failed: tuple[float | None, ...]
    consumed: tuple[float | None, ...]
    delay_p50_ms: tuple[float | None, ...]
    delay_max_ms: tuple[float | None, ...]
    client: str = ""
    fault_s: tuple[float | None, float | None] | None = None
    injection: str = ""
    faults_s: tuple[tuple[float, float], ...] = ()
    """The windows of a load's faults, of which there may be several."""

    def __post_init__(self) -> None:
        for name in ("sent", "ok", "failed", "consumed", "delay_p50_ms", "delay_max_ms"):
            if len(getattr(self, name)) != len(self.t_s):
                raise DecodeError(
                    f"of trial {self.trial}: {name} has {len(getattr(self, name))} values for {len(self.t_s)} bins"
                )
        if self.bin_ms <= 0:
            raise DecodeError(f"of trial {self.trial}: bin_ms is {self.bin_ms}")


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """All values of one measure in one cell and release; a censored value means "at least this"."""

    incident: str
    release: str
    arm: str
    params: Mapping[str, ParameterValue]
    measure: str
    unit: str
    values: tuple[float, ...]
    censored: tuple[bool, ...] = ()
    injection: str = ""

    def __post_init__(self) -> None:
        if self.censored and len(self.censored) != len(self.values):
            raise DecodeError(
                f"of {self.measure} in {self.arm}: {len(self.censored)} censored flags for {len(self.values)} values"
            )

    def flags(self) -> tuple[bool, ...]:
        """One flag a value; a writer may leave the list out when nothing is censored."""
        return self.censored or (False,) * len(self.values)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of an incident, as text; ``links`` are files of the run beside it, by what they are. One that is ``folded`` opens
    on a click."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False

    def __post_init__(self) -> None:
        for place in self.links.values():
            # A page of somebody else's could lead to any address, and to a script.
            if not _PLACE.fullmatch(place) or ".." in place.split("/"):
                raise DecodeError(f"has a link to {shown(place)}, which is no file of the run")


@dataclass(frozen=True, kw_only=True)
class UnmatchedLog:
    """How many lines of a log file no parser knew, with a few of them."""

    file: str
    lines: int
    unmatched: int
    sample: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LogNotes:
    """What is to be said of the logs."""

    unmatched: tuple[UnmatchedLog, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What a load came to, in sentences with the worst first, and the commands that lead on."""

    title: str
    says: tuple[str, ...]
    do: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """Everything that the report shows of one run."""

    schema: int
    manifest: Manifest
    findings: tuple[Finding, ...] = ()
    claims: Mapping[str, ClaimText] = field(default_factory=dict)
    incidents: Mapping[str, IncidentText] = field(default_factory=dict)
    trials: tuple[CountedTrial, ...] = ()
    series: tuple[Series, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    tables: Mapping[str, tuple[Table, ...]] = field(default_factory=dict)
    """By incident."""
    logs: LogNotes = field(default_factory=LogNotes)
    headline: Headline | None = None
    """Of a load; what an incident came to is in its findings."""


def load_report_data(run_dir: Path) -> ReportData:
    """The report data of a run directory.

    Raises :class:`harness.errors.RunDirectoryError` when a file is absent, is no JSON, is of another schema or does
    not have the fields that this version reads.
    """
    found = load_findings(run_dir)
    return replace(read_document(ReportData, run_dir / PAGE_DATA), findings=found.findings, trials=found.trials)


def load_findings(run_dir: Path) -> RecordedRun:
    """The run with its trials and findings alone. Raises RunDirectoryError."""
    path = run_dir / FINDINGS
    if not path.exists() or not (run_dir / PAGE_DATA).exists():
        raise RunDirectoryError(f"{path} does not exist: analyse the run first (mqlab runs analyze {run_dir})")
    try:
        return read_lines(path)
    except LedgerError as error:
        raise RunDirectoryError(error.message) from error
