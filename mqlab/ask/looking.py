"""What there is to run, and what this host can do."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

import scenarios
from harness.errors import (
    EXIT_OK,
    EXIT_USAGE,
)
from harness.faults.injections import INJECTIONS, why_not_made
from harness.host.abilities import Abilities
from harness.language import phrase, translated
from harness.model.cluster import BrokerSettings
from harness.model.findings import Finding
from harness.model.incident import NOTHING_REPLAYS, REPOSITORY, Incident
from harness.model.measures import MEASURES
from harness.model.scenario import Scenario
from harness.model.timed_faults import ALIASES, LIBRARY, LibraryFault
from harness.releases.compile import RECORDER_SOURCES, RULE_SOURCES, compiled_classes
from harness.releases.jars import TOOLS, ensure_jars, recorded_releases
from harness.releases.java import Java, find_java
from harness.run import doctor
from harness.trial import Injection
from mqlab import needs
from mqlab.ask.carried import ledger_on, unknown_on
from mqlab.ask.recorded import measured_on_defaults
from mqlab.console import console as lab_console
from mqlab.options import Adder, add_releases, print_json
from mqlab.own.own_incident import known_incidents


def add_commands(add: Adder) -> None:
    """``doctor`` and ``cluster fetch``."""
    command = add("doctor", show_doctor, "what this host can do, and how to get what is missing")
    command.add_argument("--fetch", action="store_true", help="bring the packages that runs need and answers do not")
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add(
        "cluster fetch", fetch, "bring releases into the cache and compile what is ours (verify does so by itself)"
    )
    add_releases(command, "all that are recorded")


def list_incidents(options: argparse.Namespace, console: Console) -> int:
    """Every incident, or some with their arms and claims and with what the record says of them."""
    chosen = known_incidents(options.incidents) or scenarios.INCIDENTS
    if not options.incidents and not options.json:
        return _list_names()
    if options.json:
        print_json(
            [
                {
                    "incident": incident.name,
                    "title": incident.title,
                    "symptom": incident.symptom,
                    "threads": incident.threads,
                    "in_logs": incident.sign.because if incident.sign else "",
                    "not_in_logs": incident.no_sign,
                    "advice": incident.advice,
                    "cures": incident.cures,
                    "replayed": incident.is_replayed,
                    "arms": {arm.name: arm.what for arm in incident.arms} if isinstance(incident, Scenario) else {},
                    "claims": {one.id: one.says for one in incident.claims} if isinstance(incident, Scenario) else {},
                    "no_expectation": without_expectation(incident) if isinstance(incident, Scenario) else {},
                    "measured": [
                        {**dataclasses.asdict(line), "provenance": line.provenance}
                        for line in _recorded(incident, options)
                    ],
                }
                for incident in chosen
            ]
        )
        return EXIT_OK
    out = lab_console()
    for incident in chosen:
        article = f" ({escape(incident.article)})" if incident.article else ""
        out.print(f"[bold]{incident.name}[/bold]  {escape(incident.title)}{article}", highlight=False)
        for said in _said_of(incident):
            out.print(f"  {said}", highlight=False, markup=False)
        for line in _recorded(incident, options):
            out.print(f"\n  {line.claim} on {line.release}: {line.status}. {line.says}", highlight=False, markup=False)
            out.print(f"    {line.provenance or 'measured'}: {line.summary}", highlight=False, markup=False)
        if isinstance(incident, Scenario):
            for claim, release, why in unknown_on(options.release, incident):
                out.print(f"\n  {claim} on {release}: unknown. {why}", highlight=False, markup=False)
        out.print()
    return EXIT_OK


def _list_names() -> int:
    """A line an incident: first those that are replayed, then those that logs or an audit show and nothing replays."""
    out = lab_console()
    replayed = [one for one in scenarios.INCIDENTS if isinstance(one, Scenario)]
    others = [one for one in scenarios.INCIDENTS if not isinstance(one, Scenario)]
    width = max(len(one.name) for one in scenarios.INCIDENTS)
    for title, incidents in (
        (phrase("replayed on a cluster"), replayed),
        (phrase("known by logs and reports; nothing replays them"), others),
    ):
        out.print(f"{translated(title)} ({len(incidents)})", style="bold", highlight=False)
        for one in incidents:
            article = f" ({one.article})" if one.article else ""
            out.print(
                f"  {one.name:<{width}}  {translated(one.title)}{article}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
        out.print()
    out.print(
        translated(
            "`mqlab explain INCIDENT` says what to do; with --record, its arms and claims, and what was measured on each "
            "release. A1 to A5 are the five articles.",
        ),
        highlight=False,
        soft_wrap=True,
    )
    return EXIT_OK


def _said_of(incident: Incident) -> Iterator[str]:
    """What happens, how it is replayed, where it was reported, what logs have of it, and what to do."""
    if incident.summary:
        yield incident.summary
    if isinstance(incident, Scenario):
        yield from (f"{arm.name}: {arm.what}" for arm in incident.arms)
        yield f"claims: {', '.join(claim.id for claim in incident.claims)}"
        for release, claims in without_expectation(incident).items():
            yield f"no expectation for {release}: {', '.join(claims)}"
    else:
        yield f"{NOTHING_REPLAYS} it"
    if incident.symptom:
        yield f"users see: {incident.symptom}"
    if incident.threads:
        yield f"reported: {', '.join(f'{REPOSITORY}/{thread}' for thread in incident.threads)}"
    if incident.sign or incident.no_sign:
        yield f"in logs: {incident.sign.because if incident.sign else incident.no_sign}"
    if incident.advice:
        yield f"what to do: {incident.advice}"


def _recorded(incident: Incident, options: argparse.Namespace) -> list[Finding]:
    """What the record has of an incident's claims on the releases that were asked for, when incidents are named."""
    if not options.incidents:
        return []
    return [
        line
        for line in measured_on_defaults(ledger_on(*options.release))
        if line.incident == incident.name and (not options.release or line.release in options.release)
    ]


def without_expectation(scenario: Scenario) -> dict[str, list[str]]:
    """The claims of a known release that state nothing of it, by release; they are judged there all the same.

    An incident that states no expectation at all lacks none.
    """
    if not any(claim.expected for claim in scenario.claims):
        return {}
    found = {
        release: [
            claim.id for claim in scenario.claims if release not in claim.expected and scenario.asks(claim, release)
        ]
        for release in recorded_releases()
    }
    return {release: claims for release, claims in found.items() if claims}


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to make a fault: what it asks of the host, and why it cannot be made on this one."""

    name: str
    asks: str
    not_here: str | None


@dataclass(frozen=True, kw_only=True)
class FaultSaid:
    """A fault of the library, in words."""

    fault: str
    what: str
    parameters: tuple[str, ...]
    by: tuple[Way, ...]


def _fault_said(one: LibraryFault) -> FaultSaid:
    def why_not(injection: Injection[Any]) -> str | None:
        return why_not_made(one.fault, injection, BrokerSettings(), "local", Abilities.of_this_host())

    return FaultSaid(
        fault=one.name,
        what=_first_sentence(one.fault.__doc__ or ""),
        parameters=tuple(map(str, one.parameters)),
        by=tuple(Way(name=way.name, asks=way.asks, not_here=why_not(way)) for way in INJECTIONS[one.fault]),
    )


def _first_sentence(text: str) -> str:
    """Of a docstring, with a person's quotes. In an incident a parameter may be its cell's, which a load has not."""
    first, _, _ = " ".join(text.split()).partition(". ")
    plain = re.sub(
        r" \((?:a cell's parameter|of the cell)\)|of the cell; |(?<=the )cell's ", "", first.replace("``", "'")
    )
    return f"{plain.rstrip('.')}."


def list_faults(options: argparse.Namespace) -> int:
    """Every fault with its parameters, what each way of making it asks of the host, and whether this host can."""
    found = list(map(_fault_said, LIBRARY.values()))
    if options.json:
        print_json(list(map(dataclasses.asdict, found)))
        return EXIT_OK
    out = lab_console()
    for fault in found:
        out.print(f"[bold]{fault.fault}[/bold]  {escape(', '.join(fault.parameters))}".rstrip(), highlight=False)
        out.print(f"  {fault.what}", highlight=False, markup=False)
        for way in fault.by:
            asks = f", which asks for {way.asks}" if way.asks else ""
            here = f"; not here: {way.not_here}" if way.not_here else ""
            out.print(f"  by {way.name}{asks}{here}", highlight=False, markup=False)
    aliases = ", ".join(f"{alias} is {name}" for alias, name in ALIASES.items())
    out.print(f"\n--fault NAME[:VALUE[,KEY=VALUE...]]@TIME; {aliases}; owners are a load's consumers.", highlight=False)
    return EXIT_OK


def list_measures(options: argparse.Namespace) -> int:
    """Every measure with its unit, what a try of it is, one sentence, and the loads and faults that it is of."""
    if options.json:
        print_json(
            [
                {
                    "measure": one.name,
                    "unit": one.unit,
                    "try": one.independent.name,
                    "says": one.says,
                    "better": one.better,
                    "loads": [load.__name__ for load in one.loads],
                    "faults": [fault.__name__ for fault in one.faults],
                }
                for one in MEASURES.values()
            ]
        )
        return EXIT_OK
    for one in MEASURES.values():
        unit = f" ({one.unit})" if one.unit else ""
        print(f"{one.name}{unit}, a try is {_one_of(one.independent.name)}\n  {one.says}")
        of = {"loads": one.loads, "faults": one.faults}
        told = (f"{what}: {', '.join(kind.__name__ for kind in kinds)}" for what, kinds in of.items() if kinds)
        print(*(f"  {line}" for line in told), sep="\n", end="\n" if any(of.values()) else "")
    return EXIT_OK


def _one_of(noun: str) -> str:
    if noun.startswith("what "):
        return noun
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def show_doctor(options: argparse.Namespace, console: Console) -> int:
    """What this host can do; fails where something that every run needs is missing."""
    if options.fetch:
        needs.bring(console)
    if lack := needs.what_is_missing():
        advice = "`mqlab doctor --fetch` brings them, and so does the first command that needs them; the rest is looked at then."
        checks: Sequence[doctor.Check] = [doctor.Check(name="packages for runs", ok=False, found=lack, advice=advice)]
        runnable: Sequence[doctor.Runnable] = []
    else:
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
        out = lab_console()
        for check in checks:
            mark = {True: "ok ", False: "NO ", None: "-  "}[check.ok]
            out.print(f"{mark} {check.name}: {check.found}", markup=False, highlight=False)
            if check.advice:
                out.print(f"    {check.advice}", markup=False, highlight=False)
        if runnable:
            out.print("\nincidents that can run here:", highlight=False)
        for one in runnable:
            by = f"; by {', '.join(one.injections)}" if one.injections else ""
            out.print(f"    {one.incident} (--backend {' or '.join(one.backends)}{by})", markup=False, highlight=False)
            for reason in one.without:
                out.print(f"        not by {reason}", markup=False, highlight=False)
    return EXIT_USAGE if any(check.ok is False for check in checks) else EXIT_OK


def fetch(options: argparse.Namespace, console: Console) -> int:
    """Bring releases into the cache."""
    prepare(find_java(), options.release or recorded_releases(), console)
    return EXIT_OK


def prepare(java: Java, releases: Sequence[str], console: Console) -> None:
    """Bring jars into the cache and compile our classes, so that no trial waits for either."""

    def say(text: str) -> None:
        console.print(text, highlight=False)

    compiled_classes(RULE_SOURCES, ensure_jars(TOOLS, progress=say), java)
    for release in releases:
        compiled_classes(RECORDER_SOURCES, ensure_jars(release, progress=say), java)
