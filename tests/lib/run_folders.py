"""A folder of runs as `mqlab runs serve` finds one: analysed, running, broken, and with a name that means harm."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

from mqlab.run.serve import make_server
from tests.lib.samples import sample, write_document

HOSTILE = "<script>window.ran=1<"


def write_run(folder: Path, name: str, *, status: str = "complete", trials: dict[str, str] | None = None) -> Path:
    """A run's manifest and its trials' states."""
    run = folder / name
    run.mkdir(parents=True)
    manifest = {
        **sample()["manifest"],
        "schema": 1,
        "run": name.encode(errors="replace").decode(),
        "status": status,
        "trials": list(trials or ()),
    }
    (run / "manifest.json").write_text(json.dumps(manifest))
    for trial, state in (trials or {}).items():
        (run / "trials" / trial).mkdir(parents=True)
        (run / "trials" / trial / "trial.json").write_text(json.dumps({"status": state}))
    return run


def make_runs(folder: Path) -> Path:
    """Two that are analysed, which differ in one claim, one that runs, one of a hostile name and one that is broken."""
    first, second = sample(), sample()
    changed = next(one for one in second["findings"] if one["claim"] == "ORDER-06")
    changed.update(verdict="undecided", reason="too noisy", summary=HOSTILE)
    write_document(write_run(folder, "one"), first)
    write_document(write_run(folder, "two"), second)
    (folder / "one" / "report.html").write_text("<p>the report of one</p>")
    write_run(folder, "running", status="running", trials={"a": "complete", "b": "running"})
    write_run(folder, HOSTILE)
    (folder / "broken").mkdir()
    (folder / "broken" / "manifest.json").write_text("{")
    (folder / "secret.txt").write_text("not a run")
    return folder


@contextlib.contextmanager
def serving(runs: Path) -> Iterator[int]:
    """``mqlab runs serve`` of that folder in a thread of this process; its port."""
    with make_server(runs, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
