"""Logs that are there, for the checkers that count lines: a log that is not there does not lack the line.

Each function gives the logs that are there, with ``since_us``, from when on they are whole (``analysis/logs/spans.py``). A checker
joins them and gives a value only where :func:`spans` holds for the moment from which its lines would count: where a log is
deleted, or was rotated away, the trial has no value, and what is judged by it is undecided.

Of what several nodes or processes write the checkers ask for all of them. With the log of one of two brokers gone the other one's
lines are no fewer values of the same thing: the one that is left out may have been the counterexample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType

from analysis.checkers.base import Inputs
from analysis.evidence.tables import frame_of, table
from analysis.logs.spans import FROM_THE_START
from harness.rundir.manifest import NodeRecord

BROKER_LOG, LOCK_LOG, SERVER_LOG, STORE_LOG = "broker.log", "lock.log", "namesrv.log", "store.log"
CLIENT_LOG, GC_LOG = "rocketmq_client.log", "gc.log"

_STRING, _LONG = StringType(), LongType()
_OF_NODES = table(deployment=_STRING, node=_STRING, since_us=_LONG)
_OF_DEPLOYMENTS = table(deployment=_STRING, since_us=_LONG)
_OF_PROCESSES = table(trial=_STRING, process=_STRING, since_us=_LONG)

_Place = tuple[str, str]
"""A deployment and its node, or a trial and its client process."""


def spans(moment_us: Column) -> Column:
    """Whether the log of a row that ``since_us`` was joined to is there and has all lines from a moment of the wall clock on."""
    is_whole = F.col("since_us") == FROM_THE_START
    return F.coalesce(is_whole | (F.col("since_us") <= moment_us), F.lit(False))


def wall_us(monotonic_ns: str) -> Column:
    """A column of the trial's own clock as microseconds since 1970, as logs have them."""
    return F.expr(f"{monotonic_ns} div 1000") + F.col("wall_minus_mono_us")


def first_fault_us(inputs: Inputs) -> DataFrame:
    """The first fault of each deployment on the wall clock, for what is true of a deployment and not of one trial."""
    return inputs.trials.groupBy("deployment").agg(F.min(wall_us("fault_ns")).alias("fault_us"))


def of_nodes(inputs: Inputs, log: str) -> DataFrame:
    """A row for each ``deployment`` and ``node`` that has the log."""
    rows = [
        {"deployment": deployment, "node": node, "since_us": since_us}
        for (deployment, node), since_us in _of_each_node(inputs, log).items()
    ]
    return frame_of(inputs.spark, rows, _OF_NODES)


def of_processes(inputs: Inputs, log: str) -> DataFrame:
    """A row for each ``trial`` and client ``process`` that has the log."""
    logs = {
        (file.trial, file.process): file.since_us
        for file in inputs.logs.files
        if file.trial and file.name == log and file.since_us is not None
    }
    rows = [{"trial": trial, "process": process, "since_us": since_us} for (trial, process), since_us in logs.items()]
    return frame_of(inputs.spark, rows, _OF_PROCESSES)


def of_brokers(inputs: Inputs) -> DataFrame:
    """A row for each ``deployment`` all of whose brokers have their broker.log, which every release writes as it starts."""
    logs = _of_each_node(inputs, BROKER_LOG)
    return _of_deployments(inputs, lambda node: logs if node.kind == "broker" else None)


def of_registrations(inputs: Inputs) -> DataFrame:
    """A row for each ``deployment`` all of whose brokers and name servers have the log in which they write of registrations."""
    logs = {"broker": _of_each_node(inputs, BROKER_LOG), "namesrv": _of_each_node(inputs, SERVER_LOG)}
    return _of_deployments(inputs, lambda node: logs.get(node.kind))


def of_lock_managers(inputs: Inputs) -> DataFrame:
    """A row for each ``deployment`` all of whose masters have the log of their lock manager.

    That is lock.log, also where nothing stands in it, and whatever other file the lock manager's lines are found in: the stock
    logging of 5.x makes no lock.log and writes them to filter.log. Where neither is, the lines may have been in what is gone.
    """
    written: dict[_Place, list[int | None]] = defaultdict(list)
    for file in inputs.logs.files:
        if file.node and (file.name == LOCK_LOG or file.file in inputs.logs.lock_files):
            written[file.deployment, file.node].append(file.since_us)
    logs = {place: latest for place, since in written.items() if (latest := _latest(since)) is not None}
    return _of_deployments(inputs, lambda node: logs if _is_master(node) else None)


def _is_master(node: NodeRecord) -> bool:
    return node.kind == "broker" and node.role != "SLAVE"


def _of_each_node(inputs: Inputs, log: str) -> Mapping[_Place, int]:
    return {
        (file.deployment, file.node): file.since_us
        for file in inputs.logs.files
        if file.node and file.name == log and file.since_us is not None
    }


def _of_deployments(inputs: Inputs, logs_of: Callable[[NodeRecord], Mapping[_Place, int] | None]) -> DataFrame:
    """``logs_of`` gives the logs among which a node's own has to be; None for a node that is not asked for one."""
    rows: list[Mapping[str, object]] = []
    for record in inputs.run.deployments:
        asked = [(node.name, logs) for node in record.nodes if (logs := logs_of(node)) is not None]
        latest = _latest([logs.get((record.deployment, name)) for name, logs in asked])
        if latest is not None:
            rows.append({"deployment": record.deployment, "since_us": latest})
    return frame_of(inputs.spark, rows, _OF_DEPLOYMENTS)


def _latest(since: Sequence[int | None]) -> int | None:
    """When the last of several logs is whole from on; None where one is not there, or none is asked for."""
    known = [since_us for since_us in since if since_us is not None]
    return max(known) if known and len(known) == len(since) else None
