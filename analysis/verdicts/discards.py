"""Why a trial does not count for claims: only for what something other than the system under test has seen.

Whatever broker, name server or client does after the fault began is a result: a broker that stops itself, an append that
outlasts the freeze, a node that does not come back. How noisy the host may be is asked part by part (``kinds``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from analysis.evidence.trials import TrialFacts
from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.validity import (
    KILL_S_MAX,
    PAUSE_TOLERANCE_MS,
    STALL_TOLERANCE_MS,
    STALL_TOLERANCE_SHARE,
    WALL_STEP_MS_MAX,
    load_was_over,
)
from harness.model.faults import Proof
from harness.model.scenario import Scenario
from harness.model.verdicts import Discard


def with_discards(
    validity: Sequence[TrialValidity], facts: Sequence[TrialFacts], scenarios: Sequence[Scenario]
) -> list[TrialValidity]:
    """The same with why each trial does not count for claims."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    return [
        dataclasses.replace(judged, discarded=why_discarded(item, by_name[item.trial.incident]))
        if item.trial.incident in by_name
        else judged
        for judged, item in zip(validity, facts, strict=True)
    ]


def why_discarded(facts: TrialFacts, scenario: Scenario) -> Discard | None:
    """One of the closed list, or None for a trial that counts."""
    fault = next((arm.fault for arm in scenario.arms if arm.name == facts.trial.arm), None)
    if fault is None or not fault.proofs or not set(fault.proofs) <= set(_INJECTED):
        return Discard.HARNESS
    if facts.trial.status != "complete" and (facts.fault_ns is None or facts.trial.status == "interrupted"):
        return Discard.HARNESS
    if facts.records == 0 or facts.fault_ns is None or facts.hiccup_ms_max is None or facts.wall_minus_mono_us is None:
        return Discard.HARNESS
    if load_was_over(facts, scenario):
        return Discard.HARNESS
    if facts.wall_step_ms > WALL_STEP_MS_MAX:
        return Discard.CLOCK
    did_it = facts.no_effect is None and all(_INJECTED[proof](facts) for proof in fault.proofs)
    return None if did_it else Discard.INJECTOR


# --- whether the injector did what was asked, by its own stamps -----------------------------------------------------------


def _lasted(facts: TrialFacts) -> bool:
    """The freeze's own length, or that of the rule inside the append; what the append made of a freeze is a result."""
    asked, achieved = facts.asked_ms, facts.achieved_ms
    if achieved is None and facts.append_entry_ns is not None and facts.append_exit_ns is not None:
        achieved = (facts.append_exit_ns - facts.append_entry_ns) / 1e6
    if asked is None or achieved is None:
        return False
    return abs(achieved - asked) <= max(STALL_TOLERANCE_MS, STALL_TOLERANCE_SHARE * asked)


def _paused(facts: TrialFacts) -> bool:
    if facts.asked_ms is None or facts.achieved_ms is None:
        return False
    return abs(facts.achieved_ms - facts.asked_ms) <= PAUSE_TOLERANCE_MS


def _injected(facts: TrialFacts) -> bool:
    return facts.injecting_ns is not None and facts.injected_ns is not None


def _killed(facts: TrialFacts) -> bool:
    if facts.injecting_ns is None or facts.injected_ns is None:
        return False
    return (facts.injected_ns - facts.injecting_ns) / 1e9 <= KILL_S_MAX


_INJECTED: Mapping[Proof, Callable[[TrialFacts], bool]] = {
    Proof.NOTHING: lambda facts: True,
    Proof.STAMPED: lambda facts: facts.appends > 0 and _lasted(facts),
    Proof.LASTED: _lasted,
    Proof.PAUSED: _paused,
    Proof.OWNERS_KILLED: _killed,
    # A shutdown that was begun and never returns is the client's doing.
    Proof.OWNERS_SHUT_DOWN: lambda facts: facts.injecting_ns is not None,
    Proof.OWNERS_GONE: _injected,
    Proof.BROKER_GONE: _injected,
    Proof.HELD: lambda facts: "injected" in facts.states and facts.exercised is not None,
    Proof.DONE: lambda facts: "injected" in facts.states,
    Proof.WATCHED: lambda facts: bool(facts.watched_appends),
}
