"""A load of the user's own, which claims nothing that an article says: what every load is judged by stands in the analysis.

``mqlab load`` fills in topology, load, faults and phases. It is no incident: this file states none as its ``SCENARIO``.
"""

from __future__ import annotations

import math

from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget

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
    claims=(),
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    hiccup_ms_max=math.inf,
)
