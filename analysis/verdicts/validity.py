"""Validity: which trials count, and in words why the others do not.

A trial counts when it was completed and not superseded, every proof that its fault names holds, the machine was quiet
enough meanwhile, the wall clock did not step, and its clients wrote a history. A fault that names no proof, or one that is
not known here, is never counted. Each check that fails gives its reason; a trial may have several. Spark folded the windows
and stamps (``analysis/evidence/trials.py``); what is left is one comparison a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from analysis.evidence.trials import TrialFacts
from analysis.verdicts.evidence import Exclusion, TrialValidity
from harness.model.faults import Proof
from harness.model.scenario import Scenario
from harness.model.verdicts import Reason
from harness.rundir.manifest import FREEZE

WALL_STEP_MS_MAX = 50.0
"""Slewing moves the clock by at most 5 ms in the 10 s between two anchors; more than this is a step."""

STALL_TOLERANCE_MS, STALL_TOLERANCE_SHARE = 15.0, 0.05
KILL_S_MAX = 2.0
PAUSE_TOLERANCE_MS = 1000.0
"""Replacements that join during a pause make it as much longer as one of them takes to start."""

EFFECT_TOLERANCE_MS = 30.0
"""An append may wait already while the freeze engages, which takes longer the busier the machine is. A stall of 150 ms has
to stay well below the 200 ms at which requests are refused."""

STOPPED_MS_MAX = 2.0
"""The log has whole milliseconds; a safepoint that meets a frozen thread lasts until the thaw."""

OVER_S = 5.0
"""Locust's users together send many times a second, and none of them waits so long for an answer."""

_Check = Callable[[TrialFacts, Scenario], Iterator[Exclusion]]


def judge(facts: Sequence[TrialFacts], scenarios: Sequence[Scenario]) -> list[TrialValidity]:
    """The validity of every trial; one of an incident that is not among ``scenarios`` does not count."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    return [_judge_one(item, by_name.get(item.trial.incident)) for item in facts]


def _judge_one(facts: TrialFacts, scenario: Scenario | None) -> TrialValidity:
    if scenario is None:
        exclusion = Exclusion(reason=Reason.NOT_EXERCISED, words=f"the incident {facts.trial.incident} is not known")
        return TrialValidity(trial=facts.trial.trial, exclusions=(exclusion,), hiccup_ms_max=facts.hiccup_ms_max)
    exclusions = tuple(exclusion for check in _CHECKS for exclusion in check(facts, scenario))
    return TrialValidity(
        trial=facts.trial.trial, exclusions=exclusions, notes=tuple(_notes(facts)), hiccup_ms_max=facts.hiccup_ms_max
    )


def _notes(facts: TrialFacts) -> Iterator[str]:
    if facts.damaged_lines:
        yield f"{facts.damaged_lines} lines are no whole records (a kill truncates the last one) and were left out"
    if facts.trial.groups and not facts.drained:
        left = "no drain was recorded" if facts.drained is None else f"{facts.remaining} messages were left"
        yield f"the drain did not finish ({left}): loss and duplicates were not judged"


# --- checks -----------------------------------------------------------------------------------------------------------


def _completed(facts: TrialFacts, scenario: Scenario) -> Iterator[Exclusion]:
    if facts.trial.superseded_by:
        words = f"it was repeated as {facts.trial.superseded_by}"
        yield Exclusion(reason=Reason.TOO_NOISY, words=words)
    if facts.trial.status != "complete":
        why = f": {facts.trial.error}" if facts.trial.error else ""
        yield Exclusion(reason=Reason.NOT_EXERCISED, words=f"it is {facts.trial.status}, not complete{why}")


def _has_history(facts: TrialFacts, scenario: Scenario) -> Iterator[Exclusion]:
    if facts.records == 0:
        yield Exclusion(reason=Reason.MISSING_EVIDENCE, words="its history is empty")
    if facts.fault_ns is None or facts.hold_to_ns is None:
        yield Exclusion(
            reason=Reason.MISSING_EVIDENCE, words="its events do not say when the fault was and the hold ended"
        )


def load_was_over(facts: TrialFacts, scenario: Scenario) -> bool:
    """Whether a load that Locust steers had ended seconds before the fault, which no fault can have brought about."""
    arm = next((arm for arm in scenario.arms if arm.name == facts.trial.arm), None)
    if arm is None or getattr(arm.load, "locust", None) is None or facts.fault_ns is None:
        return False
    return facts.sent_to_ns is None or facts.fault_ns - facts.sent_to_ns > OVER_S * 1e9


def _was_sent(facts: TrialFacts, scenario: Scenario) -> Iterator[Exclusion]:
    if load_was_over(facts, scenario):
        yield _not_exercised("its load had ended before the fault")


def _one_clock(facts: TrialFacts, scenario: Scenario) -> Iterator[Exclusion]:
    if facts.wall_minus_mono_us is None:
        yield Exclusion(reason=Reason.MISSING_EVIDENCE, words="no anchor ties its wall clock to the monotonic one")
    elif facts.wall_step_ms > WALL_STEP_MS_MAX:
        words = f"the wall clock stepped by {facts.wall_step_ms:.0f} ms (at most {WALL_STEP_MS_MAX:.0f} ms is slewing)"
        yield Exclusion(reason=Reason.TOO_NOISY, words=words)


def _quiet(facts: TrialFacts, scenario: Scenario) -> Iterator[Exclusion]:
    if facts.hiccup_ms_max is None:
        yield Exclusion(reason=Reason.MISSING_EVIDENCE, words="the hiccup probe recorded nothing around the fault")
    elif facts.hiccup_ms_max > scenario.hiccup_ms_max:
        words = f"the machine stalled for {facts.hiccup_ms_max:.1f} ms (at most {scenario.hiccup_ms_max:g} ms)"
        yield Exclusion(reason=Reason.TOO_NOISY, words=words)


def _fault_took_effect(facts: TrialFacts, scenario: Scenario) -> Iterator[Exclusion]:
    fault = next((arm.fault for arm in scenario.arms if arm.name == facts.trial.arm), None)
    if facts.no_effect is not None:
        yield _not_exercised(f"the fault did not bite: {facts.no_effect}")
    if fault is None:
        yield _not_exercised(f"the scenario has no arm {facts.trial.arm}")
        return
    checks = [_PROOFS.get(proof) for proof in fault.proofs]
    if not checks or None in checks:
        words = f"nothing says how to tell that the fault {fault.kind} took effect"
        yield Exclusion(reason=Reason.CHECKER_FAILED, words=words)
    yield from (exclusion for check in checks if check is not None for exclusion in check(facts))


def unproved(proofs: Sequence[Proof], facts: TrialFacts) -> tuple[str, ...]:
    """Why the records do not show that a fault with these proofs took effect, in words; empty when they do."""
    denied = (facts.no_effect,) if facts.exercised is False and facts.no_effect else ()
    return (*denied, *(exclusion.words for proof in proofs for exclusion in _PROOFS[proof](facts)))


# --- proofs that a fault took effect ----------------------------------------------------------------------------------


def _nothing(facts: TrialFacts) -> Iterator[Exclusion]:
    yield from ()


def _stamped(facts: TrialFacts) -> Iterator[Exclusion]:
    if facts.appends == 0:
        yield _not_exercised("no append was stalled")
    yield from _lasted(facts, "the append stalled for")


def _lasted(facts: TrialFacts, what: str = "the stall lasted") -> Iterator[Exclusion]:
    """Whether the stall lasted as long as it was asked to."""
    asked, achieved = facts.asked_ms, facts.achieved_ms
    if achieved is None and facts.append_entry_ns is not None and facts.append_exit_ns is not None:
        achieved = (facts.append_exit_ns - facts.append_entry_ns) / 1e6
    if asked is None or achieved is None:
        yield _not_exercised("what stall was asked or achieved was not recorded")
    else:
        tolerance = max(STALL_TOLERANCE_MS, STALL_TOLERANCE_SHARE * asked)
        if abs(achieved - asked) > tolerance:
            yield _not_exercised(f"{what} {achieved:.1f} ms where {asked:g} ms were asked")
        if "healed" not in facts.states:
            yield _not_exercised("the fault was not healed")
    if facts.trial.injection == FREEZE and asked is not None:
        yield from _frozen(facts, asked)


def _frozen(facts: TrialFacts, asked_ms: float) -> Iterator[Exclusion]:
    """The freeze is exact; what it did to the append is measured in the broker and has to agree."""
    if facts.append_entry_ns is not None and facts.append_exit_ns is not None:
        stalled_ms = (facts.append_exit_ns - facts.append_entry_ns) / 1e6
        if abs(stalled_ms - asked_ms) > max(EFFECT_TOLERANCE_MS, STALL_TOLERANCE_SHARE * asked_ms):
            yield _not_exercised(
                f"the freeze stalled an append for {stalled_ms:.1f} ms where {asked_ms:g} ms were asked"
            )
    if facts.stopped_ms is None:
        yield Exclusion(reason=Reason.MISSING_EVIDENCE, words="the broker's safepoint log says nothing")
    elif facts.stopped_ms > STOPPED_MS_MAX:
        yield _not_exercised(f"a safepoint stopped the whole broker for {facts.stopped_ms:.0f} ms of the freeze")


def _paused(facts: TrialFacts) -> Iterator[Exclusion]:
    if facts.asked_ms is None or facts.achieved_ms is None:
        yield _not_exercised("the owners were not paused, or never went on")
    elif abs(facts.achieved_ms - facts.asked_ms) > PAUSE_TOLERANCE_MS:
        yield _not_exercised(f"the owners stood still for {facts.achieved_ms:.0f} ms of {facts.asked_ms:g} ms asked")


def _owners_gone(facts: TrialFacts, what: str = "the owners did not end") -> Iterator[Exclusion]:
    if facts.injecting_ns is None or facts.injected_ns is None:
        yield _not_exercised(what)


def _owners_killed(facts: TrialFacts) -> Iterator[Exclusion]:
    yield from _owners_gone(facts)
    if facts.injecting_ns is not None and facts.injected_ns is not None:
        seconds = (facts.injected_ns - facts.injecting_ns) / 1e9
        if seconds > KILL_S_MAX:
            yield _not_exercised(f"the killed process took {seconds:.1f} s to go")


def _owners_shut_down(facts: TrialFacts) -> Iterator[Exclusion]:
    yield from _owners_gone(facts, "the shutdown did not return")


def _broker_gone(facts: TrialFacts) -> Iterator[Exclusion]:
    if facts.injecting_ns is None or facts.injected_ns is None:
        yield _not_exercised("the broker did not end")
    elif "healed" not in facts.states:
        yield _not_exercised("the broker did not come back")


def _held(facts: TrialFacts) -> Iterator[Exclusion]:
    if "injected" not in facts.states:
        yield _not_exercised("the fault did not begin")
    if facts.exercised is None:
        yield _not_exercised("the fault does not say whether it took effect")
    if "healed" not in facts.states:
        yield _not_exercised("the fault was not healed")


def _done(facts: TrialFacts) -> Iterator[Exclusion]:
    if "injected" not in facts.states or "healed" not in facts.states:
        yield _not_exercised("what was to happen to the cluster did not happen, or was not ended")


def _watched(facts: TrialFacts) -> Iterator[Exclusion]:
    if not facts.watched_appends:
        yield _not_exercised("the broker's appends were not watched, or there were none")


def _not_exercised(words: str) -> Exclusion:
    return Exclusion(reason=Reason.NOT_EXERCISED, words=words)


_PROOFS: Mapping[Proof, Callable[[TrialFacts], Iterator[Exclusion]]] = {
    Proof.NOTHING: _nothing,
    Proof.STAMPED: _stamped,
    Proof.LASTED: _lasted,
    Proof.PAUSED: _paused,
    Proof.OWNERS_KILLED: _owners_killed,
    Proof.OWNERS_SHUT_DOWN: _owners_shut_down,
    Proof.OWNERS_GONE: _owners_gone,
    Proof.BROKER_GONE: _broker_gone,
    Proof.HELD: _held,
    Proof.DONE: _done,
    Proof.WATCHED: _watched,
}
"""What is looked at for each; a fault that names none of these is never counted."""

_CHECKS: tuple[_Check, ...] = (_completed, _has_history, _was_sent, _one_clock, _quiet, _fault_took_effect)
