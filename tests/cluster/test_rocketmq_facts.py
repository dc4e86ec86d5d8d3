from __future__ import annotations

import zipfile
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from analysis.verdicts.order import is_between
from harness.faults.pool_jam import THREADS
from harness.load.readings import READINGS
from harness.model import rocketmq
from harness.model.alert_lines import ALERT_LINES
from harness.model.log_events import WORDINGS, Logged
from harness.releases.class_file import class_of, has_class, method_of, texts
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.log_words import texts_of, unwritten, writes, writes_line
from harness.releases.settings import Feature, has

NAMESRV = "org.apache.rocketmq.namesrv"
COMMON, CLIENT, BROKER = "org.apache.rocketmq.common", "org.apache.rocketmq.client", "org.apache.rocketmq.broker"
REMOTING, STORE = "org.apache.rocketmq.remoting", "org.apache.rocketmq.store"

TEXTS: dict[str, tuple[str, ...]] = {
    f"{BROKER}.client.rebalance.RebalanceLockManager": (rocketmq.LOCK_LIFE, f"{rocketmq.LOCK_LIFE_MS:.0f}"),
    f"{CLIENT}.impl.consumer.ProcessQueue": (
        rocketmq.LOCK_INTERVAL,
        f"{rocketmq.LOCK_INTERVAL_MS:.0f}",
        rocketmq.CLIENT_LOCK_LIFE,
    ),
    f"{REMOTING}.netty.NettyDecoder": (rocketmq.FRAME_LIMIT, str(rocketmq.FRAME_BYTES_MAX)),
    f"{COMMON}.MixAll": (rocketmq.RETRY_PREFIX, rocketmq.DEAD_LETTER_PREFIX),
    f"{STORE}.config.MessageStoreConfig": (rocketmq.DELAY_LEVELS, rocketmq.PAGE_CACHE_BUSY),
    f"{COMMON}.BrokerConfig": (rocketmq.SEND_WAIT, rocketmq.CHECKS),
    f"{BROKER}.transaction.queue.TransactionalMessageUtil": (
        rocketmq.HALF_TOPIC,
        rocketmq.OP_TOPIC,
        rocketmq.CHECKS_GROUP,
    ),
    f"{REMOTING}.netty.NettyRemotingAbstract": (rocketmq.REJECTREQUEST, rocketmq.OVERLOAD),
    f"{BROKER}.processor.AbstractSendMessageProcessor": (rocketmq.ILLEGAL_QUEUE,),
    f"{BROKER}.processor.SendMessageProcessor": (rocketmq.PC_SYNCHRONIZED,),
    f"{BROKER}.latency.BrokerFastFailure": (rocketmq.PCBUSY_CLEAN_QUEUE, rocketmq.TIMEOUT_CLEAN_QUEUE),
    f"{CLIENT}.producer.SendStatus": rocketmq.STORED_UNSURE,
    f"{BROKER}.BrokerController": tuple(THREADS.values()),
}
"""The class that each fact was read from, and the texts that say it."""

LOGGED: dict[str, tuple[str, ...]] = {
    f"{STORE}.CommitLog": (" in lock cost time(ms)=",),
    f"{STORE}.StoreStatsService": ("[PAGECACHERT]",),
    f"{STORE}.AllocateMappedFileService": ("TransientStorePool is not enough", "create mmap timeout"),
    f"{STORE}.TransientStorePool": ("TransientStorePool only remain",),
    f"{BROKER}.BrokerController": ("[WATERMARK] ", " Queue Size: {} SlowTimeMills: {}"),
    f"{REMOTING}.netty.NettyDecoder": ("decode exception, ",),
    f"{REMOTING}.netty.NettyRemotingAbstract": (rocketmq.POOL_BUSY, "RejectedExecutionException ", " request code: "),
    f"{NAMESRV}.routeinfo.RouteInfoManager": (
        "new broker registered", "broker channel expired", "unregisterBroker, remove from brokerLiveTable",
        "the broker's channel destroyed",
    ),
    f"{CLIENT}.impl.consumer.ConsumeMessageOrderlyService$ConsumeRequest": (
        "the message queue not locked, so consume later", "the message queue lock expired, so consume later",
    ),
    f"{CLIENT}.impl.consumer.DefaultMQPushConsumerImpl": ("pull message later because not locked in broker, ",),
}  # fmt: skip
"""Words that the parsers of logs ask for, by the class that writes them, in each release."""

_OF_4X = {Logged.IN_SYNC_SHORT, Logged.PULL_RESET, Logged.TIMER_THREW, Logged.REVIVE_OFFSET}
_OF_5X = {Logged.SLAVE_LATE, Logged.OP_QUEUE_DELETED, Logged.CONNECTED}
UNWRITTEN: dict[str, set[Logged]] = {
    "4.6.0": _OF_4X,
    "4.9.7": {*_OF_4X, Logged.SLAVE_LATE},
    "5.3.3": _OF_5X,
    "5.5.0": _OF_5X,
}
"""What a release says nothing of: that does not happen to it, or it is silent."""

CODES = tuple(
    name
    for name, value in vars(rocketmq).items()
    if isinstance(value, int)
    and name not in {"FRAME_BYTES_MAX", "PERM_READ", "PERM_READ_WRITE", "PERM_WRITE", "RETRIES_MAX", "CHECKS_MAX"}
)


def _texts(release: str, class_name: str) -> list[str]:
    return texts(class_of(release, class_name))


@pytest.mark.parametrize("release", recorded_releases())
@pytest.mark.parametrize("class_name", TEXTS)
def test_a_fact_is_what_its_class_says_in_every_release(release: str, class_name: str) -> None:
    said = _texts(release, class_name)
    assert [fact for fact in TEXTS[class_name] if not any(fact in text for text in said)] == []


@pytest.mark.parametrize("release", recorded_releases())
@pytest.mark.parametrize("class_name", LOGGED)
def test_a_parser_asks_for_words_that_the_class_writes(release: str, class_name: str) -> None:
    said = texts_of(release, class_name)
    assert [word for word in LOGGED[class_name] if not any(word in text for text in said)] == []


@pytest.mark.parametrize("release", recorded_releases())
def test_each_event_of_a_log_is_in_words_that_a_release_writes(release: str) -> None:
    assert {event for event, _ in unwritten(release)} == UNWRITTEN[release]


def test_words_are_those_of_the_releases_that_write_them() -> None:
    for wording in WORDINGS:
        if wording.by.startswith("org.apache.rocketmq."):
            wrote = [release for release in recorded_releases() if writes(release, wording)]
            told = [one for one in recorded_releases() if is_between(one, wording.since, wording.until)]
            lacking = wording.lacking
            assert wrote == [one for one in told if not (lacking and is_between(one, *lacking))], wording


def test_lines_that_alarms_hang_on_are_those_of_the_releases_that_write_them() -> None:
    for line in ALERT_LINES:
        for one in line.wordings:
            wrote = [release for release in recorded_releases() if writes_line(release, one)]
            assert wrote == [release for release in recorded_releases() if is_between(release, one.since, one.until)], (
                one
            )


@pytest.mark.parametrize("release", recorded_releases())
def test_default_times_are_those_that_a_new_configuration_has(release: str) -> None:
    of_broker = method_of(release, f"{COMMON}.BrokerConfig", "<init>").numbers
    checks_s = rocketmq.CHECKS_S_MAX / 2 if has(release, Feature.ATTRIBUTES) else rocketmq.CHECKS_S_MAX
    assert {rocketmq.SEND_WAIT_MS, checks_s * 1000} <= set(of_broker)
    assert rocketmq.PAGE_CACHE_BUSY_MS in method_of(release, f"{STORE}.config.MessageStoreConfig", "<init>").numbers


@pytest.mark.parametrize(("release", "shared"), [("4.6.0", 0), ("4.9.7", 0), ("5.3.3", 3), ("5.5.0", 5)])
def test_executors_that_processors_share_are_read_from_their_registrations(release: str, shared: int) -> None:
    cluster = cast(Any, SimpleNamespace(spec=SimpleNamespace(release=release)))
    read = READINGS["shared_executors"](cluster, cast(Any, None))
    assert read.value == shared
    assert ("pullMessageExecutor" in read.detail) == has(release, Feature.POP)


@pytest.mark.parametrize("release", recorded_releases())
def test_the_codes_have_their_names_from_the_release(release: str) -> None:
    package = (
        f"{REMOTING}.protocol" if has_class(release, f"{REMOTING}.protocol.ResponseCode") else f"{COMMON}.protocol"
    )
    known = {*_texts(release, f"{package}.RequestCode"), *_texts(release, f"{package}.ResponseCode")}
    # Success is RemotingSysResponseCode's, which ResponseCode extends.
    known |= set(_texts(release, f"{REMOTING}.protocol.RemotingSysResponseCode"))
    misspelled = {"GET_ROUTEINFO_BY_TOPIC"} if "GET_ROUTEINTO_BY_TOPIC" in known else set()
    assert len(CODES) > 20
    assert set(CODES) - misspelled <= known


@pytest.mark.parametrize("release", [release for release in recorded_releases() if has(release, Feature.OWN_LOGBACK)])
@pytest.mark.parametrize(
    ("logger", "file"), [("RocketmqRebalanceLock", "filter.log"), ("RocketmqStoreError", "storeerror.log")]
)
def test_the_stock_logging_of_5x_sends_a_logger_to_its_file(release: str, logger: str, file: str) -> None:
    (jar,) = [jar for jar in ensure_jars(release) if jar.name.startswith("rocketmq-broker-")]
    with zipfile.ZipFile(jar) as archive:
        stock = ElementTree.fromstring(archive.read("rmq.broker.logback.xml"))
    by_name = {element.get("name"): element for element in stock.iter() if element.get("name")}
    names = [str(one.get("ref")) for one in by_name[logger].iter("appender-ref")]
    while not (files := [one.text or "" for name in names for one in by_name[name].iter("file")]):
        names = [str(one.get("ref")) for name in names for one in by_name[name].iter("appender-ref")]
        assert names
    assert [path.strip().rpartition("}")[2] for path in files] == [file]
