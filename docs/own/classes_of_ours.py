"""A load and a fault of our own classes, the fault as a step at its turn and once more at a time of its own."""

from dataclasses import dataclass

from mqlab.incident import Arm, Inject, NoFault, OpenLoopSends, PauseNode, Phases, Read, Scenario, Stay, TimedFault
from mqlab.incident import Topology, TrialBudget, claim, fact, read, side


@dataclass(frozen=True, kw_only=True)
class OurSends(OpenLoopSends):
    """As our shop sends: the rate comes from how many customers there are."""

    retries: int = 2
    body_bytes: int = 700

    def messages_hz(self, topology, params):
        """Half a message a second and customer, as a plan counts them."""
        return params["customers"] / 2


@dataclass(frozen=True, kw_only=True)
class OurMaintenance(PauseNode):
    """The host of our only broker is moved: it stands still."""

    node: str = "broker-a"


def slow(here):
    """Lines in which the broker says that it was slow or paused."""
    return here.lines("WARN", node="broker-a")


CELL = {"customers": 60, "rate_hz": 30}  # the load sends by rate_hz
STEPS = (
    Inject(fault=OurMaintenance(), stays_s=1.5),
    Stay(stay_s=1),
    Read(reading="warned", by=slow),
    TimedFault(fault=OurMaintenance(), at_s=4, stays_s=1),  # 4 s after the hold has begun, whatever the others do
    Stay(stay_s=3),
    Read(reading="up", by=lambda here: here.is_up()),
)
UP = claim(
    "MINE-05",
    "change of 9 June",
    "The broker outlives being moved twice.",
    reading="It runs when the hold is over.",
    parts={"runs": fact(read("up", "incident"), side(1, 0, "it runs or it does not"))},
)

SCENARIO = Scenario(
    name="classes-of-ours",
    title="A load and a fault of our own",
    topology=Topology(name="single"),
    arms=(Arm(name="incident", what="Moved twice.", fault=NoFault(), load=OurSends(), cells=(CELL,), steps=STEPS),),
    phases=Phases(steady_s=1, hold_s_min=6, hold_s_max=6, recover_s=1),
    claims=(UP,),
    budget=TrialBudget(trials=2, deployments=2),
)
