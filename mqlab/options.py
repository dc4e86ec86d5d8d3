"""Options that several commands share, and what they come to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from harness.backends.choose import BACKENDS
from harness.errors import (
    UsageError,
)
from harness.releases.broker_conf import ignored_keys, parse_sets, read_broker_conf
from harness.releases.jars import known_releases

DEFAULT_RUNS = Path("runs")


Command = Callable[[argparse.Namespace, Console], int]

Adder = Callable[[str, Command, str], argparse.ArgumentParser]
"""Adds a command by its name, its function and one line of help."""


def add_releases(command: argparse.ArgumentParser, default: str) -> None:
    """Add ``--release``."""
    known = ", ".join(known_releases())
    command.add_argument("--release", default="", metavar="R,R", help=f"of {known}; default: {default}")


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add the user's own broker settings."""
    command.add_argument(
        "--broker-conf", type=Path, metavar="FILE", help="your own broker.conf, below the scenario's values"
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="broker.KEY=VALUE", help="one broker setting; may be repeated"
    )


def add_analysis(command: argparse.ArgumentParser) -> None:
    """Add what every command that judges takes."""
    command.add_argument(
        "--strict", action="store_true", help="exit 1 on a mismatch with an expectation, 2 on undecided"
    )
    command.add_argument("--spark-master", metavar="URL", help="default: this machine")
    command.add_argument("--json", action="store_true", help="print the findings as JSON on standard output")


def chosen_releases(text: str, default: Sequence[str]) -> tuple[str, ...]:
    """The releases of a comma-separated list.

    Raises:
        UsageError: one is unknown; the advice names the nearest.
    """
    chosen = tuple(part.strip() for part in text.split(",") if part.strip()) or tuple(default)
    for release in chosen:
        if release not in known_releases():
            raise UsageError.unknown("release", release, known_releases())
    return tuple(dict.fromkeys(chosen))


def read_user_conf(options: argparse.Namespace, releases: Sequence[str], console: Console) -> dict[str, str]:
    """The user's broker settings; keys that a release ignores are named."""
    settings = read_broker_conf(options.broker_conf) if options.broker_conf else {}
    for release in releases:
        if ignored := ignored_keys(settings, release):
            console.print(
                f"RocketMQ {release} does not know and ignores: {', '.join(ignored)}", markup=False, highlight=False
            )
    return {**settings, **parse_sets(options.set, releases)}


def print_json(value: object) -> None:
    """Print one value as JSON on standard output."""
    print(json.dumps(value, indent=1, default=str))


def positive(text: str) -> float:
    """A number above zero, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return value


def positives(text: str) -> tuple[float, ...]:
    """Such numbers, separated by commas."""
    return tuple(positive(part) for part in text.split(","))


def add_backend_options(command: argparse.ArgumentParser) -> None:
    """``--backend`` and ``--image``."""
    command.add_argument(
        "--backend", choices=BACKENDS, default="local", help="processes of this host, or containers; default: local"
    )
    command.add_argument(
        "--image",
        default="",
        metavar="IMAGE",
        help="with compose: the image, for example apache/rocketmq; default: ours (`mqlab image`), built if need be",
    )
