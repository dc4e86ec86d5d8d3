"""Users: asynchronous sends to a broker that stands still are stored twice, or fail though stored (2198, 3556, 8168).

A broker that stands still takes what its kernel holds of its connections as soon as it goes on: also sends whose time was over long
before. What the client did meanwhile depends on the time that a further try is given: all of it, or what is left, which is nothing.
A broker that is dead takes nothing, and refuses the connection at once.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import BrokerAway, Fault, NoFault, PauseNode
from harness.model.incident import Sign
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.send_kinds import SendKind, SendKinds
from scenarios.releases import RELEASES, RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, mean, of, refuted, side

OLD, SINCE_4_9_7 = ("4.6.0",), tuple(release for release in RELEASES if release != "4.6.0")
SENT_S, ENDED_S = 8.0, 12.0
"""While the broker is at fault messages are sent for so long. A standstill lasts until all of them have ended, 20 s at most."""
LONG_TIMEOUT_MS = 30_000

WELL, STILL, DEAD = "baseline", "incident", "incident-dead"
ALONE, LONG = "fix-no-retries", "better-long-timeout"
NO_RETRIES = SendKind(route="normal", mode="async", retries=0)
DEFAULT = SendKind(route="normal", mode="async")

CLIENT = "org.apache.rocketmq.client.impl"
API, IMPL = f"{CLIENT}.MQClientAPIImpl", f"{CLIENT}.producer.DefaultMQProducerImpl"
NETTY = "org.apache.rocketmq.remoting.netty"
CALL, SCAN = f"{NETTY}.NettyRemotingClient.invokeAsync", f"{NETTY}.NettyRemotingAbstract.scanResponseTable"

TWICE = side(20, 0, "20 of 40 sends are for the broker that stands still: each is stored on both brokers, or none is")
ONCE = side(0, 20, "no message is stored again, or each of the 20 that were for the broker that stood still")
HALF = side(0.5, 0, "every second send is for the broker at fault, and fails for good, or none does")
NONE = side(0, 0.5, "no send fails, or every second one, which is for the broker at fault")


def _of(measure: str, arm: str) -> Selection:
    retries = "none" if arm == ALONE else "two"
    return of(measure, arm, send="normal-async", retries=retries, avoidance="off", topic="both")


def _copies(arm: str, at: Side) -> Part:
    return fact(_of("copies_count", arm), at)


def _copies_by_sides(arm: str, at: Side) -> Part:
    """A count that deployments differ in: one in which the stores were not read to their end says nothing."""
    return mean(_of("copies_count", arm), at)


def _failing(arm: str, at: Side) -> Part:
    return fact(_of("failed_for_good_share", arm), at)


def _aimed(arm: str) -> Part:
    return control(fact(_of("aimed_count", arm), side(20, 0, "every second one of 40 sends, or none", bound=1)))


def _stored(arm: str) -> Part:
    because = "each of 20 failed sends is stored when the broker goes on, unless refused for its age; or none failed"
    return fact(_of("failed_stored_count", arm), side(20, 0, because, bound=1))


ANOTHER_BROKER = "a try that was not answered is followed by one at another broker"
RETRIED = confirmed(f"{ANOTHER_BROKER}, which has the whole timeout", f"{API}.onExceptionImpl, {SCAN}", OLD) | refuted(
    "a try that was not answered leaves no time for another one, which ends before it is sent", f"{API}.onExceptionImpl, {CALL}",
    ("4.9.7",),
) | refuted("there is no further try where no time is left", f"{API}.onExceptionImpl", RELEASES_5X)  # fmt: skip
FAILS_THOUGH_STORED = refuted(
    f"{ANOTHER_BROKER}, which answers", f"{API}.onExceptionImpl", OLD
) | confirmed(
    "the sender is told of a timeout; that its request is on its way to the broker is not taken back", f"{API}.onExceptionImpl",
    SINCE_4_9_7,
)  # fmt: skip
NO_OTHER_TRY = "a further try is made up to the number of retries, which is none"
LEFT_ALONE = confirmed(NO_OTHER_TRY, f"{API}.onExceptionImpl", RELEASES_4X) | confirmed(
    f"{NO_OTHER_TRY}, as long as time is left", f"{API}.onExceptionImpl", RELEASES_5X
)
STORED_ALONE = confirmed(
    "the callback is told of the timeout; what is on its way to the broker is not taken back", f"{API}.onExceptionImpl"
)
NOT_TRIED_AGAIN = confirmed(
    "what invokeAsync throws for a broker without a connection leaves sendMessageAsync; asynchronous sends have one turn of the "
    "loop around it", f"{CALL}, {API}.sendMessageAsync, {IMPL}.sendDefaultImpl", OLD,
) | refuted(
    "sendMessageAsync catches what invokeAsync throws, and has another broker tried (PR 3555)", f"{API}.sendMessageAsync",
    ("4.9.7",),
) | refuted(
    "a connection that cannot be made ends the request with an error, after which another broker is tried",
    f"{API}.sendMessageAsync, {API}.onExceptionImpl", RELEASES_5X,
)  # fmt: skip

X_01 = claim(
    "X-async-timeout-stored-twice-01", "", "retryTimesWhenSendAsyncFailed may potentially cause message duplication, which is "
    "up to application developers to resolve.",
    reading="One of two masters stands still for longer than sendMsgTimeout. With the client's defaults messages that were sent to "
    "it asynchronously are stored on both.",
    expected=RETRIED,
    parts={
        "twice": _copies_by_sides(STILL, TWICE),
        "to that broker": _aimed(WELL),
        "both well": control(_copies(WELL, ONCE)),
    },
    summary="Of 20 messages that were sent asynchronously to a broker that stood still, the other broker had {twice} copies.",
)  # fmt: skip

X_02 = claim(
    "X-async-timeout-stored-twice-02", "", "Asynchronous sends to a broker that stands still fail, and are stored all the same.",
    reading="In the same standstill the callbacks of such sends get an error; their messages are there when the broker goes on.",
    expected=FAILS_THOUGH_STORED,
    parts={"fail": _failing(STILL, HALF), "stored": _stored(STILL), "both well": control(_failing(WELL, NONE))},
    summary="Asynchronous sends to a broker that stood still failed {fail}, and what had failed was stored all the same {stored}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.HOLDS,
        holds="an asynchronous send to a broker that stands still fails, and is stored all the same: sent again it comes twice",
        fails="an asynchronous send to a broker that stands still is repeated by the client",
        do="treat a timed-out asynchronous send as unknown: look for its key before it is sent again",
    ),
)  # fmt: skip

X_03 = claim(
    "X-async-timeout-stored-twice-03", "", "retryTimesWhenSendAsyncFailed does not work: when a broker is killed the producer does "
    "not try to send again.",
    reading="One of two masters is killed, and stays in the routes. By default asynchronous sends to it fail for good.",
    expected=NOT_TRIED_AGAIN,
    parts={"fail": _failing(DEAD, HALF), "to that broker": _aimed(WELL), "both well": control(_failing(WELL, NONE))},
    summary="Asynchronous sends to a dead broker that was still in the routes failed for good {fail}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.HOLDS,
        holds="retryTimesWhenSendAsyncFailed does nothing when a broker is killed",
        fails="asynchronous sends are tried again when a broker is killed",
    ),
)  # fmt: skip

X_04 = claim(
    "X-async-timeout-stored-twice-04", "", "With retryTimesWhenSendAsyncFailed=0 nothing is stored twice.",
    reading="In the same standstill no message is stored again. Its price: every send to that broker fails.",
    expected=LEFT_ALONE,
    parts={
        "twice": _copies_by_sides(ALONE, ONCE),
        "price": _failing(ALONE, HALF),
        "to that broker": _aimed(ALONE),
    },
    summary="Without retries the other broker had {twice} copies; sends to the broker that stood still failed {price}.",
)  # fmt: skip

X_05 = claim(
    "X-async-timeout-stored-twice-05", "", "With a sendMsgTimeout longer than the standstill each message is stored once, and "
    "its sender is told so.",
    reading=f"With {LONG_TIMEOUT_MS / 1000:.0f} s no send fails and none is stored again. Its price: the sender of such a message "
    "waits until the broker goes on.",
    expected=confirmed("a request that is not answered stays until its own timeout and a second are over", SCAN),
    parts={
        "none fail": _failing(LONG, NONE),
        "none twice": _copies(LONG, ONCE),
        "price": fact(_of("aimed_took_s", LONG), side(16, 4.5, "until the standstill ends, or by default")),
    },
    summary="With a timeout of 30 s sends failed {!none fail}, and some were stored twice {!none twice}; senders waited "
    "for the broker {price}.",
)  # fmt: skip

X_06 = claim(
    "X-async-timeout-stored-twice-06", "", "While both brokers answer, an asynchronous send is stored once.",
    reading="With both masters well no send fails, and none is stored again.",
    expected=confirmed("an answer ends the send, and only an error leads to another try", f"{API}.sendMessageAsync"),
    parts={"none fail": _failing(WELL, NONE), "none twice": _copies(WELL, ONCE)},
    summary="With both brokers well sends failed {!none fail}, and messages were stored twice {!none twice}.",
)  # fmt: skip

X_07 = claim(
    "X-async-timeout-stored-twice-07", "", "With retryTimesWhenSendAsyncFailed=0 what fails is stored all the same: an application "
    "that sends it again stores it twice.",
    reading="In the same standstill without retries the callbacks of sends to that broker get an error; their messages are there "
    "when the broker goes on.",
    expected=STORED_ALONE,
    parts={"stored": _stored(ALONE), "fail": control(_failing(ALONE, HALF))},
    summary="Without retries, messages whose sends failed were stored all the same {stored}.",
)  # fmt: skip


def _arm(
    name: str,
    what: str,
    fault: Fault,
    kind: SendKind = DEFAULT,
    *,
    trials: int,
    timeout_ms: int = 3000,
) -> Arm:
    load = SendKinds(kinds=(kind,), timeout_ms=timeout_ms)
    return Arm(name=name, what=what, fault=fault, load=load, trials=trials)


STANDSTILL = PauseNode(node="broker-b")

SCENARIO = Scenario(
    name="async-timeout-stored-twice",
    title="A broker stands still, and asynchronous sends are stored twice, or fail though stored",
    summary="Asynchronous sends to two masters, five a second, while one of them stands still or is dead.",
    symptom="Asynchronous sends to a broker that stands still are stored twice, or fail though they are stored; those "
    "to a dead broker are not tried again (retryTimesWhenSendAsyncFailed does not work).",
    threads=("issues/2198", "issues/1588", "issues/3556", "pull/3555", "issues/1781", "issues/8168"),
    faces={
        "stored twice": "X-async-timeout-stored-twice-01",
        "failed, and stored all the same": "X-async-timeout-stored-twice-02",
        "not tried again where the broker is dead": "X-async-timeout-stored-twice-03",
    },
    advice="Look for keys that came twice. Set sendMsgTimeout longer than the standstill, for which the sender then "
    "waits, or retryTimesWhenSendAsyncFailed=0, with which what fails may be stored all the same.",
    cures=("X-async-timeout-stored-twice-04", "X-async-timeout-stored-twice-05", "X-async-timeout-stored-twice-07"),
    sign=Sign(
        pattern=LogPattern.SENT_AGAIN,
        events=(Logged.SENT_AGAIN,),
        because="a client of 4.6.0 sent messages again to another broker when one did not answer within sendMsgTimeout; "
        "the first broker stores them as well when it goes on. Newer clients end with an error, and leave no line of what "
        "is stored",
    ),
    topology=Topology(name="two-masters", masters=2),
    arms=(
        _arm(WELL, "Both masters are well.", NoFault(), trials=3),
        _arm(STILL, "The second master stands still (SIGSTOP); settings are the defaults.", STANDSTILL, trials=5),
        _arm(DEAD, "The second master's process is killed.", BrokerAway(), trials=3),
        _arm(ALONE, "It stands still, with retryTimesWhenSendAsyncFailed=0.", STANDSTILL, NO_RETRIES, trials=5),
        _arm(LONG, "It stands still, with a sendMsgTimeout of 30 s.", STANDSTILL, trials=3, timeout_ms=LONG_TIMEOUT_MS),
    ),
    phases=Phases(steady_s=2.0, hold_s_min=SENT_S, hold_s_max=SENT_S + ENDED_S, recover_s=2.0, drain_s_max=120.0),
    claims=(X_01, X_02, X_03, X_04, X_05, X_06, X_07),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=1000.0,
    extra_measures=("aimed_took_s", "attempts_most", "ended_share", "failed_stored_share", "untold_loss_count"),
)  # fmt: skip
"""Which broker a client tries again, and for how long it waits, is decided by code: three deployments. How much is stored again
depends on what the stores can be read for as well: five."""
