"""``mqlab upgrade``: what changes for a cluster from one release to another."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

import scenarios
from harness.audit.conf import OF_KEYS, modes_in, modes_of
from harness.audit.finding import Severity
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED, UsageError
from harness.host.facts import host_of_plan
from harness.language import phrase, translated
from harness.model.broker_conf import ConfFile, Fate, JudgedConf
from harness.model.rules import Claim, Weight
from harness.model.scenario import Scenario
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from harness.releases.central import version_key
from harness.releases.jars import recorded_releases
from harness.releases.judged_conf import judge_file
from harness.releases.properties import read_conf
from harness.releases.settings import BY_PROCESSORS, settings_of
from mqlab.ask.audit_conf import named_conf
from mqlab.ask.carried import carried, ledger_on
from mqlab.ask.preflight import add_options, is_asked, preflight
from mqlab.ask.recorded import committed_since
from mqlab.kinds import FILE, FOLDER, NEW_FILE, RELEASE
from mqlab.options import Adder, print_json, write_new
from scenarios import rolling_upgrade

if TYPE_CHECKING:
    from analysis.report.upgrade import Known, Measuring
    from analysis.report.upgrade_settings import SettingsChanged


OWN_NAMES = ("brokerId", "brokerClusterName")
"""Settings that each broker has its own of, beside those of its machine."""


def add_command(add: Adder) -> None:
    """``upgrade``."""
    command = add(
        "upgrade",
        upgrade,
        "what an upgrade changes for you: better, worse, log lines, codes, settings; the order of the nodes; not known yet",
    )
    command.add_argument(
        "--from",
        dest="before",
        type=RELEASE,
        metavar="RELEASE",
        help="the brokers' release now; with --namesrv each broker says its own",
    )
    command.add_argument("--to", dest="after", type=RELEASE, required=True, metavar="RELEASE", help="the one to come")
    command.add_argument(
        "--client-from", type=RELEASE, metavar="RELEASE", help="the clients' release now; default: the brokers'"
    )
    command.add_argument(
        "--client-to", type=RELEASE, metavar="RELEASE", help="the clients' release then; default: the brokers'"
    )
    command.add_argument(
        "--broker-conf",
        type=FILE,
        metavar="FILE",
        help="your broker.conf: which of its keys are ignored or come into force",
    )
    command.add_argument(
        "--all", action="store_true", help="everything that is known of it, each claim with its figures"
    )
    command.add_argument(
        "--alerts", action="store_true", help="only what alarms and searches in logs hang on: words, codes, answers"
    )
    command.add_argument(
        "--strict",
        action="store_true",
        help="exit code 1 where something is to be prepared, 2 where something is not known",
    )
    command.add_argument(
        "--verdicts", action="store_true", help="only verdicts that differ and figures that moved, with both figures"
    )
    command.add_argument("--run", type=FOLDER, metavar="RUN_DIR", help="with --verdicts: by this run, not the record")
    command.add_argument("--page", type=NEW_FILE, metavar="FILE", help="write it as one HTML page, too")
    command.add_argument("--json", action="store_true", help="machine-readable")
    add_options(command)


def upgrade(options: argparse.Namespace, console: Console) -> int:
    """Say what changes, by the record, the releases' logs and their settings."""
    if is_asked(options):
        return preflight(options, console)
    if not options.before:
        raise UsageError(
            "the brokers' release now is not given",
            advice="Give it with --from RELEASE, or --namesrv HOST:PORT of the cluster itself.",
        )
    if options.run and not options.verdicts:
        raise UsageError("--run is of --verdicts", advice="Give both, or neither: the rest is told by the record.")
    if options.verdicts:
        return _show_verdicts(options)
    from analysis.report import upgrade as report
    from analysis.report.upgrade_screen import alarms, all_lines, screen, screen_lines
    from analysis.report.upgrade_words import page

    clients = options.client_from or options.before, options.client_to or options.after
    if (options.before, clients[0]) == (options.after, clients[1]):
        raise UsageError(
            f"brokers and clients are of {options.before} before and after: nothing changes",
            advice="Name another release with --to, or with --client-to where clients alone are upgraded.",
        )
    conf = read_conf(options.broker_conf) if options.broker_conf else None
    before, after = (
        (settings_of(broker).broker, settings_of(client).client, settings_of(broker).codes)
        for broker, client in zip((options.before, options.after), clients, strict=True)
    )
    known = tuple(
        _known(release)
        for release in dict.fromkeys((options.before, options.after))
        if release not in recorded_releases()
    )
    ledger = ledger_on(options.before, options.after)
    claims = {claim.id: claim for scenario in scenarios.ALL for claim in scenario.claims}
    found = report.upgrade(
        ledger,
        claims,
        _settings(options, conf, before, after),
        options.before,
        options.after,
        *clients,
        rolled=report.Rolled(
            incident=rolling_upgrade.SCENARIO.name,
            to=tuple(dict.fromkeys(str(cell["to"]) for arm in rolling_upgrade.SCENARIO.arms for cell in arm.cells)),
            order=rolling_upgrade.ORDER,
            first=rolling_upgrade.FIRST,
        ),
        known=known,
    )
    worst = {name: min(map(_weight, map(claims.__getitem__, of))) for name, of in found.undecided.items()}
    found = dataclasses.replace(
        found, undecided={name: found.undecided[name] for name in sorted(worst, key=worst.__getitem__)}
    )
    first = [scenarios.incident(name) for name in list(found.undecided)[: report.OPEN_NAMED_MAX]]
    chosen = [one for one in first if isinstance(one, Scenario)]
    found = dataclasses.replace(found, open=_measuring(chosen, tuple(dict.fromkeys((options.before, options.after)))))
    needs = {(one.name, arm.name): modes_of(arm.broker.conf) for one in scenarios.ALL for arm in one.arms}
    shown = screen(found, ledger, claims, needs, committed_since())
    if options.page:
        write_new(options.page, page(found, shown, str(options.broker_conf or "")))
    if options.json:
        print_json({**dataclasses.asdict(found), "screen": dataclasses.asdict(shown)})
    elif options.alerts:
        print("\n".join(translated(line) for entry in alarms(found, shown, everything=True) for line in entry))
    else:
        if version_key(options.after) < version_key(options.before):
            print(
                translated(
                    "{after} is older than {before}: whether it reads what {before} has written is another question, which "
                    "nothing here has measured. What differs while it runs:",
                    after=options.after,
                    before=options.before,
                )
            )
        told = all_lines if options.all else screen_lines
        print("\n".join(map(translated, told(found, shown, str(options.broker_conf or "")))))
    if not options.strict:
        return EXIT_OK
    conf_changed = found.settings.conf
    comes = (*conf_changed.comes, *conf_changed.urgent) if conf_changed else ()
    return EXIT_MISMATCH if shown.prepare or comes else EXIT_UNDECIDED if found.undecided else EXIT_OK


def _show_verdicts(options: argparse.Namespace) -> int:
    from analysis.report.changes import changes
    from analysis.report.document import load_findings

    before, after = options.before, options.after
    if before == after:
        raise UsageError(
            f"nothing changes from {before} to itself", advice="Name the release that you have and another one."
        )
    found = changes(load_findings(options.run).findings if options.run else ledger_on(before, after), before, after)
    if options.json:
        print_json(dataclasses.asdict(found))
    else:
        print("\n".join(map(translated, found.lines())))
    return EXIT_OK


def _known(release: str) -> Known:
    from analysis.report.upgrade import Known

    found = carried(release)
    incidents = [one for one in scenarios.ALL if any(claim.id in found.unknown for claim in one.claims)]
    measuring = _measuring(incidents, (release,))
    return Known(
        release=release,
        carried=dict(Counter(found.donors.values())),
        unknown=tuple(found.unknown),
        command=measuring.command,
        minutes=measuring.minutes,
    )


def _weight(claim: Claim) -> int:
    return list(Weight).index(claim.told.weight if claim.told else Weight.OTHER)


def _measuring(incidents: Sequence[Scenario], releases: tuple[str, ...]) -> Measuring:
    from analysis.report.upgrade import Measuring

    request = Request(scenarios=incidents, releases=releases)
    return Measuring(
        command=f"mqlab verify {' '.join(one.name for one in incidents)} --release {','.join(releases)}",
        minutes=math.ceil(make_plan(request, host_of_plan()).seconds / 60) if incidents else 0,
    )


_Kept = tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]


def _settings(options: argparse.Namespace, conf: ConfFile | None, before: _Kept, after: _Kept) -> SettingsChanged:
    from analysis.report.upgrade_settings import settings_changed

    dead = settings_of(options.before).dead, settings_of(options.after).dead
    if conf is None:
        return settings_changed(before, after, dead=dead)
    yours = judge_file(conf, options.before), judge_file(conf, options.after)
    changed = settings_changed(before, after, yours, dead=dead)
    assert changed.conf is not None
    # What the file brings about is judged as `mqlab audit --broker-conf` judges it.
    found = [named_conf(conf, release).findings for release in (options.before, options.after)]
    old, new = ({one.kind: (one.says, one.advice) for one in some if one.kind not in OF_KEYS} for some in found)
    urgent = (one for one in found[1] if one.severity is Severity.CRITICAL and (one.kind in OF_KEYS or one.kind in old))
    kinds = {one.says: one.kind for one in found[1]}
    brings = dataclasses.replace(
        changed.conf,
        claims={says: told for says, kind in kinds.items() if (told := tuple(_claims_of(kind)))},
        comes=tuple(said for kind, said in new.items() if kind not in old),
        goes=tuple(said for kind, said in old.items() if kind not in new),
        stays=tuple(said for kind, said in new.items() if kind in old),
        urgent=tuple(
            (phrase("{says} (so it is on {release})", says=phrase(one.says), release=options.before), one.advice)
            if one.kind in old
            else (one.says, one.advice)
            for one in urgent
        ),
        in_force=yours[1].in_force,
        modes=modes_in(yours[1].in_force, options.after),
        oddities=tuple((one.says, one.advice) for one in conf.oddities),
        others=tuple(_others(yours[1], after[0])),
    )
    return dataclasses.replace(changed, conf=brings)


def _claims_of(kind: str) -> Iterator[str]:
    """The claims that say what a finding of this kind says: those of what users see, of the incident that it tells of."""
    for one in scenarios.ALL:
        if kind in one.audited:
            yield from one.faces.values()


def _others(yours: JudgedConf, defaults: Mapping[str, str]) -> Iterator[str]:
    for one in yours.of(Fate.READ):
        untold = ("", "?", "null", BY_PROCESSORS)
        if one.key not in OWN_NAMES and defaults.get(one.key, "?") not in (*untold, one.value):
            yield one.key
