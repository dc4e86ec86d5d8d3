"""The user's own settings (``--broker-conf``, ``--set``): read, checked against a release, never changed in silence."""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.errors import UsageError, shown
from harness.model.cluster import UserSettings
from harness.releases.border import masked
from harness.releases.jars import ensure_jars
from harness.releases.judged_conf import CONVERSIONS, OF_THE_START, converted, kinds_told
from harness.releases.properties import read_conf
from harness.releases.settings import settings_of

OURS = frozenset(
    {"namesrvAddr", "instanceName", "clientIP", "vipChannelEnabled", "sendMessageWithVIPChannel", "producerGroup"}
    | {"consumerGroup", "rocketmq.namesrv.addr", "rocketmq.home.dir", "user.home"}
)
"""Settings of clients and of JVMs that the lab itself sets, or nothing would be found."""

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_ROCKETMQ = re.compile(r"(com\.)?rocketmq\.")
_ADVICE = "For example --set broker.flushDiskType=SYNC_FLUSH."


def read_broker_conf(path: Path) -> dict[str, str]:
    """The settings of a broker.conf, as Java reads them. Raises ConfigurationError."""
    return read_conf(path).settings


def parse_sets(values: Iterable[str], releases: Sequence[str]) -> UserSettings:
    """``broker.KEY=VALUE``, ``broker-jvm.KEY=VALUE`` and ``client.KEY=VALUE`` of ``--set``, checked for every release of the run,
    without secrets (``border.masked``).

    Raises:
        UsageError: it is of another form, a release does not know the key, or the value is not of its kind.
    """
    found: dict[str, dict[str, str]] = {"broker": {}, "broker-jvm": {}, "client": {}}
    for text in values:
        key, equals, value = text.partition("=")
        prefix, _, name = key.partition(".")
        if not equals or prefix not in found or not _KEY.fullmatch(name) or not value.isprintable():
            raise UsageError(
                f"--set {shown(text)} is not broker.KEY=VALUE, broker-jvm.KEY=VALUE or client.KEY=VALUE", advice=_ADVICE
            )
        if prefix != "broker" and name in OURS:
            raise UsageError(f"--set {key}: the lab itself sets it", advice="Leave it out.")
        if name in found[prefix]:
            raise UsageError(f"--set {key} is given twice", advice="Keep the one that you mean.")
        for release in releases:
            if prefix == "broker":
                value = _checked(name, value, release)
            elif prefix == "client" and "." not in name:
                _check_client(name, value, release)
            elif _ROCKETMQ.match(name) and name not in system_properties(release):
                raise UsageError.unknown(f"system property of {release}", name, system_properties(release))
        found[prefix][name] = masked(name, value)
    return UserSettings(broker=found["broker"], broker_jvm=found["broker-jvm"], client=found["client"])


def _checked(name: str, value: str, release: str) -> str:
    """The value, or what a broker makes of it where that is a truth value: its readers want it in small letters."""
    known = settings_of(release)
    if name in OF_THE_START:
        return value
    if name not in known.kinds:
        raise UsageError.unknown(f"broker setting of {release}", name, known.kinds)
    read = converted(name, value, known)
    if read is None or not _is_meant(value, known.kinds[name]):
        raise _ignored(name, value, kinds_told(known.kinds[name], known.words.get(name)))
    return read if known.kinds[name] == "boolean" else value


def _check_client(name: str, value: str, release: str) -> None:
    kinds = client_keys(release)
    if name not in kinds:
        raise UsageError.unknown(f"client setting of {release}", name, kinds)
    told, convert = CONVERSIONS.get(kinds[name], ("a text", lambda text: text))
    if convert(value) is None or not _is_meant(value, kinds[name]):
        raise _ignored(name, value, told)


def _is_meant(value: str, kinds: str) -> bool:
    """Whatever is not true is false to Java, which nobody means by a yes."""
    return kinds != "boolean" or value.lower() in ("true", "false")


def _ignored(name: str, value: str, takes: str) -> UsageError:
    return UsageError(f"{name}={shown(value)} is not {takes}, which RocketMQ would ignore without a word")


def broker_keys(release: str) -> Mapping[str, str]:
    """Every key that a release's broker reads, with the Java types that its setters take (``int``, ``String and int``)."""
    return settings_of(release).kinds


def client_keys(release: str) -> Mapping[str, str]:
    """Every bean property of a release's producers and push consumers that a text can set, with its Java type."""
    return settings_of(release).client_kinds


@cache
def system_properties(release: str) -> frozenset[str]:
    """RocketMQ's own system properties: what its classes have as constants of such a name."""
    constants = (
        re.findall(rb"\x01..((?:com\.)?rocketmq\.[A-Za-z0-9_.]+)", data, re.DOTALL) for _, data in _classes(release)
    )
    return frozenset(name.decode() for names in constants for name in names)


def _classes(release: str) -> Iterator[tuple[str, bytes]]:
    """The classes of a release's own jars, by their simple names."""
    for jar in ensure_jars(release):
        if "rocketmq-" in jar.name:
            with zipfile.ZipFile(jar) as archive:
                for entry in archive.namelist():
                    if entry.endswith(".class"):
                        yield Path(entry).stem, archive.read(entry)
