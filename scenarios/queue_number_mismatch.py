"""A topic whose numbers of write and read queues differ: what is sent where nobody reads, and how to shrink a topic.

Each arm has a topic of its own on one broker and one on three, some groups of two members each, and normal sends into
every write queue in turn. The numbers are changed while this runs; after the hold they are made equal again.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import NoFault, ResizeTopic
from harness.model.incident import Sign
from harness.model.loads import QueueNumbers
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Part, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import claim, confirmed, fact, happens, never, of, refuted, scopes, side

GROUPS = 5
"""In five deployments on one broker and on three: fifty groups of two members an arm."""
GROUPS_IN_ORDER = 15
"""Once one of 40 groups had messages stranded after shrinking in order: 150 groups without any say that this was no rate."""
CELLS = ({"brokers": 1}, {"brokers": 3})
KNOWN_S = 55.0
"""A client asks for the route every 30 s, and consumers share queues out every 20 s: by then all know new numbers."""
TWO_ROUTES_S = 60.0
"""What nobody reads by then, nobody will."""
RATE_HZ = 0.5


def _load(groups: int = GROUPS, **numbers: int) -> QueueNumbers:
    return QueueNumbers(groups=groups, rate_per_queue_hz=RATE_HZ, **numbers)


EQUAL = _load()

WRITE_8, WRITE_4 = "incident-write-8-read-4", "incident-write-4-read-8"
DRAINED = "fix-shrink-when-read"
READ_FIRST, BOTH, IN_ORDER = "incident-shrink-read-first", "incident-shrink-at-once", "fix-shrink-in-order"

EIGHT = side(8, 4, "the topic's numbers are eight and four")
FOUR = side(4, 8, "the topic's numbers are eight and four")
STRANDED = 100
"""Two messages a second go to the four queues that nobody reads, or to twelve of 24, for a minute and more."""
OLD_ROUTE = "half of the sends, two a second, of a route that is old for 15 s on average"
UNREAD = "half of the messages of a minute, two a second, go where nobody reads"


MANY = side(STRANDED, 0, UNREAD)
IN_THE_ARTICLES_ORDER = (
    "With equal numbers nothing is stranded. Shrinking from 8 to 4 strands nothing, two periods of the route later, when the write "
    "queues go first and the read queues follow, and refuses no send; at once it refuses some, and with the read queues first "
    "messages are stranded. Made equal again, everything is consumed."
)
GIVEN = "assigned_queues_count"
INSTANCE = "client.impl.factory.MQClientInstance"


def _stranded(arm: str, moment: str) -> Selection:
    return of("stranded_count", arm, moment=moment)


def _none_stranded(arm: str, moment: str = "held", **more: float) -> Part:
    return never(_stranded(arm, moment), STRANDED, UNREAD, noun="groups", **more)


def _second(brokers: int) -> Part:
    """What the member whose client id sorts second consumes."""
    which = of("member_share", WRITE_4, brokers=brokers, member="second")
    return fact(
        which, side(0, 1 / 3, "nothing by the article; a third with twelve queues of each on three brokers", bound=0.01)
    )


def _sources(*methods: str) -> str:
    return " and ".join(f"org.apache.rocketmq.{method}" for method in methods)


BY_NUMBERS = confirmed(
    "the client makes its list of queues to send to of writeQueueNums and that to consume from of readQueueNums",
    _sources(f"{INSTANCE}.topicRouteData2TopicPublishInfo", f"{INSTANCE}.topicRouteData2TopicSubscribeInfo"),
)
IN_ONE_PIECE = refuted(
    "queues are given out in one piece each, sorted by broker and number: with one broker the second member has 4 to 7, which are "
    "empty, with three the last four of the second broker and all of the third",
    _sources(
        "client.consumer.rebalance.AllocateMessageQueueAveragely.allocate", "common.message.MessageQueue.compareTo"
    ),
)
BELOW_THE_LARGER = confirmed(
    "consumers are given the queues below readQueueNums, and the broker takes sends into any queue below the larger of the two "
    "numbers, from producers whose route is old as well",
    _sources("broker.processor.AbstractSendMessageProcessor.msgCheck"),
)

QUEUES_01 = claim(
    "QUEUES-01", "A3", "Producers route by writeQueueNums, consumers by readQueueNums.",
    reading="With 8 write and 4 read queues a broker, accepted sends lie in 8 queues and a group's members have 4; with 4 and 8 "
    "it is the other way round.",
    expected=BY_NUMBERS,
    parts={
        "sent to of 8": fact(of("sent_queues_count", WRITE_8), EIGHT), "given of 4": fact(of(GIVEN, WRITE_8), FOUR),
        "sent to of 4": fact(of("sent_queues_count", WRITE_4), FOUR), "given of 8": fact(of(GIVEN, WRITE_4), EIGHT),
    }, summary="With 8 write and 4 read queues producers used all eight {sent to of 8}, and members had four {given of 4}; with 4 "
    "write and 8 read queues producers used four {sent to of 4}, and members had all eight {given of 8}.",
)  # fmt: skip

QUEUES_02 = claim(
    "QUEUES-02", "A3", "Write 8, read 4: eight queue folders are created, and queues 4 to 7 are never consumed.",
    reading="Each broker's store has eight folders of the topic's consume queue; until the numbers are mended no message of "
    "queues 4 to 7 is consumed, and the brokers' own offsets show what is stranded there.",
    expected=confirmed("the broker makes a consume queue for each queue that gets a message; consumers are given those below "
                       "readQueueNums", _sources("store.DefaultMessageStore.findConsumeQueue")),
    parts={
        "folders": fact(of("queue_folders_count", WRITE_8), EIGHT), "stranded": fact(_stranded(WRITE_8, "held"), MANY),
        "4 to 7 consumed": never(of("consumed_beyond_read_count", WRITE_8), STRANDED, UNREAD, noun="groups"),
    }, summary="Each broker had eight folders {folders}; {#4 to 7 consumed} consumed messages of queues 4 to 7, and a "
    "hundred and more lay there when the numbers were mended {stranded}.",
)  # fmt: skip

QUEUES_03 = claim(
    "QUEUES-03", "A3", "Write 4, read 8 with two consumers: the first gets everything, the second nothing.",
    reading="The member whose client id sorts second consumes nothing, on one broker and on the article's three.",
    expected=IN_ONE_PIECE,
    parts=scopes("brokers:", (1, 3), _second),
    summary="The second member got messages on one broker {!brokers: 1}, and on three brokers {!brokers: 3}.",
)  # fmt: skip

QUEUES_04 = claim(
    "QUEUES-04", "A3", "Equal numbers are the rule; they differ only while a topic is being shrunk.",
    reading=IN_THE_ARTICLES_ORDER,
    expected=BELOW_THE_LARGER,
    parts={
        "equal": _none_stranded("baseline"), "in order": _none_stranded(IN_ORDER, rate_max=0.025),
        "read first": happens(_stranded(READ_FIRST, "held"), STRANDED, UNREAD, without=_stranded(IN_ORDER, "held"), noun="groups"),
        "refused at once": fact(of("illegal_queue_count", BOTH), side(10, 0, OLD_ROUTE, bound=1)),
        "none refused in order": fact(of("illegal_queue_count", IN_ORDER), side(0, 10, OLD_ROUTE, bound=0)),
        "mended": _none_stranded(READ_FIRST, "end"),
    }, summary="Messages were stranded with equal numbers {equal}, by shrinking in order {in order}, with the read queues first "
    "{read first}, and after growing back {mended}. Shrinking at once had sends refused {refused at once}, and in order "
    "{!none refused in order}.",
    told=Told(
        weight=Weight.OTHER,
        holds="write and read queues differ only while a topic is shrunk",
        fails="shrinking a topic in the right order still has sends refused or messages unread",
    ),
)  # fmt: skip

QUEUES_05 = claim(
    "QUEUES-05", "A3",
    "Only write queues make files; with write 4, read 8 consumers are given eight queues, four of them forever empty.",
    reading="Each broker's store has four folders of the topic's consume queue, a group's members have eight queues of it, and "
    "four of these have never had a message.",
    expected=confirmed("files come with the first message of a queue; that a consumer asks for a queue makes none",
                       _sources("store.ConsumeQueue.putMessagePositionInfo", "store.MappedFileQueue.getLastMappedFile")),
    parts={
        "folders": fact(of("queue_folders_count", WRITE_4), FOUR), "queues given out": fact(of(GIVEN, WRITE_4), EIGHT),
        "empty ones": fact(of("empty_read_queues_count", WRITE_4), side(4, 0, "the topic's numbers differ by four")),
    },
    summary="Each broker had four folders {folders}; eight queues were given out {queues given out}, four empty ones "
    "{empty ones}.",
)  # fmt: skip

WHEN_READ = claim(
    "X-queue-number-mismatch-01", "A3",
    "A topic is shrunk safely when the read queues follow once consumerProgress shows nothing unread in the queues that go.",
    reading="The write queues go first, and a minute later the read queues, but not before every group has committed every message "
    "of the queues that go: none is stranded, and no send is refused. In the wrong order some are.",
    expected=BELOW_THE_LARGER,
    parts={
        "stranded": _none_stranded(DRAINED, rate_max=0.025),
        "read first": happens(_stranded(READ_FIRST, "held"), STRANDED, UNREAD, without=_stranded(DRAINED, "held"), noun="groups"),
        "none refused": fact(of("illegal_queue_count", DRAINED), side(0, 10, OLD_ROUTE, bound=0)),
    },
    summary="Messages were stranded by shrinking when all was read {stranded}, and with the read queues first {read first}; sends "
    "were refused {!none refused}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="queue-number-mismatch",
    title="Numbers of write and read queues differ: messages lie where nobody reads",
    article="A3",
    summary="Topics with 8 and 4, 4 and 8, and 8 and 8 queues on one broker and on three, and a topic that is shrunk from 8 "
    "to 4 in the right order, in the wrong one and at once, while traffic runs.",
    symptom="A topic's numbers of queues were changed, and some of its messages are not consumed.",
    advice="Make the numbers equal; to shrink a topic take the write queues away first, and the read queues when they "
    "are empty.",
    cures=("QUEUES-04",),
    audited=("queue-numbers-differ",),
    sign=Sign(
        pattern=LogPattern.QUEUE_NUMBERS_DIFFER,
        events=(Logged.TOPIC_MADE, Logged.TOPIC_CHANGED),
        because="a topic has other numbers of write than of read queues: what goes to a queue that nobody reads is not "
        "consumed",
    ),
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
            fault=ResizeTopic(steps=((4, 8, KNOWN_S), (4, 4, TWO_ROUTES_S))),
            load=_load(GROUPS_IN_ORDER),
            cells=CELLS,
        ),
        Arm(
            name=DRAINED,
            what="The write queues first, and the read queues when everybody knows and nothing is unread in those that go.",
            fault=ResizeTopic(steps=((4, 8, TWO_ROUTES_S), (4, 4, TWO_ROUTES_S)), drained=True),
            load=_load(GROUPS_IN_ORDER),
            cells=CELLS,
        ),
    ),
    phases=Phases(steady_s=12.0, hold_s_min=5.0, hold_s_max=5.0, recover_s=KNOWN_S, drain_s_max=300.0),
    claims=(QUEUES_01, QUEUES_02, QUEUES_03, QUEUES_04, QUEUES_05, WHEN_READ),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={
        WRITE_8: ({"brokers": 1},),
        WRITE_4: ({"brokers": 1},),
        "baseline": ({"brokers": 1},),
        READ_FIRST: ({"brokers": 1},),
        IN_ORDER: ({"brokers": 1},),
        BOTH: (),
        DRAINED: (),
    },
    exclusive=False,
    experiment_version=2,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    extra_measures=("stranded_count", "illegal_queue_count", "member_share", "lost_count"),
)
