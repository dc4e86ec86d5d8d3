"""Numbers of a load: what was sent and accepted, how late and how fast."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records
from analysis.evidence.trials import TrialFacts

WARM_UP_S = 2.0
"""Of the asked and achieved rates this much of the beginning is left out: Locust's users come one after another."""

RATE_HZ_BELOW = 1e9
"""No load is asked for so many sends a second."""

_QUANTILES = (0.5, 0.99, 0.999)

EXACT_SENDS_MAX = 200_000
"""An exact percentile holds every different value in one task's memory. Of more sends the rank is off by up to a hundred
thousandth, so that p99.9 lies between p99.899 and p99.901."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Numbers of a load.

    Latencies are of accepted sends, lateness is of every start; both count from the intended time. A closed loop has no intended
    times and no lateness. ``asked_per_s`` is None where the rate was to change. ``unknown_arrived`` counts unknown sends that
    were consumed all the same, ``unplaced`` accepted ones whose queue and offset the client did not tell. ``not_accepted`` are
    those that Locust counts as failures, too: one-way sends, which have no answer, are none.
    """

    sends: int
    ok: int
    failed: int
    unknown: int
    unknown_arrived: int
    unplaced: int
    not_accepted: int
    consumptions: int
    seconds: float
    asked_per_s: float | None
    started_per_s: float
    ok_per_s: float
    late_ms: tuple[float, ...]
    latency_ms: tuple[float, ...]
    late_ms_max: float
    hiccup_ms_max: float | None


def figures_of(records: Records, facts: TrialFacts) -> Figures:
    """From the history of sends and consumptions."""
    sends = records.sends
    outcome = F.col("outcome")
    first, last = facts.due_from_ns or 0, facts.due_to_ns or 0
    from_ns = min(first + int(WARM_UP_S * 1e9), last)
    late, latency = F.col("started_ns") - F.col("intended_ns"), F.col("finished_ns") - F.col("intended_ns")
    within = F.col("started_ns").between(from_ns, last)
    quantiles = _exact if facts.sends <= EXACT_SENDS_MAX else _close
    row = sends.agg(
        F.count("*").alias("sends"),
        *[F.count(F.when(outcome == name, 1)).alias(name) for name in ("ok", "failed", "unknown")],
        F.count(F.when((outcome == "ok") & _unplaced(), 1)).alias("unplaced"),
        F.count_if((outcome == "failed") | ((outcome == "unknown") & _was_answered())).alias("not_accepted"),
        F.count(F.when(within, 1)).alias("started"),
        F.count(F.when((outcome == "ok") & F.col("finished_ns").between(from_ns, last), 1)).alias("accepted"),
        quantiles(late).alias("late"),
        F.max(late).alias("late_max"),
        quantiles(F.when(outcome == "ok", latency)).alias("latency"),
    ).collect()[0]
    seconds = max((last - from_ns) / 1e9, 1e-9)
    params = facts.trial.params
    asked = params.get("rate_hz") if params.get("shape") == "constant" else None
    return Figures(
        sends=row["sends"],
        ok=row["ok"],
        failed=row["failed"],
        unknown=row["unknown"],
        unknown_arrived=_unknown_arrived(records) if row["unknown"] else 0,
        unplaced=row["unplaced"],
        not_accepted=row["not_accepted"],
        consumptions=facts.records - facts.sends,
        seconds=seconds,
        asked_per_s=float(asked) if isinstance(asked, int | float) and 0 < asked < RATE_HZ_BELOW else None,
        started_per_s=row["started"] / seconds,
        ok_per_s=row["accepted"] / seconds,
        late_ms=_ms(row["late"]),
        latency_ms=_ms(row["latency"]),
        late_ms_max=(row["late_max"] or 0) / 1e6,
        hiccup_ms_max=facts.hiccup_ms_max,
    )


def _was_answered() -> Column:
    return F.col("remark").isNotNull() | F.col("broker").isNotNull()


def _unplaced() -> Column:
    """Whether the client did not tell where an accepted message lies."""
    return F.col("broker").isNull() | F.col("queue").isNull() | F.col("offset").isNull()


def _unknown_arrived(records: Records) -> int:
    consumed = records.consumptions.where("outcome = 'ok'").select("seq")
    return int(records.sends.where("outcome = 'unknown'").join(consumed, "seq", "left_semi").count())


def _exact(value: Column) -> Column:
    return F.percentile(value, F.array(*[F.lit(share) for share in _QUANTILES]))


def _close(value: Column) -> Column:
    return F.percentile_approx(value, _QUANTILES, accuracy=100_000)


def _ms(nanoseconds: list[float] | None) -> tuple[float, ...]:
    return tuple(value / 1e6 for value in nanoseconds) if nanoseconds else (0.0,) * len(_QUANTILES)
