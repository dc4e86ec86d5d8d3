"""A topic whose numbers of write and read queues differ: what is sent where nobody reads, and how to shrink a topic.

Each arm has a topic of its own on one broker and one on three, some groups of two members each, and normal sends into
every write queue in turn. The numbers are changed while this runs; after the hold they are made equal again.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import NoFault, ResizeTopic
from harness.model.loads import QueueNumbers
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.claims import (
    CONFIRMED,
    claim,
    expect,
    mean,
    median,
    of,
)

GROUPS = 5
"""Two deployments of it on one broker and on three make twenty groups of two members an arm, and 640 queues of groups."""
CELLS = ({"brokers": 1}, {"brokers": 3})
KNOWN_S = 55.0
"""A client asks for the route every 30 s, and consumers share queues out every 20 s: by then all know new numbers."""
RATE_HZ = 0.5


def _load(**numbers: int) -> QueueNumbers:
    return QueueNumbers(groups=GROUPS, rate_per_queue_hz=RATE_HZ, **numbers)


EQUAL = _load()

WRITE_8, WRITE_4 = "incident-write-8-read-4", "incident-write-4-read-8"
READ_FIRST, BOTH, IN_ORDER = "incident-shrink-read-first", "incident-shrink-at-once", "fix-shrink-in-order"


QUEUES_01 = claim(
    "QUEUES-01", "A3", "Producers route by writeQueueNums, consumers by readQueueNums.",
    reading="With 8 write and 4 read queues a broker, accepted sends lie in 8 queues and a group's members have 4; with 4 and 8 "
    "it is the other way round.",
    expected=expect(
        CONFIRMED, "the client makes its list of queues to send to of writeQueueNums and that to consume from of readQueueNums",
        "org.apache.rocketmq.client.impl.factory.MQClientInstance.topicRouteData2TopicPublishInfo and "
        "topicRouteData2TopicSubscribeInfo"
    ),
    parts={
        "queues sent to, 8 and 4": median(
            of("sent_queues_count", "incident-write-8-read-4"), ">=", 7.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
        "queues given out, 8 and 4": median(
            of("assigned_queues_count", "incident-write-8-read-4"), "<=", 4.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
        "queues sent to, 4 and 8": median(
            of("sent_queues_count", "incident-write-4-read-8"), "<=", 4.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
        "queues given out, 4 and 8": median(
            of("assigned_queues_count", "incident-write-4-read-8"), ">=", 7.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
    },
    summary="With 8 write and 4 read queues producers used {queues sent to, 8 and 4} a broker and consumers were given {queues "
    "given out, 8 and 4}; with 4 and 8 it was {queues sent to, 4 and 8} and {queues given out, 4 and 8}.",
)  # fmt: skip

QUEUES_02 = claim(
    "QUEUES-02", "A3", "Write 8, read 4: eight queue folders are created, and queues 4 to 7 are never consumed.",
    reading="Each broker's store has eight folders of the topic's consume queue; until the numbers are mended no message of "
    "queues 4 to 7 is consumed, and the brokers' own offsets show what is stranded there.",
    expected=expect(
        CONFIRMED,
        "the broker makes a consume queue for every queue that gets a message; consumers are given those below readQueueNums",
        "org.apache.rocketmq.store.DefaultMessageStore.findConsumeQueue"
    ),
    parts={
        "folders": median(
            of("queue_folders_count", "incident-write-8-read-4"), ">=", 7.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
        "consumed of queues 4 to 7": mean(
            of("consumed_beyond_read_count", "incident-write-8-read-4"), "<=", 0.5, "messages a group",
            "Never means none; twenty groups without any bound the rate below a fifth of a message."),
        "stranded before the numbers are mended": median(
            of("stranded_count", "incident-write-8-read-4", moment="held"), ">=", 100.0, "messages a group",
            "Four queues get a message every two seconds each for a minute on the smaller topic: more than a hundred."),
    },
    summary="There were {folders} folders a broker, {consumed of queues 4 to 7} messages of queues 4 to 7 were consumed, and "
    "{stranded before the numbers are mended} lay there when the numbers were mended.",
)  # fmt: skip

QUEUES_03 = claim(
    "QUEUES-03", "A3", "Write 4, read 8 with two consumers: the first gets everything, the second nothing.",
    reading="On one broker, the member whose client id sorts first consumes every message, and the other none.",
    expected=expect(
        CONFIRMED,
        "queues are given out in one piece each, sorted: 0 to 3 to the first member and 4 to 7, which are empty, to the second",
        "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"
    ),
    parts={
        "share of the first": median(
            of("member_share", "incident-write-4-read-8", brokers=1, member="first"), ">=", 0.99, "share",
            "Everything; a hundredth allows for what came while members were given queues."),
        "share of the second": median(
            of("member_share", "incident-write-4-read-8", brokers=1, member="second"), "<=", 0.01, "share",
            "Nothing; the same hundredth."),
    },
    summary="On one broker the first member got {share of the first} of the messages and the second {share of the second}; with "
    "three brokers the pieces are cut elsewhere.",
)  # fmt: skip

QUEUES_04 = claim(
    "QUEUES-04", "A3", "Equal numbers are the rule; they differ only while a topic is being shrunk.",
    reading="With equal numbers nothing is stranded. Shrinking from 8 to 4 strands nothing when the write queues go first and "
    "the read queues follow; when the read queues go first it does. Made equal again, everything is consumed.",
    expected=expect(
        CONFIRMED, "consumers are given the queues below readQueueNums, and the broker takes sends into any queue below the "
        "larger of the two numbers, from producers whose route is old as well",
        "org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor.msgCheck"
    ),
    parts={
        "stranded with equal numbers": mean(
            of("stranded_count", "baseline", moment="held"), "<=", 0.5, "messages a group",
            "None is the rule; twenty groups without any bound the mean below a fifth."),
        "stranded by shrinking in order": mean(
            of("stranded_count", "fix-shrink-in-order", moment="held"), "<=", 0.5, "messages a group",
            "The same: a queue that is still read when nobody sends into it any more empties itself."),
        "stranded by shrinking the read queues first": median(
            of("stranded_count", "incident-shrink-read-first", moment="held"), ">=", 10.0, "messages a group",
            "Producers go on for as long as the step lasts, which is a hundred messages a group and more."),
        "still stranded when mended": mean(
            of("stranded_count", "incident-shrink-read-first", moment="end"), "<=", 0.5, "messages a group",
            "Growing back gives the queues to consumers again, which drain them."),
    },
    summary="Equal numbers stranded {stranded with equal numbers} messages a group, shrinking in order {stranded by shrinking "
    "in order}, read queues first {stranded by shrinking the read queues first}, of which {still stranded when mended} were "
    "left after growing back.",
)  # fmt: skip

QUEUES_05 = claim(
    "QUEUES-05", "A3",
    "Only write queues make files; with write 4, read 8 consumers are given eight queues, four of them forever empty.",
    reading="Each broker's store has four folders of the topic's consume queue, a group's members have eight queues of it, and "
    "four of these have never had a message.",
    expected=expect(
        CONFIRMED, "files come with the first message of a queue; that a consumer asks for a queue makes none",
        "org.apache.rocketmq.store.ConsumeQueue and MappedFileQueue.getLastMappedFile"
    ),
    parts={
        "folders": median(
            of("queue_folders_count", "incident-write-4-read-8"), "<=", 4.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
        "queues given out": median(
            of("assigned_queues_count", "incident-write-4-read-8"), ">=", 7.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
        "empty ones": median(
            of("empty_read_queues_count", "incident-write-4-read-8"), ">=", 3.5, "a broker",
            "A number of queues is whole: half a queue lies between this one and the next."),
    },
    summary="With 4 write and 8 read queues there were {folders} folders a broker; {queues given out} queues were given out, "
    "{empty ones} of them empty.",
)  # fmt: skip

SCENARIO = Scenario(
    name="queue-number-mismatch",
    title="Numbers of write and read queues differ: messages lie where nobody reads",
    article="A3",
    summary="Topics with 8 and 4, 4 and 8, and 8 and 8 queues on one broker and on three, and a topic that is shrunk from 8 "
    "to 4 in the right order, in the wrong one and at once, while traffic runs.",
    topology=Topology(name="three-masters", masters=3),
    arms=(
        Arm(name="baseline", what="8 write and 8 read queues all the time.", fault=NoFault(), load=EQUAL, cells=CELLS),
        Arm(
            name=WRITE_8,
            what="8 write and 4 read queues from the start, made equal at the end.",
            fault=ResizeTopic(steps=((8, 4, KNOWN_S),)),
            load=_load(read_queues=4),
            cells=CELLS,
        ),
        Arm(
            name=WRITE_4,
            what="4 write and 8 read queues from the start.",
            fault=ResizeTopic(steps=((4, 8, KNOWN_S),)),
            load=_load(write_queues=4),
            cells=CELLS,
        ),
        Arm(
            name=READ_FIRST,
            what="Shrunk in the wrong order: the read queues first.",
            fault=ResizeTopic(steps=((8, 4, KNOWN_S),)),
            load=EQUAL,
            cells=CELLS,
        ),
        Arm(
            name=BOTH,
            what="Shrunk at once: both numbers from 8 to 4 in one step.",
            fault=ResizeTopic(steps=((4, 4, KNOWN_S),)),
            load=EQUAL,
            cells=CELLS,
        ),
        Arm(
            name=IN_ORDER,
            what="The article's rule: the write queues first, and the read queues when everybody knows.",
            fault=ResizeTopic(steps=((4, 8, KNOWN_S), (4, 4, 1.0))),
            load=EQUAL,
            cells=CELLS,
        ),
    ),
    phases=Phases(steady_s=12.0, hold_s_min=5.0, hold_s_max=5.0, recover_s=KNOWN_S),
    claims=(QUEUES_01, QUEUES_02, QUEUES_03, QUEUES_04, QUEUES_05),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={
        WRITE_8: ({"brokers": 1},),
        WRITE_4: ({"brokers": 1},),
        "baseline": ({"brokers": 1},),
        READ_FIRST: ({"brokers": 1},),
        IN_ORDER: ({"brokers": 1},),
        BOTH: (),
    },
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    extra_measures=("stranded_count", "refused_sends_count", "member_share", "lost_count"),
)
"""What is counted here waits for half a minute and more; a hiccup of two seconds moves nothing."""
