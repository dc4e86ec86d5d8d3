"""Which of our Byteman rules find their method in a release: one that meets none would be without effect, and say nothing."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from harness.errors import ConfigurationError, shown
from harness.model.faults import JavaRule
from harness.printable import printable
from harness.releases.class_file import class_of, has_class, methods
from harness.releases.compile import RULE_SOURCES, compiled_classes
from harness.releases.jars import TOOLS, ensure_jars
from harness.releases.java import Java, ended

_RULE = re.compile(r"^RULE ([^,\n]+).*\nCLASS (\S+)\nMETHOD (\S+)$", re.MULTILINE)


def rules_of(file: Path) -> list[tuple[str, str, str]]:
    """What each rule of a file is about, a class and a method; several with the same first words are of several releases."""
    return _RULE.findall(file.read_text("utf-8"))


@cache
def unmet_rules(release: str, name: str) -> tuple[str, ...]:
    """What rules of the file of that name are about that meet no method of the release, each with where it was looked for.

    Raises as ``ensure_jars`` does.
    """
    (file,) = RULE_SOURCES.rglob(f"{name}.btm")
    rules = rules_of(file)
    met = {what for what, of, method in rules if method in _methods(release, of)}
    places: dict[str, list[str]] = {}
    for what, of, method in dict.fromkeys(rules):
        if what not in met:
            places.setdefault(what, []).append(f"{of}.{method}")
    return tuple(f"{what}, in {' or '.join(of)}" for what, of in places.items())


CHECKER = "org.jboss.byteman.check.TestScript"
CHECK_S_MAX = 60.0
_TYPE_ERROR = re.compile(
    r"^org\.jboss\.byteman\.rule\.exception\.TypeException: (.*?)(?: +file \S+ line \d+)?$", re.MULTILINE
)


def own_rules(rules: Iterable[JavaRule], release: str) -> str:
    """These rules for Byteman, with those of their places that the release has.

    Raises ConfigurationError where it has none of one's, and what ``ensure_jars`` does.
    """
    return "".join(_own_rule(rule, release) for rule in rules)


def _own_rule(rule: JavaRule, release: str) -> str:
    there = [place for place in rule.places if _is_there(place, release)]
    if not there:
        raise ConfigurationError(f"{release} has no method {' or '.join(rule.places)}, which a JavaRule is about")
    return "".join(
        f"RULE {rule.word} {number}\nCLASS {place.rpartition('.')[0]}\nMETHOD {place.rpartition('.')[2]}\n"
        f"HELPER mqlab.RuleHelper\nAT {rule.at}\n"
        f'IF isOn("{rule.word}") && ({rule.when}) && takes("{rule.word}")\nDO {rule.does}\nENDRULE\n'
        for number, place in enumerate(there, 1)
    )


def _is_there(place: str, release: str) -> bool:
    owner, _, method = place.rpartition(".")
    return method in _methods(release, owner)


def check_own_rules(rules: Iterable[JavaRule], release: str, java: Java) -> None:
    """Have Byteman read each with the release's classes. Raises ConfigurationError with what it says, and as ``own_rules``."""
    tools = ensure_jars(TOOLS)
    classes = (compiled_classes(RULE_SOURCES, tools, java), *tools, *ensure_jars(release))
    for rule in dict.fromkeys(rules):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "own.btm"
            file.write_text(own_rules([rule], release), encoding="utf-8")
            command = [str(java.executable), "-cp", os.pathsep.join(map(str, classes)), CHECKER, str(file)]
            done = ended(command, "Byteman's check of a rule", seconds=CHECK_S_MAX)
        printed = done.stdout + done.stderr
        if "ERROR" in printed:
            why = _TYPE_ERROR.search(printed)
            raise ConfigurationError(
                f"the JavaRule about {' or '.join(rule.places)} is none on {release}: "
                f"{printable(why[1]) if why else f'Byteman cannot parse {shown(rule.when)} and {shown(rule.does)}'}",
                advice="Its when is a condition and its does are statements as Byteman's rules have them.",
            )


@cache
def _methods(release: str, class_name: str) -> frozenset[str]:
    if not has_class(release, class_name):
        return frozenset()
    return frozenset(method.name for method in methods(class_of(release, class_name)))
