"""``mqlab diagnose``: its options, and what it prints."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

import scenarios
from analysis.diagnosis.diagnosis import Cure, Diagnosed, Diagnosis, FileNote, diagnosis_of, read_logs
from analysis.diagnosis.moments import in_zone, words_of
from analysis.diagnosis.reading import ToRead, left_out, log_copies, log_files
from analysis.diagnosis.slow_appends import LOGGED_FROM_MS, slow_appends
from analysis.verdicts.numbers import shortened
from harness.errors import EXIT_OK, ConfigurationError, UsageError
from harness.language import phrase, translated
from harness.printable import printable
from harness.releases.java import find_java
from mqlab.ask.carried import ledger_on
from mqlab.kinds import LOGS_OR_URL, NEW_FILE, Kind, whole
from mqlab.logs import slow_appends as appends_shown
from mqlab.logs.proposed import propose
from mqlab.options import Adder, add_releases, add_spark_conf, print_json
from mqlab.own.own_incident import require_name

EXIT_FOUND = 1
LINES_SHOWN = 4
NAMES_SHOWN = 4
NARROW_SPACE = "\u202f"
WIDTH = 220

DESCRIPTION = (
    "Which known incidents your own logs show, of brokers, name servers and clients of 4.x and 5.x: when, on which brokers, "
    "groups, topics and queues, how sure, by which lines, what speaks against it, and what to do. Give folders, or files, "
    "rotated and *.gz as well, or their URLs in a Hadoop file system (hdfs://, s3a://); the folder that a file lies in names its "
    "node."
)
EPILOG = "Exit codes: 0 done; with --strict 1 when an incident was found, or an append over --appends; 3 a log cannot be read."


def _offset(text: str) -> float:
    if text.upper() in ("UTC", "Z"):
        return 0.0
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", text, re.ASCII)
    if found is None or int(found[2]) > 14 or int(found[3]) > 59:
        raise ValueError
    return (-1 if found[1] == "-" else 1) * (int(found[2]) * 3600.0 + int(found[3]) * 60.0)


ZONE = Kind(noun="a zone such as +08:00 or UTC", read=_offset)


def add_command(add: Adder) -> None:
    """``diagnose``."""
    command = add("diagnose", diagnose, "which known incidents your logs show: when, where, how sure, and what to do")
    command.description, command.epilog = DESCRIPTION, EPILOG
    command.add_argument(
        "logs",
        nargs="+",
        type=LOGS_OR_URL,
        metavar="PATH",
        help="a log, or a folder with logs of one or many nodes, here or at hdfs://HOST:PORT/PATH",
    )
    add_releases(command, "what the words of the logs tell, 4.x or 5.x")
    command.add_argument(
        "--zone",
        type=ZONE,
        metavar="+HH:MM",
        help="of logs that say nothing about theirs; default: as in stock logging, UTC+08:00",
    )
    command.add_argument(
        "--out", type=NEW_FILE, metavar="FILE", help="write a page as well: one HTML file, no network, no script"
    )
    command.add_argument(
        "--reproduce",
        type=NEW_FILE,
        metavar="FILE.py",
        help="propose the first incident as a file of your own, with the topology, settings, load and stalls that the logs show",
    )
    add_spark_conf(command, "of URLs: spark.hadoop.KEY for their file system, spark.jars.packages for its connector")
    command.add_argument(
        "--appends",
        type=whole(0, 86_400_000),
        nargs="?",
        const=LOGGED_FROM_MS,
        metavar="MS",
        help=f"count appends above as well, by minute, and all by duration; {LOGGED_FROM_MS} where no number is given",
    )
    command.add_argument("--strict", action="store_true", help="exit 1 when an incident or such an append was found")
    command.add_argument("--json", action="store_true", help="machine-readable")


def _is_the_same(out: Path, read: ToRead) -> bool:
    with contextlib.suppress(OSError):
        return out.samefile(read.path)
    return False


def diagnose(options: argparse.Namespace, console: Console) -> int:
    """Read, find, and print."""
    ledger = ledger_on(*options.release)
    if options.reproduce:
        require_name(options.reproduce)
    files = _files(options)
    if options.out and any(_is_the_same(options.out, one) for one in files):
        raise UsageError(f"--out {options.out} is one of the logs that are read", advice="Give another file to --out.")
    logs = read_logs(files, options.zone)
    others = left_out([one for one in options.logs if isinstance(one, Path)], files)
    found = replace(diagnosis_of(logs, scenarios.INCIDENTS, ledger, options.release), left_out=tuple(others))
    if options.out:
        _write(options.out, found)
    appends = None if options.appends is None else slow_appends(logs, options.appends)
    if options.json:
        print_json(asdict(found) | ({} if appends is None else {"appends": asdict(appends)}))
    else:
        of_appends = () if appends is None else ("", *appends_shown.report(appends))
        told = (*report(found), *(in_zone(translated(line), found.offset_s) for line in of_appends))
        print("\n".join(map(_shown, told)))
    if options.reproduce:
        # With --json standard output is JSON alone.
        for line in propose(options.reproduce, found, logs, files):
            print(_shown(line), file=sys.stderr if options.json else sys.stdout)
    is_found = found.incidents or (appends is not None and appends.appends)
    return EXIT_FOUND if options.strict and is_found else EXIT_OK


def _shown(line: str) -> str:
    """What a log says must not steer the terminal. The lab's own figures have a narrow space before their unit, which stays."""
    return NARROW_SPACE.join(map(printable, line.split(NARROW_SPACE)))


def _files(options: argparse.Namespace) -> list[ToRead]:
    """The logs to read. Java is started for URLs alone, and has ended when they are read."""
    here = log_files(one for one in options.logs if isinstance(one, Path))
    urls = [one for one in options.logs if not isinstance(one, Path)]
    if not urls:
        return here
    from analysis.logs_elsewhere import copied_logs
    from analysis.spark import SparkPlace

    place = SparkPlace(conf=options.spark_conf, java_home=find_java().home)
    return [*here, *log_copies(copied_logs(urls, place))]


def _write(path: Path, found: Diagnosis) -> None:
    from analysis.diagnosis.page import render

    try:
        path.write_text(render(found), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error}", advice="Give another file to --out.") from error


def report(found: Diagnosis) -> Iterator[str]:
    """The diagnosis as lines of text in the reader's language, with times as most of its files have them."""
    nodes = len({one.node for one in found.files})
    files = len({one.file for one in found.files})
    yield translated(
        "{lines:,} lines in {files} of {nodes}{during}",
        lines=found.lines, files=_files_of(files), nodes=phrase("{count} node" if nodes == 1 else "{count} nodes", count=nodes),
        during=in_zone(translated(_during(found.files)), found.offset_s),
    )  # fmt: skip
    for zone, known_by in sorted({(one.zone, one.known_by) for one in found.files}):
        count = len({one.file for one in found.files if (one.zone, one.known_by) == (zone, known_by)})
        yield translated(
            "  {files} in {zone} ({known_by})", files=_files_of(count), zone=zone, known_by=phrase(known_by)
        )
    for skew in found.skews:
        yield translated(
            "  the clock of {node} is {seconds:g} s ahead of that of {other}, or in another zone (by {pairs} pairs of {by})"
            if skew.ahead_s > 0
            else "  the clock of {node} is {seconds:g} s behind that of {other}, or in another zone (by {pairs} pairs of {by})",
            node=skew.node, seconds=abs(skew.ahead_s), other=skew.other, pairs=skew.pairs, by=phrase(skew.by),
        )  # fmt: skip
    yield from dict.fromkeys(f"  {file.file}: {translated(file.problem)}" for file in found.files if file.problem)
    if found.left_out:
        yield translated("  not read, as no log has such a name: {files}", files=_some(found.left_out))
    if found.unknown:
        yield translated("  {count:,} lines have no layout that is known; the commonest:", count=found.unknown)
        yield from (f"    {one.lines:,} x {one.file}:{one.line}  {shortened(one.sample)}" for one in found.shapes)
    for one in found.incidents:
        yield ""
        yield from _incident(one, found.offset_s)
    if not found.incidents:
        yield ""
        yield translated("none of the known incidents is in these logs")
        yield from _warned(found, translated("their commonest warnings and errors:"))
        yield translated(
            "{count} incidents leave no line in logs; `mqlab explain NAME` says what to look at instead:",
            count=len(found.silent),
        )
        yield f"  {', '.join(sorted(found.silent))}"
    else:
        if found.warned:
            yield ""
        yield from _warned(found, translated("the commonest warnings and errors that are no sign of these incidents:"))
        names = " ".join(dict.fromkeys(one.found.incident for one in found.incidents if one.is_replayed))
        yield ""
        if names:
            command = f"mqlab verify {names}"
            yield translated("see what happens in them, and which fixes work: {command}", command=command)
        for name in dict.fromkeys(one.found.incident for one in found.incidents if not one.is_replayed):
            yield translated("nothing replays {name}", name=name)


def _warned(found: Diagnosis, head: str) -> Iterator[str]:
    if found.warned:
        yield head
    for shape in found.warned:
        during = translated(_from_to(shape.from_s, shape.to_s)) if shape.from_s is not None else ""
        yield f"  {shape.lines:,} x {shape.level}{in_zone(during, found.offset_s)}"
        yield f"    {shape.file}:{shape.line}  {shortened(shape.sample, WIDTH)}"
        yield from (f"      {shortened(below, WIDTH)}" for below in (shape.exception,) if below)


def _files_of(count: int) -> str:
    return phrase("{count} file" if count == 1 else "{count} files", count=count)


def _some(names: Sequence[str]) -> str:
    first = ", ".join(names[:NAMES_SHOWN])
    return (
        phrase("{names} and {count} more", names=first, count=len(names) - NAMES_SHOWN)
        if names[NAMES_SHOWN:]
        else first
    )


def _from_to(from_s: float | None, to_s: float | None) -> str:
    return phrase(", {start} to {end}", start=words_of(from_s), end=words_of(to_s))


def _during(files: Sequence[FileNote]) -> str:
    times = [at for one in files for at in (one.from_s, one.to_s) if at is not None]
    return _from_to(min(times), max(times)) if times else phrase(", none of them with a time")


def _incident(one: Diagnosed, offset_s: float) -> Iterator[str]:
    found = one.found
    when = (
        phrase("{start} to {end}", start=words_of(found.from_s), end=words_of(found.to_s))
        if found.from_s is not None
        else phrase("at a time that no line has")
    )
    yield translated(
        "{incident} ({sure}), {when}",
        incident=found.incident, sure=phrase(found.sure), when=in_zone(translated(when), offset_s),
    )  # fmt: skip
    for noun, names in (
        (phrase("  brokers: {names}"), found.brokers),
        (phrase("  groups: {names}"), found.groups),
        (phrase("  topics: {names}"), found.topics),
        (phrase("  queues: {names}"), found.queues),
    ):
        if names:
            yield translated(noun, names=_some(names))
    for template, sentences in (
        (phrase("  {says}"), found.why),
        (phrase("  with it: {says}"), found.related[:NAMES_SHOWN]),
        (phrase("  against: {says}"), found.against),
    ):
        yield from (translated(template, says=in_zone(translated(one), offset_s)) for one in sentences)
    for line in found.lines[:LINES_SHOWN]:
        yield f"  {line.file}:{line.line}  {shortened(line.text, WIDTH)}"
    if len(found.lines) > LINES_SHOWN:
        yield translated("  and {count} more lines (--json)", count=len(found.lines) - LINES_SHOWN)
    yield translated("  means: {says}", says=phrase(one.because))
    yield translated("  do: {says}", says=phrase(one.advice))
    yield from (translated("  measured: {says}", says=words) for words in _cures(one.cures))


def _cures(cures: Sequence[Cure]) -> Iterator[str]:
    """Each sentence once, with the releases that it is of."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for one in cures:
        said.setdefault((one.claim, one.verdict, one.summary), []).append(one.release)
    for (claim, verdict, summary), releases in said.items():
        yield phrase(
            "{releases}: {summary} ({claim}, {verdict})",
            releases=", ".join(dict.fromkeys(releases)), summary=summary, claim=claim, verdict=phrase(verdict),
        )  # fmt: skip
