"""A standalone Spark cluster on loopback: a master and workers of pyspark's own distribution, under leases."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyspark

from harness.errors import LabError
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.wait import NotYet, wait_until

SPARK_CLASS = Path(pyspark.__file__).with_name("bin") / "spark-class"
DEPLOY = "org.apache.spark.deploy"
WORKER_MB = 600
UP_S_MAX = 600.0
ANSWER_S_MAX = 60.0
CLUSTER_S_MAX = 1700.0
STANDS_STILL = 5
"""So many looks at a stopped executor show a task."""


@dataclass(frozen=True, kw_only=True)
class SparkCluster:
    """``folder`` has a folder for each worker, in which Spark makes one for each application's executors."""

    master: str
    page: str
    workers: Sequence[LeasedProcess]
    folder: Path

    @classmethod
    def start(cls, leases: Leases, folder: Path, workers: int) -> SparkCluster:
        """Return when all workers, of one core each, are known to the master."""
        port, page = free_port(), free_port()
        master = f"spark://127.0.0.1:{port}"
        _spawn(leases, folder, "master", f"master.Master --host 127.0.0.1 --port {port} --webui-port {page}".split())
        about = f"worker.Worker --host 127.0.0.1 --port 0 --webui-port 0 --cores 1 --memory {WORKER_MB}m --work-dir"
        made = [
            _spawn(leases, folder, name, [*about.split(), str(folder / name), master])
            for name in (f"worker-{number}" for number in range(workers))
        ]
        cluster = cls(master=master, page=f"http://127.0.0.1:{page}/json/", workers=made, folder=folder)
        wait_until("the workers", lambda: cluster.alive() == workers, timeout_s=UP_S_MAX)
        return cluster

    def alive(self) -> int:
        """How many workers the master counts on."""
        return int(_asked(self.page)["aliveworkers"])

    def sent(self, name: str) -> int:
        """How many executors have a file of this name, that a driver sent."""
        return len(list(self.folder.glob(f"worker-*/app-*/*/{name}")))

    def kill_with_task(self, number: int, analysis: subprocess.Popen[str], driver: str) -> None:
        """Kill a worker whose executor has done tasks and was given another one, by the page of the analysis' ``driver``.

        Tasks are short, and none may be under way at any look. So the executor is stopped first, and gets its next one then.
        """
        worker, seen = self.workers[number], "no executor"

        def asked(active: bool) -> psutil.Process:
            nonlocal seen
            if analysis.poll() is not None:
                raise LabError(f"the analysis has ended; seen last: {seen}")
            executor, name = _executor_of(worker)
            tasks = _tasks(driver, name)
            seen = f"executor {name}: {tasks}"
            if not tasks["activeTasks" if active else "completedTasks"]:
                raise NotYet(seen)
            return executor

        executor = wait_until("a task's end", lambda: asked(active=False), timeout_s=UP_S_MAX, poll_s=0.2)
        executor.send_signal(signal.SIGSTOP)
        # What it had ended already is known to the driver before so many looks.
        for _ in range(STANDS_STILL):
            wait_until("a task", lambda: asked(active=True), timeout_s=ANSWER_S_MAX, poll_s=0.2)
            time.sleep(0.1)
        worker.kill()
        wait_until(
            "the end of its executor",
            lambda: not executor.is_running() or executor.status() == psutil.STATUS_ZOMBIE,
            timeout_s=UP_S_MAX,
        )


def _spawn(leases: Leases, folder: Path, name: str, words: Sequence[str]) -> LeasedProcess:
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "200m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with (folder / f"{name}.out").open("wb") as out:
        return leases.spawn(
            [str(SPARK_CLASS), f"{DEPLOY}.{words[0]}", *words[1:]],
            name=f"spark-{name}", until_s=CLUSTER_S_MAX, env=environment, stdout=out, stderr=out,
        )  # fmt: skip


def _asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=ANSWER_S_MAX) as answer:
        return json.load(answer)


def _executor_of(worker: LeasedProcess) -> tuple[psutil.Process, str]:
    """The process of a worker's executor, and its number."""
    for process in psutil.Process(worker.pid).children(recursive=True):
        # The shell that becomes the worker may leave it a child that has ended, and has no command any more.
        words = [] if process.status() == psutil.STATUS_ZOMBIE else process.cmdline()
        if "--executor-id" in words:
            return process, words[words.index("--executor-id") + 1]
    raise NotYet("the worker has no executor")


def _tasks(driver: str, executor: str) -> dict[str, int]:
    """How many tasks it is at and has done, as the driver knows."""
    applications = f"{driver}/api/v1/applications"
    (application,) = _asked(applications)
    (found,) = (one for one in _asked(f"{applications}/{application['id']}/executors") if one["id"] == executor)
    return {name: int(found[name]) for name in ("activeTasks", "completedTasks")}
