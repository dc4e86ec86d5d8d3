"""Kinds of values that options take: argparse types that refuse a wrong one with one sentence; help texts show their bounds."""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import os
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from analysis.spark_settings import OURS
from harness.errors import ConfigurationError, UsageError, shown
from harness.model.timed_faults import parse_fault, parse_seconds
from harness.protocol.connection import split_address
from harness.releases.builds import is_path, take_build
from harness.releases.jars import VERSION, known_releases, recorded_releases

T = TypeVar("T")

BUNDLES = (".tar.gz", ".tgz")

NAME_BYTES_MAX = 255
"""Of a file or folder (NAME_MAX of Linux)."""


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[T]):
    """What an option's values are.

    ``read`` makes one of a text. It raises ValueError, OSError or ConfigurationError, or a UsageError that has advice.
    """

    noun: str
    read: Callable[[str], T]
    bounds: str = ""

    def __call__(self, text: str) -> T:
        """Raises ArgumentTypeError, to which argparse adds the option's name."""
        try:
            return self.read(text)
        except (ValueError, OSError, ConfigurationError) as error:
            bounds = f" from {self.bounds}" if self.bounds else ""
            raise argparse.ArgumentTypeError(f"{shown(text)} is not {self.noun}{bounds}") from error


def number(low: float, high: float) -> Kind[float]:
    """A finite number within bounds, which belong to it."""
    return Kind(
        noun="a number", read=lambda text: _within(float(text), low, high), bounds=f"{low:,.12g} to {high:,.12g}"
    )


def whole(low: int, high: int) -> Kind[int]:
    """A whole number within bounds, which belong to it."""
    return Kind(noun="a whole number", read=lambda text: _within(int(text), low, high), bounds=f"{low:,} to {high:,}")


def matching(noun: str, pattern: str) -> Kind[str]:
    """A text of a form, of ASCII alone."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError
        return text

    return Kind(noun=noun, read=read)


def one_of(noun: str, candidates: Callable[[], Sequence[str]]) -> Kind[str]:
    """One of a few names; the refusal of another one names the nearest."""

    def read(text: str) -> str:
        if text not in (known := candidates()):
            raise UsageError.unknown(noun, text, known)
        return text

    return Kind(noun=noun, read=read)


def several(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """Values of a kind, separated by commas; each counts once."""
    return Kind(
        noun=f"a list, each of it {kind.noun}",
        read=lambda text: tuple(dict.fromkeys(kind.read(part) for part in _parts(text))),
        bounds=kind.bounds,
    )


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError
    return parts


def text_of(kind: Kind[T]) -> Kind[str]:
    """A text that could be read as this kind, as it was given."""
    return Kind(noun=kind.noun, read=lambda text: (kind.read(text), text)[1], bounds=kind.bounds)


def _within(value: T, low: float, high: float) -> T:
    if not low <= value <= high:  # type: ignore[operator]
        raise ValueError
    return value


def _existing(is_there: Callable[[Path], bool]) -> Callable[[str], Path]:
    def read(text: str) -> Path:
        path = Path(text)
        if not text or not is_there(path) or not os.access(path, os.R_OK):
            raise ValueError
        return path

    return read


def _is_url(text: str) -> bool:
    return re.fullmatch(r"[a-z][a-z0-9+.-]{1,20}://[ -~]{1,1000}", text, re.ASCII) is not None


def _folder_or_url(text: str) -> Path | str:
    return text if _is_url(text) and not text.startswith("file:") else FOLDER.read(text)


def _new(text: str) -> Path:
    """A path at which something can be made, with every folder above it."""
    path = Path(text)
    if (
        not text.strip()
        or not text.isprintable()
        or any(len(os.fsencode(part)) > NAME_BYTES_MAX for part in path.parts)
    ):
        raise ValueError
    with contextlib.suppress(FileNotFoundError):
        path.stat()
    nearest = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if not os.access(nearest, os.W_OK) or not (nearest.is_dir() or nearest == path.absolute()):
        raise ValueError
    return path


def _new_folder(text: str) -> Path:
    if (path := _new(text)).is_file():
        raise ValueError
    return path


def _new_file(text: str) -> Path:
    if (path := _new(text)).is_dir() or not path.parent.is_dir():
        raise ValueError
    return path


def _new_bundle(text: str) -> Path:
    if not is_bundle(text):
        raise ValueError
    return _new_file(text)


def _new_zip(text: str) -> Path:
    if not text.endswith(".zip"):
        raise ValueError
    return _new_file(text)


def _address(text: str) -> str:
    split_address(text)
    return text


def _name_servers(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_held(part.strip()) for part in re.split(r"[;,]", text)))


def _held(address: str) -> str:
    """The address with what a name means now: it is asked once, so that no later answer leads anywhere else."""
    host, port = split_address(address)
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return address
    # A number alone, and 0x7f.1, are addresses to a resolver, and nobody's name for a host.
    if not re.fullmatch(r"(?:[\w-]+\.)*[a-zA-Z][\w-]*\.?", host, re.ASCII):
        raise ValueError
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"{host} is a name that this machine does not know",
            advice="Give an IP address, or see its DNS and /etc/hosts.",
        ) from error
    ip = next((str(one[4][0]) for one in found if one[0] == socket.AF_INET), str(found[0][4][0]))
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _pair(text: str, name_as: str, length_max: int) -> tuple[str, str]:
    """NAME=VALUE; a value is printable ASCII."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(name_as, name, re.ASCII) or not re.fullmatch(rf"[ -~]{{1,{length_max}}}", value):
        raise ValueError
    return name, value


def _parameter(text: str) -> tuple[str, str]:
    return _pair(text, r"[a-z][a-z0-9_]{0,39}", 40)


def _network(text: str) -> str:
    ipaddress.ip_network(text)
    return text


def _ip(text: str) -> str:
    ipaddress.ip_address(text)
    return text


def _broker(text: str) -> tuple[str, int, str]:
    name, equals, address = text.partition("=")
    if not equals or not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        raise ValueError
    return name, 0, _address(address)


def _spark_master(text: str) -> str:
    if text.startswith("spark://"):
        for address in text.removeprefix("spark://").split(","):
            split_address(address)
    elif not re.fullmatch(r"local(\[(\*|[1-9]\d{0,3})(,[1-9]\d{0,2})?])?|yarn|k8s://[!-~]+", text, re.ASCII):
        raise ValueError
    return text


def _incidents() -> list[str]:
    import scenarios  # a hundred files, which most options do without

    return [incident.name for incident in scenarios.INCIDENTS]


def _incidents_and_families() -> list[str]:
    import scenarios

    return [*_incidents(), *scenarios.FAMILIES]


def is_bundle(word: str) -> bool:
    """Whether a word of the command line names a run in one file."""
    return word.endswith(BUNDLES)


@dataclass(frozen=True)
class Build:
    """A build of the user's own, as it was named: nothing of it is read before ``take_builds``."""

    path: Path


def take_builds(options: argparse.Namespace) -> None:
    """Take in the builds that options name, which have the names of these releases then. Raises UsageError."""
    for name, value in list(vars(options).items()):
        if isinstance(value, Build):
            setattr(options, name, _taken(value))
        elif isinstance(value, list | tuple) and any(isinstance(one, Build) for one in value):
            taken = (_taken(one) if isinstance(one, Build) else one for one in value)
            setattr(options, name, type(value)(dict.fromkeys(taken)))


def _taken(build: Build) -> str:
    try:
        return take_build(build.path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{shown(str(build.path))} is not {RELEASE.noun}", advice="Give another path.") from error


def names_a_build(options: argparse.Namespace) -> bool:
    """Whether an option names a build by its path."""
    values = (value if isinstance(value, list | tuple) else (value,) for value in vars(options).values())
    return any(isinstance(one, Build) for several_or_one in values for one in several_or_one)


def _release(text: str) -> str | Build:
    if is_path(text):
        return Build(Path(text))
    if not VERSION.fullmatch(text):
        raise UsageError.unknown("release", text, known_releases())
    return text


def _spark_conf(text: str) -> tuple[str, str]:
    key, value = _pair(text, r"spark\.[\w.-]{1,200}", 4000)
    if key in OURS:
        raise UsageError(f"{key} is the lab's own", advice="Leave it out; the master is given by --spark-master.")
    return key, value


PORT = replace(whole(1, 65_535), noun="a port")
HOURS = replace(number(0.01, 8_760), noun="a number of hours")
SECONDS = replace(number(0, 86_400), noun="a number of seconds")
MILLISECONDS = replace(number(0.001, 86_400_000), noun="a number of milliseconds")
SEED = whole(0, 2**63 - 1)
RATE = number(0.001, 1_000_000)

FAULT = Kind(noun="NAME[:VALUE[,KEY=VALUE...]]@TIME", read=parse_fault)
DURATION = Kind(noun="a time like 60s", read=parse_seconds)

RELEASE = Kind(noun="a release, nor a build that can be read", read=_release)
"""The name of a release that is recorded, or that is learned when it is used first, or a build, until ``take_builds``."""
RELEASES_SAID = "{recorded}, another one of Maven Central, or the path of a build".format(
    recorded=", ".join(recorded_releases())
)
"""What an option's help says of it."""
_OF_THE_LAB = one_of("incident", _incidents)
_OR_A_FAMILY = one_of("incident", _incidents_and_families)
RECORDED = matching("a release such as 4.6.0", r"\d{1,3}(\.\d{1,3}){1,3}([.-][A-Za-z0-9.-]{1,40})?")
"""Of a record, which may hold others than those of ``recorded_releases``."""
NAME = matching("a name", r"[\w.-]{1,100}")
NAMES = several(NAME)
PARAMETER = Kind(noun="NAME=VALUE", read=_parameter)
SENTENCE = matching("a sentence of 10 to 500 characters", r"[!-~][ -~]{9,499}")

PART = matching("a part such as 2/4", r"[1-9]\d{0,2}/[1-9]\d{0,2}")

FILE = Kind(noun="a file that can be read", read=_existing(Path.is_file))
FOLDER = Kind(noun="a folder that can be read", read=_existing(Path.is_dir))
FOLDER_OR_URL = Kind(
    noun="a run's folder that can be read, nor a URL such as hdfs://HOST:PORT/PATH", read=_folder_or_url
)
FILE_OR_FOLDER = Kind(
    noun="a file or folder that can be read", read=_existing(lambda path: path.is_file() or path.is_dir())
)
LOGS_OR_URL = Kind(
    noun="a file or folder that can be read, nor a URL such as hdfs://HOST:PORT/PATH",
    read=lambda text: text if _is_url(text) else FILE_OR_FOLDER.read(text),
)
INCIDENT = Kind(
    noun="an incident, nor a file of your own that can be read",
    read=lambda text: str(FILE.read(text)) if text.endswith(".py") else _OF_THE_LAB.read(text),
)
INCIDENTS = Kind(
    noun="an incident, a family of claims, nor a file of your own that can be read",
    read=lambda text: str(FILE.read(text)) if text.endswith(".py") else _OR_A_FAMILY.read(text),
)
NEW_FOLDER = Kind(noun="a folder that can be made or written to", read=_new_folder)
NEW_FILE = Kind(noun="a file that can be written in a folder that exists", read=_new_file)

NEW_ZIP = Kind(noun="a file.zip that can be written in a folder that exists", read=_new_zip)
NEW_BUNDLE = Kind(noun="a file.tar.gz that can be written in a folder that exists", read=_new_bundle)
INCIDENT_OR_BUNDLE = Kind(
    noun="an incident, nor a file of your own or a bundle that can be read",
    read=lambda text: str(FILE.read(text)) if is_bundle(text) else INCIDENT.read(text),
)

ADDRESS = Kind(noun="HOST:PORT", read=_address)
NAME_SERVERS = Kind(noun="HOST:PORT, several with ; or , between them", read=_name_servers)
IP_ADDRESS = Kind(noun="an IP address", read=_ip)
NETWORK = Kind(noun="a network like 192.168.7.0/24", read=_network)
BROKER = Kind(noun="NAME=HOST:PORT", read=_broker)
SPARK_MASTER = Kind(noun="local, local[N], local[*], yarn, spark://HOST:PORT or k8s://URL", read=_spark_master)
SPARK_CONF = Kind(noun="spark.KEY=VALUE", read=_spark_conf)
IMAGE = matching("the name of an image", r"[a-zA-Z0-9][\w./:@-]{0,254}")
TOPIC = matching("a topic's name (letters, digits, %, |, _ and -, at most 127)", r"[%|\w-]{1,127}")
"""``TopicValidator`` of org.apache.rocketmq.common.topic."""
RUN_NAME = matching("a name (letters, digits, ., _ and -, at most 64)", r"[\w.-]{1,64}")
