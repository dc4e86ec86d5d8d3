"""``mqlab diagnose --reproduce``: an incident as the logs show it, written as a file of the user's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import scenarios
from analysis.diagnosis.diagnosis import Diagnosis
from analysis.diagnosis.found import Found, Logs
from analysis.diagnosis.moments import words_of
from analysis.diagnosis.proposal import Shown, shown_of
from analysis.diagnosis.reading import ToRead
from harness.language import phrase, translated
from harness.model.rocketmq import SEND_WAIT, SEND_WAIT_MS
from harness.model.scenario import Scenario
from mqlab.options import write_new
from mqlab.own.own_incident import name_of

RATE_HZ = 500.0
RATE_MAX, STALL_MS_MAX = 5_000.0, 60_000
NODES_MAX, GROUPS_MAX = 3, 8
"""Nodes of a kind, and groups, that a laptop bears."""


@dataclass(kw_only=True)
class Told:
    """Each number of the proposal in words: from the logs, or what is taken because they do not show it."""

    logs: list[str] = field(default_factory=list)
    defaults: list[str] = field(default_factory=list)

    def of(self, shown: float | None, usual: float, noun: str, *, least: float = 0, most: float | None = None) -> float:
        """The number that the proposal has."""
        if shown is None:
            self.defaults.append(f"{noun}: {usual:g}")
            return usual
        taken = min(max(shown, least), most or shown)
        self.logs.append(f"{noun}: {shown:g}" + ("" if taken == shown else f" (here {taken:g})"))
        return taken


def propose(path: Path, found: Diagnosis, logs: Logs, files: Sequence[ToRead]) -> Iterator[str]:
    """Write the file; gives what to say of it. Without an incident nothing is written."""
    if not found.incidents:
        yield translated("{path} is not written: there is no incident to reproduce", path=path)
        return
    first = next((one.found for one in found.incidents if one.is_replayed), None)
    if first is None:
        names = ", ".join(dict.fromkeys(one.found.incident for one in found.incidents))
        yield translated("{path} is not written: nothing replays {names}", path=path, names=names)
        return
    text, told = proposal(name_of(path), first, shown_of(first, logs, files))
    write_new(path, text)
    yield ""
    yield translated("{path}: {incident}, to be read and changed", path=path, incident=first.incident)
    from_logs = "; ".join(told.logs) or phrase("nothing but the incident")
    yield translated("  from the logs: {numbers}", numbers=from_logs)
    yield translated("  defaults: {numbers}", numbers="; ".join(told.defaults) or phrase("none"))
    others = [one.found.incident for one in found.incidents if one.found.incident != first.incident]
    if others:
        yield translated("  not in it: {incidents}", incidents=", ".join(dict.fromkeys(others)))
    yield translated("  run it: mqlab reproduce {path}, or to judge its claims: mqlab verify {path}", path=path)


def proposal(name: str, found: Found, shown: Shown) -> tuple[str, Told]:
    """The text of the file, and where its numbers come from."""
    lab, told = scenarios.find(found.incident), Told()
    least = 1 if shown.stalls_ms else lab.topology.masters
    masters = told.of(shown.masters, lab.topology.masters, "masters", least=least, most=max(NODES_MAX, least))
    slaves = told.of(shown.slaves, lab.topology.slaves_per_master, "slaves for each", most=1)
    servers = told.of(
        shown.name_servers, lab.topology.name_servers, "name servers", least=lab.topology.name_servers, most=NODES_MAX
    )
    told.logs += [f"{key}={value}" for key, value in shown.settings.items()]
    if not shown.settings:
        told.defaults.append("all settings of the brokers")
    topology = (
        f'Topology(name="as-in-the-logs", name_servers={servers:g}, masters={masters:g}, slaves_per_master={slaves:g})'
    )
    body = _stalls(name, found, shown, told) if shown.stalls_ms else _as_the_labs(name, lab, shown, told)
    when = f"{words_of(found.from_s)} to {words_of(found.to_s)}" if found.from_s is not None else "at an unknown time"
    head = (
        f'"""{found.incident} ({found.sure}) as logs of {when} show it; written by `mqlab diagnose --reproduce`.\n\n'
        f"From the logs: {'; '.join(told.logs) or 'nothing but the incident'}.\n"
        f'Defaults, since the logs do not show them: {"; ".join(told.defaults) or "none"}.\n"""\n\n'
    )
    values = f"TOPOLOGY = {topology}\nSETTINGS = {_literal(_of_one_line(shown.settings))}\n"
    return _plain(head) + body.replace("<values>\n", values), told


def _stalls(name: str, found: Found, shown: Shown, told: Told) -> str:
    stalls = tuple(dict.fromkeys(min(one, STALL_MS_MAX) for one in shown.stalls_ms))
    longest = stalls[-1]
    told.logs.append(f"stalls of {', '.join(map(str, stalls))} ms")
    rate = told.of(shown.rate_hz, RATE_HZ, "sends a second", least=1, most=RATE_MAX)
    queues = told.of(shown.queues, 8, "queues on each broker", least=1, most=64)
    said = shown.settings.get(SEND_WAIT, "")
    waits = float(said) if said.isascii() and said.isdigit() else SEND_WAIT_MS
    refused = round((longest - waits) * rate / 1000)
    claim = (
        f"""MINE_01 = claim(
    "MINE-01", "our logs", "These stalls have sends refused.",
    reading="Each stall has refusals of any keyword, and the same load without a stall has none.",
    parts={{"refused": happens(of("rejected_count", "incident", keyword="any", stall_ms={longest}), {refused},
                              "what comes in {longest - waits:g} ms", slack_ms={waits:g}, noun="stalls",
                              without=of("rejected_count", "baseline", keyword="any"))}},
)

"""
        if refused >= 1
        else ""
    )
    nouns = "AppendStall, AppendWatch, Arm, BrokerSettings, OpenLoopSends, Phases, Scenario, Topology, TrialBudget"
    return f'''from mqlab.incident import {nouns}
from mqlab.incident import claim, happens, of

<values>
BROKER = BrokerSettings(conf=SETTINGS)
LOAD = OpenLoopSends(queues={queues:g})
RATE_HZ = {rate:g}
STALLS_MS = {stalls!r}

{claim}SCENARIO = Scenario(
    name="{name}",
    title="{found.incident}, as our logs show it",
    topology=TOPOLOGY,
    arms=(
        Arm(name="baseline", what="The load without a stall.", fault=AppendWatch(), load=LOAD, broker=BROKER,
            cells=({{"watch_ms": max(STALLS_MS), "rate_hz": RATE_HZ}},)),
        Arm(name="incident", what="The stalls of the logs.", fault=AppendStall(), load=LOAD, broker=BROKER,
            cells=tuple({{"stall_ms": one, "rate_hz": RATE_HZ}} for one in STALLS_MS)),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.5, hold_s_max=0.5, recover_s=0.2),
    claims={"(MINE_01,)" if claim else "()"},
    budget=TrialBudget(trials=5, deployments=5),
)
'''


def _as_the_labs(name: str, lab: Scenario, shown: Shown, told: Told) -> str:
    """The lab's arms on the user's cluster; its claims are the lab's own, so the proposal has their measures instead."""
    load = lab.arms[0].load
    fields = {
        one: int(told.of(getattr(shown, source), getattr(load, one), noun, least=1, most=most))
        for one, source, noun, most in (
            ("queues_per_broker", "queues", "queues on each broker", 64),
            ("queues", "queues", "queues on each broker", 64),
            ("groups", "groups", "groups", GROUPS_MAX),
        )
        if all(isinstance(getattr(arm.load, one, None), int) for arm in lab.arms)
    }
    told.defaults.append("the rate of its load")
    return f'''import dataclasses

from mqlab.incident import Topology
from scenarios.{lab.name.replace("-", "_")} import SCENARIO as LAB

<values>
LOAD = {_literal(fields)}


def ours(arm):
    """One of the lab's arms with our settings, where it does not bring its own."""
    broker = dataclasses.replace(arm.broker, conf={{**SETTINGS, **arm.broker.conf}})
    return dataclasses.replace(arm, broker=broker, load=dataclasses.replace(arm.load, **LOAD))


SCENARIO = dataclasses.replace(
    LAB,
    name="{name}",
    title="{lab.name}, as our logs show it",
    topology=TOPOLOGY,
    arms=tuple(map(ours, LAB.arms)),
    claims=(),
    extra_measures=tuple(sorted(LAB.measures())),
)
'''


def _of_one_line(settings: Mapping[str, str]) -> dict[str, str]:
    """Without values that no line of a broker.conf has."""
    return {key: value for key, value in settings.items() if value.isprintable()}


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)


def _plain(text: str) -> str:
    """What comes from logs must not end the text that it stands in."""
    head, tail = text[:3], text[3:].rstrip()
    inside = tail.removesuffix('"""').replace("\\", "/").replace('"', "'")
    return f'{head}{inside}"""\n\n'
