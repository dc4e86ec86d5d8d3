"""What the documents show of runs on clusters: the same figures, given to what prints them, come out line by line."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mqlab.run.hold
import scenarios
from analysis.report.document import Distribution
from analysis.report.one_trial import trial_lines
from analysis.report.replayed import compared
from analysis.report.sweep import SweepResult, lines, of_release
from analysis.report.terminal import summary_lines
from analysis.stall_model.model import Stall, predict
from analysis.verdicts.claims import judge
from analysis.verdicts.tries import Tries, Try
from harness.errors import EXIT_OK, Interrupted
from harness.model.findings import Finding
from harness.model.sweep import Point, Sweep
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.releases.java import Java
from mqlab.main import main
from mqlab.own.own_incident import TEMPLATE, read_incident
from mqlab.run.hold import Hold
from tests.lib.histories import History, tries_in
from tests.lib.samples import counted


def _block(document: str, begin: str) -> list[str]:
    """The lines of the block that has this one, from it on."""
    text = (PACKAGES / "docs" / document).read_text("utf-8")
    (found,) = (one for one in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if begin in one)
    return cast(str, found[found.index(begin) :]).splitlines()


def _is_shown(line: str, printed: Iterable[str]) -> bool:
    """Three dots stand for whatever is left out."""
    pattern = re.compile(".*".join(re.escape(part) for part in _plain(line).split("...")))
    return any(pattern.fullmatch(_plain(one)) for one in printed)


def _plain(line: str) -> str:
    """With one space where there is one of any width, or several."""
    return " ".join(line.split())


# --- reproduce ------------------------------------------------------------------------------------------------------------

TYPED = "$ mqlab reproduce append-stall --param stall_ms=900 --param rate_hz=300"
CELL = {"stall_ms": 900, "rate_hz": 300}
MEASURED: Sequence[tuple[str, str, str, Sequence[float]]] = (
    ("append_in_lock_ms", "ms", "", (905.0,)),
    ("first_rejected_after_ms", "ms", "TIMEOUT_CLEAN_QUEUE", (429.0,)),
    ("first_rejected_after_ms", "ms", "any", (429.0,)),
    ("period_in_queue_ms", "ms", "TIMEOUT_CLEAN_QUEUE", (400.0, *[500.0] * 147, 733.0)),
    ("rejected_count", "", "TIMEOUT_CLEAN_QUEUE", (149.0,)),
    ("rejected_count", "", "any", (149.0,)),
    *(("rejected_count", "", keyword, (0.0,)) for keyword in ("OVERLOAD", "PCBUSY_CLEAN_QUEUE", "REJECTREQUEST")),
)


def test_a_trial_that_is_reproduced_is_planned_and_told_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    command, *shown = _block("reproduce.md", TYPED)
    assert main([*command.removeprefix("$ mqlab ").split(), "--release", "5.5.0", "--plan"]) == EXIT_OK
    planned = " ".join(capsys.readouterr().err.split())
    note = counted(incident="append-stall", arm="incident", cell=CELL, release="5.5.0")
    measured = tuple(
        Distribution(
            incident="append-stall", release="5.5.0", arm="incident", measure=measure, unit=unit, values=tuple(values),
            params=CELL | ({"keyword": keyword} if keyword else {}),
        )
        for measure, unit, keyword, values in MEASURED
    )  # fmt: skip
    told = list(trial_lines(cast(Any, SimpleNamespace(trials=(note,), distributions=measured))))
    before, after = shown[: shown.index("...")], shown[shown.index("...") + 1 :]
    assert len(before) == 2
    assert len(after) == 6
    assert [line for line in before if line not in planned] == []
    assert [line for line in after if line.strip() != "..." and not _is_shown(line, told)] == []


def test_a_hold_says_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _block("reproduce.md", "held just after append-stall is over")
    monkeypatch.setattr(mqlab.run.hold, "ensure_jars", lambda _: ())
    home = tmp_path / "usr" / "lib" / "jvm" / "java-17-openjdk-amd64"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "jstack").write_text("")
    run = tmp_path / "held"
    nodes = [
        SimpleNamespace(name="namesrv-1", kind="namesrv", address="127.0.0.1:25587"),
        SimpleNamespace(name="broker-a", kind="broker", address="127.0.0.1:22336"),
    ]
    said: list[str] = []
    trial: Any = SimpleNamespace(
        arm=SimpleNamespace(fault=scenarios.find("append-stall").arm("incident").fault),
        cluster=SimpleNamespace(
            nodes=nodes, folder=run / "deployments" / "append-stall.4.9.7.incident.d1",
            pid={"namesrv-1": 27794, "broker-a": 27795}.get,
        ),
        record=SimpleNamespace(release="4.9.7", topic="mqlab-append-stall", groups=()),
        directory=SimpleNamespace(path=run / "trials" / "append-stall.4.9.7.incident.stall_ms-900-rate_hz-200.r1"),
        clients=[SimpleNamespace(name="producer", pid=28202, is_running=lambda: True)],
        say=said.append, cancel=threading.Event(),
    )  # fmt: skip
    trial.cancel.set()
    with pytest.raises(Interrupted):
        Hold(5.0, Java(home=home, version="17", source="path"))(trial, False)
    told = said[0].replace(f"{tmp_path}/usr", "/usr").replace(str(tmp_path), "/tmp")
    assert told.splitlines() == shown


SIZE = "size_over_arrivals"


def test_a_replay_is_compared_in_the_words_shown() -> None:
    shown = _block("reproduce.md", "Verdicts as in the bundle")
    verdicts = tuple(
        SimpleNamespace(
            claim=f"C-{number}", incident="append-stall", release="5.5.0", backend="local", injection="byteman",
            verdict=VerdictKind.UNDECIDED,
        )
        for number in range(5)
    )  # fmt: skip

    def run(size: float) -> Any:
        figures = tuple(
            Distribution(
                incident="append-stall", release="5.5.0", arm="incident", measure=measure, unit="", values=(value,),
                params={"stall_ms": 700, "rate_hz": 500},
            )
            for measure, value in [(SIZE, size), *((f"other_{number}", 1.0) for number in range(16))]
        )  # fmt: skip
        return SimpleNamespace(findings=verdicts, distributions=figures, trials=())

    assert [_plain(line) for line in compared(run(-0.915), run(-1.41)).lines()] == shown


# --- tune -----------------------------------------------------------------------------------------------------------------

WAIT = "broker.waitTimeMillsInSendQueue"
GOAL = "rejected_count"
ROUNDS = 12
REFUSED = {
    "100": [94] * 3 + [98] * 3 + [99] * 3 + [102] * 3,
    "200": [47] * 3 + [48] * 6 + [55] * 3,
    **dict.fromkeys(("300", "400", "800"), [0] * ROUNDS),
}
"""Refusals of twelve deployments, whose medians and ranges are those of the sweep that the document shows."""
PREDICTED = {"100": 96.9, "200": 46.8, "300": 0.0, "400": 0.0, "800": 0.0}


def _rows(measure: str, keyword: str = "") -> list[Tries]:
    return [
        Tries(
            trial=f"{wait}-{number}", deployment=f"{number:03}", release="5.5.0", arm=wait, measure=measure,
            cell={"stall_ms": 300, "rate_hz": 500}, params={"keyword": keyword} if keyword else {}, hiccup_ms=0.0,
            tries=(Try.of(f"{wait}-{number}", [(float(value), False)]),),
        )
        for wait, values in REFUSED.items()
        for number, value in enumerate(values)
    ]  # fmt: skip


def test_a_sweep_is_told_as_shown() -> None:
    shown = _block("tune.md", "append-stall on 5.5.0: set ")
    steps = dict(zip(REFUSED, (1, 0, 1, 2, 3), strict=True))
    points = tuple(Point(arm=wait, settings={WAIT: wait}, load={}, steps=step) for wait, step in steps.items())
    sweep = Sweep(incident="append-stall", points=points, goal=GOAL, margin=0.1)
    rows = [*_rows(GOAL, "any"), *_rows("failed_count"), *_rows("rejected_within_1s_max")]
    result = SweepResult(sweep=sweep, deployments_max=24, releases=(of_release(sweep, "5.5.0", rows, PREDICTED),))
    assert shown[-1].startswith("finished in ")
    assert list(lines(result)) == shown[:-1]


@pytest.mark.parametrize("wait", PREDICTED)
def test_what_a_sweep_shows_as_predicted_is_the_models(wait: str) -> None:
    stall = Stall(rate_hz=500, stall_ms=300, wait_ms=float(wait), busy_ms=1000, threads=1)
    # Trials stall a bit longer or shorter than was asked for, of which a millisecond is half a send.
    assert sum(predict(stall).values()) == pytest.approx(PREDICTED[wait], abs=1)


# --- an incident of one's own ---------------------------------------------------------------------------------------------

STALLS: History = {
    "rejected_count baseline keyword=any": [[0]] * 5,
    "rejected_count incident keyword=any": [[120]] * 5,
    "rejected_count fix-wait keyword=any": [[0]] * 5,
}


def test_the_end_of_the_templates_run_is_as_shown(tmp_path: Path) -> None:
    path = tmp_path / "my_incident.py"
    path.write_text(TEMPLATE.read_text("utf-8"), "utf-8")
    rows = tries_in(STALLS)
    found: list[Finding] = []
    for claim in read_incident(path).claims:
        judged = judge(claim, rows, release="5.5.0")
        found += (
            dataclasses.replace(judged, incident="my-incident", injection=injection, expected=None)
            for injection in ("byteman", "freeze")
        )
    told = [_plain(line) for line in summary_lines(found)]
    shown = [_plain(line) for line in _block("own-incident.md", "MINE-01 (byteman)")]
    assert len(shown) == 4
    assert told[:4] == shown
