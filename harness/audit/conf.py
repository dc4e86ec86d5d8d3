"""What a broker.conf decides of the incidents, on a release, without a cluster. Pure: settings in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.audit.deliveries import reset_stops
from harness.audit.finding import AuditFinding, Severity
from harness.audit.findings import acknowledges_alone, lock_settings, pool_loses_data
from harness.audit.flushes import one_send_thread
from harness.audit.reading import BrokerReading
from harness.audit.slaves import serves_no_reads
from harness.audit.values import OF_FILES
from harness.language import joined, phrase
from harness.model import rocketmq
from harness.model.broker_conf import (
    BACKSLASH,
    BYTE_ORDER_MARK,
    COMMENT,
    NOT_ASCII,
    SET_TWICE,
    ConfFile,
    Fate,
    JudgedConf,
)
from harness.printable import excerpt
from harness.releases.central import version_key
from harness.releases.judged_conf import judge_file
from harness.releases.settings import Feature, has

IGNORED_KEYS, DEAD_KEYS, IGNORED_VALUES, READ_OTHERWISE = (
    "ignored-keys",
    "dead-keys",
    "ignored-values",
    "read-otherwise",
)
OF_KEYS = frozenset(
    {IGNORED_KEYS, DEAD_KEYS, IGNORED_VALUES, READ_OTHERWISE, BYTE_ORDER_MARK, SET_TWICE, COMMENT, NOT_ASCII, BACKSLASH}
)
"""Kinds of findings that are about a key of the file, not about what the broker does."""
ACL, AUTHENTICATION = "aclEnable", "authenticationEnabled"
POOL = "transientStorePoolEnable"
POOL_SIZE = "transientStorePoolSize"
POOL_SIZE_DEFAULT = 5
"""org.apache.rocketmq.store.config.MessageStoreConfig."""
POOL_SIZE_MIN = 3
"""With one or two buffers none is free while one is filled and the next one is written out (POOL-03)."""


MODES: Mapping[str, str] = {"flushDiskType": "ASYNC_FLUSH", "brokerRole": "ASYNC_MASTER", POOL: "false"}
"""Settings that turn whole parts of a broker on, with their defaults in every release (MessageStoreConfig)."""


def modes_of(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that turn something on, as what is measured with them is of no other broker."""
    return {key: value for key, value in settings.items() if MODES.get(key, value) != value}


def modes_in(in_force: Mapping[str, str], release: str) -> dict[str, str]:
    """What a broker has of ``MODES``. What its file leaves open is left out: the role of a slave's master, or whom a controller
    makes master. In a DLedger group there is neither role nor pool."""
    broker = BrokerReading(
        name="", broker_id=0, address="", conf=in_force, has_attributes=has(release, Feature.ATTRIBUTES)
    )
    modes = {**MODES, **{key: value for key, value in in_force.items() if key in MODES}}
    modes[POOL] = "true" if broker.has_pool else "false"
    if broker.in_group:
        modes["brokerRole"] = ""
    elif modes["brokerRole"] == "SLAVE" or in_force.get("enableControllerMode") == "true":
        del modes["brokerRole"]
    return modes


class _Asked(Mapping[str, str]):
    """Settings that note which of them somebody looks at."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self.keys_asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.keys_asked.add(key)
        return self._settings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)


@dataclass(frozen=True, kw_only=True)
class ConfJudged:
    """What was found, the worst first. ``refuses`` says when sends are refused with [REJECTREQUEST], which also happens when the
    transient store pool runs out where it ``has_pool``."""

    release: str
    refuses: str
    has_pool: bool
    findings: tuple[AuditFinding, ...]
    settings: Mapping[str, str]
    """What the broker goes by of the file."""
    checked: Sequence[str]
    """The file's keys whose values were looked at, in its order."""
    read: Sequence[str]
    """Those of which nothing more is known than that the broker reads them, or takes them and does nothing."""
    unknown: Sequence[str]
    """Those that the broker does not know."""


def judge_conf(conf: ConfFile, release: str) -> ConfJudged:
    """A broker.conf on a release. ``SendMessageProcessor.rejectRequest`` decides: the put lock is held for longer than
    osPageCacheBusyTimeOutMills, or the transient store pool is on and has no free buffer; on 5.x also on every slave
    (but with enableSlaveActingMaster).

    Raises ConfigurationError: it is no broker's file, by its keys.
    """
    judged, where = judge_file(conf, release), conf.name
    # Lock times are no settings of a broker.conf, wherefore somebody puts them there.
    unknown = {one.key: one.text for one in judged.of(Fate.UNKNOWN)}
    misplaced = {key: unknown[key] for key in (rocketmq.LOCK_LIFE, rocketmq.LOCK_INTERVAL) if key in unknown}
    settings = _Asked({**misplaced, **judged.in_force})
    busy_ms = float(settings.get(rocketmq.PAGE_CACHE_BUSY, rocketmq.PAGE_CACHE_BUSY_MS))
    broker = BrokerReading(
        name=where,
        broker_id=0,
        address="",
        conf=settings,
        has_attributes=has(release, Feature.ATTRIBUTES),
        version=version_key(release),
    )
    held = (
        phrase("holds the put lock for {busy_ms:,.0f} ms", busy_ms=busy_ms) if busy_ms > 0 else phrase("is under way")
    )
    refuses = phrase(
        "an append that {held} ({page_cache_busy})",
        held=held,
        page_cache_busy=rocketmq.PAGE_CACHE_BUSY,
    )
    if broker.has_pool:
        pool = phrase(", or a transient store pool whose {count} buffers are all in use", count=_pool_size(settings))
        refuses = joined("", (refuses, pool))
    found = [
        *_keys(conf, judged, where),
        *_busy(settings, busy_ms, where),
        *_pool(broker),
        *pool_loses_data(broker),
        *acknowledges_alone(broker),
        *lock_settings(broker),
        *reset_stops(broker),
        *one_send_thread(broker),
        *serves_no_reads(broker),
        *(one for judged_values in OF_FILES for one in judged_values(broker)),
    ]
    known = [one.key for one in judged.keys if one.fate is not Fate.UNKNOWN]
    return ConfJudged(
        release=release,
        refuses=refuses,
        has_pool=broker.has_pool,
        findings=tuple(sorted(found, key=lambda one: -one.severity)),
        settings=judged.in_force,
        checked=[key for key in known if key in settings.keys_asked],
        read=[key for key in known if key not in settings.keys_asked],
        unknown=list(unknown),
    )


def _pool_size(settings: Mapping[str, str]) -> int:
    return int(settings.get(POOL_SIZE, POOL_SIZE_DEFAULT))


def _warning(kind: str, where: str, says: str, advice: str) -> AuditFinding:
    return AuditFinding(kind=kind, severity=Severity.WARNING, where=where, says=says, advice=advice)


def _keys(conf: ConfFile, judged: JudgedConf, where: str) -> Iterator[AuditFinding]:
    """What of the file is not read as its writer meant it: one warning a key, the comment that is behind a value with it."""
    by_key = {one.key: one for one in judged.keys}
    told: set[str] = set()
    for odd in conf.oddities:
        says = odd.says
        if odd.kind == COMMENT and by_key[odd.key].says and by_key[odd.key].fate is not Fate.UNKNOWN:
            says = phrase("{says}: {more}", says=phrase(says), more=phrase(by_key[odd.key].says))
            told.add(odd.key)
        if odd.kind == BYTE_ORDER_MARK:
            told.add(next(iter(conf.entries)))
        yield _warning(odd.kind, where, says, odd.advice)
    unknown = [one for one in judged.of(Fate.UNKNOWN) if one.key not in told]
    for advice in dict.fromkeys(one.advice for one in unknown):
        of_it = [one for one in unknown if one.advice == advice]
        lines: str = ""
        if of_it[0].line:
            numbers = ", ".join(str(one.line) for one in of_it)
            lines = phrase("lines {lines}: " if len(of_it) > 1 else "line {lines}: ", lines=numbers)
        names = ", ".join(excerpt(one.key) for one in of_it)
        says = phrase("{lines}this release does not know and ignores {keys}", lines=lines, keys=names)
        yield _warning(IGNORED_KEYS, where, says, advice)
    for kind, fate in ((DEAD_KEYS, Fate.DEAD), (IGNORED_VALUES, Fate.IGNORED), (READ_OTHERWISE, Fate.READ)):
        for one in judged.of(fate):
            # A value with a blank behind it is ignored for a default that says the same.
            is_harmless = fate is Fate.IGNORED and one.text.strip() == one.value
            if one.says and one.key not in told and not is_harmless:
                is_open = one.key == ACL and one.value == "true" and judged.in_force.get(AUTHENTICATION) != "true"
                severity = Severity.CRITICAL if is_open and fate is Fate.DEAD else Severity.WARNING
                says, advice = one.says, one.advice
                if one.key == ACL and one.value == "true" and fate is Fate.DEAD and not is_open:
                    says, advice = (
                        phrase(
                            "nothing reads it, and {authentication}, which takes its place, is on",
                            authentication=AUTHENTICATION,
                        ),
                        phrase("Remove the line."),
                    )
                yield AuditFinding(
                    kind=kind,
                    severity=severity,
                    where=where,
                    says=phrase("{at}: {says}", at=phrase(one.at), says=phrase(says)),
                    advice=advice,
                )


def _busy(settings: Mapping[str, str], busy_ms: float, where: str) -> Iterator[AuditFinding]:
    wait_ms = float(settings.get(rocketmq.SEND_WAIT, rocketmq.SEND_WAIT_MS))
    if busy_ms < rocketmq.PAGE_CACHE_BUSY_MS:
        yield _warning(
            "busy-early",
            where,
            phrase(
                "{page_cache_busy} {busy_ms:,.0f} refuses sends from shorter stalls than the default of "
                "{page_cache_busy_ms:,.0f} ms does",
                page_cache_busy=rocketmq.PAGE_CACHE_BUSY,
                busy_ms=busy_ms,
                page_cache_busy_ms=rocketmq.PAGE_CACHE_BUSY_MS,
            ),
            phrase("Leave it out, unless clients shall go to another broker that soon."),
        )
    if settings.get("brokerFastFailureEnable") == "false":
        yield _warning(
            "no-fast-failure",
            where,
            phrase(
                "brokerFastFailureEnable is off: sends wait in the queue for as long as the stall lasts, and time "
                "out at their clients",
            ),
            phrase("Turn it on, so that a client can try another broker."),
        )
    elif wait_ms >= busy_ms > 0:
        yield _warning(
            "wait-over-busy",
            where,
            phrase(
                "{send_wait} {wait_ms:,.0f} has no effect beyond {busy_ms:,.0f} ms of one slow append: the page "
                "cache counts as busy by then, and queued sends are refused for that",
                send_wait=rocketmq.SEND_WAIT,
                wait_ms=wait_ms,
                busy_ms=busy_ms,
            ),
            phrase(
                "mqlab tune --rate HZ --stall MS,... --wait {wait_ms:g} says what each value costs at your load.",
                wait_ms=wait_ms,
            ),
        )


def _pool(broker: BrokerReading) -> Iterator[AuditFinding]:
    settings, has_pool, where = broker.conf, broker.has_pool, broker.name
    if settings.get(POOL) == "true" and not has_pool:
        yield _warning(
            "pool-off",
            where,
            phrase(
                "transientStorePoolEnable does nothing: the log of a DLedger group does not use it{flush}"
                if broker.in_group
                else "transientStorePoolEnable does nothing: this release leaves the pool off on a slave{flush}",
                flush=phrase(", and with SYNC_FLUSH")
                if settings.get("flushDiskType") == "SYNC_FLUSH" and not broker.has_attributes
                else "",
            ),
            phrase("Take appends to be exposed to the page cache, as without the pool."),
        )
    size = _pool_size(settings)
    if has_pool and size < POOL_SIZE_MIN:
        yield AuditFinding(
            kind="pool-too-small",
            severity=Severity.CRITICAL,
            where=where,
            says=phrase("a pool of {size} buffers refuses sends without any stall", size=size),
            advice=phrase(
                "{pool_size} of {pool_size_default} or more; each buffer is as long as a commit-log file.",
                pool_size=POOL_SIZE,
                pool_size_default=POOL_SIZE_DEFAULT,
            ),
        )
