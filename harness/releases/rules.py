"""Which of our Byteman rules find their method in a release: one that meets none would be without effect, and say nothing."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from harness.releases.class_file import class_of, has_class, methods
from harness.releases.compile import RULE_SOURCES

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


@cache
def _methods(release: str, class_name: str) -> frozenset[str]:
    if not has_class(release, class_name):
        return frozenset()
    return frozenset(method.name for method in methods(class_of(release, class_name)))
