"""Log files: which of the files that articles name exist on a broker, and which one has the lock manager's lines.

This holds for a deployment, not for one trial: the observations carry no trial and count for every arm that ran there.
Claims about files are judged where the release's own stock logging was on.

Which files there are is said where all brokers have their broker.log: without it nobody knows what else of the logs is gone.
Lines are counted where all lock managers' logs are there.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, observations
from analysis.evidence.records import place
from analysis.evidence.tables import frame_of, table
from analysis.logs import lock
from analysis.logs.files import rotated_name
from harness.rundir.reading import RunDirectory

NAMES = ("storeerr.log", "storeerror.log", "lock.log", "store.log", "broker.log", "filter.log")

_PLACES = table(
    trial=StringType(),
    deployment=StringType(),
    node=StringType(),
    name=StringType(),
    exists=LongType(),
    file=StringType(),
)


def observe(inputs: Inputs) -> DataFrame:
    """For each broker and each name: whether the file is there, and how many lock lines it has.

    A file with lock lines that is on no list is reported as well: that is where the lines went.
    """
    places = frame_of(inputs.spark, _places(inputs.run), _PLACES)
    counted = (
        lock.parse(inputs.logs.kept)
        .groupBy("deployment", "node", "name")
        .agg(F.count("*").alias("lines"), F.min_by(place("line"), "line").alias("lock_at"))
    )
    files = _with_logs(inputs, places.join(counted, ["deployment", "node", "name"], "full"))
    at, has = place(F.lit(1)), F.when(F.col("exists") == 1, "has").otherwise("has no")
    said = "{deployment}/{node}: {value} lines of the lock manager in {name}"
    exists = F.when(F.col("has_logs"), F.col("exists"))
    lines = F.when(F.col("has_lock_logs"), F.coalesce("lines", F.lit(0)))
    file = {"file": "name"}
    return observations(
        files.withColumn("has", has),
        Value("log_file_exists", exists, "{deployment}/{node} {has} {name}", at=at, params=file),
        Value("lock_lines_in_file", lines, said, at=F.coalesce("lock_at", at), params=file),
    )


def _with_logs(inputs: Inputs, files: DataFrame) -> DataFrame:
    """``files`` with whether the deployment's logs are there from its first fault on."""
    for column, logs in (("has_logs", logged.of_brokers(inputs)), ("has_lock_logs", logged.of_lock_managers(inputs))):
        spanning = logs.join(logged.first_fault_us(inputs), "deployment").select(
            "deployment", logged.spans(F.col("fault_us")).alias(column)
        )
        files = files.join(F.broadcast(spanning), "deployment", "left")
    return files.fillna(False, ["has_logs", "has_lock_logs"])


def _places(run: RunDirectory) -> list[dict[str, object]]:
    return [
        {
            "deployment": deployment.deployment,
            "node": node.name,
            "name": name,
            **_place(run, deployment.deployment, path),
        }
        for deployment in run.deployments
        for node in deployment.nodes
        if node.kind == "broker"
        for name, path in _logs(run.path / "deployments" / deployment.deployment / "nodes" / node.name).items()
    ]


def _logs(folder: Path) -> dict[str, Path | None]:
    found = {rotated_name(path.name): path for path in sorted(folder.rglob("*.log*"))}
    return {name: found.get(name) for name in NAMES}


def _place(run: RunDirectory, deployment: str, path: Path | None) -> dict[str, object]:
    """A file that is empty or not there is shown by the deployment's own record."""
    if path is not None and path.stat().st_size > 0 and path.suffix != ".gz":
        return {"exists": 1, "file": path.relative_to(run.path).as_posix()}
    return {"exists": int(path is not None), "file": f"deployments/{deployment}/deployment.json"}
