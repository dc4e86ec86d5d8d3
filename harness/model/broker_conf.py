"""What a release's broker makes of its broker.conf, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from harness.language import phrase
from harness.printable import excerpt


class Fate(StrEnum):
    """What a broker does with a key of its file."""

    READ = "read"
    IGNORED = "value ignored"
    """It knows the key and cannot make its type of the value: the default stays, without a word."""
    DEAD = "read by nothing"
    """It takes the value, and none of its code asks for it."""
    UNKNOWN = "not read"


SET_TWICE, BYTE_ORDER_MARK, COMMENT, NOT_ASCII, BACKSLASH = (
    "set-twice",
    "byte-order-mark",
    "comment-in-value",
    "not-ascii",
    "backslash",
)
"""Kinds of oddities."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A key of a properties file: its value as Java reads it, and the line that it begins in, 0 where it is of no file."""

    text: str
    line: int = 0


@dataclass(frozen=True, kw_only=True)
class Oddity:
    """Something about a file that no release reads as its writer meant it. ``kind`` is stable; ``key`` is empty of the whole
    file."""

    kind: str
    line: int
    key: str
    says: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class ConfFile:
    """A broker.conf as Java's properties have it, before any release has read it. ``name`` is the file's."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    oddities: tuple[Oddity, ...] = ()
    name: str = ""

    @property
    def settings(self) -> dict[str, str]:
        """The values by their keys."""
        return {key: entry.text for key, entry in self.entries.items()}


def conf_of(settings: Mapping[str, str]) -> ConfFile:
    """Settings that stand in no file."""
    return ConfFile(entries={key: Entry(text=text) for key, text in settings.items()})


@dataclass(frozen=True, kw_only=True)
class JudgedKey:
    """A key on a release. ``value`` is what the broker has for it afterwards, None where it has no such setting, and empty
    where its machine decides; ``says`` is a sentence, empty for a key that is read as it was meant."""

    key: str
    text: str
    line: int
    fate: Fate
    value: str | None
    says: str = ""
    advice: str = ""

    @property
    def at(self) -> str:
        """``line 6: brokerIP1``, or the key alone where it is of no file."""
        return phrase("line {line}: {key}", line=self.line, key=excerpt(self.key)) if self.line else excerpt(self.key)


@dataclass(frozen=True, kw_only=True)
class JudgedConf:
    """A file on a release, its keys in the file's order."""

    release: str
    keys: tuple[JudgedKey, ...]

    @property
    def in_force(self) -> dict[str, str]:
        """What the broker goes by, of the settings that the file names: defaults where it ignores a value."""
        read = {one.key: one.value or "" for one in self.of(Fate.READ)}
        return read | {one.key: one.value for one in self.of(Fate.IGNORED) if one.value}

    def of(self, fate: Fate) -> list[JudgedKey]:
        """The keys that this becomes of."""
        return [one for one in self.keys if one.fate is fate]
