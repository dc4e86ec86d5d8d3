"""Values that a broker takes without a word and cannot work with. Pure: settings in, findings out.

What each does was seen on started brokers of 4.9.7 and of 5.5.0, unless its docstring names a class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading
from harness.audit.settings import whole_of
from harness.language import phrase
from harness.model.rocketmq import BROKER_PERMISSION, FRAME_BYTES_MAX, FRAME_LIMIT, SEND_WAIT, SEND_WAIT_MS
from harness.printable import excerpt

HOURS = range(24)
RESERVED_H, HOUR = 72, "04"
FILE_BYTES, MESSAGE_BYTES, QUEUE_FILE_BYTES = 1 << 30, 1 << 22, 6_000_000
"""Defaults of org.apache.rocketmq.store.config.MessageStoreConfig."""
LISTEN_PORT, PORTS = 10911, 1 << 16
BESIDE_BODY_BYTES = 1 << 15
"""Properties may have so many bytes beside a body of maxMessageSize."""
READ, WRITE = 4, 2
"""org.apache.rocketmq.common.constant.PermName."""
PATHS = ("storePathRootDir", "storePathCommitLog", "storePathDLedgerCommitLog", "readOnlyCommitLogStorePaths")
DOES_NOT_START = phrase("the broker does not start")
_DELAYS = re.compile(r"[+-]?\d+[smhd]( [+-]?\d+[smhd])*", re.ASCII)
_ADDRESS = re.compile(r"[^\s,;]+:\d{1,5}", re.ASCII)
_PEER = re.compile(r"([^-;]+)-([^\s;,:]+):(\d{1,5})", re.ASCII)
_MEMBER = re.compile(r".[+-]?\d{1,9}", re.ASCII)
_GROUP = phrase(
    "dLegerPeers=n0-HOST:40911;n1-HOST:40911;n2-HOST:40911, the same on each member, and its own id as dLegerSelfId.",
)
_WHOLE = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_COUNTS = re.compile(r"(?!recover|batchDispatch)\w+(ThreadPoolNums|ThreadPoolQueueCapacity)")
"""All but the threads of 5.x that only some stores have: a broker starts with none of them."""


def name_servers(broker: BrokerReading) -> Iterator[AuditFinding]:
    """``namesrvAddr`` is split at semicolons alone; BrokerStartup ends where a part has no port."""
    text = broker.conf.get("namesrvAddr", "")
    parts = text.rstrip(";").split(";")
    if not text.strip() or all(_ADDRESS.fullmatch(part) for part in parts):
        return
    yield _critical(
        "name-servers-unread",
        broker,
        phrase(
            'namesrvAddr is "{text}": a broker splits it at ; alone, takes the rest for one host name, and registers with '
            "none of them"
            if any("," in part for part in parts)
            else 'namesrvAddr is "{text}": not each part is HOST:PORT',
            text=excerpt(text),
        ),
        phrase("namesrvAddr=HOST:PORT;HOST:PORT, without blanks."),
    )


def deletion(broker: BrokerReading) -> Iterator[AuditFinding]:
    """When files are deleted (``UtilAll.isItTimeToDo``), and which (``MappedFileQueue.deleteExpiredFileByTime``)."""
    conf = broker.conf
    hours, reserved_h = conf.get("deleteWhen", HOUR), whole_of(conf, "fileReservedTime", RESERVED_H)
    parts = hours.split(";")
    when = phrase("at deleteWhen={text}", text=excerpt(hours))
    if not all(_WHOLE.fullmatch(part) for part in parts):
        yield _critical(
            "deletion-fails", broker,
            phrase(
                "deleteWhen is \"{text}\": hours are parted by ; and are whole numbers. Each look for old files "
                "ends with an exception instead, and none is deleted, not on a full disk either",
                text=excerpt(hours),
            ),
            phrase("deleteWhen=04, or deleteWhen=04;16."),
        )  # fmt: skip
        return
    never = [part for part in parts if int(part) not in HOURS]
    if never:
        only = len(never) == len(parts)
        yield _warning(
            "deletion-never-due", broker,
            phrase(
                "deleteWhen has {hours}, and a day has the hours 0 to 23: old files are deleted only once the disk is as full "
                "as diskMaxUsedSpaceRatio" if only else "deleteWhen has {hours}, and a day has the hours 0 to 23",
                hours=", ".join(never),
            ),
            phrase("deleteWhen=04, an hour of the broker's own time zone."),
        )  # fmt: skip
        when = phrase("once the disk is as full as diskMaxUsedSpaceRatio") if only else when
    if reserved_h <= 0:
        yield _critical(
            "files-not-kept", broker,
            phrase(
                "fileReservedTime={reserved_h} keeps no commit-log file: {when} each but the newest is deleted, "
                "whether it was consumed or not",
                reserved_h=reserved_h, when=when,
            ),
            phrase("fileReservedTime={reserved_h}, in hours.", reserved_h=RESERVED_H),
        )  # fmt: skip


def files(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A message is in one file, and a file has a size."""
    conf = broker.conf
    size, longest = (
        whole_of(conf, key, default)
        for key, default in (("mappedFileSizeCommitLog", FILE_BYTES), ("maxMessageSize", MESSAGE_BYTES))
    )
    if size <= 0:
        yield _critical(
            "no-files", broker, phrase(
                "mappedFileSizeCommitLog={size}: the broker starts, and each send fails",
                size=size,
            ),
            phrase("mappedFileSizeCommitLog={file_bytes}, or leave it out.", file_bytes=FILE_BYTES),
        )  # fmt: skip
    elif size < longest + BESIDE_BODY_BYTES:
        yield _critical(
            "files-too-small", broker,
            phrase(
                "a commit-log file has mappedFileSizeCommitLog={size:,} bytes, a message may have "
                "maxMessageSize={longest:,}: one that does not fit into a file is acknowledged with SEND_OK and not "
                "stored",
                size=size, longest=longest,
            ),
            phrase(
                "mappedFileSizeCommitLog={file_bytes}, or a maxMessageSize that leaves {beside_body_bytes:,} bytes "
                "of a file.",
                file_bytes=FILE_BYTES, beside_body_bytes=BESIDE_BODY_BYTES,
            ),
        )  # fmt: skip
    if (queue := whole_of(conf, "mappedFileSizeConsumeQueue", QUEUE_FILE_BYTES)) <= 0:
        yield _critical(
            "no-queue-files", broker,
            phrase(
                "mappedFileSizeConsumeQueue={queue}: sends are acknowledged, and no message reaches its queue",
                queue=queue,
            ),
            phrase(
                "mappedFileSizeConsumeQueue={queue_file_bytes}, or leave it out.",
                queue_file_bytes=QUEUE_FILE_BYTES,
            ),
        )  # fmt: skip
    if longest > FRAME_BYTES_MAX:
        yield _warning(
            "message-over-frame", broker,
            phrase(
                "maxMessageSize={longest:,} is more than a frame has, {frame_bytes_max:,} bytes unless the JVM was "
                "started with -D{frame_limit}: a longer send ends without an answer (\"TooLongFrameException\" in the "
                "broker's remoting.log)",
                longest=longest, frame_bytes_max=FRAME_BYTES_MAX, frame_limit=FRAME_LIMIT,
            ),
            phrase(
                "maxMessageSize={frame_bytes_max} at most, or -D{frame_limit}=BYTES for brokers and clients.",
                frame_bytes_max=FRAME_BYTES_MAX - BESIDE_BODY_BYTES, frame_limit=FRAME_LIMIT,
            ),
        )  # fmt: skip
    if longest <= 0:
        yield _critical(
            "no-message-fits", broker, phrase(
                "maxMessageSize={longest}: each send is refused as too long (CODE 13)",
                longest=longest,
            ),
            phrase("maxMessageSize={message_bytes}, or leave it out.", message_bytes=MESSAGE_BYTES),
        )  # fmt: skip


def waits(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Times of no length."""
    conf = broker.conf
    timeout_ms = whole_of(conf, "syncFlushTimeout", 5000)
    if conf.get("flushDiskType") == "SYNC_FLUSH" and timeout_ms <= 0:
        yield _critical(
            "no-time-to-flush", broker,
            phrase(
                "syncFlushTimeout={timeout_ms} with SYNC_FLUSH: sends are answered with FLUSH_DISK_TIMEOUT, flushed "
                "or not",
                timeout_ms=timeout_ms,
            ),
            phrase("syncFlushTimeout=5000, in milliseconds."),
        )  # fmt: skip
    wait_ms = whole_of(conf, SEND_WAIT, int(SEND_WAIT_MS))
    if wait_ms <= 0 and conf.get("brokerFastFailureEnable") != "false":
        yield _warning(
            "no-time-in-queue", broker,
            phrase(
                "{send_wait}={wait_ms}: a send that waits for a thread at all may be refused ([TIMEOUT_CLEAN_QUEUE])",
                send_wait=SEND_WAIT, wait_ms=wait_ms,
            ),
            phrase(
                "{send_wait}={send_wait_ms:.0f}, in milliseconds.",
                send_wait=SEND_WAIT, send_wait_ms=SEND_WAIT_MS,
            ),
        )  # fmt: skip
    interval_ms = whole_of(conf, "flushIntervalCommitLog", 500)
    if interval_ms <= 0 and conf.get("flushDiskType") != "SYNC_FLUSH":
        yield _warning(
            "flush-without-pause", broker,
            phrase(
                "flushIntervalCommitLog={interval_ms}: the thread that flushes never waits and takes a core",
                interval_ms=interval_ms,
            ),
            phrase("flushIntervalCommitLog=500, in milliseconds."),
        )  # fmt: skip


def permission(broker: BrokerReading) -> Iterator[AuditFinding]:
    """What a broker registers as the permission of its topics: 4 to read and 2 to write (``PermName``). With 2 sends were answered
    with SEND_OK and nothing came to a consumer, with 4 sends had no route."""
    value = whole_of(broker.conf, BROKER_PERMISSION, READ | WRITE)
    reads, writes = value & READ, value & WRITE
    if writes and not reads:
        yield _critical(
            "nothing-is-read", broker,
            phrase(
                "{broker_permission}={value}: sends are stored, and no consumer gets anything of this broker",
                broker_permission=BROKER_PERMISSION, value=value,
            ),
            phrase(
                "{broker_permission}={both}, or leave it out.",
                broker_permission=BROKER_PERMISSION, both=READ | WRITE,
            ),
        )  # fmt: skip
    elif not writes:
        gets = phrase("consumers read what is there") if reads else phrase("consumers get nothing of it either")
        yield _warning(
            "nothing-is-written", broker,
            phrase(
                "{broker_permission}={value}: producers send this broker nothing (\"No route info of this topic\" "
                "where there is no other one); {gets}",
                broker_permission=BROKER_PERMISSION, value=value, gets=gets,
            ),
            phrase(
                "{broker_permission}={both}, unless the broker is being emptied.",
                broker_permission=BROKER_PERMISSION, both=READ | WRITE,
            ),
        )  # fmt: skip


def controllers(broker: BrokerReading) -> Iterator[AuditFinding]:
    """``ReplicasManager`` asks controllers who is master before the broker registers (5.3.3, 5.5.0)."""
    conf = broker.conf
    is_led = broker.has_attributes and conf.get("enableControllerMode") == "true" and not broker.in_group
    if is_led and not conf.get("controllerAddr", "").strip(" ;"):
        yield _critical(
            "no-controller", broker,
            phrase(
                "enableControllerMode=true without controllerAddr: the broker prints \"boot success\" and registers "
                "nowhere, so that clients have no route; its broker.log repeats \"Failed to init controller metadata\"",
            ),
            phrase("controllerAddr=HOST:PORT;HOST:PORT, or remove enableControllerMode."),
        )  # fmt: skip


def users(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Who asks for a user and has no store of users refuses everybody. Seen on a started broker of 5.5.0; 5.3.3 has
    the words in the same class (``DefaultAuthenticationHandler``)."""
    conf = broker.conf
    if conf.get("authenticationEnabled") == "true" and not conf.get("authenticationMetadataProvider", "").strip():
        yield _critical(
            "no-users", broker,
            phrase(
                "authenticationEnabled=true without authenticationMetadataProvider: the broker starts and refuses "
                "each request (CODE 16, \"The authenticationMetadataProvider is not configured\"), as was seen on "
                "5.5.0",
            ),
            phrase(
                "authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider."
                "LocalAuthenticationMetadataProvider, and initAuthenticationUser for the first user.",
            ),
        )  # fmt: skip


def paths(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Java opens a path as it is written; who puts a home or a variable into it is a shell."""
    for key in PATHS:
        path = broker.conf.get(key, "")
        if path.startswith("~") or "$" in path:
            yield _critical(
                "path-of-a-shell", broker,
                phrase(
                    "{key}={text}: no shell reads it, and the store lies in a directory of this very name, below "
                    "the one that the broker is started in; started from elsewhere it has an empty store",
                    key=key, text=excerpt(path),
                ),
                f"{key}=/the/whole/path.",
            )  # fmt: skip


def role(broker: BrokerReading) -> Iterator[AuditFinding]:
    """``BrokerStartup`` gives masters the id 0 and members of a DLedger group -1; with a controller it leaves ids alone."""
    conf = broker.conf
    number, named = whole_of(conf, "brokerId", 0), conf.get("brokerRole", "ASYNC_MASTER")
    is_slave, in_group = named == "SLAVE", broker.in_group
    if conf.get("enableControllerMode") == "true":
        return
    if is_slave and number <= 0:
        yield _critical(
            "does-not-start", broker,
            phrase(
                "brokerRole=SLAVE with brokerId={number}: {does_not_start}, since a slave's id is above 0",
                number=number, does_not_start=DOES_NOT_START,
            ),
            phrase("Remove brokerRole: a DLedger group elects its master.") if in_group
            else phrase("Give each slave its own brokerId, from 1 on."),
        )  # fmt: skip
    elif is_slave and in_group:
        yield _warning(
            "role-without-meaning", broker,
            phrase("brokerRole=SLAVE in a DLedger group: the group elects its master, which may be this broker"),
            phrase("Remove brokerRole and brokerId."),
        )  # fmt: skip
    elif not is_slave and number != 0 and not in_group:
        yield _critical(
            "second-master", broker,
            phrase(
                "brokerId={number} with brokerRole={role}: the role decides, and the broker registers as a master with "
                "brokerId=0, beside the master that it was to be a slave of" if number > 0 else
                "brokerId={number} with brokerRole={role}: the role decides, and the broker registers as a master with brokerId=0",
                number=number, role=named,
            ),
            phrase("brokerRole=SLAVE for a slave, brokerId=0 for a master."),
        )  # fmt: skip


def ports(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A broker listens at listenPort, at two below it (5.x at any port where that is none), and for slaves at haListenPort.

    4.x sets haListenPort to one above listenPort when it has read its file; 5.x does where it is 0 or less. A member of a DLedger
    group has no such port, and that of its entry in dLegerPeers.
    """
    conf, of_5x = broker.conf, broker.has_attributes
    port = whole_of(conf, "listenPort", LISTEN_PORT)
    given = whole_of(conf, "haListenPort", 0)
    ha_port = given if given > 0 and of_5x else port + 1
    if port not in range(0 if of_5x else 2, PORTS):
        least = "0" if of_5x else phrase("2, since 4.x listens at two below it as well,")
        yield _no_start(
            broker,
            "listenPort",
            str(port),
            phrase(
                "A port from {least} to {ports}.",
                least=least,
                ports=PORTS - 2,
            ),
        )
        return
    if port == 0:
        yield _warning(
            "any-port",
            broker,
            phrase("listenPort=0: the broker listens at a port that the host chooses"),
            "listenPort=10911.",
        )
    if not broker.in_group and ha_port >= PORTS:
        key = "haListenPort" if given == ha_port else "listenPort"
        why = (
            ""
            if given == ha_port
            else phrase(
                ", since it listens for its slaves at {ha_port}, one above",
                ha_port=ha_port,
            )
        )
        yield _critical(
            f"does-not-start-{key}", broker, f"{key}={conf.get(key, port)}: {DOES_NOT_START}{why}",
            phrase("A port up to {ports}.", ports=PORTS - 1 if given == ha_port else PORTS - 2),
        )  # fmt: skip
    elif not of_5x and given not in (0, port + 1):
        yield _warning(
            "ha-port-overridden", broker,
            phrase(
                "haListenPort={given} does nothing: 4.x listens for its slaves at {port}, one above listenPort",
                given=given, port=port + 1,
            ),
            phrase("Remove the line, and open that port to the slaves."),
        )  # fmt: skip
    own = {port: "listenPort", port - 2: phrase("two below listenPort, where it listens as well")}
    others = [("dLegerPeers", _own_port(conf))] if broker.in_group else [("haListenPort", ha_port)]
    for key, other in others:
        if port and other > 0 and other in own:
            yield _critical(
                "port-taken-by-itself", broker,
                phrase(
                    "{key} has port {other}, which is {own}: it does not come up (Address already in use), and its "
                    "process may stay",
                    key=key, other=other, own=own[other],
                ),
                phrase(
                    "Ports of its own for each: {first}, {second} and, for instance, {third}.",
                    first=port - 2, second=port, third=port + 1 if key == "haListenPort" else 40911,
                ),
            )  # fmt: skip


def group(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Members of a DLedger group (``DLedgerConfig``, ``BrokerStartup``): ids are parted from addresses by the first hyphen."""
    conf = broker.conf
    if not broker.in_group:
        return
    if conf.get("enableControllerMode") == "true":
        yield _critical(
            "two-kinds-of-groups", broker,
            phrase(
                "enableControllerMode=true and enableDLegerCommitLog=true: {does_not_start} and prints \"The config "
                "enableControllerMode and enableDLegerCommitLog cannot both be true.\"",
                does_not_start=DOES_NOT_START,
            ),
            phrase(
                "Keep one of them: a controller elects masters of brokers with plain commit logs, a DLedger group "
                "its own.",
            ),
        )  # fmt: skip
        return
    own, peers = conf.get("dLegerSelfId", ""), [one for one in conf.get("dLegerPeers", "").split(";") if one]
    ids = [one.partition("-")[0] for one in peers]
    lacking = [key for key in ("dLegerSelfId", "dLegerPeers") if not conf.get(key)]
    wrong = [one for one in peers if not _PEER.fullmatch(one)]
    if lacking:
        says, advice = phrase("enableDLegerCommitLog=true without {lacking}", lacking=" and ".join(lacking)), _GROUP
    elif not _MEMBER.fullmatch(own):
        says, advice = (
            phrase("dLegerSelfId={text} is not a letter and a number", text=excerpt(own)),
            phrase("dLegerSelfId=n0, and n1, n2 for others."),
        )
    elif wrong:
        says, advice = (
            phrase(
                'dLegerPeers has "{text}", which is not ID-HOST:PORT',
                text=excerpt(wrong[0]),
            ),
            _GROUP,
        )
    elif own not in ids:
        says, advice = (
            phrase(
                "dLegerSelfId={text} is none of the ids in dLegerPeers ({ids})",
                text=excerpt(own),
                ids=excerpt(", ".join(ids)),
            ),
            _GROUP,
        )
    else:
        yield from _members(broker, ids)
        return
    yield _critical("does-not-start-group", broker, f"{says}: {DOES_NOT_START}", advice)


def _members(broker: BrokerReading, ids: Sequence[str]) -> Iterator[AuditFinding]:
    if twice := [one for one, count in Counter(ids).items() if count > 1]:
        yield _critical(
            "group-falls-apart", broker,
            phrase(
                "dLegerPeers has the id {text} more than once: the broker starts and counts them as one member, "
                "so that a group of these elects each of them its leader",
                text=excerpt(", ".join(twice)),
            ),
            _GROUP,
        )  # fmt: skip
    elif any(" " in one for one in ids):
        yield _critical(
            "group-falls-apart", broker, phrase(
                "dLegerPeers has a blank, which belongs to the id behind it: that member does not start",
            ),
            _GROUP,
        )  # fmt: skip
    elif len(ids) % 2 == 0:
        yield _warning(
            "even-group", broker,
            phrase(
                "dLegerPeers has {count} members, of which {most} have to live: it survives the loss of {lost}, as "
                "a group of {fewer} does",
                count=len(ids), most=len(ids) // 2 + 1, lost=len(ids) // 2 - 1, fewer=len(ids) - 1,
            ),
            phrase("{count} members survive the loss of {lost}.", count=len(ids) + 1, lost=len(ids) // 2),
        )  # fmt: skip
    if not broker.conf.get("dLegerGroup"):
        yield _warning(
            "group-without-name", broker, phrase(
                "dLegerGroup is not set: the broker starts, in a group without a name",
            ),
            phrase("dLegerGroup=NAME, the same in the file of each member; brokerName is a good one."),
        )  # fmt: skip


def _own_port(conf: Mapping[str, str]) -> int:
    peers = (_PEER.fullmatch(one) for one in conf.get("dLegerPeers", "").split(";"))
    own = [int(one[3]) for one in peers if one and one[1] == conf.get("dLegerSelfId")]
    return own[0] if own else -1


def copies(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A SYNC_MASTER of 5.x waits for inSyncReplicas copies, for slaveTimeout at most; a controller's has minInSyncReplicas."""
    conf = broker.conf
    needed, there = whole_of(conf, "inSyncReplicas", 1), whole_of(conf, "totalReplicas", 1)
    waits = (
        conf.get("brokerRole") == "SYNC_MASTER" and conf.get("enableControllerMode") != "true" and not broker.in_group
    )
    if broker.has_attributes and waits and "totalReplicas" in conf and needed > there:
        yield _critical(
            "copies-never-enough", broker,
            phrase(
                "inSyncReplicas={needed} of totalReplicas={there}: there are never so many copies, and each send is "
                "answered with FLUSH_SLAVE_TIMEOUT after slaveTimeout",
                needed=needed, there=there,
            ),
            phrase("inSyncReplicas={count} at most.", count=max(1, there)),
        )  # fmt: skip


def stores(broker: BrokerReading) -> Iterator[AuditFinding]:
    """``MessageStoreConfig.isEnableRocksDBStore`` compares with one word, whatever its letters' case."""
    text = broker.conf.get("storeType", "default")
    if broker.has_attributes and text.lower() not in ("default", "defaultrocksdb"):
        yield _warning(
            "store-of-no-type", broker,
            phrase(
                "storeType={text} is neither default nor defaultRocksDB: the broker starts with its default one",
                text=excerpt(text),
            ),
            phrase("storeType=defaultRocksDB for RocksDB, or leave it out."),
        )  # fmt: skip


def starts(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Other values for which a broker ends as it starts; the exception is on its standard output, or in store.log."""
    conf = broker.conf
    for key in conf:
        if _COUNTS.fullmatch(key) and whole_of(conf, key, 1) <= 0:
            yield _no_start(
                broker,
                key,
                conf[key],
                phrase(
                    "{key} is 1 or more; leave it out for the default.",
                    key=key,
                ),
            )
    delays = conf.get("messageDelayLevel", "1s")
    if not _DELAYS.fullmatch(delays.rstrip(" ")):
        yield _no_start(
            broker,
            "messageDelayLevel",
            excerpt(delays),
            phrase(
                "Times with one blank between two, such as 1s 5s 10m 2h.",
            ),
        )


def _no_start(broker: BrokerReading, key: str, text: str, advice: str) -> AuditFinding:
    return _critical(f"does-not-start-{key}", broker, f"{key}={text}: {DOES_NOT_START}", advice)


def _critical(kind: str, broker: BrokerReading, says: str, advice: str) -> AuditFinding:
    return AuditFinding(kind=kind, severity=Severity.CRITICAL, where=broker.words, says=says, advice=advice)


def _warning(kind: str, broker: BrokerReading, says: str, advice: str) -> AuditFinding:
    return AuditFinding(kind=kind, severity=Severity.WARNING, where=broker.words, says=says, advice=advice)


OF_RUNNING = (deletion, files, waits, permission)
"""What may be so of a broker that runs."""
OF_FILES = (name_servers, *OF_RUNNING, controllers, users, paths, role, ports, group, copies, stores, starts)
"""What may be so of a broker.conf."""
