"""The command ``mqlab``: the one place that knows harness, scenarios and analysis."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from harness.backends.topologies import TOPOLOGIES
from harness.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LabError
from harness.host.signals import handling
from harness.releases.jars import known_releases
from mqlab.audit import add_options as add_audit_options
from mqlab.audit import audit
from mqlab.clusters import UP_HOURS, clean_up, down, image, up
from mqlab.judging import analyze_run, ledger, rewrite_report, run_load, show_changes, show_law, tune
from mqlab.load_options import add_options as add_load_options
from mqlab.looking import fetch, list_incidents, show_doctor
from mqlab.options import (
    DEFAULT_RUNS,
    Command,
    add_analysis,
    add_backend_options,
    add_releases,
    add_settings,
    positive,
    positives,
)
from mqlab.patrol import add_options as add_patrol_options
from mqlab.patrol import patrol
from mqlab.verify import verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. No traceback reaches the user, except of a defect of the harness itself."""
    parser = _parser()
    options = parser.parse_args(arguments)
    # A resumed run reads the command that it was started with.
    options.parse = parser.parse_args
    console = Console(stderr=True)
    command: Command = options.command
    try:
        with handling(_interrupt, signal.SIGTERM):
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


def _interrupt() -> None:
    """A signal ends the command as Ctrl-C does, so that everything is healed and collected."""
    raise KeyboardInterrupt


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
    command = add("list", list_incidents, "incidents, their arms and claims")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("doctor", show_doctor, "what this host can do, and how to get what is missing")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("fetch", fetch, "bring releases into the cache and compile what is ours (verify does so by itself)")
    add_releases(command, "all known")

    command = add("up", up, "start a cluster on loopback that stays until `mqlab down`")
    add_releases(command, "the newest; the first one named is used")
    command.add_argument("--topology", choices=sorted(TOPOLOGIES), default="single", help="default: single")
    command.add_argument("--port", type=int, help="port of the first name server; default: a free one")
    command.add_argument(
        "--hours", type=float, default=UP_HOURS, help=f"ends by itself after so long; default: {UP_HOURS:g}"
    )
    add_backend_options(command)
    add_settings(command)
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("image", image, "build an image of a release from the same jars, for the compose files and backend")
    command.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(known_releases())}; none: all")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("down", down, "end every cluster that `mqlab up` started")

    add_audit_options(add("audit", audit, "what of the incidents' causes a running cluster shows; only reads"))

    command = add("load", run_load, "run a load by itself, steered by Locust, and judge what arrived")
    command.add_argument("--release", default="", metavar="R", help=f"start a cluster of {', '.join(known_releases())}")
    add_load_options(command)
    command.add_argument(
        "--out", type=Path, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    add_analysis(command)

    command = add("verify", verify, "run incidents and judge their claims")
    command.add_argument("incidents", nargs="*", metavar="INCIDENT", help="see `mqlab list`; none: a quick run of two")
    command.add_argument("--all", action="store_true", help="every incident")
    command.add_argument("--quick", action="store_true", help="fewer trials and cells: minutes instead of an hour")
    command.add_argument(
        "--arm", default="", metavar="ARM,ARM", help="only these arms; their claims may stay undecided"
    )
    add_releases(command, "all known; a quick run without incidents: the oldest and the newest")
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
    add_settings(command)
    add_analysis(command)

    command = add("analyze", analyze_run, "judge a run again, without a cluster")
    command.add_argument("run", type=Path, metavar="RUN_DIR")
    add_analysis(command)

    command = add("report", rewrite_report, "write the report of an analysed run again")
    command.add_argument("run", type=Path, metavar="RUN_DIR")

    add_patrol_options(
        add("patrol", patrol, "which known incidents logs show: slow appends, refused sends, locks, registrations")
    )

    command = add("law", show_law, "refused requests of a run of append-stall, predicted and measured, cell by cell")
    command.add_argument("run", type=Path, metavar="RUN_DIR")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("tune", tune, "how many sends a stall costs by waitTimeMillsInSendQueue, at your load: predicted")
    command.add_argument("--rate", type=positive, required=True, metavar="HZ", help="sends a second to one broker")
    command.add_argument("--stall", type=positives, default=(), metavar="MS,...", help="appends that took so long")
    command.add_argument(
        "--log", type=Path, nargs="+", default=[], help="store logs to take slow appends from (over 500 ms)"
    )
    command.add_argument("--wait", type=positives, default=(200.0, 400.0, 600.0, 800.0), metavar="MS,...")
    command.add_argument("--busy", type=positives, default=(1000.0,), metavar="MS,...")
    command.add_argument("--threads", type=int, default=1, metavar="N", help="sendMessageThreadPoolNums; default 1")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("ledger", ledger, "show the committed record, or bring complete runs into it")
    command.add_argument("--update", nargs="+", type=Path, metavar="RUN_DIR", help="full runs of a clean commit")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("changes", show_changes, "what changes from one release to another, by the record or by a run")
    command.add_argument("before", metavar="RELEASE", help="the release that you have")
    command.add_argument("after", metavar="RELEASE", help="the one that you want to upgrade to")
    command.add_argument("--run", type=Path, metavar="RUN_DIR", help="by this run instead of the committed record")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("clean", clean_up, "heal and end what an earlier, crashed command left behind")
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
