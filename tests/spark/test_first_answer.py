"""The first answer is that of the same analysis, of the ended cluster alone, and leaves no trace in the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

import analysis.pipeline
from analysis.pipeline import analyze_in
from analysis.report.document import ReportData
from harness.model.findings import Finding
from mqlab.run.first_answer import answer
from tests.lib.runs import Run


def test_it_is_of_the_cluster_that_has_ended_alone(
    spark: SparkSession, new_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run("append-stall", "ordered-lock-handover", releases=("4.6.0", "5.5.0"))
    for stall_ms in (0, 250, 450):
        run.stalled(f"s{stall_ms}", deployment="d1", stall_ms=stall_ms)
    path = run.save()
    # A trial of the next cluster has begun, and has no file yet but its own.
    begun = path / "trials" / "o1"
    begun.mkdir()
    of_other = json.loads((path / "trials" / "s0" / "trial.json").read_text())
    (begun / "trial.json").write_text(json.dumps({**of_other, "trial": "o1", "deployment": "d2", "status": "running"}))
    found: list[Finding] = []

    def here(*asked: Any) -> ReportData:
        data = analyze_in(*asked)
        found.extend(data.findings)
        return data

    monkeypatch.setattr(analysis.pipeline, "analyze_in", here)
    words = answer(spark, print, path, "d1")
    assert {(one.incident, one.release) for one in found} == {("append-stall", "4.6.0")}
    assert max(one.trials for one in found) == 3
    # By hand no send was refused, which every recorded stall had.
    assert words.startswith("append-stall on 4.6.0 differs from the record in ")
    assert "BUSY-10" in words
    assert not (path / "analysis").exists()
