"""Which classes of a release read a setting: read from the class files, kept as data::

    python -m harness.releases.readers

Kept are those of the releases with a lock, a line of JSON each. What a setting does is in these classes; a key that very many of
them read is told without their names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.program import carried_out
from harness.releases.dead_keys import readers_of
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.settings import BROKER, CLIENT, ROCKETMQ

FILE = Path(__file__).with_name("readers.jsonl")
READERS_MAX = 8
"""Classes that are kept of a key; a key that more read, such as brokerName, is told by its name already."""
BEANS = {"broker": BROKER, "client": CLIENT}


@cache
def all_readers() -> Mapping[tuple[str, str], Mapping[str, Sequence[str]]]:
    """By ``broker`` or ``client`` and the key the classes, without RocketMQ's own prefix, each with its releases, oldest first."""
    found: dict[tuple[str, str], dict[str, Sequence[str]]] = {}
    for line in FILE.read_text("utf-8").splitlines():
        whose, key, name, releases = json.loads(line)
        found.setdefault((whose, key), {})[name] = releases
    return found


def read_readers(release: str, whose: str) -> dict[str, list[str]]:
    """By key those of a release, asked of its class files. Raises ReleaseError: its jars cannot be had."""
    beans = [f"{ROCKETMQ}.{name}" for name in BEANS[whose]]
    found = readers_of(ensure_jars(release), beans, by_getters=True)
    prefix = f"{ROCKETMQ}."
    return {
        key: sorted({name.replace("/", ".").removeprefix(prefix).partition("$")[0] for name in names})
        for key, names in found.items()
    }


def main(_: Sequence[str]) -> None:
    """Write the file anew."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for release in recorded_releases():
        for whose in BEANS:
            for key, names in read_readers(release, whose).items():
                for name in names if len(names) <= READERS_MAX else ():
                    found.setdefault((whose, key, name), []).append(release)
    FILE.write_text("".join(json.dumps([*key, of]) + "\n" for key, of in sorted(found.items())), "utf-8")


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "harness.releases.readers", least=0, most=0))
