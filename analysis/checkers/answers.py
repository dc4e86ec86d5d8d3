"""Answers that the cluster gave to the harness's own probes; each is an observation as it stands."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, in_events
from analysis.evidence.tables import OBSERVATIONS
from harness.model.measures import ANSWER, measures_of


def observe(inputs: Inputs) -> DataFrame:
    """One observation for each probe whose name the catalogue has."""
    return probed(inputs, "answers", ANSWER.key)


def probed(inputs: Inputs, checker: str, key: tuple[str, ...]) -> DataFrame:
    """One for each probe of the checker's measures; ``key`` are the columns that tell one try from another."""
    asked = inputs.records.events.where((F.col("type") == "probe") & F.col("measure").isin(*measures_of(checker)))
    columns = {
        "unit": F.concat_ws("/", *key),
        "censored": F.lit(False),
        "file": in_events()["file"],
        "line": F.col("n"),
        "operation": F.concat_ws(" ", F.concat(F.col("of"), F.lit(":")), F.col("measure"), F.col("detail")),
    }
    return asked.join(inputs.trials.select("trial", "deployment"), "trial").select(
        *[columns[name].alias(name) if name in columns else F.col(name) for name in OBSERVATIONS.names]
    )
