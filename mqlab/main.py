"""The command ``mqlab``: the one place that knows harness, scenarios and analysis."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from harness.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LabError, UsageError, nearest, shown
from harness.paths import PACKAGES
from harness.printable import printable, printable_lines
from harness.signals import interruptible
from mqlab import needs
from mqlab.console import console as lab_console
from mqlab.kinds import take_builds
from mqlab.machine import of_this_machine
from mqlab.options import Adder, Command

FAMILIES: Mapping[str, str] = {
    "cluster": "clusters to play with, and what they are made of: up, down, fetch, image",
    "runs": "runs that were made: serve, analyze, report, clean, model, spark-packages",
}
"""First words of commands of two words."""

MOVED: Mapping[str, Sequence[str]] = {
    "list": ("explain", "--record"),
    "advise": ("explain",),
    "changes": ("upgrade", "--verdicts"),
    "patrol": ("diagnose",),
    **{name: ("cluster", name) for name in ("up", "down", "fetch", "image")},
    **{name: ("runs", name) for name in ("serve", "analyze", "report", "clean", "model", "spark-packages")},
}
"""Commands as they were called once, which go on working, with what they are called now."""
MESSAGE_MAX = 500
"""Characters of what is wrong with an option; argparse repeats it whole."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. No traceback reaches the user."""
    console = lab_console(stderr=True)
    try:
        with interruptible():
            code = _carried_out(arguments, console)
            sys.stdout.flush()
        return code
    except LabError as error:
        return _tell(error, console)
    except KeyboardInterrupt:
        console.print("mqlab: interrupted", style="bold")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_OK
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # Rich's way of saying so
            return EXIT_OK
        try:
            sys.stdout.flush()
        except LabError as error:
            return _tell(error, console)
        except BrokenPipeError:
            _drop_output()
        raise
    except Exception as error:
        if (known := of_this_machine(error)) is not None:
            return _tell(known, console)
        # A defect of ours.
        with tempfile.NamedTemporaryFile("w", prefix="mqlab-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
        console.print(
            printable(f"mqlab: a defect of mqlab itself ({type(error).__name__}: {error}); its traceback is in {file.name}"),
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        return EXIT_FAILED


def _carried_out(arguments: Sequence[str] | None, console: Console) -> int:
    if arguments is None:
        _leave_the_current_folder_out()
    words = sys.argv[1:] if arguments is None else arguments
    words = _as_called_now(words)
    if words and words[0] in FAMILIES:
        print(_family_help(words[0]))
        return EXIT_OK
    if words and not words[0].startswith("-"):
        _require_command(words[0])
    options = _parsed(words)
    take_builds(options)
    # A resumed run reads the command that it was started with.
    options.parse = _parsed
    command: Command = options.command
    if arguments is None:
        return _with_what_it_needs(command, options, words, console)
    return command(options, console)


def _as_called_now(words: Sequence[str]) -> Sequence[str]:
    """The words of a command, with the name that it has now as the first one; says so where it was another."""
    if words and (now := MOVED.get(words[0])) is not None:
        if [*words] == ["list"]:
            now = ("explain",)
        print(f"mqlab: {words[0]} is `mqlab {' '.join(now)}` now", file=sys.stderr)
        rest = list(words[1:])
        if words[0] == "changes":
            rest = [word for pair in zip(("--from", "--to"), rest, strict=False) for word in pair] + rest[2:]
        words = [*now, *rest]
    if words[:1] and words[0] in FAMILIES and words[1:] and not words[1].startswith("-"):
        words = [f"{words[0]} {words[1]}", *words[2:]]
    return words


def _require_command(word: str) -> None:
    """Raises UsageError for a word that is no command, with the nearest that is."""
    known = [*(name for names, _ in COMMANDS for name in names), *FAMILIES]
    if word not in known:
        near = nearest(word, known)
        advice = f"Did you mean `mqlab {near[0]}`?" if near else "`mqlab` alone lists them by what they are for."
        raise UsageError(f"{shown(word)} is no command", advice=advice)


def _with_what_it_needs(command: Command, options: argparse.Namespace, words: Sequence[str], console: Console) -> int:
    """A run's packages are brought before it begins; what only seldom needs some begins anew with them, since it only reads."""
    name = next((word for word in words if not word.startswith("-")), "")
    if name and name not in needs.WITHOUT_RUN and not getattr(options, "plan", False):
        needs.bring(console)
    try:
        return command(options, console)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in needs.MODULES or not needs.missing():
            raise
    needs.bring(console)
    return needs.begin_again(words)


def _tell(error: LabError, console: Console) -> int:
    """Print it with what to do; returns its exit code."""
    # It may tell of what somebody else wrote, which must not steer the terminal.
    text, advice = printable_lines(f"mqlab: {error}"), printable_lines(error.advice)
    console.print(text, style="bold", markup=False, highlight=False, soft_wrap=True)
    if advice:
        console.print(advice, markup=False, highlight=False, soft_wrap=True)
    return error.exit_code


def _leave_the_current_folder_out() -> None:
    """Neither this process nor one that it starts imports what lies in the current folder: a run of somebody else's may lie there.

    ``python -m`` puts that folder before everything else, and Python's own ``multiprocessing`` does so for a moment.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    with contextlib.suppress(OSError):
        current = Path.cwd()
        is_first = not sys.flags.safe_path and Path(sys.path[0]).absolute() == current
        if is_first and current != PACKAGES:
            del sys.path[0]


def _drop_output() -> None:
    """Nobody reads it any more, as with ``| head``; what is left in its buffer is not to be written at the end either."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Of a command; its help has all options, or those of ``first`` alone where there are too many for a screen."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, add_help=False, **settings)
        self.register("action", None, _Once)
        self.add_argument(
            "-h", "--help", action=_ShowHelp, nargs="?", choices=(ALL,), metavar=ALL, default=argparse.SUPPRESS,
            help=f"show this help message and exit; with the word {ALL}: of every option",
        )  # fmt: skip

    def format_help(self) -> str:
        """The options that most people need, and the names of the others by what they are about."""
        first = FIRST.get(self.prog.removeprefix("mqlab "), "").split()
        if not first:
            return self.format_whole_help()
        formatter = self._get_formatter()
        words = [action for action in self._actions if not action.option_strings]
        formatter.add_usage(
            f"{self.prog} {' '.join(filter(None, ['[OPTION ...]', *map(_placeholder, words)]))}", [], []
        )
        formatter.add_text(self.description)
        formatter.start_section("most used")
        formatter.add_arguments([*words, *(one for one in self._actions if {*one.option_strings} & {*first})])
        formatter.end_section()
        lines = [formatter.format_help(), f"more, which `{self.prog} --help {ALL}` tells:"]
        for group in self._action_groups:
            names = [one.option_strings[0] for one in group._group_actions if one.option_strings]
            if left := [name for name in names if name not in first]:
                title = f"  {'other' if group.title == 'options' else group.title}: "
                lines += textwrap.wrap(
                    " ".join(left), HELP_WIDTH, initial_indent=title, subsequent_indent=" " * len(title),
                    break_on_hyphens=False,
                )  # fmt: skip
        return "\n".join([*lines, ""])

    def format_whole_help(self) -> str:
        """Every option with what it does."""
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        said = textwrap.shorten("".join(one if one.isprintable() else " " for one in message), MESSAGE_MAX)
        example = next(
            (commands[name] for _, commands in GROUPS for name in commands if self.prog == f"mqlab {name}"), ""
        )
        see = f"For example: {example}; see {self.prog} --help." if example else f"See {self.prog} --help."
        self.exit(EXIT_USAGE, f"mqlab: {said}\n{see}\n")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse of Python 3.11 makes an empty list of --option=--.
        if action.option_strings and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "'--' is no value")
        return super()._get_values(action, arg_strings)


def _placeholder(action: argparse.Action) -> str:
    """Of a positional argument in a usage."""
    name = str(action.metavar or action.dest)
    return f"[{name} ...]" if action.nargs == "*" else f"{name} ..." if action.nargs == "+" else name


class _ShowHelp(argparse.Action):
    """Prints the help, or with a word the whole of it, and ends."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        print(
            parser.format_whole_help() if values == ALL and isinstance(parser, _Parser) else parser.format_help(),
            end="",
        )
        parser.exit()


class _Overview(_Parser):
    """Of all commands: by what they are for, each with what it does."""

    def format_help(self) -> str:
        helps = {one.dest: one.help or "" for one in self._commands()}
        lines = [f"usage: {self.prog} COMMAND ...", "", *textwrap.wrap(self.description or "", WIDTH), ""]
        for title, commands in GROUPS:
            lines.append(title)
            for name, example in commands.items():
                lines += textwrap.wrap(
                    helps.get(name) or FAMILIES[name],
                    WIDTH,
                    initial_indent=f"  {name:<{NAMES_WIDTH}}",
                    subsequent_indent=" " * (NAMES_WIDTH + 4),
                )
                lines += [f"{'':{NAMES_WIDTH + 2}}$ {example}"] if example else []
            lines.append("")
        return "\n".join(
            [*lines, "`mqlab COMMAND --help` tells a command's options.", *textwrap.wrap(self.epilog or "", WIDTH), ""]
        )

    def _commands(self) -> Sequence[argparse.Action]:
        found = [one for one in self._actions if isinstance(one, argparse._SubParsersAction)]
        return found[0]._choices_actions


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


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    named = next((word for word in words if not word.startswith("-")), "")
    return _parser(named).parse_args(words)


@cache
def _parser(named: str = "") -> _Overview:
    """Of the command that is named, else of all of them."""
    parser = _Overview(
        prog="mqlab",
        description="What your RocketMQ does, release by release, as measured on real clusters: what an error means, what an "
        "upgrade changes for you, which settings help. What is asked needs no cluster; what is tried starts one here, on "
        "loopback.",
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
    for names, register in COMMANDS:
        if named in names or not any(named in others for others, _ in COMMANDS):
            register(add)
    return parser


def _of(module: str, function: str = "add_command") -> Callable[[Adder], None]:
    """Adds commands of a module, which is imported only then: all of them together take two seconds to start."""
    return lambda add: getattr(importlib.import_module(f"mqlab.{module}"), function)(add)


COMMANDS: Sequence[tuple[tuple[str, ...], Callable[[Adder], None]]] = (
    (("doctor", "cluster fetch"), _of("ask.looking", "add_commands")),
    (("new",), _of("own.own_incident")),
    (("cluster up", "cluster image", "cluster down"), _of("run.clusters", "add_commands")),
    (("audit",), _of("ask.audit")),
    (("load",), _of("run.judging", "add_load")),
    (("verify",), _of("run.verify")),
    (("check",), _of("run.check")),
    (("bisect",), _of("run.bisect")),
    (("reproduce",), _of("run.reproduce")),
    (("runs analyze", "runs report", "runs spark-packages", "runs model"), _of("run.judging", "add_run_commands")),
    (("diagnose",), _of("logs.diagnose")),
    (("tune",), _of("tune.command")),
    (("runs serve",), _of("run.serve")),
    (("upgrade",), _of("ask.upgrade")),
    (("explain",), _of("ask.explain")),
    (("runs clean",), _of("run.clusters", "add_clean")),
)
"""Names of commands, with what adds them."""

GROUPS: Sequence[tuple[str, Mapping[str, str]]] = (
    (
        "Ask: an answer in seconds, without a cluster",
        {
            "explain": "mqlab explain '[TIMEOUT_CLEAN_QUEUE]broker busy'",
            "diagnose": "mqlab diagnose ~/logs/rocketmqlogs",
            "upgrade": "mqlab upgrade --from 4.9.7 --to 5.5.0 --broker-conf broker.conf",
        },
    ),
    ("Look: at a cluster of yours", {"audit": "mqlab audit --namesrv 10.0.0.1:9876"}),
    (
        "Try: on a cluster that is started here",
        {
            "verify": "mqlab verify --quick append-stall",
            "load": "mqlab load --rate 500 --duration 30 --set broker.flushDiskType=SYNC_FLUSH",
            "tune": "mqlab tune --rate 2000 --log store.log",
            "check": "mqlab check --release 5.1.4",
            "bisect": "mqlab bisect ORDER-08 --from 4.9.7 --to 5.3.3",
            "reproduce": "mqlab reproduce append-stall --release 5.5.0 --broker-conf broker.conf",
            "new": "mqlab new my_incident.py",
        },
    ),
    (
        "This machine",
        {
            "cluster": "mqlab cluster up --release 5.5.0 --topology two-masters",
            "runs": "mqlab runs serve",
            "doctor": "mqlab doctor",
        },
    ),
)
"""Commands by what they are for, in the order of the help, with an example of those that most people need."""

ALL = "all"
"""The word after ``--help`` that has every option told."""
FIRST: Mapping[str, str] = {
    "load": "--release --namesrv --topology --topic --allow-target --mode --size --ordered --consumers --rate --duration --client "
    "--fault --set --broker-conf --fail-if --out --json",
    "tune": "--rate --stall --log --wait --sweep --goal --release --param --minutes --plan --set --broker-conf --out --json",
    "audit": "--namesrv --broker-conf --release --allow-target --credentials --tls --format --watch --apply --dry-run --out --json",
    "verify": "--release --quick --all --plan --arm --part --resume --set --broker-conf --strict --out --json",
    "reproduce": "--release --arm --set --broker-conf --topology --hold --param --plan --out --json",
}
"""Of commands that have more options than a screen has lines those that most people need."""

WIDTH, NAMES_WIDTH, HELP_WIDTH = 100, 15, 79
"""Letters of the overview's lines, of its column of names, and of the lines with the names of options."""


def _family_help(family: str) -> str:
    """The commands that begin with this word, a line each."""
    helps = {one.dest: one.help or "" for one in _parser()._commands()}
    found = {name: text for name, text in helps.items() if name.startswith(f"{family} ")}
    lines = [f"usage: mqlab {family} COMMAND ...", "", f"{FAMILIES[family][:1].upper()}{FAMILIES[family][1:]}.", ""]
    for name, text in found.items():
        indent = f"  {name:<{NAMES_WIDTH + 8}}"
        lines += textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
    return "\n".join([*lines, "", f"`mqlab {family} COMMAND --help` tells a command's options."])


def _adder(commands: argparse._SubParsersAction[_Parser]) -> Adder:
    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        parser.set_defaults(command=command)
        return parser

    return add
