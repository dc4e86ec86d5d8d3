from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.rundir.joined import RUN_NAME, join_histories
from harness.rundir.lines import read_records
from tests.lib.runs import Run
from tests.lib.trials import Trial

Part = Callable[..., Path]
TORN = '{"type":"send","started_ns":12'


@pytest.fixture
def part(tmp_path: Path) -> Part:
    """A load's run with the history of one worker, on a machine whose monotonic clock began at another moment."""

    def save(worker: int, *, run_name: str = "one", began_s: int = 0, busy: int = 0) -> Path:
        trial = Trial(name="load", incident="load", arm="baseline", deployment="load", params={RUN_NAME: run_name})
        mono_ns = (1_000 - began_s) * 1_000_000_000
        trial.record(f"producer-{worker}", "anchor", mono_ns=mono_ns, wall_us=1_700_000_000_000_000)
        trial.record(f"producer-{worker}", "threads", parked=0, busy=busy, at_ns=mono_ns + 5)
        trial.event("anchor", process="harness", mono_ns=mono_ns, wall_us=1_700_000_000_000_000)
        trial.tails[f"producer-{worker}"] = TORN
        trial.has_frame = False
        return Run(path=tmp_path / f"{run_name}-{worker}-{busy}", incidents=("load",), trials=[trial]).save()

    return save


def _history(run: Path, worker: int) -> Path:
    return run / "trials" / "load" / "history" / f"producer-{worker}.jsonl"


def test_parts_of_a_load_are_copied_once_and_a_torn_line_stays_torn(part: Part) -> None:
    run, others = part(0), [part(1), part(2)]
    for _ in range(2):
        join_histories(run, others)
        for worker, other in enumerate(others, start=1):
            assert _history(run, worker).read_bytes() == _history(other, worker).read_bytes()
    assert _history(run, 1).read_text().endswith(TORN)
    assert len(list(_history(run, 0).parent.iterdir())) == 3


def test_times_of_another_machine_are_moved_to_the_clock_of_the_runs_own(part: Part) -> None:
    run, other = part(0), part(1, began_s=400)
    join_histories(run, [other])
    moved, own = (
        [[record.get("mono_ns"), record.get("at_ns")] for record in read_records(_history(run, worker)).records]
        for worker in (1, 0)
    )
    assert moved == own


def test_what_is_no_part_of_the_load_is_refused_in_a_sentence(part: Part, tmp_path: Path) -> None:
    run = part(0)
    with pytest.raises(UsageError, match="is no part of the load of"):
        join_histories(run, [part(1, run_name="another")])
    with pytest.raises(UsageError, match="has another producer-0"):
        join_histories(run, [part(0, busy=7)])
    incident = part(1)
    manifest = json.loads((incident / "manifest.json").read_text())
    (incident / "manifest.json").write_text(json.dumps({**manifest, "incidents": ["append-stall"]}))
    with pytest.raises(UsageError, match="is not the run of a load"):
        join_histories(run, [incident])
