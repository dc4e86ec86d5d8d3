"""``mqlab audit --broker-conf FILE``: what a broker.conf decides of the incidents, before any broker has it."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence

from analysis.verdicts.order import natural_key
from harness.audit.conf import ConfJudged, judge_conf
from harness.audit.finding import Severity
from harness.audit.values import DOES_NOT_START
from harness.model.broker_conf import ConfFile
from harness.model.findings import Finding
from harness.model.rocketmq import PAGE_CACHE_BUSY
from harness.printable import counted, printable_lines
from harness.releases.jars import recorded_releases
from harness.releases.properties import read_conf
from harness.releases.settings import settings_of
from mqlab.ask.audit_advice import named
from mqlab.ask.carried import ledger_on
from mqlab.ask.recorded import decided_on_defaults
from mqlab.options import print_json

OF_LONG_APPENDS, OF_SMALL_POOLS = "BUSY-14", "POOL-03"
"""The claims that show measured when sends are refused with [REJECTREQUEST]."""
HANG_ON = {
    OF_LONG_APPENDS: (PAGE_CACHE_BUSY, "brokerFastFailureEnable"),
    OF_SMALL_POOLS: ("flushDiskType", "fastFailIfNoBufferInStorePool"),
}
"""The settings that decide what a claim measured; each was at its default."""


def audit_conf(options: argparse.Namespace) -> int:
    """Judge it on each release; returns the exit code of the worst finding."""
    conf = read_conf(options.broker_conf)
    releases = options.release or recorded_releases()
    record = decided_on_defaults(ledger_on(*releases))
    judged = [named_conf(conf, release) for release in releases]
    if options.json:
        print_json([_as_json(one, record) for one in judged])
    else:
        print("\n".join(printable_lines(line) for line in _lines(judged, record)))
        if not any(DOES_NOT_START in finding.says for one in judged for finding in one.findings):
            print(
                f"\nsee it happen with this file: mqlab verify append-lock-over-1s --broker-conf {options.broker_conf}"
            )
    return int(max((finding.severity for one in judged for finding in one.findings), default=Severity.NONE))


def named_conf(conf: ConfFile, release: str) -> ConfJudged:
    """The file on a release, its findings as those of the incidents that they tell of. Raises ConfigurationError."""
    judged = judge_conf(conf, release)
    return dataclasses.replace(judged, findings=tuple(named(judged.findings)))


RELEASE_OF_EACH = "the release"


def _lines(judged: Sequence[ConfJudged], record: Sequence[Finding]) -> Iterator[str]:
    """What is the same on all releases comes once and first, then what is of some of them alone; of each the findings first."""
    on: dict[tuple[str, ...], list[str]] = {}
    told_on: dict[str, list[str]] = {}
    own: dict[str, dict[str, str]] = {}
    for one in judged:
        for block in _told(one):
            alike = block.replace(one.release, RELEASE_OF_EACH)
            told_on.setdefault(alike, []).append(one.release)
            own.setdefault(alike, {})[one.release] = block
    for alike, some in told_on.items():
        on.setdefault(tuple(some), []).append(alike if len(some) > 1 else own[alike][some[0]])
    every = tuple(one.release for one in judged)
    for releases in sorted(on, key=lambda of: (of != every, every.index(of[0]))):
        if len(judged) > 1:
            yield f"on {'each of ' if releases == every else ''}{', '.join(releases)}:"
        yield from on[releases]
        yield ""
    for release in every:
        if release not in recorded_releases():
            yield f"the settings of {release} are those of its own classes; what it does by them was not measured"
    yield from _measured_on(judged, record)


def _told(judged: ConfJudged) -> Iterator[str]:
    """The findings of a release, and what was looked at, a text of one line or two each."""
    for finding in judged.findings:
        yield f"{finding.severity.name} {finding.kind}: {finding.where}: {finding.says}\n    {finding.advice}"
    if not judged.findings:
        yield "nothing of it is known to go wrong"
    yield f"sends are refused with [REJECTREQUEST] after {judged.refuses}"
    checked, read, unknown = len(judged.checked), len(judged.read), len(judged.unknown)
    which = f" ({', '.join(judged.checked)})" if checked else ""
    yield (
        f"{counted(checked + read + unknown, 'key')}: {checked} checked for what the value does{which}, {read} only for "
        f"whether the broker reads it, {unknown} not known to {judged.release}; --json names them all"
    )


def _measured_on(judged: Sequence[ConfJudged], record: Sequence[Finding]) -> Iterator[str]:
    """What shows these refusals measured: of releases with one verdict the newest one's figures stand for all."""
    found: dict[tuple[str, str, str], list[tuple[ConfJudged, Finding]]] = {}
    for one in judged:
        for line in _measured(one, record):
            found.setdefault((line.claim, line.status, _elsewhere(one, line)), []).append((one, line))
    if found:
        yield "how [REJECTREQUEST] was measured:"
    for (claim, _, elsewhere), some in found.items():
        _, line = some[-1]
        on = ", ".join(dict.fromkeys(one.release for _, one in some))
        where = line.provenance or f"measured on {on}"
        whose = f", here of {line.release}" if len({one.release for _, one in some}) > 1 else ""
        yield f"  {where}{whose} ({claim}){elsewhere}: {line.summary}"


def _as_json(judged: ConfJudged, record: Sequence[Finding]) -> dict[str, object]:
    """``release``, ``refuses``, ``measured`` (claim, release, verdict, summary, and ``otherwise``: settings of the file that are
    others than it was measured with, each with both values), ``findings`` (as those of an audit), and the file's keys: ``checked``
    for what their values do, ``read`` for being read alone, ``unknown`` to the release."""
    return {
        "release": judged.release,
        "refuses": judged.refuses,
        "measured": [
            {
                "claim": one.claim,
                "release": one.release,
                "provenance": one.provenance,
                "verdict": one.verdict,
                "status": one.status,
                "summary": one.summary,
                "otherwise": {key: list(values) for key, values in _otherwise(judged, one).items()},
            }
            for one in _measured(judged, record)
        ],
        "checked": judged.checked,
        "read": judged.read,
        "unknown": judged.unknown,
        "findings": [{**dataclasses.asdict(one), "severity": one.severity.name.lower()} for one in judged.findings],
    }


def _measured(judged: ConfJudged, record: Sequence[Finding]) -> Iterator[Finding]:
    """Of each claim the record's line of the release, or of the newest release where it is decided."""
    for claim in (OF_LONG_APPENDS, *((OF_SMALL_POOLS,) if judged.has_pool else ())):
        if found := [line for line in record if line.claim == claim]:
            yield max(found, key=lambda line: (line.release == judged.release, natural_key(line.release)))


def _otherwise(judged: ConfJudged, line: Finding) -> dict[str, tuple[str, str]]:
    """Settings that the line hangs on: the value that it was measured with, and the file's, where they differ."""
    defaults = settings_of(line.release).broker
    return {
        key: (defaults[key], judged.settings[key])
        for key in HANG_ON[line.claim]
        if key in judged.settings and key in defaults and judged.settings[key] != defaults[key]
    }


def _elsewhere(judged: ConfJudged, line: Finding) -> str:
    told = [f"{key}={measured} (yours is {yours})" for key, (measured, yours) in _otherwise(judged, line).items()]
    return f" with {' and '.join(told)}" if told else ""
