"""A broker leaves and returns while ordered messages are sent by key: which keys move, and does their order hold?

Three brokers of eight queues each, as in the article. Every kind of ordered send has a topic of its own: by the key's
hash over the queues that the route has, to a queue that was fixed once, by hash over an order topic's queues, and
without a key at all.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import BrokerAway, NoFault
from harness.model.incident import Sign
from harness.model.loads import KeyedSends
from harness.model.log_events import Logged, LogPattern
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import claim, confirmed, control, each, exists, fact, of, refuted, side

ORDINARY = KeyedSends(kinds=("hash", "fixed", "keyless"))
STRICT = KeyedSends(kinds=("strict",))
KNOWN_S = 50.0
"""Producers ask for the route every 30 s, consumers share queues out every 20 s."""


SELECTOR = "org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash.select"
ROUTE = "org.apache.rocketmq.client.impl.factory.MQClientInstance.topicRouteData2TopicPublishInfo"
ONE_QUEUE = side(1, 2, "what moves lies in a second queue")

# Which keys move is arithmetic of 97 fixed keys and 24 queues: two deployments show it, and the keys are no sample of anything.
ORDER_10 = claim(
    "ORDER-10", "A3", "The queue of a key is abs(hash % 24) over 3 brokers of 8 queues; index 20 is queue 5 of broker-2.",
    reading="Sends by the client's own hash selector lie in the queue of that index in the list by broker and queue; a key of "
    "index 20 lies on the third broker (broker-2 when counted from 0) in the queue with id 5.",
    expected=refuted("hashCode() % size is an index from 0: 20 is the fifth queue of the third broker, whose id is 4", SELECTOR),
    parts={
        "computed queue": fact(of("key_in_computed_queue", "baseline", send="hash"), side(1, 0, "a formula holds for each key")),
        "third broker": fact(of("broker_of_index_20", "baseline", send="hash"), side(2, 1, "brokers are counted from 0 or from 1")),
        "queue with id 5": fact(of("queue_of_index_20", "baseline", send="hash"), side(5, 4, "queues are counted from 0")),
    },
    summary="Every key lay in the queue that abs(hash % 24) gives {computed queue}. Index 20 was on the third broker "
    "{third broker}, and its queue had the id 5, not 4, {queue with id 5}.",
)  # fmt: skip

ORDER_12 = claim(
    "ORDER-12", "A3", "Order over several queues needs a key on each send; a key always goes to one queue.",
    reading="Sent without a selector a key's messages spread over queues; sent by its hash they lie in one, also when a broker "
    "leaves and returns.",
    expected=refuted("the selector counts the queues that the route has, and a route lists only brokers that are registered",
        f"{SELECTOR}, {ROUTE}"),
    parts={
        "spread": fact(of("queues_of_key_count", "baseline", send="keyless"), side(24, 1, "round robin reaches every queue")),
        "one queue": fact(of("queues_of_key_count", "baseline", send="hash"), ONE_QUEUE),
        "one queue always": each(of("queues_of_key_count", "incident", send="hash"), ONE_QUEUE, deployments_min=2),
    }, summary="Without a selector the messages of every key spread over several queues {spread}. By hash every key lay in one "
    "queue {one queue}; when a broker left, {#one queue always} lay in several.",
)  # fmt: skip

ORDER_13 = claim(
    "ORDER-13", "A4", "Ordinary ordered messages may move to another queue when something fails; strictly ordered ones never may.",
    reading="While a broker is away keys sent by hash over the route's queues move; keys of an order topic (orderMessageEnable and "
    "ORDER_TOPIC_CONFIG) and keys sent to a fixed queue do not: their sends fail instead.",
    expected=confirmed("with an order configuration the list of queues is made of it, whichever brokers are registered", ROUTE),
    parts={
        "ordinary": exists(of("queues_of_key_count", "incident", send="hash"), side(2, 1, "of 16 queues, not 24, two thirds"),
            without=of("queues_of_key_count", "baseline", send="hash")),
        "order topic": fact(of("queues_of_key_count", "fix-strict-order", send="strict"), ONE_QUEUE),
        "fixed queue": fact(of("queues_of_key_count", "incident", send="fixed"), ONE_QUEUE),
        "failed": control(exists(of("unsent_share", "fix-strict-order", send="strict"), side(0.5, 0, "half of the time"))),
    }, summary="When a broker left, {#ordinary} moved by hash; some of an order topic did {!order topic}, of a fixed queue "
    "{!fixed queue}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="broker-leaves-keys-move",
    title="A broker leaves and returns: keys of ordered messages move to other queues",
    article="A3, A4",
    summary="Ordered sends by key of every kind while one of three brokers is killed, stays away for most of a minute and "
    "comes back.",
    symptom="A broker left and came back, and messages of one key were consumed out of order.",
    advice="Where order matters, send to a fixed queue or by an order topic, and let sends fail while the broker is "
    "away.",
    cures=("ORDER-13",),
    sign=Sign(
        pattern=LogPattern.LEFT_AND_RETURNED,
        events=(Logged.BROKER_WENT, Logged.BROKER_CAME),
        because="a broker left the route and came back: a key of ordered messages has another queue meanwhile",
    ),
    topology=Topology(name="three-masters", masters=3),
    arms=(
        Arm(name="baseline", what="Every broker stays.", fault=NoFault(), load=ORDINARY),
        Arm(
            name="incident",
            what="The second broker is killed, and started again: sends by hash, to fixed queues, and without a key.",
            fault=BrokerAway(),
            load=ORDINARY,
        ),
        Arm(
            name="fix-strict-order",
            what="The same with an order topic, whose route stays as it is configured.",
            fault=BrokerAway(),
            load=STRICT,
        ),
    ),
    phases=Phases(steady_s=10.0, hold_s_min=KNOWN_S, hold_s_max=KNOWN_S, recover_s=KNOWN_S, drain_s_max=90.0),
    claims=(ORDER_10, ORDER_12, ORDER_13),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1, load={}),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    cluster_per_trial=True,
    extra_measures=("queues_of_key_count", "key_out_of_order_count", "unsent_share", "overlap_ms"),
)
"""Routes take half a minute to change; a hiccup of two seconds moves no key."""
