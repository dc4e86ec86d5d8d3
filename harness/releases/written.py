"""Which class of a release writes a line of a log, or the text of an error: read from the class files, kept as data::

    python -m harness.releases.written

Kept are those of the releases with a lock, a line of JSON each. Texts that are only informative are left out.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from harness.program import carried_out
from harness.releases.class_file import PRINTED, statements
from harness.releases.jars import ensure_jars, recorded_releases

FILE = Path(__file__).with_name("written.jsonl")
TOLD = ("", "error", "warn")
"""Levels that are kept; the empty one is of exceptions and answers."""
OF_A_START = "Startup"
"""What a class with a name that ends so prints is why a node does not start."""
TOLD_AS_INFO = frozenset({"printMasterAndSlaveDiff"})
"""Methods whose informative lines tell of trouble."""
LETTERS_MIN = 6
GAP = re.compile(r"\{\}|%[-+0,]*\d*(?:\.\d+)?[a-zA-Z]")
"""What stands for a value in a text: of SLF4J, and of String.format."""
FIT_LETTERS_MIN = 10
"""A text with fewer is in too many lines."""
_OURS = "org/apache/rocketmq/"
_NOT_OURS = ("shaded/", "logging/ch/")
_URL = re.compile(r"https?://[^\s{]*(?:\{\})?$")
_CLASS = re.compile(r"\[?[\w$]+(/[\w$]+)+;?")


@dataclass(frozen=True, kw_only=True)
class Written:
    """A text with its gaps as ``{}`` or ``%s``, and who writes it.

    ``by`` is the class without RocketMQ's own prefix and the method, as ``store.CommitLog.putMessage``. ``level`` is ``error``,
    ``warn``, ``info`` or ``printed``, and empty for the text of an exception or an answer.
    """

    text: str
    level: str
    by: str
    releases: tuple[str, ...]

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """The text between its gaps."""
        return tuple(part for one in GAP.split(self.text) if (part := one.strip()))

    @cached_property
    def letters(self) -> int:
        """Of what is fixed."""
        return sum(map(letters_in, self.fixed))

    def fits(self, line: str) -> bool:
        """Whether a line has all that is fixed, in this order."""
        at = 0
        for part in self.fixed:
            found = line.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return True


def letters_in(text: str) -> int:
    """How many letters it has."""
    return sum(one.isalpha() for one in text)


@cache
def all_written() -> Sequence[Written]:
    """Those of all releases that are kept."""
    rows = (json.loads(line) for line in FILE.read_text("utf-8").splitlines())
    return [Written(text=text, level=level, by=by, releases=tuple(of)) for text, level, by, of in rows]


def written_in(jars: Iterable[Path], release: str) -> Iterator[Written]:
    """What the classes of a release's own jars write."""
    for jar in jars:
        if "rocketmq-" not in jar.name:
            continue
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                name = entry.removeprefix(_OURS).removesuffix(".class")
                if name in (entry, f"{name}.class") or not entry.endswith(".class") or name.startswith(_NOT_OURS):
                    continue
                for one in statements(archive.read(entry)):
                    # An address of the FAQ is put behind a text at a line of its own, by another class.
                    text = _URL.sub("{}", one.text)
                    is_told = one.level in TOLD or (one.level == "info" and one.method in TOLD_AS_INFO)
                    is_told = is_told or (one.level == PRINTED and name.endswith(OF_A_START))
                    if is_told and letters_in(text) >= LETTERS_MIN and not _CLASS.fullmatch(text):
                        by = f"{name.replace('/', '.')}.{one.method}"
                        yield Written(text=text, level=one.level, by=by, releases=(release,))


def main(_: Sequence[str]) -> None:
    """Write the file anew."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for release in recorded_releases():
        for one in written_in(ensure_jars(release), release):
            of = found.setdefault((one.text, one.level, one.by), [])
            if release not in of:
                of.append(release)
    FILE.write_text("".join(json.dumps([*key, of]) + "\n" for key, of in sorted(found.items())), "utf-8")


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "harness.releases.written", least=0, most=0))
