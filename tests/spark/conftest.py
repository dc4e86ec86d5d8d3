"""One Spark session, new run directories, and their analysis.

Planning costs more than a few records do, so the tests of a file put all of their trials into one run and analyse it
once; each then looks at its own trial.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.ledger.runs import FINDINGS, read_lines
from analysis.observe import showing_everything
from analysis.pipeline import analyze_in
from analysis.report.document import ReportData
from harness.model.scenario import Scenario
from harness.rundir.reading import read_run_directory
from tests.lib.own_scenarios import SCENARIOS, handover
from tests.lib.runs import Analysis, Run
from tests.lib.spark import spark, spark_here
from tests.lib.trials import log_time

__all__ = ["spark", "spark_here"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.spark)


INCIDENT = """\
import dataclasses

from tests.lib.own_scenarios import SCENARIOS, handover

SCENARIO = dataclasses.replace(SCENARIOS[0], claims=SCENARIOS[0].claims[:2])
"""
"""Of the run itself: each further checker is planned three times."""


@pytest.fixture(scope="session")
def new_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """A new run directory of the named incidents, or of the tests' own two."""

    def make(*incidents: str, **attributes: Any) -> Run:
        names = incidents or tuple(scenario.name for scenario in SCENARIOS)
        return Run(path=tmp_path_factory.mktemp("run"), incidents=names, **attributes)

    return make


@pytest.fixture(scope="session")
def analysed(spark: SparkSession) -> Callable[..., Analysis]:
    """Save a run (or take one that was saved) and analyse it with the given scenarios, or let ``by`` do that.

    Without a scenario it is analysed with the tests' own two. ``measures`` are made beside what the claims ask for; where
    ``judging`` is off nothing else is. With ``everything`` each checker runs: planning them all takes a minute of a core.
    """

    def analyse(
        run: Run | Path,
        *scenarios: Scenario,
        measures: Sequence[str] = (),
        judging: bool = True,
        everything: bool = False,
        by: Callable[[Path, Sequence[Scenario]], ReportData] | None = None,
    ) -> Analysis:
        path = run.save() if isinstance(run, Run) else run
        wanted: dict[str, Any] = (
            {"extra_measures": tuple(measures)} if judging else {"extra_measures": tuple(measures), "claims": ()}
        )
        asked = tuple(dataclasses.replace(one, **wanted) for one in scenarios or SCENARIOS)
        if everything:
            asked = showing_everything(asked)
        data = by(path, asked) if by else analyze_in(spark, read_run_directory(path), asked)
        return Analysis(
            path=path,
            data=data,
            judged=data.findings,
            rows=spark.read.parquet(str(path / "analysis" / "observations.parquet")).collect(),
            counted=read_lines(path / FINDINGS).trials,
            report=json.loads((path / "analysis" / "page.json").read_text()),
        )

    return analyse


@pytest.fixture(scope="session")
def here(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    """Two trials, one of which has lost a message, judged by one machine."""
    run = new_run("handover", trials=[handover("good"), handover("bad", deployment="d2")])
    records = run.trials[1].history["successor"]
    records.remove([record for record in records if record["type"] == "consume" and record["group"] == "g0"][3])
    run.log("d1", "lock.log", f"{log_time(10)} WARN a line of no parser", "no line of a log")
    path = run.save()
    (path / "incidents").mkdir()
    (path / "incidents" / "handover.py").write_text(INCIDENT)
    return analysed(path, dataclasses.replace(SCENARIOS[0], claims=SCENARIOS[0].claims[:2]))
