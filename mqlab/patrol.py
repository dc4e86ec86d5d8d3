"""``mqlab patrol``: its options, and what it prints."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from rich.console import Console

from analysis.logs.patrol import LOGGED_FROM_MS, Patrol, SlowAppend, read_logs
from harness.errors import EXIT_OK
from mqlab.kinds import FILE_OR_FOLDER, whole
from mqlab.options import Adder
from scenarios.signs import SIGNS

EXIT_FOUND = 1
SHOWN = 10
BAR = 40

DESCRIPTION = (
    "What logs of brokers, name servers and clients (files, folders, *.gz) show of the known incidents: slow appends and "
    "when they came, refused sends by keyword, a pool that runs short, queue locks of others, registrations that are too "
    "long. RocketMQ itself logs appends above 500 ms."
)
EPILOG = "Exit codes: 0 done; with --strict 1 when an append is over the threshold; 3 a log cannot be read."


def add_command(add: Adder) -> None:
    """``patrol``."""
    command = add(
        "patrol", patrol, "which known incidents logs show: slow appends, refused sends, locks, registrations"
    )
    command.description = DESCRIPTION
    command.epilog = EPILOG
    command.add_argument(
        "logs",
        nargs="+",
        type=FILE_OR_FOLDER,
        metavar="LOG",
        help="store.log or any other log, or a folder with logs; *.gz as well",
    )
    command.add_argument(
        "--threshold",
        type=whole(0, 86_400_000),
        default=LOGGED_FROM_MS,
        metavar="MS",
        help="count appends above; default: %(default)s",
    )
    command.add_argument("--strict", action="store_true", help="exit 1 when an append is over the threshold")
    command.add_argument("--json", action="store_true", help="machine-readable")


def patrol(options: argparse.Namespace, console: Console) -> int:
    """Read, and print what was found."""
    found = read_logs(options.logs, threshold_ms=options.threshold, signs=SIGNS)
    if options.json:
        print(json.dumps(asdict(found), indent=1))
    else:
        print("\n".join(report(found)))
    return EXIT_FOUND if options.strict and found.appends else EXIT_OK


def report(found: Patrol) -> list[str]:
    """What was found, as lines of text."""
    lines = [
        f"{len(found.appends)} appends of more than {found.threshold_ms} ms in {len(found.files)} files, {found.lines} lines"
    ]
    if found.threshold_ms < LOGGED_FROM_MS:
        lines.append(
            f"RocketMQ logs an append from {LOGGED_FROM_MS} ms on: shorter ones are in the counts by minute only"
        )
    lines += [f"  {append.at}  {append.ms} ms  {append.file}:{append.line}" for append in _longest(found.appends)]
    lines += _bars("appends over the threshold, by minute", found.by_minute)
    lines += _bars("all appends, by duration", {name: count for name, count in found.durations.items() if count})
    for one in found.incidents:
        lines += ["", f"nearest incident: {one.incident}", f"  {one.because}.", f"  {one.advice}"]
    if (gone := found.unreachable) is not None:
        during = f", {gone.first_at} to {gone.last_at}" if gone.first_at else ""
        lines += [
            "",
            f"a broker or name server could not be reached: {gone.lines} lines{during}, first {gone.file}:{gone.line}",
        ]
    if found.incidents:
        names = " ".join(dict.fromkeys(one.incident for one in found.incidents))
        lines += ["", f"see what happens in them, and which fixes work: mqlab verify {names}"]
    return lines


def _longest(appends: Sequence[SlowAppend]) -> list[SlowAppend]:
    return sorted(appends, key=lambda append: -append.ms)[:SHOWN]


def _bars(title: str, counts: Mapping[str, int]) -> Iterable[str]:
    if not counts:
        return []
    most = max(counts.values())
    width = max(map(len, counts))
    return [
        "",
        title,
        *(f"  {name:{width}}  {count:>9}  {'#' * max(1, BAR * count // most)}" for name, count in counts.items()),
    ]
