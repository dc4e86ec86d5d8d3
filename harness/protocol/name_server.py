"""What a name server is asked: routes, topics, brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.errors import ClientError
from harness.model.rocketmq import (
    DELETE_TOPIC_IN_NAMESRV,
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    GET_BROKER_CLUSTER_INFO,
    GET_ROUTEINFO_BY_TOPIC,
    PUT_KV_CONFIG,
    SUCCESS,
    TOPIC_NOT_EXIST,
    UNREGISTER_BROKER,
    UPDATE_NAMESRV_CONFIG,
)
from harness.protocol.connection import Connection
from harness.protocol.frames import Answer, Fields


@dataclass(frozen=True, kw_only=True)
class Route:
    """Where a topic lives: addresses by broker name and broker id (0 is the master), queue numbers by broker name."""

    addresses: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    read_queues: Mapping[str, int] = field(default_factory=dict)
    write_queues: Mapping[str, int] = field(default_factory=dict)


def _read_route(answer: Answer) -> Route | None:
    """The route of an answer to ``GET_ROUTEINFO_BY_TOPIC``, None when the name server knows none.

    Raises:
        ClientError: it refused.
    """
    if answer.code == TOPIC_NOT_EXIST:
        return None
    if answer.code != SUCCESS:
        raise ClientError(f"no route: {answer.code} {answer.remark}")
    data = answer.json()
    assert isinstance(data, dict)
    return Route(
        addresses={
            broker["brokerName"]: {int(key): value for key, value in broker["brokerAddrs"].items()}
            for broker in data.get("brokerDatas", ())
        },
        read_queues={queue["brokerName"]: int(queue["readQueueNums"]) for queue in data.get("queueDatas", ())},
        write_queues={queue["brokerName"]: int(queue["writeQueueNums"]) for queue in data.get("queueDatas", ())},
    )


class NameServer(Connection):
    """A connection to a name server. Every method raises ClientError when it does not answer, or refuses."""

    def route(self, topic: str) -> Route | None:
        """A topic's route as this name server sees it, or None when it knows none."""
        return _read_route(self.ask(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))

    def routes(self, topics: Iterable[str]) -> Iterator[Route | None]:
        """The routes of many topics, in their order."""
        return map(_read_route, self.ask_many(GET_ROUTEINFO_BY_TOPIC, ({"topic": topic} for topic in topics)))

    def cluster_brokers(self) -> dict[str, dict[int, str]]:
        """Address by broker name and broker id of every broker that is registered."""
        data = self.call(GET_BROKER_CLUSTER_INFO).json()
        assert isinstance(data, dict)
        return {
            name: {int(key): value for key, value in broker["brokerAddrs"].items()}
            for name, broker in data.get("brokerAddrTable", {}).items()
        }

    def listed_topics(self) -> frozenset[str]:
        """Every topic that this name server has a route of."""
        data = self.call(GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json()
        assert isinstance(data, dict)
        return frozenset(data.get("topicList") or ())

    def unregister_broker(self, cluster: str, name: str, broker_id: int, address: str) -> None:
        """Tell this name server that a broker is gone, as the broker itself does when it stops."""
        fields: Fields = {
            "brokerName": name,
            "brokerAddr": address,
            "clusterName": cluster,
            "brokerId": broker_id,
        }
        self.call(UNREGISTER_BROKER, fields)

    def order_topic(self, topic: str, queues: Mapping[str, int]) -> None:
        """Let this name server hand out a fixed list of queues by broker name, whichever brokers are there.

        It does so only with ``orderMessageEnable``, which is off by default (org.apache.rocketmq.common.namesrv
        .NamesrvConfig).
        """
        self.call(UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true\n")
        value = ";".join(f"{broker}:{count}" for broker, count in sorted(queues.items()))
        self.call(PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": value})

    def delete_route(self, topic: str) -> None:
        """Forget the topic on this name server, for every broker; the brokers' next registration brings theirs back."""
        self.call(DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
