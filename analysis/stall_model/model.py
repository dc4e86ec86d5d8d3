"""The model of a stalled append: how many requests each keyword takes, from the mechanism alone, against what was counted.

A stall of S ms meets R sends a second. The cleaner looks every T = 10 ms (BrokerFastFailure.start of all three releases),
so that its last look before a given moment lies T/2 before it on average. W is waitTimeMillsInSendQueue, P is
osPageCacheBusyTimeOutMills, and n threads take requests, of which the stalled append holds one:

- while the lock is not older than P, whatever has waited for W is removed: TIMEOUT_CLEAN_QUEUE takes what came from the
  n-th request on until W before the last look, R * (min(S, P) - W - T/2) - (n - 1);
- once it is older, the first look empties the queue: PCBUSY_CLEAN_QUEUE takes R * (min(W, P) + T/2);
- and everything that comes until the end is rejected: REJECTREQUEST takes R * (S - P).

None is less than zero. No number is fitted: R, W, P and n are what was set, else the release's own defaults, and S is what the
rule in the broker measured of that stall. The form leaves out what happens in the milliseconds in which a lock is taken
and given back, the way of a request through the network, and everything that stops the broker as a whole.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from analysis.evidence.settings import setting
from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.observations import Observation
from analysis.verdicts.stats import garwood
from harness.model.cells import Parameters
from harness.model.rocketmq import (
    OVERLOAD,
    PAGE_CACHE_BUSY,
    PAGE_CACHE_BUSY_MS,
    PC_SYNCHRONIZED,
    PCBUSY_CLEAN_QUEUE,
    REJECTREQUEST,
    SEND_WAIT,
    SEND_WAIT_MS,
    TIMEOUT_CLEAN_QUEUE,
)
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory

LENGTH, COUNT = "append_in_lock_ms", "rejected_count"
MEASURED = frozenset({LENGTH, COUNT})
"""What the model is held against."""
KEYWORDS = (TIMEOUT_CLEAN_QUEUE, PCBUSY_CLEAN_QUEUE, REJECTREQUEST, PC_SYNCHRONIZED, OVERLOAD)

PERIOD_MS = 10.0
SHARE_OFF_MAX = 0.05


@dataclass(frozen=True, kw_only=True)
class Stall:
    """What the model is given: milliseconds, sends per second, and the number of send threads."""

    stall_ms: float
    rate_hz: float
    wait_ms: float
    busy_ms: float
    threads: int


@dataclass(frozen=True, kw_only=True)
class ScoredCount:
    """One keyword in one cell: means over its trials, and by how much they may differ."""

    release: str
    injection: str
    arm: str
    params: Parameters
    wait_ms: float
    busy_ms: float
    keyword: str
    trials: int
    predicted: float
    measured: float
    allowed: float
    within: bool


@dataclass(frozen=True, kw_only=True)
class Score:
    """The rows of every cell, and the trials that were left out with the reason."""

    rows: tuple[ScoredCount, ...]
    left_out: tuple[str, ...]

    def cells(self) -> tuple[int, int]:
        """How many cells there are, and in how many every keyword is within what is allowed."""
        found: dict[tuple[object, ...], bool] = {}
        for row in self.rows:
            key = (row.release, row.injection, row.arm, tuple(sorted(row.params.items())))
            found[key] = found.get(key, True) and row.within
        return len(found), sum(found.values())

    def to_json(self) -> dict[str, object]:
        """For ``model.json``."""
        cells, within = self.cells()
        rows = [asdict(row) for row in self.rows]
        return {"schema": 1, "cells": cells, "within": within, "rows": rows, "left_out": list(self.left_out)}


def predict(stall: Stall) -> dict[str, float]:
    """Refused requests by keyword."""
    per_ms = stall.rate_hz / 1000
    is_busy = stall.stall_ms > stall.busy_ms
    counted_ms = min(stall.stall_ms, stall.busy_ms)
    aged = per_ms * (counted_ms - stall.wait_ms - PERIOD_MS / 2) - (stall.threads - 1)
    emptied = per_ms * (min(stall.wait_ms, stall.busy_ms) + PERIOD_MS / 2)
    return {
        TIMEOUT_CLEAN_QUEUE: max(0.0, aged),
        PCBUSY_CLEAN_QUEUE: emptied if is_busy else 0.0,
        REJECTREQUEST: per_ms * (stall.stall_ms - stall.busy_ms) if is_busy else 0.0,
        PC_SYNCHRONIZED: 0.0,
        OVERLOAD: 0.0,
    }


def allowed(predicted: float, rate_hz: float, trials: int) -> float:
    """5 %, what comes in one period of the cleaner, or the half width of the 95 % Poisson interval: the largest."""
    total = predicted * trials
    low, high = garwood(total)
    poisson = max(high - total, total - low) / trials
    return max(SHARE_OFF_MAX * predicted, rate_hz * PERIOD_MS / 1000, poisson)


def score(
    run: RunDirectory,
    observations: Iterable[Observation],
    validity: Sequence[TrialValidity],
    incidents: Collection[str],
) -> Score:
    """Predicted against measured for every cell of these incidents that has a trial in which nothing else stalled.

    Others may count for claims, to which what a freeze brings about is a result; the model leaves it out.
    """
    clean = {item.trial for item in validity if item.is_clean}
    trials = {trial.trial: trial for trial in run.trials if trial.incident in incidents}
    stalls_ms: dict[str, float] = {}
    counts: dict[tuple[str, str], float] = {}
    for item in observations:
        if item.trial in trials and item.trial in clean:
            if item.measure == LENGTH:
                stalls_ms[item.trial] = item.value
            elif item.measure == COUNT and str(item.extra.get("keyword")) in KEYWORDS:
                counts[item.trial, str(item.extra["keyword"])] = item.value
    cells: dict[tuple[object, ...], list[TrialRecord]] = defaultdict(list)
    for name in stalls_ms:
        trial = trials[name]
        cells[trial.release, trial.injection, trial.arm, tuple(sorted(trial.params.items()))].append(trial)
    rows = [
        row
        for _, members in sorted(cells.items(), key=lambda cell: str(cell[0]))
        for row in _rows(run, members, stalls_ms, counts)
    ]
    return Score(rows=tuple(rows), left_out=tuple(_left_out(validity, trials)))


def scored_stall(
    run: RunDirectory, trial: TrialRecord, *, stall_ms: float, rate_hz: float, counts: Mapping[str, float]
) -> tuple[ScoredCount, ...]:
    """Predicted against measured of one stall of a load, which met ``rate_hz`` sends a second."""
    stall = dataclasses.replace(
        trial, params={**trial.params, "stall_ms": round(stall_ms, 1), "rate_hz": round(rate_hz, 1)}
    )
    measured = {(trial.trial, keyword): count for keyword, count in counts.items()}
    return tuple(_rows(run, [stall], {trial.trial: stall_ms}, measured))


def _rows(
    run: RunDirectory,
    trials: Sequence[TrialRecord],
    stalls_ms: Mapping[str, float],
    counts: Mapping[tuple[str, str], float],
) -> Iterable[ScoredCount]:
    first = trials[0]
    rate_hz = float(first.params["rate_hz"])
    stalls = [
        Stall(
            stall_ms=stalls_ms[trial.trial],
            rate_hz=rate_hz,
            wait_ms=setting(run, trial, SEND_WAIT, SEND_WAIT_MS),
            busy_ms=setting(run, trial, PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS),
            threads=_threads(run, trial),
        )
        for trial in trials
    ]
    predictions = [predict(stall) for stall in stalls]
    for keyword in KEYWORDS:
        predicted = sum(one[keyword] for one in predictions) / len(trials)
        measured = sum(counts.get((trial.trial, keyword), 0.0) for trial in trials) / len(trials)
        most = allowed(predicted, rate_hz, len(trials))
        yield ScoredCount(
            release=first.release,
            injection=first.injection,
            arm=first.arm,
            params=dict(first.params),
            wait_ms=stalls[0].wait_ms,
            busy_ms=stalls[0].busy_ms,
            keyword=keyword,
            trials=len(trials),
            predicted=predicted,
            measured=measured,
            allowed=most,
            within=math.isfinite(measured) and abs(measured - predicted) <= most,
        )


def _threads(run: RunDirectory, trial: TrialRecord) -> int:
    """``sendMessageThreadPoolNums``: 1 in 4.6.0, at most 4 and not more than there are cores in the later ones."""
    default = 1 if trial.release == "4.6.0" else min(4, run.manifest.host.cores or 1)
    return int(setting(run, trial, "sendMessageThreadPoolNums", default))


def _left_out(validity: Sequence[TrialValidity], trials: Mapping[str, TrialRecord]) -> Iterable[str]:
    for item in validity:
        if item.trial in trials and not item.is_clean:
            yield f"{item.trial}: {'; '.join((*item.why_not(), *item.told()))}"
