"""What a checker is given and what it returns."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.consumption import Consumption
from analysis.evidence import Records
from analysis.logs.tables import LogTables
from analysis.run_directory import RunDirectory
from analysis.schema import OBSERVATIONS


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The evidence as tables; ``trials`` has ``schema.TRIALS``'s columns and is small."""

    run: RunDirectory
    trials: DataFrame
    records: Records
    consumption: Consumption
    logs: LogTables


class Checker(Protocol):
    """One property. ``MEASURES`` are the names that ``observe`` may give."""

    MEASURES: tuple[str, ...]

    def observe(self, inputs: Inputs) -> DataFrame:
        """Observations with the columns of ``schema.OBSERVATIONS``; lazy, the caller runs it."""
        ...


def observation(
    table: DataFrame,
    *,
    measure: str,
    value: Column,
    unit: Column,
    file: Column,
    line: Column,
    operation: Column,
    params: Mapping[str, Column] | None = None,
    censored: Column | None = None,
) -> DataFrame:
    """One observation for each row of ``table``, which must have ``trial`` and ``deployment``; null values are none."""
    given = F.to_json(F.struct(*[column.alias(name) for name, column in params.items()])) if params else F.lit("{}")
    observed = table.select(
        F.lit(measure).alias("measure"),
        F.col("trial"),
        F.col("deployment"),
        unit.alias("unit"),
        given.alias("params"),
        value.cast("double").alias("value"),
        (F.coalesce(censored, F.lit(False)) if censored is not None else F.lit(False)).alias("censored"),
        file.alias("file"),
        line.cast("long").alias("line"),
        operation.alias("operation"),
    )
    return observed.where(F.col("value").isNotNull()).select(*OBSERVATIONS.names)


def together(*tables: DataFrame) -> DataFrame:
    """All observations of a checker as one table, so that it runs as one job."""
    return functools.reduce(DataFrame.unionByName, tables)


def owner_unit() -> Column:
    """A group has one owner: what is independent in a hand-over is the owner with the phase of its renewals."""
    return F.concat_ws("/", "deployment", "trial", "group")


def trial_unit() -> Column:
    """A stall is a trial."""
    return F.concat_ws("/", "deployment", "trial")


def events_file() -> Column:
    """The trial's events, relative to the run directory."""
    return F.concat(F.lit("trials/"), F.col("trial"), F.lit("/events.jsonl"))


def queue_words() -> Column:
    """``group g0 queue broker-a:3``."""
    return F.concat(F.lit("group "), F.col("group"), F.lit(" queue "), F.concat_ws(":", "broker", "queue"))
