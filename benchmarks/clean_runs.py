"""Do the order and exclusivity checkers stay silent on clean runs, and speak on a copy with a violation in it?

Ten runs of ordered consumption by two members, of at least 100,000 messages each, are judged as they are; then a copy of
all of them is judged in which each run has one consumption of 1 ms beside the queue's owner and two messages swapped.
A run takes 80 s, of which 65 s are its messages: four threads send 1,600 a second, one after the other, on two cores that
have something else to do as well. Ten of them with both analyses take a quarter of an hour.

    python benchmarks/clean_runs.py [--runs 10] [--messages 100000] [--release 5.3.3] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import scenarios
from analysis.pipeline import analyze_in
from analysis.spark import SparkPlace, spark_session
from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.loads import OrderedGroups
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.releases.java import find_java
from harness.rundir.reading import read_run_directory
from mqlab.main import main as mqlab

NAME = "clean-runs"
MASTERS, QUEUES_PER_BROKER, RATE_PER_QUEUE_HZ = 2, 8, 100.0
OVERLAP_MS = 1
QUICK = {"rocketmq.client.rebalance.waitInterval": "1000"}
"""Members share the queues out every second: the messages that are counted come after that."""
Record = dict[str, object]


def scenario(messages: int) -> Scenario:
    """One arm without a fault, held for as long as the messages need."""
    hold_s = messages / (MASTERS * QUEUES_PER_BROKER * RATE_PER_QUEUE_HZ) + 2.0
    load = OrderedGroups(
        groups=1,
        queues_per_broker=QUEUES_PER_BROKER,
        rate_per_queue_hz=RATE_PER_QUEUE_HZ,
        owner_start_spread_s=1.0,
        owner_properties=QUICK,
        successor_properties=QUICK,
    )
    return Scenario(
        name=NAME,
        title="Ordered consumption without a fault",
        article="",
        summary="Two members of a group, nobody is disturbed.",
        topology=Topology(name="two-masters", masters=MASTERS),
        arms=(Arm(name="baseline", what="No fault.", fault=NoFault(), load=load),),
        phases=Phases(steady_s=2.0, hold_s_min=hold_s, hold_s_max=hold_s, recover_s=1.0),
        claims=(),
        budget=TrialBudget(trials=10, deployments=1),
        quick_budget=TrialBudget(trials=1, deployments=1),
        exclusive=True,
        hiccup_ms_max=60_000.0,
        extra_measures=("overlap_ms", "out_of_order_count"),
    )


def plant(history: Path) -> None:
    """One consumption by the successor beside one of the owner's, and two neighbours of another queue swapped in time."""
    owner = history / "owner.jsonl"
    lines = _lines(owner)
    consumed = [(at, json.loads(line)) for at, line in enumerate(lines) if '"type":"consume"' in line]
    middle = _followed_by_rest([one for _, one in consumed])
    with (history / "successor.jsonl").open("a") as file:
        file.write(json.dumps(_beside(middle, len(_lines(history / "successor.jsonl")) + 1)) + "\n")
    same = [(at, one) for at, one in consumed if _queue(one) != _queue(middle)]
    queue = _queue(same[len(same) // 3][1])
    (first_at, first), (second_at, second) = [pair for pair in same if _queue(pair[1]) == queue][10:12]
    for name in ("started_ns", "finished_ns"):
        first[name], second[name] = second[name], first[name]
    lines[first_at], lines[second_at] = json.dumps(first), json.dumps(second)
    owner.write_text("".join(f"{line}\n" for line in lines))


def _followed_by_rest(consumed: Sequence[Record]) -> Record:
    """One in the middle after which its queue rests for longer than the overlap, so that this is all that is planted."""
    middle = len(consumed) // 2
    for at in range(middle, len(consumed)):
        rest = (one for one in consumed[at + 1 :] if _queue(one) == _queue(consumed[at]))
        following = next(rest, None)
        if following is not None and _ns(following) > _ns(consumed[at]) + 2 * OVERLAP_MS * 1_000_000:
            return consumed[at]
    raise ValueError("the queues of the owner never rest")


def _ns(record: Record) -> int:
    return int(str(record["started_ns"]))


def _beside(record: Record, number: int) -> Record:
    started_ns = _ns(record)
    return {
        **record,
        "process": "successor",
        "instance": str(record["instance"]).replace("-owner", "-successor"),
        "n": number,
        "finished_ns": started_ns + OVERLAP_MS * 1_000_000,
    }


def _queue(record: Record) -> tuple[object, object]:
    return record["broker"], record["queue"]


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line]


def violations(spark: SparkSession, path: Path) -> dict[str, dict[str, float]]:
    """By trial: the sums of ``overlap_ms`` and ``out_of_order_count`` that an analysis found, and the consumptions."""
    observed = spark.read.parquet(str(path / "analysis" / "observations.parquet"))
    sums = (
        observed.where("measure IN ('overlap_ms', 'out_of_order_count')")
        .groupBy("trial", "measure")
        .sum("value")
        .collect()
    )
    queues = (
        spark.read.parquet(str(path / "analysis" / "queues.parquet")).groupBy("trial").sum("consumptions").collect()
    )
    found: dict[str, dict[str, float]] = {row[0]: {"messages": float(row[1])} for row in queues}
    for trial, measure, value in sums:
        found[trial][measure] = float(value)
    return found


def main() -> int:
    """Run, judge, plant, judge again; 1 when a clean run shows anything or a planted one does not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--release", default="5.3.3")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    scenarios.ALL = (scenario(options.messages),)
    out = options.out or Path(tempfile.mkdtemp(prefix="mqlab-clean-")) / "run"
    code = mqlab(["verify", NAME, "--release", options.release, "--trials", str(options.runs), "--out", str(out)])
    if code != 0:
        return code
    spark = spark_session(SparkPlace(java_home=find_java().home))
    clean = violations(spark, out)
    copy = out.with_name(f"{out.name}-planted")
    shutil.copytree(out, copy, ignore=shutil.ignore_patterns("analysis", "report.html"))
    for trial in clean:
        plant(copy / "trials" / trial / "history")
    analyze_in(spark, read_run_directory(copy), scenarios.ALL)
    planted = violations(spark, copy)
    print(f"{'run':40} {'messages':>9} {'clean: overlap ms, disorder':>28} {'planted':>16}")
    wrong = 0
    for trial in sorted(clean):
        before, after = clean[trial], planted[trial]
        silent = before["overlap_ms"] == 0 and before["out_of_order_count"] == 0
        spoke = after["overlap_ms"] == OVERLAP_MS and after["out_of_order_count"] == 1
        enough = before["messages"] >= options.messages
        wrong += not (silent and spoke and enough)
        shown = f"{before['overlap_ms']:g}, {before['out_of_order_count']:g}"
        print(
            f"{trial:40} {before['messages']:9.0f} {shown:>28} {after['overlap_ms']:9g}, {after['out_of_order_count']:g}"
        )
    print(f"{len(clean) - wrong} of {len(clean)} runs are silent when clean and found when planted")
    return 1 if wrong or len(clean) < options.runs else 0


if __name__ == "__main__":
    sys.exit(main())
