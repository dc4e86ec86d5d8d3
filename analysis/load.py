"""A load judged: what was promised, what arrived, and how well the generator kept its own schedule.

The same checkers as for incidents, without claims: a load's run directory is one trial, and what is true of it is told
as it is. Nothing here is an estimate, so nothing has an interval.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Checker, Inputs
from analysis.checkers.delivery import duplicates, exclusivity, loss, order
from analysis.checkers.delivery.keys import queues_of_keys
from analysis.evidence.consumption import fold_consumption
from analysis.evidence.records import ANALYSIS_FOLDER, Records, load_records
from analysis.evidence.run_directory import RunDirectory, Trial, read_run_directory
from analysis.evidence.trials import TrialFacts, trial_facts, trials_frame
from analysis.logs.tables import load_logs
from analysis.spark import SparkPlace, closing_session
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED

WARM_UP_S = 2.0
"""Of the asked and achieved rates this much of the beginning is left out: Locust's users come one after another."""

Holds = Literal["holds", "violated", "undecided"]

_QUANTILES = (0.5, 0.99, 0.999)


@dataclass(frozen=True, kw_only=True)
class Property:
    """One thing that a load can show. ``count`` is of violations; ``file`` and ``line`` say where the first one is."""

    name: str
    holds: Holds
    words: str
    count: int | None = None
    file: str = ""
    line: int = 0


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Numbers of a load. Latencies are of sends that were accepted, lateness is of every start; both from the intended
    time. A closed loop has no intended times, and no lateness. ``asked_per_s`` is None where the rate was to change.
    ``unknown_arrived`` are the unknown sends that were consumed all the same, ``unplaced`` the accepted ones of which the
    client did not tell queue and offset.
    """

    sends: int
    ok: int
    failed: int
    unknown: int
    unknown_arrived: int
    unplaced: int
    consumptions: int
    seconds: float
    asked_per_s: float | None
    started_per_s: float
    ok_per_s: float
    late_ms: tuple[float, ...]
    latency_ms: tuple[float, ...]
    late_ms_max: float
    hiccup_ms_max: float | None


@dataclass(frozen=True, kw_only=True)
class JudgedLoad:
    """Everything that is said of a load. ``locust`` are Locust's own counts of requests and failures, ``notes`` what a
    reader has to know of it: weaknesses of its client, what went wrong.
    """

    client: str
    release: str
    params: Mapping[str, int | float | str]
    figures: Figures
    properties: tuple[Property, ...]
    notes: tuple[str, ...]
    locust_requests: int | None
    locust_failures: int | None

    @property
    def exit_code(self) -> int:
        """As with ``--strict``: 1 when something is violated, 2 when something could not be judged."""
        found = {item.holds for item in self.properties}
        return EXIT_MISMATCH if "violated" in found else EXIT_UNDECIDED if "undecided" in found else EXIT_OK

    def lines(self) -> list[str]:
        """For a person."""
        f = self.figures
        lines = [
            f"client {self.client} on RocketMQ {self.release}: {f.sends:,} sends, {f.ok:,} ok, {f.failed:,} failed, "
            f"{f.unknown:,} unknown; {f.consumptions:,} consumptions",
            f"started {f.started_per_s:,.1f}/s{_asked(f)}, accepted {f.ok_per_s:,.1f}/s",
            f"latency p50 {f.latency_ms[0]:.2f}, p99 {f.latency_ms[1]:.2f}, p99.9 {f.latency_ms[2]:.2f} ms",
        ]
        if "in_flight" not in self.params:
            late = (
                f"p50 {f.late_ms[0]:.3f}, p99 {f.late_ms[1]:.3f}, p99.9 {f.late_ms[2]:.3f}, max {f.late_ms_max:.1f} ms"
            )
            probe = "" if f.hiccup_ms_max is None else f"; the machine's own worst hiccup {f.hiccup_ms_max:.1f} ms"
            lines.append(f"starts late by {late}{probe}")
        if f.unknown:
            lines.append(f"of the {f.unknown:,} sends with an unknown outcome {f.unknown_arrived:,} were consumed")
        if f.unplaced:
            lines.append(f"of the {f.ok:,} accepted sends the client did not tell queue and offset of {f.unplaced:,}")
        width = max(len(item.name) for item in self.properties)
        lines += [f"{item.name:{width}}  {item.holds:9}  {item.words}" for item in self.properties]
        return lines + [f"note: {note}" for note in self.notes]


def _asked(figures: Figures) -> str:
    if figures.asked_per_s is None:
        return ""
    off = figures.started_per_s / figures.asked_per_s - 1
    return f" of {figures.asked_per_s:,.1f} asked ({off:+.3%})"


def judge_load(run_dir: Path, place: SparkPlace) -> JudgedLoad:
    """Judge a load's run directory and write ``RUN/analysis/load.json``.

    Raises :class:`harness.errors.RunDirectoryError` when this is no run directory.
    """
    run = read_run_directory(run_dir)
    with closing_session(place) as spark:
        return judge_load_in(spark, run)


def judge_load_in(spark: SparkSession, run: RunDirectory) -> JudgedLoad:
    """As :func:`judge_load`, in a session that the caller has and keeps."""
    folder = run.path / ANALYSIS_FOLDER
    folder.mkdir(exist_ok=True)
    records = load_records(spark, run)
    logs = load_logs(spark, run)
    (facts,) = trial_facts(records, run, logs.stops)
    trials = trials_frame(spark, run, [facts])
    consumption = fold_consumption(spark, records.consumptions, trials, run)
    inputs = Inputs(spark=spark, run=run, trials=trials, records=records, consumption=consumption, logs=logs)
    figures = _figures(records, facts)
    requests, failures = _locust_counts(run)
    judged = JudgedLoad(
        client=facts.trial.client,
        release=facts.trial.release,
        params=facts.trial.params,
        figures=figures,
        properties=(
            *_consumed(inputs, facts, figures),
            _bodies(records, facts.trial),
            _stores_agree(records, facts, figures),
            _keys(spark, run, facts.trial),
            _locust_agrees(requests, failures, figures, _locust_failures(records)),
            _whole(facts),
        ),
        notes=_notes(run),
        locust_requests=requests,
        locust_failures=failures,
    )
    (folder / "load.json").write_text(json.dumps(asdict(judged), indent=1) + "\n")
    return judged


def _notes(run: RunDirectory) -> tuple[str, ...]:
    notes = run.manifest.document.get("notes")
    return (*map(str, notes if isinstance(notes, list) else ()), *run.problems)


# --- figures ----------------------------------------------------------------------------------------------------------


def _figures(records: Records, facts: TrialFacts) -> Figures:
    sends = records.sends
    outcome = F.col("outcome")
    ends = sends.agg(F.min("intended_ns").alias("first"), F.max("intended_ns").alias("last")).collect()[0]
    first, last = ends["first"] or 0, ends["last"] or 0
    from_ns = min(first + int(WARM_UP_S * 1e9), last)
    late, latency = F.col("started_ns") - F.col("intended_ns"), F.col("finished_ns") - F.col("intended_ns")
    within = F.col("started_ns").between(from_ns, last)
    quantiles = F.array(*[F.lit(share) for share in _QUANTILES])
    row = sends.agg(
        F.count("*").alias("sends"),
        *[F.count(F.when(outcome == name, 1)).alias(name) for name in ("ok", "failed", "unknown")],
        F.count(F.when((outcome == "ok") & _unplaced(), 1)).alias("unplaced"),
        F.count(F.when(within, 1)).alias("started"),
        F.count(F.when((outcome == "ok") & F.col("finished_ns").between(from_ns, last), 1)).alias("accepted"),
        F.percentile(late, quantiles).alias("late"),
        F.max(late).alias("late_max"),
        F.percentile(F.when(outcome == "ok", latency), quantiles).alias("latency"),
    ).collect()[0]
    seconds = max((last - from_ns) / 1e9, 1e-9)
    params = facts.trial.params
    asked = params.get("rate_hz")
    return Figures(
        sends=row["sends"],
        ok=row["ok"],
        failed=row["failed"],
        unknown=row["unknown"],
        unknown_arrived=_unknown_arrived(records) if row["unknown"] else 0,
        unplaced=row["unplaced"],
        consumptions=facts.records - facts.sends,
        seconds=seconds,
        asked_per_s=float(asked) if asked is not None and params.get("shape") == "constant" else None,
        started_per_s=row["started"] / seconds,
        ok_per_s=row["accepted"] / seconds,
        late_ms=_ms(row["late"]),
        latency_ms=_ms(row["latency"]),
        late_ms_max=(row["late_max"] or 0) / 1e6,
        hiccup_ms_max=facts.hiccup_ms_max,
    )


def _unplaced() -> Column:
    return F.col("broker").isNull() | F.col("queue").isNull() | F.col("offset").isNull()


def _unknown_arrived(records: Records) -> int:
    consumed = records.consumptions.where("outcome = 'ok'").select("seq")
    return int(records.sends.where("outcome = 'unknown'").join(consumed, "seq", "left_semi").count())


def _ms(nanoseconds: list[float] | None) -> tuple[float, ...]:
    return tuple(value / 1e6 for value in nanoseconds) if nanoseconds else (0.0,) * len(_QUANTILES)


# --- properties -------------------------------------------------------------------------------------------------------


def _consumed(inputs: Inputs, facts: TrialFacts, figures: Figures) -> list[Property]:
    trial = facts.trial
    if not trial.groups:
        return [Property(name="nothing lost", holds="undecided", words="nobody consumed")]
    found = []
    if not facts.drained:
        why = f"the drain did not finish: {facts.remaining} messages were left"
        names = ("all arrived", "nothing lost", "nothing twice", "stored once")
        found += [Property(name=name, holds="undecided", words=why) for name in names]
    else:
        arrived = _arrived(inputs.records)
        found.append(arrived)
        if not figures.ok:
            words = "nothing was acknowledged"
            found.append(Property(name="nothing lost", holds="undecided", words=words))
        elif figures.unplaced:
            found.append(_lost_by_number(inputs, trial, arrived))
        else:
            found.append(_counted(inputs, loss, "nothing lost", "acknowledged and never consumed, by queue and offset"))
        found.append(_counted(inputs, duplicates, "nothing twice", "consumptions beyond the first"))
        found.append(_stored_once(inputs.records, trial))
    if trial.params.get("ordered") == "yes":
        found.append(_counted(inputs, order, "in order", "first consumptions out of order"))
        found.append(_counted(inputs, exclusivity, "one consumer a queue", "ms of two consumers at once"))
    return found


def _arrived(records: Records) -> Property:
    """By the sequence numbers that bodies carry, whatever the client told of queues and offsets."""
    accepted = records.sends.where("outcome = 'ok'").select("seq", "file", "n")
    missing = accepted.join(records.consumptions.where("outcome = 'ok'").select("seq"), "seq", "left_anti")
    row = _counted_rows(missing)
    return _none_of(
        "all arrived", row, f"{row['count']} of the accepted messages' sequence numbers were never consumed"
    )


def _counted_rows(table: DataFrame) -> Row:
    """How many rows there are, and where the first of them stands."""
    first = (F.min_by("file", "n").alias("file"), F.min("n").alias("line"))
    return table.agg(F.count("*").alias("count"), *first).collect()[0]


def _none_of(name: str, row: Row, words: str) -> Property:
    """It holds when the row's ``count`` is zero; its ``file`` and ``line`` are a place where it does not."""
    return Property(
        name=name,
        holds="violated" if row["count"] else "holds",
        words=words,
        count=round(row["count"]),
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def _lost_by_number(inputs: Inputs, trial: Trial, arrived: Property) -> Property:
    """Where the client did not tell where a message went: what the stores hold was consumed, or it was not."""
    stored = (
        inputs.records.events.where("type = 'store_max'")
        .groupBy("topic", "broker", "queue")
        .agg((F.max("max_offset") - F.max("min_offset")).alias("count"))
        .agg(F.sum("count").alias("stored"))
    )
    queues = inputs.consumption.queues.where(F.col("topic") == trial.topic)
    consumed = queues.agg(F.sum("different_offsets").alias("consumed"))
    row = stored.crossJoin(consumed).collect()[0]
    words = (
        f"{arrived.count} acknowledged and never consumed, by the numbers in bodies: the client did not tell all queues; "
        f"of {row['stored'] or 0:,} messages in the stores {row['consumed'] or 0:,} were consumed"
    )
    return dataclasses.replace(arrived, name="nothing lost", words=words)


def _stored_once(records: Records, trial: Trial) -> Property:
    """A message that lies at two places was sent again, by its client or by whoever asked it to."""
    place = F.struct("broker", "queue", "offset")
    again = (
        records.consumptions.where((F.col("outcome") == "ok") & (F.col("topic") == trial.topic))
        .groupBy("seq")
        .agg(F.min(place).alias("least"), F.max(place).alias("most"), F.max_by("file", place).alias("file"),
             F.max_by("n", place).alias("n"))
        .where("least != most")
    )  # fmt: skip
    row = _counted_rows(again)
    return _none_of(
        "stored once", row, f"{row['count']} sequence numbers lie in more than one place of the stores: sent again"
    )


def _counted(inputs: Inputs, checker: Checker, name: str, what: str) -> Property:
    """A checker's values summed over all queues; without a queue that it could judge, nothing is known."""
    row = (
        checker.observe(inputs)
        .agg(
            F.count("*").alias("queues"),
            F.sum("value").alias("count"),
            F.max_by("file", "value").alias("file"),
            F.max_by("line", "value").alias("line"),
        )
        .collect()[0]
    )
    if not row["queues"]:
        return Property(name=name, holds="undecided", words="no queue was consumed from")
    return _none_of(name, row, f"{round(row['count'])} {what}, in {row['queues']} queues")


def _bodies(records: Records, trial: Trial) -> Property:
    name = "bodies whole"
    failed = F.col("outcome") != "ok"
    row = records.consumptions.agg(
        F.count("*").alias("all"),
        F.count(F.when(failed, 1)).alias("failed"),
        F.min_by("file", F.when(failed, F.col("n"))).alias("file"),
        F.min(F.when(failed, F.col("n"))).alias("line"),
    ).collect()[0]
    if not row["all"]:
        return Property(name=name, holds="undecided", words="nobody consumed")
    return Property(
        name=name,
        holds="violated" if row["failed"] else "holds",
        words=f"{row['all'] - row['failed']:,} of {row['all']:,} bodies named this run and had their checksum",
        count=row["failed"],
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def _stores_agree(records: Records, facts: TrialFacts, figures: Figures) -> Property:
    """The broker's own account: what it holds is what it acknowledged, and at most what may have reached it besides."""
    name = "store agrees"
    queue = ("topic", "broker", "queue")
    store = (
        records.events.where("type = 'store_max'")
        .withColumn("queue", F.col("queue").cast("int"))
        .groupBy(*queue)
        .agg(F.max("min_offset").alias("min_offset"), F.max("max_offset").alias("max_offset"))
    )
    sends = (
        records.sends.where((F.col("outcome") == "ok") & ~_unplaced())
        .groupBy(*queue)
        .agg(
            F.count("*").alias("ok"),
            F.countDistinct("offset").alias("different"),
            F.max("offset").alias("offset_max"),
        )
    )
    row = (
        store.join(sends, list(queue), "left")
        .agg(
            F.count("*").alias("queues"),
            F.sum(F.col("max_offset") - F.col("min_offset")).alias("stored"),
            F.sum("max_offset").alias("ever"),
            F.sum("ok").alias("ok"),
            F.sum(F.col("ok") - F.col("different")).alias("shared"),
            F.sum(F.when(F.col("offset_max") >= F.col("max_offset"), 1).otherwise(0)).alias("beyond"),
        )
        .collect()[0]
    )
    if not row["queues"]:
        return Property(name=name, holds="undecided", words="the brokers were not asked for their queues' ends")
    if not figures.ok:
        return Property(name=name, holds="undecided", words="nothing was acknowledged")
    placed, shared = row["ok"] or 0, row["shared"] or 0
    absent = max(0, figures.ok - row["ever"])
    bad = shared + row["beyond"] + absent
    words = f"{row['stored']:,} messages in {row['queues']} queues, {figures.ok:,} acknowledged"
    if placed:
        words += f", {placed:,} of them with queue and offset; {shared} offsets acknowledged twice, "
        words += f"{row['beyond']} queues shorter than was acknowledged"
    else:
        words += ", none of them with queue and offset"
    return Property(name=name, holds="violated" if bad else "holds", words=words, count=bad)


def _keys(spark: SparkSession, run: RunDirectory, trial: Trial) -> Property:
    name = "a key, a queue"
    if trial.params.get("route") not in ("selector", "fixed"):
        return Property(name=name, holds="holds", words="not promised: sends went where the client chose", count=0)
    moved = F.size("queues") > 1
    row = (
        queues_of_keys(spark, run, trial.topic)
        .agg(
            F.count("*").alias("keys"),
            F.count(F.when(moved, 1)).alias("moved"),
            F.min_by(F.struct("key", "queues", "file", "line"), F.when(moved, F.col("key"))).alias("first"),
        )
        .collect()[0]
    )
    if not row["keys"]:
        return Property(name=name, holds="undecided", words="nothing told in which queues keys lie")
    if not row["moved"]:
        return Property(name=name, holds="holds", words=f"each of {row['keys']} keys stayed in one queue", count=0)
    first = row["first"]
    words = f"{row['moved']} of {row['keys']} keys moved; {first['key']} was in {', '.join(first['queues'])}"
    return Property(
        name=name, holds="violated", words=words, count=row["moved"], file=first["file"], line=first["line"]
    )


def _locust_counts(run: RunDirectory) -> tuple[int | None, int | None]:
    try:
        told = json.loads((run.path / "trials" / run.trials[0].trial / "locust.json").read_text())
    except (OSError, ValueError, IndexError):
        return None, None
    tests = told["tests"]
    return sum(test["requests"] for test in tests), sum(test["failures"] for test in tests)


def _locust_failures(records: Records) -> int:
    """What Locust counts as a failure: not accepted, except a one-way send, of which nobody says anything."""
    return int(_not_accepted(records.sends).count())


def _not_accepted(sends: DataFrame) -> DataFrame:
    return sends.where("outcome = 'failed' OR (outcome = 'unknown' AND (remark IS NOT NULL OR broker IS NOT NULL))")


def _locust_agrees(requests: int | None, failures: int | None, figures: Figures, failed: int) -> Property:
    name = "Locust agrees"
    if requests is None or failures is None:
        return Property(name=name, holds="undecided", words="Locust wrote no counts")
    missing = figures.sends - requests
    words = f"Locust counted {requests:,} and {failures:,} failures, the history has {figures.sends:,} and {failed:,}"
    if missing > 0:
        words += "; a worker that is killed has up to 3 s that it did not report"
    bad = abs(missing) + abs(failed - failures)
    return Property(name=name, holds="violated" if bad else "holds", words=words, count=bad)


def _whole(facts: TrialFacts) -> Property:
    name = "history whole"
    count = facts.damaged_lines
    words = f"{facts.records:,} records, {count} damaged lines (a kill may damage one a process, the last)"
    return Property(name=name, holds="violated" if count else "holds", words=words, count=count)
