"""Users: containers whose clients have one id get some queues twice and some never (apache/rocketmq 2760, 3480, 667, 1589).

A client's id is its address and its instance name. By itself a client of 4.6.0 is named for its process, which in a container has
the id 1; with a network of the host's all containers have one address. A broker hands each member the list of all ids, and each
looks for its own place in it: two members that have one id find the same place.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import NoFault
from harness.model.group_members import IN_A_CONTAINER, GroupMembers, Member
from harness.model.incident import Sign
from harness.model.log_events import Logged, LogPattern
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import claim, confirmed, fact, law, never, of, refuted, side

RETRIES = 3
DOUBLED = "twice 2 to the power of 3, or one"
COPIES = 2 ** (RETRIES + 1)
"""Two members are given a message, both give it back, and each of these copies is given to two again."""
BY_ITSELF = "DEFAULT"
"""What a client is called that nobody gave a name (ClientConfig); it changes that when it starts."""

INCIDENT, ONE_NAME, OWN_NAMES = "incident", "incident-one-name", "fix-own-names"
SAME_PLACE = "two members at one place of two get the same half of the queues; at places of their own, a half each"
HALF = side(0.5, 0, SAME_PLACE)
CODE = "org.apache.rocketmq"
NAME = f"{CODE}.client.ClientConfig.changeInstanceNameToPID"
PLACES = (
    f"{CODE}.broker.client.ConsumerGroupInfo.getAllClientId and "
    f"{CODE}.client.consumer.rebalance.AllocateMessageQueueAveragely.allocate"
)


def _load(*names: str) -> GroupMembers:
    return GroupMembers(members=tuple(Member(client_name=name) for name in names), fail_every=17, retries=RETRIES)


def _halves(arm: str) -> dict[str, Part]:
    return {"twice": fact(of("doubled_share", arm), HALF), "unread": fact(of("unread_share", arm), HALF)}


def _clean(arm: str) -> dict[str, Part]:
    return {
        "twice": never(of("doubled_share", arm), 0.5, SAME_PLACE, noun="groups"),
        "unread": never(of("unread_share", arm), 0.5, SAME_PLACE, noun="groups"),
        "copies": fact(
            of("retry_copies_count", arm, retry=RETRIES),
            side(1, COPIES, "who gives a message back gets one copy of it"),
        ),
    }


BY_ITS_PROCESS = confirmed(
    "a client that has no name is named for its process's id alone, and both take the first half of the queues",
    f"{NAME}, {PLACES}", ("4.6.0",),
) | refuted(
    "a client that has no name is named for its process's id and the clock's nanoseconds, which differ", NAME,
    ("4.9.7", *RELEASES_5X),
)  # fmt: skip

X_01 = claim(
    "X-same-client-id-in-containers-01", "", "Two consumers in two docker containers got the same clientId; they will only get the "
    "message queues of broker-a, those on broker-b will never be taken care of.",
    reading="Two members that are named as their release names a client in a process with the id 1, at one address, have one "
    "client id. Half of the group's messages are then given to both of them, and half to none.",
    expected=BY_ITS_PROCESS,
    parts={
        "one id": fact(of("client_ids_count", INCIDENT), side(1, 2, "both clients have one id, or each has its own")),
        **_halves(INCIDENT),
    }, summary="By default both had one id {one id}; half of the messages came twice {twice}, and half stayed unread {unread}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.HOLDS,
        holds="consumers in containers of one address get one client id: some queues are consumed by nobody",
        fails="consumers in containers of one address get ids of their own",
    ),
)  # fmt: skip

X_02 = claim(
    "X-same-client-id-in-containers-02", "", "With the same instanceName queued messages are consumed by two consumers. If it "
    "fails, the sendMessageBack grows in doubles: a message is saved 2^16 times in the %RETRY% queue.",
    reading="Where both members are given one instance name, half of the messages are given to both and half to none, on any "
    f"release; a message that fails is consumed {COPIES} times at its retry {RETRIES}, twice as often at each.",
    expected=confirmed("the broker's list has the id twice, both members take the first half of the queues and the first retry "
                       "queue, and both give a message back", PLACES),
    parts={
        **_halves(ONE_NAME),
        "copies": law(of("retry_copies_count", ONE_NAME, retry=RETRIES), COPIES, 2, COPIES - 1, DOUBLED),
    },
    summary="With one name half of the messages came twice {twice}, and half stayed unread {unread}; the consumptions of a failing "
    f"message at retry {RETRIES}, each 1 s after the one before, differed from {COPIES} by {{copies}}.",
)  # fmt: skip

X_03 = claim(
    "X-same-client-id-in-containers-03", "", "It can be solved by setting a different instanceName for each container.",
    reading="With a name of its own for each member no message is given to both or to none, and one that fails has one copy.",
    expected=confirmed("the ids differ, and so do the places of the members and their queues", PLACES),
    parts=_clean(OWN_NAMES),
    summary="With names of their own, {#twice} got messages twice, and {#unread} left messages unread; one copy came at each "
    "retry, after 1 s, {copies}.",
    told=Told(
        weight=Weight.DELAY,
        do="give each container an instanceName of its own",
    ),
)  # fmt: skip

X_04 = claim(
    "X-same-client-id-in-containers-04", "", "The same two services, started on a machine without containers, are normal.",
    reading="Two processes of one host, whose clients nobody names, share the messages: none comes twice or to nobody.",
    expected=confirmed("the ids of their processes differ, and with them the names of their clients", f"{NAME}, {PLACES}"),
    parts=_clean("baseline"),
    summary="With two processes on one host, {#twice} got messages twice, and {#unread} left messages unread; one copy came at "
    "each retry, after 1 s, {copies}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="same-client-id-in-containers",
    title="Containers with one client id: some queues twice, some never",
    summary="Groups of two members that have one client id, by their release's own name for a client in a container or by one "
    "instance name for both; with names of their own; and without containers.",
    symptom="Of two consumers in containers some queues are consumed twice and some never; failing messages multiply.",
    threads=("issues/2760", "issues/3480", "issues/667", "issues/1589", "issues/534"),
    faces={
        "by default, in containers that have one address": "X-same-client-id-in-containers-01",
        "where both are given one instanceName": "X-same-client-id-in-containers-02",
    },
    advice="Give each container's client an instanceName of its own; clients of 4.9.7 and newer are named for more "
    "than their process's id.",
    cures=("X-same-client-id-in-containers-03",),
    audited=("client-ids-equal",),
    sign=Sign(
        pattern=LogPattern.CLIENT_IDS_EQUAL,
        events=(Logged.CONSUMER_CAME, Logged.CONSUMER_WENT),
        because="a client id connected again while it was connected: two members with one id get the same queues, others "
        "nobody",
    ),
    topology=Topology(name="two-masters", masters=2),
    arms=tuple(
        Arm(name=name, what=what, fault=NoFault(), load=load, broker=BrokerSettings(conf={"messageDelayLevel": "1s " * 17 + "1s"}))
        for name, what, load in (
            ("baseline", "Two processes of one host; nobody names their clients.", _load(BY_ITSELF, BY_ITSELF)),
            (INCIDENT, "Two containers with one address; nobody names their clients.", _load(IN_A_CONTAINER, IN_A_CONTAINER)),
            (ONE_NAME, "Both members have one instance name.", _load("service", "service")),
            (OWN_NAMES, "What users are advised: each container has an instance name of its own.", _load("one", "two")),
        )
    ),
    phases=Phases(steady_s=3.0, hold_s_min=10.0, hold_s_max=10.0, recover_s=8.0),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    extra_measures=("passed_over_share",),
)  # fmt: skip
"""Eight groups in each of five deployments are the tries; retries come after a second each, three of them while it recovers."""
