"""What makes a session start and plan sooner: the classes that every analysis loads, archived for Java or loaded beforehand."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.spark import SparkPlace, spark_session
from harness.paths import search_path
from harness.scratch import scratch_folder

ARCHIVE_S_MAX = 300.0


def archive_classes(place: SparkPlace) -> None:
    """Leave an archive of Java's loaded classes in ``place.class_archives``.

    It takes a process of its own and half a minute. Where it fails, Spark starts without, and nothing else changes.
    """
    archive = place.archive
    if archive is None:
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    gone_wrong = contextlib.suppress(subprocess.TimeoutExpired, OSError)
    with gone_wrong, scratch_folder() as scratch:
        subprocess.run(
            [sys.executable, "-m", "analysis.class_archive", str(place.java_home), str(archive), str(scratch)],
            env={**os.environ, "PYTHONPATH": search_path()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=ARCHIVE_S_MAX,
            check=False,
        )


def warm_up(spark: SparkSession) -> None:
    """Have Java load and compile what every analysis needs."""
    with scratch_folder() as scratch:
        _use_much_of_it(spark, scratch)


def _use_much_of_it(spark: SparkSession, scratch: Path) -> None:
    """One of each kind of thing that an analysis does; what it loads is what the archive holds."""
    lines = scratch / "lines.jsonl"
    lines.write_text("".join(f'{{"type":"t{n % 3}","n":{n},"at":{n * 7},"name":"g{n % 5}"}}\n' for n in range(1000)))
    records = spark.read.schema("type string, n long, at long, name string").json(str(lines))
    records.withColumn("file", F.col("_metadata.file_path")).write.partitionBy("type").parquet(f"{scratch}/records")
    kept = spark.read.parquet(f"{scratch}/records").persist()
    in_order = Window.partitionBy("name").orderBy("at")
    runs = kept.repartition(2, "name").select("*", F.lag("n").over(in_order).alias("before"))
    folded = runs.groupBy("name", "type").agg(
        F.count("*").alias("count"),
        F.min_by("n", "at").alias("first"),
        F.collect_list("n").alias("all"),
        F.bit_or("n").alias("bits"),
        F.percentile_approx("n", 0.5).alias("middle"),
        F.max(F.when(F.col("before").isNull(), F.col("at"))).alias("begin"),
    )
    small = spark.createDataFrame([("g1", 1.0), ("g2", 2.0)], "name string, value double")
    each = F.explode(F.array(F.struct(F.lit("m").alias("measure"), F.to_json(F.struct("name")).alias("params"))))
    joined = folded.join(F.broadcast(small), "name", "left").select("*", each.alias("item")).select("*", "item.*")
    joined.unionByName(joined).where(F.array_contains("all", F.lit(3)) | F.col("name").isin("g1", "g2")).collect()
    text = spark.read.text(str(lines)).select("value", F.monotonically_increasing_id().alias("id"))
    text.where(F.col("value").contains("g1")).select(
        F.regexp_extract("value", '"n":([0-9]+)', 1), F.try_to_timestamp(F.lit("2026-01-01 00:00:00"))
    ).write.parquet(f"{scratch}/text")


def _leave_archive(java_home: str, archive: str, scratch: str) -> None:
    place = SparkPlace(
        master="local[2]", java_home=Path(java_home), more_options=f"-Xlog:disable -XX:ArchiveClassesAtExit={archive}"
    )
    spark = spark_session(place)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    _use_much_of_it(spark, Path(scratch))
    spark.stop()
    # Java writes the archive when it ends, which it does when nobody listens any more.
    gateway.proc.stdin.close()
    gateway.proc.wait(ARCHIVE_S_MAX)


if __name__ == "__main__":
    _leave_archive(*sys.argv[1:])
