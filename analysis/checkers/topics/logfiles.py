"""Log files: which of the files that articles name exist on a broker, and which one has the lock manager's lines.

This holds for a deployment, not for one trial: the observations carry no trial and count for every arm that ran there.
Claims about files are judged where the release's own stock logging was on.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from analysis.checkers.base import Inputs, Value, observations
from analysis.evidence.tables import frame_of
from analysis.logs import lock
from analysis.logs.files import rotated_name
from harness.rundir.reading import RunDirectory

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
    """For each broker and each name: whether the file is there, and how many lock lines it has.

    A file with lock lines that is on no list is reported as well: that is where the lines went.
    """
    places = frame_of(inputs.spark, _places(inputs.run), _PLACES)
    counted = (
        lock.parse(inputs.logs.kept)
        .groupBy("deployment", "node", "name")
        .agg(F.count("*").alias("lines"), F.min_by("file", "line").alias("lock_file"), F.min("line").alias("lock_line"))
    )
    files = places.join(counted, ["deployment", "node", "name"], "full")
    lines, place = F.coalesce("lines", F.lit(0)), F.concat_ws("/", "deployment", "node")
    return observations(
        files,
        Value(
            measure="log_file_exists",
            value=F.col("exists"),
            params={"file": F.col("name")},
            file=F.col("file"),
            line=F.lit(1),
            operation=F.concat(place, F.when(F.col("exists") == 1, " has ").otherwise(" has no "), F.col("name")),
        ),
        Value(
            measure="lock_lines_in_file",
            value=lines,
            params={"file": F.col("name")},
            file=F.coalesce("lock_file", "file"),
            line=F.coalesce("lock_line", F.lit(1)),
            operation=F.concat(place, F.lit(": "), lines, F.lit(" lines of the lock manager in "), F.col("name")),
        ),
    )


def _places(run: RunDirectory) -> list[dict[str, object]]:
    """A file that is empty or not there is shown by the deployment's own record."""
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
