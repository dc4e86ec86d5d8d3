"""What ``mqlab explain`` says of what has a name: an incident, a claim, a setting, a code, a value of a setting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import scenarios
from analysis.ledger.since import BOTH, as_told
from analysis.verdicts.anew import without
from analysis.verdicts.words import STANDINGS
from harness.language import Phrase, joined, language, phrase, translated
from harness.model.findings import Finding
from harness.model.incident import REPOSITORY, Incident
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.releases.jars import recorded_releases
from harness.releases.readers import all_readers
from harness.releases.settings import releases_with_settings, settings_of
from mqlab.ask.recorded import committed_ledger, committed_since, measured_on_defaults
from scenarios.answer_codes import ANSWER_CODES, AnswerCode
from scenarios.setting_meanings import setting_meanings
from scenarios.setting_values import SETTING_VALUES, SettingValue

CLAIMS_TOLD_MAX = 6
LETTERS_STEM_MIN = 3
SMALL_WORDS = re.compile(
    "the|and|are|but|can|did|does|for|from|had|has|have|how|into|its|not|our|out|that|then|they|this|was|were|what|when|where|"
    "which|who|why|will|with|you|your|after|all|any|been|just|some|there|than|too|very"
)
SAID_BY_CLIENTS = {"SEND_OK": "SUCCESS"}
"""What a client calls an answer whose code has another name."""
_FULL_STOP = re.compile(r"\.+$")
_INTERVAL = re.compile(r" \([^()]*(?:deployments?|pairs)[^()]*\)")
WORDS_OF_A_CODE = re.compile(r"[A-Za-z]+( [A-Za-z]+){2,}")
UNREPLAYED = phrase("nothing replays it")
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


def incident_answers(text: str) -> Iterator[Answer]:
    """The incident of that name, if there is one."""
    for incident in scenarios.INCIDENTS:
        if incident.name == text.lower().replace("_", "-"):
            yield incident_answer(text, incident)


def incident_answer(asked: str, incident: Incident) -> Answer:
    """What happens, whom it concerns by release, and what to do, with what was measured of that."""
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


def claim_answers(text: str) -> Iterator[Answer]:
    """The claim of that id, if there is one, with its verdict and figures on each release."""
    for scenario, claim in all_claims():
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


def all_claims() -> Iterator[tuple[Scenario, Claim]]:
    """Each claim with the incident that it is of."""
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
    claim = next((claim for _, claim in all_claims() if claim.id == line.claim), None)
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


def setting_answers(text: str) -> Iterator[Answer]:
    """The settings of that name, of brokers and of clients, on the releases whose classes have them."""
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
            for _, claim in all_claims()
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


def code_answers(text: str) -> Iterator[Answer]:
    """The answer code of that name or number."""
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
            see=[see_incident(one) for one in known.incidents] if known else [],
        )


def value_answers(text: str) -> Iterator[Answer]:
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
            see=[see_incident(one) for one in value.incidents],
        )


def _recorded_of(code: AnswerCode | SettingValue | None) -> list[str]:
    """What the record holds of the incidents that show a code, a claim each."""
    told: list[str] = []
    for incident in map(scenarios.incident, code.incidents if code else ()):
        claims = [one for one in incident.claims if _standings(one.id)] if isinstance(incident, Scenario) else []
        words = words_in(f"{code.means} {code.do}") if code else set()
        # Of the claims of an incident the one that speaks of the same.
        claims.sort(key=lambda one: len(words_in(one.says) & words), reverse=True)
        told += [
            phrase("measured in {incident}: {line}", incident=incident.name, line=line)
            for line in _standings_of(claims[:1])
        ]
    return told


def see_incident(incident: str) -> str:
    """The command that tells of an incident, and what the lab has of it."""
    has = phrase("measured") if scenarios.incident(incident).is_replayed else UNREPLAYED
    return phrase("{command}  # {has}", command=f"mqlab explain {incident}", has=has)


def words_in(text: str) -> set[str]:
    """The words that carry a meaning, without the endings of a plural or a tense."""
    return {_stem(word) for word in map(str.lower, WORD.findall(text)) if not SMALL_WORDS.fullmatch(word)}


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= LETTERS_STEM_MIN and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
