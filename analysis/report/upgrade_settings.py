"""What becomes of settings by an upgrade: which are ignored, which come into force, and whose default is another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
class SettingsChanged:
    """Of brokers and clients. The first four are of the user's own broker.conf, and empty where none was given."""

    has_conf: bool = False
    ignored: tuple[str, ...] = ()
    """Known to the older release and not to the newer one."""
    renamed: Mapping[str, str] | None = None
    never_known: tuple[str, ...] = ()
    comes_into_force: tuple[str, ...] = ()
    """Known to the newer release alone: what was ignored until now."""
    broker: tuple[DefaultChanged, ...] = ()
    broker_gone: tuple[str, ...] = ()
    broker_new: int = 0
    client: tuple[DefaultChanged, ...] = ()
    codes_new: Mapping[str, str] | None = None
    codes_gone: Mapping[str, str] | None = None


def settings_changed(
    before: tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]],
    after: tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]],
    conf: Mapping[str, str] | None = None,
) -> SettingsChanged:
    """From the defaults of brokers and of clients, and the codes of answers, of both releases."""
    (old, old_client, old_codes), (new, new_client, new_codes) = before, after
    given = conf or {}
    gone = sorted(given.keys() & old.keys() - new.keys())
    return SettingsChanged(
        has_conf=conf is not None,
        ignored=tuple(key for key in gone if key not in RENAMED),
        renamed={key: RENAMED[key] for key in gone if key in RENAMED},
        never_known=tuple(sorted(given.keys() - old.keys() - new.keys())),
        comes_into_force=tuple(sorted(given.keys() & new.keys() - old.keys())),
        broker=_defaults(old, new, given),
        broker_gone=tuple(sorted(old.keys() - new.keys())),
        broker_new=len(new.keys() - old.keys()),
        client=_defaults(old_client, new_client, {}),
        codes_new={name: code for name, code in new_codes.items() if name not in old_codes},
        codes_gone={name: code for name, code in old_codes.items() if name not in new_codes},
    )


def _defaults(old: Mapping[str, str], new: Mapping[str, str], given: Mapping[str, str]) -> tuple[DefaultChanged, ...]:
    return tuple(
        DefaultChanged(name=name, before=old[name], after=new[name], yours=given.get(name))
        for name in sorted(old.keys() & new.keys())
        if old[name] != new[name] and old[name] not in UNTOLD and new[name] not in UNTOLD
    )
