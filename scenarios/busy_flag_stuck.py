"""Users: one append fails, and a quiet broker answers "busy" for hours (apache/rocketmq 285, 303, 3459).

The broker takes sends while the begin of its put lock is younger than osPageCacheBusyTimeOutMills (1 s), or older than 10,000,000
ms. A failed append may leave that begin behind. One send in two seconds then finds it too old; of a hundred a second the next one
finds it young, and clears it.
"""

from __future__ import annotations

from harness.model.cluster import Topology
from harness.model.faults import AppendThrows, NoFault
from harness.model.incident import Sign
from harness.model.loads import OpenLoopSends
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS
from harness.model.rules import Harm, Part, Selection, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import claim, code, confirmed, control, fact, of, refuted, side

QUIET, BUSY = {"rate_hz": 0.5}, {"rate_hz": 100}
LOAD = OpenLoopSends(readings=("busy_ends_ms",))
DEFAULTS = {PAGE_CACHE_BUSY: f"{PAGE_CACHE_BUSY_MS:g}"}
LONG_LIMIT_MS = 5000
"""Longer than the two seconds between sends."""
FOREVER_MS = 10_000_000

BUSY_BROKER, RESTART, RAISE, LONG = "incident-busy-broker", "fix-restart", "fix-raise-limit", "better-long-limit"

KEEP_IT = ("4.6.0", "5.3.3")
"""Releases by what their code does with ``beginTimeInLock`` where an append throws. Only the former have something to cure."""

LOG, IS_BUSY = (f"org.apache.rocketmq.store.{name}" for name in ("CommitLog", "DefaultMessageStore.isOSPageCacheBusy"))
UPDATE_CONFIG = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor.updateBrokerConfig"

NONE = side(0, 1, "the begin of the lock is cleared and no send is refused, or it stays and each is")
ALL = side(1, 0, "the begin of the lock stays and each send is refused, or it is cleared and none is")


def _refused(arm: str, after: str = "fault") -> Selection:
    return of("refused_after_share", arm, after=after)


def _cured(arm: str) -> Part:
    return fact(_refused(arm, "cure"), NONE)


def _stuck(arm: str) -> Part:
    return control(fact(_refused(arm), ALL))


STAYS = confirmed(
    "putMessage clears the begin of the lock where it returns; an exception leaves by a handler that only unlocks",
    f"{LOG}.putMessage, {IS_BUSY}", ("4.6.0",),
) | confirmed(
    "asyncPutMessage is as putMessage of 4.6.0 was, without what 4.9.7 has: an exception leaves by handlers that only unlock",
    f"{LOG}.asyncPutMessage, {IS_BUSY}", ("5.3.3",),
) | refuted(
    "the handler of an exception clears the begin of the lock before it unlocks, as PR 3460 has it", f"{LOG}.asyncPutMessage",
    ("4.9.7",),
) | refuted(
    "the handler of an exception clears the begin of the lock again, which that of 5.3.3 did not", f"{LOG}.asyncPutMessage",
    ("5.5.0",),
)  # fmt: skip

X_01 = claim(
    "X-busy-flag-stuck-01", "", "After one error while a message is stored the server rejects the following requests: "
    "[REJECTREQUEST]system busy, start flow control for a while.",
    reading="After one append has thrown, each send is refused as busy for as long as one is watched that comes every 2 s, and by "
    "the code until 10,000,000 ms are over.",
    expected=STAYS,
    parts={
        "refused": fact(_refused("incident"), ALL),
        "ends": code(of("busy_ends_ms", "incident", moment="after"),
                     side(FOREVER_MS, 60_000, "the age from which on the lock counts as busy no more; or a minute")),
        "without a fault": control(fact(_refused("baseline"), NONE)),
    },
    summary="Each of the next sends, one in 2 s, was refused {refused}; by the release's code, that ends after {ends}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="one failed append leaves a quiet broker refusing every send ([REJECTREQUEST]system busy)",
        fails="a failed append leaves no broker refusing sends",
    ),
)  # fmt: skip

X_02 = claim(
    "X-busy-flag-stuck-02", "", "After any exception in the commit log messages are refused always, not until the next one.",
    reading="The same holds for a broker that gets 100 sends a second.",
    expected=refuted("the next append comes within 10 ms, sets the begin of the lock anew, and clears it",
                     f"{LOG}.putMessage, {IS_BUSY}", ("4.6.0",))
    | refuted("the next append sets the begin of the lock anew and clears it, where the exception had not",
              f"{LOG}.asyncPutMessage, {IS_BUSY}", ("5.3.3",))
    | refuted("the exception's handler clears the begin of the lock, and so does the next append", f"{LOG}.asyncPutMessage",
              ("4.9.7",))
    | refuted("the exception's handler clears the begin of the lock as of 5.5.0", f"{LOG}.asyncPutMessage", ("5.5.0",)),
    parts={"refused": fact(_refused(BUSY_BROKER), ALL)},
    summary="Each of the next sends, 100 a second, was refused {refused}.",
)  # fmt: skip

OF_CURES = {
    "restarted": _cured(RESTART),
    "raised": _cured(RAISE),
    "price of a restart": fact(of("unaccepted_in_cure_count", RESTART),
                               side(2, 0, "it takes 4 s and more until the broker is back, or no time at all", bound=1)),
    "price of raising": fact(of("unaccepted_in_cure_count", RAISE), side(0, 1, "the next send is stored, or is refused still")),
    "stuck, then restarted": _stuck(RESTART),
    "stuck, then raised": _stuck(RAISE),
}  # fmt: skip

X_03 = claim(
    "X-busy-flag-stuck-03", "", "A restart of the broker ends it, and so does a larger osPageCacheBusyTimeOutMills that is set "
    "back once a message is stored.",
    cure_of=X_01.id,
    reading="After either no send is refused as busy. The restart has its price: one send or more meanwhile, of one in 2 s, is not "
    "accepted; while the setting is raised each is.",
    expected=confirmed("the begin of the lock is 0 in a new process; under a limit above its age the next append clears it",
                       f"{LOG}, {IS_BUSY}, {UPDATE_CONFIG}", ("4.6.0",))
    | confirmed("a new process begins with 0; the setting is read at each request, and the next append clears what was left",
                f"{LOG}, {IS_BUSY}, {UPDATE_CONFIG}", ("5.3.3",)),
    parts=OF_CURES,
    summary="Sends were still refused after a restart {!restarted}, and after the limit was raised and set back {!raised}. Sends "
    "failed during the restart {price of a restart}, and while the limit was raised {!price of raising}.",
    told=Told(
        weight=Weight.OUTAGE,
        do="raise osPageCacheBusyTimeOutMills until a send is stored, then set it back; or restart the broker",
    ),
)  # fmt: skip

X_04 = claim(
    "X-busy-flag-stuck-04", "", "It does not come to that where osPageCacheBusyTimeOutMills is longer than the time between sends.",
    cure_of=X_01.id,
    reading=f"With a limit of {LONG_LIMIT_MS} ms and a send every 2 s no send after the one that failed is refused.",
    expected=confirmed("the next append comes while the lock is younger than the limit, and clears its begin",
                       f"{LOG}.putMessage, {IS_BUSY}", ("4.6.0",))
    | confirmed("the next append comes while the lock is younger than the limit, and clears what the exception left",
                f"{LOG}.asyncPutMessage, {IS_BUSY}", ("5.3.3",)),
    parts={"none refused": fact(_refused(LONG), NONE), "at the default": _stuck("incident")},
    summary=f"With a limit of {LONG_LIMIT_MS} ms sends were refused {{!none refused}}.",
    told=Told(
        weight=Weight.OUTAGE,
        do="keep osPageCacheBusyTimeOutMills above the time between sends",
    ),
)  # fmt: skip

X_05 = claim(
    "X-busy-flag-stuck-05", "", "A broker on which no append fails stores every send of a quiet topic.",
    reading="Without a failed append no send, one in 2 s, is refused as busy.",
    expected=confirmed("each append sets the begin of the lock, and clears it before it returns", f"{LOG}.putMessage, {IS_BUSY}",
                       ("4.6.0",))
    | confirmed("each append sets the begin of the lock, and clears it before it returns", f"{LOG}.asyncPutMessage, {IS_BUSY}",
                ("4.9.7", "5.3.3", "5.5.0")),
    parts={"none refused": fact(_refused("baseline"), side(0, 1, "none is refused, or each one in 2 s is"))},
    summary="While no append failed, one of the sends every 2 s was refused {!none refused}.",
)  # fmt: skip


def _arm(
    name: str, what: str, fault: AppendThrows | NoFault, trials: int, releases: tuple[str, ...] = (), **more: object
) -> Arm:
    values = {"cells": (QUIET,), "live_conf": DEFAULTS, **more}
    return Arm(name=name, what=what, fault=fault, load=LOAD, trials=trials, releases=releases, **values)  # type: ignore[arg-type]


SCENARIO = Scenario(
    name="busy-flag-stuck",
    title="One failed append, and the broker stays busy",
    summary="Sends to a broker one of whose appends throws an exception inside the put lock: one in two seconds, or a hundred a "
    "second, with what users are advised to do then.",
    symptom="After one failed append a quiet broker answers every send with [REJECTREQUEST]system busy.",
    threads=("issues/285", "issues/303", "issues/3459", "pull/3460"),
    faces={
        "a quiet broker, with a send in two seconds": "X-busy-flag-stuck-01",
        "a broker with a hundred sends a second": "X-busy-flag-stuck-02",
    },
    advice="If sends are refused, raise osPageCacheBusyTimeOutMills until one is stored and set it back, or restart "
    "the broker; see the exception. An osPageCacheBusyTimeOutMills longer than the time between sends avoids it.",
    cures=("X-busy-flag-stuck-03", "X-busy-flag-stuck-04"),
    audited_as_itself="lock-counts-as-held",
    sign=Sign(
        pattern=LogPattern.APPEND_THREW,
        events=(Logged.APPEND_THREW,),
        because="an append threw an exception inside the put lock; 4.6.0 and 5.3.3 then refuse each send that comes more "
        "than a second after the one before ([REJECTREQUEST]), for 10,000 s",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "One send in 2 s, and no append fails.", NoFault(), 2),
        _arm("incident", "One append throws, then one send in 2 s; settings are the defaults.", AppendThrows(), 5, is_apart=True),
        _arm(
            BUSY_BROKER, "One append throws among 100 sends a second.", AppendThrows(), 3, cells=(BUSY,),
            phases=Phases(steady_s=1.0, hold_s_min=4.0, hold_s_max=4.0, recover_s=0.5),
        ),
        _arm(RESTART, "As the incident; then the broker is stopped and started.", AppendThrows(cure="restart"), 3, KEEP_IT),
        _arm(
            RAISE, "As the incident; then osPageCacheBusyTimeOutMills is raised until a message is stored, and set back.",
            AppendThrows(cure="raise-limit"), 3, KEEP_IT,
        ),
        _arm(
            LONG, "Ours: osPageCacheBusyTimeOutMills is 5000 all the time. Its price: a stall is refused later.", AppendThrows(), 3,
            KEEP_IT, live_conf={PAGE_CACHE_BUSY: str(LONG_LIMIT_MS)},
        ),
    ),
    phases=Phases(steady_s=2.0, hold_s_min=8.5, hold_s_max=8.5, recover_s=4.5),
    claims=(X_01, X_02, X_03, X_04, X_05),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=500.0,
)  # fmt: skip
"""What is left behind is 2 s old when the next send comes, twice the limit: a hiccup of half a second changes nothing."""
