"""Nine trials on three clusters, which are written as the harness writes a run's, without a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

from harness.rundir.lines import RecordLog
from harness.rundir.manifest import DeploymentRecord
from harness.rundir.writing import RunWriter
from tests.lib.records import trial_record

TRIALS = tuple(f"t{number}" for number in range(1, 10))
DEPLOYMENTS = ("d1", "d2", "d3")
RECORDS = 2_001
"""Of each history, its end mark among them."""


def deployment_of(trial: str) -> str:
    return DEPLOYMENTS[TRIALS.index(trial) // 3]


def record_some(run: RunWriter, whole: Collection[str]) -> None:
    """Record the trials that are not whole, cluster by cluster, as a run or its resumption does."""
    for name in DEPLOYMENTS:
        left = [trial for trial in TRIALS if deployment_of(trial) == name and trial not in whole]
        if left:
            again = next(one for one in _names(name) if not run.deployment(one).path.exists())
            record_deployment(run, again, left)


def _names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in range(2, 100))


def record_deployment(run: RunWriter, name: str, trials: Collection[str]) -> None:
    """A cluster with a log, and its trials."""
    record = DeploymentRecord(
        deployment=name, incident="append-stall", release="4.6.0", index=1, topology={}, logging="lab", log_zone="UTC",
        identity={"token": name}, run=run.manifest.run,
    )  # fmt: skip
    directory = run.make_deployment(record)
    logs = directory.path / "nodes" / "broker-a" / "logs"
    logs.mkdir(parents=True)
    for trial in trials:
        with (logs / "lock.log").open("a") as log:
            log.write(f"tryLockBatch of {trial}\n")
        record_trial(run, trial, deployment=name)
    directory.seal(record)


def record_trial(run: RunWriter, trial: str, *, deployment: str) -> None:
    """A trial with a history, events and a client's log."""
    record = trial_record(trial, run=run.manifest.run, deployment=deployment)
    directory = run.make_trial(dataclasses.replace(record, status="running"))
    with directory.recording() as events:
        events.record("drain", complete=True, remaining=0)
    with RecordLog(directory.history_path("producer")) as history:
        for seq in range(RECORDS - 1):
            history.write("check", {"process": "producer", "seq": seq, "key": trial, "at_ns": seq})
        history.end(process="producer")
    (directory.client_folder("producer") / "rocketmq_client.log").write_text(f"a line of {trial}\n")
    directory.seal(record)
