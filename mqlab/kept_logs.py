"""Logs of real incidents for the tests: of each incident and release that a run had with the release's own logging.

``python -m mqlab.kept_logs RUN_DIR...`` puts those of one broker into ``tests/data/logs``, packed, a folder an incident and
release; a folder that is there is left as it is. Where the run lay is taken out of their lines.
"""

import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.paths import PACKAGES
from harness.rundir.manifest import DeploymentRecord
from harness.rundir.reading import RunDirectory, read_run_directory

KEPT = PACKAGES / "tests" / "data" / "logs"
FILES = ("broker.log", "store.log", "lock.log", "filter.log", "remoting.log", "storeerror.log")
"""What an operator looks at; the other files hold nothing of any incident."""
PLACE = "/srv/run"
PACKED_BYTES_MAX = 60_000


def stock_deployments(run: RunDirectory) -> Iterator[DeploymentRecord]:
    """The first of each incident and release whose brokers logged as the release does by itself."""
    seen = set()
    for one in run.deployments:
        of = (one.incident, one.release)
        if one.logging == "stock" and of not in seen:
            seen.add(of)
            yield one


def keep(run: RunDirectory, one: DeploymentRecord, into: Path) -> list[Path]:
    """Pack the logs of its first broker. The files that were written; none where they are too large or there already."""
    folder = into / f"{one.incident}-{one.release}"
    broker = next(node for node in one.nodes if node.kind == "broker")
    logs = run.path / "deployments" / one.deployment / "nodes" / broker.name / "logs"
    found = sorted(path for path in logs.rglob("*.log") if path.name in FILES and path.stat().st_size)
    texts = {path.name: path.read_bytes().replace(str(run.path.absolute()).encode(), PLACE.encode()) for path in found}
    packed = {f"{name}.gz": gzip.compress(text, mtime=0) for name, text in texts.items()}
    if folder.exists() or sum(map(len, packed.values())) > PACKED_BYTES_MAX:
        return []
    folder.mkdir(parents=True)
    for name, data in packed.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in packed]


def main(runs: Sequence[str]) -> int:
    """Keep those of these runs."""
    for name in runs:
        run = read_run_directory(Path(name))
        for one in stock_deployments(run):
            for path in keep(run, one, KEPT):
                print(path.relative_to(PACKAGES))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
