"""Ever more consumer groups: their retry topics make a broker's registration too long for the name servers.

A broker tells name servers all of its topics in one request. The flood is written ahead into the first broker's (and its
slave's) configuration up to just below the limit; the line is crossed by live heartbeats of new groups, at a number of
topics that is predicted before. Most arms have a frame of 256 KiB instead of 16 MiB, on name servers and brokers alike;
one arm has the article's own size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from harness.model.cells import ParameterValue
from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.cluster import BrokerSettings, TopicsAhead, Topology
from harness.model.faults import CrossFrameLimit, NoFault
from harness.model.loads import SteadyClients
from harness.model.rocketmq import FRAME_BYTES_MAX, FRAME_LIMIT
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import VerdictKind
from scenarios.expectations import RELEASES_4X, expect

SMALL_BYTES = 262_144
RAISED_BYTES = 266_240
"""Some 15 topics more than the small limit: raised, and reached again within a minute."""
ARTICLE_NAME_BYTES = 54
"""71,111 topics in 16,777,216 bytes are 236 bytes each; 4.6.0 needs 128 and the name twice."""

LONG_NAME_BYTES = 127
"""Of the groups that come live at full size, where each topic takes a second: 220 fill what 360 usual ones would. It is the
longest topic that clients of 4.9.7 and 5.3.3 may have (Validators.TOPIC_MAX_LENGTH). The last groups have usual names, since
by how much the line is crossed decides whether the slave can still copy its master's table."""


DECODER = "org.apache.rocketmq.remoting.netty.NettyDecoder"
OUTER_API = "org.apache.rocketmq.broker.out.BrokerOuterAPI"
ROUTES = "org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager"

LOAD = SteadyClients()
WITHOUT_SLAVES = Topology(name="three-servers-two-masters", name_servers=3, masters=2)
"""Of small frames, where nothing is asked about a slave."""


def _small(share: float, **conf: str) -> BrokerSettings:
    limit = f"-D{FRAME_LIMIT}={SMALL_BYTES}"
    return BrokerSettings(
        conf=conf,
        jvm=(limit,),
        name_server_jvm=(limit,),
        topics_ahead=TopicsAhead(frame_bytes=SMALL_BYTES, share=share, name_bytes=ARTICLE_NAME_BYTES),
    )


FULL = BrokerSettings(
    jvm=("-Xms512m", "-Xmx1200m", "-Xmn256m"),
    name_server_jvm=("-Xms1g", "-Xmx1g", "-XX:TieredStopAtLevel=4"),
    topics_ahead=TopicsAhead(frame_bytes=FRAME_BYTES_MAX, share=0.9946, name_bytes=ARTICLE_NAME_BYTES),
)
"""Filled to a little more than 0.5 % below the limit; a heap that holds the table a few times over, and both compilers, since
each name server reads 16 MiB of JSON for every topic that comes."""


def _part(
    name: str,
    measure: str,
    arm: str,
    relation: Literal["<=", ">="],
    bound: float,
    unit: str,
    why: str,
    where: Mapping[str, tuple[ParameterValue, ...]] | None = None,
    units_min: int = 1,
    statistic: Statistic = Statistic.MEDIAN,
) -> Part:
    quantity = Quantity(measure=measure, arm=arm, statistic=statistic, where=where or {})
    return Part(name=name, quantity=quantity, relation=relation, bound=bound, unit=unit, why=why, units_min=units_min)


_ONE = " One trial shows it, since a byte count decides and no chance."

TOPICS_01 = Claim(
    id="TOPICS-01",
    article="A4",
    says="71,111 topics, nearly all of them retry topics, made the registration exceed the name server's frame of 16,777,216 "
    "bytes; the broker dropped out, master and slave, while its process and network were healthy.",
    reading="With names as long as the article's figures imply, the registration is refused between 60,000 and 80,000 topics, "
    "by a frame longer than 16,777,216 bytes; master and slave are then absent from every name server for most of a minute, "
    "and both still answer requests.",
    parts=(
        _part(
            "topics at the limit, at least",
            "topics_at_limit",
            "incident-full-size",
            ">=",
            60_000,
            "topics",
            "The article's own number less a sixth, for names that are a little longer than its were." + _ONE,
        ),
        _part(
            "topics at the limit, at most",
            "topics_at_limit",
            "incident-full-size",
            "<=",
            80_000,
            "topics",
            "The same on the other side: 5.x has 16 bytes more for each topic, 4.x the same as the article's." + _ONE,
        ),
        _part(
            "frame refused",
            "frame_bytes_refused",
            "incident-full-size",
            ">=",
            FRAME_BYTES_MAX + 1,
            "bytes",
            "The cause is proven when the name server itself names a frame longer than its limit." + _ONE,
        ),
        _part(
            "master absent",
            "route_absent_s",
            "incident-full-size",
            ">=",
            20.0,
            "s",
            "A broker registers every 30 s; one that is only late is back sooner. Each name server is asked apart.",
            {"broker": ("broker-a",), "role": ("master",)},
            3,
        ),
        _part(
            "slave absent",
            "route_absent_s",
            "incident-full-size",
            ">=",
            20.0,
            "s",
            "The same for the slave, which copies its master's topics every 10 s and registers with them.",
            {"broker": ("broker-a",), "role": ("slave",)},
            3,
        ),
        _part(
            "nodes that answer",
            "node_answers",
            "incident-full-size",
            ">=",
            0.9,
            "of nodes",
            "Healthy means that master and slave answer a request while they are absent.",
            units_min=2,
            statistic=Statistic.MEAN,
        ),
    ),
    expected={
        **expect(
            VerdictKind.CONFIRMED,
            "a frame beyond the limit closes the broker's connection, and a name server drops a broker whose connection is "
            "closed; the slave has its master's table within 10 s and registers as long a body",
            f"{DECODER}.decode, {ROUTES}.onChannelDestroy, org.apache.rocketmq.broker.slave.SlaveSynchronize.syncTopicConfig",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.REFUTED,
            "the slave deletes its own topics one by one, writing its whole file each time, whenever its master's table has "
            "changed, so that it registers with fewer and fewer topics and stays",
            "org.apache.rocketmq.broker.slave.SlaveSynchronize.syncTopicConfig",
            ("5.3.3",),
        ),
    },
    summary="At {topics at the limit, at least} topics the registration was refused with a frame of {frame refused} bytes; the "
    "master was absent for {master absent} s, the slave for {slave absent} s.",
)

TOPICS_02 = Claim(
    id="TOPICS-02",
    article="A4",
    says="The name server logs a TooLongFrameException (16,777,295 was observed); the broker logs a registerBroker Exception "
    "with a RemotingSendRequestException.",
    reading="Every name server's log has the exception with a length above its limit, and the log of the broker of the "
    "article's size has a failed registration with a RemotingSendRequestException, in the words of its release. (A frame of "
    "256 KiB is written whole before the connection is closed, and then waited for in vain: another exception.)",
    parts=(
        _part(
            "refusals in each name server's log",
            "refusals_logged",
            "incident",
            ">=",
            1,
            "lines",
            "Every name server refuses for itself, so that each of the three must say so.",
            units_min=3,
        ),
        _part(
            "bytes above the limit",
            "frame_bytes_over",
            "incident",
            ">=",
            1,
            "bytes",
            "A length that is not above the limit would be another failure.",
            units_min=3,
        ),
        _part(
            "RemotingSendRequestException in the broker's log",
            "registration_failures",
            "incident-full-size",
            ">=",
            1,
            "lines",
            "One is what the article shows; a timeout would be another exception, counted apart.",
            {"broker": ("broker-a",), "role": ("master",), "exception": ("RemotingSendRequestException",)},
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the decoder logs what LengthFieldBasedFrameDecoder throws and closes the connection while most of the 16 MiB are still "
        "to be written, so that the broker's client fails the request as one that could not be sent",
        f"{DECODER}.decode, org.apache.rocketmq.remoting.netty.NettyRemotingAbstract.invokeSyncImpl",
    ),
    summary="The first refused frame was {bytes above the limit} bytes above the limit; the broker's log had "
    "{RemotingSendRequestException in the broker's log} such exceptions.",
)

TOPICS_03 = Claim(
    id="TOPICS-03",
    article="A4",
    says="Raising com.rocketmq.remoting.frameMaxLength on the name server and restarting it brings the broker back.",
    reading="After each name server's restart with a larger limit the broker is listed there within a minute, and after the "
    "last of them on all three; without it, it stays away.",
    parts=(
        _part(
            "time to be listed again",
            "broker_back_s",
            "fix-raise-limit",
            "<=",
            60.0,
            "s",
            "A broker registers every 30 s; twice that allows for one that is missed.",
            units_min=3,
        ),
        _part(
            "name servers that list it after the last",
            "servers_listing_it",
            "fix-raise-limit",
            ">=",
            3,
            "name servers",
            "Back means back on every name server." + _ONE,
            {"raised_on": (3,)},
        ),
        _part(
            "absent without it",
            "route_absent_s",
            "incident",
            ">=",
            20.0,
            "s",
            "The control: it must not come back by itself within the hold.",
            {"broker": ("broker-a",), "role": ("master",)},
            3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the limit is read from the system property when the class is loaded, and the broker registers with each name server "
        "every 30 s",
        f"{DECODER}.FRAME_MAX_LENGTH, org.apache.rocketmq.broker.BrokerController.start",
    ),
    summary="After the restart with a larger limit the broker was listed again in {time to be listed again} s (median).",
)

TOPICS_07 = Claim(
    id="TOPICS-07",
    article="A4",
    says="A topic count that shows only normal topics (300 and some) hides the danger; all types have to be monitored.",
    reading="At the full-size crossing the broker has at most a few hundred normal topics among tens of thousands.",
    parts=(
        _part(
            "normal topics",
            "normal_topics",
            "incident-full-size",
            "<=",
            500,
            "topics",
            "The article's console showed 300 and some, which nobody would call too many." + _ONE,
        ),
        _part(
            "topics of all types",
            "topics_at_limit",
            "incident-full-size",
            ">=",
            60_000,
            "topics",
            "What the registration really carried, as in TOPICS-01." + _ONE,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the registration carries every topic of the table, of whatever type",
        "org.apache.rocketmq.broker.topic.TopicConfigManager.buildTopicConfigSerializeWrapper",
    ),
    summary="Of {topics of all types} topics {normal topics} were normal ones.",
)

TOPICS_13 = Claim(
    id="TOPICS-13",
    article="A4",
    says="The broker logs neither the size nor the number of topics when this happens; only the name server's log shows the "
    "cause.",
    reading="No line in any log of the refused master names a frame's length, while the name servers' logs do.",
    parts=(
        _part(
            "lines of the master that name a size",
            "size_lines",
            "incident",
            "<=",
            0.5,
            "lines",
            "Neither means none, in every one of the clusters that crossed the line.",
            {"broker": ("broker-a",), "role": ("master",)},
        ),
        _part(
            "refusals in each name server's log",
            "refusals_logged",
            "incident",
            ">=",
            1,
            "lines",
            "The other half: the name server's log does show it.",
            units_min=3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the broker logs the exception and the name server's address only; the length is known to the decoder on the other side",
        f"{OUTER_API}.registerBrokerAll",
    ),
    summary="The master's logs had {lines of the master that name a size} lines that name a size, each name server's "
    "{refusals in each name server's log}.",
)

TOPICS_14 = Claim(
    id="TOPICS-14",
    article="A4",
    says="Only the broker with too many topics drops out; the other one stays.",
    reading="While the first broker is absent from every name server, the second is on all of them.",
    parts=(
        _part(
            "first broker absent",
            "route_absent_s",
            "incident",
            ">=",
            20.0,
            "s",
            "It is out for most of the hold, on each name server.",
            {"broker": ("broker-a",), "role": ("master",)},
            3,
        ),
        _part(
            "second broker absent",
            "route_absent_s",
            "incident",
            "<=",
            1.0,
            "s",
            "Staying means never absent; the watch asks twice a second, so that one miss is allowed.",
            {"broker": ("broker-b",)},
            3,
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "each broker registers on a connection and with a table of its own",
        f"{OUTER_API}.registerBrokerAll",
    ),
    summary="The first broker was absent for {first broker absent} s, the second for {second broker absent} s.",
)

TOPICS_15 = Claim(
    id="TOPICS-15",
    article="A4",
    says="register broker[0]to name server ... OK marks the recovery; raising the limit is only a stopgap.",
    reading="The broker's log has that line after the fix and has none while name servers refuse it; with a raised limit the "
    "flood crosses the line again.",
    parts=(
        _part(
            "such lines after the fix",
            "ok_lines",
            "fix-raise-limit",
            ">=",
            1,
            "lines",
            "What marks the recovery must be there after it." + _ONE,
            {"broker": ("broker-a",), "when": ("after",)},
        ),
        _part(
            "such lines while it is refused",
            "ok_lines",
            "incident",
            "<=",
            0.5,
            "lines",
            "What is there before the recovery as well marks nothing.",
            {"broker": ("broker-a",), "when": ("refused",)},
        ),
        _part(
            "crossed again",
            "crossed_again",
            "fix-raise-limit",
            ">=",
            1,
            "of trials",
            "A stopgap is one that growth overtakes." + _ONE,
        ),
    ),
    expected={
        **expect(
            VerdictKind.REFUTED,
            "a new topic is registered one-way, which nobody answers, and is called OK as soon as it was written to the "
            "connection",
            f"{OUTER_API}.registerBrokerAll and registerBroker",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.REFUTED,
            "the line has other words: Registering current broker to name server completed",
            f"{OUTER_API}.registerBrokerAll",
            ("5.3.3",),
        ),
    },
    summary="The broker's log had {such lines while it is refused} such lines while it was refused and {such lines after the "
    "fix} after; the raised limit was crossed again.",
)

SCENARIO = Scenario(
    name="retry-topic-flood",
    title="A flood of retry topics makes a broker drop out of every route",
    article="A4",
    summary="Name servers with a bounded frame, brokers with thousands of retry topics, and new groups that cross the line.",
    topology=Topology(name="article", name_servers=3, masters=2, slaves_per_master=1),
    arms=(
        Arm(
            name="baseline",
            what="a nearly full registration (97 %), and nothing new",
            fault=NoFault(),
            load=LOAD,
            broker=_small(0.97),
            topology=WITHOUT_SLAVES,
        ),
        Arm(
            name="incident",
            what="new groups cross a frame limit of 256 KiB, with short, usual and long names",
            fault=CrossFrameLimit(frame_bytes=SMALL_BYTES),
            load=LOAD,
            broker=_small(0.97),
            cells=({"name_bytes": 31}, {"name_bytes": ARTICLE_NAME_BYTES}, {"name_bytes": 95}),
            topology=WITHOUT_SLAVES,
        ),
        Arm(
            name="incident-full-size",
            what="the same with the default limit of 16 MiB and some 71,000 topics",
            fault=CrossFrameLimit(frame_bytes=FRAME_BYTES_MAX, last_name_bytes=ARTICLE_NAME_BYTES),
            load=LOAD,
            broker=FULL,
            cells=({"name_bytes": LONG_NAME_BYTES},),
        ),
        Arm(
            name="fix-raise-limit",
            what="the limit is raised on one name server after the other; then the flood goes on",
            fault=CrossFrameLimit(frame_bytes=SMALL_BYTES, fix="raise-limit", raised_bytes=RAISED_BYTES),
            load=LOAD,
            broker=_small(0.97),
        ),
        Arm(
            name="fix-delete-offline",
            what="retry topics of offline groups are deleted by the audit's remedy",
            fault=CrossFrameLimit(frame_bytes=SMALL_BYTES, fix="delete-offline"),
            load=LOAD,
            broker=_small(0.97),
        ),
        Arm(
            name="better-compressed",
            what="compressedRegister, with half as much again as fits otherwise; 5.3.3 compresses without saying so",
            fault=NoFault(),
            load=LOAD,
            broker=_small(1.5, compressedRegister="true"),
            topology=WITHOUT_SLAVES,
            releases=RELEASES_4X,
        ),
        Arm(
            name="better-split",
            what="enableSplitRegistration, with half as much again as fits otherwise",
            fault=NoFault(),
            load=LOAD,
            broker=_small(1.5, enableSplitRegistration="true"),
            topology=WITHOUT_SLAVES,
            releases=("5.3.3",),
        ),
    ),
    phases=Phases(steady_s=5.0, hold_s_min=60.0, hold_s_max=60.0, recover_s=30.0, drain_s_max=15.0),
    claims=(TOPICS_01, TOPICS_02, TOPICS_03, TOPICS_07, TOPICS_13, TOPICS_14, TOPICS_15),
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    quick_cells={"incident": ({"name_bytes": ARTICLE_NAME_BYTES},), "incident-full-size": ()},
    exclusive=False,
    hiccup_ms_max=60_000.0,
    schedule="side by side",
    cluster_per_trial=True,
)
