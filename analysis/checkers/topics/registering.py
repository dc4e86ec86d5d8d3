"""When brokers registered with each name server, by their own logs, beside what the name servers listed.

All brokers and name servers of a trial watch one event, so that the worst of them is the trial's. It is not known where a broker's
log is not there, or begins after the fault.

Incidents of this kind have one trial in each deployment.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, in_events, observations, together, trials_of
from analysis.checkers.topics.routes import SILENT, servers
from analysis.evidence.records import place
from analysis.evidence.tables import frame_of, table
from analysis.logs import broker

NEAR_US = 1_000_000
"""A view is asked for twice a second, and a broker writes its line when it has the name server's answer."""
SECOND_US = 1_000_000

_SERVERS = table(deployment=StringType(), node=StringType(), name_server=StringType())


def observe(inputs: Inputs) -> DataFrame:
    """Of each broker and name server the longest time without a registration; whether a forgotten topic came back without."""
    trials = _trials(inputs)
    done = _registrations(inputs, trials)
    return together(_without(done), _back(inputs, trials, done))


def _trials(inputs: Inputs) -> DataFrame:
    """Those of clients that send and consume steadily, whose brokers all have their logs."""
    return (
        trials_of(inputs, "registering")
        .join(F.broadcast(logged.of_brokers(inputs)), "deployment")
        .where(logged.spans(logged.wall_us("fault_ns")))
    )


def _registrations(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Those that a ``broker`` calls done, each at the name server ``node``, with the trial's windows on the wall clock."""
    listed = [
        {"deployment": one.deployment, "node": node.name, "name_server": node.address}
        for one in inputs.run.deployments
        for node in one.nodes
        if node.kind == "namesrv"
    ]
    addresses = F.broadcast(frame_of(inputs.spark, listed, _SERVERS))
    windows = trials.select(
        "trial",
        "deployment",
        "fault_target",
        logged.wall_us("fault_ns").alias("fault_us"),
        logged.wall_us("hold_to_ns").alias("held_us"),
    )
    lines = broker.parse(inputs.logs.kept).where("registered").withColumnRenamed("node", "broker")
    return lines.join(addresses, ["deployment", "name_server"]).join(windows, "deployment")


def _without(done: DataFrame) -> DataFrame:
    """From one registration to the next, or to the end of the window: before the fault, and from then to the end of the hold."""
    in_turn = Window.partitionBy("trial", "node", "broker").orderBy("wall_us")
    rows = done.withColumn("next_us", F.lead("wall_us").over(in_turn))
    before_to, held_to = (F.least("next_us", end) for end in ("fault_us", "held_us"))
    in_hold = (F.col("wall_us") < F.col("held_us")) & (held_to > F.col("fault_us"))
    lasted = rows.select(
        "*",
        F.when(F.col("wall_us") < F.col("fault_us"), before_to - F.col("wall_us")).alias("before_us"),
        F.when(in_hold, held_to - F.col("wall_us")).alias("in_hold_us"),
    )
    found = lasted.groupBy("trial", "deployment", "node", "broker", "fault_target").agg(
        F.max("before_us").alias("before_us"),
        F.max_by(place("line"), "before_us").alias("before_at"),
        F.max("in_hold_us").alias("in_hold_us"),
        F.max_by(place("line"), "in_hold_us").alias("in_hold_at"),
    )

    def longest(when: str, lasted: str, at: str) -> Value:
        params = {"servers": servers(), "when": F.lit(when)}
        return Value("unregistered_s", F.col(lasted) / SECOND_US, "{broker} at {node}", at=at, params=params)

    return observations(found, longest("before", "before_us", "before_at"), longest("held", "in_hold_us", "in_hold_at"))


def _back(inputs: Inputs, trials: DataFrame, done: DataFrame) -> DataFrame:
    """A topic that comes back within the hold comes by a registration when a broker wrote of one at that moment."""
    windows = trials.where("fault = 'forgotten-topic'")
    views = inputs.records.events.where("type = 'route'").where(F.col("registered") != SILENT)
    in_turn = Window.partitionBy("trial", "node").orderBy("at_ns")
    turns = views.select("trial", "node", "at_ns", "routed", "n").select(
        "*",
        F.lead("routed").over(in_turn).alias("next_routed"),
        F.lead("at_ns").over(in_turn).alias("next_ns"),
    )
    is_back = F.expr("next_routed != '' AND next_ns <= hold_to_ns")
    missing = (
        turns.join(windows.select("trial", "deployment", "fault_ns", "hold_to_ns", "wall_minus_mono_us"), "trial")
        .where("routed = '' AND at_ns >= fault_ns")
        .withColumn("back_us", F.when(is_back, F.expr("next_ns div 1000") + F.col("wall_minus_mono_us")))
        .groupBy("trial", "deployment", "node")
        .agg(F.min("back_us").alias("back_us"), F.min("n").alias("line"))
    )
    is_near = F.abs(F.col("wall_us") - F.col("back_us")) <= NEAR_US
    found = (
        missing.join(done.select("trial", "node", "wall_us"), ["trial", "node"], "left")
        .groupBy("trial", "deployment", "node", "back_us", "line")
        .agg(F.count_if(is_near).alias("near"))
    )
    untold = (F.col("back_us").isNotNull() & (F.col("near") == 0)).cast("int")
    said = "{node}: back while {near} registrations were done"
    return observations(
        found, Value("back_untold", untold, said, at=in_events("line"), params={"server": F.col("node")})
    )
