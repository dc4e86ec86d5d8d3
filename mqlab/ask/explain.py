"""``mqlab explain``: what a line of a log, an error code, a setting, an incident or a claim is, and what to do about it."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache

from rich.cells import cell_len
from rich.console import Console

import scenarios
from analysis.ledger.since import BOTH, as_told
from analysis.verdicts.anew import without
from analysis.verdicts.words import STANDINGS
from harness.errors import EXIT_OK, UsageError, nearest, shown
from harness.language import Phrase, joined, language, phrase, translated
from harness.model.findings import Finding
from harness.model.incident import REPOSITORY, Incident
from harness.model.log_events import WORDINGS
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.releases.class_file import PRINTED
from harness.releases.jars import recorded_releases
from harness.releases.readers import all_readers
from harness.releases.settings import releases_with_settings, settings_of
from harness.releases.written import FIT_LETTERS_MIN, Written, all_written, letters_in
from mqlab.ask.advise import advise
from mqlab.ask.looking import list_faults, list_incidents, list_measures
from mqlab.ask.recorded import committed_ledger, committed_since, measured_on_defaults
from mqlab.console import console as lab_console
from mqlab.kinds import INCIDENTS
from mqlab.options import Adder, add_releases, print_json
from mqlab.own.own_incident import SUFFIX
from scenarios.answer_codes import ANSWER_CODES, AnswerCode
from scenarios.questions import QUESTIONS, Question
from scenarios.send_advice import FAILURES
from scenarios.setting_meanings import setting_meanings
from scenarios.setting_values import SETTING_VALUES, SettingValue

LABEL_WIDTH = 10
TEXT_MAX = 2000
"""Characters of a line that are looked at."""
CLAIMS_TOLD_MAX = 6
LIKE_MIN = 0.3
"""The share of the words of two texts that makes them near."""
COVERED_MIN = 0.5
"""The share of a text's words, by weight, that an incident has to have: half by what people see of it, half by all that is told."""
MEANT_LIKE_MIN = 0.8
"""How alike a word that nothing has and one that is meant by it are, letter by letter."""
LETTERS_STEM_MIN = 3
SMALL_WORDS = re.compile(
    "the|and|are|but|can|did|does|for|from|had|has|have|how|into|its|not|our|out|that|then|they|this|was|were|what|when|where|"
    "which|who|why|will|with|you|your|after|all|any|been|just|some|there|than|too|very"
)
TYPED_LIKE_MIN = 0.75
"""How alike a name and what was typed have to be, letter by letter."""
WRITTEN_TOLD_MAX = 3
SAID_BY_CLIENTS = {"SEND_OK": "SUCCESS"}
"""What a client calls an answer whose code has another name."""
QUESTION = re.compile(r"(?i)(why|how|what|when|where|which|is|are|can|does|do|my|our)\b.*[a-z]\s+[a-z].*")
ALSO_MEANT: Mapping[str, Sequence[str]] = {
    "lag": ("backlog", "behind"), "lagg": ("backlog", "behind"), "pile": ("backlog", "behind"), "pil": ("backlog", "behind"),
    "stuck": ("still", "stop"), "hang": ("still", "stop"), "miss": ("lost", "gone"), "disappear": ("lost", "gone"),
    "duplicate": ("twice", "again"), "duplicat": ("twice", "again"), "crash": ("end", "kill"), "die": ("end", "kill"),
}  # fmt: skip
"""Words of people for what incidents tell in other words; stems, as ``_stem`` leaves them."""
QUESTION_MIN = 0.15
"""The share of a question's words, by weight, that an incident has to have."""
_FULL_STOP = re.compile(r"\.+$")
_INTERVAL = re.compile(r" \([^()]*(?:deployments?|pairs)[^()]*\)")
WORDS_OF_A_CODE = re.compile(r"[A-Za-z]+( [A-Za-z]+){2,}")
LOG_LIKE = re.compile(r"\d\d:\d\d|\b(WARN|ERROR|INFO)\b|\[[A-Z_]{4,}\]|Exception|\bCODE\b|\{\}")
"""What a line of a log has, and no question."""
QUESTION_WORDS_MAX = 40
ABOUT = re.compile(
    r"(?i)(?:what(?:'s| is| are| does)|explain|meaning of) (?:the |an? )?(\S+?)(?: mean| do| setting)?\s*\?*"
)
"""A question about one word, such as a setting, a code or a word in brackets."""
UNREPLAYED = phrase("nothing replays it")
SENDS = "sends"
"""The word whose answer is what a producer has to set, for each failure."""
_SENTENCE = re.compile(r"[A-Za-z' ]+[?.!]?")
WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is known of what was asked; each list has sentences, the most important first.

    ``kind`` is incident, claim, setting, code, value, line, question or nearest; of the nearest it is only told that it is near.
    """

    asked: str
    kind: str
    name: str
    happens: Sequence[str] = ()
    concerns: Sequence[str] = ()
    do: Sequence[str] = ()
    sure: Sequence[str] = ()
    see: Sequence[str] = field(default=())


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
        _incidents, _claims, _settings, _codes, _values, _lines_and_questions, _settings_in, _nearest,
    )  # fmt: skip
    for kind in kinds:
        if found := list(kind(text)):
            return found
    raise UsageError(
        f"nothing like {text[:80]!r} is known",
        advice="`mqlab diagnose LOG...` counts the commonest warnings of whole logs; `mqlab explain` has all incidents.",
    )


# --- incidents and claims -----------------------------------------------------------------------------------------------


def _incidents(text: str) -> Iterator[Answer]:
    for incident in scenarios.INCIDENTS:
        if incident.name == text.lower().replace("_", "-"):
            yield _of_incident(text, incident)


def _of_incident(asked: str, incident: Incident) -> Answer:
    name, claims = incident.name, incident.claims if isinstance(incident, Scenario) else ()
    happens = [incident.symptom]
    if incident.sign:
        happens.append(phrase("In logs: {because}.", because=phrase(incident.sign.because)))
    concerns = []
    for face, claim in incident.faces.items():
        said = phrase(face) if face else phrase("it happens")
        concerns += [phrase("{face}: {standing}", face=said, standing=standing) for standing in _standings(claim)]
    return Answer(
        asked=asked,
        kind="incident",
        name=name,
        happens=happens,
        concerns=concerns or _standings_of(claims),
        do=[_advice(incident)],
        sure=_sure(claim.id for claim in claims) if incident.is_replayed else [UNREPLAYED],
        see=[
            *(
                [phrase("mqlab reproduce {name}  # shows it on a cluster here", name=name)]
                if incident.is_replayed
                else []
            ),
            *(f"{REPOSITORY}/{thread}" for thread in incident.threads[:2]),
        ],
    )


def _advice(incident: Incident) -> str:
    cures = [
        phrase("{claim} {standing}", claim=claim, standing=standing)
        for claim in incident.cures
        for standing in _standings(claim)
    ]
    measured = (
        phrase(" (measured claims about it: {claims})", claims=joined("; ", cures))
        if cures
        else phrase(" (nothing measured it)")
    )
    return joined("", (phrase(incident.advice), measured))


def _claims(text: str) -> Iterator[Answer]:
    for scenario, claim in _all_claims():
        if claim.id.lower() != text.lower():
            continue
        lines = _recorded(language()).get(claim.id, [])
        yield Answer(
            asked=text,
            kind="claim",
            name=claim.id,
            happens=[claim.says],
            concerns=_standings(claim.id) or [phrase("no release: nothing of it is recorded")],
            do=[_advice(scenario)],
            sure=[phrase("{release}: {summary}", release=line.release, summary=line.summary) for line in lines]
            or [
                phrase(
                    "nothing of it was measured",
                )
            ],
            see=[
                phrase("mqlab explain {name}  # the incident that it is of", name=scenario.name),
                phrase("mqlab verify {name} --release R  # measures it on a cluster here", name=scenario.name),
            ],
        )


def _all_claims() -> Iterator[tuple[Scenario, Claim]]:
    return ((scenario, claim) for scenario in scenarios.ALL for claim in scenario.claims)


@cache
def _recorded(read_in: str) -> Mapping[str, Sequence[Finding]]:
    """The record's lines by claim, whose sentences are phrases where another language than English is read."""
    found: dict[str, list[Finding]] = {}
    for line in measured_on_defaults(committed_ledger()):
        found.setdefault(line.claim, []).append(line)
    return found


def _standings(claim: str) -> list[str]:
    """How it stands on each release that was measured, releases of one standing together; where it does not hold, what is so."""
    by: dict[str, list[Finding]] = {}
    for line in _recorded(language()).get(claim, []):
        by.setdefault(line.status, []).append(line)
    told = []
    for status, lines in by.items():
        standing: str = phrase(
            "{standing} on {releases}",
            standing=phrase(STANDINGS.get(status, status)),
            releases=", ".join(line.release for line in lines),
        )
        if status == VerdictKind.REFUTED:
            standing = phrase("{standing}; instead: {instead}", standing=standing, instead=_instead(lines[-1]))
        told.append(standing)
    changes = (
        phrase(
            "changed with {release}; {before} is still as before"
            if of.moves == BOTH
            else "changed with the {side} of {release}; {before} is still as before",
            side=of.moves,
            release=as_told(of, one),
            before=one.before,
        )
        for of in committed_since()
        if of.claim == claim
        for one in of.boundaries
        if not one.may_be_chance
    )
    return [*told, *changes]


def _instead(line: Finding) -> str:
    """What is so where a claim does not hold: in an operator's words, or else what the code does and what was measured."""
    claim = next((claim for _, claim in _all_claims() if claim.id == line.claim), None)
    if claim and claim.told and claim.told.fails:
        return phrase(claim.told.fails)
    expected = claim.expected.get(line.release) if claim else None
    measured = without(_INTERVAL, line.summary)
    measured = without(_FULL_STOP, measured)
    if expected is None or expected.verdict != VerdictKind.REFUTED:
        return measured
    return phrase("{because}; measured: {measured}", because=phrase(expected.because), measured=measured)


def _standings_of(claims: Sequence[Claim]) -> list[str]:
    """Of an incident that an article tells: what the article says that does not hold comes first."""
    told = [(claim, joined("; ", standings)) for claim in claims if (standings := _standings(claim.id))]
    told.sort(key=lambda one: "does not hold" not in one[1])
    more = len(told) - CLAIMS_TOLD_MAX
    return [_stands(claim, standing) for claim, standing in told[:CLAIMS_TOLD_MAX]] + (
        [phrase("and {more} more claims: --record has all", more=more)] if more > 0 else []
    )


def _stands(claim: Claim, standing: str) -> str:
    # In English with the quotes that the text lets Python choose.
    english = f"{claim.id}, {claim.says!r} {standing}"
    figures = {"claim": claim.id, "says": phrase(claim.says), "standing": standing}
    return Phrase(english, phrase("{claim}, '{says}' {standing}").template, figures)


def _sure(claims: Iterable[str]) -> list[str]:
    runs = [line for claim in claims for line in _recorded(language()).get(claim, [])]
    if not runs:
        return [phrase("nothing of it is recorded")]
    releases = [release for release in recorded_releases() if any(line.release == release for line in runs)]
    trials = max(line.trials for line in runs)
    return [
        phrase(
            "recorded on {releases}, a finding from up to {trials} trials; other releases are unknown",
            releases=", ".join(releases),
            trials=trials,
        )
    ]


# --- settings and codes -------------------------------------------------------------------------------------------------


def _settings(text: str) -> Iterator[Answer]:
    wanted = text.partition("=")[0].strip().removeprefix("broker.").removeprefix("client.").lower()
    found: dict[tuple[str, str], dict[str, str]] = {}
    dead: dict[str, list[str]] = {}
    releases = releases_with_settings()
    for release in releases:
        of = settings_of(release)
        for whose, settings in (("broker", of.broker), ("client", of.client)):
            for key, default in settings.items():
                if key.lower() == wanted:
                    found.setdefault((whose, key), {})[release] = default
                    if whose == "broker" and key in of.dead:
                        dead.setdefault(key, []).append(release)
    for (whose, key), defaults in found.items():
        lacks = [release for release in releases if release not in defaults]
        kind = settings_of(next(iter(defaults)))
        takes = (kind.kinds if whose == "broker" else kind.client_kinds).get(key, "")
        concerns = (
            [phrase("not on {lacks}, which read past it without a word", lacks=", ".join(lacks))] if lacks else []
        )
        if key in dead:
            concerns.append(
                phrase(
                    "on {dead} nothing reads it: setting it changes nothing",
                    dead=", ".join(dead[key]),
                )
            )
        does, why = _meaning(whose, key)
        about = [
            (claim, standing)
            for _, claim in _all_claims()
            if re.search(rf"\b{re.escape(key)}\b", claim.says) and (standing := joined("; ", _standings(claim.id)))
        ]
        advised = [one for one in scenarios.INCIDENTS if re.search(rf"\b{re.escape(key)}\b", one.advice)]
        tried = [
            phrase("{incident}, arm {arm}: {what}", incident=scenario.name, arm=arm.name, what=phrase(arm.what))
            for scenario in scenarios.ALL
            for arm in scenario.arms
            if re.search(rf"\b{re.escape(key)}\b", arm.what)
        ]
        yield Answer(
            asked=text,
            kind="setting",
            name=phrase(
                "{key} (of a broker{kind})" if whose == "broker" else "{key} (of a client{kind})",
                key=key,
                kind=phrase(", {takes}", takes=takes) if takes else "",
            ),
            happens=[*does, *(phrase("Default: {values}.", values=told) for told in _grouped(defaults))],
            concerns=concerns or [phrase("all of {releases}", releases=", ".join(releases))],
            do=[_advice_with(one, key) for one in advised[:CLAIMS_TOLD_MAX]],
            sure=[
                why,
                *(
                    [_stands(claim, standing) for claim, standing in about[:CLAIMS_TOLD_MAX]]
                    or [phrase("no claim of the record is about it")]
                ),
            ],
            see=[
                *tried[:CLAIMS_TOLD_MAX],
                *(
                    [
                        phrase(
                            "mqlab tune INCIDENT --sweep {whose}.{key}=A,B  # measures values of it",
                            whose=whose,
                            key=key,
                        )
                    ]
                    if tried
                    else []
                ),
            ],
        )


def _meaning(whose: str, key: str) -> tuple[list[str], str]:
    """What a setting does, and by what that is known. Of one whose meaning nobody wrote down, who reads it."""
    meaning = setting_meanings().get((whose, key))
    readers = all_readers().get((whose, key), {})
    if meaning:
        by = phrase(", by {by}, which reads it", by=meaning.by) if meaning.by else ""
        return [meaning.does], phrase("what it does is told{by}; what was measured of it stands below", by=by)
    if not readers:
        return [phrase("What it does the lab does not tell.")], phrase("its meaning is not known here")
    told = joined(
        "; ",
        (
            phrase("{readers} (on {releases})", readers=", ".join(names), releases=", ".join(releases))
            for releases, names in _by_releases(readers).items()
        ),
    )
    return [phrase("What it does the lab does not tell; what reads it: {told}.", told=told)], phrase(
        "who reads it is in the releases' classes",
    )


def _by_releases(readers: Mapping[str, Sequence[str]]) -> Mapping[tuple[str, ...], list[str]]:
    by: dict[tuple[str, ...], list[str]] = {}
    for name, releases in readers.items():
        by.setdefault(tuple(releases), []).append(name)
    return by


def _advice_with(incident: Incident, key: str) -> str:
    """What of an incident's advice names a setting, with the incident that it is for."""
    sentences = re.split(r"(?<=[.;:]) ", incident.advice)
    named = [one for one in sentences if re.search(rf"\b{re.escape(key)}\b", one)]
    english = f"{incident.name} ({incident.title}): {' '.join(named)}"
    # Another language may part the advice otherwise.
    parted = re.split("(?<=[.;:\uff1b\u3002]) ?", translated(incident.advice))
    said = "".join(one for one in parted if re.search(rf"(?<!\\w){re.escape(key)}(?!\\w)", one, re.ASCII))
    figures = {"incident": incident.name, "title": phrase(incident.title), "advice": said}
    return Phrase(english, phrase("{incident} ({title}): {advice}").template, figures)


def _grouped(values: Mapping[str, str]) -> Iterator[str]:
    """Values by release, releases of one value together."""
    by: dict[str, list[str]] = {}
    for release, value in values.items():
        by.setdefault(value or phrase("given by the machine"), []).append(release)
    return (_on(value, releases) for value, releases in by.items())


def _on(what: str, releases: Iterable[str]) -> str:
    return phrase("{what} on {releases}", what=what, releases=", ".join(releases))


def _codes(text: str) -> Iterator[Answer]:
    # In words it is what the code is called: `slave not available`.
    name = text.upper().replace(" ", "_") if WORDS_OF_A_CODE.fullmatch(text) else text
    wanted = re.fullmatch(r"(?:CODE:?\s*|code[=:]?\s*)?(-?\d{1,5}|[A-Z][A-Z0-9_]+)", name)
    if not wanted:
        return
    by: dict[tuple[str, str], dict[str, str]] = {}
    for release in releases_with_settings():
        for name, number in settings_of(release).codes.items():
            if SAID_BY_CLIENTS.get(wanted[1], wanted[1]) in (name, number):
                by.setdefault((number, name), {})[release] = name
    numbers = {number for number, _ in by}
    for (number, name), releases in by.items():
        others = [_on(other, of) for (same, other), of in by.items() if same == number and other != name]
        known = ANSWER_CODES.get(name)
        settings = ", ".join(known.settings) if known else ""
        yield Answer(
            asked=text,
            kind="code",
            name=phrase("code {number}, {name}", number=number, name=name),
            happens=[
                *([known.means] if known else []),
                phrase(
                    "An answer's code on {releases}.",
                    releases=", ".join(releases),
                ),
            ],
            concerns=[
                *(
                    [phrase("the number is reused: it is {others}", others=joined(", ", others))]
                    if others and len(numbers) == 1
                    else []
                ),
                *([phrase("decided by {settings}", settings=settings)] if settings else []),
            ],
            do=[known.do]
            if known
            else [
                phrase("The words beside the code say what it is about: `mqlab explain 'THE WORDS'`."),
            ],
            sure=[
                phrase("the number is read from the releases' classes; meaning and advice are told, not measured"),
                *_recorded_of(known),
            ],
            see=[_see(one) for one in known.incidents] if known else [],
        )


def _values(text: str) -> Iterator[Answer]:
    """A value of a setting, or an answer of a listener; ``SETTING=VALUE`` is answered as the setting is."""
    if value := SETTING_VALUES.get(text.upper().rpartition(".")[2]):
        yield Answer(
            asked=text,
            kind="value",
            name=phrase("{value} ({of})", value=text.upper().rpartition(".")[2], of=phrase(value.of)),
            happens=[value.means],
            concerns=[phrase("decided by {settings}", settings=", ".join(value.settings))] if value.settings else [],
            do=[value.do],
            sure=[
                phrase("the name is in the releases' classes; meaning and advice are told, not measured"),
                *_recorded_of(value),
            ],
            see=[_see(one) for one in value.incidents],
        )


def _recorded_of(code: AnswerCode | SettingValue | None) -> list[str]:
    """What the record holds of the incidents that show a code, a claim each."""
    told: list[str] = []
    for incident in map(scenarios.incident, code.incidents if code else ()):
        claims = [one for one in incident.claims if _standings(one.id)] if isinstance(incident, Scenario) else []
        words = _words_in(f"{code.means} {code.do}") if code else set()
        # Of the claims of an incident the one that speaks of the same.
        claims.sort(key=lambda one: len(_words_in(one.says) & words), reverse=True)
        told += [
            phrase("measured in {incident}: {line}", incident=incident.name, line=line)
            for line in _standings_of(claims[:1])
        ]
    return told


def _see(incident: str) -> str:
    """The command that tells of an incident, and what the lab has of it."""
    has = phrase("measured") if scenarios.incident(incident).is_replayed else UNREPLAYED
    return phrase("{command}  # {has}", command=f"mqlab explain {incident}", has=has)


# --- lines of logs ------------------------------------------------------------------------------------------------------


def _lines_and_questions(text: str) -> Iterator[Answer]:
    """What a line is a sign of, then the question that it is about. Of a line that is no sign the question comes before who
    writes it, and behind that where the words are a person's."""
    over, signs = _signs(text)
    asked = None if over else _question(text, signs)
    is_about = asked is not None and asked.has_line(text)
    # A piece of a line that has many letters, or a whole one, is told as the line as well.
    is_line = asked is None or is_about or letters_in(text) >= 2 * FIT_LETTERS_MIN
    lines = list(map(_ended(text), over))
    if is_line:
        lines += _of_signs(text, signs)
        lines += () if over or signs else _who_writes(text, asked)
    asked_about = [] if asked is None else [_questioned(text, asked)]
    yield from (*asked_about, *lines) if is_about and not signs else (*lines, *asked_about)


def _settings_in(text: str) -> Iterator[Answer]:
    """The one setting that a question names, in whatever language the rest of it is."""
    found = [
        answer for word in dict.fromkeys(re.findall(r"[A-Za-z][A-Za-z0-9.]{5,}", text)) for answer in _settings(word)
    ]
    yield from found if len({one.name for one in found}) == 1 else ()


def _question(text: str, signs: Sequence[Incident]) -> Question | None:
    """The one that most of a text speaks for. A line of a log is taken for what RocketMQ writes alone; what is a sign of incidents
    for a question that has one of them among its causes."""
    told = [one for one in QUESTIONS if one.has_line(text)]
    is_log_like = LOG_LIKE.search(text) is not None or len(text.split()) > QUESTION_WORDS_MAX
    if not told and not is_log_like:
        causes = {one.name for one in signs}
        told = [one for one in QUESTIONS if any(one.matched(text)) and (not causes or causes & set(one.causes))]
    return max(told, key=lambda one: one.matched(text), default=None)


def _questioned(text: str, question: Question) -> Answer:
    replayed = [name for name in question.causes if scenarios.incident(name).is_replayed]
    told = [name for name in question.causes if name not in replayed]
    return Answer(
        asked=text,
        kind="question",
        name=question.name,
        happens=[
            question.says,
            *(phrase("- {why} ({incident})", why=phrase(why), incident=name) for name, why in question.causes.items()),
        ],
        do=question.do,
        sure=[
            phrase("nothing of your cluster was looked at; the commands tell which cause is yours"),
            *([phrase("measured on clusters: {replayed}", replayed=", ".join(replayed))] if replayed else []),
            *([phrase("known by code and reports alone: {told}", told=", ".join(told))] if told else []),
        ],
        see=[f"mqlab explain {name}" for name in list(question.causes)[:1]],
    )


def _signs(text: str) -> tuple[list[Incident], list[Incident]]:
    """The incidents that a line says are over, and those that it is a sign of, what takes the fewest events first."""
    # A piece of what RocketMQ writes stands for the whole, with the class of an exception as logs have it.
    whole = [said for one in _fitting(text) if _is_whole(one, text) for said in _as_logged(one)]
    events = {
        one.event
        for one in WORDINGS
        if _has_words(one.words.strip().lower(), text.lower()) or any(one.words.strip() in said for said in whole)
    }
    of = [(one, one.sign) for one in scenarios.INCIDENTS if one.sign]
    over = [incident for incident, sign in of if events & set(sign.over)]
    signs = [(incident, sign) for incident, sign in of if events & set(sign.events)]
    own = [(incident, sign) for incident, sign in signs if sign.words and re.search(sign.words, text)]
    signs = own or [(incident, sign) for incident, sign in signs if not sign.words]
    # What takes the fewest events is what the line speaks for most.
    signs.sort(key=lambda one: (len(one[1].events), one[0].name))
    return over, [incident for incident, _ in signs]


def _ended(text: str) -> Callable[[Incident], Answer]:
    """What a line means that says that an incident is over."""

    def told(incident: Incident) -> Answer:
        return Answer(
            asked=text,
            kind="line",
            name=phrase("the end of {name}", name=incident.name),
            happens=[
                phrase("The line says that it is over: {because}.", because=phrase(incident.sign.over_because))
                if incident.sign else "",
            ],
            do=[phrase(
                "Nothing at once. See how long it lasted and why it came, so that it does not come again: `mqlab "
                "diagnose LOG...` has its times, `mqlab explain {name}` what to do about it.",
                name=incident.name,
            )],
            sure=[phrase("read from the releases' classes; nothing was measured of it")],
            see=[_see(incident.name)],
        )  # fmt: skip

    return told


def _of_signs(text: str, signs: Sequence[Incident]) -> Iterator[Answer]:
    fits = _fitting(text)
    for incident in signs[:WRITTEN_TOLD_MAX]:
        told = _of_incident(text, incident)
        # Of texts that are another incident's none is told here.
        own = [one for one in fits if _is_of(one, incident)] or [
            one for one in fits if _is_whole(one, text) and not any(_is_of(one, other) for other in scenarios.INCIDENTS)
        ]
        yield dataclasses.replace(
            told, kind="line", name=phrase("a sign of {name}", name=incident.name), happens=[*told.happens, *map(_who, own[:1])],
            see=[phrase("mqlab diagnose LOG...  # looks for the other signs, and for what speaks against it"), *told.see],
        )  # fmt: skip


def _who_writes(text: str, asked: Question | None) -> Iterator[Answer]:
    """The classes that write a text; of one that goes on otherwise than what they write it is only told that it is near."""
    fits = _fitting(text)
    whole = [one for one in fits if _is_whole(one, text)]
    if whole:
        yield Answer(
            asked=text,
            kind="line",
            name=whole[0].text,
            happens=[*map(_who, whole[:WRITTEN_TOLD_MAX])],
            concerns=[phrase("the releases that are named; written by the {part}", part=_part(whole[0]))],
            do=[
                phrase("What to do is told above: {question}.", question=phrase(asked.name))
                if asked and asked.has_line(text)
                else _beside(whole)
            ],
            sure=[phrase("read from the releases' classes; nothing was measured of it")],
        )
    elif fits and asked is None:
        yield Answer(
            asked=text,
            kind="nearest",
            name=phrase("{text} is not known; the nearest that is:", text=repr(text[:80])),
            happens=[*map(_who, fits[:WRITTEN_TOLD_MAX])],
            do=[
                phrase(
                    "Compare it word by word with the text: what stands in place of {} is a value, all else is constant.",
                )
            ],
            sure=[phrase("near by its words alone: it need not mean the same")],
        )


def _is_whole(one: Written, text: str) -> bool:
    """Whether a line is such a text, or a piece of it: up to where the line ends it has all that is constant."""
    line, parts, at = text.lower(), [part.lower() for part in one.fixed], 0
    if one.fits(text) or any(line in part for part in parts):
        return True
    for number, part in enumerate(parts):
        found = line.find(part, at)
        if found < 0:
            return number > 0 and _is_cut(line[at:].strip(), part)
        at = found + len(part)
    return True


def _is_cut(rest: str, part: str) -> bool:
    """Whether a line's end is a value, or a value and the beginning of what comes next."""
    return any(
        not re.search(r"\s", rest[:at]) and part.startswith(rest[at:].strip()) for at in range(len(rest), -1, -1)
    )


def _as_logged(one: Written) -> tuple[str, str]:
    """A text alone, and behind the class of an exception that has it."""
    return one.text, f"{one.by.split('.')[-2]}: {one.text}"


def _is_of(one: Written, incident: Incident) -> bool:
    """Whether a text is a wording of the incident's own events."""
    events = incident.sign.events if incident.sign else ()
    return any(
        wording.words.strip() in text for wording in WORDINGS if wording.event in events for text in _as_logged(one)
    )


def _has_words(words: str, text: str) -> bool:
    """As ``mqlab diagnose`` finds them in a line; of a text that is no whole line, a piece of them is enough."""
    return words in text or (letters_in(text) >= FIT_LETTERS_MIN and text in words)


def _beside(fits: Sequence[Written]) -> str:
    """What to do about a line that no incident has as its sign; one of its incidents may tell of it in other words."""
    words = {part.strip() for one in fits for part in one.fixed if letters_in(part) >= FIT_LETTERS_MIN}
    told = [one.name for one in scenarios.INCIDENTS if any(word.lower() in _told_of(one) for word in words)]
    if told:
        return phrase(
            "It is told of in {value}.",
            value=", ".join(f"`mqlab explain {name}`" for name in told[:WRITTEN_TOLD_MAX]),
        )
    return phrase(
        "No incident of the lab tells of it. `mqlab diagnose LOG...` counts what stands beside it in whole logs.",
    )


def _told_of(incident: Incident) -> str:
    because = incident.sign.because if incident.sign else ""
    return f"{incident.symptom} {because} {incident.advice}".lower()


@lru_cache(maxsize=1)
def _fitting(text: str) -> Sequence[Written]:
    """Texts of the releases that the line has, the longest alone; else those that it has a beginning or a piece of."""
    whole = [one for one in all_written() if one.fits(text) and _is_told(one, one.letters, text)]
    most = max((one.letters for one in whole), default=0)
    if whole:
        return [one for one in whole if one.letters == most]
    by = {one: _shared_letters(one, text) for one in all_written()}
    most = max(by.values())
    return [one for one, letters in by.items() if letters == most] if most >= FIT_LETTERS_MIN else []


def _is_told(one: Written, letters: int, text: str) -> bool:
    # A sentence of a person's is no text with a gap for most of it.
    is_own = _SENTENCE.fullmatch(text) is None or 2 * letters >= letters_in(text)
    return (letters >= FIT_LETTERS_MIN and is_own) or one.text.strip() == text


def _shared_letters(one: Written, text: str) -> int:
    """Of the pieces between its gaps that stand in the text, or of the text where it is within one of them."""
    text, fixed = text.lower(), [part.lower() for part in one.fixed]
    within = max((letters_in(text) for part in fixed if text in part), default=0)
    return max(within, sum(letters_in(part) for part in fixed if letters_in(part) >= FIT_LETTERS_MIN and part in text))


def _who(one: Written) -> str:
    how = {"": phrase("throws or answers"), PRINTED: phrase("prints")}.get(one.level) or phrase(
        "logs as {level}", level=one.level.upper()
    )
    releases = ", ".join(one.releases)
    return phrase("{by} {how} {text} on {releases}.", by=one.by, how=how, text=repr(one.text), releases=releases)


def _part(one: Written) -> str:
    """Of RocketMQ, as an operator calls it."""
    package = one.by.partition(".")[0]
    return {
        "namesrv": phrase("name server"),
        "store": phrase("broker's store"),
        "remoting": phrase("broker, client or name server (remoting)"),
    }.get(package, package)


def _words_in(text: str) -> set[str]:
    """The words that carry a meaning, without the endings of a plural or a tense."""
    return {_stem(word) for word in map(str.lower, WORD.findall(text)) if not SMALL_WORDS.fullmatch(word)}


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= LETTERS_STEM_MIN and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def _nearest(text: str) -> Iterator[Answer]:
    """Among everything that is known by a name or a text."""
    names = [one.name for one in scenarios.INCIDENTS] + [claim.id for _, claim in _all_claims()]
    keys = {
        key
        for release in releases_with_settings()
        for of in (settings_of(release),)
        for key in (*of.broker, *of.client)
    }
    # The ids of claims are no words.
    candidates = dict.fromkeys(
        (*(one.name for one in scenarios.INCIDENTS), *sorted(keys), *(one.text for one in all_written()))
    )
    having = {candidate: _words_in(candidate) for candidate in candidates}
    told = {one.name: _words_in(f"{one.name} {one.title} {_told_of(one)}") for one in scenarios.INCIDENTS}
    known = {*itertools.chain(*told.values(), *having.values()), *ALSO_MEANT}
    words = {_meant(word, known) for word in _words_in(text)}
    # A question is about what happens, and no text that a program writes.
    is_question = QUESTION.fullmatch(text) is not None
    words |= {more for word in words if is_question for more in ALSO_MEANT.get(word, ())}
    alike = {} if is_question else _shares(words, having, of_both=True)
    score = {one: shared for one, shared in alike.items() if shared >= LIKE_MIN}
    seen = {one.name: _words_in(f"{one.name} {one.title} {one.symptom}") for one in scenarios.INCIDENTS}
    by_all, by_seen = (_shares(words, of, of_both=False) for of in (told, seen))
    covered = {one: (share + by_seen.get(one, 0.0)) / 2 for one, share in by_all.items()}
    score |= {one: share for one, share in covered.items() if share >= (QUESTION_MIN if is_question else COVERED_MIN)}
    typed = difflib.get_close_matches(text, [*names, *keys], WRITTEN_TOLD_MAX, TYPED_LIKE_MIN)
    score |= {one: float(1 + len(typed) - place) for place, one in enumerate(typed)}
    symptoms = {
        one.name: phrase("{name}: {says}", name=one.name, says=phrase(one.symptom)) for one in scenarios.INCIDENTS
    }
    near = sorted(score, key=score.__getitem__, reverse=True)[:WRITTEN_TOLD_MAX]
    if near:
        yield Answer(
            asked=text,
            kind="nearest",
            name=phrase("{text} is not known; the nearest that is:", text=repr(text[:80])),
            happens=[symptoms.get(one, one) for one in near],
            do=[f"mqlab explain {one!r}" for one in near[:1]],
            sure=[phrase("near by its words alone: it need not mean the same")],
        )


def _meant(word: str, known: Collection[str]) -> str:
    """The known word that is written most like it."""
    return word if word in known else next(iter(difflib.get_close_matches(word, known, 1, MEANT_LIKE_MIN)), word)


def _shares(words: Set[str], having: Mapping[str, Set[str]], *, of_both: bool) -> Mapping[str, float]:
    """By name the share of the words that both have, of those of the text or of both; a word weighs more the fewer have it."""
    weight = {word: math.log(len(having) / count) for word, count in Counter(itertools.chain(*having.values())).items()}
    rarest = math.log(len(having))

    def heavy(some: Set[str]) -> float:
        return sum(weight.get(word, rarest) for word in some)

    return {
        one: heavy(words & theirs) / (heavy(words | theirs if of_both else words) or 1)
        for one, theirs in having.items()
        if words & theirs
    }
