"""A rule of our own: the store says that its page cache is busy, whatever it is. What do senders get?"""

from mqlab.incident import Arm, JavaRule, NoFault, OpenLoopSends, Phases, Scenario, Topology, TrialBudget
from mqlab.incident import claim, fact, of, side

BUSY = JavaRule(
    # A release has some of these places; where it has none the rule is refused before the start.
    places=("org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy",),
    at="ENTRY",
    when="true",  # $1 is the first parameter: $1.getTopic().equals("orders")
    does="return true",  # or throw new java.io.IOException("no disk"), or delay(300)
)
REFUSED = claim(
    "MINE-06",
    "a thought of ours",
    "Sends are refused as long as the store says that it is busy, and not after it.",
    reading="Sends that the broker refused in the hold; a rule that never took effect shows nothing.",
    parts={
        "refused": fact(of("rejected_count", "incident", keyword="any"), side(20, 0, "those of seconds, or none", bound=1)),
        "without it": fact(of("rejected_count", "baseline", keyword="any"), side(0, 20, "none, or those of seconds")),
    },
)

SCENARIO = Scenario(
    name="a-rule-of-ours",
    title="A store that calls itself busy",
    topology=Topology(name="single"),
    arms=(
        Arm(name="baseline", what="As it is.", fault=NoFault(), load=OpenLoopSends(), cells=({"rate_hz": 50},)),
        Arm(name="incident", what="It says busy.", fault=BUSY, load=OpenLoopSends(), cells=({"rate_hz": 50},)),
    ),
    phases=Phases(steady_s=2, hold_s_min=3, hold_s_max=3, recover_s=2),
    claims=(REFUSED,),
    budget=TrialBudget(trials=2, deployments=2),
)
