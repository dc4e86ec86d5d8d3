"""``mqlab audit``: which causes of incidents a running cluster shows. It only reads, unless it is told to delete."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from harness.audit.finding import AuditFinding, Severity
from harness.audit.findings import Growth, crossing, judge, topics_by_type, topics_left
from harness.audit.reading import BrokerReading, Reading, read_cluster, still_offline
from harness.audit.remedy import apply_remedy, plan_remedy
from harness.errors import UsageError
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.protocol.targets import Network, parse_networks
from mqlab.audit_conf import audit_conf
from mqlab.kinds import ADDRESS, BROKER, FILE, NETWORK, NEW_FILE, SECONDS, number, several, whole
from mqlab.options import Adder, add_releases

DELETIONS_PER_S = 5.0
OFFLINE_S = 40.0
"""A client sends a heartbeat every 30 s (``ClientConfig.heartbeatBrokerInterval``)."""
DESCRIPTION = (
    "What of the incidents' causes a running cluster shows: topics by type, each registration's size against the name "
    "servers' frame limit, retry topics of offline groups, routes that differ between name servers, read and write queue "
    "numbers that differ, members with one client id, lock and pool settings. It only reads. With --broker-conf it judges a file "
    "instead, by release, and asks no cluster."
)
EPILOG = (
    "Exit codes: 0 nothing is wrong; 1 the worst finding is a warning; 2 one is critical; 3 bad usage, or an address that "
    "is not allowed; 4 the audit itself failed; 130 interrupted."
)


def add_command(add: Adder) -> None:
    """``audit``."""
    add_options(add("audit", audit, "what of the incidents' causes a running cluster shows; only reads"))


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of ``mqlab audit``."""
    command.description = DESCRIPTION
    command.epilog = EPILOG
    command.add_argument(
        "--namesrv", type=several(ADDRESS), default=(), metavar="A,B,C", help="every name server, HOST:PORT each"
    )
    command.add_argument(
        "--broker-conf",
        type=FILE,
        metavar="FILE",
        help="instead of a cluster: when does a broker with this file refuse sends?",
    )
    add_releases(command, "with --broker-conf: all known")
    command.add_argument(
        "--broker",
        type=several(BROKER),
        default=(),
        metavar="NAME=ADDR,...",
        help="masters to read even if no name server lists them (those of --since are)",
    )
    command.add_argument(
        "--ask-clients",
        action="store_true",
        help="ask the clients of each group, through a broker, what they subscribe to: does it differ?",
    )
    command.add_argument(
        "--frame-limit",
        type=whole(1, 2**31 - 1),
        default=FRAME_BYTES_MAX,
        metavar="BYTES",
        help="com.rocketmq.remoting.frameMaxLength of the name servers, which cannot be asked; default: %(default)s",
    )
    command.add_argument(
        "--allow-target",
        action="append",
        type=NETWORK,
        default=[],
        metavar="CIDR",
        help="a network besides loopback; may be repeated",
    )
    command.add_argument(
        "--since", type=FILE, metavar="FILE", help="an earlier --json output: when does growth reach the limit?"
    )
    command.add_argument(
        "--watch", type=number(0.01, 86_400), metavar="SECONDS", help="read again and again, and tell the growth"
    )
    command.add_argument(
        "--times", type=whole(1, 1_000_000), metavar="N", help="with --watch: stop after so many readings"
    )
    command.add_argument("--json", action="store_true", help="machine-readable; with --watch one line a reading")
    command.add_argument(
        "--apply",
        action="store_true",
        help="list the retry topics of offline groups that hold no message, then delete them; writes to the cluster",
    )
    command.add_argument(
        "--rate",
        type=number(0.001, 1_000),
        default=DELETIONS_PER_S,
        metavar="N",
        help="deletions a second; default: %(default)s",
    )
    command.add_argument(
        "--offline-for",
        type=SECONDS,
        default=OFFLINE_S,
        metavar="SECONDS",
        help="with --apply: a group must be offline now and so much later; default: %(default)g, more than a heartbeat's period",
    )
    command.add_argument(
        "--journal",
        type=NEW_FILE,
        default=Path("mqlab-audit-journal.jsonl"),
        metavar="FILE",
        help="what --apply has done; run it again to go on; default: %(default)s",
    )


def audit(options: argparse.Namespace, console: Console) -> int:
    """Run the command; returns the exit code of the last reading's worst finding."""
    if bool(options.namesrv) == bool(options.broker_conf):
        raise UsageError(
            "an audit is of a cluster or of a file",
            advice="Give --namesrv HOST:PORT,... or --broker-conf FILE, and not both.",
        )
    if options.broker_conf:
        return audit_conf(options)
    earlier, known = _earlier(options.since)
    known += options.broker
    allowed = parse_networks(options.allow_target)
    name_servers = options.namesrv
    worst = Severity.NONE
    count = 0
    while True:
        reading = _read(name_servers, allowed, known, console, ask_clients=options.ask_clients)
        findings = judge(reading, limit_bytes=options.frame_limit, earlier=earlier)
        worst = max((one.severity for one in findings), default=Severity.NONE)
        _tell(reading, findings, earlier, options)
        count += 1
        if options.watch is None or count == options.times:
            break
        earlier = earlier or _growth(reading)
        known = [(one.name, one.broker_id, one.address) for one in reading.brokers]
        time.sleep(options.watch)
    if options.apply:
        _apply(reading, name_servers, options, console)
    return int(worst)


def _read(
    name_servers: Sequence[str],
    allowed: tuple[Network, ...],
    known: list[tuple[str, int, str]],
    console: Console,
    *,
    ask_clients: bool,
) -> Reading:
    with console.status("reading", spinner="line") as status:
        return read_cluster(
            name_servers, allowed=allowed, further_brokers=known, ask_clients=ask_clients, progress=status.update
        )


def _growth(reading: Reading) -> Growth:
    sizes = {one.words: one.frame_bytes for one in reading.brokers if not one.problem}
    return Growth(at_s=reading.at_s, frame_bytes=sizes)


def _earlier(path: Path | None) -> tuple[Growth | None, list[tuple[str, int, str]]]:
    if path is None:
        return None, []
    try:
        # Of a watch the first line is the earliest.
        text = path.read_text("utf-8")
        data, _ = json.JSONDecoder().raw_decode(text)
        brokers = data["brokers"]
        growth = Growth(
            at_s=float(data["at_s"]), frame_bytes={one["where"]: int(one["frame_bytes"]) for one in brokers}
        )
        return growth, [(one["name"], int(one["id"]), one["address"]) for one in brokers]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--since: {path} is no earlier --json output: {error}") from error


# --- telling ----------------------------------------------------------------------------------------------------------


def _tell(reading: Reading, findings: list[AuditFinding], earlier: Growth | None, options: argparse.Namespace) -> None:
    if options.json:
        value = as_json(reading, findings, earlier, options.frame_limit)
        print(json.dumps(value, indent=None if options.watch else 1), flush=True)
    else:
        _print(reading, findings, earlier, options.frame_limit)


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
            }
            for one in findings
        ],
        "brokers": [broker(one) for one in reading.brokers if not one.problem],
        "name_servers": [
            {"address": one.address, "brokers": {n: dict(a) for n, a in one.brokers.items()}, "topics": len(one.topics)}
            for one in reading.name_servers
        ],
        "offline_groups": sorted(reading.offline),
    }


def _print(reading: Reading, findings: list[AuditFinding], earlier: Growth | None, limit_bytes: int) -> None:
    print(datetime.fromtimestamp(reading.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))
    for one in reading.brokers:
        if one.problem:
            continue
        types = ", ".join(f"{count:,} {kind}" for kind, count in topics_by_type(one).items())
        share = 100 * one.frame_bytes / limit_bytes
        print(f"  {one.words}: {types} topics; registers with {one.frame_bytes:,} bytes ({share:.2f} % of the limit)")
        if (when := crossing(one, reading.at_s, earlier, limit_bytes)) is not None:
            print(f"    at its growth the limit is reached on {datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M UTC}")
    print(f"  groups that are offline and have a retry topic: {len(reading.offline):,}")
    for finding in findings:
        print(f"{finding.severity.name} {finding.kind}: {finding.where}: {finding.says}\n    {finding.advice}")
    if not findings:
        print("nothing is wrong")


def _apply(reading: Reading, name_servers: Sequence[str], options: argparse.Namespace, console: Console) -> None:
    with console.status(f"waiting {options.offline_for:g} s for groups to come back", spinner="line"):
        time.sleep(options.offline_for)
    remedy = plan_remedy(still_offline(reading))
    for topic, why in remedy.kept:
        console.print(f"kept: {topic}: {why}", markup=False, highlight=False, soft_wrap=True)
    for deletion in remedy.deletions:
        console.print(f"to be deleted: {deletion.topic}", markup=False, highlight=False, soft_wrap=True)
    count = len(remedy.deletions)
    console.print(
        f"{count} retry topics of offline groups, about {count / options.rate:.0f} s; journal: {options.journal}"
    )
    with console.status("deleting", spinner="line") as status:
        deleted = apply_remedy(
            remedy.deletions,
            name_servers,
            per_s=options.rate,
            journal=options.journal,
            progress=lambda done, of: status.update(f"deleting: {done} of {of}"),
        )
    console.print(f"{deleted} deleted")
