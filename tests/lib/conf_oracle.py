"""What a release's own ``MixAll.properties2Object`` makes of a broker.conf when it is run, and files to ask it of.

``python -m tests.lib.conf_oracle [RELEASE...]`` asks the releases whose stock files are in tests/data/conf, or some of them, of
their own ones, and writes the answers beside them. Maven (``mvn``) resolves the jars of releases that have no lock.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_plus

import javaproperties

from harness.errors import ConfigurationError
from harness.releases.compile import compiled_classes
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.java import find_java
from harness.releases.judged_conf import judge_file
from harness.releases.properties import read_conf
from harness.releases.settings import BROKER, PLUG_IN, ROCKETMQ, settings_of

DATA = Path(__file__).parents[1] / "data" / "conf"
STOCK = DATA / "stock.tar.xz"
"""The files in ``conf`` of eight releases, by their keys and values: brokers', name servers', controllers', containers'."""
ANSWERS = DATA / "answers.json"
"""By release, key and text what the release's own classes made of its own files, as ``write_answers`` leaves it."""

HARD_VALUES = (
    "", " ", "1 ", "+5", "-0", "0x10", "1L", "1_000", "1e3", "1.", ".5", "NaN", "-Infinity", "0x1.8p1", "1d", "3F", "2147483647",
    "2147483648", "-9223372036854775809", "true ", "TRUE", "True", "yes", "on", "\u0663", "\u0661\u0662", "\xe9", "ASYNC_FLUSH",
    "sync_flush", "SLAVE ", "0.95", "1.0E-5", "123456789.125", "8 # tuned", "\t7", "a\\b", "4M", "1,000", "null", "LOG", "2",
)  # fmt: skip
"""Texts that Java's conversions take or refuse in ways of their own."""

HARD_SYNTAX = (
    rb"""! made by a script
  # and by hand
brokerName : kiwi-a
brokerId 7
brokerClusterName
namesrvAddr = 192.0.2.40:9876;\
   192.0.2.41:9876
flushDiskType\
   =\
   SYNC_FLUSH
maxMessageSize=1
maxMessageSize=\u0032\u0030
auto\CreateTopicEnable=TR\UE
messageDelayLevel=1s\ 5s\
# no comment
waitTimeMillsInSendQueue=300\\
=nothing
broker\:Role=SLAVE
\u0062rokerPermission=4
regionId=caf"""
    + b"\xe9 \xb6\xab\xb7\xbd\r\ndeleteWhen=\t 04 \rfileReservedTime=\x0c12\n\\\n\nbrokerIP1=10.0.0.1 #no\\"
)
"""A properties file as nobody would write it, with bytes that are no ASCII, and every end of a line."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Of a key: whether a class asked for it, and what the class had before and afterwards."""

    asked: bool
    before: str
    after: str


def stock(folder: Path) -> dict[str, list[Path]]:
    """The stock files, unpacked into a folder, by their releases."""
    with tarfile.open(STOCK) as archive:
        archive.extractall(folder, filter="data")
    return {one.name: sorted(path for path in one.rglob("*") if path.is_file()) for one in sorted(folder.iterdir())}


def is_brokers(path: Path) -> bool:
    """Whether the judge takes it for a broker's."""
    try:
        judge_file(read_conf(path), recorded_releases()[-1])
    except ConfigurationError:
        return False
    return True


def hard_files(folder: Path, release: str) -> list[Path]:
    """Files that give each hard value to every setting of a release, and one of hard syntax."""
    folder.mkdir()
    keys = [*settings_of(release).kinds, "noSuchKey", "BrokerName", "rmqAddressServer"]
    found = []
    for number, value in enumerate(HARD_VALUES):
        found.append(folder / f"value-{number}.conf")
        found[-1].write_text(javaproperties.dumps(dict.fromkeys(keys, value), timestamp=False), "ascii")
    (folder / "syntax.conf").write_bytes(HARD_SYNTAX)
    return [*found, folder / "syntax.conf"]


def asked(release: str, files: Iterable[Path], jars: Sequence[Path]) -> Mapping[Path, Mapping[str, Answer]]:
    """The answers of a release's own classes about files, by one JVM for all of them."""
    java = find_java()
    classes = compiled_classes(DATA / "oracle", jars, java)
    beans = [f"{ROCKETMQ}.{name}" for name in BROKER if name not in PLUG_IN]
    run = subprocess.run(
        [str(java.executable), "-cp", os.pathsep.join(map(str, (classes, *jars))), "ConfOracle", *beans],
        input="\n".join(map(str, files)), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found: dict[Path, dict[str, Answer]] = {path: {} for path in files}
    for line in run.stdout.splitlines():
        if line.count("\t") == 4:
            path, key, fate, before, after = line.split("\t")
            answer = Answer(asked=fate == "asked", before=unquote_plus(before), after=unquote_plus(after))
            found[Path(path)][unquote_plus(key)] = answer
    return found


@functools.cache
def answers() -> Mapping[str, Mapping[str, Mapping[str, str | None]]]:
    """What is kept of each release about its own stock files: by key and by text the value afterwards, None where no class asked.

    What a class had before is of the machine, and not kept.
    """
    kept: dict[str, dict[str, dict[str, str | None]]] = json.loads(ANSWERS.read_text("utf-8"))
    return kept


def write_answers(releases: Collection[str] = ()) -> None:
    """Ask all eight releases, or some of them, about their own files."""
    kept = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for release, files in stock(Path(folder)).items():
            if releases and release not in releases:
                continue
            jars = ensure_jars(release)
            of_release: dict[str, dict[str, str | None]] = {}
            for path, keys in asked(release, [path for path in files if is_brokers(path)], jars).items():
                texts = read_conf(path).settings
                for key, answer in sorted(keys.items()):
                    of_release.setdefault(key, {})[texts[key]] = answer.after if answer.asked else None
            kept[release] = of_release
    ANSWERS.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    write_answers(sys.argv[1:])
