"""What logs say of a registration that is too long: the name server names the frame, the broker only that it failed.

Of a broker's lines about its registration those are counted that name how many topics it has: from when it was refused first,
which the flood wrote down, to the last of the groups that came after that.

This holds for a deployment; incidents of this kind have one trial in each. Where the log of one of its name servers or brokers is
not there, or begins after the fault, nothing is said of any: what is not refused, or not named, is to be seen in all of them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, observations, together, trials_of
from analysis.evidence.records import place
from analysis.evidence.tables import frame_of, table
from analysis.logs import broker, registration

BEYOND_MAX = 20
"""The groups that come after the first refusal, and what else is made meanwhile."""
_NODES = table(deployment=StringType(), node=StringType(), kind=StringType(), role=StringType())


def observe(inputs: Inputs) -> DataFrame:
    """Refused frames by name server; by broker its failures, the lines that name a size, and what it calls done."""
    logs = (
        logged.of_registrations(inputs)
        .join(logged.first_fault_us(inputs), "deployment")
        .where(logged.spans(F.col("fault_us")))
        .join(trials_of(inputs, "registrations").select("deployment"), "deployment", "left_semi")
        .select("deployment")
    )
    nodes = frame_of(inputs.spark, _nodes(inputs), _NODES).join(F.broadcast(logs), "deployment")
    return together(_refused(inputs, nodes), _of_brokers(inputs, nodes), _done(inputs, nodes), _counts(inputs, nodes))


def _nodes(inputs: Inputs) -> list[dict[str, object]]:
    return [
        {"deployment": one.deployment, "node": node.name, "kind": node.kind, "role": node.role.lower()}
        for one in inputs.run.deployments
        for node in one.nodes
    ]


def _of_deployment(rows: DataFrame) -> DataFrame:
    return rows.withColumn("trial", F.lit(None).cast("string"))


def _at() -> Column:
    """The line that was found, else the deployment's own record."""
    record = F.concat(F.lit("deployments/"), F.col("deployment"), F.lit("/deployment.json"))
    return F.coalesce("at", place(F.lit(1), record))


def _refused(inputs: Inputs, nodes: DataFrame) -> DataFrame:
    """The first frame that each name server refused, and how many it did."""
    lines = registration.refused(inputs.logs.kept)
    first = lines.groupBy("deployment", "node").agg(
        F.min_by("frame_bytes", "line").alias("frame_bytes"),
        F.min_by("limit_bytes", "line").alias("limit_bytes"),
        F.min_by(place("line"), "line").alias("at"),
        F.count("*").alias("refused"),
    )
    servers = nodes.where("kind = 'namesrv'").join(first, ["deployment", "node"], "left")
    return observations(
        _of_deployment(servers),
        Value("frame_bytes_refused", "frame_bytes", "{node}", at=_at()),
        Value("frame_bytes_over", F.col("frame_bytes") - F.col("limit_bytes"), "{node}", at=_at()),
        Value("refusals_logged", F.coalesce("refused", F.lit(0)), "{node}", at=_at()),
    )


def _of_brokers(inputs: Inputs, nodes: DataFrame) -> DataFrame:
    """Of every broker: failures by exception, and lines that name a frame's size; zeros are observations, too."""
    kinds = F.explode(F.array(*[F.lit(name) for name in (*registration.FAILURES, "size")])).alias("what")
    counted = (
        registration.of_brokers(inputs.logs.kept)
        .groupBy("deployment", "node", "what")
        .agg(F.count("*").alias("lines"), F.min(place("line")).alias("at"))
    )
    brokers = nodes.where("kind = 'broker'").select("*", kinds).join(counted, ["deployment", "node", "what"], "left")
    count, size = F.coalesce("lines", F.lit(0)), F.col("what") == "size"
    params = {"broker": F.substring_index("node", "-s", 1), "role": F.col("role")}
    words = F.col("what") == registration.ARTICLES_WORDS
    # Of its own name since "unregisterBroker Exception" was found by it, too: what was recorded by then is not judged by it.
    of_failures = {**params, "exception": F.when(~words, F.col("what")), "words": F.when(words, F.col("what"))}
    return observations(
        _of_deployment(brokers),
        Value("registration_failures", F.when(~size, count), "{node} {what}", at=_at(), params=of_failures),
        Value("size_lines", F.when(size, count), "{node} {what}", at=_at(), params=params),
    )


def _counts(inputs: Inputs, nodes: DataFrame) -> DataFrame:
    """Lines of a refused master that name the number of its topics."""
    at_limit = (
        inputs.records.events.where("type = 'probe' AND measure = 'topics_at_limit'")
        .groupBy("trial")
        .agg(F.max("value").cast("long").alias("topics"))
        .join(inputs.trials.select("trial", "deployment"), "trial")
    )
    masters = nodes.where("role = 'master'").join(at_limit, "deployment")
    told = registration.numbers_told(inputs.logs.kept)
    names_it = F.exists("numbers", lambda one: one.between(F.col("topics"), F.col("topics") + BEYOND_MAX))
    counted = (
        masters.join(told, ["deployment", "node"])
        .groupBy("deployment", "node")
        .agg(F.count_if(names_it).alias("lines"), F.min(F.when(names_it, place("line"))).alias("at"))
    )
    found = masters.join(counted, ["deployment", "node"], "left")
    params = {"broker": F.col("node"), "role": F.col("role")}
    said = "{node} on its registration, of {topics} topics when it was refused"
    count = F.coalesce("lines", F.lit(0))
    return observations(_of_deployment(found), Value("topic_count_lines", count, said, at=_at(), params=params))


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
    done = broker.parse(inputs.logs.kept).where("registered")
    masters = nodes.where("role = 'master'").select("deployment", "node")
    places = masters.join(windows, "deployment").join(refused, "deployment", "left")
    lines = places.join(done, ["deployment", "node"], "left").where("wall_us IS NULL OR wall_us <= end_us")
    is_4x = F.coalesce("worded_4x", F.lit(False))
    refused_now = F.col("wall_us").between(F.col("refused_us"), F.col("mended_us"))
    after = F.col("wall_us") > F.col("mended_us")
    counted = lines.groupBy("trial", "deployment", "node", "refused_us").agg(
        F.count_if(is_4x & refused_now).alias("refused_lines"),
        F.count_if(is_4x & after).alias("after_lines"),
        F.min_by(place("line"), F.when(refused_now | after, F.col("wall_us"))).alias("at"),
    )

    def done_lines(when: str, lines: Column) -> Value:
        params = {"broker": F.col("node"), "when": F.lit(when)}
        return Value("ok_lines", lines, "{node} register broker ... OK", at=_at(), params=params)

    return observations(
        counted,
        done_lines("refused", F.when(F.col("refused_us").isNotNull(), F.col("refused_lines"))),
        done_lines("after", F.col("after_lines")),
    )
