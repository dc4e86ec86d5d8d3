"""What of the user's own settings may enter the lab: no key of theirs carries an address, a path or a peer out of it.

A broker.conf is mostly that of a production. So every setting whose value is a text is known here by its name, and has a
rule; one that is not is let in only as a number, a truth value or a plain word. It is asked wherever settings of the user
become settings of a node or a client, also those of a run that goes on or of a bundle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.model.cluster import UserSettings
from harness.printable import excerpt
from harness.releases.jars import recorded_releases
from harness.releases.settings import BY_PROCESSORS, settings_of

LEFT_OUT = "left out: "
"""Begins what is said of a setting that nothing takes the place of."""

SWITCHES_OFF = ("false", "")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What becomes of one setting: ``why`` is empty where it is kept, else a sentence.

    ``place`` is where a path lies instead, below the folder of its node.
    """

    why: str = ""
    place: str | None = None


_KEPT = Judged()


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """Of some keys: which values are kept, and why the others are not."""

    why: str
    keeps: Callable[[str], bool] = lambda value: False


def _is_off(value: str) -> bool:
    return value in SWITCHES_OFF


_FIGURE = re.compile(r"(?i:true|false)?|-?\d{1,18}(\.\d{1,6})?")
_WORD = re.compile(r"[A-Za-z0-9_%|-]{1,200}", re.ASCII)
_BETWEEN = re.compile(r"[;, ]+")
_CLASSES = re.compile(r"org\.apache\.rocketmq(\.[A-Za-z]\w*)+(,org\.apache\.rocketmq(\.[A-Za-z]\w*)+)*", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,20})?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,20}", re.ASCII)
_SHARE = re.compile(r"-?0?\.\d{1,20}", re.ASCII)
_ZONE = re.compile(r"[A-Za-z_]{1,20}([/+-][A-Za-z0-9_]{1,30}){0,2}(:\d\d)?", re.ASCII)
_NETWORK_0 = 2**24
"""Java and C read a whole number as an IPv4 address; those below this one are of 0.0.0.0/8, which no packet leaves for."""


def _is_plain(value: str) -> bool:
    """Words without a dot, a colon or a slash, which are no address, no path and no peer."""
    return not value or (
        all(map(_WORD.fullmatch, filter(None, _BETWEEN.split(value)))) and not _has_numeric_host(value)
    )


def _has_numeric_host(value: str) -> bool:
    """Whether a word of it is an IPv4 address to C, as 167772161 and 0x0a000001 are."""
    words = [word for word in _BETWEEN.split(value) if word]
    return any(
        re.fullmatch(r"0[xX][0-9a-fA-F]+", word) or (word.isdigit() and int(word) >= _NETWORK_0) for word in words
    )


def _is_number(value: str) -> bool:
    return value in ("true", "false") or bool(_NUMBER.fullmatch(value))


_OF_THE_LAB = _Rule(why="the lab itself sets it.")
_A_WORD = _Rule(why="only a plain word is let in, and this may be an address, a path or a peer.", keeps=_is_plain)
_A_CLASS = _Rule(
    why="only classes of RocketMQ itself are there.", keeps=lambda value: not value or bool(_CLASSES.fullmatch(value))
)
_DLEDGER = "the lab starts no DLedger group, and the broker would look for peers of another one."
_CONTROLLER = "the lab starts no controller, and the broker would look for another one."
_NAME_SERVERS = "brokers and clients of the lab know the lab's own name servers alone."
_METRICS = "metrics would be sent out of the lab, or a further port be opened."
_ACCOUNTS = "accounts, keys and their files are not brought along, and without them every request would be refused."
_SECRETS = "nothing in the lab asks for a secret, and no run holds one."
_TLS = "the lab's nodes speak no TLS, and certificates and keys are not brought along."
_OBJECTS = "the lab has no object store, and the broker would look for another one."
_PROXY = "everything in the lab is connected directly."
_FILES = "files of that place are not brought along."
_SOCKETS = "the lab's rule on what a node may connect to holds for Java's own sockets."


def _each(why: str, *keys: str, keeps: Callable[[str], bool] = lambda value: False) -> dict[str, _Rule]:
    return dict.fromkeys(keys, _Rule(why=why, keeps=keeps))


BROKER: Mapping[str, _Rule] = {
    **dict.fromkeys(
        ("brokerName", "brokerId", "brokerClusterName", "brokerRole", "listenPort", "haListenPort", "namesrvAddr",
         "brokerIP1", "brokerIP2", "bindAddress", "storePathRootDir", "storePathCommitLog"),
        _OF_THE_LAB,
    ),
    **dict.fromkeys(
        ("bottomMostCompressionTypeForConsumeQueueStore", "combineAssignOffsetCQType", "combineCQLoadingCQTypes",
         "combineCQPreferCQType", "configBlackList", "configManagerVersion", "defaultMessageRequestMode", "deleteWhen",
         "flushDiskType", "messageDelayLevel", "msgTraceTopicName", "regionId", "rocksdbCompressionType", "storeType",
         "tieredStorageLevel"),
        _A_WORD,
    ),
    **dict.fromkeys(("messageStorePlugIn", "tieredBackendServiceProvider", "tieredMetadataServiceProvider"), _A_CLASS),
    **_each("a slave of the lab learns its master's address from the lab's name servers.", "haMasterAddress"),
    **_each(_DLEDGER, "enableDLegerCommitLog", keeps=_is_off),
    **_each(_DLEDGER, "dLegerGroup", "dLegerPeers", "dLegerSelfId", "preferredLeaderId", "storePathDLedgerCommitLog"),
    **_each(_CONTROLLER, "enableControllerMode", "fetchControllerAddrByDnsLookup", keeps=_is_off),
    **_each(_CONTROLLER, "controllerAddr"),
    **_each(_NAME_SERVERS, "fetchNamesrvAddrByAddressServer", "fetchNameSrvAddrByDnsLookup", keeps=_is_off),
    # BrokerStartup.properties2SystemEnv reads these two of the file itself; no bean has them.
    **_each(_NAME_SERVERS, "rmqAddressServerDomain", "rmqAddressServerSubGroup"),
    # By its number an exporter is meant, too: 1 is OTLP_GRPC, 2 is PROM.
    **_each(_METRICS, "metricsExporterType", keeps=lambda value: value in ("DISABLE", "LOG")),
    **_each(_METRICS, "metricsGrpcExporterTarget", "metricsGrpcExporterHeader", "metricsPromExporterHost",
            "metricsPromExporterPort", "metricsLabel"),
    **_each(_ACCOUNTS, "aclEnable", "authenticationEnabled", "authorizationEnabled", "migrateAuthFromV1Enabled", keeps=_is_off),
    **_each(_ACCOUNTS, "authConfigPath", "authenticationMetadataProvider", "authenticationProvider", "authenticationStrategy",
            "authenticationWhitelist", "authorizationMetadataProvider", "authorizationProvider", "authorizationStrategy",
            "authorizationWhitelist", "initAuthenticationUser", "innerClientAuthenticationCredentials"),
    **_each("the lab's cluster and brokers have names of their own.", "clusterName", "configName"),
    **_each(_TLS, "useTLS", keeps=_is_off),
    **_each(_SOCKETS, "useEpollNativeSelector", keeps=_is_off),
    **_each(_PROXY, "socksProxyConfig"),
    **_each(_OBJECTS, "objectStoreAccessKey", "objectStoreBucket", "objectStoreEndpoint", "objectStoreSecretKey"),
    # FilterServerManager starts programs below rocketmqHome.
    **_each("the lab starts no filter servers.", "filterServerNums", keeps=lambda value: value in ("0", "")),
    **_each("the lab writes each broker's broker.conf itself.", "brokerConfigPath"),
    **_each("commit logs of another broker are not brought along.", "readOnlyCommitLogStorePaths"),
}  # fmt: skip
"""Every setting of a broker whose value is a text, in any release, and every other one that leads out of the lab."""

MAPPED: Mapping[str, str] = {
    "rocketmqHome": "",
    "storePathBrokerIdentity": "store/brokerIdentity",
    "storePathEpochFile": "store/epochFileCheckpoint",
    "tieredStoreFilePath": "store/tieredstore",
}
"""Paths of files that a broker makes: where they lie in the folder of its node."""

CLIENT: Mapping[str, _Rule] = {
    **dict.fromkeys(("namesrvAddr", "clientIP", "instanceName", "producerGroup", "consumerGroup"), _OF_THE_LAB),
    **dict.fromkeys(
        ("consumeTimestamp", "createTopicKey", "namespace", "namespaceV2", "traceTopic", "unitName"), _A_WORD
    ),
    **_each(_PROXY, "socksProxyConfig"),
    **_each(f"{_TLS[:-1]}; --tls is for a cluster of your own.", "useTLS", keeps=_is_off),
}
"""Every bean property of a producer or a consumer whose value is a text, and every other one that leads out of the lab."""

_LAB_JVM = _Rule(why="the lab itself sets it.")
_NODES_HOME = _Rule(why="each node and client has files in its own folder alone.")
_MANAGEMENT = _Rule(why="a port would be opened beside those that the lab knows.")
_LIBRARIES = _Rule(why="what a JVM loads is the lab's own.")

JVM: Mapping[str, _Rule] = {
    **dict.fromkeys(("rocketmq.namesrv.addr", "rocketmq.home.dir", "user.home", "rocketmq.remoting.version"), _LAB_JVM),
    **dict.fromkeys(("mqlab", "org.jboss.byteman"), _LAB_JVM),
    **_each("it would divide the lab's own paths.", "rocketmq.broker.multiPathSplitter"),
    **_each(_NAME_SERVERS, "rocketmq.namesrv.domain", "rocketmq.namesrv", "java.naming"),
    **_each(_PROXY, "com.rocketmq.socks.proxy.config", "http", "https", "ftp", "socksProxyHost", "socksProxyPort",
            "socksProxyVersion", "socksNonProxyHosts", "java.net.socks", "java.net.useSystemProxies", "proxyHost", "proxyPort",
            "sun.net.spi", "jdk.net"),
    **_each(_ACCOUNTS, "rocketmq.acl.plain.file", "rocketmq.client.keyFile", "java.security", "jdk.security", "sun.security"),
    **_each(_TLS, "tls", "javax.net", "jdk.tls"),
    **dict.fromkeys(("com.sun.management", "java.rmi", "sun.rmi", "javax.management", "jdk.jndi", "jdk.attach"), _MANAGEMENT),
    **dict.fromkeys(
        ("java.io.tmpdir", "user.dir", "user.name", "java.home", "rocketmq.client.localOffsetStoreDir", "rocketmq.client.logRoot",
         "rocketmq.client.logFileName", "logback", "log4j", "log4j2", "log4j1", "java.util.logging", "rocketmq.logback",
         "brokerLogDir"),
        _NODES_HOME,
    ),
    **dict.fromkeys(
        ("java.class.path", "java.library.path", "java.ext.dirs", "java.endorsed.dirs", "java.system.class.loader",
         "java.protocol.handler.pkgs", "java.content.handler.pkgs", "jdk.module", "sun.boot", "io.netty.native",
         "io.netty.tmpdir", "org.rocksdb", "java.locale.providers", "java.nio.file.spi", "java.nio.channels.spi",
         "com.sun.jndi", "fastjson", "fastjson2", "jdk.internal", "jdk.serialFilter"),
        _LIBRARIES,
    ),
    **_each(_METRICS, "otel", "io.opentelemetry", "io.grpc"),
    **_each("it is no name of a time zone.", "user.timezone", keeps=lambda value: bool(_ZONE.fullmatch(value))),
}  # fmt: skip
"""System properties, each with those below it, that say whom a JVM speaks to, what it loads or where its files are."""

_JVM_WORDS = frozenset(
    {"java.net.preferIPv4Stack", "java.net.preferIPv6Addresses", "file.encoding", "rocketmq.client.logFileMaxSize",
     "rocketmq.client.logFileMaxIndex"}
)  # fmt: skip
"""System properties whose values are no address, although their names speak of one."""

_LIKE_AN_ADDRESS = frozenset(
    {"addr", "addrs", "address", "addresses", "host", "hosts", "hostname", "ip", "ips", "url", "urls", "uri", "uris", "path",
     "paths", "file", "files", "dir", "dirs", "directory", "folder", "home", "root", "peer", "peers", "endpoint", "endpoints",
     "target", "server", "servers", "domain", "proxy", "namesrv", "nameserver", "broker", "brokers", "controller", "master",
     "gateway", "bucket", "socks", "dns", "connect", "bootstrap", "remote"}
)  # fmt: skip
_NAMED = "by its name it is an address, a path or a peer, and none of these may lead out of the lab."
_LOOKS = "its value may be an address, a path or a peer, and none of these may lead out of the lab."
_TYPED = "it takes a number, true or false, and any other word may lead out of the lab."
_NOT_READ_AS_IT_IS = "a properties file gives a meaning of its own to characters of its value."
_NO_KEY = "it is no key of a properties file."
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.]*", re.ASCII)
HIDDEN = "(not shown)"
"""Stands for a secret wherever it would be passed on."""
_SECRET = re.compile(
    r"secret|credential|passw|passphrase|pwd|access[._-]?key|authenticationuser|header|socksproxy"
    r"|(private|api|ssh|signing)[._-]?key|key[._-]?(path|file|store)|trust[._-]?store"
    r"|(auth|access|security|session|api|bearer)[._-]?token",
    re.IGNORECASE,
)
_SECRET_WORDS = frozenset({"token", "tokens", "sk", "ak", "bearer", "dsn", "jwt", "cookie", "sas", "pat", "otp"})
"""Words of a key, between dots, dashes or capitals, whose value is a secret unless it is a number or a truth."""
_KEY_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SETTING = re.compile(r"\A((?:--[a-z-]+=)?([A-Za-z][\w.-]*)=)(.*)", re.DOTALL)
_SECRET_VALUE = re.compile(rf":[^@]*@|-----BEGIN |({_SECRET.pattern})[\w.-]*[\"']?\s*[:=]", re.IGNORECASE)


def judge(prefix: str, key: str, value: str) -> Judged:
    """What becomes of a setting; ``prefix`` is ``broker``, ``broker-jvm`` or ``client``, as ``--set`` has them."""
    if not _KEY.fullmatch(key):
        return Judged(why=_NO_KEY)
    if not value.isprintable() or "\\" in value:
        return Judged(why=_NOT_READ_AS_IT_IS)
    judged = _judge_by_rule(prefix, key, value)
    # Everybody on this machine can see what a node or client is started with.
    return Judged(why=_SECRETS) if value == HIDDEN or (not judged.why and masked(key, value) != value) else judged


def _judge_by_rule(prefix: str, key: str, value: str) -> Judged:
    if prefix == "broker-jvm" or (prefix == "client" and "." in key):
        return _judge_property(key, value)
    if prefix == "broker" and key in MAPPED:
        return Judged(why="it lies in the folder of its own node.", place=MAPPED[key])
    rule = (BROKER if prefix == "broker" else CLIENT).get(key)
    if rule is not None:
        return _KEPT if rule.keeps(value) else Judged(why=rule.why)
    if _is_typed(prefix, key):
        return _KEPT if _is_number(value) else Judged(why=_TYPED)
    return _judge_unknown(key, value)


def _judge_property(key: str, value: str) -> Judged:
    parts = key.split(".")
    for count in range(len(parts), 0, -1):
        if (rule := JVM.get(".".join(parts[:count]))) is not None:
            return _KEPT if rule.keeps(value) else Judged(why=rule.why)
    is_exempt = key in _JVM_WORDS
    if _WHOLE.fullmatch(value) and (is_exempt or not _is_like_an_address(key)):
        return _KEPT
    return _judge_unknown("" if is_exempt else key, value)


def _judge_unknown(key: str, value: str) -> Judged:
    """A setting that no release is known to have, or a text of a release whose rule nobody has written yet."""
    if value in ("true", "false") or _is_small(value):
        return _KEPT
    if _is_like_an_address(key):
        return Judged(why=_NAMED)
    return _KEPT if _is_plain(value) else Judged(why=_LOOKS)


def _is_small(value: str) -> bool:
    """A number that is no address to anybody: 10.1 would be 10.0.0.1."""
    return (bool(_WHOLE.fullmatch(value)) and abs(int(value)) < _NETWORK_0) or bool(_SHARE.fullmatch(value))


def _is_like_an_address(key: str) -> bool:
    words = re.findall(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+", key)
    return any(word.lower() in _LIKE_AN_ADDRESS for word in words)


@cache
def _defaults(prefix: str) -> Mapping[str, tuple[str, ...]]:
    """The defaults of each setting in all releases."""
    found: dict[str, tuple[str, ...]] = {}
    for release in recorded_releases():
        kept = settings_of(release)
        for key, value in (kept.broker if prefix == "broker" else kept.client).items():
            found[key] = (*found.get(key, ()), *value.split(" and "))
    return found


_NUMBERS = frozenset({"backPressureForAsyncSendNumInsideAdjust", "backPressureForAsyncSendSizeInsideAdjust"})
"""Numbers, as whose default no class tells one."""


def _is_typed(prefix: str, key: str) -> bool:
    """Whether it is a number or a truth value in every release that has it."""
    defaults = _defaults(prefix).get(key, ())
    return key in _NUMBERS or (bool(defaults) and all(one == BY_PROCESSORS or _is_number(one) for one in defaults))


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """``settings`` are what nodes and clients are given, ``changes`` what is said of each other one, by ``--set``'s key:
    its value and what became of it, as ``value -> used``."""

    settings: UserSettings
    changes: Mapping[str, str]


def admitted(user: UserSettings, home: Path | None = None) -> Admitted:
    """The user's settings as far as they stay in the lab.

    ``home`` is the folder of the node that they are for; without one no path is among them.
    """
    kept: dict[str, dict[str, str]] = {"broker": {}, "broker-jvm": {}, "client": {}}
    changes: dict[str, str] = {}
    parts = {"broker": user.broker, "broker-jvm": user.broker_jvm, "client": user.client}
    for prefix, given in parts.items():
        for key, value in given.items():
            judged = judge(prefix, key, value)
            if not judged.why:
                kept[prefix][key] = value
            elif judged.place is None:
                changes[f"{prefix}.{key}"] = f"{told(key, value)} -> {LEFT_OUT}{judged.why}"
            else:
                changes[f"{prefix}.{key}"] = f"{told(key, value)} -> {_place(home, judged.place)}: {judged.why}"
                kept[prefix] |= {key: _place(home, judged.place)} if home else {}
    settings = UserSettings(broker=kept["broker"], broker_jvm=kept["broker-jvm"], client=kept["client"])
    return Admitted(settings=settings, changes=changes)


def _place(home: Path | None, place: str) -> str:
    return str(home / place) if home else f"each broker's own {place}".rstrip()


def masked(key: str, value: str) -> str:
    """The value as it may be passed on: of a secret, or of where one lies, nothing.

    Settings of the user pass here where they are read, so that no run, page or bundle has ever seen one.
    """
    is_secret = value not in ("", "true", "false") and bool(_SECRET.search(key) or _SECRET_VALUE.search(value))
    is_secret = is_secret or (not _FIGURE.fullmatch(value.strip()) and _names_a_secret(key))
    return HIDDEN if is_secret else value


def _names_a_secret(key: str) -> bool:
    words = [word.lower() for word in _KEY_WORD.findall(key)]
    # An authorization's cache is no secret, a header of that name is.
    return bool(_SECRET_WORDS & {*words}) or words[-1:] in (["authorization"], ["signature"])


def masked_words(words: Iterable[str]) -> list[str]:
    """The words of a command line, without the secrets of its ``[PREFIX.]KEY=VALUE``."""
    return [_SETTING.sub(lambda found: f"{found[1]}{masked(found[2], found[3])}", word) for word in words]


def told(key: str, value: str) -> str:
    """The value as a person is to see it: printable and not endless, and no secret."""
    return excerpt(masked(key, value))
