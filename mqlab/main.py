"""The command ``mqlab``: the one place that knows harness, scenarios and analysis."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from harness.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LabError
from harness.host.signals import handling
from mqlab import (
    advise,
    audit,
    clusters,
    diagnose,
    judging,
    load_options,
    looking,
    own_incident,
    patrol,
    recording,
    reproduce,
    serve,
    tune,
    upgrade,
)
from mqlab.kinds import FOLDER, INCIDENT, NAMES, NEW_FOLDER, SEED, whole
from mqlab.options import (
    DEFAULT_RUNS,
    Adder,
    Command,
    add_analysis,
    add_backend_options,
    add_bundle,
    add_releases,
    add_settings,
)
from mqlab.verify import verify

MESSAGE_MAX = 500
"""Characters of what is wrong with an option; argparse repeats it whole."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. No traceback reaches the user."""
    parser = _parser()
    console = Console(stderr=True)
    try:
        options = parser.parse_args(arguments)
        # A resumed run reads the command that it was started with.
        options.parse = parser.parse_args
        command: Command = options.command
        with handling(_interrupt, signal.SIGTERM):
            code = command(options, console)
            sys.stdout.flush()
            return code
    except LabError as error:
        console.print(f"mqlab: {error}", style="bold", markup=False, highlight=False, soft_wrap=True)
        if error.advice:
            console.print(error.advice, markup=False, highlight=False, soft_wrap=True)
        return error.exit_code
    except KeyboardInterrupt:
        console.print("mqlab: interrupted", style="bold")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_OK
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # Rich's way of saying so
            return EXIT_OK
        raise
    except Exception as error:  # a defect of ours
        with tempfile.NamedTemporaryFile("w", prefix="mqlab-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
        console.print(
            f"mqlab: a defect of mqlab itself ({type(error).__name__}: {error}); its traceback is in {file.name}",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        return EXIT_FAILED


def _drop_output() -> None:
    """Nobody reads it any more, as with ``| head``; what is left in its buffer is not to be written at the end either."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _interrupt() -> None:
    """A signal ends the command as Ctrl-C does, so that everything is healed and collected."""
    raise KeyboardInterrupt


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, **settings)
        self.register("action", None, _Once)

    def error(self, message: str) -> NoReturn:
        said = textwrap.shorten("".join(one if one.isprintable() else " " for one in message), MESSAGE_MAX)
        self.exit(EXIT_USAGE, f"mqlab: {said}\nSee {self.prog} --help.\n")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse of Python 3.11 makes an empty list of --option=--.
        if action.option_strings and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "'--' is no value")
        return super()._get_values(action, arg_strings)


class _Help(argparse.HelpFormatter):
    """Says the bounds of each option's kind."""

    def _get_help_string(self, action: argparse.Action) -> str:
        bounds = getattr(action.type, "bounds", "")
        return (action.help or "") + (f" ({bounds})" if bounds else "")


class _Once(argparse.Action):
    """Stores a value, as argparse does by itself, and refuses a second one, of which one would be dropped in silence."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not self.default:
            raise argparse.ArgumentError(self, "is given twice")
        setattr(namespace, self.dest, values)


@cache
def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mqlab",
        description="Proves or refutes on a real RocketMQ cluster, release by release, what incident articles claim.",
        epilog="Exit codes: 0 done; with --strict 1 a verdict differs from its expectation, 2 something is undecided; "
        "3 bad usage or configuration; 4 the harness failed; 130 interrupted, with the evidence kept.",
    )
    parser.add_argument("--version", action="version", version=f"mqlab {version('rocketmq-incident-lab')}")

    def show_help(options: argparse.Namespace, console: Console) -> int:
        parser.print_help()
        return EXIT_OK

    parser.set_defaults(command=show_help)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)

    add = _adder(commands)
    looking.add_commands(add)
    own_incident.add_command(add)
    clusters.add_commands(add)
    audit.add_command(add)
    load_options.add_command(add, judging.run_load)
    _add_verify(add)
    reproduce.add_command(add)
    judging.add_run_commands(add)
    patrol.add_command(add)
    diagnose.add_command(add)
    judging.add_record_commands(add)
    tune.add_command(add)
    serve.add_command(add)
    upgrade.add_command(add)
    advise.add_command(add)
    recording.add_commands(add)
    clusters.add_clean(add)
    return parser


def _add_verify(add: Adder) -> None:
    command = add("verify", verify, "run incidents and judge their claims")
    command.add_argument(
        "incidents",
        nargs="*",
        type=INCIDENT,
        metavar="INCIDENT",
        help="see `mqlab list`, or a file of your own (`mqlab new`); none: a quick run of two",
    )
    command.add_argument("--all", action="store_true", help="every incident")
    command.add_argument("--quick", action="store_true", help="fewer trials and cells: minutes instead of an hour")
    command.add_argument(
        "--arm", type=NAMES, default=(), metavar="ARM,ARM", help="only these arms; their claims may stay undecided"
    )
    add_releases(command, "all known; a quick run without incidents: the oldest and the newest")
    command.add_argument(
        "--trials", type=whole(1, 100), metavar="N", help="trials a cell instead of the scenario's own number"
    )
    command.add_argument(
        "--injection",
        type=NAMES,
        default=(),
        metavar="NAME,NAME",
        help="how appends are stalled: byteman (in the broker's JVM), freeze (of the store's file system; needs root); "
        "default: byteman, and in a full run freeze where this host can",
    )
    command.add_argument("--seed", type=SEED, default=1, help="draws orders and phases; default: 1")
    command.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    command.add_argument(
        "--resume", type=FOLDER, metavar="RUN_DIR", help="go on with an interrupted run, as it was started"
    )
    command.add_argument(
        "--anyway", action="store_true", help="with --resume: also by other code than the run's, which its findings say"
    )
    command.add_argument(
        "--register", action="store_true", help="a run for the record of this checkout: it gets in whatever it shows"
    )
    command.add_argument("--plan", action="store_true", help="say what would be run, how long it takes, and stop")
    add_bundle(command)
    command.set_defaults(verb="verify")
    add_backend_options(command)
    add_settings(command)
    add_analysis(command)


def _adder(commands: argparse._SubParsersAction[_Parser]) -> Adder:
    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        parser.set_defaults(command=command)
        return parser

    return add
