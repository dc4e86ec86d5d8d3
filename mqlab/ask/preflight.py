"""``mqlab upgrade`` of a cluster of one's own: what its brokers' settings, disks and clients meet in the upgrade. It only reads."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

import scenarios
from analysis.report.upgrade_settings import RENAMED, KeyChanged, settings_changed
from harness.audit.asking import read_cluster
from harness.audit.conf import ACL, OF_KEYS
from harness.audit.finding import AuditFinding, Severity, some
from harness.audit.kept import KeptBroker, KeptReading, Source, kept, machine_decides, own_settings, read_kept, text_of
from harness.audit.upgraded import BY_CLASSES, Level, PreflightFinding, clients, disk, modes
from harness.errors import (
    EXIT_MISMATCH,
    EXIT_OK,
    EXIT_UNDECIDED,
    ClientError,
    ConfigurationError,
    ReleaseError,
    UsageError,
)
from harness.model.broker_conf import ConfFile, Fate, JudgedKey
from harness.model.findings import Finding
from harness.model.rules import Claim, Harm, Weight
from harness.model.verdicts import VerdictKind
from harness.printable import counted, printable
from harness.protocol.targets import parse_networks
from harness.releases.border import HIDDEN
from harness.releases.central import version_key
from harness.releases.judged_conf import judge_file
from harness.releases.settings import settings_of
from mqlab.ask.audit_advice import named
from mqlab.ask.audit_conf import named_conf
from mqlab.ask.carried import ledger_on
from mqlab.kinds import FILE_OR_FOLDER, NAME_SERVERS, NETWORK, NEW_FILE
from mqlab.options import access_of, add_access, print_json, write_new

SHOWN_OF_FINE = 12
HEADINGS = {
    Level.BLOCKER: "BLOCKERS",
    Level.WARNING: "WARNINGS",
    Level.FINE: "LOOKED AT AND FINE",
    Level.UNKNOWN: "NOT LOOKED AT",
}
OF_ROLE = dict.fromkeys(("sync-master-alone", "slave-serves-no-reads"), "brokerRole")
"""Findings about what is not set, with the key that makes it matter."""
NO_BROKER = "no-broker"
"""A file of another node, whose settings are never read: it makes no exit code."""
UNTRIED = "Remove it, or try it on a broker of the new release first: so far it did nothing."
NEVER_READ = (
    "the settings of name servers, controllers and proxies",
    "producers, whose releases a broker tells by the names of their groups alone",
    "flags of JVMs, and what else runs on the machines",
)
NOT_IN_FILES = "the brokers' releases, disks, topics and clients, which no file of settings has"


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of a cluster of one's own."""
    command.add_argument(
        "--namesrv", "-n", type=NAME_SERVERS, default=(), metavar="A;B",
        help="your cluster: read each broker's settings, release, disk and clients, and judge them; only reads",
    )  # fmt: skip
    command.add_argument(
        "--from-reading", type=FILE_OR_FOLDER, metavar="FILE",
        help="judge what --reading wrote, a folder of broker.conf files, or what mqadmin getBrokerConfig printed",
    )  # fmt: skip
    command.add_argument(
        "--reading", type=NEW_FILE, metavar="FILE", help="write what was read as one file, without secrets"
    )
    command.add_argument(
        "--allow-target", action="append", type=NETWORK, default=[], metavar="CIDR",
        help="with --namesrv: a network besides loopback; may be repeated",
    )  # fmt: skip
    add_access(command)


def is_asked(options: argparse.Namespace) -> bool:
    """Whether an upgrade is of a cluster of one's own. Raises UsageError: it is, and other options are of none."""
    if not options.namesrv and not options.from_reading:
        for option in ("reading", "allow_target", "credentials", "tls", "tls_ca"):
            if getattr(options, option):
                raise UsageError(
                    f"--{option.replace('_', '-')} is of a cluster", advice="Give --namesrv HOST:PORT, too."
                )
        return False
    if options.namesrv and options.from_reading:
        raise UsageError("--namesrv and --from-reading are two clusters", advice="Give one of them.")
    for option in ("broker_conf", "client_from", "client_to", "verdicts", "run", "page", "alerts", "all"):
        if getattr(options, option):
            raise UsageError(
                f"--{option.replace('_', '-')} is of two releases, not of a cluster",
                advice="Give it with --from and --to alone.",
            )
    return True


def preflight(options: argparse.Namespace, console: Console) -> int:
    """Read the cluster, or its file, and say what the upgrade meets; returns the exit code."""
    reading = _read(options, console)
    if options.reading:
        write_new(options.reading, text_of(reading))
    folder = options.from_reading if options.from_reading and options.from_reading.is_dir() else None
    found = judge(reading, options.after, options.before or "", folder)
    limits = (*NEVER_READ, *(() if reading.source is Source.CLUSTER else (NOT_IN_FILES,)))
    releases = releases_of(reading, options.before or "")
    if options.json:
        print_json(
            {
                "to": options.after,
                "source": reading.source,
                "releases": releases,
                "findings": [dataclasses.asdict(one) for one in found],
                "never_read": limits,
            }
        )
    else:
        for line in lines(found, releases, options.after, limits):
            print(printable(line))
    if not options.strict:
        return EXIT_OK
    weights = {one.weight for one in found if one.kind != NO_BROKER}
    if weights & {Level.BLOCKER, Level.WARNING}:
        return EXIT_MISMATCH
    return EXIT_UNDECIDED if Level.UNKNOWN in weights else EXIT_OK


def _read(options: argparse.Namespace, console: Console) -> KeptReading:
    if options.from_reading:
        reading = read_kept(options.from_reading)
    else:
        with console.status("reading", spinner="line") as status:
            reading = kept(
                read_cluster(
                    options.namesrv, allowed=parse_networks(options.allow_target), access=access_of(options),
                    progress=lambda text: status.update(Text(printable(text))),
                )
            )  # fmt: skip
    if all(one.problem for one in reading.brokers):
        problems = [one.problem for one in reading.name_servers if one.problem]
        problems += [one.problem for one in reading.brokers]
        problems += reading.left_out
        raise ClientError(
            f"no broker could be read: {problems[0] if problems else 'none is listed'}",
            advice="Look whether the addresses, or the files, are those of brokers.",
        )
    if not options.before and any(not one.release and not one.problem for one in reading.brokers):
        raise UsageError(
            "the reading does not say of which release the brokers are", advice="Give it with --from RELEASE, too."
        )
    return reading


def releases_of(reading: KeptReading, before: str) -> dict[str, list[str]]:
    """The brokers that could be read by their release, the oldest first; ``before`` is of those that tell none."""
    found: dict[str, list[str]] = {}
    for one in reading.brokers:
        if not one.problem:
            found.setdefault(one.release or before, []).append(one.name)
    return {release: found[release] for release in sorted(found, key=version_key)}


# --- the judgement ---------------------------------------------------------------------------------------------------------


def judge(reading: KeptReading, after: str, before: str = "", folder: Path | None = None) -> list[PreflightFinding]:
    """Everything that was looked at, the worst first; what is equal of several brokers is told once. ``before`` is the release of
    brokers that tell none, ``folder`` where the files of the reading lie. Raises as ``settings_of`` does of ``after``."""
    settings_of(after)
    looked: list[PreflightFinding] = []
    for broker in reading.brokers:
        looked += _of_broker(broker, broker.release or before, after, folder)
    looked += [
        PreflightFinding(weight=Level.UNKNOWN, kind="not-read", says=f"name server {one.address}: {one.problem}")
        for one in reading.name_servers
        if one.problem
    ]
    looked += [PreflightFinding(weight=Level.UNKNOWN, kind=NO_BROKER, says=text) for text in reading.left_out]
    looked += clients(reading.clients, after)
    order = list(Level)
    return sorted(_grouped(looked), key=lambda one: order.index(one.weight))


def _grouped(looked: Iterable[PreflightFinding]) -> Iterator[PreflightFinding]:
    found: dict[PreflightFinding, list[PreflightFinding]] = {}
    for one in looked:
        found.setdefault(dataclasses.replace(one, brokers=(), proofs=()), []).append(one)
    for group in found.values():
        brokers = dict.fromkeys(name for one in group for name in one.brokers)
        yield dataclasses.replace(group[0], brokers=tuple(brokers))


def _of_broker(broker: KeptBroker, before: str, after: str, folder: Path | None) -> Iterator[PreflightFinding]:
    def looked(one: PreflightFinding) -> PreflightFinding:
        entry = conf.entries.get(one.key)
        # What a broker goes by may be no text of its file, such as another way to write a truth value.
        value = one.value or (entry.text if entry else "")
        proofs = (*_proofs(broker, after, folder), *one.proofs) if one.key or one.incident else one.proofs
        return dataclasses.replace(
            one, brokers=(broker.name,), line=entry.line if entry else 0, value=value, proofs=proofs
        )

    conf = ConfFile()
    if broker.problem:
        yield looked(PreflightFinding(weight=Level.UNKNOWN, kind="not-read", says=broker.problem))
        return
    if before == after:
        yield looked(PreflightFinding(weight=Level.FINE, kind="same-release", says=f"it is of {after} already"))
        return
    try:
        conf = _conf(broker, before, after)
        found = list(_of_conf(conf, before, after))
    except (ReleaseError, UsageError, ConfigurationError) as error:
        yield looked(PreflightFinding(weight=Level.UNKNOWN, kind="not-read", says=str(error)))
        return
    if version_key(after) < version_key(before):
        yield looked(
            PreflightFinding(
                weight=Level.UNKNOWN,
                kind="older-release",
                says=f"{after} is older than {before}: whether it reads what {before} has written was not measured",
            )
        )
    found += [_of_audit(one, conf, before, after) for one in named(disk(broker, before, after))]
    told = {one.key for one in found}
    if fine := [key for key in conf.entries if key not in told]:
        says = f"{counted(len(fine), 'setting')} of its own: {', '.join(fine[:SHOWN_OF_FINE])}"
        says += f" and {len(fine) - SHOWN_OF_FINE} more" if len(fine) > SHOWN_OF_FINE else ""
        found.append(PreflightFinding(weight=Level.FINE, kind="settings", says=says))
    yield from map(looked, found)


def _conf(broker: KeptBroker, before: str, after: str) -> ConfFile:
    """What the broker was told, by its release."""
    known, to_come = settings_of(before), settings_of(after)
    conf = own_settings(broker, known)
    if broker.lines:
        return conf
    # Nobody has set what the machine decides by itself.
    entries = {
        key: entry for key, entry in conf.entries.items() if key in to_come.kinds or not machine_decides(key, known)
    }
    return dataclasses.replace(conf, entries=entries)


def _of_conf(conf: ConfFile, before: str, after: str) -> Iterator[PreflightFinding]:
    yours = judge_file(conf, before), judge_file(conf, after)
    of_both = [named_conf(conf, release).findings for release in (before, after)]
    kinds = [{one.kind for one in findings} for findings in of_both]
    known = [settings_of(release) for release in (before, after)]
    changed = settings_changed(
        (known[0].broker, {}, {}), (known[1].broker, {}, {}), yours, dead=(known[0].dead, known[1].dead)
    )
    assert changed.conf is not None
    by_place = {now.at: (was, now) for was, now in zip(yours[0].keys, yours[1].keys, strict=True)}
    special = list(modes(before, after, yours[0].in_force, yours[1].in_force))
    yield from special
    doors = [one.says for one in of_both[1] if one.kind in OF_KEYS and one.severity is Severity.CRITICAL]
    for key in changed.conf.keys:
        was, now = by_place[key.at]
        opens = now.key == ACL and any(says.startswith(f"{key.at}: ") for says in doors)
        if now.text != HIDDEN and now.key not in {one.key for one in special if one.weight is Level.BLOCKER}:
            yield _of_key(key, was, now, known[0].broker.get(now.key), opens=opens)
    for finding in of_both[1]:
        if finding.kind in OF_KEYS:
            continue
        found = _of_audit(finding, conf, before, after)
        if finding.kind in kinds[0]:
            says = f"{found.says} (so it is on {before})"
            weight = Level.WARNING if finding.severity is Severity.CRITICAL else Level.FINE
            found = dataclasses.replace(found, says=says, weight=weight)
        yield found
    for odd in conf.oddities:
        yield PreflightFinding(weight=Level.FINE, kind=odd.kind, key=odd.key, says=odd.says, cure=odd.advice)
    others = [one for one in changed.broker if one.yours is None]
    if others:
        told = some([f"{one.name} {one.before} to {one.after}" for one in others])
        yield PreflightFinding(
            weight=Level.FINE, kind="defaults", evidence=BY_CLASSES,
            says=f"{counted(len(others), 'default')} that it has not set {'is' if len(others) == 1 else 'are'} another one: {told}",
        )  # fmt: skip


def _of_key(key: KeyChanged, was: JudgedKey, now: JudgedKey, default: str | None, *, opens: bool) -> PreflightFinding:
    """A key that is read otherwise, or as little as before."""
    kind = {Fate.UNKNOWN: "key-gone", Fate.DEAD: "key-dead", Fate.IGNORED: "value-ignored"}.get(
        now.fate, "key-comes-into-force" if key.comes else "read-otherwise"
    )
    if now.key in RENAMED and now.fate is Fate.UNKNOWN and was.fate is Fate.READ:
        kind = "key-renamed"
    as_before = now.fate is was.fate and now.value == was.value
    # A key that is gone with its default's value has done nothing so far.
    idle = now.fate in (Fate.UNKNOWN, Fate.DEAD) and was.value == default
    acts = key.comes or not (as_before or idle)
    weight = Level.BLOCKER if opens else Level.WARNING if acts else Level.FINE
    return PreflightFinding(
        weight=weight,
        kind="acl-dark" if opens else kind,
        key=now.key,
        value="" if now.text == HIDDEN else now.text,
        says=key.says,
        cure=" ".join(key.details) or (UNTRIED if key.comes else ""),
        evidence=BY_CLASSES,
    )


def _of_audit(finding: AuditFinding, conf: ConfFile, before: str, after: str) -> PreflightFinding:
    """A finding of the audit; one whose incident was measured to lose messages, or that is critical, blocks."""
    of = [one for one in scenarios.ALL if one.name == finding.incident]
    faces = {claim.id: claim for one in of for claim in one.claims if claim.id in one.faces.values()}
    told = [
        line
        for line in (ledger_on(after) if faces else ())
        if line.claim in faces and line.release == after and line.verdict is not VerdictKind.UNDECIDED
    ]
    evidence = (told[0].provenance or f"measured on {after}") if told else BY_CLASSES
    loses = any(_loses(faces[line.claim], line) for line in told)
    blocks = finding.severity is Severity.CRITICAL or loses
    key = OF_ROLE.get(finding.kind) or next((key for key in conf.entries if key in finding.says), "")
    return PreflightFinding(
        weight=Level.BLOCKER if blocks else Level.WARNING,
        kind=finding.kind,
        key=key,
        says=finding.says,
        cure=finding.advice,
        proofs=(f"mqlab verify {finding.incident} --release {before},{after}",) if of else (),
        evidence=evidence,
        incident=finding.incident,
    )


def _loses(claim: Claim, line: Finding) -> bool:
    """Whether a verdict says that messages are lost."""
    if claim.told is None or claim.told.weight is not Weight.LOSS:
        return False
    return (claim.told.harm, line.verdict) in (
        (Harm.HOLDS, VerdictKind.CONFIRMED),
        (Harm.FAILS, VerdictKind.REFUTED),
    )


def _proofs(broker: KeptBroker, after: str, folder: Path | None) -> tuple[str, ...]:
    if broker.lines:
        path = str(folder / broker.name) if folder else broker.name
        return (f"mqlab audit --broker-conf {shlex.quote(path)} --release {after}",)
    return (f"mqadmin getBrokerConfig -b {shlex.quote(broker.address)}",) if broker.address else ()


# --- what is printed ---------------------------------------------------------------------------------------------------------


def lines(
    found: Sequence[PreflightFinding], releases: Mapping[str, Sequence[str]], after: str, limits: Sequence[str]
) -> Iterator[str]:
    """The findings by weight, each with its broker, what to do, and the command that shows it."""
    count = sum(map(len, releases.values()))
    of = "; ".join(f"{some(names)} of {release}" for release, names in releases.items())
    yield f"Upgrade to {after} of {counted(count, 'broker')}: {of}"
    for weight, title in HEADINGS.items():
        of_it = [one for one in found if one.weight is weight]
        yield ""
        yield f"{title}  ({len(of_it)})"
        for number, one in enumerate(of_it, 1):
            where = f"{some(one.brokers)}: " if one.brokers else ""
            line = f"line {one.line}: " if one.line else ""
            key = f"{one.key}={one.value}: " if one.key and one.value else ""
            yield f"{number:>2} {where}{line}{key}{one.says}{f'  [{one.evidence}]' if one.evidence else ''}"
            if one.cure:
                yield f"   -> {one.cure}"
            if weight in (Level.BLOCKER, Level.WARNING):
                yield from (f"   see: {proof}" for proof in one.proofs)
    for text in limits:
        yield f"   never read: {text}"
    yield ""
    for before in releases:
        if before != after:
            yield f"what else differs, for whoever upgrades: mqlab upgrade --from {before} --to {after}"
