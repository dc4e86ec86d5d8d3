"""Options that several commands share, and what they come to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.backends.abilities import ABILITIES
from harness.errors import UsageError
from harness.model.broker_conf import ConfFile, Fate, JudgedConf, conf_of
from harness.model.cluster import UserSettings
from harness.printable import printable
from harness.protocol.access import Access
from harness.releases.judged_conf import IDENTITY, judge_file
from harness.releases.properties import read_conf
from harness.releases.user_settings import parse_sets
from mqlab.kinds import FILE, IMAGE, NEW_BUNDLE, RELEASE, RELEASES_SAID, SPARK_CONF, SPARK_MASTER, several

DEFAULT_RUNS = Path("runs")


Command = Callable[[argparse.Namespace, Console], int]

Adder = Callable[[str, Command, str], argparse.ArgumentParser]
"""Adds a command by its name, its function and one line of help."""


def add_releases(command: argparse.ArgumentParser, default: str) -> None:
    """Add ``--release``."""
    command.add_argument(
        "--release", type=several(RELEASE), default=(), metavar="R,R", help=f"of {RELEASES_SAID}; default: {default}"
    )


def add_settings(command: argparse.ArgumentParser, *, of_incident: bool = True) -> None:
    """Add the user's own settings; of an incident, whose own values win over the file's."""
    wins = "; an incident's own values win over it" if of_incident else ""
    command.add_argument("--broker-conf", type=FILE, metavar="FILE", help=f"your own broker.conf{wins}")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PREFIX.KEY=VALUE",
        help="one setting: broker.KEY of its broker.conf, broker-jvm.KEY as -DKEY of its JVM, client.KEY of producers and "
        "consumers (a KEY with a dot: as -DKEY of their JVM); may be repeated",
    )


def add_access(command: argparse._ActionsContainer) -> None:
    """Add how a cluster that is there already lets one in."""
    command.add_argument(
        "--credentials",
        type=FILE,
        metavar="FILE",
        help="with an accessKey and a secretKey, as RocketMQ's conf/tools.yml, where brokers ask who sends a request",
    )
    command.add_argument("--tls", action="store_true", help="speak TLS to name servers and brokers")
    command.add_argument(
        "--tls-ca", type=FILE, metavar="FILE", help="and take only certificates that one of this PEM file has signed"
    )


def access_of(options: argparse.Namespace) -> Access:
    """What ``add_access`` asked for. Raises ConfigurationError: the file has no keys."""
    access = Access(credentials=options.credentials, tls=options.tls or bool(options.tls_ca), tls_ca=options.tls_ca)
    access.keys()
    return access


def add_bundle(command: argparse.ArgumentParser) -> None:
    """Add ``--bundle``."""
    command.add_argument(
        "--bundle", type=NEW_BUNDLE, metavar="FILE.tar.gz", help="pack all of the run into one file, which "
        "`mqlab reproduce FILE.tar.gz` replays on another machine and compares",
    )  # fmt: skip


def add_analysis(command: argparse.ArgumentParser) -> None:
    """Add what every command that judges takes."""
    command.add_argument(
        "--strict", action="store_true", help="exit 1 on a mismatch with an expectation, 2 on undecided"
    )
    add_spark(command)
    command.add_argument("--json", action="store_true", help="print the findings as JSON on standard output")


def add_spark(command: argparse._ActionsContainer) -> None:
    """Add where the analysis runs, and by which settings."""
    command.add_argument("--spark-master", type=SPARK_MASTER, metavar="URL", help="default: this machine")
    add_spark_conf(command, "one of Spark's own settings, before ours and the master's")


def add_spark_conf(command: argparse._ActionsContainer, text: str) -> None:
    """Add ``--spark-conf`` alone."""
    command.add_argument(
        "--spark-conf", type=SPARK_CONF, action=_Settings, default={}, metavar="spark.KEY=VALUE",
        help=f"{text}; may be repeated",
    )  # fmt: skip


class _Settings(argparse.Action):
    """A dictionary of pairs, each key once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        key, value = values
        found: Mapping[str, str] = getattr(namespace, self.dest)
        if key in found:
            raise argparse.ArgumentError(self, f"{key} is given twice")
        setattr(namespace, self.dest, {**found, key: value})


def read_settings(options: argparse.Namespace, releases: Sequence[str], console: Console) -> UserSettings:
    """The user's own settings; what of a broker.conf a release does not read, or reads in another way, is named.

    A value goes into the lab as RocketMQ reads it, where all releases agree on that: a truth value in small letters, and none where
    the default stays.
    """
    conf = read_conf(options.broker_conf) if options.broker_conf else ConfFile()
    judged = [judge_file(conf, release) for release in releases]
    said = [one.says for one in conf.oddities]
    for file in judged:
        unknown = [one.key for one in file.of(Fate.UNKNOWN)]
        said += [f"RocketMQ {file.release} does not know and ignores: {', '.join(unknown)}"] if unknown else []
        said += [f"{one.at}: {one.says}" for one in file.keys if one.says and one.fate is not Fate.UNKNOWN]
    sets = parse_sets(options.set, releases)
    for release in releases:
        given = judge_file(conf_of({**dict.fromkeys(IDENTITY, ""), **sets.broker}), release)
        said += [f"--set broker.{one.key}: {one.says}" for one in given.of(Fate.DEAD)]
    for text in dict.fromkeys(said):
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
    return replace(sets, broker={**_as_read(conf, judged), **sets.broker})


def _as_read(conf: ConfFile, judged: Sequence[JudgedConf]) -> dict[str, str]:
    found = conf.settings
    for key in conf.entries:
        of_key = [one for file in judged for one in file.keys if one.key == key]
        if of_key and all(one.fate is Fate.IGNORED for one in of_key):
            del found[key]
        elif of_key and {one.value for one in of_key} <= {"true", "false"} and len({one.value for one in of_key}) == 1:
            found[key] = str(of_key[0].value)
    return found


def write_new(path: Path, text: str) -> None:
    """Write a file that the user asked for. Raises UsageError."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", advice="Choose another file.") from error


def print_json(value: object) -> None:
    """Print one value as JSON on standard output."""
    print(json.dumps(value, indent=1, default=str))


def add_backend_options(command: argparse.ArgumentParser) -> None:
    """``--backend`` and ``--image``."""
    command.add_argument(
        "--backend",
        choices=tuple(ABILITIES),
        default="local",
        help="processes of this host, or containers; default: local",
    )
    command.add_argument(
        "--image",
        type=IMAGE,
        default=None,
        metavar="IMAGE",
        help="with compose: the image, for example apache/rocketmq; default: ours (`mqlab cluster image`), built if need be",
    )
