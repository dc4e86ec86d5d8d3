"""What becomes of settings by an upgrade: which are ignored, which come into force, and whose default is another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from harness.language import joined, phrase
from harness.model.broker_conf import Fate, JudgedConf

RENAMED: Mapping[str, str] = {"haSlaveFallbehindMax": "haMaxGapNotInSync"}
"""By a setting that a later release does not have, the one that stands for the same (MessageStoreConfig of 4.9.7 and 5.x)."""

UNTOLD = ("", "?")
"""No default that could be compared: of each machine's own, or not told by its class."""


@dataclass(frozen=True, kw_only=True)
class DefaultChanged:
    """A default; ``yours`` is what the user's broker.conf sets instead, None where it does not."""

    name: str
    before: str
    after: str
    yours: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeyChanged:
    """What becomes of a key of the user's broker.conf: ``at`` names its line, ``details`` what to do."""

    at: str
    says: str
    details: tuple[str, ...] = ()
    comes: bool = False
    """Whether it was ignored before and is read from then on: nobody has ever run with it."""


@dataclass(frozen=True, kw_only=True)
class ConfChanged:
    """A broker.conf that goes from one release to the other.

    ``keys`` are its keys that are read otherwise, or not as they were meant; ``comes`` and ``goes`` what the file brings about on
    one of the two alone, and ``stays`` on both: each a sentence and what to do.
    """

    keys: tuple[KeyChanged, ...] = ()
    comes: tuple[tuple[str, str], ...] = ()
    goes: tuple[tuple[str, str], ...] = ()
    stays: tuple[tuple[str, str], ...] = ()
    oddities: tuple[tuple[str, str], ...] = ()
    """What no release reads as it was meant."""
    urgent: tuple[tuple[str, str], ...] = ()
    """What of ``keys`` and ``stays`` loses messages, opens a door, or keeps a broker from starting, on the newer release."""
    in_force: Mapping[str, str] = field(default_factory=dict)
    """What the newer release goes by of it."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """What it is set to on the newer release, of the settings that turn whole parts of a broker on; without those that its group
    or a controller decides."""
    given: tuple[str, ...] = ()
    """The keys that it has."""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By what the file brings about the claims that say the same, and have figures of it."""
    others: tuple[str, ...] = ()
    """Its keys whose values the newer release reads, and that are not its defaults, with which the record was measured."""


@dataclass(frozen=True, kw_only=True)
class SettingsChanged:
    """Of brokers and clients. ``conf`` is of the user's own broker.conf, None where none was given."""

    conf: ConfChanged | None = None
    broker: tuple[DefaultChanged, ...] = ()
    broker_gone: tuple[str, ...] = ()
    broker_dead: tuple[str, ...] = ()
    """Known to both releases, and read by nothing in the newer one alone."""
    broker_new: int = 0
    client: tuple[DefaultChanged, ...] = ()
    codes_new: Mapping[str, str] | None = None
    codes_gone: Mapping[str, str] | None = None


_Of = tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]


def settings_changed(
    before: _Of,
    after: _Of,
    yours: tuple[JudgedConf, JudgedConf] | None = None,
    *,
    dead: tuple[Collection[str], Collection[str]] = ((), ()),
) -> SettingsChanged:
    """From the defaults of brokers and of clients, and the codes of answers, of both releases.

    ``yours`` is the user's broker.conf as each of the two reads it, ``dead`` the keys of brokers that nothing of a release reads.
    """
    (old, old_client, old_codes), (new, new_client, new_codes) = before, after
    given = {one.key: one.text for one in yours[1].keys} if yours else {}
    return SettingsChanged(
        conf=ConfChanged(keys=tuple(_keys(*yours)), given=tuple(given)) if yours else None,
        broker=_defaults(old, new, given),
        broker_gone=tuple(sorted(old.keys() - new.keys())),
        broker_dead=tuple(sorted({*dead[1]} & new.keys() & old.keys() - {*dead[0]})),
        broker_new=len(new.keys() - old.keys()),
        client=_defaults(old_client, new_client, {}),
        codes_new={name: code for name, code in new_codes.items() if name not in old_codes},
        codes_gone={name: code for name, code in old_codes.items() if name not in new_codes},
    )


def _keys(before: JudgedConf, after: JudgedConf) -> Iterator[KeyChanged]:
    old, new = before.release, after.release
    for was, now in zip(before.keys, after.keys, strict=True):
        details = (now.advice,) if now.advice else ()
        if now.key in RENAMED and now.fate is Fate.UNKNOWN and was.fate is Fate.READ:
            yield KeyChanged(
                at=now.at,
                says=phrase(
                    "is {name} in {release}, which ignores the old name without a word",
                    name=RENAMED[now.key],
                    release=new,
                ),
                details=(phrase("Write {name}.", name=RENAMED[now.key]),),
            )
        elif Fate.UNKNOWN is was.fate is now.fate:
            yield KeyChanged(at=now.at, says=phrase("neither release knows it in a broker.conf"), details=details)
        elif now.fate is Fate.UNKNOWN:
            yield KeyChanged(
                at=now.at, says=phrase("{says}, and ignores it without a word", says=phrase(now.says)), details=details
            )
        elif now.fate is Fate.READ and was.fate is not Fate.READ:
            since = phrase("the value") if was.fate is Fate.IGNORED else phrase("it")
            as_false = phrase(" as {value}", value=now.value) if now.says else ""
            yield KeyChanged(
                at=now.at,
                says=phrase(
                    "{before} ignored {what}, and it comes into force{as_false} with {after}",
                    before=old,
                    what=since,
                    as_false=as_false,
                    after=new,
                ),
                details=details,
                comes=True,
            )
        elif now.fate is Fate.READ and was.value != now.value and now.value is not None:
            yield KeyChanged(
                at=now.at,
                says=phrase(
                    "{before} reads {was}, {after} reads {now}", before=old, was=was.value, after=new, now=now.value
                ),
                details=details,
            )
        elif now.fate in (Fate.DEAD, Fate.IGNORED) and now.fate is not was.fate:
            read = phrase(", while {release} goes by it", release=old) if was.fate is Fate.READ else ""
            yield KeyChanged(at=now.at, says=joined("", (now.says, read)), details=details)
        elif now.says:
            yield KeyChanged(
                at=now.at, says=phrase("{says}, as {release} does", says=phrase(now.says), release=old), details=details
            )


def _defaults(old: Mapping[str, str], new: Mapping[str, str], given: Mapping[str, str]) -> tuple[DefaultChanged, ...]:
    return tuple(
        DefaultChanged(name=name, before=old[name], after=new[name], yours=given.get(name))
        for name in sorted(old.keys() & new.keys())
        if old[name] != new[name] and old[name] not in UNTOLD and new[name] not in UNTOLD
    )
