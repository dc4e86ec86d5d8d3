"""An incident of one's own with each load: every measure of the load has values, whichever names incidents and arms have.

What a measure is of stands in its row of the catalogue. Most are planted by the files beside this one; here each load has a trial
with what all of them have in common, and with what the harness reads and asks beside any load.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection

import pytest

from harness.load.own import OwnLoad
from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.cluster import Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.group_members import GroupMembers, Member
from harness.model.loads import (
    DelayedMessages,
    FailingMessages,
    KeyedSends,
    LateGroup,
    LoadValue,
    OpenLoopSends,
    OrderedGroups,
    QueueNumbers,
    ReturningGroup,
    SteadyClients,
    Transactions,
)
from harness.model.measures import MEASURES, measures_of
from harness.model.python_sends import PythonSendKinds
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.send_kinds import SendKinds
from harness.model.steps import READ
from harness.model.unflushed import UnflushedTail
from tests.lib.kinds_of_load import kinds_of_load
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, Trial, at, started

LOADS: tuple[LoadValue, ...] = (
    OpenLoopSends(),
    AvoidingProducers(producers=(Avoider(name="one"),)),
    OrderedGroups(groups=1),
    SteadyClients(groups=1),
    FailingMessages(),
    LateGroup(),
    ReturningGroup(),
    DelayedMessages(),
    Transactions(),
    QueueNumbers(groups=1),
    KeyedSends(kinds=("hash",)),
    GroupMembers(members=(Member(),)),
    UnflushedTail(),
    SendKinds(),
    PythonSendKinds(),
)
HOLD_MS, STALL_MS = 4_000.0, 450


def _name(load: LoadValue) -> str:
    return f"with-{type(load).__name__.lower()}"


def _scenario(load: LoadValue) -> Scenario:
    return Scenario(
        name=_name(load),
        title="With a load",
        topology=Topology(name="single"),
        arms=(
            Arm(name="baseline", what="", fault=NoFault(), load=load),
            Arm(name="incident", what="", fault=AppendStall(), load=load),
        ),
        phases=Phases(steady_s=1, hold_s_min=1, hold_s_max=1, recover_s=1),
        claims=(),
        budget=TrialBudget(trials=1, deployments=1),
    )


def _trial(run: Run, load: LoadValue) -> Trial:
    """An append stalls for 450 ms; ten sends are accepted before it and after it, one waits for it and three are refused."""
    own = {measure.name for measure in MEASURES.values() if measure.is_of(load)}
    groups = [f"{_name(load)}-g0"] if load.group_names() else []
    trial = run.trial(
        _name(load), _name(load), "incident", groups=groups, params={"stall_ms": STALL_MS, "rate_hz": 100}, hold_ms=HOLD_MS,
        fault=AppendStall.kind, asked_ms=float(STALL_MS), achieved_ms=STALL_MS + 0.2,
    )  # fmt: skip
    trial.append(entry_ms=1, exit_ms=1 + STALL_MS)
    for seq in range(20):
        trial.send(seq, due_ms=-1_000 + 200 * seq, offset=seq)
        if "attempts" in own:
            trial.record(PRODUCER, "attempt", seq=seq, address="127.0.0.1:20911", at_ns=at(-1_000 + 200 * seq))
        if groups:
            trial.consume(seq, at_ms=-1_000 + 200 * seq + 5, due_ms=-1_000 + 200 * seq)
    for seq, keyword in enumerate(("TIMEOUT_CLEAN_QUEUE", "PC_SYNCHRONIZED", "OVERLOAD"), start=30):
        trial.refused(seq, keyword, due_ms=10.0 * (seq - 29), period_ms=210, size=2)
        if "attempts" in own:
            trial.record(PRODUCER, "attempt", seq=seq, address="127.0.0.1:20911", at_ns=at(10.0 * (seq - 29)))
    # The fault is healed a millisecond after the hold.
    trial.send(40, due_ms=HOLD_MS + 0.5, offset=20)
    for log in ("broker.log", "lock.log", "store.log"):
        run.log(trial.deployment, log, started())
    if "lost_count" in own:
        trial.store_max(0, moment="before")
        trial.store_max(21, group=groups[0] if groups else None, consumer_offset=20 if groups else None)
    _asked(trial, own)
    return trial


def _asked(trial: Trial, own: Collection[str]) -> None:
    """What is read off a broker beside the load, and what the cluster is asked: each by the measure's own name."""
    faults = ("write_faults",) if "append_faults" in own else ()
    for name in (*(name for name in measures_of("readings") if name in own), *faults):
        for moment, at_ms in (("before", -500.0), ("after", HOLD_MS + 100)):
            trial.event(
                "reading", at_ns=at(at_ms), name=name, value=at_ms + 600, target="broker-a", moment=moment, detail=""
            )
    for name in (name for name in measures_of("answers") if name in own):
        trial.event("probe", at_ns=at(10), measure=name, value=1.0, of="it", params="{}", detail="")
    if "probe_worst_ms" in own:
        trial.event("request", kind="pull", code=0, started_ns=at(100), finished_ns=at(103))


def plant(run: Run) -> Asked:
    for load in LOADS:
        _trial(run, load)
    return Asked(scenarios=tuple(map(_scenario, LOADS)), measures=tuple(MEASURES))


def test_each_load_has_a_trial() -> None:
    assert {type(load) for load in LOADS} == kinds_of_load() - {OwnLoad}


@pytest.fixture(scope="module")
def given(seen: Analysis, loads_of_arms: dict[tuple[str, str], str]) -> dict[str, set[str]]:
    """By load the measures that trials with it have a value of."""
    trials, deployments = {}, defaultdict(set)
    for path in (seen.path / "trials").iterdir():
        told = json.loads((path / "trial.json").read_text())
        load = loads_of_arms.get((told["incident"], told["arm"]), "")
        trials[told["trial"]] = load
        deployments[told["deployment"]].add(load)
    found = defaultdict(set)
    for row in seen.rows:
        for load in {trials[row.trial]} if row.trial else deployments[row.deployment]:
            found[load].add(row.measure)
    return found


@pytest.mark.parametrize("load", LOADS, ids=lambda load: type(load).__name__)
def test_every_measure_of_a_load_has_values_in_an_incident_of_ones_own(
    load: LoadValue, given: dict[str, set[str]]
) -> None:
    # A reading is what a step gives, whatever the load is.
    wanted = {measure.name for measure in MEASURES.values() if measure.is_of(load) and measure.name != READ}
    assert sorted(wanted - given[type(load).__name__]) == []


def test_no_load_has_a_value_that_its_rows_do_not_name(seen: Analysis) -> None:
    own = {_name(load): load for load in LOADS}
    unnamed = {
        (row.trial, row.measure)
        for row in seen.rows
        if row.trial in own and not MEASURES[row.measure].is_of(own[row.trial])
    }
    assert sorted(unnamed) == []
