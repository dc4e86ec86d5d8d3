"""Logs of real incidents for the tests, packed, a folder an arm and release in ``tests/data/logs``.

``python -m tools.kept_logs RUN_DIR...`` puts there, of each incident and release of a run that is finished, the logs of one
broker that logged as its release does by itself (stock), and those of all nodes and the client of one deployment each of the
incident's arms and its baseline. A folder that is there is left as it is. Where the run lay is taken out of the lines.
"""

import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.paths import PACKAGES
from harness.program import carried_out
from harness.rundir.manifest import DeploymentRecord, TrialRecord
from harness.rundir.reading import RunDirectory, read_run_directory
from tools.kept_lines import fault_of, pack

KEPT = PACKAGES / "tests" / "data" / "logs"
FILES = ("broker.log", "store.log", "lock.log", "filter.log", "remoting.log", "storeerror.log")
"""What an operator looks at; the other files hold nothing of any incident."""
OF_ALL_NODES = frozenset({*FILES, "namesrv.log", "rocketmq_client.log"})
BASELINE, INCIDENT = "baseline", "incident"
PLACE = "/srv/run"
PACKED_BYTES_MAX = 60_000


def stock_folders(kept: Path = KEPT) -> list[str]:
    """Those of one broker, whose files lie in the folder itself."""
    return sorted({path.parent.name for path in kept.glob("*/*.gz")})


def arm_folders(kept: Path = KEPT) -> list[str]:
    """Those of an arm, which have a folder a node."""
    return sorted({path.parent.parent.name for path in kept.glob("*/*/*.gz")})


def stock_deployments(run: RunDirectory) -> Iterator[DeploymentRecord]:
    """The first of each incident and release whose brokers logged as the release does by itself."""
    seen = set()
    for one in run.deployments:
        of = (one.incident, one.release)
        if one.logging == "stock" and of not in seen:
            seen.add(of)
            yield one


def arm_trials(run: RunDirectory) -> Iterator[TrialRecord]:
    """The first complete trial of each incident arm and baseline, by release, whose deployment is of that arm's trials alone.

    A baseline may be told from its incident only where it had a cluster of its own.
    """
    arms: dict[str, set[str]] = {}
    for one in run.trials:
        arms.setdefault(one.deployment, set()).add(one.arm)
    seen = set()
    for one in run.trials:
        deployment = run.deployment(one.deployment)
        of = (one.incident, one.release, one.arm)
        wanted = one.arm == BASELINE or one.arm.split("-")[0] == INCIDENT
        alone = one.arm != BASELINE or arms[one.deployment] == {BASELINE}
        if (
            wanted and alone and of not in seen and one.status == "complete"
            and deployment is not None and deployment.logging == "lab"
        ):  # fmt: skip
            seen.add(of)
            yield one


def folder_name(one: TrialRecord) -> str:
    """The incident, what the arm's name has beside ``incident``, and the release."""
    arm = one.arm.removeprefix(INCIDENT).strip("-")
    return "-".join(part for part in (one.incident, arm, one.release) if part)


def keep(run: RunDirectory, one: DeploymentRecord, into: Path) -> list[Path]:
    """Pack the logs of its first broker. The files that were written; none where they are too large or there already."""
    folder = into / f"{one.incident}-{one.release}"
    broker = next(node for node in one.nodes if node.kind == "broker")
    logs = run.path / "deployments" / one.deployment / "nodes" / broker.name / "logs"
    found = sorted(path for path in logs.rglob("*.log") if path.name in FILES and path.stat().st_size)
    packed = {Path(f"{path.name}.gz"): gzip.compress(_without_place(run, path), mtime=0) for path in found}
    if folder.exists() or sum(map(len, packed.values())) > PACKED_BYTES_MAX:
        return []
    return _write(folder, packed)


def keep_arm(run: RunDirectory, one: TrialRecord, into: Path) -> tuple[list[Path], float | None]:
    """Pack the logs of all nodes of its deployment and of its client, a folder each.

    The files that were written, none where they are too large or there already, and the seconds around the fault that are whole,
    None where all is.
    """
    folder = into / folder_name(one)
    if folder.exists():
        return [], None
    nodes, clients = run.path / "deployments" / one.deployment / "nodes", run.path / "trials" / one.trial / "clients"
    found = sorted([*nodes.glob("*/logs/**/*.log"), *clients.glob("*/*.log")])
    texts: dict[Path, bytes] = {}
    for path in found:
        if path.name in OF_ALL_NODES and path.stat().st_size:
            node = path.relative_to(nodes if path.is_relative_to(nodes) else clients).parts[0]
            texts[Path(node) / f"{path.name}.gz"] = _without_place(run, path)
    packed, around_s = pack(texts, fault_of(run.path / "trials" / one.trial / "events.jsonl"), PACKED_BYTES_MAX)
    return _write(folder, packed), around_s


def _without_place(run: RunDirectory, path: Path) -> bytes:
    return path.read_bytes().replace(str(run.path.absolute()).encode(), PLACE.encode())


def _write(folder: Path, packed: dict[Path, bytes]) -> list[Path]:
    for name, data in packed.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return [folder / name for name in packed]


def main(runs: Sequence[str]) -> int:
    """Keep those of these runs."""
    for name in runs:
        run = read_run_directory(Path(name))
        for deployment in stock_deployments(run):
            for path in keep(run, deployment, KEPT):
                print(path.relative_to(PACKAGES))
        for trial in arm_trials(run):
            paths, around_s = keep_arm(run, trial, KEPT)
            what = "whole" if around_s is None else f"whole for {around_s:g} s before and after the fault"
            if paths:
                print(f"{paths[0].parent.parent.relative_to(PACKAGES)}: {len(paths)} files, {what}")
    return 0


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "tools.kept_logs RUN_DIR..."))
