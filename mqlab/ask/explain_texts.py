"""What ``mqlab explain`` says of a text: a line of a log, a question, or what is nearest to words that are neither."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import lru_cache

import scenarios
from harness.language import phrase
from harness.model.incident import Incident
from harness.model.log_events import WORDINGS
from harness.releases.class_file import PRINTED
from harness.releases.settings import releases_with_settings, settings_of
from harness.releases.written import FIT_LETTERS_MIN, Written, all_written, letters_in
from mqlab.ask.explain_names import Answer, all_claims, incident_answer, see_incident, setting_answers, words_in
from scenarios.questions import QUESTIONS, Question

LIKE_MIN = 0.3
"""The share of the words of two texts that makes them near."""
COVERED_MIN = 0.5
"""The share of a text's words, by weight, that an incident has to have: half by what people see of it, half by all that is told."""
MEANT_LIKE_MIN = 0.8
"""How alike a word that nothing has and one that is meant by it are, letter by letter."""
TYPED_LIKE_MIN = 0.75
"""How alike a name and what was typed have to be, letter by letter."""
WRITTEN_TOLD_MAX = 3
QUESTION = re.compile(r"(?i)(why|how|what|when|where|which|is|are|can|does|do|my|our)\b.*[a-z]\s+[a-z].*")
ALSO_MEANT: Mapping[str, Sequence[str]] = {
    "lag": ("backlog", "behind"), "lagg": ("backlog", "behind"), "pile": ("backlog", "behind"), "pil": ("backlog", "behind"),
    "stuck": ("still", "stop"), "hang": ("still", "stop"), "miss": ("lost", "gone"), "disappear": ("lost", "gone"),
    "duplicate": ("twice", "again"), "duplicat": ("twice", "again"), "crash": ("end", "kill"), "die": ("end", "kill"),
}  # fmt: skip
"""Words of people for what incidents tell in other words; stems, as ``words_in`` has them."""
QUESTION_MIN = 0.15
"""The share of a question's words, by weight, that an incident has to have."""
LOG_LIKE = re.compile(r"\d\d:\d\d|\b(WARN|ERROR|INFO)\b|\[[A-Z_]{4,}\]|Exception|\bCODE\b|\{\}")
"""What a line of a log has, and no question."""
QUESTION_WORDS_MAX = 40
_SENTENCE = re.compile(r"[A-Za-z' ]+[?.!]?")


def line_and_question_answers(text: str) -> Iterator[Answer]:
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


def named_setting_answers(text: str) -> Iterator[Answer]:
    """The one setting that a question names, in whatever language the rest of it is."""
    found = [
        answer
        for word in dict.fromkeys(re.findall(r"[A-Za-z][A-Za-z0-9.]{5,}", text))
        for answer in setting_answers(word)
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
            see=[see_incident(incident.name)],
        )  # fmt: skip

    return told


def _of_signs(text: str, signs: Sequence[Incident]) -> Iterator[Answer]:
    fits = _fitting(text)
    for incident in signs[:WRITTEN_TOLD_MAX]:
        told = incident_answer(text, incident)
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


def nearest_answers(text: str) -> Iterator[Answer]:
    """Among everything that is known by a name or a text."""
    names = [one.name for one in scenarios.INCIDENTS] + [claim.id for _, claim in all_claims()]
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
    having = {candidate: words_in(candidate) for candidate in candidates}
    told = {one.name: words_in(f"{one.name} {one.title} {_told_of(one)}") for one in scenarios.INCIDENTS}
    known = {*itertools.chain(*told.values(), *having.values()), *ALSO_MEANT}
    words = {_meant(word, known) for word in words_in(text)}
    # A question is about what happens, and no text that a program writes.
    is_question = QUESTION.fullmatch(text) is not None
    words |= {more for word in words if is_question for more in ALSO_MEANT.get(word, ())}
    alike = {} if is_question else _shares(words, having, of_both=True)
    score = {one: shared for one, shared in alike.items() if shared >= LIKE_MIN}
    seen = {one.name: words_in(f"{one.name} {one.title} {one.symptom}") for one in scenarios.INCIDENTS}
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
