"""How long a broker's registration is, by its topics, and when it no longer fits the name server's frame.

A broker registers with one request whose body is JSON with every topic's configuration, the topic's name twice in it
(``org.apache.rocketmq.common.protocol.body.RegisterBrokerBody`` and ``TopicConfig`` in 4.6.0 and 4.9.7;
``org.apache.rocketmq.remoting.protocol.body.RegisterBrokerBody`` in 5.x, whose ``TopicConfig`` has ``attributes`` as
well). ``org.apache.rocketmq.remoting.netty.NettyDecoder`` refuses a frame, its own length field included, that is longer
than ``com.rocketmq.remoting.frameMaxLength``.
"""

import json
from dataclasses import dataclass

from harness.model.rocketmq import PERM_READ_WRITE, REGISTER_BROKER

LENGTH_FIELDS_BYTES = 8
"""The frame's length and its header's."""

_WRAPPED = len('{"filterServerList":[],"topicConfigSerializeWrapper":}')
_VERSION_4X = {"counter": 1000, "timestamp": 1_700_000_000_000}
_VERSION_5X = {**_VERSION_4X, "stateVersion": 0}


@dataclass(frozen=True, kw_only=True)
class Registrant:
    """The broker that registers, as the request's header has it. ``has_attributes`` says whether its topics have attributes."""

    broker_name: str
    broker_id: int
    cluster: str
    address: str
    ha_address: str
    has_attributes: bool


def frame_of_listing(listing_bytes: int, registrant: Registrant) -> int:
    """The length of the frame with which a broker registers whose listing of topics has this length.

    The body wraps the JSON of the listing (request 21), so this is exact but for a few digits of the header.
    """
    return LENGTH_FIELDS_BYTES + _header_bytes(registrant) + _WRAPPED + listing_bytes


def fixed_bytes(registrant: Registrant) -> int:
    """What a registration has besides its topics."""
    version = _VERSION_5X if registrant.has_attributes else _VERSION_4X
    listing: dict[str, object] = {"dataVersion": version, "topicConfigTable": {}}
    if registrant.has_attributes:
        listing |= {"mappingDataVersion": version, "topicQueueMappingDetailMap": {}, "topicQueueMappingInfoMap": {}}
    return frame_of_listing(len(_compact(listing)), registrant)


def topic_bytes(name_bytes: int, queues: int = 1, *, has_attributes: bool) -> int:
    """What one readable and writable topic adds: its name twice, and the rest of its configuration."""
    topic: dict[str, object] = {
        "order": False,
        "perm": PERM_READ_WRITE,
        "readQueueNums": queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": "",
        "topicSysFlag": 0,
        "writeQueueNums": queues,
    }
    if has_attributes:
        topic = {"attributes": {}, **topic}
    return len('"":,') + 2 * name_bytes + len(_compact(topic))


def topics_at_limit(
    frame_bytes_max: int, frame_bytes_now: int, topics_now: int, name_bytes: int, *, has_attributes: bool
) -> int:
    """The number of topics at which the frame is refused first, if all further topics have names of that length."""
    room = frame_bytes_max - frame_bytes_now
    return topics_now + room // topic_bytes(name_bytes, has_attributes=has_attributes) + 1


def _header_bytes(registrant: Registrant) -> int:
    fields = {
        "brokerId": str(registrant.broker_id),
        "bodyCrc32": "1234567890",
        "clusterName": registrant.cluster,
        "brokerAddr": registrant.address,
        "haServerAddr": registrant.ha_address,
        "compressed": "false",
        "brokerName": registrant.broker_name,
    }
    if registrant.has_attributes:
        fields["enableActingMaster"] = "false"
    header = {
        "code": REGISTER_BROKER,
        "extFields": fields,
        "flag": 0,
        "language": "JAVA",
        "opaque": 100,
        "serializeTypeCurrentRPC": "JSON",
        "version": 100,
    }
    return len(_compact(header))


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
