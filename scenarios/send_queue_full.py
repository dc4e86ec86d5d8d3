"""A1: sends are jammed, and everything else goes on?

A stall of 1200 ms jams the send pool: its thread waits, its queue fills, and new sends are refused. Beside it, one request
at a time goes to each of three other pools of the same broker: a pull, an offset query (the pool of administration), a
heartbeat. Each kind is in a connection of its own, so that one never waits for another in the client.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.claims import (
    CONFIRMED,
    claim,
    expect,
    mean,
    median,
    of,
)

RATE_HZ = 500
LOAD = OpenLoopSends(probes=("pull", "admin", "heartbeat"))
STALL = {"stall_ms": 1200, "rate_hz": RATE_HZ}


BUSY_15 = claim(
    "BUSY-15", "A1", "Each request processor has its own thread pool, so a jam in one leaves the others running.",
    reading="While an append is stalled for 1200 ms and sends are refused, pulls, offset queries and heartbeats to the same "
    "broker are answered within 150 ms, all of them.",
    expected=expect(
        CONFIRMED, "sends, pulls, administration and heartbeats are registered with executors of their own, and only that of "
        "sends waits for the put lock", "org.apache.rocketmq.broker.BrokerController.registerProcessor"
    ),
    parts={
        "refused sends": mean(
            of("rejected_count", "incident", keyword="any"), ">=", 10.0, "requests a stall",
            "Without refused sends there was no jam from which anything could have been kept apart.", units_min=3),
        "longest pull": median(
            of("probe_worst_ms", "incident", kind="pull"), "<=", 150.0, "ms",
            "An eighth of the stall: a pool that waited for the jam would need most of its 1200 ms, an idle one a few.",
            units_min=3),
        "longest admin": median(
            of("probe_worst_ms", "incident", kind="admin"), "<=", 150.0, "ms",
            "An eighth of the stall: a pool that waited for the jam would need most of its 1200 ms, an idle one a few.",
            units_min=3),
        "longest heartbeat": median(
            of("probe_worst_ms", "incident", kind="heartbeat"), "<=", 150.0, "ms",
            "An eighth of the stall: a pool that waited for the jam would need most of its 1200 ms, an idle one a few.",
            units_min=3),
        "unanswered": mean(
            of("probe_unanswered_count", "incident"), "<=", 1.5, "requests a stall",
            "None is expected; three stalls of three kinds without any bound the mean below 1.3.", units_min=3),
    },
    summary="While {refused sends} sends a stall were refused, the longest pull took {longest pull} ms, the longest offset "
    "query {longest admin} ms and the longest heartbeat {longest heartbeat} ms.",
)  # fmt: skip

SCENARIO = Scenario(
    name="send-queue-full",
    title="The send pool is jammed, the others are not",
    article="A1",
    summary="Open-loop sends with one stalled append, and requests to the other thread pools meanwhile; with a send queue of "
    "50 places and with the default of 10,000.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="The same requests, no stall.",
            fault=NoFault(),
            load=LOAD,
            cells=({"stall_ms": 0, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="incident",
            what="One append stalls for 1200 ms; every setting at its default.",
            fault=AppendStall(),
            load=LOAD,
            cells=(STALL,),
        ),
        Arm(
            name="incident-small-queue",
            what="The same with sendThreadPoolQueueCapacity=50: the queue is full for most of the stall.",
            fault=AppendStall(),
            load=LOAD,
            broker=BrokerSettings(conf={"sendThreadPoolQueueCapacity": "50"}),
            cells=({"stall_ms": 450, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="fix-large-queue",
            what="The default capacity under the same shorter stall: nothing is refused for want of room.",
            fault=AppendStall(),
            load=LOAD,
            cells=({"stall_ms": 450, "rate_hz": RATE_HZ},),
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_15,),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"incident-small-queue": (), "fix-large-queue": ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
)
"""The freeze stops the pages that a pull reads from as well, so that it could not tell one pool's jam from another's."""
