"""Log files: which of the files that articles name exist on a broker, and which one has the lock manager's lines.

True of a deployment, not of one trial: the observations carry no trial, and count for every arm whose trials ran there.
Claims about files are judged where the release's own stock logging was on.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from analysis.checkers.base import Inputs, observation, together
from analysis.logs.files import rotated_name
from analysis.run_directory import RunDirectory
from analysis.schema import frame_of

MEASURES: tuple[str, ...] = ("log_file_exists", "lock_lines_in_file")

NAMES = ("storeerr.log", "storeerror.log", "lock.log", "store.log", "broker.log", "filter.log")

_PLACES = StructType(
    [
        StructField("trial", StringType()),
        StructField("deployment", StringType()),
        StructField("node", StringType()),
        StructField("name", StringType()),
        StructField("exists", LongType()),
        StructField("file", StringType()),
    ]
)


def observe(inputs: Inputs) -> DataFrame:
    """For each broker and each name: whether the file is there, and how many lock lines it has."""
    places = frame_of(inputs.trials.sparkSession, _places(inputs.run), _PLACES)
    counted = inputs.logs.lock_lines.groupBy("deployment", "node", "name").agg(
        F.count("*").alias("lines"), F.min_by("file", "line").alias("lock_file"), F.min("line").alias("lock_line")
    )
    # A file with lock lines that is on no list is reported as well: that is where the lines went.
    other_names = counted.where(~F.col("name").isin(*NAMES)).select(
        F.lit(None).cast("string").alias("trial"), "deployment", "node", "name", "lock_file"
    )
    listed = places.select("trial", "deployment", "node", "name", F.col("file").alias("place")).unionByName(
        other_names.withColumnRenamed("lock_file", "place")
    )
    unit = F.concat_ws("/", "deployment", "node")
    lines = F.coalesce("lines", F.lit(0))
    return together(
        observation(
            places,
            measure="log_file_exists",
            value=F.col("exists"),
            params={"file": F.col("name")},
            unit=F.col("deployment"),
            file=F.col("file"),
            line=F.lit(1),
            operation=F.concat(unit, F.when(F.col("exists") == 1, " has ").otherwise(" has no "), F.col("name")),
        ),
        observation(
            listed.join(counted, ["deployment", "node", "name"], "left"),
            measure="lock_lines_in_file",
            value=lines,
            params={"file": F.col("name")},
            unit=F.col("deployment"),
            file=F.coalesce("lock_file", "place"),
            line=F.coalesce("lock_line", F.lit(1)),
            operation=F.concat(unit, F.lit(": "), lines, F.lit(" lines of the lock manager in "), F.col("name")),
        ),
    )


def _places(run: RunDirectory) -> list[dict[str, object]]:
    """A file that is not there is shown by the deployment's own record, an empty one as well."""
    rows: list[dict[str, object]] = []
    for deployment in run.deployments:
        record = f"deployments/{deployment.deployment}/deployment.json"
        for node in deployment.nodes:
            if node.kind != "broker":
                continue
            found = {
                name: path
                for path in sorted(
                    (run.path / "deployments" / deployment.deployment / "nodes" / node.name).rglob("*.log*")
                )
                if (name := rotated_name(path.name)) is not None
            }
            for name in NAMES:
                path = found.get(name)
                shown = path is not None and path.stat().st_size > 0 and path.suffix != ".gz"
                rows.append(
                    {
                        "deployment": deployment.deployment,
                        "node": node.name,
                        "name": name,
                        "exists": int(path is not None),
                        "file": path.relative_to(run.path).as_posix() if path is not None and shown else record,
                    }
                )
    return rows
