"""Commands that judge: a run, a load, an upgrade, and the committed record of it all."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import scenarios
from analysis.packages import pack_packages
from analysis.spark_settings import is_local
from analysis.verdicts.order import natural_key
from analysis.verdicts.unjudged import UnjudgedClaims
from harness.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    AnalysisError,
    ConfigurationError,
    ReleaseError,
    RunDirectoryError,
    UsageError,
)
from harness.host.facts import own_commit
from harness.model.scenario import Scenario
from harness.printable import printable
from harness.releases.cache import cache_folder
from harness.releases.java import Java, find_java
from harness.rundir.joined import join_histories
from harness.rundir.manifest import Manifest, read_manifest
from harness.rundir.reading import DAMAGED
from mqlab.ask.recorded import committed_ledger
from mqlab.console import console as lab_console
from mqlab.console import print_lines
from mqlab.kinds import FOLDER, FOLDER_OR_URL, NEW_ZIP
from mqlab.load import options as load_options
from mqlab.options import Adder, add_analysis, print_json
from mqlab.own.own_incident import KEPT
from mqlab.run.on_release import on_releases
from mqlab.run.trust import IncidentsOfRun, incidents_of_run, listed
from scenarios.own_load import OWN_LOAD

if TYPE_CHECKING:
    from analysis.analyst import Analyst
    from analysis.report.document import ReportData
    from analysis.spark import SparkPlace


def add_load(add: Adder) -> None:
    """``load``."""
    load_options.add_command(add, run_load)


def add_run_commands(add: Adder) -> None:
    """``runs analyze``, ``runs report``, ``runs spark-packages`` and ``runs model``."""
    command = add("runs analyze", analyze_run, "judge a run again, without a cluster")
    command.add_argument("run", type=FOLDER_OR_URL, metavar="RUN_DIR", help="its folder, or hdfs://HOST:PORT/PATH")
    command.add_argument(
        "--with", dest="parts", type=FOLDER, nargs="+", default=(), metavar="RUN_DIR",
        help="the runs of --join that sent a part of this load: judge all histories as one",
    )  # fmt: skip
    command.add_argument(
        "--trust",
        action="store_true",
        help="run the files of incidents that came with the run, to judge their claims, too",
    )
    add_analysis(command)
    load_options.add_thresholds(command)

    command = add("runs report", rewrite_report, "write the report of an analysed run again")
    command.add_argument("run", type=FOLDER, metavar="RUN_DIR")

    command = add("runs spark-packages", pack, "pack the lab's Python packages for executors of a Spark cluster")
    command.add_argument("archive", type=NEW_ZIP, metavar="FILE.zip")

    command = add(
        "runs model", show_model, "refused requests of a run of append-stall, predicted and measured, cell by cell"
    )
    command.add_argument("run", type=FOLDER, metavar="RUN_DIR")
    command.add_argument("--json", action="store_true", help="machine-readable")


def run_load(options: argparse.Namespace, console: Console) -> int:
    """Run a load and judge what arrived."""
    from mqlab.load.command import load

    if (ran := load(options, console)) is None:
        return EXIT_OK
    stopped = EXIT_INTERRUPTED if ran.is_stopped else EXIT_OK
    if options.join or options.record_only:
        print(ran.path)
        return stopped
    code = judge_load(ran.path, options, find_java(), console)
    return stopped or code


def judge_load(path: Path, options: argparse.Namespace, java: Java, console: Console, page: str = "") -> int:
    """Print what became of a load; the exit code says it with ``--strict``, and by the user's own thresholds."""
    from analysis.load.judge import judge_load
    from analysis.load.thresholds import against
    from analysis.report.terminal import exit_code

    with _timed(console):
        judged = judge_load(path, spark_place(options, java.home), OWN_LOAD)
    if options.json:
        print_json(dataclasses.asdict(judged))
    else:
        print_lines(judged.lines())
    told, code = against(judged, options.fail_if)
    print_lines(told, stderr=options.json)
    print_report(path, options, page)
    return code or exit_code(judged.findings, options.strict)


def archive_spark(options: argparse.Namespace, java: Java, console: Console) -> None:
    """Leave the archive that makes analyses start sooner, once for a Java and a PySpark."""
    from analysis.class_archive import archive_classes

    place = spark_place(options, java.home)
    if not place.has_archive():
        console.print("Spark: its classes are archived for quicker analyses, once, in half a minute", highlight=False)
        archive_classes(place)


def spark_place(options: argparse.Namespace, java_home: Path) -> SparkPlace:
    """Where the options want Spark to run."""
    from analysis.spark import SparkPlace

    return SparkPlace(
        master=options.spark_master, conf=options.spark_conf, java_home=java_home, class_archives=cache_folder("spark")
    )


def place_of_analyst(options: argparse.Namespace, java_home: Path) -> SparkPlace:
    """Where a quick run's first answer is computed: on this machine, since no other one has the files of a run under way."""
    place = spark_place(options, java_home)
    return place if is_local(place.where) else dataclasses.replace(place, master=None, conf={})


def analyse(
    path: Path,
    chosen: Sequence[Scenario],
    options: argparse.Namespace,
    java: Java,
    console: Console,
    analyst: Analyst | None = None,
    unjudged: Sequence[UnjudgedClaims] = (),
) -> ReportData:
    """Analyse a run, in the analyst's process where there is one that can, and write its reports."""
    # Spark is loaded only now: a run must not carry its memory, and `mqlab explain` must not wait for it.
    from analysis.pipeline import analyze
    from analysis.report.write import write_reports

    def progress(text: str) -> None:
        console.print(printable(f"analysis: {text}"), markup=False, highlight=False, soft_wrap=True)

    code, place = own_commit(), spark_place(options, java.home)
    commit = "" if code.dirty else code.id
    with _timed(console):
        data = _asked(analyst, path, chosen, place, progress, commit) if analyst is not None else None
        if data is None:
            data = analyze(path, chosen, place, progress, commit, unjudged)
    write_reports(path, committed_ledger(), data)
    return data


@contextmanager
def _timed(console: Console) -> Iterator[None]:
    """Says how long the analysis took."""
    began = time.monotonic()
    yield
    console.print(f"analysis: {time.monotonic() - began:.1f} s", highlight=False)


def _asked(
    analyst: Analyst,
    path: Path,
    chosen: Sequence[Scenario],
    place: SparkPlace,
    progress: Callable[[str], None],
    commit: str,
) -> ReportData | None:
    """What the analyst found; None where it cannot, or could not."""
    from mqlab.run.first_answer import report_of

    if not analyst.can(place.for_evidence(path)):
        return None
    try:
        found: ReportData = analyst.ask(report_of, path, [one.name for one in chosen], commit, progress=progress)
    except AnalysisError:
        return None
    return found


def judge(
    path: Path,
    chosen: Sequence[Scenario],
    options: argparse.Namespace,
    java: Java,
    console: Console,
    analyst: Analyst | None = None,
    unjudged: Sequence[UnjudgedClaims] = (),
) -> int:
    """Analyse a run, write its reports and print its findings; returns the exit code."""
    from analysis.ledger import agreement
    from analysis.report.facts import evidence_told
    from analysis.report.terminal import exit_code, summary_lines, summary_table, trials_told

    data = analyse(path, chosen, options, java, console, analyst, unjudged)
    findings, is_quick = data.findings, data.manifest.budget == "quick"
    tried = agreement.tried(findings) if is_quick else findings
    shown = agreement.beside_record(tried, committed_ledger()) if is_quick else tried
    print_lines(evidence_told(data.manifest.notes, data.manifest.command), stderr=options.json)
    if options.json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    elif sys.stdout.isatty():
        lab_console().print(summary_table(shown))
    else:
        print_lines(summary_lines(shown))
    if not options.json:
        print_lines(trials_told(data))
    ours = [one for one in tried if one.incident in {scenario.name for scenario in scenarios.ALL}]
    if is_quick and not options.json:
        compared = agreement.lines(agreement.agreements(ours, committed_ledger())) if ours else []
        print_lines([*agreement.left_out(findings), *compared] or [""])
    return exit_code(findings, options.strict)


def analyze_run(options: argparse.Namespace, console: Console) -> int:
    """Judge a recorded run again, wherever it lies."""
    if isinstance(options.run, Path):
        return _analyze(options, console)
    from analysis.hadoop import brought

    if options.parts:
        raise UsageError(
            "--with joins folders of this machine", advice=f"Copy {options.run} here, or leave --with out."
        )
    url = options.run
    with brought(url, spark_place(options, find_java().home)) as options.run:
        return _analyze(options, console, url.rstrip("/"))


def _analyze(options: argparse.Namespace, console: Console, url: str = "") -> int:
    if options.parts:
        join_histories(options.run, options.parts)
    try:
        return _analyzed(options, console, url)
    except RunDirectoryError as error:
        if said := _set_page_aside(options.run):
            raise RunDirectoryError(f"{error.message}; {said}", advice=error.advice) from error
        raise


def _set_page_aside(run: Path) -> str:
    """Rename the page of an earlier analysis of a run that is refused now; what is said of it, empty where there is none."""
    page, aside = run / "report.html", run / "report.before.html"
    # Another folder's report is none of the lab's.
    if not (run / "trials").is_dir() or not page.is_file():
        return ""
    words = "its report.html is of an earlier analysis, and says nothing of the run as it is now"
    try:
        page.replace(aside)
    except OSError:
        return words
    return f"{words}: it is {aside.name} from here on"


def _analyzed(options: argparse.Namespace, console: Console, url: str = "") -> int:
    page = f"{url}/report.html" if url else ""
    manifest = read_manifest(options.run)
    if manifest.incidents == ("load",):
        return judge_load(options.run, options, find_java(), console, page)
    if options.fail_if:
        raise UsageError(
            f"{options.run} is no load, which --fail-if is of", advice="Leave --fail-if out; --strict is for claims."
        )
    if manifest.command.startswith("mqlab tune"):
        raise UsageError(
            f"{options.run} holds a sweep, which judges no claim",
            advice=f"mqlab tune --resume {options.run} makes what is missing, and says what it came to.",
        )
    of_run = incidents_of_run(options.run, manifest.incidents, trust=options.trust)
    unjudged = _unjudged(of_run, manifest)
    for claims in unjudged:
        why = claims.why.replace("RUN_DIR", url or str(options.run))
        if not of_run.known:
            raise ConfigurationError(why, advice="Nothing else of the run can be judged.")
        console.print(printable(why), markup=False, highlight=False, soft_wrap=True)
    known = of_run.known
    # A bundle may be of a build that is not here: then arms that name their releases are not among what is judged of it.
    with contextlib.suppress(ReleaseError, UsageError):
        known = tuple(on_releases(known, manifest.releases))
    code = judge(options.run, known, options, find_java(), console, unjudged=unjudged)
    print_report(options.run, options, page)
    return code


def _unjudged(of_run: IncidentsOfRun, manifest: Manifest) -> list[UnjudgedClaims]:
    """The claims of files that nobody answers for; of several the manifest does not say which are whose."""
    if not of_run.not_run:
        return []
    judged = {claim.id for scenario in of_run.known for claim in scenario.claims}
    claims = tuple(sorted(manifest.rules.keys() - judged, key=natural_key))
    names = ", ".join(of_run.not_run)
    why = (
        f"{', '.join(claims) or 'Claims'} of {names}: not judged, since code that came with the run was not run: "
        f"{listed(of_run.not_run.values())}; look at it in RUN_DIR/{KEPT}, and judge by it with mqlab runs analyze RUN_DIR --trust."
    )
    return [UnjudgedClaims(incident=names, claims=claims, why=why)]


def print_report(run: Path, options: argparse.Namespace, page: str = "") -> None:
    """End with the path of the page; with ``--json`` on standard error, since what is printed has to be JSON alone."""
    print(page or run / "report.html", file=sys.stderr if options.json else sys.stdout)


def rewrite_report(options: argparse.Namespace, console: Console) -> int:
    """Write the reports of an analysed run again. Raises RunDirectoryError: its evidence is not what was analysed."""
    from analysis.evidence.trusted import trusted_run
    from analysis.report.document import load_report_data
    from analysis.report.write import write_page, write_reports

    told = load_report_data(options.run).manifest.notes
    unsaid = [note for note in trusted_run(options.run).reservations() if note.startswith(DAMAGED) and note not in told]
    if unsaid:
        raise RunDirectoryError(
            f"{unsaid[0].removeprefix(DAMAGED)}, and was not so when {options.run} was analysed",
            advice=f"mqlab runs analyze {options.run} says what stands without it.",
        )
    if read_manifest(options.run).incidents == ("load",):
        print(write_page(options.run))
        return EXIT_OK
    for path in dataclasses.asdict(write_reports(options.run, committed_ledger())).values():
        print(path)
    return EXIT_OK


def pack(options: argparse.Namespace, console: Console) -> int:
    """Write the packages that a session of another master than this machine sends by itself."""
    try:
        pack_packages(options.archive)
    except OSError as error:
        raise UsageError(
            f"{options.archive} cannot be written: {error.strerror}", advice="Choose another file."
        ) from error
    print(options.archive)
    return EXIT_OK


def show_model(options: argparse.Namespace, console: Console) -> int:
    """Predicted and measured refusals of a run, cell by cell."""
    from analysis.stall_model.document import load_score, score_document

    found = load_score(options.run)
    if options.json:
        print_json(found.to_json())
    else:
        print(score_document(found), end="")
    return EXIT_OK
