"""What changed between two releases in the code that expectations name: by their class files, not by what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from harness.errors import ReleaseError
from harness.releases.class_file import Method, class_names, class_of, has_class, methods, names, texts

_NAMED = re.compile(r"org\.apache\.rocketmq(?:\.[\w$]+)+")


@dataclass(frozen=True, kw_only=True)
class CodeChange:
    """``changed`` are the methods of the class that differ, added and removed ones too.

    ``concerned`` says whether what was named is among them: the method, of a field one that sets it at the start, of a
    class any.
    """

    name: str
    changed: tuple[str, ...]
    concerned: bool


def names_in(source: str) -> tuple[str, ...]:
    """The classes and members that an expectation's source names, as they stand there."""
    return tuple(dict.fromkeys(_NAMED.findall(source)))


def parts_of(name: str) -> tuple[str, str]:
    """A class as a class file names it, and the member, empty where there is none.

    ``...CommitLog.CommitRealTimeService`` is a class in a class: what begins with a capital and has a small letter. Raises
    ReleaseError when no part is a class.
    """
    parts = name.split(".")
    first = next((at for at, part in enumerate(parts) if part[0].isupper()), len(parts))
    if first == len(parts):
        raise ReleaseError(f"{name} names no class")
    last = first
    while last + 1 < len(parts) and re.match(r"[A-Z]\w*[a-z]", parts[last + 1]):
        last += 1
    return ".".join([*parts[:first], "$".join(parts[first : last + 1])]), ".".join(parts[last + 1 :])


def check_is_there(name: str, release: str) -> None:
    """Raises ReleaseError when the release lacks the class, or its file does not have the member's name."""
    class_name, member = parts_of(name)
    if member and member not in _names(release, class_name):
        raise ReleaseError(f"{class_name} of {release} has no {member}")


def compare(name: str, before: str, after: str) -> CodeChange:
    """A class or member in two releases. Raises ReleaseError when one of them lacks it."""
    class_name, member = parts_of(name)
    for release in (before, after):
        check_is_there(name, release)
    old, new = (_digests(release, class_name) for release in (before, after))
    both = old.keys() | new.keys()
    changed = {key[0] for key in both if old.get(key) != new.get(key)}
    is_method = any(key[0] == member for key in both)
    named = changed & ({member} if is_method else {"<init>", "<clinit>"} if member else changed)
    return CodeChange(name=name, changed=tuple(sorted(changed)), concerned=bool(named))


def classes_that_differ(before: str, after: str) -> tuple[CodeChange, ...]:
    """Every class of RocketMQ's own that is not the same bytes in both, with its methods that differ.

    A class that one of them lacks has all methods of the other; one whose code is the same differs in constants or debugging
    information alone, and has none.
    """
    names_of = {release: class_names(release) for release in (before, after)}
    found = []
    for name in sorted({*names_of[before], *names_of[after]}):
        files = [class_of(release, name) if has_class(release, name) else b"" for release in (before, after)]
        if files[0] != files[1]:
            old, new = (
                {(one.name, one.descriptor): one.digest for one in methods(file)} if file else {} for file in files
            )
            changed = {key[0] for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
            found.append(CodeChange(name=name, changed=tuple(sorted(changed)), concerned=bool(changed)))
    return tuple(found)


def rests_on(name: str, release: str) -> frozenset[str]:
    """What is cited, by a digest each: the code of its methods, and of those of RocketMQ that these invoke themselves.

    A method is taken with its lambdas. Of an interface's method there is no code, so that which class carries it out is open.
    Raises ReleaseError when the release lacks the class or the member.
    """
    check_is_there(name, release)
    class_name, member = parts_of(name)
    own = _methods(release, class_name)
    cited = [one for one in own if one.name == member or one.name.startswith(f"lambda${member}$")]
    if not cited:  # a class, or a field, which is set at the start
        cited = [one for one in own if not member or one.name in ("<init>", "<clinit>")]
    invoked = (_invoked(release, *target) for one in cited for target in one.targets)
    return frozenset({one.digest for one in cited} | {digest for digest in invoked if digest})


def calls_of(name: str, release: str) -> frozenset[str]:
    """The names of all methods that what is cited invokes itself. Raises ReleaseError."""
    class_name, member = parts_of(name)
    own = _methods(release, class_name)
    return frozenset(
        call for one in own if not member or one.name.startswith((member, f"lambda${member}$")) for call in one.calls
    )


@cache
def _methods(release: str, class_name: str) -> tuple[Method, ...]:
    return tuple(methods(class_of(release, class_name)))


@cache
def _invoked(release: str, of: str, name: str, descriptor: str) -> str:
    """The digest of a method of RocketMQ's own, wherever above its class it is; empty where none has code."""
    while of.startswith("org/apache/rocketmq/") and not of.startswith("org/apache/rocketmq/logging/"):
        class_name = of.replace("/", ".")
        if not has_class(release, class_name):
            return ""
        for one in _methods(release, class_name):
            if (one.name, one.descriptor) == (name, descriptor):
                return one.digest
        of = names(class_of(release, class_name)).extends
    return ""


@cache
def _names(release: str, class_name: str) -> frozenset[str]:
    return frozenset(texts(class_of(release, class_name)))


@cache
def _digests(release: str, class_name: str) -> Mapping[tuple[str, str], str]:
    return {(method.name, method.descriptor): method.digest for method in _methods(release, class_name)}
