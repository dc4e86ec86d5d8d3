"""One append to the commit log takes too long: which requests are refused, when, how, and does a longer wait help?

A broker appends under one lock. While one append is stuck, requests pile up in the send thread pool's queue, and a task
that looks at the queue from time to time refuses those that have waited too long. A Byteman rule in the append stamps and stalls
it exactly, and nothing else is slow; by a freeze, which has findings of its own, all that writes to the store's disk waits.
"""

# ruff: noqa: I001 - the rules' words stay on two lines

from __future__ import annotations


from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendStall, AppendWatch
from harness.model.incident import Sign
from harness.model.log_events import Logged, LogPattern
from harness.model.loads import OpenLoopSends
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS, SEND_WAIT, SEND_WAIT_MS
from harness.model.rules import Part
from harness.model.scenario import Arm, Phases, Scenario, Shown, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import claim, confirmed, control, each, happens, mean, measured_share, median, never, of
from scenarios.rules import ratio, refuted, scopes, share, side, slope

RATE_HZ = 500
STALLS_MS = (100, 150, 250, 450, 700, 1200)

LOAD = OpenLoopSends()
STALLED: tuple[Parameters, ...] = tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in STALLS_MS)
LONGER: tuple[Parameters, ...] = tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in (450, 700, 1200))
OTHER_RATES: tuple[Parameters, ...] = tuple({"stall_ms": 450, "rate_hz": rate_hz} for rate_hz in (200, 1000))

DEFAULTS = {SEND_WAIT: f"{SEND_WAIT_MS:g}", PAGE_CACHE_BUSY: f"{PAGE_CACHE_BUSY_MS:g}"}

LOG = "org.apache.rocketmq.store.CommitLog"
LOGGED = "an append that held the lock for more than 500 ms is logged with [NOTIFYME] by the store's logger"
TIMEOUT, ANY, PAGE_CACHE = "TIMEOUT_CLEAN_QUEUE", "any", "page-cache"
WAITED = (250, 450, 700)
"""Stalls longer than the limit of 200 ms and shorter than the second at which the page cache counts as busy."""

BUSY_20_PARTS = {
    "code 2": each(of("refusal_code", "incident", keyword=TIMEOUT, stall_ms=WAITED), side(0, 1, "SYSTEM_BUSY is 2", bound=0),
                   predicted=2, noun="stalls"),
    "not younger": each(of("period_over_limit_ms", "incident", keyword=TIMEOUT, stall_ms=WAITED),
                        side(0, -100, "the limit, or half of it", bound=0), noun="stalls"),
    "not left behind": each(of("period_over_limit_ms", "incident", keyword=TIMEOUT, stall_ms=WAITED),
                            side(0, 500, "a sweep every 10 ms, or the end of a stall of 700 ms"), noun="stalls"),
    "size": mean(of("size_over_arrivals", "incident", stall_ms=WAITED),
                 side(-0.5, 0.5, "what came in the interval before, half of it; one more if read before the removal")),
}  # fmt: skip

BUSY_09_PARTS = {
    "refused above 200 ms": happens(
        of("rejected_count", "incident", keyword=TIMEOUT, stall_ms=WAITED, rate_hz=RATE_HZ), 125, "250 ms of arrivals",
        without=of("rejected_count", "incident", keyword=ANY, stall_ms=100, rate_hz=RATE_HZ), slack_ms=100, noun="stalls"),
    "waited": each(of("period_in_queue_ms", "incident", keyword=TIMEOUT, stall_ms=WAITED),
                   side(200, 0, "the limit, or any age", bound=200), noun="stalls"),
    "all below 1 s": control(each(of("append_in_lock_ms", "incident", stall_ms=WAITED), side(700, 1000, "as long as asked"))),
    "calm without a stall": control(never(of("rejected_count", "baseline", keyword=ANY), 25, "the load alone", slack_ms=200)),
}  # fmt: skip

BUSY_14_PARTS = {
    "refused at 1200 ms": happens(
        of("rejected_count", "incident", keyword=PAGE_CACHE, stall_ms=1200, rate_hz=RATE_HZ), 100, "200 ms of arrivals",
        without=of("rejected_count", "baseline", keyword=PAGE_CACHE), slack_ms=PAGE_CACHE_BUSY_MS, noun="stalls"),
    "up to 700 ms": never(of("rejected_count", "incident", keyword=PAGE_CACHE, stall_ms=(100, 150, *WAITED)), 100,
                          "as at 1200 ms", slack_ms=300, noun="stalls"),
    "not before": median(of("first_rejected_after_ms", "incident", keyword=PAGE_CACHE, stall_ms=1200),
                         side(1000, 500, "the setting, or half of it")),
    "soon after": median(of("first_rejected_after_ms", "incident", keyword=PAGE_CACHE, stall_ms=1200),
                         side(1010, 1200, "the next sweep, or the end of the stall")),
}  # fmt: skip


def _fewer_with_400(stall_ms: int) -> Part:
    """A stall of 250 ms leaves nothing to divide by: there a stall has a refusal or has none."""
    fixed = of("rejected_count", "fix-send-queue-wait-400", keyword=ANY, stall_ms=stall_ms, rate_hz=RATE_HZ)
    if stall_ms < 400:
        return share(fixed, (1, None), side(0, 1, "none waits so long"), slack_ms=150, noun="stalls")
    before = of("rejected_count", "incident", keyword=ANY, stall_ms=stall_ms, rate_hz=RATE_HZ)
    fewer = (stall_ms - 400) / (stall_ms - SEND_WAIT_MS)
    return ratio(
        fixed, before, side(fewer, 1, "what comes in the stall less 400 ms instead of less 200 ms, or as many")
    )


BUSY_07 = claim(
    "BUSY-07", "A1", "A patrol over the store log finds appends that took more than 500 ms.",
    reading="With the release's own logging each append stalled for 700 or 1200 ms has a line in store.log whose milliseconds "
    "agree with the stamps taken inside the append.",
    expected=confirmed(LOGGED, f"{LOG}.putMessage", ("4.6.0",))
    | confirmed(LOGGED, f"{LOG}.asyncPutMessage", ("4.9.7", *RELEASES_5X)),
    parts={"stalls in store.log": each(
        of("store_log_line", "incident-stock-logging", file="store.log", stall_ms=(700, 1200)),
        side(1, 0, "the line is there or not", bound=1), noun="stalls")},
    summary="The stock store.log lacked the line of a stall of 700 or 1200 ms {stalls in store.log}.",
)  # fmt: skip

BUSY_08 = claim(
    "BUSY-08", "A1", "The great majority of appends take less than 1 ms.",
    reading="Of the appends of a broker under 500 sends a second, stamped at the entry and the exit of each, most take less.",
    expected=confirmed("an append copies a message into mapped memory, or into a buffer of the pool",
                       "org.apache.rocketmq.store.CommitLog.DefaultAppendMessageCallback.doAppend"),
    parts={"appends below 1 ms": measured_share(
        of("append_short_share", "baseline"), side(0.99, 0.5, "nearly all, or no majority worth the name"), noun="trials")},
    summary="Of the appends, {appends below 1 ms} took less than 1 ms.",
)  # fmt: skip

BUSY_20 = claim(
    "BUSY-20", "A1", "The cleaner takes requests from the head of the send queue whose age is at or above the limit and stops "
    'at the first younger one; the reply is SYSTEM_BUSY with "period in queue: Nms, size of queue: N", the size read after the '
    "removal.",
    reading="Stalls of 250 to 700 ms: every refusal for age has code 2, is not younger than the limit and not as old as one "
    "that a sweep left behind; the size that replies name is, on average, that of what came after the request, without itself.",
    expected=confirmed("peek, compare the age, remove, answer with the queue's size, until the first one that is younger",
                       "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequestInQueue"),
    parts=BUSY_20_PARTS,
    summary="A request was refused with another code than 2 {code 2}, while younger than the limit {not younger}, and after a "
    "sweep had left it behind {not left behind}. The size in a reply differed from the number of requests behind by {size}.",
)  # fmt: skip

BUSY_09 = claim(
    "BUSY-09", "A1", "[TIMEOUT_CLEAN_QUEUE] needs no append of a second: one of more than 200 ms, with all below 1 s, leaves "
    "requests waiting longer than waitTimeMillsInSendQueue (200 ms), and those are failed fast.",
    reading="Stalls of 250 to 700 ms have requests refused for their age, stalls of 100 ms have none refused, and no request is "
    "refused that has not waited for 200 ms.",
    expected=confirmed("the queue's head is refused once it is waitTimeMillsInSendQueue old, whatever the page cache does",
                       "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequestInQueue"),
    parts=BUSY_09_PARTS,
    summary="Stalls of 250 to 700 ms had sends refused {refused above 200 ms}, and one before its 200 ms were up {waited}.",
)  # fmt: skip

BUSY_10 = claim(
    "BUSY-10", "A1", "The check of the waiting time is not immediate: it runs every 10 s.",
    reading="Hardly any stall of 250 to 700 ms has a request refused: a check every 10 s meets few of them.",
    expected=refuted("the task is scheduled every 10 milliseconds",
                     "org.apache.rocketmq.broker.latency.BrokerFastFailure.start: scheduleAtFixedRate(..., 1000, 10, ...)"),
    parts={"stalls with a refusal": share(
        of("rejected_count", "incident", keyword=TIMEOUT, stall_ms=WAITED, rate_hz=RATE_HZ), (1, None),
        side(0.03, 1, "requests are too old for 50 to 500 ms of 10 s, or every 10 ms"), slack_ms=SEND_WAIT_MS, noun="stalls")},
    summary="Requests were refused in {stalls with a refusal}.",
)  # fmt: skip

BUSY_11 = claim(
    "BUSY-11", "A1", "One stall may give many such errors at one moment; how many depends on the requests queued.",
    reading="A stall of 450 ms gives many refusals within one second, and their number grows with the send rate, which is what "
    "fills the queue during a stall of fixed length.",
    expected=confirmed("everything in the queue that is older than the limit is refused, so the count follows the arrivals",
                       "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequestInQueue"),
    parts={
        "within one second": mean(of("rejected_within_1s_max", "incident", stall_ms=450, rate_hz=RATE_HZ),
                                  side(125, 1, "450 ms less 200 ms of arrivals, or one at a time")),
        "growth": slope(of("rejected_count", "incident", keyword=TIMEOUT, stall_ms=450), "rate_hz",
                        side(0.25, 0, "450 ms less 200 ms, or as many at any rate"))},
    summary="A stall of 450 ms had {within one second} refusals within a second, and {growth} more for each further send a "
    "second.",
)  # fmt: skip

BUSY_12 = claim(
    "BUSY-12", "A1", "Raising waitTimeMillsInSendQueue to 400 ms is advised, which implies fewer such errors.",
    reading="For stalls of each length from 250 to 1200 ms, 400 ms give as few refusals as the longer wait would explain.",
    expected=refuted("requests refused since they waited become fewer, but once the lock is 1 s old all that wait are refused",
                     "org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequest"),
    parts=scopes("a stall of", (250, 450, 700, 1200), _fewer_with_400, " ms"),
    summary="400 ms in place of 200 ms brought the refusals to {a stall of 450 ms} of what they were at 450 ms, to "
    "{a stall of 700 ms} at 700 ms and to {a stall of 1200 ms} at 1200 ms; at 250 ms, {a stall of 250 ms} had one.",
)  # fmt: skip

BUSY_14 = claim(
    "BUSY-14", "A1, A2", "The page cache counts as busy once the lock has been held longer than osPageCacheBusyTimeOutMills "
    "(1000 ms).",
    reading="Refusals for a busy page cache (REJECTREQUEST, PCBUSY_CLEAN_QUEUE, PC_SYNCHRONIZED) come with a stall of 1200 ms, "
    "not before 1000 ms and soon after; with stalls up to 700 ms there are none.",
    expected=confirmed("busy means: now minus the begin of the lock is above osPageCacheBusyTimeOutMills and below 10,000,000 ms",
                       "org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy"),
    parts=BUSY_14_PARTS,
    summary="A stall of 1200 ms had requests refused for the page cache {refused at 1200 ms}, the first of them {not before} "
    "after the append began; stalls of up to 700 ms had some {up to 700 ms}.",
)  # fmt: skip

FEWER: dict[str, tuple[Parameters, ...]] = {
    "incident": (
        *({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in (100, 450, 700, 1200)),
        {"stall_ms": 450, "rate_hz": 200},
    ),
    "fix-send-queue-wait-400": ({"stall_ms": 450, "rate_hz": RATE_HZ},),
    "incident-busy-timeout-500": (),
    "incident-wait-100": (),
    "incident-stock-logging": (),
}
"""What a quick run keeps, and what is done with a further injection."""

SCENARIO = Scenario(
    name="append-stall",
    title="One slow append and the requests behind it",
    shown=Shown(
        says="One slow disk write makes the broker refuse sends",
        measure="rejected_count",
        caption=f"Refused of one stall at {RATE_HZ} sends a second, by how long the append stalls",
        rows={"defaults": "incident", "waitTimeMillsInSendQueue=400": "fix-send-queue-wait-400"},
        across="stall_ms",
        where={"keyword": ANY, "rate_hz": RATE_HZ},
    ),
    article="A1, A2",
    summary="Open-loop sends, one append stalled for a known time, client retries off: which requests the broker refuses, "
    "with which keyword, and when.",
    symptom="Producers get [TIMEOUT_CLEAN_QUEUE]broker busy now and then, while no append takes as long as a second.",
    advice="See in the store log what the appends took; more waitTimeMillsInSendQueue has fewer sends refused while "
    "stalls are shorter than osPageCacheBusyTimeOutMills.",
    cures=("BUSY-12",),
    sign=Sign(
        pattern=LogPattern.SHORT_STALL,
        events=(Logged.SLOW_APPEND, Logged.REFUSED_FOR_AGE),
        because="sends that wait for longer than waitTimeMillsInSendQueue are refused ([TIMEOUT_CLEAN_QUEUE]); it takes no "
        "append of a second",
    ),
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="The same load, no stall; every append is stamped.",
            fault=AppendWatch(),
            load=LOAD,
            live_conf=DEFAULTS,
            cells=({"stall_ms": 0, "watch_ms": 700, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="incident",
            what="One append stalls; every setting at its default.",
            fault=AppendStall(),
            load=LOAD,
            live_conf=DEFAULTS,
            cells=(*STALLED, *OTHER_RATES),
        ),
        Arm(
            name="fix-send-queue-wait-400",
            what="The article's advice: waitTimeMillsInSendQueue=400.",
            fault=AppendStall(),
            load=LOAD,
            live_conf={**DEFAULTS, SEND_WAIT: "400"},
            cells=STALLED[2:],
        ),
        Arm(
            name="incident-busy-timeout-500",
            what="osPageCacheBusyTimeOutMills=500: the page cache counts as busy sooner. For the model.",
            fault=AppendStall(),
            load=LOAD,
            live_conf={**DEFAULTS, PAGE_CACHE_BUSY: "500"},
            cells=(*LONGER, {"stall_ms": 1200, "rate_hz": 200}),
        ),
        Arm(
            name="incident-wait-100",
            what="waitTimeMillsInSendQueue=100: requests are refused sooner. For the model.",
            fault=AppendStall(),
            load=LOAD,
            live_conf={**DEFAULTS, SEND_WAIT: "100"},
            cells=({"stall_ms": 250, "rate_hz": RATE_HZ}, {"stall_ms": 1200, "rate_hz": RATE_HZ}),
        ),
        Arm(
            name="incident-stock-logging",
            what="The incident with the logging that the release ships, to see what an operator finds in which file.",
            fault=AppendStall(),
            load=LOAD,
            broker=BrokerSettings(logging="stock"),
            cells=LONGER[1:],
            trials=18,
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_07, BUSY_08, BUSY_09, BUSY_10, BUSY_11, BUSY_12, BUSY_14, BUSY_20),
    budget=TrialBudget(trials=8, deployments=8, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells=FEWER,
    other_injection_cells={**FEWER, "fix-send-queue-wait-400": STALLED[2:], "incident-stock-logging": LONGER[-1:]},
    exclusive=True,
    hiccup_ms_max=40.0,
    extra_measures=("first_period_over_limit_ms",),
    has_modelled_stalls=True,
)
"""Eight deployments, since BUSY-12 has four parts by sides, any of which refutes it; a trial of each cell in each of them."""
