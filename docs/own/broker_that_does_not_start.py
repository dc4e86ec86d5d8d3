"""Somebody has our broker's port when it is started anew: does it say so, and does it start once the port is free?"""

import socket

from mqlab.incident import Arm, Do, NoFault, OpenLoopSends, Phases, Scenario, StartNode, StopNode, Topology, TrialBudget
from mqlab.incident import claim, fact, read, side

TAKEN = []


def take_port(here):
    """Another program listens where the broker would."""
    host, port = here.node("broker-a").address.split(":")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen()
    TAKEN.append(listener)


def free_port(here):
    """It ends."""
    TAKEN.pop().close()


STEPS = (
    StopNode(node="broker-a"),
    Do(what="somebody takes the port", by=take_port),
    # With an outcome it is a result whether it starts; without one a trial in which it does not shows nothing.
    StartNode(node="broker-a", outcome="with-taken-port", says="BindException|Address already in use"),
    Do(what="the port is free again", by=free_port),
    StartNode(node="broker-a", outcome="with-free-port"),
)
PORT = claim(
    "MINE-02",
    "runbook",
    "A broker whose port is taken does not start and names the reason; later it starts.",
    reading="It does not come up, its own files have a line of the taken port, and it comes up when the port is free.",
    parts={
        "stays down": fact(read("with-taken-port", "incident"), side(0, 1, "it starts, or it does not")),
        "says why": fact(read("with-taken-port-lines", "incident"), side(1, 0, "a line or more, or none", bound=1)),
        "starts later": fact(read("with-free-port", "incident"), side(1, 0, "it starts, or it does not")),
    },
)

SCENARIO = Scenario(
    name="broker-that-does-not-start",
    title="A broker whose port is taken",
    topology=Topology(name="single"),
    arms=(
        Arm(name="incident", what="Its port is taken.", fault=NoFault(), load=OpenLoopSends(), cells=({"rate_hz": 20},),
            steps=STEPS),
    ),
    phases=Phases(steady_s=1, hold_s_min=1, hold_s_max=1, recover_s=1),
    claims=(PORT,),
    budget=TrialBudget(trials=2, deployments=2),
)
