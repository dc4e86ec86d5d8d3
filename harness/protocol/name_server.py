"""What a name server is asked: routes, topics, brokers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.errors import AnswerError, ClientError, ConfigurationError
from harness.model import rocketmq
from harness.printable import excerpt
from harness.protocol.connection import Connection, split_address
from harness.protocol.fastjson import JsonObject
from harness.protocol.frames import Answer, Fields

QUEUES_MAX = 100_000
"""Of a topic on one broker, where each is a folder with a file of 6 MB."""

PERMISSION_MAX = 15
"""Four bits: priority, read, write, inherit (PermName)."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """Where a topic lives: addresses by broker name and broker id (0 is the master).

    By broker name there are its numbers of queues, and what it may be used for (PERM_READ, PERM_WRITE).
    """

    addresses: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    read_queues: Mapping[str, int] = field(default_factory=dict)
    write_queues: Mapping[str, int] = field(default_factory=dict)
    permissions: Mapping[str, int] = field(default_factory=dict)


def _read_route(answer: Answer) -> Route | None:
    """The route of an answer to ``GET_ROUTEINFO_BY_TOPIC``, None when the name server knows none. Raises ClientError."""
    if answer.code == rocketmq.TOPIC_NOT_EXIST:
        return None
    if answer.code != rocketmq.SUCCESS:
        raise ClientError(f"{answer.by} gave no route: {answer.code} {excerpt(answer.remark)}")
    data = answer.written()
    queues = [(queue.text("brokerName"), queue) for queue in data.children("queueDatas")]
    return Route(
        addresses={broker.text("brokerName"): _addresses(broker) for broker in data.children("brokerDatas")},
        read_queues={name: queue.number("readQueueNums", 0, QUEUES_MAX) for name, queue in queues},
        write_queues={name: queue.number("writeQueueNums", 0, QUEUES_MAX) for name, queue in queues},
        permissions={name: queue.number("perm", 0, PERMISSION_MAX) for name, queue in queues},
    )


def _addresses(broker: JsonObject) -> dict[int, str]:
    """By id; a broker that waits for its role has -1."""
    addresses = broker.child("brokerAddrs").texts_by_number()
    for address in addresses.values():
        try:
            split_address(address)
        except ConfigurationError as error:
            raise AnswerError.nonsense(broker.by, f"an address of a broker that is none: {error.message}") from error
    return addresses


class NameServer(Connection):
    """A connection to a name server. Every method raises ClientError when it does not answer, or refuses."""

    def route(self, topic: str) -> Route | None:
        """A topic's route as this name server sees it, or None when it knows none."""
        return _read_route(self.ask(rocketmq.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))

    def routes(self, topics: Iterable[str]) -> Iterator[Route | None]:
        """The routes of many topics, in their order."""
        return map(_read_route, self.ask_many(rocketmq.GET_ROUTEINFO_BY_TOPIC, ({"topic": topic} for topic in topics)))

    def cluster_brokers(self) -> dict[str, dict[int, str]]:
        """Address by broker name and broker id of every broker that is registered."""
        table = self.call(rocketmq.GET_BROKER_CLUSTER_INFO).written().child("brokerAddrTable")
        return {name: _addresses(broker) for name, broker in table.by_name()}

    def clusters(self) -> dict[str, str]:
        """By the name of each broker that is registered the cluster that it says it is of."""
        table = self.call(rocketmq.GET_BROKER_CLUSTER_INFO).written().child("brokerAddrTable")
        return {name: broker.text("cluster") for name, broker in table.by_name()}

    def listed_topics(self) -> frozenset[str]:
        """Every topic that this name server has a route of."""
        return frozenset(self.call(rocketmq.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).written().texts("topicList"))

    def unregister_broker(self, cluster: str, name: str, broker_id: int, address: str) -> None:
        """Tell this name server that a broker is gone, as the broker itself does when it stops."""
        fields: Fields = {"brokerName": name, "brokerAddr": address, "clusterName": cluster, "brokerId": broker_id}
        self.call(rocketmq.UNREGISTER_BROKER, fields)

    def wipe_write_permission(self, broker_name: str) -> None:
        """List no queue of that master as one to write to, until it registers anew; it goes on taking what is sent to it."""
        self.call(rocketmq.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": broker_name})

    def order_topic(self, topic: str, queues: Mapping[str, int]) -> None:
        """Let this name server hand out a fixed list of queues by broker name, whichever brokers are there.

        It does so only with ``orderMessageEnable``, which is off by default (org.apache.rocketmq.common.namesrv
        .NamesrvConfig).
        """
        self.call(rocketmq.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true\n")
        value = ";".join(f"{broker}:{count}" for broker, count in sorted(queues.items()))
        self.call(rocketmq.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": value})

    def delete_route(self, topic: str) -> None:
        """Forget the topic on this name server, for every broker; the brokers' next registration brings theirs back."""
        self.call(rocketmq.DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
