"""From ``--sweep`` to the points of a sweep, and to the incident whose arms they are."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import UsageError, shown
from harness.model.cells import same_value
from harness.model.cluster import UserSettings
from harness.model.measures import MEASURES
from harness.model.rocketmq import LOCK_INTERVAL, LOCK_INTERVAL_MS, LOCK_LIFE, LOCK_LIFE_MS
from harness.model.scenario import Arm, Scenario, TrialBudget
from harness.model.sweep import Point, Sweep
from harness.releases.border import judge
from harness.releases.settings import settings_of
from harness.releases.user_settings import parse_sets
from mqlab.run.one_trial import one_trial

LOAD = "load"
PREFIXES = ("broker", "broker-jvm", "client", LOAD)
FORM = re.compile(r"(broker|broker-jvm|client|load)\.([A-Za-z][A-Za-z0-9_.]{0,99})=([ -~]{1,2000})")
VALUES_MAX, POINTS_MAX = 50, 500
IN_A_NAME = re.compile(r"[\w.]{1,20}(-[\w.]{1,20}){0,2}", re.ASCII)

GOALS = tuple(one.name for one in sorted(MEASURES.values(), key=lambda one: one.goal) if one.goal)
"""What a sweep makes little of when the user does not say: the first of them that the incident measures in the arm."""

PRICES = tuple(one.name for one in MEASURES.values() if one.price)
"""Asked for beside what the incident measures: a setting that avoids refusals may have sends wait."""


DEFAULTS = {LOCK_LIFE: f"{LOCK_LIFE_MS:g}", LOCK_INTERVAL: f"{LOCK_INTERVAL_MS:g}"}
"""Of system properties, which no class tells."""


@dataclass(frozen=True, kw_only=True)
class Swept:
    """One ``--sweep``: a setting by its prefix, or something of the load, and the values that it takes."""

    prefix: str
    name: str
    values: tuple[str, ...]

    @property
    def key(self) -> str:
        """With its prefix."""
        return f"{self.prefix}.{self.name}"


def read_swept(text: str) -> Swept:
    """``broker.waitTimeMillsInSendQueue=100,200``. Raises ValueError: it is of another form; UsageError: of no use."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError
    values = [one.strip() for one in found[3].split(",")]
    key = f"{found[1]}.{found[2]}"
    if not all(values):
        raise UsageError(f"--sweep {key}: a value is empty", advice=f"For example --sweep {key}=100,200,400.")
    if twice := next((one for i, one in enumerate(values) if any(same_value(one, v) for v in values[:i])), None):
        raise UsageError(f"--sweep {key}: {twice} is given twice", advice="Name each value once.")
    if not 2 <= len(values) <= VALUES_MAX:
        raise UsageError(
            f"--sweep {key}: there {'is 1 value' if len(values) == 1 else f'are {len(values)} values'}",
            advice=f"Give 2 to {VALUES_MAX} of them; --set or --param set a single one.",
        )
    return Swept(prefix=found[1], name=found[2], values=tuple(values))


def check_swept(swept: Sequence[Swept], fixed: Collection[str]) -> None:
    """Raises UsageError: something is swept twice, or is also among ``fixed`` (with prefixes), or the points are too many."""
    keys = [one.key for one in swept]
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"--sweep {key} is given twice", advice="Name all of its values in one.")
        if key in fixed:
            raise UsageError(f"{key} is swept, and is set to one value as well", advice="Leave one of the two out.")
    points = math.prod(len(one.values) for one in swept)
    if points > POINTS_MAX:
        raise UsageError(
            f"the lists make {points:,} points, and at most {POINTS_MAX} are drawn from", advice="Give fewer values."
        )


def without(user: UserSettings, swept: Sequence[Swept]) -> UserSettings:
    """The user's settings less those that are swept: what a broker.conf says of one is only what is there now."""
    keys = {one.name for one in swept if one.prefix == "broker"}
    return dataclasses.replace(user, broker={key: value for key, value in user.broker.items() if key not in keys})


def check_settings(swept: Sequence[Swept], releases: Sequence[str]) -> None:
    """Raises UsageError: a release does not know a setting, a value is not of its kind, or it is not let into the lab."""
    for one in swept:
        if one.prefix != LOAD:
            for value in one.values:
                parse_sets([f"{one.key}={value}"], releases)
                if why := judge(one.prefix, one.name, value).why:
                    raise UsageError(f"--sweep {one.key}={shown(value)}: {why.rstrip('.')}", advice="Leave it out.")


def of_the_load(swept: Sequence[Swept], arm: Arm) -> list[Swept]:
    """The same with the load's names in full: ``load.rate`` is the cell's ``rate_hz`` where no other name begins so."""
    return [one if one.prefix != LOAD else dataclasses.replace(one, name=_full_name(one.name, arm)) for one in swept]


def _full_name(name: str, arm: Arm) -> str:
    known = {*arm.cells[0], *(field.name for field in dataclasses.fields(arm.load))}
    longer = sorted(one for one in known if one.startswith(f"{name}_"))
    return longer[0] if name not in known and len(longer) == 1 else name


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What of an incident is swept, for which releases, and what the points have in common."""

    scenario: Scenario
    arm: str = ""
    releases: tuple[str, ...]
    topology: str = ""
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    user: UserSettings = dataclasses.field(default_factory=UserSettings)
    goal: str = ""
    margin: float = 0.1
    sample: int | None = None
    seed: int = 1


def sweep_of(asked: Asked, swept: Sequence[Swept]) -> tuple[Sweep, Scenario]:
    """The points, and the incident with an arm for each of them.

    Raises UsageError: arm, load or goal is none of the incident's.
    """
    base = _one(asked, {})
    arm = base.arms[0]
    swept = of_the_load(swept, arm)
    check_swept(swept, [f"{LOAD}.{name}" for name in asked.params])
    goal = _goal(asked.goal, base)
    points = _points(asked, swept, arm)
    arms = tuple(_arm(_one(asked, point.load).arms[0], point, base, asked.scenario) for point in points)
    scenario = dataclasses.replace(
        base,
        title=f"{base.title}: a sweep",
        arms=arms,
        claims=(),
        budget=TrialBudget(trials=1, deployments=1),
        extra_measures=tuple(sorted({*base.extra_measures, *PRICES, goal})),
    )
    return Sweep(incident=scenario.name, points=points, goal=goal, margin=asked.margin), scenario


def _one(asked: Asked, load: Mapping[str, str]) -> Scenario:
    """One arm and one cell, checked for every release."""
    params = {**asked.params, **load}
    found = [
        one_trial(asked.scenario, arm=asked.arm, release=release, topology=asked.topology, params=params)
        for release in asked.releases
    ]
    return found[0]


def _goal(asked: str, base: Scenario) -> str:
    if asked:
        return asked
    found = next((name for name in GOALS if name in base.measures()), "")
    if not found:
        known = ", ".join(sorted(base.measures() & MEASURES.keys()))
        raise UsageError(f"{base.name} does not say what is to become less", advice=f"Give --goal, one of {known}.")
    return found


def _points(asked: Asked, swept: Sequence[Swept], arm: Arm) -> tuple[Point, ...]:
    """The grid, or a sample of its settings; what is there now is always among them."""
    settings = [one for one in swept if one.prefix != LOAD]
    loads = [one for one in swept if one.prefix == LOAD]
    ordered = [_in_order(one.values) for one in settings]
    now = [_now(one, arm, asked) for one in settings]
    there = tuple(values.index(value) for values, value in zip(ordered, now, strict=True))
    places = list(itertools.product(*(range(len(values)) for values in ordered)))
    if asked.sample is not None and asked.sample < len(places):
        others = [place for place in places if place != there]
        drawn = random.Random(asked.seed).sample(others, asked.sample - 1)
        places = sorted([there, *drawn])
    return tuple(
        Point(
            arm=_arm_name(arm.name, [ordered[i][p] for i, p in enumerate(place)], load, number),
            settings={one.key: ordered[i][place[i]] for i, one in enumerate(settings)},
            load=dict(zip((one.name for one in loads), load, strict=True)),
            steps=sum(abs(p - q) for p, q in zip(place, there, strict=True)),
        )
        for number, (load, place) in enumerate(
            itertools.product(itertools.product(*(_in_order(one.values) for one in loads)), places), 1
        )
    )


def _in_order(values: Sequence[str]) -> list[str]:
    """Numbers by their size, anything else as it was given."""
    try:
        return sorted(values, key=float)
    except ValueError:
        return list(values)


def _now(one: Swept, arm: Arm, asked: Asked) -> str:
    """The value that is there without the sweep, if it is one of the list; else the first one of it."""
    known = settings_of(asked.releases[0])
    there = {
        "broker": {**known.broker, **arm.broker.conf, **arm.live_conf, **asked.user.broker},
        "broker-jvm": {**DEFAULTS, **arm.broker.properties, **asked.user.broker_jvm},
        "client": {**DEFAULTS, **known.client, **asked.user.client},
    }[one.prefix].get(one.name, "")
    return next((value for value in one.values if same_value(value, there)), one.values[0])


def _arm_name(arm: str, settings: Sequence[str], load: Sequence[str], number: int) -> str:
    values = "-".join((*settings, *load))
    return f"{arm}-{values if IN_A_NAME.fullmatch(values) else number}"


def _arm(found: Arm, point: Point, base: Scenario, whole: Scenario) -> Arm:
    """The arm of a point. What the incident itself changes on the running broker is changed so, all else needs a cluster."""
    of: dict[str, dict[str, str]] = {prefix: {} for prefix in PREFIXES}
    for key, value in point.settings.items():
        prefix, _, name = key.partition(".")
        of[prefix][name] = value
    can_change = {key for arm in whole.arms for key in arm.live_conf}
    live = {key: value for key, value in of["broker"].items() if key in can_change}
    conf = {key: value for key, value in of["broker"].items() if key not in can_change}
    usual = base.arms[0]
    return dataclasses.replace(
        found,
        name=point.arm,
        what=f"{shown_point(point)}.",
        live_conf={**found.live_conf, **live},
        broker=dataclasses.replace(
            found.broker,
            conf={**found.broker.conf, **conf},
            properties={**found.broker.properties, **of["broker-jvm"]},
        ),
        client={**found.client, **of["client"]},
        # Producers that stay up from trial to trial, and their topic, are those of the first arm.
        is_apart=found.is_apart or bool(of["client"]) or found.load != usual.load,
    )


def shown_point(point: Point) -> str:
    """``broker.waitTimeMillsInSendQueue=400, load.rate_hz=500``."""
    load = {f"{LOAD}.{name}": value for name, value in point.load.items()}
    return ", ".join(f"{key}={value}" for key, value in {**point.settings, **load}.items())
