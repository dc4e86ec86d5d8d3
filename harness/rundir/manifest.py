"""manifest.json, trial.json and deployment.json."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from harness.errors import RunDirectoryError
from harness.model.cells import ParameterValue
from harness.model.cluster import UserSettings
from harness.rundir.decode import read_document
from harness.rundir.own_files import require_own_places

RunStatus = Literal["running", "complete", "interrupted", "failed"]

RESUMED = "resumed by other code: "
"""A note that begins so says why trials of the run may not be of one experiment; every finding repeats it."""

USER_SETTING = "setting of the user: "
"""A note that begins so names one; the ledger takes no such run."""

STOPPED = "stopped by its user "
"""A note that begins so says when a load was, before its time; what it had sent by then was drained."""

TrialStatus = Literal["planned", "running", "complete", "failed", "interrupted"]

ENDED: tuple[TrialStatus, ...] = ("complete", "failed", "interrupted")
"""A trial of these is over, and its files are sealed."""

_ZONE = re.compile(r"(?:UTC|GMT)(?:[+-](?:(?:0?[0-9]|1[0-7])(?::[0-5][0-9])?|18(?::00)?))?")

FREEZE = "freeze"
"""The injection that freezes the store's file system."""


@dataclass(frozen=True, kw_only=True)
class SealedFile:
    """A file of evidence as it was when its trial or deployment ended. Whoever writes it had ended, too."""

    bytes: Annotated[int, "its length"]
    sha256: Annotated[str, "the SHA-256 of its bytes"]
    records: Annotated[int | None, "of a *.jsonl file, how many whole records it has, its end mark among them"] = None
    ended: Annotated[bool | None, "of a *.jsonl file, whether it has an end mark; a killed process leaves none"] = None
    damage: Annotated[str, "what its records' numbers said against it then"] = ""


@dataclass(frozen=True, kw_only=True)
class BegunTrial:
    """What a trial that was begun is one of, which the manifest knows also where its folder is gone."""

    incident: Annotated[str, "the scenario's name"]
    arm: Annotated[str, "the arm's name"]
    params: Annotated[Mapping[str, ParameterValue], "the cell's parameters"]
    release: Annotated[str, "the cluster's release"]
    deployment: Annotated[str, "the cluster that it ran on"]
    chosen_injection: Annotated[str, "the injection of its deployment, where its incident offers several"] = ""


@dataclass(frozen=True, kw_only=True)
class HostRecord:
    """The machine that a run was made on, as far as a reader needs it to judge how far figures carry."""

    cores: Annotated[int | None, "cores that the run could use"] = None
    memory_bytes: Annotated[int | None, "the machine's memory"] = None
    kernel: Annotated[str, "the kernel's release"] = ""
    system: Annotated[str, "the system in one line"] = ""
    python: Annotated[str, "Python's version"] = ""
    java: Annotated[str, "the version of the brokers' Java"] = ""
    java_source: Annotated[str, "where that Java was found"] = ""
    cgroup: Annotated[str, "v2, v1 or none"] = ""
    load_before: Annotated[float | None, "the load average of one minute when the run began"] = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What the run is: what was asked, by which code, on which machine."""

    run: Annotated[str, "the run's id, which sorts by time"]
    created: Annotated[str, "when it began, ISO 8601"]
    command: Annotated[str, "the command line"]
    commit: Annotated[str, "the commit of the code that ran"]
    dirty: Annotated[bool, "whether it had uncommitted changes"]
    seed: Annotated[int, "from which every trial's seed is drawn"]
    incidents: Annotated[tuple[str, ...], "the scenarios' names, or load"]
    releases: Annotated[tuple[str, ...], "RocketMQ's releases of the clusters"]
    client_releases: Annotated[Mapping[str, str], "the clients' release by the cluster's"]
    backend: Annotated[str, "how clusters were started"]
    budget: Annotated[Literal["quick", "full"], "quick runs have fewer trials"]
    rules: Annotated[Mapping[str, str], "the hash of each claim's rule by the claim's id"]
    host: Annotated[HostRecord, "the machine"]
    trials: Annotated[tuple[str, ...], "the planned trials in their order"] = ()
    notes: Annotated[tuple[str, ...], "what a reader of the report has to know"] = ()
    status: Annotated[RunStatus, "how the run stands"] = "running"
    jars: Annotated[Mapping[str, str], "by release the SHA-256 of its list of jars, each with its own SHA-256"] = field(
        default_factory=dict
    )
    sealed: Annotated[bool, "whether its documents name its files with their sums"] = False
    begun: Annotated[Mapping[str, BegunTrial], "every trial that was begun, repetitions too, by its name"] = field(
        default_factory=dict
    )
    documents: Annotated[
        Mapping[str, str],
        "the SHA-256 of each trial.json and deployment.json, and of the user's own files, when the run ended; empty before",
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One cell, one release, one repetition, one seed. A baseline belongs to the trials of its deployment's injection."""

    trial: Annotated[str, "its name, which is its folder's"]
    incident: Annotated[str, "the scenario's name"]
    arm: Annotated[str, "the arm's name"]
    params: Annotated[Mapping[str, ParameterValue], "the cell's parameters"]
    release: Annotated[str, "the cluster's release"]
    client: Annotated[str, "the client library and its release"]
    backend: Annotated[str, "how its cluster was started"]
    injection: Annotated[str, "how its fault was made; none where it has none"]
    deployment: Annotated[str, "the cluster that it ran on"]
    repetition: Annotated[int, "the number of the repetition of its cell, from 1"]
    seed: Annotated[int, "from which its load is drawn"]
    topic: Annotated[str, "the topic of its load"]
    groups: Annotated[tuple[str, ...], "its consumer groups"] = ()
    live_conf: Annotated[Mapping[str, str], "broker settings that were changed while the broker ran"] = field(
        default_factory=dict
    )
    faults: Annotated[
        tuple[str, ...], "steps of the arm, or faults of a load; their events have the numbers 1 and on"
    ] = ()
    status: Annotated[TrialStatus, "how it stands"] = "planned"
    error: Annotated[str, "why it failed"] = ""
    attempt: Annotated[int, "the number of the attempt, from 1"] = 1
    superseded_by: Annotated[str, "the trial that repeats it, since it was too noisy"] = ""
    chosen_injection: Annotated[str, "the injection of its deployment, where its incident offers several"] = ""
    experiment: Annotated[str, "the hash of what decides what happens in it; trials of one hash are one series"] = ""
    run: Annotated[str, "the run's id"] = ""
    files: Annotated[Mapping[str, SealedFile], "its evidence when it ended, by the files' places in its folder"] = (
        field(default_factory=dict)
    )
    took: Annotated[
        Mapping[str, float],
        "what it took, which later plans learn from: seconds from up to down, boot_s of its deployment, cpu_s of its clients "
        "and its part of the nodes, wait_s that their threads waited for a core, and the most private memory of its clients "
        "and of all nodes (clients_mb, nodes_mb); empty where it failed",
    ] = field(default_factory=dict)

    @property
    def java_release(self) -> str:
        """Of its Java clients: that of its client, or of the brokers where other clients send and Java's only read."""
        return self.client.removeprefix("java ") if self.client.startswith("java ") else self.release


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """One name server or broker of a deployment."""

    name: Annotated[str, "broker-a, broker-a-slave-1, namesrv-1"]
    kind: Annotated[Literal["broker", "namesrv"], "what it is"]
    role: Annotated[str, "MASTER, SLAVE or empty"]
    address: Annotated[str, "host and port"]
    pid: Annotated[int | None, "its process, where it has one on this host"]
    release: Annotated[
        str, "RocketMQ's release when it came up; a trial's restart events say of which it is from then on"
    ] = ""


@dataclass(frozen=True, kw_only=True)
class DeploymentRecord:
    """One cluster that was up."""

    deployment: Annotated[str, "its name, which is its folder's"]
    incident: Annotated[str, "the scenario's name"]
    release: Annotated[str, "RocketMQ's release"]
    index: Annotated[int, "the number of the deployment of its scenario and release"]
    topology: Annotated[Mapping[str, str | int], "how many nodes of each kind"]
    logging: Annotated[Literal["lab", "stock"], "the lab's log layout, or the release's own"]
    log_zone: Annotated[str, "the zone of its log lines, such as UTC or GMT+8"]
    nodes: Annotated[tuple[NodeRecord, ...], "name servers and brokers"] = ()
    settings: Annotated[
        Mapping[str, Mapping[str, str]],
        "conf, properties and environment of BrokerSettings; the user's own, which the scenario's win over: user_conf, "
        "user_properties of the brokers' JVMs, user_client",
    ] = field(default_factory=dict)
    overrides: Annotated[
        tuple[str, ...],
        "settings of the user that the lab, the incident or its load changed, as PREFIX.KEY: value -> used; or left out, and why",
    ] = ()
    refused: Annotated[
        tuple[str, ...],
        "what nodes wanted outside of the cluster and were not let, as NODE: connect (or listen) ADDRESS:PORT",
    ] = ()
    store: Annotated[str, "on what its store lies"] = "folder"
    jvm: Annotated[tuple[str, ...], "options of the brokers' JVMs beside the lab's"] = ()
    timer_slack_ms: Annotated[float, "how late timers of the brokers may be"] = 0.0
    run: Annotated[str, "the run's id"] = ""
    identity: Annotated[
        Mapping[str, str],
        "what no other deployment has: a token drawn at its boot, the host's boot id, and when each node's process began",
    ] = field(default_factory=dict)
    ended: Annotated[bool, "whether all of its nodes have ended, and its files are sealed"] = False
    files: Annotated[Mapping[str, SealedFile], "its nodes' files when it ended, by their places in its folder"] = field(
        default_factory=dict
    )

    @property
    def conf(self) -> Mapping[str, str]:
        """What its brokers read from their broker.conf."""
        return self.settings.get("conf", {})

    @property
    def user(self) -> UserSettings:
        """The user's own settings."""
        return UserSettings(
            broker=self.settings.get("user_conf", {}),
            broker_jvm=self.settings.get("user_properties", {}),
            client=self.settings.get("user_client", {}),
        )

    @property
    def started_conf(self) -> Mapping[str, str]:
        """Both; the scenario's win over the user's, of which those that the lab changed are not among them."""
        return {**self._as_set("broker", self.user.broker), **self.conf}

    @property
    def properties(self) -> Mapping[str, str]:
        """The system properties that the scenario gives its brokers' JVMs."""
        return self.settings.get("properties", {})

    @property
    def started_properties(self) -> Mapping[str, str]:
        """Those and the user's; the scenario's win."""
        return {**self._as_set("broker-jvm", self.user.broker_jvm), **self.properties}

    def _as_set(self, prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
        changed = {change.partition(":")[0] for change in self.overrides}
        return {key: value for key, value in settings.items() if f"{prefix}.{key}" not in changed}


def is_zone(text: str) -> bool:
    """Whether log lines may be of that zone: UTC, GMT, or either with an offset of up to 18 hours, as Java has them."""
    return _ZONE.fullmatch(text) is not None


def read_manifest(run_path: Path) -> Manifest:
    """Raises RunDirectoryError when this is not a run directory, or one of another schema."""
    if not (run_path / "manifest.json").is_file():
        if (run_path / "trials").is_dir():
            raise RunDirectoryError(
                f"{run_path} has lost its manifest.json, which alone says what the run is and which trials it has",
                advice="Copy manifest.json, or all of the run, again from where it was made.",
            )
        why = "it has no manifest.json" if run_path.is_dir() else "there is no such folder"
        raise RunDirectoryError(
            f"{run_path} is not a run directory: {why}",
            advice="Give the folder that `mqlab verify` named when it started.",
        )
    manifest = read_document(Manifest, run_path / "manifest.json")
    deployments = (begun.deployment for begun in manifest.begun.values())
    require_own_places(
        (*manifest.trials, *manifest.begun, *deployments, *manifest.documents), f"{run_path / 'manifest.json'}"
    )
    return manifest
