"""Retry topics written into a broker's configuration before it starts, as a flood of consumer groups leaves them.

A live flood of 70,000 groups would take a day: each creation rewrites the file that this module writes once.
"""

import json
import random
from pathlib import Path

from harness.model.cluster import TopicsAhead, TopicsByNumber
from harness.model.rocketmq import PERM_READ_WRITE, RETRY_PREFIX
from harness.protocol.registration import Registrant, fixed_bytes, topic_bytes

_TEAMS = ("order", "payment", "inventory", "member", "coupon", "logistics", "search", "risk")
_SUFFIX_DIGITS = 6


def flood_group(index: int, name_bytes: int) -> str:
    """The name of a group whose retry topic's name has so many bytes, in the style of a team's test."""
    team = _TEAMS[index % len(_TEAMS)]
    room = name_bytes - len(RETRY_PREFIX) - _SUFFIX_DIGITS - 1
    draw = random.Random(index)
    middle = f"{team}_test_{draw.randrange(16**24):024x}"
    return f"{middle[:room].ljust(room, 'x')}_{index:0{_SUFFIX_DIGITS}d}"


def topics_ahead_count(ahead: TopicsAhead, registrant: Registrant) -> int:
    """How many topics are asked for, or fill the share of the frame that is, by ``harness.protocol.registration``."""
    if isinstance(ahead, TopicsByNumber):
        return ahead.topics
    room = ahead.share * ahead.frame_bytes - fixed_bytes(registrant)
    return max(0, int(room // topic_bytes(ahead.name_bytes, has_attributes=registrant.has_attributes)))


def write_topics_ahead(store: Path, ahead: TopicsAhead, registrant: Registrant) -> int:
    """Write ``config/topics.json`` below the store; returns how many topics it has."""
    count = topics_ahead_count(ahead, registrant)
    names = [RETRY_PREFIX + flood_group(index, ahead.name_bytes) for index in range(count)]
    table = {
        name: {
            **({"attributes": {}} if registrant.has_attributes else {}),
            "order": False,
            "perm": PERM_READ_WRITE,
            "readQueueNums": 1,
            "topicFilterType": "SINGLE_TAG",
            "topicName": name,
            "topicSysFlag": 0,
            "writeQueueNums": 1,
        }
        for name in names
    }
    # The same version for master and slave, so that the slave has nothing to copy when it starts.
    version = {"counter": count, "timestamp": 1_700_000_000_000}
    config = store / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "topics.json").write_text(json.dumps({"dataVersion": version, "topicConfigTable": table}))
    return count
