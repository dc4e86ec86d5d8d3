"""Which classes read a setting, and settings of a broker that nothing reads: no class but the bean's own asks for the value.

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
    return frozenset(key for key, readers in readers_of(jars, beans).items() if not readers)


def readers_of(jars: Sequence[Path], beans: Sequence[str], *, by_getters: bool = False) -> dict[str, set[str]]:
    """By each key that beans have a setter for the classes that ask for its value, with slashes; ``beans`` as in ``dead_keys``.

    ``by_getters`` leaves out who asks for all values at once, to copy or to print them.
    """
    files = dict(_classes(jars))
    known = {name: names(data) for name, data in files.items()}
    found: dict[str, set[str]] = {}
    for bean in beans:
        family = list(_family(bean.replace(".", "/"), known))
        of_family = [method for name in family for method in methods(files[name])]
        asking = _asking(family, known)
        for method in of_family:
            if re.fullmatch(r"set\w+", method.name):
                readers = found.setdefault(key_of(method.name), set())
                for member in _ways_out(method, of_family):
                    if not by_getters or re.match(r"get|is", member):
                        readers |= asking.get(member, set())
    return found


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


def _asking(family: Sequence[str], known: Mapping[str, Names]) -> Mapping[str, set[str]]:
    """By the names of fields and methods of the family the other classes that name them; a subclass is no other class."""
    members = {*family}
    below = {name for name in known if members & {*_family(name, known)}}
    found: dict[str, set[str]] = {}
    for name, one in known.items():
        if name not in below:
            for of, member in one.members:
                if of in below:
                    found.setdefault(member, set()).add(name)
    return found


def _ways_out(setter: Method, family: Sequence[Method]) -> frozenset[str]:
    """The fields and methods of the family that have what a setter was given."""
    fields = {*setter.puts}
    for method in family:
        # A setter that takes a text may call the one that takes what the text stands for.
        if method.name in setter.calls and method.name.startswith("set"):
            fields |= {*method.puts}
    if not fields:
        # It hands the value on, to whom is not looked for; whoever sets it stands for whoever reads it.
        return frozenset({setter.name}) if setter.calls else frozenset()
    reads = fields | {method.name for method in family if not method.name.startswith("set") and fields & {*method.gets}}
    while more := {one.name for one in family if reads & {*one.calls} and not one.name.startswith("set")} - reads:
        reads |= more
    return frozenset(reads)
