"""Ever more consumer groups: their retry topics make a broker's registration too long for the name servers.

A broker tells name servers all of its topics in one request. The flood is written ahead into the first broker's (and its slave's)
configuration up to just below the limit; the line is crossed by live heartbeats of new groups, at a number of topics that is
predicted before. Most arms have a frame of 256 KiB instead of 16 MiB on all nodes; one has the article's own size.
"""

from __future__ import annotations

from typing import Any

from harness.model.cluster import BrokerSettings, TopicsAhead, Topology
from harness.model.faults import CrossFrameLimit, NoFault
from harness.model.incident import Sign
from harness.model.loads import SteadyClients
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import FRAME_BYTES_MAX, FRAME_LIMIT
from harness.model.rules import Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, confirmed, control, fact, of, refuted, side

SMALL_BYTES = 262_144
RAISED_BYTES = 266_240
"""Some 15 topics more than the small limit: raised, and reached again within a minute."""
ARTICLE_NAME_BYTES = 54
"""71,111 topics in 16,777,216 bytes are 236 bytes each; 4.6.0 needs 128 and the name twice."""

LONG_NAME_BYTES = 127
"""Of the groups that come live at full size, where each topic takes a second: 220 fill what 360 usual ones would. It is the
longest topic that clients of 4.9.7 and 5.x may have (Validators.TOPIC_MAX_LENGTH). The last groups have usual names, since
by how much the line is crossed decides whether the slave can still copy its master's table."""
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


NEARLY_FULL: dict[str, Any] = {"load": LOAD, "broker": _small(0.97)}
ONCE_WITHOUT_SLAVES: dict[str, Any] = {**NEARLY_FULL, "topology": WITHOUT_SLAVES, "trials": 1}
MORE_THAN_FITS: dict[str, Any] = {"fault": NoFault(), "load": LOAD, "topology": WITHOUT_SLAVES}
FULL_AHEAD = TopicsAhead(frame_bytes=FRAME_BYTES_MAX, share=0.9946, name_bytes=ARTICLE_NAME_BYTES)
SERVER_JVM = ("-Xms1g", "-Xmx1g", "-XX:TieredStopAtLevel=4")
FULL = BrokerSettings(jvm=("-Xms512m", "-Xmx1200m", "-Xmn256m"), name_server_jvm=SERVER_JVM, topics_ahead=FULL_AHEAD)
"""Filled to a little more than 0.5 % below the limit; a heap that holds the table a few times over, and both compilers, since
each name server reads 16 MiB of JSON for every topic that comes."""
AT_LIMIT = of("topics_at_limit", "incident-full-size")
REGISTER = "org.apache.rocketmq.broker.out.BrokerOuterAPI.registerBrokerAll"
SYNC = "org.apache.rocketmq.broker.slave.SlaveSynchronize.syncTopicConfig"
DECODE = "org.apache.rocketmq.remoting.netty.NettyDecoder.decode"
DESTROYED = "org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager.onChannelDestroy"
DROPPED_OUT = confirmed(
    "a frame beyond the limit closes the broker's connection, and a name server drops a broker whose connection is closed; the "
    "slave has its master's table within 10 s and registers as long a body",
    f"{DECODE}, {DESTROYED}, {SYNC}", RELEASES_4X
) | refuted(
    "the slave deletes its own topics one by one, writing its whole file each time, whenever its master's table has changed, so "
    "that it registers with fewer and fewer topics and stays", SYNC, ("5.3.3",)
) | confirmed(
    "as in 4.x; the slave fetches its master's table in parts of 2,000 topics, and deletes only what its master does not have",
    f"{DECODE}, {DESTROYED}, {SYNC}, org.apache.rocketmq.broker.out.BrokerOuterAPI.getAllTopicConfig", ("5.5.0",)
)  # fmt: skip
LOGGED = confirmed(
    "the decoder logs what LengthFieldBasedFrameDecoder throws and closes the connection while most of the 16 MiB are still to "
    "be written, so that the broker's client fails the request as one that could not be sent",
    f"{DECODE}, org.apache.rocketmq.remoting.netty.NettyRemotingAbstract.invokeSyncImpl", RELEASES_4X
) | refuted("it says: Failed to register current broker to name server", REGISTER, RELEASES_5X)  # fmt: skip
SAID_TO_BE_OK = refuted(
    "a new topic is registered one-way, which nobody answers, and is called OK as soon as it was written to the connection",
    REGISTER, RELEASES_4X
) | refuted("the line has other words: Registering current broker to name server completed", REGISTER, RELEASES_5X)  # fmt: skip

MASTER = {"broker": "broker-a", "role": "master"}
OUT = side(
    55, 0, "out for the hold of a minute; one that registers each 30 s and is only late is back sooner", bound=20
)
LONGER = FRAME_BYTES_MAX + 79
FRAME = side(LONGER, FRAME_BYTES_MAX, "a frame is refused when it is longer than the limit", FRAME_BYTES_MAX + 1)
AT_LEAST_ONE = side(3, 0, "one a registration in the hold, which come every 30 s", bound=1)
EXPIRES_S = 130.0
"""A name server drops a broker that was silent for 120 s, which it looks for every 10 s (5 s in 5.x)."""
SEEN_S = EXPIRES_S + 60.0
"""A master leaves as it is refused, a slave of 5.3.3 because it is busy and silent: that is to be seen for a minute, too."""
FULL_SIZE = {"deployments_min": 1}
"""Bytes decide there, and one such cluster takes both cores for minutes: the small frames are its twins. Whether a slave of
5.5.0 follows its master is chance, and takes as many clusters as any size."""

TOPICS_01 = claim(
    "TOPICS-01", "A4", "71,111 topics, nearly all of them retry topics, made the registration exceed the name server's frame of "
    "16,777,216 bytes; the broker dropped out, master and slave, while its process and network were healthy.",
    reading="With the article's names the registration is refused between 60,000 and 80,000 topics, by a longer frame; master "
    "and slave are then absent from every name server for most of a minute, and both still answer requests.",
    expected=DROPPED_OUT, parts={
        "topics": fact(AT_LIMIT, side(71_111, 45_000, "names of 100 bytes", bound=60_000), **FULL_SIZE),
        "at most": fact(AT_LIMIT, side(71_111, 100_000, "names of 20 bytes", bound=80_000), **FULL_SIZE),
        "frame": fact(of("frame_bytes_refused", "incident-full-size"), FRAME, **FULL_SIZE),
        "master": fact(of("route_absent_s", "incident-full-size", **MASTER), OUT, **FULL_SIZE),
        "slave": fact(of("route_absent_s", "incident-full-size", broker="broker-a", role="slave"), OUT),
        "answers": fact(of("node_answers", "incident-full-size"), side(1, 0, "a node that is gone is silent"), **FULL_SIZE),
    }, summary="It took 60,000 to 80,000 topics {topics}; the master was out {master}, the slave {slave}; both answered {answers}.",
)  # fmt: skip

TOPICS_02 = claim(
    "TOPICS-02", "A4", "The name server logs a TooLongFrameException (16,777,295 was observed); the broker logs a "
    "registerBroker Exception with a RemotingSendRequestException.",
    reading="Every name server's log has the exception with a length above its limit, and the broker's log has these words, and "
    "at the article's size that class. (256 KiB are written whole, and then waited for in vain: another exception.)",
    expected=LOGGED, parts={
        "refusals": fact(of("refusals_logged", "incident"), AT_LEAST_ONE),
        "length": fact(of("frame_bytes_over", "incident"), side(79, 0, "a part of one topic's entry", bound=1)),
        "words": fact(of("registration_failures", "incident", words="registerBroker Exception", **MASTER), AT_LEAST_ONE),
        "class": fact(of("registration_failures", "incident-full-size", exception="RemotingSendRequestException", **MASTER),
                      AT_LEAST_ONE, **FULL_SIZE),
    }, summary="With frames of 256 KiB refusals with a length were logged {refusals}, and so was registerBroker Exception "
    "{words}; with 16 MiB RemotingSendRequestException was logged {class}.",
    told=Told(
        weight=Weight.ALARMS,
        parts={"words": "a registration that is too long: 'registerBroker Exception' is no longer logged"},
    ),
)  # fmt: skip

TOPICS_03 = claim(
    "TOPICS-03", "A4", "Raising com.rocketmq.remoting.frameMaxLength on the name server and restarting it brings the broker back.",
    reading="After each name server's restart with a larger limit the broker is listed there within a minute, and after the "
    "last of them on all three; without it, it stays away.",
    expected=confirmed("the limit is read when the class is loaded, and the broker registers with each server every 30 s",
                       "org.apache.rocketmq.remoting.netty.NettyDecoder.FRAME_MAX_LENGTH, "
                       "org.apache.rocketmq.broker.BrokerController.start"),
    parts={
        "back": fact(of("broker_back_s", "fix-raise-limit"), side(20, 180, "one period of 30 s, or never", bound=60)),
        "on all": fact(of("servers_listing_it", "fix-raise-limit", raised_on=3), side(3, 2, "of three name servers", bound=3)),
        "away without it": control(fact(of("route_absent_s", "incident", **MASTER), OUT)),
    }, summary="With a frame limit of 260 KiB in place of 256 the broker was listed again within a minute of each restart {back}, "
    "and on all three name servers after the last {on all}.",
)  # fmt: skip

TOPICS_07 = claim(
    "TOPICS-07", "A4",
    "A topic count that shows only normal topics (300 and some) hides the danger; all types have to be monitored.",
    reading="A count of normal topics is at the crossing what it was before it, while all types are tens of thousands.",
    expected=confirmed("the registration carries every topic of the table, of whatever type",
                       "org.apache.rocketmq.broker.topic.TopicConfigManager.buildTopicConfigSerializeWrapper"),
    parts={
        "no normal topic": fact(of("normal_topics_grown", "incident"), side(0, 20, "what the flood's last heartbeats made",
                                                                               bound=0)),
        "all": fact(AT_LIMIT, side(71_111, 300, "what the article's console showed", bound=60_000), **FULL_SIZE),
    }, summary="With frames of 256 KiB the count of normal topics stayed as it was {no normal topic}; with 16 MiB there "
    "were more than 60,000 topics of all types {all}.",
)  # fmt: skip

TOPICS_13 = claim(
    "TOPICS-13", "A4",
    "The broker logs neither the size nor the number of topics when this happens; only the name server's log shows the cause.",
    reading="No line in any log of the refused master names a frame's length, and none about its registration how many topics it "
    "has, while the name servers' logs name the length.",
    expected=confirmed("the broker logs the exception and the name server's address; the length is known to the decoder of the "
                       "other side only", REGISTER),
    parts={
        "no line of size": fact(of("size_lines", "incident", **MASTER), side(0, 3, "one a refused registration", bound=0)),
        "no line of topics": fact(of("topic_count_lines", "incident", **MASTER), side(0, 3, "one a refused registration", bound=0)),
        "refusals": fact(of("refusals_logged", "incident"), AT_LEAST_ONE),
    }, summary="With frames of 256 KiB the master's logs named a length {!no line of size} and how many topics it "
    "registers {!no line of topics}; each name server's log named the length {refusals}.",
)  # fmt: skip

TOPICS_14 = claim(
    "TOPICS-14", "A4", "Only the broker with too many topics drops out; the other one stays.",
    reading="While the first broker is absent from every name server, the second is on all of them.",
    expected=confirmed("each broker registers on a connection and with a table of its own",
                       "org.apache.rocketmq.broker.out.BrokerOuterAPI.registerBrokerAll"),
    parts={
        "the other stays": fact(of("route_absent_s", "incident", broker="broker-b"),
                          side(0, 55, "out as long as the first one; the watch asks twice a second", bound=10)),
        "the first": control(fact(of("route_absent_s", "incident", **MASTER), OUT)),
    }, summary="With frames of 256 KiB the second broker was out for 10 s {!the other stays}, while the first was for "
    "most of a minute.",
)  # fmt: skip

TOPICS_15 = claim(
    "TOPICS-15", "A4", "register broker[0]to name server ... OK marks the recovery; raising the limit is only a stopgap.",
    reading="The broker's log has that line after the fix and has none while name servers refuse it. That a raised limit lasts "
    "only until as many topics more have come is arithmetic, and shown, not judged.",
    expected=SAID_TO_BE_OK,
    parts={
        "after": fact(of("ok_lines", "fix-raise-limit", broker="broker-a", when="after"), AT_LEAST_ONE),
        "none OK while refused": fact(of("ok_lines", "incident", broker="broker-a", when="refused"),
                        side(0, 3, "one each 30 s and for each new topic", bound=0)),
    }, summary="With a frame limit of 260 KiB in place of 256 a line called the registration done after the fix {after}, and "
    "while it was refused {!none OK while refused}.",
    told=Told(
        weight=Weight.ALARMS,
        parts={"*": "'register broker[0]to name server ... OK' no longer marks a registration"},
    ),
)  # fmt: skip

SCENARIO = Scenario(
    name="retry-topic-flood",
    title="A flood of retry topics makes a broker drop out of every route",
    article="A4",
    summary="Name servers with a bounded frame, brokers with thousands of retry topics, and new groups that cross the line.",
    symptom="A broker is in no route any more (No route info of this topic), and it runs; groups had become ever more.",
    advice="`mqlab audit --namesrv ...` counts topics by type and predicts the limit.",
    cures=("TOPICS-03", "TOPICS-15"),
    sign=Sign(
        pattern=LogPattern.FRAME_OVER_LIMIT,
        events=(Logged.FRAME_TOO_LONG,),
        because="a request was longer than the receiver's frame limit (com.rocketmq.remoting.frameMaxLength); to a name "
        "server it is a registration with too many topics, whose broker drops out",
    ),
    topology=Topology(name="article", name_servers=3, masters=2, slaves_per_master=1),
    arms=(
        Arm(
            name="baseline",
            what="a nearly full registration (97 %), and nothing new",
            fault=NoFault(),
            **ONCE_WITHOUT_SLAVES,
        ),
        Arm(
            name="incident",
            what="new groups cross a frame limit of 256 KiB, with short, usual and long names",
            fault=CrossFrameLimit(frame_bytes=SMALL_BYTES),
            **ONCE_WITHOUT_SLAVES,
            cells=({"name_bytes": 31}, {"name_bytes": ARTICLE_NAME_BYTES}, {"name_bytes": 95}),
        ),
        Arm(
            name="incident-full-size",
            what="the same with the default limit of 16 MiB and some 71,000 topics",
            fault=CrossFrameLimit(frame_bytes=FRAME_BYTES_MAX, last_name_bytes=ARTICLE_NAME_BYTES),
            load=LOAD,
            broker=FULL,
            cells=({"name_bytes": LONG_NAME_BYTES},),
            trials=1,
            phases=Phases(steady_s=5.0, hold_s_min=SEEN_S, hold_s_max=SEEN_S, recover_s=66.0, drain_s_max=15.0),
        ),
        Arm(
            name="fix-raise-limit",
            what="the limit is raised on one name server after the other; then the flood goes on",
            fault=CrossFrameLimit(frame_bytes=SMALL_BYTES, fix="raise-limit", raised_bytes=RAISED_BYTES),
            **NEARLY_FULL,
        ),
        Arm(
            name="fix-delete-offline",
            what="retry topics of offline groups are deleted by the audit's remedy",
            fault=CrossFrameLimit(frame_bytes=SMALL_BYTES, fix="delete-offline"),
            **NEARLY_FULL,
        ),
        Arm(
            name="better-compressed",
            what="compressedRegister, with half as much again as fits otherwise; 5.x compresses without saying so",
            broker=_small(1.5, compressedRegister="true"),
            **MORE_THAN_FITS,
            releases=RELEASES_4X,
        ),
        Arm(
            name="better-split",
            what="enableSplitRegistration, with half as much again as fits otherwise",
            broker=_small(1.5, enableSplitRegistration="true"),
            **MORE_THAN_FITS,
            releases=RELEASES_5X,
        ),
    ),
    # After the hold 30 s for the name servers, and 36 s for the clients.
    phases=Phases(steady_s=5.0, hold_s_min=60.0, hold_s_max=60.0, recover_s=66.0, drain_s_max=15.0),
    claims=(TOPICS_01, TOPICS_02, TOPICS_03, TOPICS_07, TOPICS_13, TOPICS_14, TOPICS_15),
    budget=TrialBudget(trials=2, deployments=2, extra_trials=1),
    quick_budget=TrialBudget(trials=2, deployments=2, extra_trials=1),
    quick_cells={"incident": ({"name_bytes": ARTICLE_NAME_BYTES},), "incident-full-size": ()},
    exclusive=False,
    hiccup_ms_max=60_000.0,
    schedule="side by side",
    cluster_per_trial=True,
    extra_measures=("crossed_again",),
)
