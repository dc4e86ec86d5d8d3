"""Our reading of logs and judging of histories beside DuckDB and grep: the same files, in one run, on two cores and on one.

Logs are those that the tests keep, again and again on later days; ``read_files`` makes typed events of them, DuckDB finds the
lines with the same words and their times, grep counts these lines.

Histories are of a load made by hand: ordered sends to 24 queues, with messages that are lost, that come twice and that come in
the wrong order. From JSON lines the whole of ``mqlab runs analyze RUN`` is timed, with all that it says of a load and with its
report; from the tables in Parquet that it leaves, our checks of loss, duplicates, order and latency alone, Spark's start included.
analysis.sql asks DuckDB for these four, of the same files. All have to find what was planted, and the four the same in
every queue.

Printed are wall time, CPU time, peak memory (of all processes), and the ratio of our wall and CPU time to theirs. A size at a
time, such as ``--log-mb 0 --records 50000000 --from parquet``, which takes 20 GB of disk. With ``--plan`` DuckDB's plan is
printed, too.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

# A script's own folder is searched first, where this file would be taken for the package of its name.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from harness.model.log_events import WORDINGS  # noqa: E402
from harness.releases.cache import cache_folder  # noqa: E402
from harness.releases.java import find_java  # noqa: E402
from tests.lib.trials import MS, at  # noqa: E402
from tools.kept_logs import KEPT  # noqa: E402

if TYPE_CHECKING:
    import duckdb

    from analysis.spark import SparkPlace

# What one side alone needs is imported where that side begins: the other one's time is not to have it.

QUEUES, EVERY_MS = 24, 0.2
PLANTED_EACH = 500_000
"""Of so many messages one is lost, one comes twice and one too late; of fewer, one each all the same."""
CHECKERS_OF_QUERY = ("loss", "duplicates", "order", "handover")
MEASURES = ("lost_count", "duplicate_count", "out_of_order_count", "message_delay_max_s")
PROPERTIES = ("nothing lost", "nothing twice", "in order")
LOOKS_APART, LOOK_S_MAX = 20, 0.5
"""Looking at the processes takes time of the cores that are measured: about a twentieth at most."""
QUERY = Path(__file__).with_suffix(".sql")
COLUMNS = {
    "type": "VARCHAR", "n": "BIGINT", "group": "VARCHAR", "broker": "VARCHAR", "queue": "INTEGER", "offset": "BIGINT",
    "intended_ns": "BIGINT", "started_ns": "BIGINT", "outcome": "VARCHAR",
}  # fmt: skip
Answer = list[list[Any]]
"""Of each queue: trial, group, broker, queue, lost, twice, out of order, the longest delay in ns."""


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
            resident, looked = 0.0, time.monotonic()
            for one in [running, *_children(running)]:
                try:
                    used = one.cpu_times()
                    cpu[one.pid], resident = used.user + used.system, resident + one.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            peak = max(peak, resident)
            with suppress(psutil.TimeoutExpired):
                running.wait(min(LOOK_S_MAX, LOOKS_APART * (time.monotonic() - looked)))
        wall_s = time.monotonic() - began
        output.seek(0)
        said = output.read()
    if running.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} left with {running.returncode}")
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
    print(f"  {name:28} {cost.wall_s:8.2f} s {cost.cpu_s:8.2f} CPU s {cost.peak_mb:7.0f} MB {speed}{ratio}", flush=True)


def this(side: str, path: Path, *arguments: str) -> list[str | Path]:
    """The command of one side, in a process of its own."""
    return [sys.executable, __file__, f"--{side}", path, *arguments]


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


def logs_of(folder: Path, size: int, on_cores: Sequence[int]) -> None:
    """Compare the readings of so many bytes."""
    total = make_logs(folder, size) / 1e6
    words = folder / "words.txt"
    words.write_text("".join(f"{one.words}\n" for one in WORDINGS))
    files = sorted(map(str, folder.rglob("*.log")))
    print(f"{total:.0f} MB of logs in {len(files)} files")
    for cores in on_cores:
        print(f" {cores} of the cores", flush=True)
        ours, events = cost_of(this("read-logs", folder), cores)
        show(f"mqlab, {events.strip()} events", total, "MB", ours)
        duck, lines = cost_of(this("duck-logs", folder), cores)
        show(f"DuckDB, {lines.strip()} lines", total, "MB", duck, ours)
        grep, counts = cost_of(["grep", "-cF", "-f", words, *files], cores)
        show(f"grep, {sum(int(one.rpartition(':')[2]) for one in counts.split())} lines", total, "MB", grep, ours)


def read_logs(folder: Path) -> int:
    """How many events there are."""
    from analysis.diagnosis.reading import log_files, read_files

    return sum(len(one.events) for one in read_files(log_files([folder])))


def duck_logs(folder: Path) -> int:
    """The lines with one of the words, each with its time; how many there are."""
    import duckdb

    pattern = "|".join(f"\\Q{one.words}\\E" for one in WORDINGS)
    found = duckdb.execute(
        "SELECT count(*), max(try_strptime(line[:19], '%Y-%m-%d %H:%M:%S')) FROM read_csv($files, columns={'line': 'VARCHAR'}, "
        "header=false, auto_detect=false, delim='\x01', quote='', escape='', strict_mode=false, max_line_size=8000000) "
        "WHERE regexp_matches(line, $pattern)",
        {"files": sorted(map(str, folder.rglob("*.log"))), "pattern": pattern},
    ).fetchall()
    return int(found[0][0])


# --- histories: a load ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """The numbers of the messages that something happens to; far from each other, so that each counts once."""

    lost: frozenset[int]
    twice: frozenset[int]
    late: frozenset[int]

    @classmethod
    def among(cls, messages: int) -> Planted:
        """The same ones in each run of so many messages."""
        chance, apart, each = random.Random(messages), 8 * QUEUES, 1 + messages // PLANTED_EACH
        blocks = chance.sample(range(messages // apart), 3 * each)
        seqs = [block * apart + chance.randrange(QUEUES) for block in blocks]
        return cls(*(frozenset(seqs[kind::3]) for kind in range(3)))

    def counts(self) -> list[int]:
        """In the order of ``PROPERTIES``."""
        return [len(self.lost), len(self.twice), len(self.late)]


def make_run(folder: Path, records: int) -> Planted:
    """The run directory of a load, half of whose records are sends, and what was planted there."""
    from tests.lib.runs import Run

    messages = records // 2
    planted = Planted.among(messages)
    run = Run(path=folder, incidents=("load",))
    params = {"rate_hz": 1000 / EVERY_MS, "route": "selector", "shape": "constant", "ordered": "yes"}
    trial = run.trial("load", "load", "baseline", fault="none", groups=["g"], params=params)
    trial.hold_ms = messages * EVERY_MS + 10_000
    for queue in range(QUEUES):
        told = len(range(queue, messages, QUEUES))
        trial.store_max(told, queue=queue, group="g", consumer_offset=told)
    run.save()
    history = folder / "trials" / trial.name / "history"
    history.mkdir()
    histories = {
        "producer-1": _sends(trial.topic, messages),
        "consumer-1": _consumptions(trial.topic, messages, planted),
    }
    for process, lines in histories.items():
        with (history / f"{process}.jsonl").open("w") as file:
            file.writelines(f'{{"type":{line},"process":"{process}","n":{n}}}\n' for n, line in enumerate(lines, 1))
    return planted


def _sends(topic: str, messages: int) -> Iterator[str]:
    for seq in range(messages):
        due = at(seq * EVERY_MS)
        yield (
            f'"send","instance":"p","client":"java 4.6.0","topic":"{topic}","key":"k{seq % QUEUES}","seq":{seq},'
            f'"intended_ns":{due},"started_ns":{due + 900},"finished_ns":{due + MS + seq * 7919 % MS},"outcome":"ok",'
            f'"broker":"broker-a","queue":{seq % QUEUES},"offset":{seq // QUEUES},'
            f'"msg_id":"FD00000000000000000000000000000258164E{seq:010X}"'
        )


def _consumptions(topic: str, messages: int, planted: Planted) -> Iterator[str]:
    for seq in range(messages):
        if seq in planted.lost:
            continue
        due = at(seq * EVERY_MS)
        # One that is consumed late comes after the next one of its queue.
        began = due + 2 * MS + seq * 7919 % MS + (seq in planted.late) * 2 * QUEUES * round(EVERY_MS * MS)
        for again in range(1 + (seq in planted.twice)):
            started = began + again * 1000
            yield (
                f'"consume","instance":"c","group":"g","topic":"{topic}","broker":"broker-a","queue":{seq % QUEUES},'
                f'"offset":{seq // QUEUES},"key":"k{seq % QUEUES}","seq":{seq},"intended_ns":{due},"outcome":"ok",'
                f'"stored_ms":{due // MS},"reconsume":0,"started_ns":{started},"finished_ns":{started + 500}'
            )


# --- histories: the comparison ----------------------------------------------------------------------------------------


def records_of(run: Path, records: int, on_cores: Sequence[int], sources: Sequence[str]) -> None:
    """Compare the judgements of so many records."""
    began = time.monotonic()
    planted = make_run(run, records)
    size, took_s = _megabytes(run, "*.jsonl"), time.monotonic() - began
    print(f"{records:,} records, {size:.0f} MB of JSON lines, made in {took_s:.0f} s", flush=True)
    if sources[0] != "json":
        show("mqlab, JSON into Parquet", size, "MB", cost_of(this("store", run), max(on_cores))[0])
    for cores, source in itertools.product(on_cores, sources):
        print(f" {cores} of the cores, {source}", flush=True)
        if source == "json":
            ours, _ = cost_of([sys.executable, "-m", "mqlab", "runs", "analyze", run], cores)
            show("mqlab runs analyze, all of it", records / 1e3, "thousand records", ours)
            found = None
            counts = _counts_of_command(run)
        else:
            ours, said = cost_of(this("judge", run), cores)
            steps, told = said.splitlines()
            show("mqlab, the four", records / 1e3, "thousand records", ours)
            print(f"    {steps}")
            found = json.loads(told)
            counts = _counts(found)
        duck, said = cost_of(this("duck-run", run, "--from", source), cores)
        show("DuckDB, the four", records / 1e3, "thousand records", duck, ours)
        theirs = json.loads(said)
        if found not in (None, theirs) or not counts == _counts(theirs) == planted.counts():
            raise SystemExit(f"planted {planted.counts()}, ours {counts}, theirs {_counts(theirs)}: the answers differ")
    print(f"  both found what was planted, in {QUEUES} queues: {dict(zip(PROPERTIES, planted.counts(), strict=True))}")
    print(f"  {_megabytes(run, 'analysis/**/*.parquet'):.0f} MB of tables in Parquet", flush=True)


def _megabytes(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file()) / 1e6


def _counts(answer: Answer) -> list[int]:
    return [sum(row[column] for row in answer) for column in (4, 5, 6)]


def _counts_of_command(run: Path) -> list[int]:
    from analysis.ledger.runs import FINDINGS, read_lines

    counts = {part.name: part.estimate for one in read_lines(run / FINDINGS).findings for part in one.parts}
    return [-1 if (count := counts[name]) is None else round(count) for name in PROPERTIES]


def spark_of_command() -> SparkPlace:
    """Where ``mqlab runs analyze`` has its Spark, and what that starts sooner with."""
    from analysis.spark import SparkPlace

    return SparkPlace(java_home=find_java().home, class_archives=cache_folder("spark"))


def store(folder: Path) -> None:
    """The first step of an analysis: records into Parquet."""
    from analysis.evidence.records import write_tables
    from harness.rundir.reading import read_run_directory

    write_tables(read_run_directory(folder))


def judge(folder: Path) -> tuple[str, Answer]:
    """How long each step took, and what our checkers say of the tables of records that are there."""
    from analysis.checkers.base import Inputs
    from analysis.evidence.consumption import fold_consumption
    from analysis.evidence.events import read_events
    from analysis.evidence.records import stored_records, write_folded
    from analysis.evidence.trials import trial_facts, trials_frame
    from analysis.logs.tables import load_logs
    from analysis.observe import CHECKERS
    from analysis.spark import closing_session, compile_from
    from analysis.spark_settings import COMPILED_BYTES_MIN, READING_COMPILED_BYTES_MIN
    from harness.rundir.reading import read_run_directory

    run = read_run_directory(folder)
    steps = [("start", time.monotonic())]
    # As many at once as in an analysis (analysis/observe.py).
    with ThreadPoolExecutor(max_workers=2) as pool:
        putting_in_order = pool.submit(write_folded, run, read_events(run))
        with closing_session(spark_of_command().for_evidence(run.path)) as spark:
            steps.append(("putting in order, still", time.monotonic()))
            putting_in_order.result()
            steps.append(("reading and folding", time.monotonic()))
            compile_from(spark, READING_COMPILED_BYTES_MIN, run)
            records = stored_records(spark, run)
            facts = trial_facts(records, run)
            trials = trials_frame(spark, run, facts)
            logs = load_logs(spark, run)
            consumption = fold_consumption(spark, records, trials, run)
            steps.append(("checking", time.monotonic()))
            compile_from(spark, COMPILED_BYTES_MIN, run)
            inputs = Inputs(
                spark=spark, run=run, records=records, logs=logs, facts=facts, trials=trials, consumption=consumption
            )
            rows = list(pool.map(lambda name: CHECKERS[name].observe(inputs).collect(), CHECKERS_OF_QUERY))
            steps.append(("", time.monotonic()))
    took = (f"{step} {after - before:.1f} s" for (step, before), (_, after) in itertools.pairwise(steps))
    return "; ".join(took), _answer([row for of_one in rows for row in of_one])


def _answer(rows: Sequence[Any]) -> Answer:
    """Observations of queues, as the query tells them."""
    found: dict[tuple[str, str, str, int], dict[str, float]] = {}
    for row in rows:
        if place := re.match(r"group (\S+) queue ([^:]+):(\d+)", row["operation"] or ""):
            key = (row["trial"], place[1], place[2], int(place[3]))
            found.setdefault(key, {})[row["measure"]] = row["value"]
    return [
        [*key, *(round(values[one]) for one in MEASURES[:3]), round(values[MEASURES[3]] * 1e9)]
        for key, values in sorted(found.items())
    ]


def duck_run(run: Path, source: str) -> duckdb.DuckDBPyConnection:
    """The tables that the query asks for."""
    import duckdb

    connection = duckdb.connect(
        config={"threads": len(os.sched_getaffinity(0)), "temp_directory": f"{run.parent}/duckdb"}
    )
    lines = "read_json($files, format='newline_delimited', columns=$columns, filename=true)"
    trial = "split_part(filename, '/', -$part) AS trial"
    if source == "parquet":
        files = f"'{run}/analysis/history.parquet/*/*.parquet'"
        history = f"SELECT * FROM read_parquet({files}, hive_partitioning=true, union_by_name=true)"
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


def make_class_archive() -> None:
    """As ``mqlab verify`` leaves it before its first analysis, unless it is there."""
    from analysis.class_archive import archive_classes

    if not (place := spark_of_command()).has_archive():
        print("Spark's classes are archived once, which takes half a minute", flush=True)
        archive_classes(place)


def main() -> None:
    """All comparisons, or one side of one in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--records", default="100000,1500000", help="of histories, by commas; 10000000 take 4 GB of disk; 0: none"
    )
    parser.add_argument(
        "--log-mb", type=float, default=200, help="megabytes of logs; 2000 for what an operator may have; 0: none"
    )
    parser.add_argument("--cores", default="2,1", help="how many of the cores, by commas")
    parser.add_argument("--from", dest="sources", default="json,parquet", help="json, parquet, or both by a comma")
    parser.add_argument("--plan", action="store_true", help="print DuckDB's plan, too")
    for side in ("read-logs", "duck-logs", "store", "judge", "duck-run"):
        parser.add_argument(f"--{side}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read_logs:
        print(read_logs(options.read_logs))
    elif options.duck_logs:
        print(duck_logs(options.duck_logs))
    elif options.store:
        store(options.store)
    elif options.judge:
        steps, answer = judge(options.judge)
        print(steps, json.dumps(answer), sep="\n")
    elif options.duck_run:
        print(json.dumps(duck_run(options.duck_run, options.sources).sql(QUERY.read_text()).fetchall()))
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """One size after the other; nothing of it stays on the disk."""
    on_cores = [int(cores) for cores in options.cores.split(",")]
    if options.log_mb:
        with tempfile.TemporaryDirectory() as folder:
            logs_of(Path(folder), round(options.log_mb * 1e6), on_cores)
    sizes = [int(records) for records in options.records.split(",") if int(records)]
    if sizes:
        make_class_archive()
    for records in sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            records_of(run, records, on_cores, options.sources.split(","))
            if options.plan:
                print(duck_run(run, "parquet").sql("EXPLAIN " + QUERY.read_text()).fetchall()[0][1])


if __name__ == "__main__":
    main()
