"""The table of compose/README.md: what the plan says of every arm with ``--backend compose``, and at which commit it ran.

``python -m tools.container_table RUN_DIR...`` writes it anew; what a run directory has no arm of keeps its commit.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import scenarios
from harness.backends.abilities import COMPOSE
from harness.faults.injections import needs_of, ways_of, why_not
from harness.host.abilities import Abilities
from harness.model.scenario import Arm
from harness.paths import PACKAGES
from harness.program import carried_out
from harness.rundir.reading import read_run_directory

DOCUMENT = PACKAGES / "compose" / "README.md"
RELEASE = "5.3.3"
"""The one that its arms are run on; what is of other releases alone, on one of these."""

HEAD = ("| incident | arm | asks of the backend | in containers |", "|---|---|---|---|")
ABLE = Abilities(
    root=True, loop_devices=True, file_systems=frozenset({"ext4", "xfs"}), tools=frozenset({"iptables", "tc"}),
    cgroup="v1", firewall=True, delay=True,
)  # fmt: skip
"""A host that lacks nothing, so that only what the backend lacks is told."""

Commits = Mapping[tuple[str, str], str]
"""Of the runs that ended, by incident and arm; with the release where it is another one."""


def table(ran: Commits) -> list[str]:
    """The lines of the table."""
    return [*HEAD, *_rows(ran)]


def _rows(ran: Commits) -> Iterator[str]:
    for scenario in scenarios.ALL:
        for arm in scenario.arms:
            needs = needs_of(arm.fault, ways_of(arm.fault)[0], arm.broker)
            words = ", ".join(sorted(need.name.lower().replace("_", " ") for need in needs))
            reason = why_not(arm, COMPOSE, ABLE)
            commit = ran.get((scenario.name, arm.name))
            said = f"cannot: {reason}" if reason else f"ran, {commit}" if commit else _not_run(arm)
            yield f"| {scenario.name} | {arm.name} | {words} | {said} |"


def _not_run(arm: Arm) -> str:
    if arm.releases and RELEASE not in arm.releases:
        return f"no arm of {RELEASE}, only of {', '.join(arm.releases)}"
    return f"stands in for {arm.stands_in_for}" if arm.stands_in_for else "not run yet"


def committed() -> tuple[list[str], Commits]:
    """The lines of the committed table, and the commits that it tells."""
    lines = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| ")]
    lines = [HEAD[0], HEAD[1], *lines[1:]] if lines else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return lines, {(one[0], one[1]): one[3].removeprefix("ran, ") for one in cells if one[3].startswith("ran, ")}


def arms_that_ran(run: Path) -> Commits:
    """Those arms of a run in containers all of whose trials ended, with the run's commit."""
    found = read_run_directory(run)
    ended = {one.trial for one in found.trials if one.status == "complete" and one.backend == COMPOSE}
    ran = {}
    for one in found.trials:
        planned = {
            name for name in found.manifest.trials if name.startswith(f"{one.incident}.{one.release}.{one.arm}.")
        }
        if planned <= ended:
            where = "" if one.release == RELEASE else f" on {one.release}"
            ran[one.incident, one.arm] = f"{found.manifest.commit[:7]}{where}"
    return ran


def main(runs: list[str]) -> None:
    """Write the table into the document."""
    lines, ran = committed()
    found = {**ran, **{key: commit for run in runs for key, commit in arms_that_ran(Path(run)).items()}}
    text = DOCUMENT.read_text("utf-8")
    DOCUMENT.write_text(text.replace("\n".join(lines), "\n".join(table(found))), "utf-8")


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "tools.container_table [RUN_DIR...]", least=0))
