"""Two incidents of the tests' own, and a trial of each without a violation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.cluster import Topology
from harness.model.faults import AppendStall, KillOwners, NoFault, ShutDownOwners
from harness.model.loads import OpenLoopSends, OrderedGroups
from harness.model.rules import Claim, Part
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.rules import claim, confirmed, exists, fact, happens, of, side
from tests.lib.trials import LOCK_THREAD, MS, OWNER, PRODUCER, SUCCESSOR, Record, S, Trial, at, wall_us

GROUPS = ("g0", "g1")
QUEUES = 2
SENDS_HZ = 10
MESSAGES = 110


def handover(name: str, *, arm: str = "incident", fault: str = "kill-owners", deployment: str = "d1") -> Trial:
    """Two groups consume two queues in order; after 6 s the owners end, and 3 s later the successors take over.

    Message i of a queue has offset i and is sent at i / 10 s. Until the fault the owner consumes it 5 ms later, what
    is sent from then on is consumed by the successor, from 9 s on.
    """
    trial = _empty(name, "handover", arm, deployment, groups=list(GROUPS), injection="signal", fault=fault)
    _clock(trial, -6_000, (PRODUCER, OWNER, SUCCESSOR))
    steps = {"up": -5_500, "steady": 0, "inject": 100, "hold": 6_000, "recover": 7_000, "drain": 8_000, "down": 9_000}
    _phases(trial, -6_000, steps)
    states = {"asked": -1, "injecting": 0, "injected": 3, "healing": 4, "healed": 5}
    for state, after_ms in states.items():
        if fault != "none" or state in ("asked", "injecting"):
            trial.event("fault", fault=fault, state=state, at_ns=at(after_ms), target="pid 1", detail="")
    _hiccups(trial, -6_000, seconds=15)
    trial.event("drain", at_ns=at(8_000), complete=True, remaining=0)
    for queue in range(QUEUES):
        trial.store_max(MESSAGES, queue=queue)
    for group in GROUPS:
        for process in (OWNER, SUCCESSOR):
            client_id = f"127.0.0.1@{name}-{group}-{process}"
            told = {"event": "started", "at_ns": at(-6_000), "client_id": client_id}
            trial.record(process, "instance", instance=f"{group}-{process}", group=group, **told)
    _locks(trial, changed=fault != "none")
    for offset in range(MESSAGES):
        for queue in range(QUEUES):
            _message(trial, offset=offset, queue=queue, handed_over=fault != "none")
    return trial


def own_load() -> Trial:
    """A load without a fault: 110 messages in each of two queues, ordered by two keys, consumed by one group."""
    trial = handover("load", arm="baseline", fault="none")
    trial.groups, trial.params = ["g0"], {"route": "selector", "ordered": "yes", "rate_hz": 20.0}
    trial.drop(lambda record: record.get("group") == "g1")
    return trial


def _message(trial: Trial, *, offset: int, queue: int, handed_over: bool) -> None:
    """One message: its send, and its consumption by each group."""
    sent_ns = at(-6_000) + offset * S // SENDS_HZ
    message: Record = {
        "topic": trial.topic,
        "broker": "broker-a",
        "queue": queue,
        "offset": offset,
        "key": f"k{queue}",
        "seq": offset * QUEUES + queue,
        "intended_ns": sent_ns,
        "started_ns": sent_ns,
        "finished_ns": sent_ns + MS,
        "outcome": "ok",
    }
    trial.record(PRODUCER, "send", instance="p0", client="java", remark="", error="", **message)
    by_owner = sent_ns < at(0) or not handed_over
    started_ns = sent_ns + 5 * MS
    if not by_owner:
        started_ns = max(started_ns, at(3_000) + offset * 10_000)
    message |= {"started_ns": started_ns, "finished_ns": started_ns + 5_000, "reconsume": 0, "stored_ms": 0}
    process = OWNER if by_owner else SUCCESSOR
    for group in GROUPS:
        trial.record(process, "consume", instance=f"{group}-{process}", group=group, **message)


def _locks(trial: Trial, *, changed: bool) -> None:
    """Renewals 5 s, 3 s and 1 s before the fault; the successor asks 1 s after it in vain, and gets all at 2.9 s."""
    for group in GROUPS:
        for at_ms in (-5_000, -3_000, -1_000):
            trial.lock(OWNER, at_ms=at_ms, granted=True, queues=range(QUEUES), thread=LOCK_THREAD, group=group)
        # A client renews all of its locks in one request, and takes over by its rebalance, a queue at a time.
        for at_ms in (1_000, 2_900) if changed else ():
            for queue in range(QUEUES):
                trial.lock(SUCCESSOR, at_ms=at_ms, granted=at_ms == 2_900, queues=(queue,), group=group)


ENTRY_MS = 500


def stall(
    name: str,
    *,
    arm: str = "incident",
    stall_ms: float = 450.0,
    refused: int = 30,
    deployment: str = "d2",
    injection: str = "signal",
    **attributes: Any,
) -> Trial:
    """100 sends a second over 8 s from 3 s before the fault on; one append stalls from 500 ms after the fault on.

    ``refused`` sends that were due in it fail. The first refusal comes back 205 ms after it was due, with a period of
    205 ms and a queue of ``refused`` requests.
    """
    kind = "append-stall" if stall_ms else "none"
    trial = _empty(name, "stall", arm, deployment, injection=injection, fault=kind, **attributes)
    _clock(trial, -3_000, (PRODUCER,))
    _phases(trial, -3_000, {"steady": 0, "inject": 200, "hold": 5_000, "drain": 5_500, "down": 6_000})
    _hiccups(trial, -3_000, seconds=9)
    entry_ns, exit_ns = at(ENTRY_MS), at(ENTRY_MS + stall_ms)
    trial.event("fault", fault=kind, state="injecting", at_ns=at(0), target="", detail="")
    if stall_ms:
        for state in ("injected", "healing", "healed"):
            lengths = {"asked_ms": stall_ms, "achieved_ms": stall_ms}
            trial.event("fault", fault=kind, state=state, at_ns=exit_ns, target="broker-a", detail="", **lengths)
        trial.event("append", node="broker-a", entry_ns=entry_ns, delay_end_ns=exit_ns - 1, exit_ns=exit_ns)
    for number in range(800):
        _send(trial, number, at(-3_000) + number * 10 * MS, entry_ns=entry_ns, exit_ns=exit_ns, refused=refused)
    return trial


def _send(trial: Trial, number: int, due_ns: int, *, entry_ns: int, exit_ns: int, refused: int) -> None:
    after = (due_ns - entry_ns) // (10 * MS)
    is_refused = 0 <= after < refused
    remark = (
        "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, "
        f"period in queue: {205 + after}ms, size of queue: {refused - 1 - after}"
    )
    stored_ns = exit_ns if entry_ns <= due_ns < exit_ns else due_ns
    trial.record(
        PRODUCER,
        "send",
        instance="p0",
        client="java",
        topic=trial.topic,
        key="k",
        seq=number,
        intended_ns=due_ns,
        started_ns=due_ns,
        finished_ns=due_ns + (205 + after) * MS if is_refused else stored_ns + MS,
        outcome="failed" if is_refused else "ok",
        code=2 if is_refused else None,
        error="MQBrokerException" if is_refused else "",
        remark=remark if is_refused else "",
        broker="broker-a",
        queue=0,
        offset=None if is_refused else number,
        msg_id="",
    )


def _empty(name: str, incident: str, arm: str, deployment: str, **attributes: Any) -> Trial:
    """Its events are all written here, so that a test can take any of them away."""
    return Trial(name=name, incident=incident, arm=arm, deployment=deployment, has_frame=False, **attributes)


def _phases(trial: Trial, from_ms: float, ends_ms: Mapping[str, float]) -> None:
    for phase, to_ms in ends_ms.items():
        trial.event("phase", phase=phase, event="begin", at_ns=at(from_ms))
        trial.event("phase", phase=phase, event="end", at_ns=at(to_ms))
        from_ms = to_ms


def _clock(trial: Trial, from_ms: float, processes: tuple[str, ...]) -> None:
    for at_ms in (from_ms, from_ms + 10_000, from_ms + 20_000):
        trial.event("anchor", process="harness", mono_ns=at(at_ms), wall_us=wall_us(at_ms))
        for process in processes:
            trial.anchor(process, at_ms=at_ms)


def _hiccups(trial: Trial, from_ms: float, *, seconds: int) -> None:
    for tenth in range(seconds * 10):
        at_ms = from_ms + tenth * 100
        trial.event("hiccup", from_ns=at(at_ms), at_ns=at(at_ms + 100), late_ms_max=1.0, samples=50)


# --- the incidents ----------------------------------------------------------------------------------------------------


def _claim(claim_id: str, part: Part) -> Claim:
    expected = confirmed("the test", "the test", ("4.6.0",))
    return claim(claim_id, "A0", "s", reading="r", parts={"it": part}, expected=expected, summary="It is so {it}.")


def _scenario(name: str, arms: tuple[Arm, ...], claims: tuple[Claim, ...]) -> Scenario:
    return Scenario(
        name=name,
        title=name,
        article="A0",
        summary="",
        topology=Topology(name="one"),
        arms=arms,
        phases=Phases(steady_s=6, hold_s_min=6, hold_s_max=6, recover_s=1),
        claims=claims,
        budget=TrialBudget(trials=1, deployments=1),
        quick_budget=TrialBudget(trials=1, deployments=1),
        exclusive=False,
        hiccup_ms_max=20,
    )


_ORDERED, _SENDS = OrderedGroups(groups=2), OpenLoopSends()

SCENARIOS = (
    _scenario(
        "handover",
        (
            Arm(name="baseline", what="", fault=NoFault(), load=_ORDERED),
            Arm(name="incident", what="", fault=KillOwners(), load=_ORDERED),
            Arm(name="fix-shutdown", what="", fault=ShutDownOwners(), load=_ORDERED),
        ),
        (
            _claim("HAND-01", exists(of("handover_s", "incident"), side(3, 1, "for the test", bound=2))),
            _claim("HAND-02", fact(of("lost_count", "incident"), side(0, 10, "for the test"), deployments_min=1)),
            _claim("HAND-03", happens(of("lock_lines_waiting", "incident", file="lock.log"), 2, "for the test")),
        ),
    ),
    _scenario(
        "stall",
        (
            Arm(name="baseline", what="", fault=NoFault(), load=_SENDS),
            Arm(name="incident", what="", fault=AppendStall(), load=_SENDS),
            Arm(name="fix-wait", what="", fault=AppendStall(), load=_SENDS),
        ),
        (
            _claim(
                "STALL-01",
                exists(of("rejected_count", "incident", keyword="any"), side(30, 0, "for the test", bound=5)),
            ),
        ),
    ),
)
