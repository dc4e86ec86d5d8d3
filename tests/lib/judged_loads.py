"""What was found of a load, by the names that its terminal lines have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

import analysis.load.judge
from analysis.load.judged import JudgedLoad
from harness.model.findings import Finding
from harness.rundir.reading import RunDirectory
from scenarios.own_load import OWN_LOAD


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One finding of a load; ``count`` is of violations, None where nobody could tell."""

    verdict: str
    words: str
    count: float | None
    file: str = ""
    line: int = 0


def judge_load_in(spark: SparkSession, run: RunDirectory) -> JudgedLoad:
    """By the claims of every load."""
    return analysis.load.judge.judge_load_in(spark, run, OWN_LOAD)


def shown(findings: Iterable[Finding]) -> dict[str, Shown]:
    """By the name of its one part."""
    return shown_of_json(map(asdict, findings))


def shown_of_json(findings: Iterable[Mapping[str, Any]]) -> dict[str, Shown]:
    """As ``--json`` prints them."""
    return {
        part["name"]: Shown(
            verdict=one["verdict"],
            words=one["summary"],
            count=part["estimate"],
            **({name: one["evidence"][0][name] for name in ("file", "line")} if one["evidence"] else {}),
        )
        for one in findings
        for part in one["parts"]
    }
