"""The command ``mqlab``: the one place that knows harness, scenarios and analysis."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LabError
from harness.host.signals import handling
from mqlab import audit, clusters, judging, load_options, looking, patrol
from mqlab.options import DEFAULT_RUNS, Adder, Command, add_analysis, add_backend_options, add_releases, add_settings
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
    looking.add_commands(add)
    clusters.add_commands(add)
    audit.add_command(add)
    load_options.add_command(add, judging.run_load)
    _add_verify(add)
    judging.add_run_commands(add)
    patrol.add_command(add)
    judging.add_record_commands(add)
    clusters.add_clean(add)
    return parser


def _add_verify(add: Adder) -> None:
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
    command.add_argument(
        "--anyway", action="store_true", help="with --resume: also by other code than the run's, which its findings say"
    )
    command.add_argument("--plan", action="store_true", help="say what would be run, how long it takes, and stop")
    add_backend_options(command)
    add_settings(command)
    add_analysis(command)


def _adder(commands: argparse._SubParsersAction[_Parser]) -> Adder:
    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        parser.set_defaults(command=command)
        return parser

    return add
