"""Files that plant trials, and judge nothing, have them analysed all at once: that takes little longer than one of them does.

All of it as incidents of a user's own, so that each measure is shown to be one of them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lib.own_names import under_own_names
from tests.lib.runs import Analysis, Asked, Run


@pytest.fixture(scope="session")
def seen(request: pytest.FixtureRequest, new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    """What was observed of all trials that ``plant`` of a collected file has put into the run."""
    run = new_run()
    of_here = [item for item in request.session.items if item.path.parent == Path(__file__).parent]
    modules = dict.fromkeys(item.module for item in of_here if isinstance(item, pytest.Function))
    asked: list[Asked] = [module.plant(run) for module in modules if hasattr(module, "plant")]
    scenarios = {scenario.name: scenario for one in asked for scenario in one.scenarios}
    own = under_own_names(run, tuple(scenarios.values()))
    run.releases = tuple(dict.fromkeys(release for one in asked for release in one.releases))
    measures = dict.fromkeys(measure for one in asked for measure in one.measures)
    return analysed(run, *own, measures=tuple(measures), judging=False)
