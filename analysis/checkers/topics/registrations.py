"""What logs say of a registration that is too long: the name server names the frame, the broker only that it failed.

This holds for a deployment; incidents of this kind have one trial in each.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from analysis.checkers.base import Inputs, Value, observations, together
from analysis.evidence.tables import frame_of
from analysis.logs import broker, registration

INCIDENT = "retry-topic-flood"
_NODES = StructType([StructField(name, StringType()) for name in ("deployment", "node", "kind", "role")])


def observe(inputs: Inputs) -> DataFrame:
    """Refused frames by name server; by broker its failures, the lines that name a size, and what it calls done."""
    nodes = frame_of(inputs.spark, _nodes(inputs), _NODES)
    return together(_refused(inputs, nodes), _of_brokers(inputs, nodes), _done(inputs, nodes))


def _nodes(inputs: Inputs) -> list[dict[str, object]]:
    return [
        {"deployment": one.deployment, "node": node.name, "kind": node.kind, "role": node.role.lower()}
        for one in inputs.run.deployments
        if one.incident == INCIDENT
        for node in one.nodes
    ]


def _of_deployment(table: DataFrame) -> DataFrame:
    return table.withColumn("trial", F.lit(None).cast("string"))


def _record() -> Column:
    return F.concat(F.lit("deployments/"), F.col("deployment"), F.lit("/deployment.json"))


def _refused(inputs: Inputs, nodes: DataFrame) -> DataFrame:
    """The first frame that each name server refused, and how many it did."""
    lines = registration.refused(inputs.logs.kept)
    first = lines.groupBy("deployment", "node").agg(
        F.min_by("frame_bytes", F.col("line")).alias("frame_bytes"),
        F.min_by("limit_bytes", F.col("line")).alias("limit_bytes"),
        F.min_by("file", F.col("line")).alias("file"),
        F.min_by("line", F.col("line")).alias("line"),
        F.count("*").alias("refused"),
    )
    table = _of_deployment(nodes.where("kind = 'namesrv'").join(first, ["deployment", "node"], "left"))
    file, line, words = F.coalesce("file", _record()), F.coalesce("line", F.lit(1)), F.col("node")

    def value(measure: str, column: Column) -> Value:
        return Value(measure=measure, value=column, file=file, line=line, operation=words)

    return observations(
        table,
        value("frame_bytes_refused", F.col("frame_bytes")),
        value("frame_bytes_over", F.col("frame_bytes") - F.col("limit_bytes")),
        value("refusals_logged", F.coalesce("refused", F.lit(0))),
    )


def _of_brokers(inputs: Inputs, nodes: DataFrame) -> DataFrame:
    """Of every broker: failures by exception, and lines that name a frame's size; zeros are observations, too."""
    lines = registration.of_brokers(inputs.logs.kept)
    kinds = frame_of(
        inputs.spark,
        [{"what": name} for name in (*registration.FAILURES, "size")],
        StructType([StructField("what", StringType())]),
    )
    counted = lines.groupBy("deployment", "node", "what").agg(
        F.count("*").alias("lines"),
        F.min_by("file", F.struct("file", "line")).alias("file"),
        F.min_by("line", F.struct("file", "line")).alias("line"),
    )
    brokers = nodes.where("kind = 'broker'").crossJoin(kinds)
    table = _of_deployment(brokers.join(counted, ["deployment", "node", "what"], "left"))
    count = F.coalesce("lines", F.lit(0))
    size = F.col("what") == "size"
    params = {"broker": F.substring_index("node", "-s", 1), "role": F.col("role")}

    def value(measure: str, column: Column, more: dict[str, Column]) -> Value:
        return Value(
            measure=measure,
            value=column,
            params={**params, **more},
            file=F.coalesce("file", _record()),
            line=F.coalesce("line", F.lit(1)),
            operation=F.concat_ws(" ", "node", F.col("what")),
        )

    return observations(
        table,
        value("registration_failures", F.when(~size, count), {"exception": F.col("what")}),
        value("size_lines", F.when(size, count), {}),
    )


def _done(inputs: Inputs, nodes: DataFrame) -> DataFrame:
    """Registrations that a broker calls done in the words of 4.x, while it was refused and after that was mended."""
    refused = registration.refused(inputs.logs.kept).groupBy("deployment").agg(F.min("wall_us").alias("refused_us"))
    wall = F.col("wall_minus_mono_us")
    windows = inputs.trials.select(
        "trial",
        "deployment",
        (F.expr("hold_to_ns div 1000") + wall).alias("mended_us"),
        (F.expr("end_ns div 1000") + wall).alias("end_us"),
    )
    done = (
        broker.parse(inputs.logs.kept)
        .where("registered")
        .select("deployment", "node", "wall_us", "file", "line", "name_server", "worded_4x")
    )
    masters = nodes.where("role = 'master'").select("deployment", "node")
    places = masters.join(windows, "deployment").join(refused, "deployment", "left")
    lines = places.join(done, ["deployment", "node"], "left").where("wall_us IS NULL OR wall_us <= end_us")
    is_4x = F.coalesce("worded_4x", F.lit(False))
    refused_now = F.col("wall_us").between(F.col("refused_us"), F.col("mended_us"))
    after = F.col("wall_us") > F.col("mended_us")
    counted = lines.groupBy("trial", "deployment", "node", "refused_us").agg(
        F.count(F.when(is_4x & refused_now, 1)).alias("refused_lines"),
        F.count(F.when(is_4x & after, 1)).alias("after_lines"),
        F.min_by("file", F.when(refused_now | after, F.col("wall_us"))).alias("file"),
        F.min_by("line", F.when(refused_now | after, F.col("wall_us"))).alias("line"),
    )

    def value(measure: str, column: Column, when: str) -> Value:
        return Value(
            measure=measure,
            value=column,
            params={"broker": F.col("node"), "when": F.lit(when)},
            file=F.coalesce("file", _record()),
            line=F.coalesce("line", F.lit(1)),
            operation=F.concat_ws(" ", "node", F.lit("register broker ... OK")),
        )

    return observations(
        counted,
        value("ok_lines", F.when(F.col("refused_us").isNotNull(), F.col("refused_lines")), "refused"),
        value("ok_lines", F.col("after_lines"), "after"),
    )
