"""An append of 600 ms: are sends refused, and would a longer wait in the send queue spare us that?"""

from mqlab.incident import AppendStall, AppendWatch, Arm, OpenLoopSends, Phases, Scenario, Topology, TrialBudget
from mqlab.incident import claim, happens, of, share, side

LOAD = OpenLoopSends()  # asynchronous sends on a fixed schedule, without retries
STALL = {"stall_ms": 600, "rate_hz": 300}  # a cell: what the fault and the load ask for
CALM = {"watch_ms": 600, "rate_hz": 300}
WAIT = "waitTimeMillsInSendQueue"  # set on the running broker before each trial, so every arm says it

# `mqlab explain --measures` says what of() can ask for. happens, never, each and fact count events; share, median and ratio
# ask on which side of a bound each deployment lies. Each number that decides has its reason beside it.
MINE_01 = claim(
    "MINE-01", "post-mortem of 12 March", "An append of 600 ms has sends refused.",
    reading="Each stall has refusals of any keyword, and the same load without a stall has none.",
    parts={"refused": happens(of("rejected_count", "incident", keyword="any"), 120, "300 a second come in 400 ms",
                              without=of("rejected_count", "baseline", keyword="any"), slack_ms=300, noun="stalls")},
)
MINE_02 = claim(
    "MINE-02", "post-mortem of 12 March", "With waitTimeMillsInSendQueue=800 no such stall has a send refused.",
    reading="Hardly any stall has a refusal: the share of them, deployment by deployment.",
    parts={"still refused": share(of("rejected_count", "fix-wait", keyword="any"), (1, None),
                                  side(0, 1, "no send waits for 800 ms, or all do"), slack_ms=200, noun="stalls")},
)

SCENARIO = Scenario(
    name="my-incident",  # as the file
    title="Slow appends of our cluster",
    topology=Topology(name="single"),  # name_servers=, masters=, slaves_per_master=
    arms=(  # each begins with baseline, incident, fix- or better-; `mqlab explain --faults` names the faults
        Arm(name="baseline", what="No stall.", fault=AppendWatch(), load=LOAD, cells=(CALM,), live_conf={WAIT: "200"}),
        Arm(name="incident", what="Stalls.", fault=AppendStall(), load=LOAD, cells=(STALL,), live_conf={WAIT: "200"}),
        Arm(name="fix-wait", what="Longer wait.", fault=AppendStall(), load=LOAD, cells=(STALL,), live_conf={WAIT: "800"}),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.5, hold_s_max=0.5, recover_s=0.2),
    claims=(MINE_01, MINE_02),
    budget=TrialBudget(trials=5, deployments=5),  # a verdict by sides needs five deployments
)
