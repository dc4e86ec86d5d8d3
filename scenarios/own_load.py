"""A load of the user's own, and what every load is judged by: each claim is true or false of its one history.

``mqlab load`` fills in topology, load, faults and phases. It is no incident: this file states none as its ``SCENARIO``.
"""

from __future__ import annotations

import math

from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.loads import OpenLoopSends
from harness.model.rules import Claim, Fold, Kind, Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget


def _none(name: str, says: str, violations: str, reading: str) -> Claim:
    """A claim that holds where its history has none of the violations. Its id is the name: ``a-key-a-queue``."""
    part = Part(
        name=name,
        kind=Kind.THIS_RUN,
        of=Selection(measure=name, arm=""),
        fold=Fold.EACH,
        relation="<=",
        bound=0.0,
        if_true=0.0,
        if_false=1.0,
        because="Of what must not be there one is too many.",
        noun=violations,
    )
    ident = "-".join(name.replace(",", "").split())
    return Claim(id=ident, article="", says=says, reading=reading, parts=(part,), expected={}, summary=f"{{{name}}}")


CLAIMS = (
    _none(
        "all arrived",
        "Every accepted message was consumed.",
        "messages",
        "The sequence numbers in accepted bodies, less the consumed ones.",
    ),
    _none(
        "nothing lost",
        "No acknowledged message is lost.",
        "messages",
        "Acknowledged offsets that were never consumed, after a drain.",
    ),
    _none(
        "nothing twice",
        "No message is delivered twice.",
        "consumptions",
        "Consumptions of a queue's offsets beyond the first of each.",
    ),
    _none(
        "stored once",
        "No message is stored twice.",
        "messages",
        "Sequence numbers that lie in more than one place of the stores.",
    ),
    _none(
        "in order",
        "Each queue's messages come in order.",
        "consumptions",
        "First consumptions of a queue after one of a higher offset.",
    ),
    _none(
        "one consumer a queue",
        "No two consumers work on one queue at once.",
        "ms",
        "Milliseconds of overlap of two members.",
    ),
    _none("bodies whole", "Bodies arrive unchanged.", "bodies", "Bodies that name this run and have their checksum."),
    _none(
        "store agrees",
        "The brokers hold what they acknowledged.",
        "messages and queues",
        "The queues' ends against acknowledged offsets.",
    ),
    _none(
        "a key, a queue",
        "A key stays in one queue.",
        "keys",
        "Different queues of a key's messages, where sends go by key.",
    ),
    _none("Locust agrees", "Locust counted what the history has.", "sends", "Requests and failures of both accounts."),
    _none("history whole", "The history has no damaged line.", "lines", "Lines that are no whole records."),
    _none(
        "faults took effect",
        "Each fault was made, and took effect.",
        "faults",
        "What proves a fault in an incident: its own stamps.",
    ),
    _none(
        "refusals as predicted",
        "A stalled append has the refusals that the model predicts.",
        "keywords",
        "Refused sends by keyword, within 5 %, one period of the cleaner, or the 95 % Poisson interval of the prediction.",
    ),
    _none(
        "queues taken over",
        "Others take the queues of an ended consumer over.",
        "queues",
        "The next consumption of each queue by another.",
    ),
)
"""In the order in which they are told. Of a load those are judged that it promises: order, say, where it consumes in order."""

OWN_LOAD = Scenario(
    name="load",
    title="A load of one's own",
    article="",
    summary="Sends that Locust steers, consumers that verify every body, and the faults that were put on them.",
    topology=Topology(name="single"),
    arms=tuple(
        Arm(name=name, what=what, fault=NoFault(), load=OpenLoopSends())
        for name, what in (("baseline", "No fault."), ("incident", "Faults at times of the load."))
    ),
    phases=Phases(steady_s=0.0, hold_s_min=0.0, hold_s_max=0.0, recover_s=0.0),
    claims=CLAIMS,
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    hiccup_ms_max=math.inf,
)
