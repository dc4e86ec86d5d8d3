"""The command ``mqlab``: the one place that knows harness, scenarios and analysis."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import scenarios
from harness import doctor, host
from harness.abilities import Abilities
from harness.audit.command import add_options as add_audit_options
from harness.audit.command import audit
from harness.backends.base import ClusterSpec, namesrv_addresses
from harness.backends.start import Backend, add_backend_options, choose_backend
from harness.brokerconf import ignored_keys, parse_sets, read_broker_conf
from harness.clients.compile import RECORDER_SOURCES, STALL_SOURCES, compiled_classes
from harness.display import Display, duration
from harness.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    ConfigurationError,
    Interrupted,
    LabError,
    UsageError,
)
from harness.faults import DEFAULT_WAY, injections_of
from harness.lease_healing import clean
from harness.lease_store import Healed, leases_in, state_home
from harness.leases import Leases
from harness.load.command import add_options as add_load_options
from harness.model import Scenario
from harness.patrol import add_options as add_patrol_options
from harness.patrol import patrol, read_logs
from harness.plan import EffortName, Plan, Wish, make_plan
from harness.recorder import Manifest, RunDirectory, new_run_id, read_manifest, require_space
from harness.releases import TOOLS, Java, cache_home, ensure_jars, find_java, known_releases
from harness.runner import RunContext, run_plan
from harness.topologies import TOPOLOGIES

if TYPE_CHECKING:
    from analysis.session import SparkPlace

DEFAULT_RUNS = Path("runs")
UP_HOURS = 8.0

Command = Callable[[argparse.Namespace, Console], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. No traceback reaches the user, except of a defect of the harness itself."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    command: Command = options.command
    try:
        with _interrupts_by(signal.SIGTERM):
            return command(options, console)
    except LabError as error:
        console.print(f"mqlab: {error}", style="bold", markup=False, highlight=False, soft_wrap=True)
        if error.advice:
            console.print(error.advice, markup=False, highlight=False, soft_wrap=True)
        return error.exit_code
    except KeyboardInterrupt:
        console.print("mqlab: interrupted", style="bold")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_OK


@contextlib.contextmanager
def _interrupts_by(number: signal.Signals) -> Iterator[None]:
    """Make a signal end the command as Ctrl-C does, so that everything is healed and collected."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(number, interrupt)
    try:
        yield
    finally:
        signal.signal(number, previous)


# --- the parser -----------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise SystemExit(_usage_exit(self, message))


def _usage_exit(parser: argparse.ArgumentParser, message: str) -> int:
    sys.stderr.write(f"mqlab: {message}\n{parser.format_usage()}")
    return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mqlab",
        description="Proves or refutes on a real RocketMQ cluster, release by release, what incident articles claim.",
        epilog="Exit codes: 0 done; with --strict 1 a verdict differs from its expectation, 2 something is undecided; "
        "3 bad usage or configuration; 4 the harness failed; 130 interrupted, with the evidence kept.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    add = _adder(commands)
    command = add("list", _list, "incidents, their arms and claims")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("doctor", _doctor, "what this host can do, and how to get what is missing")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("fetch", _fetch, "bring releases into the cache and compile what is ours (verify does so by itself)")
    _add_releases(command, "all known")

    command = add("up", _up, "start a cluster on loopback that stays until `mqlab down`")
    _add_releases(command, "the newest; the first one named is used")
    command.add_argument("--topology", choices=sorted(TOPOLOGIES), default="single", help="default: single")
    command.add_argument("--port", type=int, help="port of the first name server; default: a free one")
    command.add_argument(
        "--hours", type=float, default=UP_HOURS, help=f"ends by itself after so long; default: {UP_HOURS:g}"
    )
    add_backend_options(command)
    _add_settings(command)
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("image", _image, "build an image of a release from the same jars, for the compose files and backend")
    command.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(known_releases())}; none: all")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("down", _down, "end every cluster that `mqlab up` started")

    add_audit_options(add("audit", audit, "what of the incidents' causes a running cluster shows; only reads"))

    command = add("load", _load, "run a load by itself, steered by Locust, and judge what arrived")
    command.add_argument("--release", default="", metavar="R", help=f"start a cluster of {', '.join(known_releases())}")
    add_load_options(command)
    command.add_argument(
        "--out", type=Path, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    _add_analysis(command)

    command = add("verify", _verify, "run incidents and judge their claims")
    command.add_argument("incidents", nargs="*", metavar="INCIDENT", help="see `mqlab list`; none: a quick run of two")
    command.add_argument("--all", action="store_true", help="every incident")
    command.add_argument("--quick", action="store_true", help="fewer trials and cells: minutes instead of an hour")
    command.add_argument(
        "--arm", default="", metavar="ARM,ARM", help="only these arms; their claims may stay undecided"
    )
    _add_releases(command, "all known; a quick run without incidents: the oldest and the newest")
    command.add_argument("--trials", type=int, metavar="N", help="trials a cell instead of the scenario's own number")
    command.add_argument(
        "--injection",
        default="",
        metavar="WAY,WAY",
        help="how appends are stalled: byteman (in the broker's JVM), freeze (of the store's file system; needs root); "
        "default: byteman, and in a full run freeze where this host can",
    )
    command.add_argument("--seed", type=int, default=1, help="draws orders and phases; default: 1")
    command.add_argument(
        "--out", type=Path, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    command.add_argument(
        "--resume", type=Path, metavar="RUN_DIR", help="go on with an interrupted run, as it was started"
    )
    command.add_argument("--plan", action="store_true", help="say what would be run, how long it takes, and stop")
    add_backend_options(command)
    _add_settings(command)
    _add_analysis(command)

    command = add("analyze", _analyze, "judge a run again, without a cluster")
    command.add_argument("run", type=Path, metavar="RUN_DIR")
    _add_analysis(command)

    command = add("report", _report, "write the report of an analysed run again")
    command.add_argument("run", type=Path, metavar="RUN_DIR")

    add_patrol_options(
        add("patrol", patrol, "which known incidents logs show: slow appends, refused sends, locks, registrations")
    )

    command = add("law", _law, "refused requests of a run of append-stall, predicted and measured, cell by cell")
    command.add_argument("run", type=Path, metavar="RUN_DIR")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("tune", _tune, "how many sends a stall costs by waitTimeMillsInSendQueue, at your load: predicted")
    command.add_argument("--rate", type=_positive, required=True, metavar="HZ", help="sends a second to one broker")
    command.add_argument("--stall", type=_positives, default=(), metavar="MS,...", help="appends that took so long")
    command.add_argument(
        "--log", type=Path, nargs="+", default=[], help="store logs to take slow appends from (over 500 ms)"
    )
    command.add_argument("--wait", type=_positives, default=(200.0, 400.0, 600.0, 800.0), metavar="MS,...")
    command.add_argument("--busy", type=_positives, default=(1000.0,), metavar="MS,...")
    command.add_argument("--threads", type=int, default=1, metavar="N", help="sendMessageThreadPoolNums; default 1")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("ledger", _ledger, "show the committed record, or bring complete runs into it")
    command.add_argument("--update", nargs="+", type=Path, metavar="RUN_DIR", help="full runs of a clean commit")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("changes", _changes, "what changes from one release to another, by the record or by a run")
    command.add_argument("before", metavar="RELEASE", help="the release that you have")
    command.add_argument("after", metavar="RELEASE", help="the one that you want to upgrade to")
    command.add_argument("--run", type=Path, metavar="RUN_DIR", help="by this run instead of the committed record")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("clean", _clean, "heal and end what an earlier, crashed command left behind")
    command.add_argument("--dry-run", action="store_true", help="only say what is there")
    command.add_argument("--cache", action="store_true", help="remove the cache of jars and classes as well")
    command.add_argument("--images", action="store_true", help="remove the images that `mqlab image` built as well")
    command.add_argument("--json", action="store_true", help="machine-readable")
    return parser


def _adder(
    commands: argparse._SubParsersAction[_Parser],
) -> Callable[[str, Command, str], argparse.ArgumentParser]:
    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        parser.set_defaults(command=command)
        return parser

    return add


def _add_releases(command: argparse.ArgumentParser, default: str) -> None:
    known = ", ".join(known_releases())
    command.add_argument("--release", default="", metavar="R,R", help=f"of {known}; default: {default}")


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--broker-conf", type=Path, metavar="FILE", help="your own broker.conf, below the scenario's values"
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="broker.KEY=VALUE", help="one broker setting; may be repeated"
    )


def _add_analysis(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--strict", action="store_true", help="exit 1 on a mismatch with an expectation, 2 on undecided"
    )
    command.add_argument("--spark-master", metavar="URL", help="default: this machine")
    command.add_argument("--json", action="store_true", help="print the findings as JSON on standard output")


def _releases(text: str, default: Sequence[str]) -> tuple[str, ...]:
    chosen = tuple(part.strip() for part in text.split(",") if part.strip()) or tuple(default)
    for release in chosen:
        if release not in known_releases():
            raise UsageError.unknown("release", release, known_releases())
    return tuple(dict.fromkeys(chosen))


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=1, default=str))


# --- looking ----------------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace, console: Console) -> int:
    if options.json:
        _print_json(
            [
                {
                    "incident": scenario.name,
                    "title": scenario.title,
                    "arms": {arm.name: arm.what for arm in scenario.arms},
                    "claims": {claim.id: claim.says for claim in scenario.claims},
                }
                for scenario in scenarios.ALL
            ]
        )
        return EXIT_OK
    out = Console()
    for scenario in scenarios.ALL:
        out.print(f"[bold]{scenario.name}[/bold]  {scenario.title} ({scenario.article})", highlight=False)
        out.print(f"  {scenario.summary}", highlight=False)
        for arm in scenario.arms:
            out.print(f"  {arm.name}: {arm.what}", highlight=False, markup=False)
        out.print(f"  claims: {', '.join(claim.id for claim in scenario.claims)}\n", highlight=False)
    return EXIT_OK


def _doctor(options: argparse.Namespace, console: Console) -> int:
    checks = doctor.examine()
    runnable = doctor.what_can_run(scenarios.ALL, checks)
    if options.json:
        _print_json(
            {
                "checks": [dataclasses.asdict(check) for check in checks],
                "incidents": [dataclasses.asdict(one) for one in runnable],
            }
        )
    else:
        out = Console()
        for check in checks:
            mark = {True: "ok ", False: "NO ", None: "-  "}[check.ok]
            out.print(f"{mark} {check.name}: {check.found}", markup=False, highlight=False)
            if check.advice:
                out.print(f"    {check.advice}", markup=False, highlight=False)
        out.print("\nincidents that can run here:", highlight=False)
        for one in runnable:
            by = f"; by {', '.join(one.ways)}" if one.ways else ""
            out.print(f"    {one.incident} (--backend {' or '.join(one.backends)}{by})", markup=False, highlight=False)
            for reason in one.without:
                out.print(f"        not by {reason}", markup=False, highlight=False)
    return EXIT_USAGE if any(check.ok is False for check in checks) else EXIT_OK


def _fetch(options: argparse.Namespace, console: Console) -> int:
    prepare(find_java(), _releases(options.release, known_releases()), console)
    return EXIT_OK


def prepare(java: Java, releases: Sequence[str], console: Console) -> None:
    """Bring jars into the cache and compile our classes, so that no trial waits for either."""

    def say(text: str) -> None:
        console.print(text, highlight=False)

    compiled_classes(STALL_SOURCES, ensure_jars(TOOLS, progress=say), java)
    for release in releases:
        compiled_classes(RECORDER_SOURCES, ensure_jars(release, progress=say), java)


# --- clusters that stay -----------------------------------------------------------------------------------------------


def _clusters_folder() -> Path:
    return state_home() / "clusters"


def _up(options: argparse.Namespace, console: Console) -> int:
    release = _releases(options.release, known_releases()[-1:])[0]
    java = find_java()
    prepare(java, (release,), console)
    user_conf = _user_conf(options, (release,), console)
    name = f"up-{new_run_id()}"
    folder = _clusters_folder() / name
    spec = ClusterSpec(name=name, release=release, topology=TOPOLOGIES[options.topology], user_conf=user_conf)
    backend = choose_backend(options.backend, options.image, (release,), java, console.print)
    with Leases.open(state_home()) as leases:
        cluster = backend.start(spec, folder, leases, until_s=options.hours * 3600, port=options.port)
        cluster.keep()
    addresses = namesrv_addresses(cluster)
    if options.json:
        nodes = [dataclasses.asdict(node) for node in cluster.nodes]
        _print_json({"cluster": name, "namesrv": addresses, "folder": str(folder), "nodes": nodes})
    else:
        for node in cluster.nodes:
            print(f"{node.name:14} {node.address}")
        print(
            f"\nNAMESRV_ADDR={addresses}\nlogs: {folder}/nodes\nmqlab down ends it; by itself after {options.hours:g} h"
        )
    for change in cluster.overrides.items():
        console.print(f"the lab overrides {change[0]}: {change[1]}", markup=False, highlight=False)
    return EXIT_OK


def _image(options: argparse.Namespace, console: Console) -> int:
    # The Docker SDK is loaded only where it is used.
    from harness.engine import find_engine
    from harness.image import build_image

    releases = _releases(",".join(options.releases), known_releases())
    engine, java = find_engine(), find_java()
    prepare(java, releases, console)
    images = [build_image(engine, release, java) for release in releases]
    if options.json:
        _print_json([dataclasses.asdict(image) for image in images])
    else:
        for image in images:
            print(f"{image.tag}  Java {image.java}, {image.bytes // 2**20} MiB, {image.id}")
    return EXIT_OK


def _down(options: argparse.Namespace, console: Console) -> int:
    healed = clean(state_home(), include_kept=True)
    for one in healed:
        print(one)
    shutil.rmtree(_clusters_folder(), ignore_errors=True)
    if not healed:
        print("no cluster is up")
    return EXIT_OK if all(one.complete for one in healed) else EXIT_FAILED


def _user_conf(options: argparse.Namespace, releases: Sequence[str], console: Console) -> dict[str, str]:
    """The user's broker settings; keys that a release ignores are named."""
    settings = read_broker_conf(options.broker_conf) if options.broker_conf else {}
    for release in releases:
        if ignored := ignored_keys(settings, release):
            console.print(
                f"RocketMQ {release} does not know and ignores: {', '.join(ignored)}", markup=False, highlight=False
            )
    return {**settings, **parse_sets(options.set, releases)}


# --- verify -----------------------------------------------------------------------------------------------------------


def _verify(options: argparse.Namespace, console: Console) -> int:
    started = time.monotonic()
    java = find_java()
    for one in clean(state_home()):
        console.print(f"left by an earlier run: {one}", markup=False, highlight=False)
    if options.resume:
        _restore_options(options)
    effort: EffortName = "quick" if options.quick or not (options.incidents or options.all) else "full"
    unnamed = scenarios.ALL if options.all else scenarios.QUICK
    chosen = [scenarios.find(name) for name in dict.fromkeys(options.incidents)] or list(unnamed)
    unnamed_quick = effort == "quick" and not options.incidents and not options.all
    default = (known_releases()[0], known_releases()[-1]) if unnamed_quick else known_releases()
    releases = _releases(options.release, default)
    arms = _arms(options.arm, chosen)
    ways, way_notes = _ways(options, chosen, effort)
    if options.trials is not None and options.trials < 1:
        raise UsageError("--trials must be at least 1", advice="Leave it out for the scenario's own number.")
    prepare(java, releases, console)
    user_conf = _user_conf(options, releases, console)
    wish = Wish(
        scenarios=chosen, releases=releases, effort=effort, trials=options.trials, seed=options.seed, arms=arms,
        user_conf=user_conf, ways=ways, abilities=Abilities.of_this_host(),
    )  # fmt: skip
    plan = make_plan(wish, host.host_of_plan())
    plan = dataclasses.replace(plan, notes=(*plan.notes, *way_notes))
    _print_plan(plan, wish, console)
    if options.plan:
        return EXIT_OK
    run_id = new_run_id()
    path = options.resume or options.out or DEFAULT_RUNS / run_id
    require_space(path, plan.disk_bytes)
    backend = choose_backend(options.backend, options.image, releases, java, console.print)
    _archive_spark(options, java, console)
    manifest = _manifest(run_id, wish, plan, backend, options)
    with _open_run(options.resume, path, manifest) as run:
        _run(run, plan, backend, user_conf, console)
        findings_code = _judge(run.path, chosen, options, java, console)
    console.print(f"finished in {duration(time.monotonic() - started)}", highlight=False)
    print(run.path / "report.html")
    return findings_code


def _arms(text: str, chosen: Sequence[Scenario]) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    known = {arm.name for scenario in chosen for arm in scenario.arms}
    for name in names:
        if name not in known:
            raise UsageError.unknown("arm", name, known)
    return names


def _ways(
    options: argparse.Namespace, chosen: Sequence[Scenario], effort: EffortName
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ways of injection, and a note for each that a full run would have taken and that this host cannot."""
    offered = {way: injection for scenario in chosen for way, injection in injections_of(scenario).items()}
    asked = tuple(dict.fromkeys(part.strip() for part in options.injection.split(",") if part.strip()))
    for way in asked:
        if way not in offered:
            raise UsageError.unknown("way of injection", way, offered)
    wanted = asked or (tuple(offered) if effort == "full" else (DEFAULT_WAY,))
    obstacles = {
        way: reason
        for way in wanted
        if way in offered and (reason := offered[way].can(Abilities.of_this_host())) is not None
    }
    if asked and obstacles:
        way, reason = next(iter(obstacles.items()))
        raise ConfigurationError(f"--injection {way} cannot be done here: {reason}", advice="See `mqlab doctor`.")
    ways = tuple(way for way in wanted if way not in obstacles)
    if offered:
        # A resumed run makes the trials that it planned, whatever this host can by then.
        options.injection = ",".join(ways)
    return ways, tuple(f"appends were not stalled by {way}: {reason}" for way, reason in obstacles.items())


def _print_plan(plan: Plan, wish: Wish, console: Console) -> None:
    for scenario in wish.scenarios:
        trials = [trial for deployment, trial in plan.trials() if deployment.scenario is scenario]
        cells = {(trial.arm.name, tuple(trial.params.items())) for trial in trials}
        console.print(
            f"{scenario.name}: {len(trials)} trials of {len(cells)} cells on {', '.join(wish.releases)}, "
            f"{scenario.schedule}",
            highlight=False,
        )
    for note in plan.notes:
        console.print(note, highlight=False)
    console.print(
        f"expected: about {duration(plan.seconds)} on an idle machine, {plan.disk_bytes / 2**20:.0f} MiB of disk",
        highlight=False,
    )


_WITH_VALUE = ("arm", "release", "injection", "backend", "image", "trials", "seed")
_REMEMBERED = (*_WITH_VALUE, "incidents", "all", "quick", "broker_conf", "set")
"""Options that decide what a run is; a resumed run takes them from its manifest."""


def _restore_options(options: argparse.Namespace) -> None:
    """A resumed run is what it was when it started; saying something else now would mix two runs."""
    manifest = read_manifest(options.resume)
    remembered = _parser().parse_args(shlex.split(manifest.command)[1:])
    for name in _REMEMBERED:
        setattr(options, name, getattr(remembered, name))


def _command_line(options: argparse.Namespace) -> str:
    """The command that repeats this run, of the options that decide what it is."""
    words = ["mqlab", "verify", *options.incidents]
    for name in ("all", "quick"):
        words += [f"--{name}"] if getattr(options, name) else []
    for name in _WITH_VALUE:
        value = getattr(options, name)
        words += [f"--{name}", str(value)] if value not in (None, "") else []
    words += ["--broker-conf", str(options.broker_conf.absolute())] if options.broker_conf else []
    for value in options.set:
        words += ["--set", value]
    return shlex.join(words)


def _manifest(run_id: str, wish: Wish, plan: Plan, backend: Backend, options: argparse.Namespace) -> Manifest:
    commit = host.own_commit()
    return Manifest(
        run=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=_command_line(options),
        commit=commit.id,
        dirty=commit.dirty,
        seed=wish.seed,
        incidents=tuple(scenario.name for scenario in wish.scenarios),
        releases=tuple(wish.releases),
        client_releases={release: release for release in wish.releases},
        backend=backend.name,
        effort=plan.effort,
        rules={claim.id: claim.rule_hash() for scenario in wish.scenarios for claim in scenario.claims},
        host=host.manifest_facts(backend.java),
        trials=tuple(trial.id for _, trial in plan.trials()),
        notes=(
            *plan.notes,
            *backend.notes(),
            *(f"broker setting of the user: {key}={value}" for key, value in wish.user_conf.items()),
        ),
    )


def _open_run(resume: Path | None, path: Path, manifest: Manifest) -> RunDirectory:
    return RunDirectory.open(resume) if resume else RunDirectory.create(path, manifest)


def _run(run: RunDirectory, plan: Plan, backend: Backend, user_conf: dict[str, str], console: Console) -> None:
    cancel = threading.Event()
    with Leases.open(state_home()) as leases, Display(console, plan) as display, _cancels(cancel, display):
        context = RunContext(
            run=run,
            leases=leases,
            java=backend.java,
            start_cluster=lambda spec, folder, until_s: backend.start(
                spec, folder, leases, until_s=until_s, run_folder=run.path
            ),
            backend=backend.name,
            observer=display,
            user_conf=user_conf,
            client_releases=run.manifest.client_releases,
            cancel=cancel,
        )
        try:
            run_plan(context, plan)
        except Interrupted as error:
            raise Interrupted(
                f"stopped; what was recorded is in {run.path}",
                advice=f"Go on with mqlab verify --resume {run.path}, or judge it as it is with mqlab analyze {run.path}.",
            ) from error


@contextlib.contextmanager
def _cancels(cancel: threading.Event, display: Display) -> Iterator[None]:
    """While trials run, Ctrl-C and SIGTERM set ``cancel``; a second one ends the program at once."""

    def stop(_number: int, _frame: object) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()
        display.say("stopping: the running trials are ended and what they recorded is kept")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


# --- load -------------------------------------------------------------------------------------------------------------


def _load(options: argparse.Namespace, console: Console) -> int:
    from harness.load.start import load

    path = load(options, console)
    if options.join or options.record_only:
        print(path)
        return EXIT_OK
    return _judge_load(path, options, find_java(), console)


def _judge_load(path: Path, options: argparse.Namespace, java: Java, console: Console) -> int:
    from analysis.load import judge_load

    judged = judge_load(path, _spark_place(options, java))
    if options.json:
        _print_json(dataclasses.asdict(judged))
    else:
        print("\n".join([*judged.lines(), str(path)]))
    return judged.exit_code if options.strict else EXIT_OK


def _archive_spark(options: argparse.Namespace, java: Java, console: Console) -> None:
    from analysis.session import archive_classes

    place = _spark_place(options, java)
    if not place.has_archive():
        console.print("Spark: its classes are archived for quicker analyses, once, in half a minute", highlight=False)
        archive_classes(place)


def _spark_place(options: argparse.Namespace, java: Java) -> SparkPlace:
    from analysis.session import SparkPlace

    return SparkPlace(master=options.spark_master, java_home=java.home, class_archives=cache_home() / "spark")


# --- judging ----------------------------------------------------------------------------------------------------------


def _judge(path: Path, chosen: Sequence[Scenario], options: argparse.Namespace, java: Java, console: Console) -> int:
    # Spark is loaded only now: a run must not carry its memory, and `mqlab list` must not wait for it.
    from analysis.analyze import analyze
    from analysis.report.terminal import summary_lines, summary_table
    from analysis.report.write import exit_code, write_reports

    def progress(text: str) -> None:
        console.print(f"analysis: {text}", markup=False, highlight=False)

    findings = analyze(path, chosen, _spark_place(options, java), progress)
    write_reports(path)
    if options.json:
        _print_json([dataclasses.asdict(finding) for finding in findings])
    elif sys.stdout.isatty():
        Console().print(summary_table(findings))
    else:
        print("\n".join(summary_lines(findings)))
    return exit_code(findings, options.strict)


def _analyze(options: argparse.Namespace, console: Console) -> int:
    manifest = read_manifest(options.run)
    if manifest.incidents == ("load",):
        return _judge_load(options.run, options, find_java(), console)
    chosen = [scenarios.find(name) for name in manifest.incidents]
    code = _judge(options.run, chosen, options, find_java(), console)
    print(options.run / "report.html")
    return code


def _report(options: argparse.Namespace, console: Console) -> int:
    from analysis.report.write import write_reports

    for path in dataclasses.asdict(write_reports(options.run)).values():
        print(path)
    return EXIT_OK


def _law(options: argparse.Namespace, console: Console) -> int:
    from analysis.report.law import law_document, load_law

    found = load_law(options.run)
    if options.json:
        _print_json(found)
    else:
        print(law_document(found), end="")
    return EXIT_OK


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return value


def _positives(text: str) -> tuple[float, ...]:
    return tuple(_positive(part) for part in text.split(","))


def _tune(options: argparse.Namespace, console: Console) -> int:
    from analysis.tune import choices, choices_table

    logged = read_logs(options.log, threshold_ms=0).appends if options.log else ()
    stalls_ms = [*options.stall, *(float(append.ms) for append in logged)]
    if not stalls_ms:
        raise UsageError(
            "there is no stalled append to ask about",
            advice="Give --stall 450,700 or --log store.log with slow appends.",
        )
    found = choices(stalls_ms, options.rate, options.wait, options.busy, max(1, options.threads))
    if options.json:
        _print_json([{**dataclasses.asdict(one), "refused": one.refused} for one in found])
    else:
        print(choices_table(found, stalls_ms, options.rate))
    return EXIT_OK


def _ledger(options: argparse.Namespace, console: Console) -> int:
    from analysis.report.ledger import ledger_json, ledger_table, load_ledger, rewrite_readme, update_ledger

    folder = Path(scenarios.__file__).parent
    target = folder / "ledger.json"
    if options.update:
        update = update_ledger(target, folder / "LEDGER.md", options.update)
        print(update)
        readme = folder.parent / "README.md"
        if readme.exists():
            rewrite_readme(readme, load_ledger(target))
        return EXIT_OK
    ledger = load_ledger(target)
    print(ledger_json(ledger) if options.json else ledger_table(ledger))
    return EXIT_OK


def _changes(options: argparse.Namespace, console: Console) -> int:
    from analysis.report.changes import changes
    from analysis.report.ledger import load_ledger

    path = options.run / "ledger.json" if options.run else Path(scenarios.__file__).parent / "ledger.json"
    if not path.exists():
        raise ConfigurationError(f"there is no {path}", advice="`mqlab report RUN_DIR` writes it for a run.")
    found = changes(load_ledger(path), options.before, options.after)
    if options.json:
        _print_json(dataclasses.asdict(found))
    else:
        print("\n".join(found.lines()))
    return EXIT_OK


# --- cleaning ---------------------------------------------------------------------------------------------------------


def _clean(options: argparse.Namespace, console: Console) -> int:
    healed: list[Healed] = clean(state_home(), dry_run=options.dry_run)
    if options.json:
        _print_json([dataclasses.asdict(one) for one in healed])
    else:
        for one in healed:
            print(one)
        kept = sum(record.kept for record in leases_in(state_home()))
        print(f"{len(healed)} leftovers" + (f"; {kept} of `mqlab up` are kept" if kept else ""))
    if options.cache and not options.dry_run:
        shutil.rmtree(cache_home(), ignore_errors=True)
        print(f"removed {cache_home()}")
    if options.images and not options.dry_run:
        # The Docker SDK is loaded only where it is used.
        from harness.engine import find_engine
        from harness.image import remove_images

        for name in remove_images(find_engine()):
            print(f"removed the image {name}")
    return EXIT_OK if options.dry_run or all(one.complete for one in healed) else EXIT_FAILED


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
