"""A disk that was full has room again, the broker is restarted, and a group that was away returns: what of it is lost?"""

from mqlab.incident import Arm, BrokerSettings, DelayedMessages, DiskFull, GroupLeaves, GroupReturns, Inject, NoFault
from mqlab.incident import Phases, Read, Scenario, StartNode, Stay, StopNode, Topology, TrialBudget, Until
from mqlab.incident import claim, fact, of, read, side

LOAD = DelayedMessages(levels=0)  # a producer, and a group whose member can leave and return


def end(here):
    """Where the broker's commit log ends, in bytes."""
    return int(here.runtime()["commitLogMaxOffset"])


STEPS = (  # one after another, once the hold has begun
    GroupLeaves(),
    Read(reading="end-before", by=end),
    Inject(fault=DiskFull(node="broker-a"), stays_s=4),  # comes, stays, and is healed: there is room again
    StopNode(node="broker-a"),
    StartNode(node="broker-a"),
    Until(what="the broker stores again", is_so=lambda here: end(here) > here.readings["end-before"], outcome="stores"),
    Stay(stay_s=2),
    GroupReturns(),
)
LOSS = claim(
    "MINE-01",
    "post-mortem of 3 May",
    "After a full disk and a restart the broker stores again, and nothing accepted is lost.",
    reading="The commit log grows once there is room and the broker is back; what was acknowledged is consumed.",
    parts={
        "stores again": fact(read("stores", "incident"), side(1, 0, "it does, or does not in a minute")),
        "nothing lost": fact(of("lost_count", "incident"), side(0, 1, "no acknowledged message, or one and more")),
    },
)

SCENARIO = Scenario(
    name="disk-full-then-restart",
    title="A full disk, a restart, and a group that returns",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="incident",
            what="As it was.",
            fault=NoFault(),
            load=LOAD,
            steps=STEPS,
            broker=BrokerSettings(store="loop-ext4"),
        ),
    ),
    phases=Phases(steady_s=2, hold_s_min=1, hold_s_max=1, recover_s=1),
    claims=(LOSS,),
    budget=TrialBudget(trials=5, deployments=5),
)
