"""Every setting of a release's brokers and clients with its default, read once from its classes and kept as data::

python -m harness.releases.settings RELEASE...

What a broker is told in its broker.conf under a name that is not here it ignores without a word
(``MixAll.properties2Object``). Of a release that has no file here they are read when they are first asked for, and kept beside its
lock.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from harness.errors import ReleaseError, UsageError
from harness.program import carried_out
from harness.releases.central import version_key
from harness.releases.class_file import class_of, has_class, method_of, texts
from harness.releases.compile import compiled_classes
from harness.releases.dead_keys import dead_keys
from harness.releases.jars import VERSION, ensure_jars, jars_sha256, known_releases, learned_folder
from harness.releases.java import Java, ended, failure_of, find_java

FOLDER = Path(__file__).with_name("defaults")
ROCKETMQ = "org.apache.rocketmq"
BROKER = ("common.BrokerConfig", "store.config.MessageStoreConfig", "remoting.netty.NettyServerConfig",
          "remoting.netty.NettyClientConfig", "auth.config.AuthConfig", "tieredstore.common.TieredMessageStoreConfig",
          "tieredstore.MessageStoreConfig")  # fmt: skip
"""What a broker fills from its broker.conf (``BrokerStartup``), AuthConfig in 5.3.3 and 5.5.0; the last two by a plug-in alone."""
PLUG_IN = ("tieredstore.common.TieredMessageStoreConfig", "tieredstore.MessageStoreConfig")
"""Of 5.1.4 and 5.2.0, and of newer ones; filled where ``messageStorePlugIn`` names TieredMessageStore
(``MessageStorePluginContext.registerConfiguration``)."""
OTHERS = {"a name server": "common.namesrv.NamesrvConfig", "a controller": "common.ControllerConfig"}
"""Whose settings are no broker's, each with the class that its file is read into."""
CODES = ("common.protocol.ResponseCode", "remoting.protocol.ResponseCode")
"""Of 4.x and of 5.x; both have those of RemotingSysResponseCode by inheritance."""
CLIENT = ("client.ClientConfig", "client.producer.DefaultMQProducer", "client.consumer.DefaultMQPushConsumer")
OF_THE_MACHINE = frozenset(
    {"brokerIP1", "brokerIP2", "brokerName", "rocketmqHome", "namesrvAddr", "clientIP", "instanceName", "listenPort"}
    | {"consumeTimestamp"}
)
"""Names, addresses and a time, which every broker and client has its own of, or is given at its start."""

BY_PROCESSORS = "by the number of processors"
READ_S_MAX = 120
_HOME = "/home/rocketmq"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Defaults by name: of what the machine decides they say that, names and addresses are empty, and ``?`` is one that the
    class does not tell."""

    broker: Mapping[str, str]
    client: Mapping[str, str]
    codes: Mapping[str, str]
    """The numbers of answers by their names."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """By a broker's setting the Java types that its setters take, such as ``int and String``."""
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By a broker's setting that is one of a few: the texts that its setters take, each with what it comes to."""
    client_kinds: Mapping[str, str] = field(default_factory=dict)
    plug_in: Sequence[str] = ()
    """A broker's settings that are read only where the plug-in for tiered storage is."""
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The settings of name servers and controllers that no broker has."""
    dead: Sequence[str] = ()
    """A broker's settings that nothing reads (``dead_keys``)."""
    trims: bool = False
    """Whether blanks at the ends of a text are taken away before a setter gets it."""
    features: Sequence[str] = ()


class Feature(StrEnum):
    """What a release does or does not, by its classes, beside its settings."""

    ATTRIBUTES = "topics have attributes"
    OWN_LOGBACK = "logback in a package of its own"
    POOL_WITH_SYNC_FLUSH = "a store pool beside SYNC_FLUSH"
    POP = "consumption by pop"


def has(release: str, feature: Feature) -> bool:
    """Whether a release has it. Raises as ``settings_of`` does."""
    return feature in settings_of(release).features


def features_of(release: str) -> Iterator[Feature]:
    """Asked of its class files. Raises ReleaseError: one that every release has is not there."""
    if "attributes" in texts(class_of(release, f"{ROCKETMQ}.common.TopicConfig")):
        yield Feature.ATTRIBUTES
    if has_class(release, f"{ROCKETMQ}.logging.ch.qos.logback.core.Appender"):
        yield Feature.OWN_LOGBACK
    pool = method_of(release, f"{ROCKETMQ}.store.config.MessageStoreConfig", "isTransientStorePoolEnable")
    if "getFlushDiskType" not in pool.calls:
        yield Feature.POOL_WITH_SYNC_FLUSH
    if has_class(release, f"{ROCKETMQ}.broker.processor.PopMessageProcessor"):
        yield Feature.POP


@cache
def settings_of(release: str) -> Settings:
    """What is kept of a release, or is read from its classes now.

    Raises:
        UsageError: there is no such release.
        ReleaseError: its jars cannot be had, or do not tell.
    """
    path = FOLDER / f"{release}.json"
    if path.is_file():
        return Settings(**json.loads(path.read_text("utf-8")))
    if not VERSION.fullmatch(release):
        raise UsageError.unknown("release", release, known_releases())
    ensure_jars(release, progress=_say)
    # Of another reader, or of other jars, what was kept is no answer.
    kept = learned_folder() / f"{release}-{_read_by(release)}.json"
    if not kept.is_file():
        _say(f"RocketMQ {release}: its settings are read from its classes, once")
        _write(kept, read_settings_of(release, find_java()))
    return Settings(**json.loads(kept.read_text("utf-8")))


def _say(text: str) -> None:
    """On standard error, since whatever asks may print JSON."""
    print(text, file=sys.stderr)


def _read_by(release: str) -> str:
    digest = hashlib.sha256(jars_sha256(release).encode())
    for source in (Path(__file__), FOLDER / "Defaults.java"):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _write(path: Path, found: Settings) -> None:
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(dataclasses.asdict(found), indent=1) + "\n", "utf-8")
    draft.replace(path)


def releases_with_settings() -> tuple[str, ...]:
    """Releases whose settings are committed, oldest first: the recorded ones, and others."""
    return tuple(sorted((path.stem for path in FOLDER.glob("*.json")), key=version_key))


def read_settings_of(release: str, java: Java) -> Settings:
    """Ask a release's own classes. Raises ReleaseError."""
    jars = ensure_jars(release)
    few, many = (_read(release, jars, java, processors) for processors in (2, 64))
    broker, client, codes = (_joined(few, many, classes) for classes in (BROKER, CLIENT, CODES))
    of = {name: {row.setting for row in few if row.of == f"{ROCKETMQ}.{name}"} for name in (*BROKER, *OTHERS.values())}
    always = {setting for name in BROKER if name not in PLUG_IN for setting in of[name]}
    tiered = {setting for name in PLUG_IN for setting in of[name]}
    return Settings(
        broker=broker,
        client=client,
        codes=codes,
        kinds=_kinds(few, BROKER),
        words=_words(few),
        client_kinds=_kinds(few, CLIENT),
        plug_in=sorted(tiered - always),
        others={who: sorted(of[name] - always - tiered) for who, name in OTHERS.items()},
        dead=sorted(dead_keys(jars, _named(BROKER))),
        trims=any((row.of, row.value) == ("MixAll", "true") for row in few),
        features=sorted(features_of(release)),
    )


def _kinds(rows: Sequence[_Row], classes: Sequence[str]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.of in _named(classes):
            found.setdefault(row.setting, set()).add(row.kind)
    return {setting: " and ".join(sorted(kinds)) for setting, kinds in sorted(found.items())}


def _words(rows: Sequence[_Row]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        for word in row.words.split():
            text, _, value = word.partition("=")
            found.setdefault(row.setting, {})[text] = value
    return {setting: dict(sorted(words.items())) for setting, words in sorted(found.items())}


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A setter of a class, or a constant, as Defaults.java prints it."""

    of: str
    setting: str
    kind: str
    value: str
    words: str


def _named(classes: Sequence[str]) -> list[str]:
    return [f"{ROCKETMQ}.{name}" for name in classes]


def _joined(few: Sequence[_Row], many: Sequence[_Row], classes: Sequence[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    values, others = ({(row.of, row.setting): row.value for row in rows} for rows in (few, many))
    for name in _named(classes):
        for (of, setting), value in values.items():
            if of == name:
                said = value if others[of, setting] == value else BY_PROCESSORS
                found.setdefault(setting, []).append("" if setting in OF_THE_MACHINE else said)
    # Some names are of two classes, both of which take the value.
    return {setting: " and ".join(dict.fromkeys(values)) for setting, values in sorted(found.items())}


def _read(release: str, jars: Sequence[Path], java: Java, processors: int) -> list[_Row]:
    classes = compiled_classes(FOLDER, jars, java)
    command = [
        str(java.executable), f"-XX:ActiveProcessorCount={processors}", f"-Duser.home={_HOME}", "-Drocketmq.home.dir=",
        "-cp", os.pathsep.join(map(str, (classes, *jars))), "Defaults",
        *_named((*BROKER, *CLIENT, *CODES, *OTHERS.values())),
    ]  # fmt: skip
    run = ended(command, f"the reading of the settings of {release}", seconds=READ_S_MAX)
    rows = [line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 4]
    if run.returncode or not rows:
        raise ReleaseError(
            f"the settings of {release} cannot be read from its classes: {failure_of(run.stderr)}",
            advice="Its jars are damaged or not RocketMQ's: bring them again from where they were built.",
        )
    return [_Row(of=of, setting=name, kind=kind, value=value, words=words) for of, name, kind, value, words in rows]


def main(words: Sequence[str]) -> None:
    """Write the files of the releases that are named."""
    for release in words:
        _write(FOLDER / f"{release}.json", read_settings_of(release, find_java()))


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "harness.releases.settings RELEASE", most=1))
