"""Requests that a pool of a broker or a name server did not take, by its remoting layer.

Wording of org.apache.rocketmq.remoting.netty.NettyRemotingAbstract, the same in 4.x and 5.x:
"127.0.0.1:52418, too many requests and system thread pool busy, RejectedExecutionException
org.apache.rocketmq.broker.latency.BrokerFixedThreadPoolExecutor@6f1c29b7[Running, pool size = 1, active threads = 1,
queued tasks = 10000, completed tasks = 81234] request code: 310". The pool's class is
org.apache.rocketmq.common.thread.FutureTaskExtThreadPoolExecutor in 5.x. The file is remoting.log with the lab's logging
and with the releases' own; a configuration may move it, so every file of a node is searched.

The line is a sample: a refusal writes it only in the one millisecond of each 10 s whose wall time is divisible by 10 s. The
number of lines is not the number of refusals, and a log without one does not say that there were none; each client is
told of its own (``[OVERLOAD]``). A pool that is shut down refuses in the same words; ``pool_state`` tells the two apart.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE
from harness.model.rocketmq import POOL_BUSY

_REFUSAL = rf"(\S*), {POOL_BUSY}, RejectedExecutionException (\S.*) request code: (-?\d+)$"
_ADDRESS, _POOL, _CODE = 1, 2, 3


def wanted() -> Column:
    """Lines about a pool that takes nothing more, in whatever file of a node they are."""
    return (F.col("node") != "") & F.col("text").contains(POOL_BUSY)


def unknown() -> Column:
    """Lines about such a pool that do not name it and the request as the known releases do."""
    return wanted() & ~F.col("text").rlike(_REFUSAL)


def parse(lines: DataFrame) -> DataFrame:
    """One row a line: whose request (``address``), its ``request_code``, and the pool in its own words and in numbers.

    All of these are null for a line that :func:`unknown` has. The numbers are null, too, for a pool of a class that
    gives none; ``queued`` and ``completed`` count tasks, ``threads`` and ``active`` threads.
    """
    pool = _part(F.col("text"), _REFUSAL, _POOL)
    return lines.where(wanted()).select(
        *PLACE,
        "resolution_us",
        _part(F.col("text"), _REFUSAL, _ADDRESS).alias("address"),
        _part(F.col("text"), _REFUSAL, _CODE).try_cast("int").alias("request_code"),
        pool.alias("pool"),
        _part(pool, r"\[([A-Z][a-z ]*), pool size = ").alias("pool_state"),
        *[
            _part(pool, rf"[\[ ]{words} = (\d+)").try_cast("long").alias(name)
            for name, words in (
                ("threads", "pool size"),
                ("active", "active threads"),
                ("queued", "queued tasks"),
                ("completed", "completed tasks"),
            )
        ],
    )


def in_trials(refusals: DataFrame, trials: DataFrame) -> DataFrame:
    """The rows of :func:`parse` with ``trial`` and ``after_fault_ms``, in the time of the trial's own clock.

    ``trials`` has the columns ``TRIALS``. A row belongs to the trials of its deployment between whose fault and end it
    lies; ``trial`` is null where there is none. Whole seconds are enough: the line was written at the start of one.
    """
    at_us = F.col("wall_us") - F.col("wall_minus_mono_us")
    windows = trials.select(F.col("deployment").alias("of"), "trial", "fault_ns", "end_ns", "wall_minus_mono_us")
    during = (F.col("deployment") == F.col("of")) & (at_us * 1000).between(F.col("fault_ns"), F.col("end_ns"))
    return refusals.join(windows, during, "left").select(
        *refusals.columns, "trial", ((at_us * 1000 - F.col("fault_ns")) / 1e6).alias("after_fault_ms")
    )


def _part(text: Column, pattern: str, group: int = 1) -> Column:
    """A group of the pattern; null where the text does not have the pattern."""
    return F.when(text.rlike(pattern), F.regexp_extract(text, pattern, group))
