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
from harness.model import rocketmq
from harness.releases.jars import is_5x
from harness.releases.user_settings import ignored_keys

POOL = "transientStorePoolEnable"
POOL_SIZE = "transientStorePoolSize"
POOL_SIZE_DEFAULT = 5
"""org.apache.rocketmq.store.config.MessageStoreConfig."""
POOL_SIZE_MIN = 3
"""With one or two buffers none is free while one is filled and the next one is written out (POOL-03)."""


@dataclass(frozen=True, kw_only=True)
class ConfJudged:
    """What was found, the worst first. ``refuses`` says when sends are refused with [REJECTREQUEST]; ``claims`` of the
    articles show it measured."""

    release: str
    refuses: str
    claims: tuple[str, ...]
    findings: tuple[AuditFinding, ...]


def judge_conf(settings: Mapping[str, str], release: str, where: str) -> ConfJudged:
    """A broker.conf on a release. ``SendMessageProcessor.rejectRequest`` decides: the put lock is held for longer than
    osPageCacheBusyTimeOutMills, or the transient store pool is on and has no free buffer; on 5.x also on every slave
    (but with enableSlaveActingMaster).

    Raises:
        UsageError: the release knows a key, and the value is not of its kind.
    """
    ignored = ignored_keys(settings, release)
    busy_ms = float(settings.get(rocketmq.PAGE_CACHE_BUSY, rocketmq.PAGE_CACHE_BUSY_MS))
    has_pool = _has_pool(settings, release)
    refuses = f"an append that holds the put lock for {busy_ms:,.0f} ms ({rocketmq.PAGE_CACHE_BUSY})"
    if has_pool:
        refuses += f", or a transient store pool whose {_pool_size(settings)} buffers are all in use"
    version = tuple(int(number) for number in release.split("."))
    broker = BrokerReading(name=where, broker_id=0, address="", conf=settings, is_5x=is_5x(release), version=version)
    found = [
        *_ignored(ignored, where),
        *_busy(settings, busy_ms, where),
        *_pool(settings, has_pool, where),
        *pool_loses_data(broker),
        *acknowledges_alone(broker),
        *lock_settings(broker),
        *reset_stops(broker),
        *one_send_thread(broker),
        *serves_no_reads(broker),
    ]
    return ConfJudged(
        release=release,
        refuses=refuses,
        claims=("BUSY-14", *(("POOL-03",) if has_pool else ())),
        findings=tuple(sorted(found, key=lambda one: -one.severity)),
    )


def _has_pool(settings: Mapping[str, str], release: str) -> bool:
    """``isTransientStorePoolEnable`` of MessageStoreConfig (4.x) and of DefaultMessageStore (5.x)."""
    if settings.get(POOL) != "true":
        return False
    if not is_5x(release):
        return settings.get("flushDiskType") != "SYNC_FLUSH" and settings.get("brokerRole") != "SLAVE"
    return settings.get("brokerRole") != "SLAVE" or settings.get("enableControllerMode") == "true"


def _pool_size(settings: Mapping[str, str]) -> int:
    return int(settings.get(POOL_SIZE, POOL_SIZE_DEFAULT))


def _warning(kind: str, where: str, says: str, advice: str) -> AuditFinding:
    return AuditFinding(kind=kind, severity=Severity.WARNING, where=where, says=says, advice=advice)


def _ignored(keys: Sequence[str], where: str) -> Iterator[AuditFinding]:
    if keys:
        yield _warning(
            "ignored-keys",
            where,
            f"this release does not know and ignores {', '.join(keys)}",
            "Look for the release's own name of the setting, or remove the line.",
        )


def _busy(settings: Mapping[str, str], busy_ms: float, where: str) -> Iterator[AuditFinding]:
    wait_ms = float(settings.get(rocketmq.SEND_WAIT, rocketmq.SEND_WAIT_MS))
    if busy_ms < rocketmq.PAGE_CACHE_BUSY_MS:
        yield _warning(
            "busy-early",
            where,
            f"{rocketmq.PAGE_CACHE_BUSY} {busy_ms:,.0f} refuses sends from shorter stalls than the default of "
            f"{rocketmq.PAGE_CACHE_BUSY_MS:,.0f} ms does",
            "Leave it out, unless clients shall go to another broker that soon.",
        )
    if settings.get("brokerFastFailureEnable") == "false":
        yield _warning(
            "no-fast-failure",
            where,
            "brokerFastFailureEnable is off: sends wait in the queue for as long as the stall lasts, and time out at their clients",
            "Turn it on, so that a client can try another broker.",
        )
    elif wait_ms >= busy_ms:
        yield _warning(
            "wait-over-busy",
            where,
            f"{rocketmq.SEND_WAIT} {wait_ms:,.0f} has no effect beyond {busy_ms:,.0f} ms: the page cache counts as busy by then, "
            "and queued sends are refused for that",
            f"mqlab tune --rate HZ --stall MS,... --wait {wait_ms:g} says what each value costs at your load.",
        )


def _pool(settings: Mapping[str, str], has_pool: bool, where: str) -> Iterator[AuditFinding]:
    if settings.get(POOL) == "true" and not has_pool:
        yield _warning(
            "pool-off",
            where,
            f"{POOL} does nothing: this release leaves the pool off on a slave"
            + (", and with SYNC_FLUSH" if settings.get("flushDiskType") == "SYNC_FLUSH" else ""),
            "Take appends to be exposed to the page cache, as without the pool.",
        )
    size = _pool_size(settings)
    if has_pool and size < POOL_SIZE_MIN:
        yield AuditFinding(
            kind="pool-too-small",
            severity=Severity.CRITICAL,
            where=where,
            says=f"a pool of {size} buffers refuses sends without any stall",
            advice=f"{POOL_SIZE} of {POOL_SIZE_DEFAULT} or more; each buffer is as long as a commit-log file.",
        )
