"""What is seen of a run: a table that fits a terminal of 80 columns, and lines where there is none."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import scenarios
from harness.host.facts import Host
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.run.display import Display, clock
from harness.run.trial_phases import PHASES


def _plan(*names: str) -> Plan:
    chosen = [scenarios.find(name) for name in names]
    return make_plan(
        Request(scenarios=chosen, releases=["4.6.0", "5.5.0"], budget="quick"), Host(cores=2, memory_mb=20_000)
    )


def _shown(display: Display, *, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    with console.capture() as capture:
        console.print(display.shown())
    return [line.rstrip() for line in capture.get().splitlines()]


def _display(plan: Plan) -> tuple[Display, io.StringIO]:
    out = io.StringIO()
    return Display(Console(file=out, width=80, force_terminal=False), plan), out


def test_the_table_has_a_row_for_what_is_at_work_with_its_rate_and_the_time_that_is_left() -> None:
    plan = _plan("append-stall")
    display, _ = _display(plan)
    (deployment, trial) = next(plan.trials())
    display.phase(deployment.id, "boot")
    display.phase(trial.id, "steady")
    display.rate(trial.id, 498.7)
    title, header, cluster, row = _shown(display)
    assert title.startswith(f"{len(list(plan.trials()))} trials: none yet; about ")
    assert header.split() == ["incident", "release", "arm", "phase", "sends/s", "left"]
    assert cluster.split() == ["append-stall", deployment.release, "(cluster)", "boot", clock(deployment.boot_s)]
    assert row.startswith(f"append-stall {deployment.release}   {trial.arm.name} "[:45])
    assert row.split()[-3:] == ["steady", "499", clock(trial.cost.seconds)]
    display.ended(trial.id, "complete", "")
    display.ended(deployment.id, "down", "")
    title, header = _shown(display)
    assert "1 complete" in title


@pytest.mark.parametrize("name", [scenario.name for scenario in scenarios.ALL])
def test_the_table_fits_80_columns_whatever_runs(name: str) -> None:
    plan = _plan(name)
    display, _ = _display(plan)
    for deployment, trial in plan.trials():
        display.phase(deployment.id, "boot")
        display.phase(trial.id, "recover")
        display.rate(trial.id, 12345.6)
    assert max(map(len, _shown(display, width=200))) <= 80
    rows = _shown(display)[2:]
    # What tells one row from another is not what is cut off: the header's words stand whole, and so do the releases.
    assert all(any(release in row for release in ("4.6.0", "5.5.0")) for row in rows)
    assert all("recover" in row or "boot" in row for row in rows)


def test_a_repetition_is_shown_as_its_trial() -> None:
    plan = _plan("append-stall")
    display, _ = _display(plan)
    trial = next(trial for _, trial in plan.trials())
    display.phase(f"{trial.id}.a2", "hold")
    assert _shown(display)[-1].startswith("append-stall")


def test_without_a_terminal_long_trials_have_a_line_a_phase_and_short_ones_one_for_the_fault() -> None:
    plan = _plan("append-stall", "ordered-lock-handover")
    display, out = _display(plan)
    long, short = (
        next(trial.id for one, trial in plan.trials() if one.scenario.name == name)
        for name in ("ordered-lock-handover", "append-stall")
    )
    for trial in (long, short):
        for phase in PHASES:
            display.phase(trial, phase)
        display.ended(trial, "complete", "")
    lines = [line.partition("] ")[2] for line in out.getvalue().splitlines()]
    assert [line for line in lines if line.startswith(long)] == [f"{long}: {word}" for word in (*PHASES, "complete")]
    assert [line for line in lines if line.startswith(short)] == [f"{short}: inject", f"{short}: complete"]


def test_time_that_nobody_waits_for_is_not_shown() -> None:
    assert (clock(0), clock(61.4), clock(3600), clock(1e9)) == ("0:00", "1:01", "60:00", "")
