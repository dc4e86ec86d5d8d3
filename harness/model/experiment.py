"""What makes two trials trials of one experiment: a hash of everything that decides what happens in them."""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Mapping

from harness.model.cells import Parameters
from harness.model.measures import CHECKER_VERSIONS, MEASURES
from harness.model.scenario import Arm, Scenario


def experiment_hash(
    scenario: Scenario,
    arm: Arm,
    params: Parameters,
    *,
    release: str,
    jars: str,
    client: str,
    backend: str,
    injection: str,
    chosen_injection: str = "",
) -> str:
    """SHA-256 of an arm's cell on a release (``jars``: the SHA-256 of its list of jars), as one backend and injection make it.

    Only what differs from its default enters, so that a new field changes no hash; a default that becomes another one needs
    a new ``experiment_version``. How many trials there are, on which
    host and by which seed they are made, and all texts are left out: data of one hash are one series, whichever run they come from.
    """
    parts = {
        "scenario": scenario.name,
        "version": scenario.experiment_version,
        "arm": arm.name,
        "fault": _plain(arm.fault),
        "load": _plain(arm.load),
        "broker": _plain(arm.broker),
        "live_conf": _plain(arm.live_conf),
        "phases": _plain(scenario.phases_of(arm)),
        "topology": _plain(arm.topology or scenario.topology),
        "cell": _plain(params),
        "release": release,
        "jars": jars,
        "client": client,
        "backend": backend,
        "injection": injection,
        "chosen_injection": chosen_injection,
        "checkers": _raised(scenario.measures((arm.name,))),
        **({"client_settings": _plain(arm.client)} if arm.client else {}),
        **({"steps": _plain(arm.steps)} if arm.steps else {}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _raised(measures: Collection[str]) -> dict[str, int]:
    checkers = {checker for name in measures if name in MEASURES for checker in MEASURES[name].checkers}
    return {name: CHECKER_VERSIONS[name] for name in sorted(checkers & CHECKER_VERSIONS.keys())}


def _plain(value: object) -> object:
    """JSON's own kinds: a value is its class and those of its fields that are not as the class has them by itself."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if getattr(value, field.name) != _default(field)
        }
        return {type(value).__name__: changed}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    # Of a function the name tells which it is.
    return getattr(value, "__qualname__", type(value).__name__)


def _default(field: "dataclasses.Field[object]") -> object:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
