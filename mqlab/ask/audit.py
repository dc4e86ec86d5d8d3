"""``mqlab audit``: which causes of incidents a running cluster shows. It only reads, unless it is told to delete."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from harness.audit.asking import read_cluster, still_offline
from harness.audit.finding import Severity
from harness.audit.findings import Growth, judge
from harness.audit.reading import Reading
from harness.audit.remedy import apply_remedy, deleted_before, plan_remedy
from harness.errors import ClientError, UsageError
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.printable import printable
from harness.protocol.access import Access
from harness.protocol.targets import Network, parse_networks
from mqlab.ask.audit_advice import named
from mqlab.ask.audit_conf import audit_conf
from mqlab.ask.audit_told import FORMATS, format_of, read_earlier, tell
from mqlab.kinds import BROKER, FILE, NAME_SERVERS, NETWORK, NEW_FILE, SECONDS, number, several, whole
from mqlab.options import Adder, access_of, add_access, add_releases

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
        "--namesrv",
        "-n",
        type=NAME_SERVERS,
        default=(),
        metavar="A;B;C",
        help="every name server, HOST:PORT each, by ; or ,",
    )
    command.add_argument(
        "--broker-conf",
        type=FILE,
        metavar="FILE",
        help="instead of a cluster: when does a broker with this file refuse sends?",
    )
    add_releases(command, "with --broker-conf: those that are recorded")
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
    add_access(command)
    command.add_argument(
        "--since", type=FILE, metavar="FILE", help="an earlier --json output: when does growth reach the limit?"
    )
    command.add_argument(
        "--watch", type=number(0.01, 86_400), metavar="SECONDS", help="read again and again, and tell the growth"
    )
    command.add_argument(
        "--times", type=whole(1, 1_000_000), metavar="N", help="with --watch: stop after so many readings"
    )
    command.add_argument("--json", action="store_true", help="as --format json; with --watch one line a reading")
    command.add_argument(
        "--format",
        choices=FORMATS,
        help="default: text; prometheus: the text of node_exporter's textfile collector",
    )
    command.add_argument(
        "--out", type=NEW_FILE, metavar="FILE", help="replace this file as a whole at each reading, and print nothing"
    )
    command.add_argument(
        "--apply",
        action="store_true",
        help="list the retry topics of offline groups that hold no message, then delete them; writes to the cluster",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="list what --apply would delete, after the same wait, and write nothing"
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
    format_of(options)
    if options.broker_conf:
        return audit_conf(options)
    earlier, known = read_earlier(options.since)
    known += options.broker
    allowed = parse_networks(options.allow_target)
    access = access_of(options)
    name_servers = options.namesrv
    worst = Severity.NONE
    count = 0
    while True:
        reading = _read(name_servers, allowed, known, access, console, ask_clients=options.ask_clients)
        findings = named(judge(reading, limit_bytes=options.frame_limit, earlier=earlier))
        worst = max((one.severity for one in findings), default=Severity.NONE)
        tell(reading, findings, earlier, options)
        count += 1
        if options.watch is None or count == options.times:
            break
        earlier = earlier or _growth(reading)
        known = [(one.name, one.broker_id, one.address) for one in reading.brokers]
        time.sleep(options.watch)
    if options.apply or options.dry_run:
        _apply(reading, name_servers, options, access, console)
    return int(worst)


def _read(
    name_servers: Sequence[str],
    allowed: tuple[Network, ...],
    known: list[tuple[str, int, str]],
    access: Access,
    console: Console,
    *,
    ask_clients: bool,
) -> Reading:
    with console.status("reading", spinner="line") as status:
        return read_cluster(
            name_servers, allowed=allowed, further_brokers=known, ask_clients=ask_clients, access=access,
            progress=lambda text: status.update(Text(printable(text))),
        )  # fmt: skip


def _growth(reading: Reading) -> Growth:
    sizes = {one.words: one.frame_bytes for one in reading.brokers if not one.problem}
    return Growth(at_s=reading.at_s, frame_bytes=sizes)


def _apply(
    reading: Reading, name_servers: Sequence[str], options: argparse.Namespace, access: Access, console: Console
) -> None:
    def say(text: str) -> None:
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    for problem in reading.nonsense():
        raise ClientError(f"nothing is deleted: {problem}", advice="Look what listens there, and run it again.")
    done = deleted_before(options.journal)
    with console.status(f"waiting {options.offline_for:g} s for groups to come back", spinner="line"):
        time.sleep(options.offline_for)
    remedy = plan_remedy(still_offline(reading, access=access), access=access)
    for topic, why in remedy.kept:
        say(f"kept: {topic}: {why}")
    for deletion in remedy.deletions:
        before = ", which the journal says was deleted before" if deletion.topic in done else ""
        say(f"{'kept' if before else 'to be deleted'}: {deletion.topic}{before}")
    count = sum(one.topic not in done for one in remedy.deletions)
    say(f"{count} retry topics of offline groups, about {count / options.rate:.0f} s; journal: {options.journal}")
    if options.dry_run:
        say("a dry run: nothing is deleted")
        return
    with console.status("deleting", spinner="line") as status:
        applied = apply_remedy(
            remedy.deletions,
            name_servers,
            per_s=options.rate,
            journal=options.journal,
            access=access,
            progress=lambda done, of: status.update(f"deleting: {done} of {of}"),
        )
    again = f", {applied.online_again} kept since their groups were online again" if applied.online_again else ""
    say(f"{applied.deleted} deleted{again}")
