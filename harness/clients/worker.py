"""The child process that holds the official Java client, so that killing a client is killing a process.

``harness.clients.java`` is the other end.
"""

import json
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jpype

from harness.clients.serve import serve
from harness.model.group_members import IN_A_CONTAINER
from harness.model.rocketmq import CONSUMER_NOT_ONLINE, RETRY_PREFIX
from harness.protocol.access import read_keys

ANCHOR_PERIOD_S = 10.0
ADMIN_MS_MAX = 60_000
"""Limit of one admin request. The library's own 5 s are too short while a dozen brokers start beside it."""
END_S_MAX = 4.0
"""Longer than a send's usual timeout, shorter than the harness waits for a client's end."""


class Worker:
    """Producers, consumers and the history of one client process."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        # Java does not heed TMPDIR, which this process was given a folder of its own by.
        options = [*spec["jvm_options"], f"-Djava.io.tmpdir={tempfile.gettempdir()}"]
        jpype.startJVM(spec["jvm_library"], *options, classpath=spec["classpath"], convertStrings=True)
        self._process = str(spec["process"])
        self._user = jpype.JClass("java.util.Properties")()
        for key, value in spec["user"].items():
            self._user.setProperty(key, value)
        self._client = str(spec["client"])
        self._history: Any = None
        self._watch: Any = None
        self._producers: dict[str, Any] = {}
        self._consumers: dict[str, tuple[str, Any]] = {}
        self._loads: dict[str, Any] = {}
        self._guard = jpype.JClass("mqlab.Guard")(list(spec["allowed"]))
        self._attempts = jpype.JClass("mqlab.Attempts")()
        self._transactions = jpype.JClass("mqlab.Transactions")()
        self._signer = _signer(str(spec["credentials"])) if spec["credentials"] else None
        self._anchoring = threading.Lock()
        """A periodic anchor must not come between the last record and the end."""
        threading.Thread(target=self._anchor_forever, daemon=True).start()

    def _anchor_forever(self) -> None:
        wake = threading.Event()
        while not wake.wait(ANCHOR_PERIOD_S):
            with self._anchoring:
                if self._history is not None:
                    self._history.anchor()

    def open_history(self, path: str) -> None:
        """Close the history that is open, if any, and write to ``path`` from now on."""
        if self._history is not None:
            self.close_history()
        self._history = jpype.JClass("mqlab.History")(path, self._process)
        self._attempts.setHistory(self._history)
        self._transactions.setHistory(self._history)
        self._history.anchor()

    def close_history(self) -> str:
        """Close the history. Returns why a record could not be written; empty when all were."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        self._attempts.setHistory(None)
        self._transactions.setHistory(None)
        with self._anchoring:
            history, self._history = self._history, None
        history.anchor()
        history.close()
        return str(history.failure())

    def start_producer(
        self, instance: str, group: str, namesrv: str, transactional: bool, settings: Mapping[str, Any]
    ) -> None:
        """A started ``DefaultMQProducer``, or one for transactions; settings are its bean properties by name."""
        if transactional:
            producer = jpype.JClass("org.apache.rocketmq.client.producer.TransactionMQProducer")(group, self._guard)
            producer.setTransactionListener(self._transactions)
        else:
            producer = jpype.JClass("org.apache.rocketmq.client.producer.DefaultMQProducer")(group, self._guard)
        self._prepare(producer, instance, namesrv, settings)
        self._sign(producer, self._guard)
        producer.start()
        self._producers[instance] = producer

    def change_producer(self, instance: str, settings: Mapping[str, Any]) -> None:
        """Set bean properties of a producer that runs, by name."""
        _set(self._producers[instance], settings)

    def record_attempts(self, instance: str) -> None:
        """Record every request that carries a message of this producer, and its answer, from now on."""
        factory = self._producers[instance].getDefaultMQProducerImpl().getmQClientFactory()
        factory.getMQClientAPIImpl().getRemotingClient().registerRPCHook(self._attempts)

    def record_calls(self, instance: str, brokers: Mapping[str, str]) -> None:
        """Record every call of this producer that hands a message to its network client; ``brokers`` are names by address."""
        named = jpype.JClass("java.util.HashMap")()
        for address, name in brokers.items():
            named.put(address, name)
        jpype.JClass("mqlab.Calls").record(self._producers[instance], named, self._history)

    def publish_queues(self, instance: str, topic: str) -> int:
        """Number of queues in the producer's own route of the topic; asking for it also warms the route."""
        return int(self._producers[instance].fetchPublishMessageQueues(topic).size())

    def start_schedule(
        self,
        name: str,
        instance: str,
        rate_hz: float,
        start_ns: int,
        operations: int,
        settings: Mapping[str, Any],
    ) -> None:
        """Start an open-loop schedule of at most ``operations`` sends, the first due at ``start_ns``."""
        self._loads[name] = jpype.JClass("mqlab.Schedule")(
            self._producers[instance], self._history, self._settings(instance, settings), start_ns, rate_hz, operations
        )

    def start_saturation(self, name: str, instance: str, settings: Mapping[str, Any]) -> None:
        """Start a closed loop with no message on its way; ``steer`` says how many there are to be."""
        self._loads[name] = jpype.JClass("mqlab.Saturation")(
            self._producers[instance], self._history, self._settings(instance, settings)
        )

    def _settings(self, instance: str, values: Mapping[str, Any]) -> Any:
        settings = jpype.JClass("mqlab.Settings")()
        for name, value in {"instance": instance, "client": self._client, **values}.items():
            first, *others = name.split("_")
            setattr(settings, first + "".join(map(str.capitalize, others)), value)
        return settings

    def steer(self, name: str, to: float) -> None:
        """Set the rate of a schedule (messages a second), or how many messages of a closed loop are on their way at
        once."""
        self._loads[name].steer(to)

    def take(self, name: str) -> dict[str, Any]:
        """What has ended since this was asked last: see ``Tally.java``."""
        taken: dict[str, Any] = json.loads(str(self._loads[name].take()))
        return taken

    def schedule_state(self, name: str) -> dict[str, int | bool]:
        """How many sends were due, were issued and have ended, and whether more will come."""
        schedule = self._loads[name]
        return {
            "due": int(schedule.due()),
            "issued": int(schedule.issued()),
            "ended": int(schedule.ended()),
            "sending": bool(schedule.isSending()),
        }

    def abandon(self, name: str) -> int:
        """Forget what was due and has not been issued; returns how much that is."""
        return int(self._loads[name].abandon())

    def stop_schedule(self, name: str) -> None:
        """No further send is issued; what is under way may still end."""
        self._loads[name].stop()

    def start_consumer(
        self,
        instance: str,
        group: str,
        topic: str,
        namesrv: str,
        ordered: bool,
        work_ns: int,
        takes_lock: bool,
        writes_to: str,
        writes_bytes: int,
        run: str,
        broadcasting: bool,
        fail_every: int,
        fail_ns: int,
        tags: str,
        client_name: str,
        settings: Mapping[str, Any],
        begins: str,
    ) -> str:
        """A started ``DefaultMQPushConsumer`` with one subscription; returns its client id."""
        self._history.instance(instance, group, "starting", "")
        hook = jpype.JClass("mqlab.LockHook")(self._history, self._guard, instance, group)
        strategy = jpype.JClass("org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely")()
        consumer = jpype.JClass("org.apache.rocketmq.client.consumer.DefaultMQPushConsumer")(group, hook, strategy)
        name = name_in_a_container(consumer) if client_name == IN_A_CONTAINER else client_name
        self._prepare(consumer, name or instance, namesrv, settings)
        where = jpype.JClass("org.apache.rocketmq.common.consumer.ConsumeFromWhere")
        consumer.setConsumeFromWhere(where.valueOf(f"CONSUME_FROM_{begins.upper()}_OFFSET"))
        if broadcasting:
            # The class of its modes lies in another package in 5.x.
            consumer.setMessageModel(type(consumer.getMessageModel()).valueOf("BROADCASTING"))
        consumer.subscribe(topic, tags)
        work = jpype.JClass("mqlab.Work")(work_ns, takes_lock, writes_to, writes_bytes)
        listener = jpype.JClass("mqlab.Listener")(self._history, instance, group, run, work)
        listener.failing(fail_every, fail_ns)
        consumer.registerMessageListener(listener.ordered() if ordered else listener.concurrent())
        self._watch = self._watch or jpype.JClass("mqlab.QueueWatch")(self._history)
        self._watch.add(instance, group, consumer)
        self._sign(consumer, hook)
        try:
            consumer.start()
        except Exception:
            # What failed to start still owns the group's name in this process; without it a second try would fail, too.
            consumer.shutdown()
            raise
        client_id = str(consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId())
        self._history.instance(instance, group, "started", client_id)
        self._consumers[instance] = (group, consumer)
        return client_id

    def delete_offline_retry_topics(self, namesrv: str) -> list[str]:
        """Find the retry topics of offline groups and delete them, with nothing but the client library's own calls."""
        admin = jpype.JClass("org.apache.rocketmq.tools.admin.DefaultMQAdminExt")(jpype.JLong(ADMIN_MS_MAX))
        self._prepare(admin, "admin", namesrv, {})
        admin.start()
        java_set = jpype.JClass("java.util.HashSet")
        retry = [
            str(topic) for topic in admin.fetchAllTopicList().getTopicList() if str(topic).startswith(RETRY_PREFIX)
        ]
        offline = [topic for topic in retry if not self._is_online(admin, topic.removeprefix(RETRY_PREFIX))]
        cluster = admin.examineBrokerClusterInfo()
        brokers = cluster.getBrokerAddrTable().values()
        masters = java_set([broker.getBrokerAddrs().get(jpype.JLong(0)) for broker in brokers])
        servers = java_set(namesrv.split(";"))
        for topic in offline:
            admin.deleteTopicInBroker(masters, topic)
            try:
                admin.deleteTopicInNameServer(servers, topic)
            except TypeError:
                # 4.9.7 has only the one that asks for the cluster as well, after the topic.
                for name in cluster.getClusterAddrTable().keySet():
                    admin.deleteTopicInNameServer(servers, topic, name)
        admin.shutdown()
        return offline

    @staticmethod
    def _is_online(admin: Any, group: str) -> bool:
        try:
            return int(admin.examineConsumerConnectionInfo(group).getConnectionSet().size()) > 0
        except jpype.JException as error:
            if str(CONSUMER_NOT_ONLINE) in str(error) or "not online" in str(error):
                return False
            raise

    def assigned_queues(self) -> dict[str, list[str]]:
        """The queues that each consumer instance has been given and holds, as ``broker:queue``."""
        return {
            instance: [
                f"{entry.getKey().getBrokerName()}:{entry.getKey().getQueueId()}"
                for entry in _process_queues(consumer).entrySet()
                if entry.getValue().isLocked() and not str(entry.getKey().getTopic()).startswith(RETRY_PREFIX)
            ]
            for instance, (_, consumer) in self._consumers.items()
        }

    def queue_counts(self, topic: str) -> dict[str, int]:
        """How many of a topic's queues each consumer instance has been given, locked or not."""
        return {
            instance: sum(str(queue.getTopic()) == topic for queue in _process_queues(consumer).keySet())
            for instance, (_, consumer) in self._consumers.items()
        }

    def suspend_consumer(self, instance: str) -> None:
        """Have it ask for no message until it is resumed."""
        self._consumers[instance][1].suspend()

    def resume_consumer(self, instance: str) -> None:
        """Let it go on from the offsets that it has."""
        self._consumers[instance][1].resume()

    def grow_live_set(self, stop_ms: float) -> list[int]:
        """See ``LiveSet.java``."""
        return [int(at_ns) for at_ns in jpype.JClass("mqlab.LiveSet").grow(int(stop_ms))]

    def clear_live_set(self) -> None:
        """See ``LiveSet.java``."""
        jpype.JClass("mqlab.LiveSet").clear()

    def hold_lock(self) -> None:
        """See ``Work.java``."""
        jpype.JClass("mqlab.Work").holdLock()

    def let_lock_go(self) -> int:
        """See ``Work.java``."""
        return int(jpype.JClass("mqlab.Work").letLockGo())

    def shut_down_consumers(self) -> None:
        """Call ``shutdown()`` on every consumer at once, as a process does that stops in an orderly way."""
        consumers, self._consumers = self._consumers, {}
        if consumers:
            with ThreadPoolExecutor(len(consumers)) as pool:
                list(pool.map(self._shut_down, *zip(*((i, g, c) for i, (g, c) in consumers.items()), strict=True)))

    def begin_stop(self, first_s: float) -> None:
        """Shut the consumers down after ``first_s`` of other work, as a hook does that lets the work in hand end first."""
        for instance, (group, _) in self._consumers.items():
            self._history.instance(instance, group, "told to stop", "")
        stop = threading.Timer(first_s, self.shut_down_consumers)
        stop.daemon = True
        stop.start()

    def _shut_down(self, instance: str, group: str, consumer: Any) -> None:
        self._history.instance(instance, group, "stopping", "")
        consumer.shutdown()
        self._history.instance(instance, group, "stopped", "")

    def end(self) -> None:
        """Let what is under way be answered and recorded, then close the history."""
        for load in self._loads.values():
            load.stop()
        deadline = time.monotonic() + END_S_MAX
        while any(load.issued() != load.ended() for load in self._loads.values()) and time.monotonic() < deadline:
            time.sleep(0.01)
        if self._history is not None:
            self.close_history()

    def _prepare(self, client: Any, instance: str, namesrv: str, settings: Mapping[str, Any]) -> None:
        # As a broker reads its broker.conf; the lab's settings and the load's win.
        jpype.JClass("org.apache.rocketmq.common.MixAll").properties2Object(self._user, client)
        client.setNamesrvAddr(namesrv)
        client.setInstanceName(instance)
        client.setClientIP("127.0.0.1")
        client.setVipChannelEnabled(False)
        _set(client, settings)

    def _sign(self, client: Any, hook: Any) -> None:
        """Let its requests be signed from the first one on: the network client is made now, as its start would make it."""
        if self._signer is not None:
            manager = jpype.JClass("org.apache.rocketmq.client.impl.MQClientManager").getInstance()
            network = manager.getOrCreateMQClientInstance(client, hook).getMQClientAPIImpl().getRemotingClient()
            network.registerRPCHook(self._signer)


def _signer(path: str) -> Any:
    """RocketMQ's own hook, by the keys of a file."""
    keys = read_keys(Path(path))
    credentials = jpype.JClass("org.apache.rocketmq.acl.common.SessionCredentials")(keys.access_key, keys.secret_key)
    return jpype.JClass("org.apache.rocketmq.acl.common.AclClientRPCHook")(credentials)


def _set(client: Any, settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        getattr(client, f"set{name[0].upper()}{name[1:]}")(value)


def name_in_a_container(client: Any) -> str:
    """What the release itself names a client whose process has the id 1: this process's name with that id."""
    client.changeInstanceNameToPID()
    name = str(client.getInstanceName())
    if not name.startswith(str(os.getpid())):
        raise ValueError(f"the release names a client {name}, which does not begin with its process's id")
    return "1" + name.removeprefix(str(os.getpid()))


def _process_queues(consumer: Any) -> Any:
    return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable()


if __name__ == "__main__":
    serve(Worker)
