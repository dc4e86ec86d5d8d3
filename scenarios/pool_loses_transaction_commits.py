"""Users: with the transient store pool committed transactions do not come (apache/rocketmq 2098).

A producer ends a transaction as soon as its half message is acknowledged, by a request that nobody answers. To end it the broker
reads the half message, which with the pool lies in a buffer until it is written to its file, some 200 ms later, and cannot be
read before. The broker then does nothing, until it asks the producer 6 to 66 s later.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault
from harness.model.incident import Sign
from harness.model.loads import Transactions
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Part
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, refuted, scopes, side

OFTEN, EACH = "fix-short-interval", "better-each-put"
RATES_HZ = (2, 50, 400)
USUAL: Parameters = {"rate_hz": 50}

FILES = {"mappedFileSizeCommitLog": str(8 * 2**20)}
DEFAULTS = {
    "commitIntervalCommitLog": "200",
    "commitCommitLogLeastPages": "4",
    "commitCommitLogThoroughInterval": "200",
}
OFF, ON = BrokerSettings(conf=FILES), BrokerSettings(conf={**FILES, "transientStorePoolEnable": "true"})

ENDS = "org.apache.rocketmq.broker.processor.EndTransactionProcessor.processRequest"
COMMITS = "org.apache.rocketmq.store.CommitLog.CommitRealTimeService"
READS_4X = "org.apache.rocketmq.store.MappedFile.getReadPosition"
READS_5X = "org.apache.rocketmq.store.logfile.DefaultMappedFile.getReadPosition"

LATE = side(0.95, 0, "of 200 ms in which a half message cannot be read all but a few, or none")
IN_TIME = side(0, 0.95, "none, or those of the 200 ms in which a half message cannot be read, all but a few")
SOON_MS = side(3, 200, "a sender waits for the append alone, or until what it sent is committed, 200 ms")

MEDIAN_SLACK_MS = 4000.0
"""Of the median of 500 sends: a hiccup of a second, a quarter of it, holds up fifty of them."""


def _late(arm: str, at: Side, rate_hz: int = 50) -> Part:
    return fact(of("committed_late_share", arm, rate_hz=rate_hz), at)


AT_ONCE = (
    "a transaction is ended at once by its half message's place in the log, and what is not committed cannot be read"
)
WAITS = "fewer than 4 pages wait for commitCommitLogThoroughInterval, at whatever interval one looks"
ANY = "with no least number of pages each put wakes the commit, which takes what is there"

X_01 = claim(
    "X-pool-loses-transaction-commits-01", "", "With transientStorePoolEnable=true committed transactional messages do not come: "
    "EndTransactionThread finds no half message (selectMappedBuffer request pos invalid), as the pool has not committed it yet.",
    reading="At 2, 50 and 400 transactions a second nearly none has come after 5 s.",
    expected=confirmed(AT_ONCE, f"{ENDS}, {READS_4X}, {COMMITS}", RELEASES_4X)
    | confirmed(AT_ONCE, f"{ENDS}, {READS_5X}, {COMMITS}", RELEASES_5X),
    parts={
        **scopes("at", RATES_HZ, lambda rate_hz: _late("incident", LATE, rate_hz), " a second"),
        "without the pool": control(_late("baseline", IN_TIME)),
    },
    summary="With the pool committed transactions took longer than 5 s to come {at 2 a second} at 2 a second, {at 50 a second} at "
    "50 and {at 400 a second} at 400.",
)  # fmt: skip

X_02 = claim(
    "X-pool-loses-transaction-commits-02", "", "A shorter commitIntervalCommitLog has the pool commit them in time.",
    reading="commitIntervalCommitLog=10 instead of 200: committed transactions come within 5 s.",
    expected=refuted(WAITS, COMMITS),
    parts={"none late": _late(OFTEN, IN_TIME), "by default": control(_late("incident", LATE))},
    summary="With commitIntervalCommitLog=10 the committed transactions of the pool came within 5 s {none late}.",
)  # fmt: skip

X_03 = claim(
    "X-pool-loses-transaction-commits-03", "", "With commitCommitLogLeastPages=0 each message is committed as it is put.",
    reading="With that setting hardly any committed transaction is later than 5 s. The price is a write for each message instead "
    "of one in 200 ms, for which no sender waits.",
    expected=confirmed(ANY, COMMITS),
    parts={
        "none late": _late(EACH, IN_TIME),
        "price": fact(of("transaction_ms", EACH, rate_hz=50), SOON_MS, slack_ms=MEDIAN_SLACK_MS),
        "by default": control(_late("incident", LATE)),
    },
    summary="With commitCommitLogLeastPages=0 the committed transactions of the pool came within 5 s {none late}, and a "
    "sender waited for a commit {!price}.",
)  # fmt: skip

X_04 = claim(
    "X-pool-loses-transaction-commits-04", "", "Without the pool committed transactional messages come at once.",
    reading="transientStorePoolEnable=false, the default: none is later than 5 s. The price is what the pool is for: see BUSY-04.",
    expected=confirmed("what was put can be read", f"{ENDS}, {READS_4X}", RELEASES_4X)
    | confirmed("what was put can be read", f"{ENDS}, {READS_5X}", RELEASES_5X),
    parts={"none late": _late("baseline", IN_TIME)},
    summary="Without the pool committed transactions came within 5 s {none late}.",
)  # fmt: skip


def _arm(
    name: str, what: str, broker: BrokerSettings, changed: Mapping[str, str], rates_hz: tuple[int, ...] = (50,)
) -> Arm:
    return Arm(
        name=name, what=what, fault=NoFault(), load=Transactions(states=1), broker=broker, live_conf={**DEFAULTS, **changed},
        cells=tuple({"rate_hz": rate_hz} for rate_hz in rates_hz),
    )  # fmt: skip


SCENARIO = Scenario(
    name="pool-loses-transaction-commits",
    title="With the transient store pool committed transactions do not come",
    summary="A producer commits each transaction as soon as its half message is stored. No fault is made.",
    symptom="With transientStorePoolEnable=true transactional messages stay undelivered, and EndTransactionThread logs "
    "selectMappedBuffer request pos invalid.",
    threads=("issues/2098",),
    faces={"": "X-pool-loses-transaction-commits-01"},
    advice="Set transientStorePoolEnable=false on brokers with transactions, or commitCommitLogLeastPages=0, not a "
    "shorter commitIntervalCommitLog.",
    cures=(
        "X-pool-loses-transaction-commits-04",
        "X-pool-loses-transaction-commits-03",
        "X-pool-loses-transaction-commits-02",
    ),
    audited_as_itself="half-messages-in-pool",
    sign=Sign(
        pattern=LogPattern.HALF_UNREADABLE,
        events=(Logged.HALF_UNREADABLE,),
        because="a transaction was to be ended whose half message lay in the transient store pool: it stays undecided "
        "until the broker asks about it",
    ),
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "Without the pool.", OFF, {}),
        _arm("incident", "With the pool.", ON, {}, RATES_HZ),
        _arm(OFTEN, "With the pool and commitIntervalCommitLog=10.", ON, {"commitIntervalCommitLog": "10"}),
        _arm(EACH, "With the pool and commitCommitLogLeastPages=0.", ON, {"commitCommitLogLeastPages": "0"}),
    ),
    phases=Phases(steady_s=1.0, hold_s_min=11.0, hold_s_max=11.0, recover_s=0.5),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=2, deployments=2),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={"incident": ({"rate_hz": 2}, USUAL)},
    shares_machine=True,
    hiccup_ms_max=1500.0,
)  # fmt: skip
"""What can be read of a half message is decided by code, the same in each deployment: two of them. Sends of the first 6 s of a hold
are judged; what comes late comes with a check, no sooner than 6 s after its send."""
