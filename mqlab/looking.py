"""Commands that look at this host and at what there is to run."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from rich.console import Console

import scenarios
from harness.errors import (
    EXIT_OK,
    EXIT_USAGE,
)
from harness.releases.compile import RECORDER_SOURCES, RULE_SOURCES, compiled_classes
from harness.releases.jars import TOOLS, ensure_jars, known_releases
from harness.releases.java import Java, find_java
from harness.run import doctor
from mqlab.options import Adder, add_releases, chosen_releases, print_json


def add_commands(add: Adder) -> None:
    """``list``, ``doctor`` and ``fetch``."""
    command = add("list", list_incidents, "incidents, their arms and claims")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("doctor", show_doctor, "what this host can do, and how to get what is missing")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add("fetch", fetch, "bring releases into the cache and compile what is ours (verify does so by itself)")
    add_releases(command, "all known")


def list_incidents(options: argparse.Namespace, console: Console) -> int:
    """Every incident with its arms and claims."""
    if options.json:
        print_json(
            [
                {
                    "incident": scenario.name,
                    "title": scenario.title,
                    "arms": {arm.name: arm.what for arm in scenario.arms},
                    "claims": {claim.id: claim.says for claim in scenario.claims},
                }
                for scenario in scenarios.ALL
            ]
        )
        return EXIT_OK
    out = Console()
    for scenario in scenarios.ALL:
        out.print(f"[bold]{scenario.name}[/bold]  {scenario.title} ({scenario.article})", highlight=False)
        out.print(f"  {scenario.summary}", highlight=False)
        for arm in scenario.arms:
            out.print(f"  {arm.name}: {arm.what}", highlight=False, markup=False)
        out.print(f"  claims: {', '.join(claim.id for claim in scenario.claims)}\n", highlight=False)
    return EXIT_OK


def show_doctor(options: argparse.Namespace, console: Console) -> int:
    """What this host can do; fails where something that every run needs is missing."""
    checks = doctor.examine()
    runnable = doctor.what_can_run(scenarios.ALL, checks)
    if options.json:
        print_json(
            {
                "checks": [dataclasses.asdict(check) for check in checks],
                "incidents": [dataclasses.asdict(one) for one in runnable],
            }
        )
    else:
        out = Console()
        for check in checks:
            mark = {True: "ok ", False: "NO ", None: "-  "}[check.ok]
            out.print(f"{mark} {check.name}: {check.found}", markup=False, highlight=False)
            if check.advice:
                out.print(f"    {check.advice}", markup=False, highlight=False)
        out.print("\nincidents that can run here:", highlight=False)
        for one in runnable:
            by = f"; by {', '.join(one.ways)}" if one.ways else ""
            out.print(f"    {one.incident} (--backend {' or '.join(one.backends)}{by})", markup=False, highlight=False)
            for reason in one.without:
                out.print(f"        not by {reason}", markup=False, highlight=False)
    return EXIT_USAGE if any(check.ok is False for check in checks) else EXIT_OK


def fetch(options: argparse.Namespace, console: Console) -> int:
    """Bring releases into the cache."""
    prepare(find_java(), chosen_releases(options.release, known_releases()), console)
    return EXIT_OK


def prepare(java: Java, releases: Sequence[str], console: Console) -> None:
    """Bring jars into the cache and compile our classes, so that no trial waits for either."""

    def say(text: str) -> None:
        console.print(text, highlight=False)

    compiled_classes(RULE_SOURCES, ensure_jars(TOOLS, progress=say), java)
    for release in releases:
        compiled_classes(RECORDER_SOURCES, ensure_jars(release, progress=say), java)
