"""What is wrong with an incident that its values alone show: names that nothing has, cells that lack what is asked of them."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import UsageError, shown
from harness.model.cells import canonical
from harness.model.cluster import Topology
from harness.model.faults import Fault
from harness.model.loads import DelayedMessages, LoadValue
from harness.model.measures import MEASURES
from harness.model.rules import NOT_SO, PLACEHOLDER, Claim, Kind, Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.steps import READ, READING, GroupLeaves, GroupReturns, SetLive, Step
from harness.model.timed_faults import node_names, nodes_of
from harness.releases.border import judge
from harness.releases.jars import recorded_releases
from harness.releases.settings import settings_of
from mqlab.own.field_types import wrong_fields

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
ARM = re.compile(r"(baseline|incident|fix|better)(-[a-z0-9-]{1,40})?")
NODES_MAX = 26
"""Of a kind: masters are called by the letters of the alphabet."""
CELLS_MAX = 1_000
CLAIM = re.compile(r"(?:[A-Z][A-Z0-9]{1,11}|X(?:-[a-z0-9]{1,20}){1,6})-\d{1,4}")


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """``near`` is a text or a name that stands in the file where the mistake was made, in a call of ``within`` if in any."""

    says: str
    near: str
    within: str = "Arm"
    advice: str = ""


def mistakes(scenario: Scenario) -> Iterator[Mistake]:
    """All that is found; what lacks its kind hides the rest."""
    wrong = [*_kinds(scenario)] or [*_fields(scenario)]
    yield from wrong
    if wrong:
        return
    if not NAME.fullmatch(scenario.name):
        yield Mistake(says=f"{shown(scenario.name)} is no name of an incident", near=scenario.name, advice=_NAMED)
    for topology in dict.fromkeys([scenario.topology, *filter(None, (arm.topology for arm in scenario.arms))]):
        yield from _topology(topology)
    yield from _arms(scenario)
    for name in set(scenario.extra_measures) - MEASURES.keys():
        yield _unknown("measure", name, MEASURES)
    for claim in scenario.claims:
        yield from _claim(scenario, claim)
    yield from _twice([claim.id for claim in scenario.claims], "claims")
    for budget in (scenario.budget, scenario.quick_budget):
        if min(budget.trials, budget.deployments) < 1:
            yield Mistake(says="a budget has at least one trial and one deployment", near="budget")


_NAMED = "Small letters, digits and -, at most 40, beginning with a letter."


# --- kinds of values ------------------------------------------------------------------------------------------------------


def _kinds(scenario: Scenario) -> Iterator[Mistake]:
    for name, kind in (("phases", Phases), ("budget", TrialBudget), ("quick_budget", TrialBudget)):
        if not isinstance(value := getattr(scenario, name), kind):
            yield _no_kind(name, value, f"a {kind.__name__}(...)")
    yield from _several("arms", scenario.arms, Arm, 1)
    yield from _several("claims", scenario.claims, Claim, 0)
    for arm in scenario.arms if isinstance(scenario.arms, tuple) else ():
        if isinstance(arm, Arm):
            for fault in arm.faults if isinstance(arm.steps, tuple) else ():
                if not isinstance(fault, Fault) or fault.of_the_lab() is Fault:
                    yield _no_kind(
                        "fault", fault, "a fault such as AppendStall(), or of a class that is derived from one"
                    )
            if not isinstance(arm.load, LoadValue) or arm.load.kind is LoadValue:
                yield _no_kind("load", arm.load, "a load such as OpenLoopSends()")
            yield from _several("cells", arm.cells, Mapping, 1)
            yield from _several("steps", arm.steps, Step, 0)


def _fields(scenario: Scenario) -> Iterator[Mistake]:
    for one in wrong_fields(scenario):
        yield Mistake(says=f"{one.name} of {one.of} {one.says}", near=one.name, within=one.of)


def _several(name: str, value: object, kind: type, least: int) -> Iterator[Mistake]:
    is_kind = isinstance(value, tuple) and all(isinstance(one, kind) for one in value)
    if not is_kind or (isinstance(value, tuple) and len(value) < least):
        what = "values by name in braces" if kind is Mapping else f"{kind.__name__}(...)"
        yield _no_kind(name, value, f"a tuple of {what}, a single one with a comma behind it")


def _no_kind(name: str, value: object, wanted: str) -> Mistake:
    is_of = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
    return Mistake(says=f"{name} is {is_of} and has to be {wanted}", near=name)


def _topology(topology: Topology) -> Iterator[Mistake]:
    for name, least in (("name_servers", 1), ("masters", 1), ("slaves_per_master", 0)):
        if not least <= (number := getattr(topology, name)) <= NODES_MAX:
            yield Mistake(
                says=f"{name} of Topology is {number} and has to be a number from {least} to {NODES_MAX}", near=name,
                within="Topology",
            )  # fmt: skip


# --- arms -----------------------------------------------------------------------------------------------------------------


def _arms(scenario: Scenario) -> Iterator[Mistake]:
    yield from _twice([arm.name for arm in scenario.arms], "arms")
    for arm in scenario.arms:
        if not ARM.fullmatch(arm.name):
            yield Mistake(
                says=f"{shown(arm.name)} is no name of an arm",
                near=arm.name,
                advice="It is baseline or incident, or begins with incident-, fix- or better-.",
            )
        if len(arm.cells) > CELLS_MAX:
            yield Mistake(says=f"arm {arm.name} has {len(arm.cells):,} cells, and {CELLS_MAX:,} at most", near=arm.name)
            continue
        for kind in dict.fromkeys((type(arm.load), type(arm.fault))):
            yield from _without_effect(kind)
        for cell in arm.cells:
            yield from _cell(scenario, arm, cell)
        for key, value in (*arm.live_conf.items(), *arm.broker.conf.items()):
            if not value.isprintable():
                yield Mistake(says=f"{key} of arm {arm.name} is no value of one line", near=key)
        for key in sorted({*arm.live_conf, *arm.broker.conf} - _settings()):
            yield _unknown("setting of a broker", key, _settings())
        yield from _steps(scenario, arm)
        for other in scenario.arms:
            for key in arm.live_conf.keys() - other.live_conf.keys() if _share_a_broker(arm, other) else ():
                yield Mistake(
                    says=f"arm {arm.name} sets {key} on the running broker, and arm {other.name} would find it so",
                    near=arm.name,
                    advice=f"Give {other.name} its own value in live_conf.",
                )


def _without_effect(value: type) -> Iterator[Mistake]:
    """What a derived class says of a field without being a dataclass itself: its base goes on with its own default."""
    fields = {one.name: one.default for one in dataclasses.fields(value)}
    for derived in itertools.takewhile(lambda one: not one.__module__.startswith("harness."), value.__mro__):
        for name, said in vars(derived).items():
            if name.startswith("__") or callable(said) or isinstance(said, (property, classmethod, staticmethod)):
                continue
            if name in fields and fields[name] != said:
                yield Mistake(
                    says=f"{derived.__name__}.{name} = {said!r} has no effect: it is no field of {derived.__name__}", near=name,
                    within=derived.__name__,
                    advice=f"Put @dataclass(frozen=True, kw_only=True) before the class, and write {name}: "
                    f"{type(said).__name__} = {said!r}.",
                )  # fmt: skip
            elif name not in fields and (near := difflib.get_close_matches(name, fields, n=1)):
                yield Mistake(
                    says=f"{derived.__name__}.{name} is no field of {value.__name__}; did you mean {near[0]}?", near=name,
                    within=derived.__name__,
                )  # fmt: skip


def _steps(scenario: Scenario, arm: Arm) -> Iterator[Mistake]:
    known = node_names(arm.topology or scenario.topology)
    named = {node for fault in arm.faults for node in nodes_of(fault)}
    for node in sorted(named.union(node for step in arm.steps if (node := getattr(step, "node", ""))) - set(known)):
        yield _unknown("node", node, known)
    leaves = next((step for step in arm.steps if isinstance(step, GroupLeaves | GroupReturns)), None)
    if leaves is not None and arm.load.kind is not DelayedMessages:
        yield Mistake(
            says=f"arm {arm.name} has a step {type(leaves).__name__}, which is of DelayedMessages, and its load is "
            f"{arm.load.kind.__name__}",
            near=type(leaves).__name__,
        )
    for step in arm.steps:
        given = {**getattr(step, "conf", {}), **(step.settings if isinstance(step, SetLive) else {})}
        for key in sorted(given.keys() - _settings()):
            yield _unknown("setting of a broker", key, _settings())
        for key, value in given.items():
            if why := judge("broker", key, value).why:
                says = f"{key} of a step cannot be {shown(value)}: {why.rstrip('.')}"
                yield Mistake(says=says, near=key, within=type(step).__name__)
        if (no := _no_expression(getattr(step, "says", ""))) is not None:
            yield Mistake(
                says=f"{step.words}: says is no regular expression: {no}", near="says", within=type(step).__name__
            )
    for step in arm.injects:
        for name in sorted(step.fault.cell.keys() - step.params.keys()):
            if lacking := [cell for cell in arm.cells if name not in cell]:
                yield Mistake(
                    says=f"arm {arm.name} has a step {step.fault.kind} without {name} in its params or the arm's "
                    f"{'cells' if len(lacking) > 1 else 'cell'}",
                    near=arm.name,
                )
    readings = [name for step in arm.steps for name in step.all_readings()]
    yield from _twice([*readings, *scenario.computed], "readings")


def _no_expression(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return None


def _cell(scenario: Scenario, arm: Arm, cell: Mapping[str, object]) -> Iterator[Mistake]:
    lacking = arm.fault.cell.keys() - cell.keys()
    try:
        arm.load.messages_hz(arm.topology or scenario.topology, cell)  # type: ignore[arg-type]
    except KeyError as error:
        lacking |= {str(error.args[0])}
    for name in sorted(lacking):
        yield Mistake(says=f"arm {arm.name} has a cell without {name}, which its fault or load needs", near=arm.name)
    for name, value in cell.items():
        if not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
            yield Mistake(says=f"{name} of arm {arm.name} is neither a number nor a text", near=name)


def _settings() -> set[str]:
    """Of any release; one of them ignores what it does not know without a word."""
    return {key for release in recorded_releases() for key in settings_of(release).broker}


def _share_a_broker(arm: Arm, other: Arm) -> bool:
    return (arm.broker, arm.topology) == (other.broker, other.topology) and not (arm.is_apart or other.is_apart)


# --- claims ---------------------------------------------------------------------------------------------------------------


def _claim(scenario: Scenario, claim: Claim) -> Iterator[Mistake]:
    if not CLAIM.fullmatch(claim.id):
        yield Mistake(
            says=f"{shown(claim.id)} is no name of a claim",
            near=claim.id,
            advice="Two capital letters and more, a hyphen and up to four digits, as MINE-01.",
        )
    known = {part.name: part for part in (*claim.parts, *claim.beside)}
    for form, name in sorted(set(PLACEHOLDER.findall(claim.summary))):
        if name not in known:
            yield _unknown(f"part of {claim.id}", name, known)
        elif form == NOT_SO and known[name].kind is not Kind.FACT:
            yield Mistake(says=f"{claim.id}: {{{form}{name}}} is for facts, and {name} is none", near=name)
    for part in known.values():
        yield from _part(claim, part)
        for selection in part.quantities():
            yield from _selection(scenario, claim, selection)


def _part(claim: Claim, part: Part) -> Iterator[Mistake]:
    if part.kind is Kind.THIS_RUN:
        yield Mistake(says=f"{claim.id}: {part.name} is of a kind that loads of one's own alone have", near=part.name)
    low, high = sorted((part.if_true, part.if_false))
    if low == high or not low <= part.bound <= high:
        yield Mistake(
            says=f"{claim.id}: the bound of {part.name} does not lie between what is expected and what is not",
            near=part.name,
        )
    if not part.because:
        yield Mistake(says=f"{claim.id}: {part.name} has numbers without a reason", near=part.name)


def _selection(scenario: Scenario, claim: Claim, of: Selection) -> Iterator[Mistake]:
    arms = {arm.name: arm for arm in scenario.arms}
    if of.arm not in arms:
        yield _unknown(f"arm of {claim.id}", of.arm, arms)
        return
    arm, measure = arms[of.arm], MEASURES.get(of.measure)
    if measure is not None and not measure.is_of(arm.load):
        yield Mistake(
            says=f"{claim.id} asks for {of.measure}, which arm {of.arm} has no value of: its load is {arm.load.kind.__name__}",
            near=of.measure,
            within="of",
            advice=f"It is one of {', '.join(load.__name__ for load in measure.loads)}.",
        )
    if of.measure == READ:
        given = [*(name for step in arm.steps for name in step.all_readings()), *scenario.computed]
        for name in of.where.get(READING, ()):
            if name not in given:
                yield _unknown(f"reading of arm {of.arm}", str(name), given)
    for name, wanted in of.where.items():
        run = {canonical(cell[name]) for cell in arms[of.arm].cells if name in cell}
        never = [str(value) for value in wanted if canonical(value) not in run] if run else []
        if never:
            yield Mistake(
                says=f"{claim.id} asks for {name} {', '.join(never)}, which arm {of.arm} never runs",
                near=of.arm,
                within="of",
            )


# --- words ----------------------------------------------------------------------------------------------------------------


def _twice(names: Sequence[str], noun: str) -> Iterator[Mistake]:
    for name in {name for name in names if names.count(name) > 1}:
        yield Mistake(says=f"there are two {noun} {name}", near=name)


def _unknown(noun: str, word: str, known: Mapping[str, object] | Sequence[str] | set[str]) -> Mistake:
    error = UsageError.unknown(noun, word, known)
    return Mistake(says=error.message, near=word, within="of", advice=error.advice)
