"""A neighbour fills the page cache with dirty pages of the store's own file system, or of the disk that it lies on."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ClientError
from harness.faults.targets import node_of
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.model.faults import DirtyPages
from harness.paths import isolated
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

END_S_MAX = 60.0
"""A write that waits for the disk may take long to end."""


class DirtyByNeighbour(Injection[DirtyPages]):
    """A process of its own, bounded in bytes and in time."""

    name = "neighbour"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Start the neighbour."""
        node = node_of(trial, self.fault.node)
        folder = node.store.mountpoint if node.store else trial.cluster.folder
        neighbour = start_neighbour(trial.leases, folder, file_mb=self.fault.file_mb, seconds=self.fault.seconds_max)
        asked = f"a file of {self.fault.file_mb} MiB rewritten for at most {self.fault.seconds_max:g} s"
        return Injected(target=str(folder), detail=asked, held=neighbour)


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A neighbour that writes."""

    process: LeasedProcess
    file_bytes: int

    def end(self) -> Healed:
        """End it; one that did not write its file once did not bite."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()
            self.process.wait(END_S_MAX)
            words = self.process.stdout.readline().split()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClientError(f"the neighbour did not end: {error}") from error
        finally:
            self.process.release()
            self.process.stdout.close()
        if len(words) != 2:
            raise ClientError("the neighbour ended without saying what it wrote")
        written, dirty = int(words[0]), int(words[1])
        achieved = f"{written / 2**20:.0f} MiB written, at most {dirty / 2**20:.0f} MiB dirty on this machine"
        return Healed(achieved=achieved, exercised=written >= self.file_bytes)


def start_neighbour(leases: Leases, folder: Path, *, file_mb: int, seconds: float, rate_bps: int = 0) -> Neighbour:
    """Start writing to ``folder``'s file system; the file has no name and at most ``file_mb`` mebibytes."""
    argv = isolated("harness.faults.programs.page_cache_writer")
    process = leases.spawn(
        [*argv, str(folder), str(file_mb * 2**20), str(rate_bps), str(seconds)],
        name="neighbour that writes",
        until_s=seconds + END_S_MAX,
        env={"LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    return Neighbour(process=process, file_bytes=file_mb * 2**20)


INJECTIONS: Injections = {DirtyPages: DirtyByNeighbour}
