"""``mqlab explain``: what a line of a log, an error code, a setting, an incident or a claim is, and what to do about it."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console

import scenarios
from harness.errors import EXIT_OK, UsageError, nearest, shown
from harness.language import phrase, translated
from mqlab.ask.advise import advise
from mqlab.ask.explain_names import (
    Answer,
    claim_answers,
    code_answers,
    incident_answers,
    setting_answers,
    value_answers,
)
from mqlab.ask.explain_texts import line_and_question_answers, named_setting_answers, nearest_answers
from mqlab.ask.looking import list_faults, list_incidents, list_measures
from mqlab.console import console as lab_console
from mqlab.kinds import INCIDENTS
from mqlab.options import Adder, add_releases, print_json
from mqlab.own.own_incident import SUFFIX
from scenarios.send_advice import FAILURES

LABEL_WIDTH = 10
TEXT_MAX = 2000
"""Characters of a line that are looked at."""
ABOUT = re.compile(
    r"(?i)(?:what(?:'s| is| are| does)|explain|meaning of) (?:the |an? )?(\S+?)(?: mean| do| setting)?\s*\?*"
)
"""A question about one word, such as a setting, a code or a word in brackets."""
SENDS = "sends"
"""The word whose answer is what a producer has to set, for each failure."""


def add_command(add: Adder) -> None:
    """``explain``."""
    command = add(
        "explain",
        explain,
        "what a log line, an error, a code, a setting, an incident or a claim is; plain questions, Chinese ones too",
    )
    command.add_argument(
        "words", nargs="*", metavar="TEXT",
        help="'[REJECTREQUEST]system busy', a setting, BUSY-12, ...; sends: which client settings help when a broker fails; "
        "none: all incidents, a line each",
    )  # fmt: skip
    command.add_argument(
        "--record", action="store_true",
        help="of incidents, families of claims (BUSY, POOL, ...) or files of your own: arms, claims, and what was measured",
    )  # fmt: skip
    add_releases(command, "with --record: all that are recorded")
    command.add_argument(
        "--failure", metavar="NAME", help=f"with sends: one of {', '.join(FAILURES)}; default: each of them"
    )
    command.add_argument("--faults", action="store_true", help="the faults that `mqlab load --fault` puts on a load")
    command.add_argument(
        "--measures", action="store_true", help="what a claim can be about, for an incident of your own"
    )
    command.add_argument("--json", action="store_true", help="machine-readable")


def explain(options: argparse.Namespace, console: Console) -> int:
    """Print every answer to what is asked."""
    if options.faults or options.measures:
        return (list_faults if options.faults else list_measures)(options)
    if options.words == [SENDS]:
        return _advise(options, console)
    if options.failure:
        raise UsageError("--failure is of sends", advice="mqlab explain sends --release 5.5.0 --failure NAME")
    if options.record or options.release or all(map(_is_record, options.words)):
        options.incidents = [_incident(word) for word in options.words]
        return list_incidents(options, console)
    found = answers(" ".join(options.words))
    if options.json:
        print_json(list(map(dataclasses.asdict, found)))
        return EXIT_OK
    out = lab_console()
    for one in found:
        out.print(translated(one.name), style="bold", markup=False, highlight=False, soft_wrap=True)
        for label, lines in (
            ("", one.happens), (phrase("concerns"), one.concerns), (phrase("DO"), one.do), (phrase("how sure"), one.sure),
            (phrase("see"), one.see),
        ):  # fmt: skip
            for number, line in enumerate(lines):
                head = "" if number else translated(label)
                out.print(
                    f"{' ' * (LABEL_WIDTH - cell_len(head))}{head}  {translated(line)}",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
        out.print()
    return EXIT_OK


def _is_record(word: str) -> bool:
    return word in scenarios.FAMILIES or word.endswith(SUFFIX)


def _incident(word: str) -> str:
    try:
        return INCIDENTS(word)
    except argparse.ArgumentTypeError as error:
        advice = "Of everything else `mqlab explain TEXT` says what it knows, on all releases at once."
        raise UsageError(f"--record: {error}", advice=advice) from error


def _advise(options: argparse.Namespace, console: Console) -> int:
    if len(options.release) != 1:
        raise UsageError("settings of producers are told for one release", advice="mqlab explain sends --release 5.5.0")
    if options.failure and options.failure not in FAILURES:
        near = nearest(options.failure, FAILURES)
        raise UsageError(
            f"{shown(options.failure)} is none of {', '.join(FAILURES)}",
            advice=f"Did you mean {near[0]}?" if near else "",
        )
    (options.release,) = options.release
    return advise(options, console)


def answers(asked: str) -> list[Answer]:
    """Of the first kind that has any: a name of the lab, a setting, a code, a text. Raises UsageError where nothing is near."""
    text = " ".join(asked[:TEXT_MAX].split())
    if about := ABOUT.fullmatch(text):
        text = about[1]
    if not text:
        raise UsageError("nothing is asked", advice="Give a line of a log, a setting, a code, an incident or a claim.")
    kinds: Sequence[Callable[[str], Iterator[Answer]]] = (
        incident_answers, claim_answers, setting_answers, code_answers, value_answers,
        line_and_question_answers, named_setting_answers, nearest_answers,
    )  # fmt: skip
    for kind in kinds:
        if found := list(kind(text)):
            return found
    raise UsageError(
        f"nothing like {text[:80]!r} is known",
        advice="`mqlab diagnose LOG...` counts the commonest warnings of whole logs; `mqlab explain` has all incidents.",
    )
