"""What does a message of 1,000 bytes cost in the commit log, and which clients are refused what?"""

from mqlab.incident import Arm, MakeTopics, NoFault, OpenLoopSends, Phases, Read, Scenario, StartClient, Stay, Topology
from mqlab.incident import TrialBudget, claim, fact, median, read, side

LOAD = OpenLoopSends(body_bytes=1000)


def log_end(here):
    """From the answer to a request by its code: GET_BROKER_RUNTIME_INFO."""
    return int(here.ask(28).json()["table"]["commitLogMaxOffset"])


def topics(here):
    """How many topics of ours `mqadmin topicList` prints."""
    return sum(line.startswith("ours-") for line in here.admin("topicList").splitlines())


STEPS = (
    Read(reading="end-1", by=log_end),
    Stay(stay_s=4),
    Read(reading="end-2", by=log_end),
    MakeTopics(topics=300, prefix="ours"),
    Read(reading="topics", by=topics),
    StartClient(does="send", topic="nobody-made-it", outcome="send-to-no-topic", says="No route info"),
    StartClient(does="send", topic="ours-7", outcome="send-to-ours"),
    StartClient(does="consume", topic="ours-7", group="a group", outcome="odd-group", says="does not match|illegal char"),
)
CLAIMS = (
    claim(
        "MINE-03",
        "sizing sheet",
        "A message of 1,000 bytes takes less than 1,500 in the commit log.",
        reading="Bytes by which the log grew in 4 s, for each message that was due in them.",
        parts={"each": median(read("bytes", "incident"), side(1300, 1700, "headers of 300, or of 700", bound=1500))},
    ),
    claim(
        "MINE-04",
        "runbook",
        "300 topics come while the load runs; a client without a topic, or with an odd group, is refused.",
        reading="All are listed, a send to a topic that nobody made has no route, and the group's name is refused.",
        parts={
            "come": fact(read("topics", "incident"), side(300, 0, "all or none", bound=300)),
            "no topic": fact(read("send-to-no-topic-lines", "incident"), side(1, 0, "refused so, or not")),
            "a topic of ours": fact(read("send-to-ours", "incident"), side(1, 0, "served or not")),
            "odd group": fact(read("odd-group-lines", "incident"), side(1, 0, "refused so, or not")),
        },
    ),
)

SCENARIO = Scenario(
    name="readings-of-ours",
    title="Bytes, topics and refused clients",
    topology=Topology(name="single"),
    arms=(Arm(name="incident", what="A load.", fault=NoFault(), load=LOAD, cells=({"rate_hz": 100},), steps=STEPS),),
    computed={"bytes": lambda got: (got["end-2"] - got["end-1"]) / 400},  # of a trial's readings, when it is judged
    phases=Phases(steady_s=1, hold_s_min=1, hold_s_max=1, recover_s=1),
    claims=CLAIMS,
    budget=TrialBudget(trials=5, deployments=5),
)
