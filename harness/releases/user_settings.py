"""The user's own settings (``--broker-conf``, ``--set``): read, checked against a release, never changed in silence."""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.errors import ConfigurationError, UsageError, shown
from harness.model.cluster import UserSettings
from harness.releases.class_file import methods
from harness.releases.jars import ensure_jars

BROKER_BEANS = (
    "BrokerConfig", "BrokerIdentity", "MessageStoreConfig", "NettyServerConfig", "NettyClientConfig", "AuthConfig",
)  # fmt: skip
"""What a broker fills from its broker.conf (``BrokerStartup.createBrokerController``); AuthConfig and BrokerIdentity, from which
BrokerConfig inherits, are 5.x's."""

CLIENT_BEANS = ("ClientConfig", "DefaultMQProducer", "DefaultMQPushConsumer")

OURS = frozenset(
    {"namesrvAddr", "instanceName", "clientIP", "vipChannelEnabled", "sendMessageWithVIPChannel", "producerGroup"}
    | {"consumerGroup", "rocketmq.namesrv.addr", "rocketmq.home.dir", "user.home"}
)
"""Settings of clients and of JVMs that the lab itself sets, or nothing would be found."""

_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,20})?", re.ASCII)
_VALUES: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "(I)V": ("an int", lambda text: _is_whole(text, 31)),
    "(J)V": ("a long", lambda text: _is_whole(text, 63)),
    "(Z)V": ("true or false", lambda text: text in ("true", "false")),
    "(F)V": ("a number", lambda text: bool(_NUMBER.fullmatch(text))),
    "(D)V": ("a number", lambda text: bool(_NUMBER.fullmatch(text))),
    "(Ljava/lang/String;)V": ("a text without control characters", str.isprintable),
}
"""The setters that ``MixAll.properties2Object`` calls, by their descriptors. What it cannot read it ignores without a word."""

_COMMENT = ("#", "!")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_ROCKETMQ = re.compile(r"(com\.)?rocketmq\.")
_ADVICE = "For example --set broker.flushDiskType=SYNC_FLUSH."


def read_broker_conf(path: Path) -> dict[str, str]:
    """The settings of a broker.conf.

    Raises ConfigurationError when it cannot be read, or a line, whose number it names, is no ``key=value``.
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


def _is_whole(text: str, bits: int) -> bool:
    return bool(re.fullmatch(r"-?\d{1,20}", text, re.ASCII)) and -(2**bits) <= int(text) < 2**bits


def parse_sets(values: Iterable[str], releases: Sequence[str]) -> UserSettings:
    """``broker.KEY=VALUE``, ``broker-jvm.KEY=VALUE`` and ``client.KEY=VALUE`` of ``--set``, checked for every release of the run.

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
                _check_bean(broker_keys(release), f"broker setting of {release}", name, value)
            elif prefix == "client" and "." not in name:
                _check_bean(client_keys(release), f"client setting of {release}", name, value)
            elif _ROCKETMQ.match(name) and name not in system_properties(release):
                raise UsageError.unknown(f"system property of {release}", name, system_properties(release))
        found[prefix][name] = value
    return UserSettings(broker=found["broker"], broker_jvm=found["broker-jvm"], client=found["client"])


def _check_bean(known: Mapping[str, str], noun: str, name: str, value: str) -> None:
    if name not in known:
        raise UsageError.unknown(noun, name, known)
    says, accepts = _VALUES[known[name]]
    if not accepts(value):
        raise UsageError(f"{name}={shown(value)} is not {says}, which RocketMQ would ignore without a word")


def ignored_keys(settings: Mapping[str, str], release: str) -> list[str]:
    """Keys of a broker.conf that this release's broker does not know and ignores without a word.

    Raises:
        UsageError: it knows a key, and the value is not of its kind.
    """
    known = broker_keys(release)
    for name in settings.keys() & known.keys():
        _check_bean(known, "", name, settings[name])
    return sorted(settings.keys() - known.keys())


@cache
def broker_keys(release: str) -> Mapping[str, str]:
    """Every key that a release's broker reads, with its setter's descriptor."""
    return _bean_keys(release, BROKER_BEANS)


@cache
def client_keys(release: str) -> Mapping[str, str]:
    """Every bean property of a release's producers and push consumers that a text can set, with its setter's descriptor."""
    return _bean_keys(release, CLIENT_BEANS)


def _bean_keys(release: str, beans: Sequence[str]) -> dict[str, str]:
    classes = (data for name, data in _classes(release) if name in beans)
    # MixAll.properties2Object calls setdLegerPeers, too.
    setters = (method for data in classes for method in methods(data) if re.fullmatch(r"set\w+", method.name))
    return {one.name[3].lower() + one.name[4:]: one.descriptor for one in setters if one.descriptor in _VALUES}


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
