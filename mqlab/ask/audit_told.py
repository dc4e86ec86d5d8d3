"""What an audit read, told to a person, as JSON, or as Prometheus reads it."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.audit.finding import AuditFinding, Severity
from harness.audit.findings import Growth, crossing, topics_by_type, topics_left
from harness.audit.reading import BrokerReading, Reading
from harness.bounded import read_whole, require_few_values, why
from harness.errors import UsageError
from harness.printable import printable
from harness.rundir.decode import decode
from harness.rundir.files import replace_file
from mqlab.ask.audit_prometheus import exposition

FORMATS = ("text", "json", "prometheus")


def format_of(options: argparse.Namespace) -> str:
    """The format that is asked for. Raises UsageError: two are, or one that does not go with the other options."""
    if options.json and options.format not in (None, "json"):
        raise UsageError(f"--json and --format {options.format} are two formats", advice="Give one of the two.")
    found = options.format or ("json" if options.json else "text")
    if found == "prometheus" and options.broker_conf:
        raise UsageError("--format prometheus tells of a running cluster", advice="Leave it out for a file.")
    if found == "prometheus" and options.watch and not options.out:
        raise UsageError("Prometheus reads one text at a time", advice="Give --out FILE with --watch.")
    if options.out and options.broker_conf:
        raise UsageError("--out takes what is told of a running cluster", advice="Leave it out for a file.")
    return str(found)


def tell(reading: Reading, findings: list[AuditFinding], earlier: Growth | None, options: argparse.Namespace) -> None:
    """Print a reading, or replace ``--out`` by it as a whole. Raises DiskFullError or LabError."""
    match format_of(options):
        case "json":
            value = as_json(reading, findings, earlier, options.frame_limit)
            # The one control character of ASCII that JSON leaves as it is.
            text = json.dumps(value, indent=None if options.watch else 1).replace("\x7f", "\\u007f") + "\n"
        case "prometheus":
            text = exposition(reading, findings, earlier, options.frame_limit, for_a_file=bool(options.out))
        case _:
            lines = _lines(reading, findings, earlier, options.frame_limit)
            text = "".join(f"{printable(line)}\n" for line in lines)
    if options.out:
        replace_file(options.out, text)
    else:
        print(text, end="", flush=True)


def read_earlier(path: Path | None) -> tuple[Growth | None, list[tuple[str, int, str]]]:
    """What ``--json`` printed before: sizes, and every broker by name, id and address. Raises UsageError."""
    if path is None:
        return None, []
    try:
        # Of a watch the first line is the earliest.
        text = read_whole(path).decode()
        require_few_values(text)
        document, _ = json.JSONDecoder().raw_decode(text)
        earlier = decode(_Earlier, document)
        if not math.isfinite(earlier.at_s):
            raise ValueError(f"at_s is {earlier.at_s}")
    except RecursionError as error:
        raise UsageError(f"--since: {path} is no earlier --json output: it is nested too deeply") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"--since: {path} is no earlier --json output: {printable(why(error))}") from error
    sizes = {one.where: one.frame_bytes for one in earlier.brokers}
    return Growth(at_s=earlier.at_s, frame_bytes=sizes), [(one.name, one.id, one.address) for one in earlier.brokers]


@dataclass(frozen=True, kw_only=True)
class _EarlierBroker:
    """What is read again of a broker that ``as_json`` has."""

    where: str
    name: str
    id: int
    address: str
    frame_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Earlier:
    """What is read again of ``as_json``."""

    at_s: float
    brokers: tuple[_EarlierBroker, ...]


def as_json(
    reading: Reading, findings: list[AuditFinding], earlier: Growth | None, limit_bytes: int
) -> dict[str, object]:
    """What ``--json`` prints: ``at_s``, ``severity``, ``findings``, ``brokers``, ``name_servers``, ``offline_groups``."""

    def broker(one: BrokerReading) -> dict[str, object]:
        return {
            "where": one.words,
            "name": one.name,
            "id": one.broker_id,
            "address": one.address,
            "topics": topics_by_type(one),
            "frame_bytes": one.frame_bytes,
            "frame_share": round(one.frame_bytes / limit_bytes, 6),
            "topics_left": topics_left(one, limit_bytes) if one.topics else None,
            "full_at_s": crossing(one, reading.at_s, earlier, limit_bytes),
        }

    return {
        "at_s": reading.at_s,
        "severity": max((one.severity for one in findings), default=Severity.NONE).name.lower(),
        "frame_limit": limit_bytes,
        "findings": [
            {
                "kind": one.kind,
                "severity": one.severity.name.lower(),
                "where": one.where,
                "says": one.says,
                "advice": one.advice,
                "incident": one.incident,
            }
            for one in findings
        ],
        "brokers": [broker(one) for one in reading.brokers if not one.problem],
        "name_servers": [
            {"address": one.address, "brokers": {n: dict(a) for n, a in one.brokers.items()}, "topics": len(one.topics)}
            for one in reading.name_servers
        ],
        "offline_groups": sorted(reading.offline) if reading.masters() else None,
    }


def _lines(reading: Reading, findings: list[AuditFinding], earlier: Growth | None, limit_bytes: int) -> Iterator[str]:
    yield datetime.fromtimestamp(reading.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    for one in reading.brokers:
        if one.problem:
            continue
        types = ", ".join(f"{count:,} {kind}" for kind, count in topics_by_type(one).items())
        share = 100 * one.frame_bytes / limit_bytes
        yield f"  {one.words}: {types} topics; registers with {one.frame_bytes:,} bytes ({share:.2f} % of the limit)"
        if (when := crossing(one, reading.at_s, earlier, limit_bytes)) is not None:
            yield f"    at its growth the limit is reached on {datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M UTC}"
    if reading.masters():
        yield f"  groups that are offline and have a retry topic: {len(reading.offline):,}"
    else:
        yield "  no master was read: what follows tells of nothing else"
    for finding in findings:
        yield f"{finding.severity.name} {finding.kind}: {finding.where}: {finding.says}"
        yield f"    {finding.advice}"
    if not findings:
        yield "nothing is wrong"
