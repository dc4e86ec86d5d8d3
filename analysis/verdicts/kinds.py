"""One part of a claim, by its kind: from the tries of all trials to a verdict with the numbers that it rests on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from analysis.verdicts import events, sides
from analysis.verdicts.deployments import Number, Tried, by_deployment, numbers, tried
from analysis.verdicts.sentences import words_of
from analysis.verdicts.tries import HistoryTries, Tries
from harness.model.findings import PartResult
from harness.model.rules import BY_SIDES, DEPLOYMENTS_MIN, Kind, Part, Role
from harness.model.verdicts import Discard, Reason, VerdictKind

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED

DISCARDED_SHARE_MAX = 0.2


def judge_part(part: Part, rows: Sequence[Tries], claim_parts: int = 1, failed: Collection[str] = ()) -> PartResult:
    """Judge ``rows`` of one release and injection, in the order in which they were made.

    Those that do not count are among them. ``claim_parts`` is how many parts of the claim are decided by sides, ``failed`` are
    the measures whose checker failed.
    """
    if any(item.measure in failed for item in part.quantities()):
        return _result(part, UNDECIDED, Reason.CHECKER_FAILED, words="not measured")
    if part.kind is Kind.THIS_RUN:
        return _this_run(part, rows)
    # A trial has one row for each measure, all of its one arm and cell.
    trials = {row.trial: row for row in rows}
    asked = {name for name, row in trials.items() if any(item.is_of(row.arm, row.cell) for item in part.quantities())}
    own = [row for row in rows if row.trial in asked]
    is_damaged = any(row.discarded == Discard.DAMAGED for row in own)
    counting = [row for row in own if _counts(part, row)]
    if not counting:
        why = Reason.DAMAGED if is_damaged else _why_none_counts(own)
        return _result(part, UNDECIDED, why, words="not measured")
    judge = {Kind.UNIVERSAL: _universal, Kind.EXISTENCE: _existence, Kind.FACT: _fact, Kind.JAR: _fact}.get(part.kind)
    spoiled = [row for row in own if _is_spoiled(part, row)]
    found = _sides(part, counting, spoiled, claim_parts) if judge is None else judge(part, counting, spoiled)
    if part.kind in BY_SIDES and found.verdict is not UNDECIDED and _too_many_discarded(part, own):
        found = _undecided(found, Reason.TOO_MANY_DISCARDED)
    if is_damaged and not _has_counterexample(part, found):
        found = _undecided(found, Reason.DAMAGED)
    is_of_tries = part.kind in (Kind.UNIVERSAL, Kind.EXISTENCE)
    unmeasured = sum(one.shown is None for one in tried(counting, part.of)) if is_of_tries else 0
    return dataclasses.replace(found, words=words_of(part, found, unmeasured))


# --- this run -----------------------------------------------------------------------------------------------------------


def _this_run(part: Part, rows: Sequence[Tries]) -> PartResult:
    """True or false of the one history; raises ValueError where there is none or are several, which cannot be pooled."""
    told = [row for row in rows if isinstance(row, HistoryTries) and row.measure == part.of.measure]
    if len(told) != 1:
        raise ValueError(f"{part.name} is judged by the one history of a run, and there are {len(told)}")
    (row,) = told
    nothing = dict.fromkeys(("right", "wrong", "line", "deployments", "events"))
    if not row.tries:
        why = Reason.DAMAGED if row.discarded == Discard.DAMAGED else Reason.MISSING_EVIDENCE
        return _result(part, UNDECIDED, why, words=row.words, **{**nothing, "tries": None})
    verdict = CONFIRMED if row.violations <= part.bound else REFUTED
    found = row.violations
    return _result(part, verdict, "", words=row.words, **nothing, tries=1, estimate=found, values=(found,))


# --- which trials count -----------------------------------------------------------------------------------------------


def _counts(part: Part, row: Tries) -> bool:
    return row.counts and not part.is_too_noisy(row.hiccup_ms, row.cell)


def _is_spoiled(part: Part, row: Tries) -> bool:
    """It was carried out, and the host disturbed it; its value is asked whether it would change the verdict.

    A trial in which the fault was not made at all has no value of this experiment.
    """
    return row.discarded in ("", Discard.NOISE, Discard.CLOCK) and not _counts(part, row)


def _has_counterexample(part: Part, found: PartResult) -> bool:
    """Whether a verified counterexample refutes a "never", which stands whatever other trials held."""
    return part.kind is Kind.UNIVERSAL and part.role is not Role.CONTROL and found.verdict is REFUTED


def _too_many_discarded(part: Part, own: Sequence[Tries]) -> bool:
    for arm in {item.arm for item in part.quantities()}:
        kept = {row.trial: _counts(part, row) for row in own if row.arm == arm and not row.superseded}
        if sum(not counts for counts in kept.values()) > DISCARDED_SHARE_MAX * len(kept):
            return True
    return False


def _why_none_counts(own: Sequence[Tries]) -> Reason:
    if any(row.superseded or row.discarded in ("", Discard.NOISE, Discard.CLOCK) for row in own):
        return Reason.TOO_NOISY
    return Reason.NOT_EXERCISED


# --- sides ------------------------------------------------------------------------------------------------------------


def _sides(part: Part, counting: Sequence[Tries], spoiled: Sequence[Tries], claim_parts: int) -> PartResult:
    tries = tried(counting, part.of)
    against = tried(counting, part.against) if part.against else []
    found = numbers(part, tries, against)
    measured = [one for one in found.values() if not math.isnan(one.value)]
    if not measured:
        return _result(part, UNDECIDED, Reason.NOT_EXERCISED if found else Reason.MISSING_EVIDENCE)
    right, wrong, line = _tally(part, found.values())
    verdict = sides.decide(right, wrong, line, claim_parts)
    reason = "" if verdict is not UNDECIDED else str(sides.why_undecided(right, wrong, line))
    typical = sides.typical([one.value for one in measured])
    result = _result(
        part, verdict, reason, estimate=typical.middle, low=typical.low, high=typical.high,
        right=right, wrong=wrong, line=line, deployments=len(found),
        tries=len([one for one in (*tries, *against) if one.shown]), values=tuple(sorted(one.value for one in measured)),
    )  # fmt: skip
    if verdict is UNDECIDED:
        return result
    other_side = -1 if verdict is CONFIRMED else 1
    more = sum(one.side(part) == other_side for one in _numbers_of_spoiled(part, counting, spoiled))
    counted = (right, wrong + more, line) if verdict is CONFIRMED else (right + more, wrong, line)
    return result if sides.decide(*counted, claim_parts) is verdict else _undecided(result, Reason.FRAGILE)


def _tally(part: Part, found: Iterable[Number]) -> tuple[int, int, int]:
    lie = [one.side(part) for one in found]
    return lie.count(1), lie.count(-1), lie.count(0)


def _numbers_of_spoiled(part: Part, counting: Sequence[Tries], spoiled: Sequence[Tries]) -> list[Number]:
    """By deployment, what the spoiled trials show, beside the others of the deployment where they alone show nothing."""
    found: list[Number] = []
    for name in {row.deployment for row in spoiled}:
        bad = [row for row in spoiled if row.deployment == name]
        good = [row for row in counting if row.deployment == name]
        tries, against = tried(bad, part.of), tried(bad, part.against) if part.against else []
        if part.against:
            tries, against = tries or tried(good, part.of), against or tried(good, part.against)
        alone = numbers(part, tries, against, margin=1.0)
        if all(math.isnan(one.value) for one in alone.values()):
            alone = numbers(part, tried([*good, *bad], part.of), against, margin=1.0)
        found += alone.values()
    return found


# --- events -----------------------------------------------------------------------------------------------------------


def _fact(part: Part, counting: Sequence[Tries], spoiled: Sequence[Tries]) -> PartResult:
    """So in every deployment, or in none. What the host may have moved is neither."""
    by_name = by_deployment(tried(counting, part.of))
    answers = [{one.number(part, 1.0).side(part) for one in tries} for tries in by_name.values()]
    yes, no = answers.count({1}), answers.count({-1})
    count = len(answers)
    least = 1 if part.role is Role.CONTROL else part.deployments_min or DEPLOYMENTS_MIN[part.kind]
    verdict, reason = UNDECIDED, str(Reason.DIFFERS)
    if all(answer == {0} for answer in answers):
        reason = str(Reason.MISSING_EVIDENCE)
    elif count in (yes, no):
        verdict, reason = (CONFIRMED if yes else REFUTED), ""
        if count < least:
            verdict, reason = UNDECIDED, str(Reason.TOO_FEW_DEPLOYMENTS)
    # Shown is the value itself, also where what is judged is its distance from what is predicted.
    plain = dataclasses.replace(part, predicted=None)
    values = [one.number(plain, 0.0).value for tries in by_name.values() for one in tries if one.shown]
    return _result(
        part, verdict, reason, estimate=yes / count, right=yes, wrong=no, line=count - yes - no, deployments=count,
        tries=len(values), events=yes, values=tuple(sorted(values)),
    )  # fmt: skip


def _universal(part: Part, counting: Sequence[Tries], spoiled: Sequence[Tries]) -> PartResult:
    """One verified counterexample refutes, also of a trial that the host disturbed by less than what it shows."""
    tries = tried(counting, part.of)
    disturbed = [one for one in tried(spoiled, part.of) if _surely(part, one, -1)]
    against_it = [index for index, one in enumerate(tries) if not _complies(part, one)]
    verified = [one for one in (*tries, *disturbed) if _surely(part, one, -1) and one.shown and one.shown.proof]
    deployments = len(by_deployment(tries))
    seen = len(against_it) + len(disturbed)
    verdict, reason = UNDECIDED, ""
    if verified:
        verdict = REFUTED
    elif part.role is Role.CONTROL:
        verdict = REFUTED if seen else CONFIRMED
    elif seen and not _is_outweighed(part, len(tries), seen, against_it):
        reason = str(Reason.UNVERIFIED)
    elif events.limit_of_none(len(tries)) > part.rate_max:
        reason = str(Reason.TOO_FEW_TRIES)
    elif deployments < (part.deployments_min or DEPLOYMENTS_MIN[part.kind]):
        reason = str(Reason.TOO_FEW_DEPLOYMENTS)
    else:
        verdict = CONFIRMED
    return _of_events(part, verdict, reason, (*tries, *disturbed), lambda one: not _complies(part, one), len(verified))


def _is_outweighed(part: Part, count: int, seen: int, against_it: Sequence[int]) -> bool:
    """Whether enough clean tries came after the last unverified counterexample.

    Its rate is taken over all tries up to it, but of no fewer than the rule asks for, which takes it as rarer than it may be.
    """
    last = against_it[-1] + 1 if against_it else 0
    before = max(last, events.tries_needed(part.rate_max))
    return count - last >= events.clean_tries_needed(seen, before)


def _existence(part: Part, counting: Sequence[Tries], spoiled: Sequence[Tries]) -> PartResult:
    """One verified event, and none in the control's tries, which are as many, or enough to show one as frequent."""
    tries = tried(counting, part.of)
    seen = [one for one in tries if _surely(part, one, 1)]
    verified = [one for one in seen if one.shown and one.shown.proof]
    control = tried(counting, part.against) if part.against else []
    verdict, reason = UNDECIDED, ""
    if any(not _surely(part, one, -1) for one in control):
        reason = str(Reason.CONTROL_FAILED)
    elif seen and part.against and len(control) < min(len(tries), events.clean_tries_needed(len(seen), len(tries))):
        reason = str(Reason.TOO_FEW_TRIES)
    elif verified:
        verdict = CONFIRMED
    elif any(one.number(part, 0.0).side(part) != -1 for one in tries):
        reason = str(Reason.UNPROVED)
    elif events.limit_of_none(len(tries)) <= part.rate_min:
        verdict = REFUTED
    else:
        reason = str(Reason.TOO_FEW_TRIES)
    return _of_events(part, verdict, reason, tries, lambda one: _surely(part, one, 1), len(verified))


def _complies(part: Part, one: Tried) -> bool:
    """A hiccup only lengthens, so that a value at or within the bound complies however noisy the host was."""
    return one.number(part, 0.0).side(part) == 1


def _surely(part: Part, one: Tried, side: int) -> bool:
    return one.number(part, 1.0).side(part) == side


def _of_events(
    part: Part,
    verdict: VerdictKind,
    reason: str,
    tries: Sequence[Tried],
    is_event: Callable[[Tried], bool],
    verified: int,
) -> PartResult:
    # A try that gave no value may have been an event, which the verdict allows for; it is not counted as one.
    measured = [one for one in tries if one.shown]
    groups = by_deployment(measured)
    happened = {name: sum(map(is_event, found)) for name, found in groups.items()}
    count, total = len(measured), sum(happened.values())
    interval = events.rate_interval([(happened[name], len(groups[name])) for name in groups]) if count else (None, None)
    shown = [one.number(part, 0.0).value for one in measured]
    return _result(
        part, verdict, reason, estimate=total / count if count else None, low=interval[0], high=interval[1],
        right=count - total if part.kind is Kind.UNIVERSAL else total,
        line=total - verified + len(tries) - count if reason else 0,
        wrong=total if part.kind is Kind.UNIVERSAL else count - total, deployments=len(groups),
        tries=count, events=total, values=tuple(sorted(shown)),
    )  # fmt: skip


def _undecided(result: PartResult, reason: Reason) -> PartResult:
    return dataclasses.replace(result, verdict=UNDECIDED, reason=str(reason))


def _result(part: Part, verdict: VerdictKind, reason: str, **more: Any) -> PartResult:
    """What a page's axis shows of events is their rate, of facts the share of deployments."""
    relation, bound = part.relation, part.bound
    if part.kind in (Kind.UNIVERSAL, Kind.EXISTENCE):
        relation, bound = ("<=", part.rate_max) if part.kind is Kind.UNIVERSAL else (">=", part.rate_min)
    elif part.kind not in (*BY_SIDES, Kind.THIS_RUN):
        relation, bound = ">=", 1.0
    counts = {"right": 0, "wrong": 0, "line": 0, "deployments": 0, "tries": 0, "events": 0}
    return PartResult(
        name=part.name, verdict=verdict, reason=str(reason), relation=relation, bound=bound, unit=part.unit,
        kind=str(part.kind), role=str(part.role), scope=part.scope, **{**counts, **more},
    )  # fmt: skip
