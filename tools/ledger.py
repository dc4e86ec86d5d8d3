"""What alone writes the record of runs and the ledger that is made from it: ``python -m tools.ledger``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import scenarios
from analysis.ledger.absent import not_applicable
from analysis.ledger.add import add
from analysis.ledger.journal import Entry, append
from analysis.ledger.lines import LEDGER, document_text, load_lines
from analysis.ledger.markdown import ledger_table
from harness.errors import EXIT_OK, LabError, UsageError
from harness.host.facts import own_commit
from harness.model.rules import Claim
from mqlab.ask.recorded import FOLDER_OF_RECORD, experiment_now
from mqlab.kinds import FOLDER, NAME, SENTENCE
from mqlab.options import print_json
from tools import cure_table, defect_figures, incident_table, send_table, undecided_table
from tools.recorded.recompute import Change, changes_of
from tools.recorded.record import Record, read_record
from tools.recorded.write import write_ledger
from tools.rules_at import rule_at


def main(words: Sequence[str]) -> int:
    """Do what the words ask for; without any, print the ledger. Exit codes are the command line's."""
    parser = argparse.ArgumentParser(prog="python -m tools.ledger", description=__doc__)
    todo = parser.add_mutually_exclusive_group()
    todo.add_argument(
        "--add", nargs="+", type=FOLDER, metavar="RUN_DIR", help="runs of `mqlab verify --register`, analysed"
    )
    todo.add_argument(
        "--recompute",
        action="store_true",
        help="make ledger.jsonl, the README's table, docs/incidents.md, what docs/verdicts.md, docs/tune.md and "
        "docs/defects quote, and scenarios/sends.md from record and rules",
    )
    todo.add_argument(
        "--rules", action="store_true", help="rules and experiments that changed since a recorded run, and why"
    )
    todo.add_argument(
        "--changed", type=NAME, metavar="NAME", help="say why a claim's rule or an incident's cells changed"
    )
    todo.add_argument(
        "--withdraw", type=NAME, metavar="EVENT", help="a counterexample that the harness made, by its id"
    )
    parser.add_argument("--because", type=SENTENCE, metavar="TEXT", help="the reason, for --changed and --withdraw")
    parser.add_argument("--json", action="store_true", help="machine-readable")
    try:
        return ledger(parser.parse_args(words))
    except LabError as error:
        print(*filter(None, (str(error), error.advice)), sep="\n", file=sys.stderr)
        return error.exit_code


def ledger(options: argparse.Namespace) -> int:
    """Show the ledger, or write what the options ask for."""
    if bool(options.because) != bool(options.changed or options.withdraw):
        raise UsageError("--because goes with --changed and --withdraw, which need it", advice="Give one sentence.")
    if options.add or options.recompute or options.rules or options.changed or options.withdraw:
        return _write(options)
    lines = load_lines(FOLDER_OF_RECORD.parent / LEDGER)
    if options.json:
        print(document_text(lines))
    else:
        print(ledger_table(lines, not_applicable(lines, scenarios.ALL, sorted({line.release for line in lines}))))
    return EXIT_OK


def _write(options: argparse.Namespace) -> int:
    record = read_record(FOLDER_OF_RECORD)
    if options.rules:
        found = changes_of(record, scenarios.ALL, experiment_now)
        if options.json:
            print_json([vars(one) for one in found])
        else:
            print("\n".join(map(str, found)) or "no rule and no experiment changed since its last recorded run")
        return EXIT_OK
    for run_dir in options.add or ():
        run = add(FOLDER_OF_RECORD, run_dir, _now())
        print(f"{run.run}: {len(run.trials)} trials")
    if options.changed:
        _explain(record, options.changed, options.because)
    if options.withdraw:
        if options.withdraw not in {event.id for event in record.events}:
            raise UsageError.unknown("event", options.withdraw, [event.id for event in record.events])
        append(FOLDER_OF_RECORD, _entry("withdrawn", options.withdraw, because=options.because))
    record = read_record(FOLDER_OF_RECORD)
    print("\n".join(write_ledger(FOLDER_OF_RECORD.parent, record, scenarios.ALL, experiment_now)))
    incident_table.write()
    undecided_table.write()
    cure_table.write()
    send_table.write(record)
    defect_figures.write()
    return EXIT_OK


def _explain(record: Record, name: str, because: str) -> None:
    claims = {claim.id: claim for scenario in scenarios.ALL for claim in scenario.claims}
    linked = {(entry.about, entry.was, entry.hash): entry.kept for entry in record.journal.of("rule")}
    changed = [one for one in changes_of(record, scenarios.ALL, experiment_now) if _is_of(one, name)]
    kept_of = {one.about: _kept(record, claims[one.about], one.was) for one in changed if one.about in claims}
    found = [
        one
        for one in changed
        if not one.because or (one.about in kept_of and linked.get((one.about, one.was, one.now)) != kept_of[one.about])
    ]
    if not found:
        raise UsageError(
            f"nothing of {name} changed without a reason", advice="python -m tools.ledger --rules lists what did."
        )
    for one in found:
        if one.about in kept_of:
            kept = kept_of[one.about]
            append(FOLDER_OF_RECORD, _entry("rule", one.about, hash=one.now, because=because, was=one.was, kept=kept))
            print(f"{one.about}: {len(kept)} of {len(claims[one.about].parts)} parts ask for what they asked for")
        else:
            append(FOLDER_OF_RECORD, _entry("experiment", one.about, hash=one.now, because=because))


def _kept(record: Record, claim: Claim, rule: str) -> tuple[str, ...]:
    """The hashes of those parts of a claim that its rule with that hash had, by the code of the last run of that rule.

    A part that got a scope beside new neighbours asks for what it asked for.
    """
    commit = next(run.commit for run in reversed(record.runs) if run.rules.get(claim.id) == rule)
    then = rule_at(commit, claim.id)
    if then is None or then.rule != rule:
        return ()
    had = [part for part in claim.parts if dataclasses.replace(part, scope="").hash() in then.parts]
    return tuple(dict.fromkeys(part.hash() for part in had))


def _is_of(change: Change, name: str) -> bool:
    return change.about == name or change.about.startswith(f"{name} ")


def _entry(kind: str, about: str, **more: str | tuple[str, ...]) -> Entry:
    return Entry(kind=kind, about=about, at=_now(), commit=own_commit().id, **more)  # type: ignore[arg-type]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
