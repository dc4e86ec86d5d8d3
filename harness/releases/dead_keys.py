"""Settings of a broker that nothing reads: a setter takes the value, and no other class asks for it.

``aclEnable`` is one on releases that have the setter still and the access control lists no more. Told by the class files of a
release's own jars: a key is dead where no class but the bean itself names a method of the bean that reads the setter's field.
What is read for other purposes than to act on it, to be printed or copied, counts as read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.releases.class_file import Method, Names, methods, names

NOT_A_BROKER = ("rocketmq-namesrv-", "rocketmq-tools-")
"""Jars whose code no broker runs."""


def dead_keys(jars: Sequence[Path], beans: Sequence[str]) -> frozenset[str]:
    """Keys that beans have a setter for, which nobody reads; of a key of several beans all have to be so.

    ``beans`` are the names of classes, with dots; one that no jar has is passed over.
    """
    files = dict(_classes(jars))
    known = {name: names(data) for name, data in files.items()}
    dead: set[str] = set()
    read: set[str] = set()
    for bean in beans:
        family = list(_family(bean.replace(".", "/"), known))
        of_family = [method for name in family for method in methods(files[name])]
        asked = _asked_for(family, known)
        for method in of_family:
            if re.fullmatch(r"set\w+", method.name):
                (read if _is_read(method, of_family, asked) else dead).add(key_of(method.name))
    return frozenset(dead - read)


def key_of(setter: str) -> str:
    """The key by which ``MixAll.properties2Object`` calls a setter: it makes the first letter after ``set`` a small one."""
    return setter[3].lower() + setter[4:]


def _classes(jars: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for jar in jars:
        if "rocketmq-" in jar.name and not jar.name.startswith(NOT_A_BROKER):
            with zipfile.ZipFile(jar) as archive:
                for entry in archive.namelist():
                    if entry.endswith(".class"):
                        yield entry.removesuffix(".class"), archive.read(entry)


def _family(name: str, known: Mapping[str, Names]) -> Iterator[str]:
    """A class and those that it extends, as far as they are RocketMQ's own, each once also where they extend each other."""
    seen: set[str] = set()
    while name in known and name not in seen:
        seen.add(name)
        yield name
        name = known[name].extends


def _asked_for(family: Sequence[str], known: Mapping[str, Names]) -> frozenset[str]:
    """The names of fields and methods of the family that other classes name; a subclass is no other class."""
    members = {*family}
    below = {name for name in known if members & {*_family(name, known)}}
    return frozenset(
        member for name, one in known.items() if name not in below for of, member in one.members if of in below
    )


def _is_read(setter: Method, family: Sequence[Method], asked: frozenset[str]) -> bool:
    fields = {*setter.puts}
    for method in family:
        # A setter that takes a text may call the one that takes what the text stands for.
        if method.name in setter.calls and method.name.startswith("set"):
            fields |= {*method.puts}
    if not fields:
        return bool(setter.calls)
    reads = fields | {method.name for method in family if not method.name.startswith("set") and fields & {*method.gets}}
    while more := {one.name for one in family if reads & {*one.calls} and not one.name.startswith("set")} - reads:
        reads |= more
    return bool(reads & asked)
