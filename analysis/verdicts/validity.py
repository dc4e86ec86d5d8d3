"""Validity: which trials count, in words why the others do not, and what else is notable of them.

A trial is discarded only for what something other than the system under test has seen: the harness failed before the fault
began, the clock stepped, or the injector's own stamps deny what was asked. Whatever broker, name server or client does after
the fault began is a result: a broker that stops itself, an append that outlasts the freeze, a node that does not come back. Such
a remark is told and discards nothing. A fault that names no proof, or one that is not known here, is never counted. How noisy the
host may be is asked part by part. Spark folded the windows and stamps (``analysis/evidence/trials.py``); what is left is one
comparison a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from analysis.evidence.trials import TrialFacts
from analysis.verdicts.evidence import PartName, Remark, TrialValidity
from harness.model.faults import Proof
from harness.model.scenario import Scenario
from harness.model.timed_faults import Inject, TimedFault
from harness.model.verdicts import Discard
from harness.rundir.integrity import Damage
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

_Remarks = Iterator[Remark]
_Check = Callable[[TrialFacts, Scenario], _Remarks]


def judge(
    facts: Sequence[TrialFacts], scenarios: Sequence[Scenario], damage: Sequence[Damage] = ()
) -> list[TrialValidity]:
    """The validity of every trial; one of an incident that is not among ``scenarios`` does not count.

    ``damage`` is what is wrong with the run's files, and spoils the evidence of trials.
    """
    by_name = {scenario.name: scenario for scenario in scenarios}
    by_trial: dict[str, list[str]] = {}
    for one in damage:
        for trial in one.trials:
            by_trial.setdefault(trial, []).append(one.words)
    return [_judge_one(item, by_name.get(item.trial.incident), by_trial.get(item.trial.trial, ())) for item in facts]


def _judge_one(facts: TrialFacts, scenario: Scenario | None, damage: Sequence[str]) -> TrialValidity:
    trial = facts.trial
    if damage:
        # Whatever else could be said of it rests on what is left of its evidence.
        remarks = [Remark(words=f"its evidence is damaged: {words}", discard=Discard.DAMAGED) for words in damage]
        return TrialValidity(trial=trial.trial, remarks=tuple(remarks), superseded_by=trial.superseded_by)
    if scenario is None:
        remark = Remark(words=f"the incident {trial.incident} is not known", discard=Discard.HARNESS)
        return TrialValidity(trial=trial.trial, remarks=(remark,), hiccup_ms_max=facts.hiccup_ms_max)
    asking = {
        PartName(claim.id, part.name): part
        for claim in scenario.claims
        for part in claim.parts
        if any(quantity.is_of(trial.arm, trial.params) for quantity in part.quantities())
    }
    hiccup_ms = facts.hiccup_ms_max or 0.0
    return TrialValidity(
        trial=trial.trial,
        remarks=tuple(remark for check in _CHECKS for remark in check(facts, scenario)),
        superseded_by=trial.superseded_by,
        noise=_noise(hiccup_ms, scenario.hiccup_ms_max),
        notes=tuple(_notes(facts)),
        hiccup_ms_max=facts.hiccup_ms_max,
        parts=tuple(asking),
        too_noisy_for=tuple(name for name, part in asking.items() if part.is_too_noisy(hiccup_ms, trial.params)),
    )


def _noise(hiccup_ms: float, limit_ms: float) -> str:
    return f"the machine stalled for {hiccup_ms:.1f} ms, more than {limit_ms:g} ms" if hiccup_ms > limit_ms else ""


def _notes(facts: TrialFacts) -> Iterator[str]:
    if facts.damaged_lines:
        yield f"{facts.damaged_lines} lines are no whole records (a kill truncates the last one) and were left out"
    if facts.trial.groups and not facts.drained:
        left = "no drain was recorded" if facts.drained is None else f"{facts.remaining} messages were left"
        yield f"the drain did not finish ({left}): loss and duplicates were not judged"


# --- checks -----------------------------------------------------------------------------------------------------------


def _completed(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    status = facts.trial.status
    if status != "complete":
        why = f": {facts.trial.error}" if facts.trial.error else ""
        # What fails once the fault has begun may be the system's doing.
        was_before = facts.fault_ns is None or status == "interrupted"
        yield Remark(words=f"it is {status}, not complete{why}", discard=Discard.HARNESS if was_before else None)


def _has_history(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    if facts.records == 0:
        yield _not_made("its history is empty")
    if facts.fault_ns is None:
        yield _not_made("its events do not say when the fault was")
    elif facts.hold_to_ns is None:
        yield Remark(words="its events do not say when the hold ended")


def load_was_over(facts: TrialFacts, scenario: Scenario) -> bool:
    """Whether a load that Locust steers had ended seconds before the fault, which no fault can have brought about."""
    arm = next((arm for arm in scenario.arms if arm.name == facts.trial.arm), None)
    if arm is None or getattr(arm.load, "locust", None) is None or facts.fault_ns is None:
        return False
    return facts.sent_to_ns is None or facts.fault_ns - facts.sent_to_ns > OVER_S * 1e9


def _was_sent(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    if load_was_over(facts, scenario):
        yield _not_made("its load had ended before the fault")


def _one_clock(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    if facts.wall_minus_mono_us is None:
        yield _not_made("no anchor ties its wall clock to the monotonic one")
    if facts.wall_step_ms > WALL_STEP_MS_MAX:
        words = f"the wall clock stepped by {facts.wall_step_ms:.0f} ms (at most {WALL_STEP_MS_MAX:.0f} ms is slewing)"
        yield Remark(words=words, discard=Discard.CLOCK)


def _was_probed(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    # A step that failed has ended its trial early, and is the reason itself.
    if facts.hiccup_ms_max is None and not any(facts.steps.values()):
        yield _not_made("the hiccup probe recorded nothing around the fault")


def _fault_took_effect(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    fault = next((arm.fault for arm in scenario.arms if arm.name == facts.trial.arm), None)
    if facts.no_effect is not None:
        yield _not_injected(f"the fault took no effect: {facts.no_effect}")
    if fault is None:
        yield _not_made(f"the scenario has no arm {facts.trial.arm}")
        return
    checks = [_PROOFS.get(proof) for proof in fault.proofs]
    if not checks or None in checks:
        yield _not_made(f"nothing says how to tell that the fault {fault.kind} took effect")
    yield from (remark for check in checks if check is not None for remark in check(facts))


def _steps_were_taken(facts: TrialFacts, scenario: Scenario) -> _Remarks:
    """A step that was not taken makes it another experiment; so does a fault among them that took no effect."""
    arm = next((arm for arm in scenario.arms if arm.name == facts.trial.arm), None)
    for number, step in enumerate(() if arm is None else arm.steps, 1):
        # A fault with a time of its own has no other record than the fault's.
        never = "" if isinstance(step, TimedFault) else f"{step.words}: it did not begin"
        if why := facts.steps.get(number, never):
            yield _not_injected(f"step {number} was not taken: {why}")
            return
        if isinstance(step, Inject):
            of_step = facts.by_number.get(number)
            words = ("it did not begin",) if of_step is None else unproved(step.fault.proofs, of_step)
            yield from (_not_injected(f"step {number}, {step.words}: {one}") for one in words)


def unproved(proofs: Sequence[Proof], facts: TrialFacts) -> tuple[str, ...]:
    """Why the records do not show that a fault with these proofs took effect, in words; empty when they do."""
    denied = (facts.no_effect,) if facts.exercised is False and facts.no_effect else ()
    return (*denied, *(remark.words for proof in proofs for remark in _PROOFS[proof](facts)))


# --- proofs that a fault took effect ----------------------------------------------------------------------------------


def _nothing(facts: TrialFacts) -> _Remarks:
    yield from ()


def _stamped(facts: TrialFacts) -> _Remarks:
    if facts.appends == 0:
        yield _not_injected("no append was stalled")
    yield from _lasted(facts, "the append stalled for")


def _lasted(facts: TrialFacts, what: str = "the stall lasted") -> _Remarks:
    """The freeze's own length, or that of the rule inside the append; what the append made of a freeze is a result."""
    asked, achieved = facts.asked_ms, facts.achieved_ms
    if achieved is None and facts.append_entry_ns is not None and facts.append_exit_ns is not None:
        achieved = (facts.append_exit_ns - facts.append_entry_ns) / 1e6
    if asked is None or achieved is None:
        yield _not_injected("what stall was asked or achieved was not recorded")
    else:
        tolerance = max(STALL_TOLERANCE_MS, STALL_TOLERANCE_SHARE * asked)
        if abs(achieved - asked) > tolerance:
            yield _not_injected(f"{what} {achieved:.1f} ms where {asked:g} ms were asked")
        yield from _healed(facts)
    if facts.trial.injection == FREEZE and asked is not None:
        yield from _frozen(facts, asked)


def _frozen(facts: TrialFacts, asked_ms: float) -> _Remarks:
    """The freeze is exact; what it did to the append is measured in the broker, and told where the two differ."""
    if facts.append_entry_ns is not None and facts.append_exit_ns is not None:
        stalled_ms = (facts.append_exit_ns - facts.append_entry_ns) / 1e6
        if abs(stalled_ms - asked_ms) > max(EFFECT_TOLERANCE_MS, STALL_TOLERANCE_SHARE * asked_ms):
            words = f"the freeze stalled an append for {stalled_ms:.1f} ms where {asked_ms:g} ms were asked"
            yield Remark(words=words)
    if facts.stopped_ms is None:
        yield Remark(words="the broker's safepoint log says nothing")
    elif facts.stopped_ms > STOPPED_MS_MAX:
        words = f"a safepoint stopped the whole broker for {facts.stopped_ms:.0f} ms of the freeze"
        yield Remark(words=words)


def _paused(facts: TrialFacts) -> _Remarks:
    if facts.asked_ms is None or facts.achieved_ms is None:
        yield _not_injected("the owners were not paused, or never went on")
    elif abs(facts.achieved_ms - facts.asked_ms) > PAUSE_TOLERANCE_MS:
        yield _not_injected(f"the owners stood still for {facts.achieved_ms:.0f} ms of {facts.asked_ms:g} ms asked")


def _owners_gone(facts: TrialFacts) -> _Remarks:
    if facts.injecting_ns is None or facts.injected_ns is None:
        yield _not_injected("the owners did not end")


def _owners_killed(facts: TrialFacts) -> _Remarks:
    yield from _owners_gone(facts)
    if facts.injecting_ns is not None and facts.injected_ns is not None:
        seconds = (facts.injected_ns - facts.injecting_ns) / 1e9
        if seconds > KILL_S_MAX:
            yield _not_injected(f"the killed process took {seconds:.1f} s to go")


def _owners_shut_down(facts: TrialFacts) -> _Remarks:
    """A shutdown that was begun and never returns is the client's doing."""
    if facts.injecting_ns is None:
        yield _not_injected("the shutdown was not begun")
    elif facts.injected_ns is None:
        yield Remark(words="the shutdown did not return")


def _broker_gone(facts: TrialFacts) -> _Remarks:
    if facts.injecting_ns is None or facts.injected_ns is None:
        yield _not_injected("the broker did not end")
    elif "healed" not in facts.states:
        yield Remark(words="the broker did not come back")


def _held(facts: TrialFacts) -> _Remarks:
    if "injected" not in facts.states:
        yield _not_injected("the fault did not begin")
    if facts.exercised is None:
        yield _not_injected("the fault does not say whether it took effect")
    yield from _healed(facts)


def _healed(facts: TrialFacts) -> _Remarks:
    if "healed" not in facts.states:
        yield Remark(words="the fault was not healed")


def _done(facts: TrialFacts) -> _Remarks:
    if "injected" not in facts.states:
        yield _not_injected("what was to happen to the cluster did not happen")
    elif "healed" not in facts.states:
        yield Remark(words="what was to happen to the cluster was not ended")


def _watched(facts: TrialFacts) -> _Remarks:
    if not facts.watched_appends:
        yield _not_injected("the broker's appends were not watched, or there were none")


def _not_made(words: str) -> Remark:
    return Remark(words=words, discard=Discard.HARNESS)


def _not_injected(words: str) -> Remark:
    return Remark(words=words, discard=Discard.INJECTOR)


_PROOFS: Mapping[Proof, Callable[[TrialFacts], _Remarks]] = {
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

_CHECKS: tuple[_Check, ...] = (
    _completed, _has_history, _was_sent, _one_clock, _was_probed, _fault_took_effect, _steps_were_taken,
)  # fmt: skip
