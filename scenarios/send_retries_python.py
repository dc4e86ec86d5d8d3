"""What each kind of send of Python's own clients does when one of two masters fails: attempts, time, outcome, copies.

The clients are ``rocketmq`` 0.4.4 and rocketmq-client-python 2.0.0, both on rocketmq-client-cpp's library, which no jar has:
expectations are by the source of its 1.2.3, whose words the library writes into its log. Each try has the whole timeout, any answer
that is no success is followed by another one, and a turn in which there is no broker but the one that failed last goes by without.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import AppendStall, BrokerAway, NoFault, PauseNode, PoolJam, ReadOnlyBroker, UnheardBroker
from harness.model.python_sends import GONE_S, PythonSendKinds
from harness.model.rules import Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side
from scenarios.send_retries import AFTER_JAM_S, BUSY, GONE, JAM_MS, KILLED, READ_ONLY, SENT_S, SHOWN, STOPPED

REJECTING = "incident-rejecting"
ENDED_S = 12.0
"""After the last send: three attempts of 3 s each, and more."""
JAMMED = Phases(steady_s=2.0, hold_s_min=AFTER_JAM_S, hold_s_max=AFTER_JAM_S + ENDED_S, recover_s=1.0)

NATIVE, LAYER = "native", "rocketmq-client-python"
CLIENTS = (NATIVE, LAYER)
LIB = "rocketmq-client-cpp 1.2.3"
LOOP = f"{LIB}: DefaultMQProducer::sendDefaultImpl, TopicPublishInfo::selectOneMessageQueue"
SELECT = f"{LIB}: DefaultMQProducer::sendAutoRetrySelectImpl"

FIVE = side(
    5, 3, "five tries, or those of every second turn alone, since none takes the broker that has just failed", bound=5
)
TWO_BROKERS = side(2, 1, "the broker at fault, and the other one; or the first one alone")
ALONE = side(1, 2, "the attempt that it is told to make; or another one beside it")
NONE_FAILS = side(0, 0.5, "no send fails for good, or each that was for the broker at fault")
AGAIN = side(3, 0, "a message of each thread at least, which the broker takes when it goes on; or none", bound=1)


def _of(measure: str, arm: str, send: str, client: str, retries: str = "own", topic: str = "both") -> Selection:
    return of(measure, arm, send=send, retries=retries, avoidance="off", topic=topic, client=client)


def _sync(measure: str, arm: str, at: Side, topic: str = "both") -> dict[str, Part]:
    return {client: fact(_of(measure, arm, "normal-sync", client, topic=topic), at) for client in CLIENTS}


def _ordered(measure: str, arm: str, retries: str, at: Side) -> Part:
    return fact(_of(measure, arm, "selector-sync", NATIVE, retries=retries), at)


def _aimed(arm: str, send: str, client: str, retries: str = "own") -> Part:
    some = side(
        9, 0, "each of three threads sends some to it in 8 s, of which each may wait for 3 s; or none does", bound=1
    )
    return control(fact(_of("aimed_count", arm, send, client, retries), some))


X_01 = claim(
    "X-send-retries-python-01", "A4, A5", "set msg max retry times, default retry times is 5 (DefaultMQProducer.h).",
    reading="With the library's defaults a synchronous send of Python's clients into a topic whose only broker is dead is tried "
    "five times at least.",
    expected=refuted("of the five turns none takes the broker that failed in the turn before: every second one has none", LOOP),
    parts=_sync("attempts_median", KILLED, FIVE, topic="one"),
    summary="A synchronous send to a topic's only broker, which was dead, was tried five times by rocketmq 0.4.4 {native} and by "
    "rocketmq-client-python 2.0.0 {rocketmq-client-python}.",
)  # fmt: skip

TAKEN_ELSEWHERE = (
    "Of rocketmq 0.4.4 synchronous sends failed for good when one of two brokers was dead {!native, dead}, stood still "
    "{!native, still} and was busy {!native, busy}; of rocketmq-client-python 2.0.0 when it was dead "
    "{!rocketmq-client-python, dead}, stood still {!rocketmq-client-python, still} and was busy {!rocketmq-client-python, busy}. "
    "One that stood still stored as well what the other had accepted, of the first client {native, twice} and of the second "
    "{rocketmq-client-python, twice}."
)

X_02 = claim(
    "X-send-retries-python-02", "A4, A5", "A synchronous send of Python's clients is tried at the other broker, however one fails.",
    reading="With one of two masters dead, still or busy no normal synchronous send of either client fails for good: the "
    "other accepts those that were for it. Its price: one that stood still stores the message as well.",
    expected=confirmed("each try has the whole timeout, and follows any error and any answer that is no success", LOOP),
    parts={
        f"{client}, {what}": fact(_of("failed_for_good_share", arm, "normal-sync", client), NONE_FAILS)
        for client in CLIENTS
        for what, arm in (("dead", KILLED), ("still", STOPPED), ("busy", BUSY))
    }
    | {f"{client}, twice": fact(_of("copies_count", STOPPED, "normal-sync", client), AGAIN) for client in CLIENTS}
    | {f"{client}, to it": _aimed(STOPPED, "normal-sync", client) for client in CLIENTS},
    summary=TAKEN_ELSEWHERE,
)  # fmt: skip

ORDERED = {
    "dead": _ordered("brokers_tried_most", KILLED, "three", TWO_BROKERS),
    "still": _ordered("brokers_tried_most", STOPPED, "three", TWO_BROKERS),
    "told not to, dead": _ordered("attempts_most", KILLED, "none", ALONE),
    "told not to, still": _ordered("attempts_most", STOPPED, "none", ALONE),
    "to it": _aimed(KILLED, "selector-sync", NATIVE, "three"),
}

X_03 = claim(
    "X-send-retries-python-03", "A4, A5", "send_orderly with its default retry_times=3 leaves the queue that its selector gave.",
    reading="An ordered send of rocketmq 0.4.4 to a broker that is dead or stands still is tried at the other one, too, with the "
    "default, and once with retry_times=0.",
    expected=confirmed("its selector is asked in the first turn alone; the others take a queue of another broker", SELECT),
    parts=ORDERED,
    summary="Ordered sends with the default went to the other broker, too, when theirs was dead {dead} and when it stood still "
    "{still}; with retry_times=0 they were tried once when it was dead {told not to, dead} and when it stood still "
    "{told not to, still}.",
)  # fmt: skip


ARMS = (
    Arm(name="baseline", what="Both masters are well.", fault=NoFault(), load=PythonSendKinds()),
    Arm(name=KILLED, what="The second master's process is killed.", fault=BrokerAway(), load=PythonSendKinds()),
    Arm(
        name=STOPPED, what="The second master stands still (SIGSTOP).", fault=PauseNode(node="broker-b"), load=PythonSendKinds()
    ),
    Arm(
        name=BUSY,
        what="The first master's send threads stand still for 6 s: what waits for 200 ms is refused with TIMEOUT_CLEAN_QUEUE.",
        fault=PoolJam(pool="send"), load=PythonSendKinds(at="first"), cells=({"stall_ms": JAM_MS},), phases=JAMMED,
    ),
    Arm(
        name=REJECTING,
        what="An append of the first master takes 6 s: sends are refused with TIMEOUT_CLEAN_QUEUE, from 1 s on with REJECTREQUEST.",
        fault=AppendStall(), load=PythonSendKinds(at="first"), cells=({"stall_ms": JAM_MS},), phases=JAMMED,
    ),
    Arm(
        name=READ_ONLY,
        what="The second master has brokerPermission=4, and the topics are order topics, whose sends one of 5.x refuses.",
        fault=ReadOnlyBroker(node="broker-b"), load=PythonSendKinds(order_topic=True),
    ),
    Arm(
        name=GONE,
        what="The name server is told that the second master is gone, and clients ask for routes every 30 s, which nothing sets.",
        fault=UnheardBroker(every_s=0.1), load=PythonSendKinds(),
        phases=Phases(steady_s=2.0, hold_s_min=GONE_S + SENT_S, hold_s_max=GONE_S + SENT_S + ENDED_S, recover_s=2.0),
    ),
)  # fmt: skip

SCENARIO = Scenario(
    name="send-retries-python",
    title="One of two brokers fails: what each kind of send of Python's clients does",
    article="A4, A5",
    summary="Every kind of send of rocketmq 0.4.4 and rocketmq-client-python 2.0.0 while one of two masters is killed, stands "
    "still, is busy, must not be written to or leaves the routes.",
    symptom="One of two brokers fails, and ordered messages of Python's clients are in queues of the other one.",
    advice="Give send_orderly retry_times=0 where order matters: it is tried once then, at the queue that its selector "
    "gave.",
    cures=("X-send-retries-python-03",),
    no_sign="Brokers write nothing of it: the library's log below ~/logs/rocketmq-cpp has each attempt that failed, "
    "with its broker (send failed of times).",
    topology=Topology(name="two-masters", masters=2),
    arms=ARMS,
    phases=Phases(steady_s=2.0, hold_s_min=SENT_S, hold_s_max=SENT_S + ENDED_S, recover_s=2.0),
    claims=(X_01, X_02, X_03),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=1000.0,
    injections=("byteman",),
    extra_measures=(*SHOWN, "failed_stored_count"),
)
"""Which broker a client tries again is decided by its code: two deployments."""
