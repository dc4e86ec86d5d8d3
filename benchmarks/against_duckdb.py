"""Our reading of logs and judging of histories beside DuckDB and grep: the same files, in one run, on one core and on two.

Logs are those that the tests keep, again and again on later days; ``read_files`` makes typed events of them, DuckDB finds the
lines with the same words and their times, grep counts these lines. Histories are made by hand, of ordered sends to 24 queues, with
a loss, a message that comes twice and two in the wrong order in each trial; ``mqlab analyze`` judges four measures of them,
against_duckdb.sql is the same question for DuckDB, and both must come to the same answers. Printed are wall time, CPU time, peak
memory (of all processes), and the ratio of our wall and CPU time to theirs. With ``--plan`` DuckDB's plan is printed, too.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import itertools
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psutil

from analysis.diagnosis.reading import log_files, read_files
from harness.model.log_events import WORDINGS
from mqlab.kept_logs import KEPT
from tests.lib.runs import Run
from tests.lib.trials import MS, at

QUEUES, TRIAL_RECORDS = 24, 1_000_000
EVERY_MS = 0.2
QUERY = Path(__file__).with_suffix(".sql")
COLUMNS = {
    "type": "VARCHAR", "n": "BIGINT", "group": "VARCHAR", "broker": "VARCHAR", "queue": "INTEGER", "offset": "BIGINT",
    "intended_ns": "BIGINT", "started_ns": "BIGINT", "outcome": "VARCHAR",
}  # fmt: skip
Answer = list[list[Any]]


@dataclass(frozen=True)
class Cost:
    """Of one command and all of its processes."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def cost_of(command: Sequence[str | Path], cores: int) -> tuple[Cost, str]:
    """Run it on so many cores; what it cost, and what it printed."""
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryFile("w+") as output:
        began, ended_s = time.monotonic(), _cpu_of_ended_s()
        running = psutil.Popen(
            ["taskset", "-c", ",".join(map(str, chosen)), *map(str, command)], stdout=output, env=environment
        )
        cpu: dict[int, float] = {}
        peak = 0.0
        while running.poll() is None:
            resident = 0.0
            for one in [running, *_children(running)]:
                try:
                    used = one.cpu_times()
                    cpu[one.pid], resident = used.user + used.system, resident + one.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            peak = max(peak, resident)
            time.sleep(0.02)
        wall_s = time.monotonic() - began
        output.seek(0)
        said = output.read()
    if running.returncode:
        raise SystemExit(f"{command[0]} left with {running.returncode}")
    # What ended between two looks is told by the system, what nobody waited for by the looks.
    cpu_s = max(sum(cpu.values()), _cpu_of_ended_s() - ended_s, 0.001)
    return Cost(wall_s, cpu_s, peak / 1e6), said


def _cpu_of_ended_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def show(name: str, amount: float, unit: str, cost: Cost, ours: Cost | None = None) -> None:
    """One line; the ratio is ours to this one's."""
    ratio = (
        f"  ours takes {ours.wall_s / cost.wall_s:.2f} x its wall, {ours.cpu_s / cost.cpu_s:.2f} x its CPU"
        if ours
        else ""
    )
    speed = f"{amount / cost.wall_s:9.1f} {unit}/s"
    print(f"  {name:24} {cost.wall_s:8.2f} s {cost.cpu_s:8.2f} CPU s {cost.peak_mb:7.0f} MB {speed}{ratio}", flush=True)


# --- logs -------------------------------------------------------------------------------------------------------------


def make_logs(folder: Path, size: int) -> int:
    """The kept logs on one day after the other, until they have so many bytes; how many they have."""
    contents = {
        path.relative_to(KEPT).with_suffix(""): gzip.decompress(path.read_bytes()) for path in KEPT.glob("*/*.gz")
    }
    days = range(max(1, round(size / sum(map(len, contents.values())))))
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            for day in days:
                date = f"{2100 + day // 336}-{day % 336 // 28 + 1:02}-{day % 28 + 1:02}".encode()
                file.write(content.replace(content[:10], date) if content[4:5] == b"-" else content)
    return sum(path.stat().st_size for path in folder.rglob("*.log"))


def logs_of(folder: Path, size: int) -> None:
    """Compare the readings of so many bytes."""
    total = make_logs(folder, size) / 1e6
    words = folder / "words.txt"
    words.write_text("".join(f"{one.words}\n" for one in WORDINGS))
    files = sorted(map(str, folder.rglob("*.log")))
    print(f"{total:.0f} MB of logs in {len(files)} files")
    for cores in (1, 2):
        ours, events = cost_of([sys.executable, __file__, "--read-logs", folder], cores)
        show(f"mqlab, {events.strip()} events", total, "MB", ours)
        duck, lines = cost_of([sys.executable, __file__, "--duck-logs", folder], cores)
        show(f"DuckDB, {lines.strip()} lines", total, "MB", duck, ours)
        grep, counts = cost_of(["grep", "-cF", "-f", words, *files], cores)
        show(f"grep, {sum(int(one.rpartition(':')[2]) for one in counts.split())} lines", total, "MB", grep, ours)


def duck_logs(folder: Path) -> int:
    """The lines with one of the words, each with its time; how many there are."""
    pattern = "|".join(f"\\Q{one.words}\\E" for one in WORDINGS)
    found = duckdb.sql(
        "SELECT count(*), max(try_strptime(line[:19], '%Y-%m-%d %H:%M:%S')) FROM read_csv($files, columns={'line': 'VARCHAR'}, "
        "header=false, auto_detect=false, delim='\x01', quote='', escape='', strict_mode=false, max_line_size=8000000) "
        "WHERE regexp_matches(line, $pattern)",
        params={"files": sorted(map(str, folder.rglob("*.log"))), "pattern": pattern},
    ).fetchall()
    return int(found[0][0])


# --- histories --------------------------------------------------------------------------------------------------------


def make_run(folder: Path, records: int) -> Path:
    """A run of trials of a million records at most, half of them sends."""
    run = Run(path=folder, incidents=("ordered-lock-handover",))
    trials = -(-records // TRIAL_RECORDS)
    messages = records // trials // 2
    for number in range(trials):
        trial = run.ordered(f"load-{number}", arm="baseline", groups=["g"])
        trial.history.clear()
        trial.events.clear()
        trial.hold_ms = messages * EVERY_MS + 10_000
        for queue in range(QUEUES):
            told = len(range(queue, messages, QUEUES))
            trial.store_max(told, queue=queue, group="g", consumer_offset=told)
    run.save()
    for number, trial in enumerate(run.trials):
        history = folder / "trials" / trial.name / "history"
        history.mkdir(exist_ok=True)
        for process, lines in (("producer", _sends), ("owner", _consumptions)):
            with (history / f"{process}.jsonl").open("w") as file:
                file.writelines(
                    f'{{"type":{line},"n":{n}}}\n' for n, line in enumerate(lines(trial.topic, messages, number), 1)
                )
    return folder


def _sends(topic: str, messages: int, number: int) -> Iterator[str]:
    for seq in range(messages):
        due = at(seq * EVERY_MS)
        yield (
            f'"send","process":"producer","instance":"p","client":"java 4.6.0","topic":"{topic}","key":"k{seq}","seq":{seq},'
            f'"intended_ns":{due},"started_ns":{due + 900},"finished_ns":{due + MS},"outcome":"ok","broker":"broker-a",'
            f'"queue":{seq % QUEUES},"offset":{seq // QUEUES},"msg_id":"FD00000000000000000000000000000258164E{seq:010X}"'
        )


def _consumptions(topic: str, messages: int, number: int) -> Iterator[str]:
    lost, twice, swapped = (messages * part // 10 + number for part in (3, 5, 7))
    for seq in range(messages):
        if seq == lost:
            continue
        began = at(seq * EVERY_MS) + 2 * MS + (seq * 7919) % MS
        # One that is consumed late comes after the next one of its queue.
        late = 2 * QUEUES * round(EVERY_MS * MS) if seq == swapped else 0
        for again in range(2 if seq == twice else 1):
            began += again * 1000
            yield (
                f'"consume","process":"owner","instance":"g-owner","group":"g","topic":"{topic}","broker":"broker-a",'
                f'"queue":{seq % QUEUES},"offset":{seq // QUEUES},"key":"k{seq}","seq":{seq},"intended_ns":{at(seq * EVERY_MS)},'
                f'"outcome":"ok","stored_ms":{at(seq * EVERY_MS) // MS},"reconsume":0,"started_ns":{began + late},'
                f'"finished_ns":{began + late + 500}'
            )


def run_of(folder: Path, records: int, plan: bool) -> None:
    """Compare the judgements of so many records."""
    run = make_run(folder, records)
    size = sum(path.stat().st_size for path in run.rglob("*.jsonl")) / 1e6
    print(f"{records:,} records, {size:.0f} MB of JSON lines")
    for cores in (1, 2):
        ours, steps = cost_of([sys.executable, __file__, "--judge", run], cores)
        show("mqlab analyze", records / 1e3, "thousand records", ours)
        print(f"    {steps.strip()}")
        answer = our_answer(run)
        for source in ("JSON lines", "Parquet"):
            duck, said = cost_of([sys.executable, __file__, "--duck-run", run, "--source", source], cores)
            show(f"DuckDB, {source}", records / 1e3, "thousand records", duck, ours)
            if answer != json.loads(said):
                raise SystemExit("the answers differ")
    found = {name: sum(row[at] for row in answer) for at, name in ((4, "lost"), (5, "twice"), (6, "out of order"))}
    print(f"  both found the same in {len(answer)} queues: {found}")
    if plan:
        print(duck_run(run, "Parquet").sql("EXPLAIN " + QUERY.read_text()).fetchall()[0][1])


def judge(run: Path) -> None:
    """Four measures of a run, and how long each step took."""
    from analysis.pipeline import analyze
    from analysis.spark import SparkPlace
    from scenarios import ordered_lock_handover

    measures = ("lost_count", "duplicate_count", "out_of_order_count", "message_delay_max_s")
    steps = [("start", time.monotonic())]
    scenario = dataclasses.replace(ordered_lock_handover.SCENARIO, extra_measures=measures, claims=())
    analyze(run, [scenario], SparkPlace(), lambda step: steps.append((step, time.monotonic())))
    steps.append(("", time.monotonic()))
    took = (f"{step} {after - before:.1f} s" for (step, before), (_, after) in itertools.pairwise(steps))
    print("; ".join(took))


def our_answer(run: Path) -> Answer:
    """What the checkers found, as the query tells it."""
    rows = duckdb.sql(
        "SELECT trial, measure, regexp_extract(operation, 'group (\\S+) queue ([^:]+):(\\d+)', ['g', 'b', 'q']) AS place, value "
        "FROM read_parquet($files)",
        params={"files": f"{run}/analysis/observations.parquet/*.parquet"},
    ).fetchall()
    found: dict[tuple[str, str, str, int], dict[str, float]] = {}
    for trial, measure, place, value in rows:
        if place["g"]:
            found.setdefault((trial, place["g"], place["b"], int(place["q"])), {})[measure] = value
    return [
        [
            *key,
            *(round(values[one]) for one in ("lost_count", "duplicate_count", "out_of_order_count")),
            round(values["message_delay_max_s"] * 1e9),
        ]
        for key, values in sorted(found.items())
    ]


def duck_run(run: Path, source: str) -> duckdb.DuckDBPyConnection:
    """The tables that the query asks for."""
    connection = duckdb.connect()
    lines = "read_json($files, format='newline_delimited', columns=$columns, filename=true)"
    trial = "split_part(filename, '/', -$part) AS trial"
    if source == "Parquet":
        history = f"SELECT * FROM read_parquet('{run}/analysis/history.parquet/*/*.parquet', hive_partitioning=true)"
    else:
        filled = lines.replace("$files", f"'{run}/trials/*/history/*.jsonl'").replace("$columns", str(COLUMNS))
        history = f"SELECT *, {trial.replace('$part', '3')} FROM {filled}"
    connection.execute(f"CREATE VIEW history AS {history}")
    columns = {
        "type": "VARCHAR", "phase": "VARCHAR", "event": "VARCHAR", "at_ns": "BIGINT", "topic": "VARCHAR", "broker": "VARCHAR",
        "queue": "INTEGER", "group": "VARCHAR", "min_offset": "BIGINT", "max_offset": "BIGINT", "consumer_offset": "BIGINT",
    }  # fmt: skip
    events = lines.replace("$files", f"'{run}/trials/*/events.jsonl'").replace("$columns", str(columns))
    connection.execute(
        f"CREATE TABLE store AS WITH events AS (SELECT *, {trial.replace('$part', '2')} FROM {events}), "
        "held AS (SELECT trial, max(at_ns) AS to_ns FROM events WHERE phase = 'hold' AND event = 'end' GROUP BY trial) "
        'SELECT trial, topic, broker, queue, "group" AS grp, min_offset, max_offset, consumer_offset AS told, '
        f"{at(-5_000)}::BIGINT AS from_ns, to_ns FROM events JOIN held USING (trial) WHERE type = 'store_max'"
    )
    return connection


def main() -> None:
    """All comparisons, or one side of one in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records", default="100000,1500000", help="of histories; 10000000,50000000 take 4 and 18 GB of disk"
    )
    parser.add_argument(
        "--log-mb", type=float, default=200, help="megabytes of logs; 2000 for what an operator may have"
    )
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--source", default="Parquet")
    for side in ("read-logs", "duck-logs", "judge", "duck-run"):
        parser.add_argument(f"--{side}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read_logs:
        print(sum(len(one.events) for one in read_files(log_files([options.read_logs]))))
    elif options.duck_logs:
        print(duck_logs(options.duck_logs))
    elif options.judge:
        judge(options.judge)
    elif options.duck_run:
        print(json.dumps(duck_run(options.duck_run, options.source).sql(QUERY.read_text()).fetchall()))
    else:
        if options.log_mb:
            with tempfile.TemporaryDirectory() as folder:
                logs_of(Path(folder), round(options.log_mb * 1e6))
        for records in filter(None, options.records.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                run_of(Path(folder) / "run", int(records), options.plan)


if __name__ == "__main__":
    main()
