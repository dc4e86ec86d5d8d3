"""Files that plant trials, and judge nothing, have them analysed all at once: that takes little longer than one of them does.

All of it as incidents of a user's own, so that each measure is shown to be one of them, too.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.lib.own_names import under_own_names
from tests.lib.runs import Analysis, Asked, Run

EACH_LOAD = "test_each_load"
"""It looks at what all of the others have planted, also where it is collected alone."""


def _collected(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    here = Path(__file__).parent
    modules = {
        item.path.stem: item.module
        for item in request.session.items
        if item.path.parent == here and isinstance(item, pytest.Function)
    }
    for path in sorted(here.glob("test_*.py")) if EACH_LOAD in modules else ():
        if path.stem not in modules:
            spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
            assert spec
            assert spec.loader
            modules[path.stem] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[path.stem])
    yield from (module for module in modules.values() if hasattr(module, "plant"))


@pytest.fixture(scope="session")
def planted(request: pytest.FixtureRequest, new_run: Callable[..., Run]) -> tuple[Run, list[Asked]]:
    """A run with what ``plant`` of each collected file has put into it."""
    run = new_run()
    return run, [module.plant(run) for module in _collected(request)]


@pytest.fixture(scope="session")
def loads_of_arms(planted: tuple[Run, list[Asked]], seen: Analysis) -> dict[tuple[str, str], str]:
    """By incident and arm, as they are named in the analysed run."""
    run, asked = planted
    own = {scenario.name: scenario for one in asked for scenario in one.scenarios}
    names = dict(zip(own, run.incidents, strict=True))
    return {
        (names[scenario.name], arm.name): type(arm.load).__name__ for scenario in own.values() for arm in scenario.arms
    }


@pytest.fixture(scope="session")
def seen(planted: tuple[Run, list[Asked]], analysed: Callable[..., Analysis]) -> Analysis:
    """What was observed of all of these trials."""
    run, asked = planted
    scenarios = {scenario.name: scenario for one in asked for scenario in one.scenarios}
    own = under_own_names(run, tuple(scenarios.values()))
    run.releases = tuple(dict.fromkeys(release for one in asked for release in one.releases))
    measures = dict.fromkeys(measure for one in asked for measure in one.measures)
    return analysed(run, *own, measures=tuple(measures), judging=False)
