"""What a checker is given and what it returns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from string import Formatter
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.consumption import Consumption, fold_consumption
from analysis.evidence.records import Reading, Records, column_of, load_records, place
from analysis.evidence.tables import OBSERVATIONS, frame_of
from analysis.evidence.trials import TrialFacts, trial_facts, trials_frame
from analysis.logs import gc
from analysis.logs.tables import Logs, load_logs
from analysis.spark import compile_from
from analysis.spark_settings import READING_COMPILED_BYTES_MIN
from harness.model.loads import LoadValue
from harness.model.measures import MEASURES, loads_of
from harness.model.scenario import Scenario
from harness.rundir.reading import RunDirectory


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What was recorded in a run: its records and its logs as tables, and what is known of each trial.

    ``trials`` has that with the columns of ``tables.TRIALS``, and is small.
    """

    spark: SparkSession
    run: RunDirectory
    records: Records
    logs: Logs
    facts: list[TrialFacts]
    trials: DataFrame


@dataclass(frozen=True, kw_only=True)
class Inputs(Recorded):
    """The same with consumptions in order."""

    consumption: Consumption


def read_recorded(
    spark: SparkSession, run: RunDirectory, scenarios: Sequence[Scenario] = (), reading: Reading | None = None
) -> Recorded:
    """Read a run's records, of which ``reading`` may have begun, and its logs; the scenarios say what load each trial has."""
    compile_from(spark, READING_COMPILED_BYTES_MIN, run)
    # Side by side: each alone leaves a core idle while it lists files and plans.
    with ThreadPoolExecutor(max_workers=1) as pool:
        loading = pool.submit(load_records, spark, run, reading)
        logs = load_logs(spark, run)
        records = loading.result()
    facts = trial_facts(records, run, gc.parse(logs.kept))
    trials = trials_frame(spark, run, facts, scenarios)
    return Recorded(spark=spark, run=run, records=records, logs=logs, facts=facts, trials=trials)


def inputs_of(recorded: Recorded) -> Inputs:
    """What checkers are given of it."""
    consumption = fold_consumption(recorded.spark, recorded.records, recorded.trials, recorded.run)
    return Inputs(**vars(recorded), consumption=consumption)


class Checker(Protocol):
    """One property. What ``observe`` may give stands in ``harness.model.measures``."""

    def observe(self, inputs: Inputs) -> DataFrame:
        """Observations with the columns of ``tables.OBSERVATIONS``. The table is lazy: the caller runs it."""
        ...


@dataclass(frozen=True)
class Value:
    """The value of a measure in the catalogue, by columns of a table. A null value is no observation.

    ``said`` is a template for :func:`words`, in which ``{value}`` is the value. ``at`` is the :func:`place` where it can be
    looked up, by default the row's own; ``params`` are the measure's own parameters.
    """

    measure: str
    value: Column | str
    said: str
    _: KW_ONLY
    at: Column | str | None = None
    params: Mapping[str, Column | str] = field(default_factory=dict)
    censored: Column | None = None


_wanted: ContextVar[Collection[str]] = ContextVar("_wanted", default=MEASURES)


@contextmanager
def giving(measures: Collection[str]) -> Iterator[None]:
    """Within the block, and in its thread, checkers give values of these measures alone.

    A checker says all that it can give, and most of a small run's time goes into planning: what nobody asks for is left out here.
    """
    before = _wanted.set(measures)
    try:
        yield
    finally:
        _wanted.reset(before)


def observations(table: DataFrame | Callable[[], DataFrame], *values: Value) -> DataFrame:
    """The values of every row of ``table``, which must have ``trial``, ``deployment`` and the measures' own keys.

    All of a row's values are made in one pass; a union of one table for each measure would read it as many times. Where none
    of them is wanted the table is not read, nor made where it is a function.
    """
    wanted = [value for value in values if value.measure in _wanted.get()]
    if not wanted:
        return frame_of(SparkSession.active(), [], OBSERVATIONS)
    each = F.explode(F.array(*[_struct(value) for value in wanted])).alias("item")
    rows = table if isinstance(table, DataFrame) else table()
    flat = rows.select("trial", "deployment", each).where("item.value IS NOT NULL")
    return flat.select(
        *[F.col(name if name in {"trial", "deployment"} else f"item.{name}") for name in OBSERVATIONS.names]
    )


def _struct(value: Value) -> Column:
    given = [column_of(column).cast("string").alias(name) for name, column in value.params.items()]
    at = place() if value.at is None else column_of(value.at)
    return F.struct(
        F.lit(value.measure).alias("measure"),
        unit_key(value.measure).alias("unit"),
        (F.to_json(F.struct(*given)) if given else F.lit("{}")).alias("params"),
        column_of(value.value).cast("double").alias("value"),
        (F.lit(False) if value.censored is None else F.coalesce(value.censored, F.lit(False))).alias("censored"),
        at["file"].alias("file"),
        at["line"].alias("line"),
        words(value.said, value=column_of(value.value)).alias("operation"),
    )


def words(template: str, **given: Column) -> Column:
    """``"group {group}"`` with the columns that it names, or those that are given; null when one of them is."""
    parts = []
    for text, name, _, _ in Formatter().parse(template):
        parts.append(F.lit(text))
        if name:
            parts.append(given[name] if name in given else F.col(name))
    return F.concat(*parts)


def together(*tables: DataFrame) -> DataFrame:
    """All observations of a checker as one table, so that it runs as one job."""
    return functools.reduce(DataFrame.unionByName, tables)


def unit_key(measure: str) -> Column:
    """``d1/t1/g0``: what the catalogue says is independent of all others. KeyError for a measure that is not in it."""
    return F.concat_ws("/", *MEASURES[measure].independent.key)


def is_of(*loads: type[LoadValue]) -> Column:
    """Whether a trial's load is one of these."""
    return F.col("load").isin(*(load.__name__ for load in loads))


def trials_of(inputs: Inputs, checker: str) -> DataFrame:
    """The trials of whichever incident that have a load of the checker's, by the catalogue."""
    loads = loads_of(checker)
    return inputs.trials.where(is_of(*loads)) if loads else inputs.trials


def in_events(line: Column | str = "n") -> Column:
    """The place of a line in the trial's events."""
    return place(line, F.concat(F.lit("trials/"), F.col("trial"), F.lit("/events.jsonl")))


def at_fault() -> Column:
    """Where the trial's events say that the fault began."""
    return in_events("fault_line")
