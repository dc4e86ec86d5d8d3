"""One append to the commit log takes too long: which requests are refused, when, how, and does a longer wait help?

A broker appends under one lock. While one append is stuck, requests pile up in the send thread pool's queue, and a task
that looks at the queue from time to time refuses those that have waited too long. The stall is made inside the append
by a Byteman rule that stamps its entry and exit, so that its length is exact and nothing but the append is slow.
"""

from __future__ import annotations

from harness.model.cells import Parameters
from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendStall, AppendWatch
from harness.model.loads import OpenLoopSends
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS, SEND_WAIT, SEND_WAIT_MS
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import expect

RATE_HZ = 500
STALLS_MS = (100, 150, 250, 450, 700, 1200)
BELOW_LIMIT_MS = (100, 150)
ABOVE_LIMIT_MS = (250, 450, 700)
"""Longer than waitTimeMillsInSendQueue (200 ms), shorter than osPageCacheBusyTimeOutMills (1000 ms)."""

LOAD = OpenLoopSends()
STALLED: tuple[Parameters, ...] = tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in STALLS_MS)
LONGER: tuple[Parameters, ...] = tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in (450, 700, 1200))
OTHER_RATES: tuple[Parameters, ...] = tuple({"stall_ms": 450, "rate_hz": rate_hz} for rate_hz in (200, 1000))

DEFAULTS = {SEND_WAIT: f"{SEND_WAIT_MS:g}", PAGE_CACHE_BUSY: f"{PAGE_CACHE_BUSY_MS:g}"}
FAST_FAILURE = "org.apache.rocketmq.broker.latency.BrokerFastFailure"


def _rejected(arm: str, keyword: str, stalls_ms: tuple[int, ...], statistic: Statistic = Statistic.MEAN) -> Quantity:
    return Quantity(
        measure="rejected_count",
        arm=arm,
        statistic=statistic,
        where={"keyword": (keyword,), "stall_ms": stalls_ms, "rate_hz": (RATE_HZ,)},
    )


BUSY_07 = Claim(
    id="BUSY-07",
    article="A1",
    says="A patrol over the store log finds appends that took more than 500 ms.",
    reading="With the release's own logging, each append stalled for 1200 ms has a line in store.log whose "
    "milliseconds agree with the stamps taken inside the append.",
    parts=(
        Part(
            name="stalls found in store.log",
            quantity=Quantity(
                measure="store_log_line",
                arm="incident-stock-logging",
                statistic=Statistic.MEAN,
                where={"file": ("store.log",), "stall_ms": (1200,)},
            ),
            relation=">=",
            bound=0.9,
            unit="of stalls",
            why="A patrol that misses one slow append in ten is not one to rely on.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "an append that held the lock for more than 500 ms is logged with [NOTIFYME] by the store's logger",
        "org.apache.rocketmq.store.CommitLog.putMessage / asyncPutMessage",
    ),
    summary="{stalls found in store.log} of the appends of 1200 ms were in the stock store.log.",
)

BUSY_08 = Claim(
    id="BUSY-08",
    article="A1",
    says="The great majority of appends take less than 1 ms.",
    reading="Of the appends of a broker under 500 sends a second, stamped at the entry and the exit of each, at least 95 % "
    "take less than 1 ms.",
    parts=(
        Part(
            name="appends below 1 ms",
            quantity=Quantity(measure="append_short_share", arm="baseline", statistic=Statistic.MEDIAN),
            relation=">=",
            bound=0.95,
            unit="share",
            why="Nineteen of twenty is a great majority by any reading.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "an append copies a message into mapped memory, or into a buffer of the pool",
        "org.apache.rocketmq.store.CommitLog.DefaultAppendMessageCallback.doAppend",
    ),
    summary="Of the appends {appends below 1 ms} took less than 1 ms.",
)

BUSY_20 = Claim(
    id="BUSY-20",
    article="A1",
    says="The cleaner takes requests from the head of the send queue whose age is at or above the limit and stops at the "
    'first younger one; the reply is SYSTEM_BUSY with "period in queue: Nms, size of queue: N", the size read after the '
    "removal.",
    reading="Of the requests that stalls of 250 to 700 ms get refused for their age, all are answered with code 2, none is "
    "younger than the limit and none more than 60 ms past it; and the size that a reply names is that of what came after "
    "the request, without the request itself.",
    parts=(
        Part(
            name="answered with SYSTEM_BUSY",
            quantity=Quantity(
                measure="refusal_code",
                arm="incident",
                statistic=Statistic.SHARE,
                where={"keyword": ("TIMEOUT_CLEAN_QUEUE",), "stall_ms": ABOVE_LIMIT_MS},
                within=(2.0, 2.0),
            ),
            relation=">=",
            bound=0.5,
            unit="of stalls",
            why="Every refusal of a stall must have the code; the share of such stalls is bounded from below by what nine of "
            "nine allow.",
            units_min=3,
        ),
        Part(
            name="taken at their limit",
            quantity=Quantity(
                measure="period_over_limit_ms",
                arm="incident",
                statistic=Statistic.SHARE,
                where={"keyword": ("TIMEOUT_CLEAN_QUEUE",), "stall_ms": ABOVE_LIMIT_MS},
                within=(0.0, 60.0),
            ),
            relation=">=",
            bound=0.5,
            unit="of stalls",
            why="A sweep every 10 ms, and the 40 ms that a trial's machine may hiccup; a sweep that did not stop would take "
            "younger ones, one that did not begin at the head would leave older ones.",
            units_min=3,
        ),
        Part(
            name="size beyond those behind",
            quantity=Quantity(
                measure="size_over_arrivals",
                arm="incident",
                statistic=Statistic.MEAN,
                where={"stall_ms": ABOVE_LIMIT_MS},
            ),
            relation="<=",
            bound=0.0,
            unit="requests",
            why="Read after the removal the size is what came during the request's wait, half a request less on average for "
            "the interval that is not over yet; read before it would be one more.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "peek, compare the age, remove, answer with the queue's size, until the first one that is younger",
        f"{FAST_FAILURE}.cleanExpiredRequestInQueue",
    ),
    summary="Of the stalls {answered with SYSTEM_BUSY} had all refusals with code 2 and {taken at their limit} had all at their "
    "limit; the size they named was {size beyond those behind} requests beyond those that came behind.",
)

BUSY_09 = Claim(
    id="BUSY-09",
    article="A1",
    says="[TIMEOUT_CLEAN_QUEUE] needs no append of a second: one of more than 200 ms, with all below 1 s, leaves requests "
    "waiting longer than waitTimeMillsInSendQueue (200 ms), and those are failed fast.",
    reading="Stalls of 250 to 700 ms give TIMEOUT_CLEAN_QUEUE refusals, stalls of 100 and 150 ms and no stall give none, "
    "and every refused request had waited 200 ms or more.",
    parts=(
        Part(
            name="refused above 200 ms",
            quantity=_rejected("incident", "TIMEOUT_CLEAN_QUEUE", ABOVE_LIMIT_MS),
            relation=">=",
            bound=5.0,
            unit="requests a stall",
            why="At 500 sends a second a stall of 250 ms leaves 25 requests older than 200 ms; a fifth of that is more "
            "than chance.",
            units_min=3,
        ),
        Part(
            name="longest append behind them",
            quantity=Quantity(
                measure="append_in_lock_ms",
                arm="incident",
                statistic=Statistic.MEDIAN,
                where={"stall_ms": (max(ABOVE_LIMIT_MS),)},
            ),
            relation="<=",
            bound=999.0,
            unit="ms",
            why="The article's point is that no append reached 1 s.",
            units_min=3,
        ),
        Part(
            name="refused below 200 ms",
            quantity=_rejected("incident", "any", BELOW_LIMIT_MS),
            relation="<=",
            bound=1.5,
            unit="requests a stall",
            why="None is expected; three stalls without any bound the mean below 1.3.",
            units_min=3,
        ),
        Part(
            name="refused without a stall",
            quantity=Quantity(
                measure="rejected_count",
                arm="baseline",
                statistic=Statistic.MEAN,
                where={"keyword": ("any",)},
            ),
            relation="<=",
            bound=1.5,
            unit="requests a trial",
            why="The control: the load alone must not be what is refused.",
            units_min=3,
        ),
        Part(
            name="waited before refusal",
            quantity=Quantity(
                measure="period_in_queue_ms",
                arm="incident",
                statistic=Statistic.SHARE,
                where={"keyword": ("TIMEOUT_CLEAN_QUEUE",)},
                within=(200.0, None),
            ),
            relation=">=",
            bound=0.5,
            unit="of stalls",
            why="Every refusal of a stall must have waited for the limit; the share of such stalls is bounded from below "
            "by what nine of nine allow.",
            units_min=6,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the head of the send queue is refused once it is waitTimeMillsInSendQueue old, whatever the page cache does",
        f"{FAST_FAILURE}.cleanExpiredRequestInQueue",
    ),
    summary="Stalls of 250 to 700 ms had {refused above 200 ms} requests a stall refused; "
    "stalls of 100 and 150 ms {refused below 200 ms}.",
)

BUSY_10 = Claim(
    id="BUSY-10",
    article="A1",
    says="The check of the waiting time is not immediate: it runs every 10 s.",
    reading="The first request that a stall gets refused is, on average, past its 200 ms by the seconds that a check "
    "every 10 s would leave it.",
    parts=(
        Part(
            name="first refusal past the limit",
            quantity=Quantity(
                measure="first_period_over_limit_ms",
                arm="incident",
                statistic=Statistic.MEDIAN,
                where={"stall_ms": ABOVE_LIMIT_MS},
            ),
            relation=">=",
            bound=500.0,
            unit="ms",
            why="Checks 10 s apart would find the oldest request 5 s past its limit on average; half a second is a tenth "
            "of that and fifty times a check every 10 ms.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "the task is scheduled every 10 milliseconds",
        f"{FAST_FAILURE}.start: scheduleAtFixedRate(..., 1000, 10, TimeUnit.MILLISECONDS)",
    ),
    summary="The first refused request was {first refusal past the limit} ms past its limit: the check runs every 10 ms.",
)

BUSY_11 = Claim(
    id="BUSY-11",
    article="A1",
    says="One stall may give many such errors at one moment; how many depends on the requests queued.",
    reading="A stall of 450 ms gives at least ten refusals within one second, and their number grows with the send rate, "
    "which is what fills the queue during a stall of fixed length.",
    parts=(
        Part(
            name="within one second",
            quantity=Quantity(
                measure="rejected_within_1s_max",
                arm="incident",
                statistic=Statistic.MEAN,
                where={"stall_ms": (450,), "rate_hz": (RATE_HZ,)},
            ),
            relation=">=",
            bound=10.0,
            unit="refusals",
            why="Ten in a second is what an operator's graph shows as a spike.",
            units_min=3,
        ),
        Part(
            name="growth with the rate",
            quantity=Quantity(
                measure="rejected_count",
                arm="incident",
                statistic=Statistic.SLOPE,
                where={"keyword": ("TIMEOUT_CLEAN_QUEUE",), "stall_ms": (450,)},
                slope_on="rate_hz",
            ),
            relation=">=",
            bound=0.05,
            unit="refusals per send a second",
            why="The mechanism gives 0.25 (450 ms less 200 ms); a fifth of it is clearly more than nothing.",
            units_min=6,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "everything in the queue that is older than the limit is refused, so the count follows the arrivals",
        f"{FAST_FAILURE}.cleanExpiredRequestInQueue",
    ),
    summary="A stall of 450 ms gave {within one second} refusals within a second, and {growth with the rate} more per send "
    "a second.",
)

BUSY_12 = Claim(
    id="BUSY-12",
    article="A1",
    says="Raising waitTimeMillsInSendQueue to 400 ms is advised, which implies fewer such errors.",
    reading="With 400 ms, stalls of 250 to 700 ms give at most three quarters of the refusals that they give with 200 ms.",
    parts=(
        Part(
            name="refusals with 400 ms over 200 ms",
            quantity=Quantity(
                measure="rejected_count",
                arm="fix-send-queue-wait-400",
                statistic=Statistic.RATIO_OF_MEANS,
                where={"keyword": ("any",), "stall_ms": (450,), "rate_hz": (RATE_HZ,)},
                against=_rejected("incident", "any", (450,)),
            ),
            relation="<=",
            bound=0.75,
            unit="of the refusals",
            why="A setting that leaves more than three quarters is not worth changing. 450 ms is the longest stall that "
            "both a quick and a full run have and that the new limit does not cover wholly.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a request is refused only when it has waited for the limit: a 450 ms stall leaves 50 ms of arrivals instead of 250",
        f"{FAST_FAILURE}.cleanExpiredRequest reads getWaitTimeMillsInSendQueue each time",
    ),
    summary="At a stall of 450 ms, 400 ms left {refusals with 400 ms over 200 ms} of the refusals.",
)

BUSY_14 = Claim(
    id="BUSY-14",
    article="A1, A2",
    says="The page cache counts as busy once the lock has been held longer than osPageCacheBusyTimeOutMills (1000 ms).",
    reading="Refusals for a busy page cache (REJECTREQUEST, PCBUSY_CLEAN_QUEUE, PC_SYNCHRONIZED) come with a stall of "
    "1200 ms, never before 1000 ms and soon after; with stalls up to 700 ms there are none.",
    parts=(
        Part(
            name="refused at 1200 ms",
            quantity=_rejected("incident", "page-cache", (1200,)),
            relation=">=",
            bound=10.0,
            unit="requests a stall",
            why="200 ms of arrivals at 500 a second meet a busy page cache; a tenth is more than chance.",
            units_min=3,
        ),
        Part(
            name="refused up to 700 ms",
            quantity=_rejected("incident", "page-cache", (*BELOW_LIMIT_MS, *ABOVE_LIMIT_MS)),
            relation="<=",
            bound=1.5,
            unit="requests a stall",
            why="None is expected while the lock is younger than 1 s.",
            units_min=3,
        ),
        Part(
            name="not before",
            quantity=Quantity(
                measure="first_rejected_after_ms",
                arm="incident",
                statistic=Statistic.MEDIAN,
                where={"keyword": ("page-cache",), "stall_ms": (1200,)},
            ),
            relation=">=",
            bound=995.0,
            unit="ms",
            why="The broker counts whole milliseconds from the moment at which it took the lock, a little before the "
            "append that is stamped.",
            units_min=3,
        ),
        Part(
            name="soon after",
            quantity=Quantity(
                measure="first_rejected_after_ms",
                arm="incident",
                statistic=Statistic.MEDIAN,
                where={"keyword": ("page-cache",), "stall_ms": (1200,)},
            ),
            relation="<=",
            bound=1060.0,
            unit="ms",
            why="The check that empties the queue runs every 10 ms, and new requests are checked as they arrive.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "busy means: now minus the begin of the lock is above osPageCacheBusyTimeOutMills and below 10,000,000 ms",
        "org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy",
    ),
    summary="A stall of 1200 ms had {refused at 1200 ms} requests refused for the page cache, the first {not before} ms "
    "after the append began; stalls up to 700 ms {refused up to 700 ms}.",
)

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
"""What a quick run keeps, and what is done in a further way of injection."""

SCENARIO = Scenario(
    name="append-stall",
    title="One slow append and the requests behind it",
    article="A1, A2",
    summary="Open-loop sends, one append stalled for a known time, client retries off: which requests the broker refuses, "
    "with which keyword, and when.",
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
            cells=(LONGER[0], LONGER[-1]),
        ),
        Arm(
            name="incident-busy-timeout-500",
            what="osPageCacheBusyTimeOutMills=500: the page cache counts as busy sooner. For the law.",
            fault=AppendStall(),
            load=LOAD,
            live_conf={**DEFAULTS, PAGE_CACHE_BUSY: "500"},
            cells=(*LONGER, {"stall_ms": 1200, "rate_hz": 200}),
        ),
        Arm(
            name="incident-wait-100",
            what="waitTimeMillsInSendQueue=100: requests are refused sooner. For the law.",
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
            cells=LONGER[-1:],
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_07, BUSY_08, BUSY_09, BUSY_10, BUSY_11, BUSY_12, BUSY_14, BUSY_20),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells=FEWER,
    way_cells={**FEWER, "incident-stock-logging": LONGER[-1:]},
    exclusive=True,
    hiccup_ms_max=40.0,
)
"""A hiccup of 40 ms moves a count at 500 sends a second by 20 requests, less than the smallest effect that is judged."""
