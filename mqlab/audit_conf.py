"""``mqlab audit --broker-conf FILE``: what a broker.conf decides of the incidents, before any broker has it."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence

from analysis.verdicts.order import natural_key
from harness.audit.conf import ConfJudged, judge_conf
from harness.audit.finding import Severity
from harness.model.broker_conf import ConfFile
from harness.model.findings import Finding
from harness.model.rocketmq import PAGE_CACHE_BUSY
from harness.printable import counted, printable
from harness.releases.jars import recorded_releases
from harness.releases.properties import read_conf
from harness.releases.settings import settings_of
from mqlab.audit_advice import named
from mqlab.carried import ledger_on
from mqlab.options import print_json
from mqlab.recorded import decided_on_defaults

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
        print("\n\n".join("\n".join(map(printable, _lines(one, record))) for one in judged))
        print(f"\nsee it happen with this file: mqlab verify append-lock-over-1s --broker-conf {options.broker_conf}")
    return int(max((finding.severity for one in judged for finding in one.findings), default=Severity.NONE))


def named_conf(conf: ConfFile, release: str) -> ConfJudged:
    """The file on a release, its findings as those of the incidents that they tell of. Raises ConfigurationError."""
    judged = judge_conf(conf, release)
    return dataclasses.replace(judged, findings=tuple(named(judged.findings)))


def _lines(judged: ConfJudged, record: Sequence[Finding]) -> Iterator[str]:
    yield f"on {judged.release} sends are refused with [REJECTREQUEST] after {judged.refuses}"
    if judged.release not in recorded_releases():
        yield f"  its settings are those of its own classes; what {judged.release} does by them was not measured"
    for line in _measured(judged, record):
        yield (
            f"  {line.provenance or f'measured on {line.release}'} ({line.claim}){_elsewhere(judged, line)}: {line.summary}"
        )
    for finding in judged.findings:
        yield f"{finding.severity.name} {finding.kind}: {finding.where}: {finding.says}"
        yield f"    {finding.advice}"
    if not judged.findings:
        yield "nothing else of it is known to go wrong"
    checked, read, unknown = len(judged.checked), len(judged.read), len(judged.unknown)
    which = f" ({', '.join(judged.checked)})" if checked else ""
    yield (
        f"{counted(checked + read + unknown, 'key')}: {checked} checked for what the value does{which}, {read} only for "
        f"whether the broker reads it, {unknown} not known to {judged.release}; --json names them all"
    )


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
