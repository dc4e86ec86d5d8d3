"""A cluster's reading as it is kept in one file, for an upgrade that is judged on another day or machine. No secret is in it.

It has what an upgrade depends on: each broker's settings, release, disk and numbers of topics, and the releases of clients. No name
of a topic, a group or a client is kept. A folder of broker.conf files, and what ``mqadmin getBrokerConfig`` prints, are readings,
too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from harness.audit.findings import topics_by_type
from harness.audit.reading import BrokerReading, Reading, TopicType
from harness.bounded import parsed, read_whole, why
from harness.errors import ConfigurationError
from harness.model.broker_conf import ConfFile, Entry, Oddity, conf_of
from harness.printable import counted, printable
from harness.releases.border import masked
from harness.releases.judged_conf import whose_file
from harness.releases.properties import KEYS_MAX, read_conf
from harness.releases.settings import BY_PROCESSORS, Settings
from harness.rundir.decode import decode

FORMAT = 1
FILES_MAX = 1_000
"""Of a folder of broker.conf files, and the brokers of what mqadmin printed."""
CONF_NAMES = (".conf", ".properties")
ADVICE = (
    "Give a file of --reading, a folder of broker.conf files, or what mqadmin getBrokerConfig -b HOST:PORT printed."
)


class Source(StrEnum):
    """Where the settings of a reading are from."""

    CLUSTER = "cluster"
    FILES = "files"
    MQADMIN = "mqadmin"


@dataclass(frozen=True, kw_only=True)
class KeptBroker:
    """One broker. ``settings`` are without secrets, and in the order of the file where they are of one; what they leave out is at
    its default. ``lines`` has where in its file each stands, of a running broker nothing. ``problem`` says why there are none."""

    name: str
    address: str = ""
    release: str = ""
    broker_id: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    oddities: tuple[Oddity, ...] = ()
    topics: Mapping[str, int] = field(default_factory=dict)
    queues: int = 0
    """To write to, of all topics."""
    groups: int = 0
    """Those that have a retry topic."""
    disk_share: str = ""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class KeptClients:
    """Connections of consumer groups that are of one language and release, as brokers know them."""

    language: str
    release: str
    pulls: bool
    connections: int


@dataclass(frozen=True, kw_only=True)
class KeptServer:
    """One name server."""

    address: str
    release: str = ""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class KeptReading:
    """A reading; ``format`` is of the file that it is kept in. ``at_s`` is seconds since 1970, 0 where nobody noted it."""

    source: Source
    brokers: tuple[KeptBroker, ...]
    clients: tuple[KeptClients, ...] = ()
    name_servers: tuple[KeptServer, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files of the folder that are no broker's, each with what it is."""
    at_s: float = 0.0
    format: int = FORMAT


# --- a running cluster -----------------------------------------------------------------------------------------------------


def kept(reading: Reading) -> KeptReading:
    """What is kept of what an audit has read."""
    return KeptReading(
        source=Source.CLUSTER,
        at_s=reading.at_s,
        brokers=tuple(_broker(one) for one in reading.brokers),
        clients=tuple(_clients(reading)),
        name_servers=tuple(
            KeptServer(address=one.address, release=_words(one.version), problem=one.problem)
            for one in reading.name_servers
        ),
    )


def _broker(one: BrokerReading) -> KeptBroker:
    return KeptBroker(
        name=one.words,
        address=one.address,
        release=_words(one.version),
        broker_id=one.broker_id,
        settings=_masked(one.conf),
        topics=topics_by_type(one) if one.topics else {},
        queues=sum(topic.write_queues for topic in one.topics),
        groups=len(one.names(TopicType.RETRY)),
        disk_share=one.disk_share,
        problem=one.problem,
    )


def _clients(reading: Reading) -> Iterator[KeptClients]:
    connections = {
        (member.client_id, member.address, member.language, member.version, member.pulls)
        for members in reading.members.values()
        for member in members
    }
    for (language, version, pulls), count in sorted(Counter(one[2:] for one in connections).items()):
        yield KeptClients(language=language, release=_words(version), pulls=pulls, connections=count)


def _words(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def _masked(settings: Mapping[str, str]) -> dict[str, str]:
    return {key: masked(key, value) for key, value in settings.items()}


# --- files -----------------------------------------------------------------------------------------------------------------


def text_of(reading: KeptReading) -> str:
    """What the file of a reading holds."""
    return json.dumps(dataclasses.asdict(reading), indent=1) + "\n"


def read_kept(path: Path) -> KeptReading:
    """A reading of a file, of a folder of broker.conf files, or of what ``mqadmin getBrokerConfig`` printed.

    Raises ConfigurationError: it is none of these.
    """
    if path.is_dir():
        return _of_folder(path)
    try:
        text = read_whole(path).decode()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {why(error)}", advice=ADVICE) from error
    if text.lstrip().startswith("{"):
        return _of_json(path, text)
    if brokers := tuple(_of_mqadmin(text, path)):
        return KeptReading(source=Source.MQADMIN, brokers=brokers)
    return KeptReading(source=Source.FILES, brokers=(_of_file(path, path.name),))


def _of_json(path: Path, text: str) -> KeptReading:
    try:
        found = decode(KeptReading, parsed(text))
    except ValueError as error:
        raise ConfigurationError(f"{path} is no reading: {printable(why(error))}", advice=ADVICE) from error
    if found.format != FORMAT:
        raise ConfigurationError(
            f"{path} is a reading of format {found.format}, and this program reads {FORMAT}",
            advice="Read the cluster again, with the program that judges it.",
        )
    # Somebody may have put a secret into the file by hand.
    brokers = tuple(dataclasses.replace(one, settings=_masked(one.settings)) for one in found.brokers)
    return dataclasses.replace(found, brokers=brokers)


def _of_folder(folder: Path) -> KeptReading:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in CONF_NAMES and path.is_file())
    if not paths:
        raise ConfigurationError(
            f"{folder} has no file whose name ends with {' or '.join(CONF_NAMES)}",
            advice="Give the folder of the files that brokers are started with.",
        )
    if len(paths) > FILES_MAX:
        raise ConfigurationError(f"{folder} has {counted(len(paths), 'such file')}", advice="Give fewer at a time.")
    brokers, left_out = [], []
    for path in paths:
        name = str(path.relative_to(folder))
        found = _of_file(path, name)
        if found.problem and found.settings:
            left_out.append(found.problem)
        else:
            brokers.append(found)
    return KeptReading(source=Source.FILES, brokers=tuple(brokers), left_out=tuple(left_out))


def _of_file(path: Path, name: str) -> KeptBroker:
    """A file; one of another node has its settings and a problem."""
    try:
        conf = dataclasses.replace(read_conf(path), name=name)
    except ConfigurationError as error:
        return KeptBroker(name=name, problem=str(error))
    whose = whose_file(conf)
    lines = {key: entry.line for key, entry in conf.entries.items()}
    return KeptBroker(name=name, settings=conf.settings, lines=lines, oddities=conf.oddities, problem=str(whose or ""))


_BEGINS = re.compile(
    r"=+(?:Master: (?P<master>\S+?)|My Master: \S+?=+Slave: (?P<slave>\S+?)|(?P<address>[^\s=:]+:\d+))=+"
)
_SETTING = re.compile(r"(?P<key>[^\s=]+) *=  ?(?P<value>.*)")


def _of_mqadmin(text: str, path: Path) -> Iterator[KeptBroker]:
    """The brokers of ``GetBrokerConfigCommand``: a line with its address, then each setting with its value.

    Raises ConfigurationError: there are too many.
    """
    found: list[tuple[str, int, dict[str, str]]] = []
    for line in text.splitlines():
        if begins := _BEGINS.fullmatch(line.strip()):
            address = begins["master"] or begins["slave"] or begins["address"]
            found.append((address, 1 if begins["slave"] else 0, {}))
        elif found and (setting := _SETTING.fullmatch(line.rstrip("\r"))):
            found[-1][2][setting["key"]] = setting["value"].strip()
        if len(found) > FILES_MAX or (found and len(found[-1][2]) > KEYS_MAX):
            raise ConfigurationError(f"{path} has more than mqadmin prints of a cluster", advice=ADVICE)
    for address, is_slave, settings in found:
        number = settings.get("brokerId", "")
        broker_id = int(number) if re.fullmatch(r"-?\d{1,9}", number) else is_slave
        words = BrokerReading(name=settings.get("brokerName", address), broker_id=broker_id, address=address).words
        problem = "" if settings else f"mqadmin printed no setting of {address}"
        yield KeptBroker(name=words, address=address, broker_id=broker_id, settings=_masked(settings), problem=problem)


# --- what somebody has set ---------------------------------------------------------------------------------------------------


def own_settings(broker: KeptBroker, known: Settings) -> ConfFile:
    """What of a broker's settings its release has not by itself. A running broker tells all of them, its defaults, too."""
    if broker.lines:
        entries = {key: Entry(text=text, line=broker.lines.get(key, 0)) for key, text in broker.settings.items()}
        return ConfFile(entries=entries, oddities=broker.oddities, name=broker.name)
    by_key = {_key_of(name, known): value for name, value in broker.settings.items()}
    own = {key: value for key, value in by_key.items() if not _is_default(key, value, known)}
    return dataclasses.replace(conf_of(own), name=broker.name)


def machine_decides(key: str, known: Settings) -> bool:
    """Whether a release knows the setting, and has no default of it that could be compared."""
    return key in known.kinds and known.broker.get(key, "?") in ("", "?", "null", BY_PROCESSORS)


def _key_of(name: str, known: Settings) -> str:
    """A running broker tells fields (``MixAll.object2Properties``): isEnableBatchPush is what enableBatchPush sets in a file."""
    key = name[2:3].lower() + name[3:]
    return key if name not in known.kinds and name.startswith("is") and key in known.kinds else name


def _is_default(key: str, value: str, known: Settings) -> bool:
    if key not in known.kinds:
        return False
    # A name of two classes has two defaults, and a broker tells one of them. One that is like a secret is not shown, either.
    default = known.broker.get(key, "?")
    return value in (default, *default.split(" and "), masked(key, default))
