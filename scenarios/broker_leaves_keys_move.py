"""A broker leaves and returns while ordered messages are sent by key: which keys move, and does their order hold?

Three brokers of eight queues each, as in the article. Every kind of ordered send has a topic of its own: by the key's
hash over the queues that the route has, to a queue that was fixed once, by hash over an order topic's queues, and
without a key at all.
"""

from __future__ import annotations

from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.cluster import Topology
from harness.model.faults import BrokerAway, NoFault
from harness.model.loads import KeyedSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import expect

ORDINARY = KeyedSends(kinds=("hash", "fixed", "keyless"))
STRICT = KeyedSends(kinds=("strict",))
KNOWN_S = 50.0
"""Producers ask for the route every 30 s, consumers share queues out every 20 s."""


def _keys(name: str, arm: str, send: str, within: tuple[float | None, float | None], bound: float, why: str) -> Part:
    """A share of the keys by how many queues their messages lie in."""
    return Part(
        name=name,
        quantity=Quantity(
            measure="queues_of_key_count",
            arm=arm,
            statistic=Statistic.SHARE,
            where={"send": (send,)},
            within=within,
        ),
        relation=">=",
        bound=bound,
        unit="of keys",
        why=why,
    )


ONE, SEVERAL = (None, 1.0), (2.0, None)
SELECTOR = "org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash"
ROUTE = "org.apache.rocketmq.client.impl.factory.MQClientInstance.topicRouteData2TopicPublishInfo"

ORDER_10 = Claim(
    id="ORDER-10",
    article="A3",
    says="The queue of a key is abs(hash % 24) over 3 brokers of 8 queues; index 20 is queue 5 of broker-2.",
    reading="Real sends by the client library's own hash selector lie in the queue of that index in the list sorted by "
    "broker and queue; a key of index 20 lies on the third broker (broker-2 when counted from 0) in the queue with id 5.",
    parts=(
        Part(
            name="keys in the computed queue",
            quantity=Quantity(
                measure="key_in_computed_queue",
                arm="baseline",
                statistic=Statistic.SHARE,
                where={"send": ("hash",)},
                within=(1.0, None),
            ),
            relation=">=",
            bound=0.9,
            unit="of keys",
            why="A formula has no exception; nine tenths is what 97 keys allow with room for one that was sent twice.",
        ),
        Part(
            name="broker of index 20",
            quantity=Quantity(
                measure="broker_of_index_20", arm="baseline", statistic=Statistic.MEDIAN, where={"send": ("hash",)}
            ),
            relation=">=",
            bound=1.5,
            unit="counted from 0",
            why="A number of a broker is whole: half lies between the second and the third.",
            units_min=2,
        ),
        Part(
            name="queue id of index 20",
            quantity=Quantity(
                measure="queue_of_index_20", arm="baseline", statistic=Statistic.MEDIAN, where={"send": ("hash",)}
            ),
            relation=">=",
            bound=4.5,
            unit="counted from 0",
            why="A queue's id is whole, and RocketMQ counts from 0: half lies between 4, the fifth queue, and 5.",
            units_min=2,
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "hashCode() % size, made positive, is an index from 0: 20 is the fifth queue of the third broker, whose id is 4",
        f"{SELECTOR}.select",
    ),
    summary="{keys in the computed queue} of the keys lay where abs(hash % 24) says; index 20 was broker {broker of index 20} "
    "counted from 0 and its queue id {queue id of index 20}: the fifth queue, whose id is 4.",
)

ORDER_12 = Claim(
    id="ORDER-12",
    article="A3",
    says="Order over several queues needs a key on each send; a key always goes to one queue.",
    reading="Without a selector by key a key's messages spread over several queues; with it they lie in one, also when a "
    "broker leaves and returns.",
    parts=(
        _keys(
            "spread without a key",
            "baseline",
            "keyless",
            SEVERAL,
            0.9,
            "Round robin puts every key's messages into many queues; nine tenths is what 97 keys allow easily.",
        ),
        _keys(
            "in one queue by hash",
            "baseline",
            "hash",
            ONE,
            0.9,
            "As long as the route stays, every key; nine tenths leaves room for none that matters.",
        ),
        _keys(
            "in one queue by hash while a broker leaves",
            "incident",
            "hash",
            ONE,
            0.9,
            "Always has no exception. A hash over sixteen queues instead of 24 moves two thirds of the keys.",
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "the selector counts the queues that the route has, and a route lists only brokers that are registered",
        f"{SELECTOR}.select, {ROUTE}",
    ),
    summary="Without a key {spread without a key} of the keys lay in several queues; by hash {in one queue by hash} lay in one, "
    "but only {in one queue by hash while a broker leaves} when a broker left and returned.",
)

ORDER_13 = Claim(
    id="ORDER-13",
    article="A4",
    says="Ordinary ordered messages may move to another queue when something fails; strictly ordered ones never may.",
    reading="While a broker leaves and returns, keys that are sent by hash over the route's queues move, and keys of an "
    "order topic (orderMessageEnable and ORDER_TOPIC_CONFIG on the name servers) do not: their sends fail instead.",
    parts=(
        _keys(
            "moved, ordinary",
            "incident",
            "hash",
            SEVERAL,
            0.3,
            "Two thirds of the indices differ between 24 queues and sixteen; a third is far below and above none.",
        ),
        _keys(
            "stayed, strict",
            "fix-strict-order",
            "strict",
            ONE,
            0.9,
            "Never has no exception; nine tenths is what 97 keys allow easily.",
        ),
        Part(
            name="not accepted, strict",
            quantity=Quantity(
                measure="unsent_share", arm="fix-strict-order", statistic=Statistic.MEAN, where={"send": ("strict",)}
            ),
            relation=">=",
            bound=0.02,
            unit="of sends",
            why="The price: a third of the queues is away for a third of the time. A fiftieth is far below that and shows "
            "that the broker was missed at all.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "with an order configuration the list of queues is made of it, whichever brokers are registered",
        ROUTE,
    ),
    summary="{moved, ordinary} of the keys of ordinary ordered sends moved, {stayed, strict} of the strict ones stayed, at the "
    "price of {not accepted, strict} of their sends.",
)

SCENARIO = Scenario(
    name="broker-leaves-keys-move",
    title="A broker leaves and returns: keys of ordered messages move to other queues",
    article="A3, A4",
    summary="Ordered sends by key of every kind while one of three brokers is killed, stays away for most of a minute and "
    "comes back.",
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
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1, load={}),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    cluster_per_trial=True,
    extra_measures=("queues_of_key_count", "key_out_of_order_count", "unsent_share", "overlap_ms"),
)
"""Routes take half a minute to change; a hiccup of two seconds moves no key."""
