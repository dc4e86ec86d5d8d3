"""Users: one failed delivery of a delayed message loses it, or ends a level, or all (apache/rocketmq 3229, 3242, 8124, 9249).

A delayed message lies in the queue of its level until a task of that level makes it a message of its topic again. What an
exception or an error does there depends on where the task catches it, and from which offset it goes on. The levels are the three
shortest of the default messageDelayLevel (1, 5 and 10 s), and what fails is a delivery of the second.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import DELAY_LEVEL_HIT, DeliveryThrows, Fault, NoFault
from harness.model.incident import Sign
from harness.model.loads import DelayedMessages
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, side

ERROR, RESTART, AFTER_DROP = "incident-error", "fix-restart", "fix-restart-after-exception"
STOP = ("4.6.0", "4.9.7")
"""Releases by whose code an error ends what delivers; only there is something to restart."""
DROP = ("4.6.0", *RELEASES_5X)
"""Releases that lose the message whose delivery throws an exception."""
HIT, OTHERS, ALL_LEVELS, NORMAL = DELAY_LEVEL_HIT, (1, 3), (1, 2, 3), 0

OLD, NEW = (f"org.apache.rocketmq.{module}.schedule.ScheduleMessageService" for module in ("store", "broker"))
TASK = "DeliverDelayedMessageTimerTask"

EVERY = side(1, 0, "all of the level's messages that come due after the failure, or none")
NONE = side(0, 1, "none of the level's messages that come due after the failure, or all")


def _missing(arm: str, level: int | tuple[int, ...], at: Side, by: str = "hold") -> Part:
    return fact(of("undelivered_share", arm, level=level, by=by), at)


def _dropped(arm: str, at: Side) -> Part:
    return fact(of("dropped_count", arm), at)


LOST = side(1, 0, "the one whose delivery threw, or none")
KEPT = side(0, 1, "none, or one that nothing was done to")
PRICE = side(2, 0, "it takes 4 s and more until the broker is back, or no time at all", bound=1)

DROPPED = confirmed(
    "the handler of a message's exception logs it, and the loop goes on with the next", f"{OLD}.{TASK}.executeOnTimeup", ("4.6.0",)
) | refuted(
    "the handler goes on 100 ms later from the offset of the message itself", f"{OLD}.{TASK}.executeOnTimeup", ("4.9.7",)
) | confirmed(
    "before a message is delivered the offset is set to the one after it, from which the handler goes on",
    f"{NEW}.{TASK}.executeOnTimeUp", RELEASES_5X,
)  # fmt: skip
LEVEL_STOPS = confirmed(
    "the error ends the thread of the Timer, which catches exceptions alone", f"{OLD}.{TASK}.run", ("4.6.0",)
) | confirmed(
    "the error ends the level's task, which catches exceptions alone, before it is scheduled again", f"{OLD}.{TASK}.run", ("4.9.7",)
) | refuted(
    "any Throwable is caught, and the level goes on 10 s later from where its run had begun", f"{NEW}.{TASK}.run", RELEASES_5X
)  # fmt: skip
ALL_STOP = confirmed(
    "all levels are tasks of one Timer, whose only thread the error ends", f"{OLD}.start, {OLD}.{TASK}.run", ("4.6.0",)
) | refuted(
    "each level's task is one of a ScheduledThreadPoolExecutor, which keeps the error to it", f"{OLD}.start", ("4.9.7",)
) | refuted(
    "each level's task is one of an executor, and catches the error itself", f"{NEW}.{TASK}.run", RELEASES_5X
)  # fmt: skip
GOES_ON = confirmed(
    "each level goes on from the offset that was written last, which lies before what has waited", f"{OLD}.start", ("4.6.0",)
) | confirmed(
    "each level goes on from its offset, which no delivery has moved since the error", f"{OLD}.start, {OLD}.load", ("4.9.7",)
)  # fmt: skip
NOT_AGAIN = refuted(
    "offsets are written every 10 s by the Timer that the error has ended, and not at shutdown", f"{OLD}.start, {OLD}.shutdown",
    ("4.6.0",),
) | confirmed(
    "each delivery moves its level's offset, and a shutdown writes them", f"{OLD}.{TASK}.syncDeliver, {OLD}.shutdown", ("4.9.7",)
)  # fmt: skip
NOT_BACK = refuted(
    "the level's offset has gone past the message, and was written since: every 10 s (flushDelayOffsetInterval)",
    f"{OLD}.{TASK}.executeOnTimeup, {OLD}.start", ("4.6.0",),
) | refuted(
    "the next delivery has set the level's offset past the message, and a stop writes it",
    f"{NEW}.{TASK}.executeOnTimeUp, {NEW}.{TASK}.syncDeliver, {NEW}.stop", RELEASES_5X,
)  # fmt: skip

X_01 = claim(
    "X-delayed-message-fails-once-01", "", "ScheduleMessageService, messageTimeup execute error, drop it: a delayed message whose "
    "delivery throws an exception is lost.",
    reading="The delivery of one message throws an exception. That message is not consumed, and later ones of its level are.",
    expected=DROPPED,
    parts={
        "dropped": _dropped("incident", LOST),
        "no other": control(_dropped("incident", side(1, 2, "the one, or others of its run as well"))),
        "levels go on": control(_missing("incident", ALL_LEVELS, NONE)),
        "without a failure": control(_dropped("baseline", KEPT)),
    },
    summary="One delivery threw an exception, and the message was lost {dropped}.",
    told=Told(
        weight=Weight.LOSS, harm=Harm.HOLDS,
        holds="a delayed message whose delivery throws an exception once is lost",
        fails="a delayed message whose delivery throws an exception is tried again",
        do="compare what was sent with what came after 'execute error' lines of ScheduleMessageService",
    ),
)  # fmt: skip

X_02 = claim(
    "X-delayed-message-fails-once-02", "", "After a memory overflow error in executeOnTimeUp the task cannot be registered "
    "again, and delayed messages are no longer distributed.",
    reading="One delivery throws an OutOfMemoryError. Of its level's messages that come due in the next 14 s none has come 16 s "
    "after it.",
    expected=LEVEL_STOPS,
    parts={
        "its level": _missing(ERROR, HIT, EVERY),
        "no delay": control(_missing(ERROR, NORMAL, NONE)),
        "without a failure": control(_missing("baseline", ALL_LEVELS, NONE)),
    },
    summary="One delivery threw an error, and its level stood still from then on {its level}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="one error in the delivery of a delayed message stops its level until a restart",
        fails="an error in the delivery of a delayed message stops no level",
    ),
)  # fmt: skip

X_03 = claim(
    "X-delayed-message-fails-once-03", "", "As long as one of the Timer's tasks does not catch what is thrown, the other tasks "
    "stop as well.",
    reading="After the same error none of the messages of the other levels comes either.",
    expected=ALL_STOP,
    parts={"other levels": _missing(ERROR, OTHERS, EVERY), "no delay": control(_missing(ERROR, NORMAL, NONE))},
    summary="After the error the other levels stood still as well {other levels}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="one error in a delay level's timer stops all levels",
        fails="an error in a delay level's timer stops no other level",
    ),
)  # fmt: skip

X_04 = claim(
    "X-delayed-message-fails-once-04", "", "A restart of the broker delivers what has waited.",
    reading="After the error the broker is stopped and started again. Then every message comes that was due since the error.",
    expected=GOES_ON,
    parts={
        "delivered": _missing(RESTART, ALL_LEVELS, NONE, by="end"),
        "nothing dropped": _dropped(RESTART, KEPT),
        "price": fact(of("unaccepted_in_cure_count", RESTART), PRICE),
        "it had stopped": control(_missing(RESTART, HIT, EVERY)),
    },
    summary="After a restart everything that had waited came {delivered}; sends failed during the restart {price}.",
)  # fmt: skip

X_05 = claim(
    "X-delayed-message-fails-once-05", "", "That restart brings nothing twice: what had come before the error does not come again.",
    reading="No message lies in its topic twice of those that were sent before the error.",
    expected=NOT_AGAIN,
    parts={
        "none again": fact(of("delivered_again_count", RESTART), side(0, 1, "none, or what came since the offsets were last "
                           "written")),
        "without a failure": control(fact(of("delivered_again_count", "baseline"), KEPT)),
    },
    summary="After a restart, messages that had come before came again {!none again}.",
    told=Told(
        weight=Weight.OTHER, harm=Harm.FAILS,
        holds="a restart that ends a stopped delay level brings nothing twice",
        fails="a restart that ends a stopped delay level brings messages twice",
    ),
)  # fmt: skip

X_06 = claim(
    "X-delayed-message-fails-once-06", "", "A restart of the broker brings back the message whose delivery threw an exception.",
    cure_of=X_01.id,
    reading="After the exception the broker is stopped and started again. Then the message comes that was lost.",
    expected=NOT_BACK,
    parts={
        "back": _dropped(AFTER_DROP, KEPT),
        "restarted": control(fact(of("unaccepted_in_cure_count", AFTER_DROP), PRICE)),
        "without a restart": control(_dropped("incident", LOST)),
    },
    summary="After a restart the message whose delivery had thrown an exception had come {back}.",
)  # fmt: skip

X_07 = claim(
    "X-delayed-message-fails-once-07", "", "Where no delivery fails each delayed message comes, and once.",
    reading="No message of any level is missing, left out or in its topic twice.",
    expected=confirmed("each level goes on from the message after the one that it has delivered", f"{OLD}.{TASK}.executeOnTimeup",
                       RELEASES_4X)
    | confirmed("each level goes on from the message after the one that it has delivered", f"{NEW}.{TASK}.executeOnTimeUp",
                RELEASES_5X),
    parts={
        "none missing": _missing("baseline", ALL_LEVELS, NONE),
        "none dropped": _dropped("baseline", KEPT),
        "none twice": fact(of("delivered_again_count", "baseline"), KEPT),
    },
    summary="While no delivery failed, messages were missing {!none missing}, were left out {!none dropped} and came "
    "twice {!none twice}.",
)  # fmt: skip


def _arm(name: str, what: str, fault: Fault, trials: int, releases: tuple[str, ...] = ()) -> Arm:
    return Arm(name=name, what=what, fault=fault, load=DelayedMessages(), trials=trials, releases=releases)


SCENARIO = Scenario(
    name="delayed-message-fails-once",
    title="One delivery of a delayed message fails",
    summary="Messages of no delay and of three delay levels, four a second of each. One delivery of level 2 throws an exception, "
    "or an OutOfMemoryError.",
    symptom="A delayed message never comes after an exception in its delivery (messageTimeup execute error); or no "
    "message of a delay level, or of any, comes after an OutOfMemoryError.",
    threads=("issues/3229", "issues/3242", "issues/3682", "issues/6984", "issues/8124", "issues/9249"),
    faces={
        "an exception loses the message": "X-delayed-message-fails-once-01",
        "an error ends its level": "X-delayed-message-fails-once-02",
        "an error ends all levels": "X-delayed-message-fails-once-03",
    },
    advice="Compare what was sent with what came: no restart brings a lost message back. If a level has stopped, "
    "restart the broker; 4.6.0 then delivers some of what had come before again.",
    cures=("X-delayed-message-fails-once-04", "X-delayed-message-fails-once-05", "X-delayed-message-fails-once-06"),
    sign=Sign(
        pattern=LogPattern.DELIVERY_THREW,
        events=(Logged.DELIVERY_THREW,),
        because="the delivery of a delayed message threw an exception; 4.6.0, 5.3.3 and 5.5.0 go on with the message after it. An "
        "error leaves no line on 4.6.0 and 4.9.7, and ends the level or all of them",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "No delivery fails.", NoFault(), 2),
        _arm("incident", "One delivery of level 2 throws an exception.", DeliveryThrows(), 5),
        _arm(ERROR, "One delivery of level 2 throws an OutOfMemoryError.", DeliveryThrows(throws="error"), 5),
        _arm(RESTART, "The same; then the broker is stopped and started.", DeliveryThrows(throws="error", cure="restart"), 3, STOP),
        _arm(AFTER_DROP, "An exception; then the broker is stopped and started.", DeliveryThrows(cure="restart"), 3, DROP),
    ),
    phases=Phases(steady_s=13.0, hold_s_min=16.0, hold_s_max=16.0, recover_s=1.0),
    claims=(X_01, X_02, X_03, X_04, X_05, X_06, X_07),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    cluster_per_trial=True,
    shares_machine=True,
    experiment_version=2,
    extra_measures=("delivery_late_s",),
    hiccup_ms_max=2000.0,
)  # fmt: skip
"""The least that is told apart is 4 s: what 5.x brings 10 s late comes in the first 12 s of the hold, and the hold lasts 16 s."""
