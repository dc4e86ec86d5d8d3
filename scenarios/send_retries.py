"""What each kind of send of the Java client does when one of two masters fails: attempts, time, outcome, copies.

All kinds are sent side by side, each by a producer of its own: normal, selector and fixed queue; synchronous, asynchronous and
one-way; with none, two and five retries, without avoidance and with it. The routes stay as they are while the broker is at fault,
as they do for up to half a minute by default; what changes when they have lost it is an arm of its own.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import Topology
from harness.model.faults import BrokerAway, NoFault, PauseNode, PoolJam, ReadOnlyBroker, UnheardBroker
from harness.model.rules import Part, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.send_kinds import SendKinds
from scenarios.releases import RELEASES, RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, never, of, refuted, side

SENT_S, ENDED_S = 8.0, 12.0
"""While the broker is at fault messages are sent for so long, and then have time to end: three timeouts of 3 s and more."""
JAM_MS = 6000
AFTER_JAM_S = 0.2

KILLED, STOPPED, BUSY = "incident-killed", "incident-stopped", "incident-busy"
READ_ONLY, GONE = "incident-read-only", "fix-route-without-it"
SYNC_OR_ONEWAY = ("sync", "oneway")

THREE = side(3, 1, "one attempt and two retries, as the article says, or the attempt alone", bound=3)
ALONE = side(1, 3, "one attempt, or it and two retries")
FAILS = side(0.5, 0.05, "every second send goes to that broker; or one or two of 40, until it is known")
SPARED = side(0.05, 0.5, "one or two of 40 sends meet that broker until it is known; or every second one does")
COPIES = 6
"""Two further copies of each of three sends of a key, which wait for 3 s each."""

API, IMPL = (
    "org.apache.rocketmq.client.impl.MQClientAPIImpl",
    "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl",
)
SINCE_4_9_7 = tuple(release for release in RELEASES if release != "4.6.0")


def _sent(
    measure: str, arm: str, *sends: str, retries: str = "two", avoidance: str = "off", topic: str = "both"
) -> Selection:
    return of(measure, arm, send=sends, retries=retries, avoidance=avoidance, topic=topic)


def _scoped(part: Part, scope: str) -> Part:
    return dataclasses.replace(part, scope=scope)


# --- SENDS-01 to -03: how often a send is tried -------------------------------------------------------------------------


def _thrice(arm: str, scope: str) -> Part:
    return _scoped(fact(_sent("attempts_median", arm, "normal-sync", topic="one"), THREE), scope)


def _once(arm: str, route: str, scope: str, modes: tuple[str, ...] = SYNC_OR_ONEWAY) -> Part:
    return _scoped(fact(_sent("attempts_most", arm, *(f"{route}-{mode}" for mode in modes)), ALONE), scope)


SHARED = "the retries share one timeout of 3 s, all of which the first attempt waits for a broker that stands still"
ONE_TIMEOUT = refuted(
    f"{SHARED}; a refusal as busy (code 2) is not among the codes after which 4.x tries again",
    f"{IMPL}.sendDefaultImpl", RELEASES_4X,
) | refuted(
    f"{SHARED} (sendMsgMaxTimeoutPerRequest, off by default, would leave time for others)",
    f"{IMPL}.sendDefaultImpl", RELEASES_5X,
)  # fmt: skip

SENDS_01 = claim(
    "SENDS-01", "A4, A5", "A normal synchronous send is retried twice by default on failure.",
    reading="With the client's defaults a normal synchronous send into a topic whose only broker fails is tried three times: "
    "where that broker is dead, stands still, refuses sends since it is busy, or must not be written to.",
    expected=ONE_TIMEOUT,
    parts={
        "dead": _thrice(KILLED, "dead"), "still": _thrice(STOPPED, "still"), "busy": _thrice(BUSY, "busy"),
        "read-only": _thrice(READ_ONLY, "read-only"),
        "well": control(fact(_sent("failed_for_good_share", "baseline", "normal-sync", topic="one"), side(0, 1, "none, or all"))),
    }, summary="A normal synchronous send was tried three times when its only broker was dead {dead}, stood still {still}, was "
    "busy {busy} and was read-only {read-only}.",
    told=Told(
        weight=Weight.OUTAGE,
        parts={
            "busy": "a synchronous send that a busy broker refuses is tried three times, and no longer once",
            "read-only": "a synchronous send to a read-only broker is tried three times, and no longer once",
        },
    ),
)  # fmt: skip


def _never_retried(route: str) -> dict[str, Part]:
    return {
        "dead": _once(KILLED, route, "synchronous and one-way: dead"),
        "still": _once(STOPPED, route, "synchronous and one-way: still"),
        "busy": _once(BUSY, route, "synchronous and one-way: busy"),
        "read-only": _once(READ_ONLY, route, "synchronous and one-way: read-only"),
        "async, dead": _once(KILLED, route, "asynchronous: dead", ("async",)),
        "async, still": _once(STOPPED, route, "asynchronous: still", ("async",)),
        "aimed": control(fact(_sent("aimed_count", KILLED, f"{route}-sync"), side(40, 0, "every second one, or none", bound=1))),
    }  # fmt: skip


ASYNC_RETRIED = refuted(
    "an asynchronous send without a list of queues is repeated at the same broker when it was not answered in time, each time "
    "with the whole timeout; one that finds no connection ends at once", f"{API}.onExceptionImpl", ("4.6.0",),
) | refuted(
    "an asynchronous send without a list of queues is repeated at the same broker when it finds no connection; when it was not "
    "answered in time nothing of its timeout is left", f"{API}.sendMessageAsync, {API}.onExceptionImpl", SINCE_4_9_7,
)  # fmt: skip
ONCE = (
    "Synchronous and one-way sends {what} were tried once when that queue's broker was dead {{dead}}, stood still {{still}}, was "
    "busy {{busy}} and was read-only {{read-only}}; asynchronous ones were when it was dead {{async, dead}} and when it stood "
    "still {{async, still}}."
)

SENDS_02 = claim(
    "SENDS-02", "A4, A5", "A send with a queue selector is not retried.",
    reading="With the client's defaults a send whose selector gives a queue of a broker at fault makes one attempt, whichever way "
    "the broker fails and whether the send is synchronous, one-way or asynchronous.",
    expected=ASYNC_RETRIED, parts=_never_retried("selector"), summary=ONCE.format(what="with a selector"),
)  # fmt: skip

SENDS_03 = claim(
    "SENDS-03", "A4, A5", "A send to a fixed queue is not retried.",
    reading="With the client's defaults a send to a named queue of a broker at fault makes one attempt, whichever way the broker "
    "fails and whether the send is synchronous, one-way or asynchronous.",
    expected=ASYNC_RETRIED, parts=_never_retried("fixed"), summary=ONCE.format(what="to a fixed queue"),
)  # fmt: skip


# --- SENDS-04: retries and avoidance ------------------------------------------------------------------------------------


def _failing(arm: str, send: str, at: Side, scope: str = "", *, retries: str = "five", avoidance: str = "off") -> Part:
    what = _sent("failed_for_good_share", arm, send, retries=retries, avoidance=avoidance)
    return _scoped(fact(what, at, deployments_min=5), scope)


STRATEGY = f"{IMPL}.sendDefaultImpl, org.apache.rocketmq.client.latency.MQFaultStrategy.selectOneMessageQueue"
ELSEWHERE = (
    "a retry takes another broker than the one that failed last, avoidance or not, where the failure leaves time"
)
RETRIES_HELP = refuted(f"{ELSEWHERE}; a refusal as busy is not tried again", STRATEGY, RELEASES_4X) | refuted(
    f"{ELSEWHERE}; so it does after a refusal as busy", STRATEGY, RELEASES_5X
)


BY_RETRIES = {
    "dead": _failing(KILLED, "normal-sync", FAILS, "normal: dead"),
    "still": _failing(STOPPED, "normal-sync", FAILS, "normal: still"),
    "busy": _failing(BUSY, "normal-sync", FAILS, "normal: busy"),
    "selector": _failing(KILLED, "selector-sync", FAILS, "selector: dead"),
    "avoided, still": _failing(STOPPED, "normal-sync", SPARED, avoidance="on"),
    "avoided, busy": _failing(BUSY, "normal-sync", SPARED, avoidance="on"),
    "no retry": control(_failing(KILLED, "normal-sync", FAILS, retries="none")),
    "no retry, still": control(_failing(STOPPED, "normal-sync", FAILS, retries="none")),
}  # fmt: skip

SENDS_04 = claim(
    "SENDS-04", "A5", "While the broker is at fault, any number of retries is pointless without avoidance.",
    reading="With one of two masters at fault and avoidance off, as many sends fail for good with five retries as with none, about "
    "half; with avoidance on few do. Tried are normal sends while it is dead, stands still or is busy, and selector sends.",
    expected=RETRIES_HELP,
    parts=BY_RETRIES,
    summary="Without avoidance, while no route changed, half of the sends failed for good in spite of five retries: normal ones "
    "to a dead broker {dead}, to one that stood still {still} and to a busy one {busy}, and selector sends to a dead one "
    "{selector}. With avoidance few did when it stood still {avoided, still} and when it was busy {avoided, busy}.",
    told=Told(
        weight=Weight.OUTAGE,
        parts={"busy": "without avoidance, retries help against a busy broker"},
    ),
)  # fmt: skip


# --- SENDS-05: order ----------------------------------------------------------------------------------------------------

ORDERED, ORDERED_ASYNC = ("selector-sync", "fixed-sync"), ("selector-async", "fixed-async")


def _no_key(measure: str, arm: str, sends: tuple[str, ...], scope: str = "") -> Part:
    because = "two further copies of each of three sends, were they retried"
    return _scoped(never(_sent(measure, arm, *sends), COPIES, because, noun="keys"), scope)


SYNC_ALONE = "a selector or a queue leads to one call; no retry loop is around it"
SELECT = f"{IMPL}.sendSelectImpl, {API}.onExceptionImpl"
ORDER_KEPT = refuted(
    f"{SYNC_ALONE}. An asynchronous one is repeated after each timeout, and a broker that goes on stores all of them",
    SELECT, ("4.6.0",),
) | confirmed(
    f"{SYNC_ALONE}. An asynchronous one that timed out is not repeated, and one that finds no connection stores nothing",
    SELECT, SINCE_4_9_7,
)  # fmt: skip

OF_ORDER = {
    "tried once, dead": fact(_sent("attempts_most", KILLED, *ORDERED), ALONE),
    "tried once, still": fact(_sent("attempts_most", STOPPED, *ORDERED), ALONE),
    "twice": _no_key("copies_of_key_count", STOPPED, ORDERED, "synchronous"),
    "twice, async": _no_key("copies_of_key_count", STOPPED, ORDERED_ASYNC, "asynchronous"),
    "disorder": _no_key("disorder_of_key_count", KILLED, (*ORDERED, *ORDERED_ASYNC)),
    "sent again": fact(_sent("failed_for_good_share", KILLED, "again-sync"), side(0, 0.5, "none, or every second one")),
    "not sent again": control(fact(_sent("failed_for_good_share", KILLED, "selector-sync"), side(0.5, 0, "each to that one"))),
}  # fmt: skip

SENDS_05 = claim(
    "SENDS-05", "A4, A5", "Default retries leave ordered messages alone, so order is not disturbed; the user may retry a selector "
    "send himself, to another queue.",
    reading="With the client's defaults no send of a key by selector or to a fixed queue is stored twice by a broker that stood "
    "still, and none after a later one by one that died; a synchronous one is tried once. One that the application sends again to "
    "the other broker's queue is accepted there.",
    expected=ORDER_KEPT,
    parts=OF_ORDER,
    summary="An ordered synchronous send was tried once to a dead broker {tried once, dead} and to a still one "
    "{tried once, still}. {#twice} had messages stored twice, and with asynchronous sends {#twice, async} did; {#disorder} had "
    "some out of order. What the application sent again to another queue was accepted {sent again}.",
    told=Told(
        weight=Weight.OTHER,
        holds="retries leave ordered messages alone: a send with a selector is not sent to another queue",
        fails="an ordered message may be sent again to another queue",
    ),
)  # fmt: skip


# --- the incident -------------------------------------------------------------------------------------------------------


ARMS = (
    Arm(name="baseline", what="Both masters are well.", fault=NoFault(), load=SendKinds()),
    Arm(name=KILLED, what="The second master's process is killed.", fault=BrokerAway(), load=SendKinds()),
    Arm(name=STOPPED, what="The second master stands still (SIGSTOP).", fault=PauseNode(node="broker-b"), load=SendKinds()),
    Arm(
        name=BUSY,
        what="The first master's send threads stand still for 6 s: what waits for 200 ms is refused with TIMEOUT_CLEAN_QUEUE.",
        fault=PoolJam(pool="send"), load=SendKinds(at="first"), cells=({"stall_ms": JAM_MS},),
        phases=Phases(steady_s=2.0, hold_s_min=AFTER_JAM_S, hold_s_max=AFTER_JAM_S + ENDED_S, recover_s=1.0),
    ),
    Arm(
        name=READ_ONLY,
        what="The second master has brokerPermission=4, and the topics are order topics, whose sends it refuses.",
        fault=ReadOnlyBroker(node="broker-b"), load=SendKinds(order_topic=True),
    ),
    Arm(
        name=GONE,
        what="The name server is told that the second master is gone, and clients ask for routes each second.",
        fault=UnheardBroker(), load=SendKinds(poll_route_ms=1000),
    ),
)  # fmt: skip

SHOWN = (
    "aimed_took_s", "attempts_median", "attempts_most", "brokers_tried_most", "copies_count", "disorder_of_key_count",
    "ended_share", "failed_for_good_share", "failed_stored_share", "untold_loss_count",
)  # fmt: skip

SCENARIO = Scenario(
    name="send-retries",
    title="One of two brokers fails: what each kind of send does",
    article="A4, A5",
    summary="Every kind of send of the Java client while one of two masters is killed, stands still, is busy, must not be written "
    "to or leaves the routes: attempts, time, outcome, copies, and what is stored although it failed.",
    symptom="One of two brokers fails, and some kinds of send fail for good whatever the retries.",
    advice="Send a selector send that failed again by yourself, to another broker's queue; `mqlab explain sends "
    "--release RELEASE` says what helps other kinds.",
    cures=("SENDS-05",),
    no_sign="Brokers write nothing of it: a client's log has each attempt that failed, with its broker (sendKernelImpl "
    "exception, resend at once).",
    topology=Topology(name="two-masters", masters=2),
    arms=ARMS,
    phases=Phases(steady_s=2.0, hold_s_min=SENT_S, hold_s_max=SENT_S + ENDED_S, recover_s=2.0),
    claims=(SENDS_01, SENDS_02, SENDS_03, SENDS_04, SENDS_05),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=1000.0,
    injections=("byteman",),
    extra_measures=SHOWN,
)
"""Sends wait for seconds; a hiccup of one moves no attempt."""
