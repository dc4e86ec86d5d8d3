"""The user's own broker.conf and ``--set`` values: read, checked against a release, never changed in silence."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.errors import ConfigurationError, UsageError
from harness.releases.class_file import texts
from harness.releases.jars import ensure_jars

CONFIG_CLASSES = ("BrokerConfig", "MessageStoreConfig", "NettyServerConfig", "NettyClientConfig", "AuthConfig")
"""The beans that a broker fills from its broker.conf (``BrokerStartup.createBrokerController``); AuthConfig is 5.x's."""

_COMMENT = ("#", "!")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")


def read_broker_conf(path: Path) -> dict[str, str]:
    """The settings of a broker.conf.

    Raises:
        ConfigurationError: it cannot be read, or a line is no ``key=value``; the message has its number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", advice="Give a Java properties file.") from error
    settings: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(_COMMENT):
            continue
        key, equals, value = text.partition("=")
        if not equals or not _KEY.fullmatch(key.strip()):
            raise ConfigurationError(
                f"{path}:{number}: {text!r} is not key=value", advice="Correct or remove the line."
            )
        if key.strip() in settings:
            raise ConfigurationError(
                f"{path}:{number}: {key.strip()} is set a second time", advice="Keep the one that you mean."
            )
        settings[key.strip()] = value.strip()
    return settings


def parse_sets(values: Iterable[str], releases: Sequence[str]) -> dict[str, str]:
    """``broker.KEY=VALUE`` of ``--set``, each known to every release of the run.

    Raises:
        UsageError: it is of another form, or a release does not know the key; the advice names the nearest.
    """
    settings: dict[str, str] = {}
    for text in values:
        key, equals, value = text.partition("=")
        prefix, _, name = key.partition(".")
        if not equals or prefix != "broker" or not name:
            raise UsageError(
                f"--set {text!r} is not broker.KEY=VALUE", advice="For example --set broker.flushDiskType=SYNC_FLUSH."
            )
        for release in releases:
            if name not in broker_keys(release):
                raise UsageError.unknown(f"broker setting of {release}", name, broker_keys(release))
        settings[name] = value
    return settings


def ignored_keys(settings: Mapping[str, str], release: str) -> list[str]:
    """Keys that this release's broker does not know and ignores without a word."""
    return sorted(set(settings) - broker_keys(release))


@cache
def broker_keys(release: str) -> frozenset[str]:
    """Every key that a release's broker reads, from the setters of its configuration beans in its own jars."""
    keys: set[str] = set()
    for jar in ensure_jars(release):
        if "rocketmq-" not in jar.name:
            continue
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith(".class") and Path(entry).stem in CONFIG_CLASSES:
                    names = (name for name in texts(archive.read(entry)) if re.fullmatch(r"set[A-Z]\w*", name))
                    keys |= {name[3].lower() + name[4:] for name in names}
    return frozenset(keys)
