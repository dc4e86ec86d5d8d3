"""What the ledger keeps as English sentences, as phrases that can be said in another language.

A summary is read back into the claim's own sentence and what stands in its places (``analysis.verdicts.claims``), and these into
their numbers (``analysis.verdicts.sentences``). What does not read back stays the English that it is.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from harness.language import ENGLISH, Phrase, joined, language, phrase, translated
from harness.model.findings import Finding
from harness.model.rules import PLACEHOLDER, Claim

_COUNTS = re.compile(
    r"(?P<in>[Ii]n )?(?P<count>[Nn]one|[Aa]ll|[\d,]+) (?:of )?(?P<tries>[\d,]+) (?P<noun>[a-z][a-z -]*)"
)
_WHERE = re.compile(
    r"(?P<number>.+? )?(?P<in>[Ii]n )(?P<each>each of )?(?P<count>[\d,]+) (?P<noun>deployments?|pairs?|clusters?)"
    r"(?: (?P<with>of|with) (?P<tries>[\d,]+) (?P<what>[a-z][a-z -]*))?"
)
_BOUNDS = re.compile(r"(?P<which>below|above|at worst|at least|at most) (?P<number>.+)")
_MISSING = re.compile(r"(?P<which>not measured|undecided) in (?P<count>[\d,]+)(?P<more> more)?")
_SHARE = re.compile("(?P<share>[\\d.,]+\\s?%) of (?P<noun>[a-z][a-z -]*)")
_RANGE = re.compile(r"(?P<low>[^a-z]+) (?P<word>to|and) (?P<high>[^a-z]+)")
_IN_BRACKETS = re.compile(r"(?P<before>[^()]+?) \((?P<inside>[^()]+)\)")
_UNKNOWN = re.compile(r"[Aa]n unknown number of (?P<noun>[a-z][a-z -]*) \[not measured\]")
_BY_ITSELF = re.compile(r"(?P<how>as claimed|other than claimed|seen) (?P<words>in .+)")
_BETWEEN = re.compile(r"(, |; )")
_SENTENCE = re.compile(r"(?<=\.) ")
_FULL_STOP = "\u3002"

TEMPLATES = (
    "in none of {tries}", "in all {tries}", "in {count} of {tries}", "none of {tries}", "all {tries}", "{count} of {tries}",
    "below {number}", "above {number}", "at worst {number}", "at least {number}", "at most {number}",
    "in {clusters}", "in each of {clusters}", "{number} {where}", "{clusters} of {tries}", "{clusters} with {tries}",
    "{low} to {high}", "{low} and {high}", "{share} of {noun}", "{figure} ({range})",
    "not measured in {count}", "not measured in {count} more", "undecided in {count}",
    "as claimed {figure}", "other than claimed {figure}", "seen {figure}",
    "an unknown number of {noun} [not measured]", "Undecided ({reason}): {said}",
    " What refutes it: {why}.", " It holds here: {scopes}.",
    "{name} had counterexamples {figure}", "{name} happened {figure}", "{name} held {figure}", "{name} was {figure}",
)  # fmt: skip
"""What a figure or a sentence is said by; the catalogue has each."""
NOTHING = ("Nothing of it was measured.", "No trial of its present rule and experiment is recorded yet.")
"""In place of a claim's sentence, which would tell figures."""


def anew(words: str) -> str:
    """What was found of a part: ``in 2 of 36 stalls (below 18 %, in 20 deployments)``, ``61.5 s (in each of 5 deployments)``."""
    if isinstance(words, Phrase):
        return words
    if found := _UNKNOWN.fullmatch(words):
        return Phrase(words, "an unknown number of {noun} [not measured]", {"noun": phrase(found["noun"])})
    if words == "[not measured]":
        return phrase("[not measured]")
    if found := _BY_ITSELF.fullmatch(words):
        return Phrase(words, f"{found['how']} {{figure}}", {"figure": anew(found["words"])})
    if (found := _WHERE.fullmatch(words)) and found["number"]:
        of = _where(words, found).figures
        return Phrase(words, "{figure} ({range})", {"figure": of["number"], "range": of["where"]})
    if found := _IN_BRACKETS.fullmatch(words):
        inside = [_piece(one) for one in _BETWEEN.split(found["inside"])]
        return Phrase(words, "{figure} ({range})", {"figure": _piece(found["before"]), "range": joined("", inside)})
    return _piece(words)


def _piece(words: str) -> str:
    """A figure without what stands behind it in brackets, or one of the things that stand there."""
    if words in (", ", "; "):
        return phrase(words)
    if found := _COUNTS.fullmatch(words):
        tries = _counted(found["tries"], found["noun"])
        many = found["count"].lower()
        template = {"none": "none of {tries}", "all": "all {tries}"}.get(many, "{count} of {tries}")
        if found["in"]:
            template = {"none": "in none of {tries}", "all": "in all {tries}"}.get(many, "in {count} of {tries}")
        return Phrase(words, template, {"tries": tries, "count": many})
    if found := _SHARE.fullmatch(words):
        return Phrase(words, "{share} of {noun}", {"share": found["share"], "noun": phrase(found["noun"])})
    if found := _MISSING.fullmatch(words):
        template = {"not measured": "not measured in {count}", "undecided": "undecided in {count}"}[found["which"]]
        return Phrase(words, template + (found["more"] or ""), {"count": found["count"]})
    if found := _BOUNDS.fullmatch(words):
        return Phrase(words, f"{found['which']} {{number}}", {"number": found["number"]})
    if found := _WHERE.fullmatch(words):
        return _where(words, found)
    if found := _RANGE.fullmatch(words):
        return Phrase(words, f"{{low}} {found['word']} {{high}}", {"low": found["low"], "high": found["high"]})
    return words


def _where(words: str, found: re.Match[str]) -> Phrase:
    where: str = _counted(found["count"], found["noun"])
    if found["what"]:
        template = {"of": "{clusters} of {tries}", "with": "{clusters} with {tries}"}[found["with"]]
        tries = _counted(found["tries"], found["what"])
        english = f"{where} {found['with']} {tries}"
        where = Phrase(english, template, {"clusters": where, "tries": tries})
    template = "in each of {clusters}" if found["each"] else "in {clusters}"
    said = Phrase(f"in {found['each'] or ''}{where}", template, {"clusters": where})
    if not found["number"]:
        return said
    return Phrase(words, "{number} {where}", {"number": _piece(found["number"].strip()), "where": said})


def _counted(count: str, noun: str) -> Phrase:
    return phrase(f"{{count}} {noun}", count=count)


def without(pattern: re.Pattern[str], text: str) -> str:
    """A text without what the pattern matches in it, or in its figures."""
    left = pattern.sub("", text)
    if not isinstance(text, Phrase):
        return left
    separator, *parts = text.parts or ("",)
    figures = {name: _without(pattern, one) for name, one in text.figures.items()}
    return Phrase(left, text.template, figures, (separator, *(without(pattern, one) for one in parts)) if parts else ())


def _without(pattern: re.Pattern[str], figure: object) -> object:
    if not isinstance(figure, str):
        return figure
    # A figure in words is made of what is left of it; a sentence is not.
    made = anew(pattern.sub("", str(figure)))
    return made if isinstance(made, Phrase) or not isinstance(figure, Phrase) else without(pattern, figure)


# --- claims -------------------------------------------------------------------------------------------------------------


def line_anew(claim: Claim, line: Finding) -> Finding:
    """A line of the ledger with its sentences as phrases; as it is where English is read."""
    if language() == ENGLISH:
        return line
    parts = tuple(dataclasses.replace(part, words=anew(part.words)) for part in line.parts)
    return dataclasses.replace(line, summary=summary_anew(claim, line), parts=parts, says=phrase(line.says))


def summary_anew(claim: Claim, line: Finding) -> str:
    """The claim's sentence with what was found, why it is undecided, what refutes it, and where it holds."""
    found = _pattern(claim.summary).fullmatch(line.summary)
    if found is None:
        return line.summary
    if found["nothing"]:
        said: str = phrase(found["nothing"])
    else:
        names = ["".join(one) for one in PLACEHOLDER.findall(claim.summary)]
        figures = {name: anew(found[f"place_{number}"]) for number, name in enumerate(names)}
        said = Phrase(found["said"], claim.summary, figures)
    if found["reason"]:
        reason, _, lack = found["reason"].partition(": ")
        reason = joined(": ", (phrase(reason), _lack(lack))) if lack else phrase(reason)
        said = Phrase(
            f"Undecided ({found['reason']}): {said}", "Undecided ({reason}): {said}", {"reason": reason, "said": said}
        )
    behind = list(_behind(found))
    return joined("", (said, *behind)) if behind else said


def _lack(words: str) -> str:
    found = re.fullmatch(r"(\d+) deployments are needed", words)
    return phrase("{count} deployments are needed", count=found[1]) if found else phrase(words)


def _behind(found: re.Match[str]) -> Iterator[str]:
    if why := found["refutes"]:
        yield Phrase(f" What refutes it: {why}.", " What refutes it: {why}.", {"why": _refuting(why)})
    if scopes := found["scopes"]:
        each = joined("; ", map(phrase, scopes.split("; ")))
        yield Phrase(f" It holds in {found['which']}: {scopes}.", " It holds here: {scopes}.", {"scopes": each})


def _refuting(why: str) -> str:
    """``"code 2" had counterexamples in 1 of 40 stalls (...)``, as ``refuting`` of ``analysis.verdicts.sentences`` says it."""
    found = re.fullmatch(
        r"(?P<name>\".+?\"(?: \(.+?\))?) (?P<how>had counterexamples|happened|held|was) (?P<words>.+)", why
    )
    if found is None:
        return why
    template = {
        "had counterexamples": "{name} had counterexamples {figure}",
        "happened": "{name} happened {figure}",
        "held": "{name} held {figure}",
        "was": "{name} was {figure}",
    }[found["how"]]
    return Phrase(why, template, {"name": found["name"], "figure": anew(found["words"])})


@lru_cache(maxsize=1000)
def _pattern(template: str) -> re.Pattern[str]:
    """Of all sentences that a claim's own may have become."""
    pieces, at = [], 0
    for number, match in enumerate(PLACEHOLDER.finditer(template)):
        pieces += [re.escape(template[at : match.start()]), f"(?P<place_{number}>.+?)"]
        at = match.end()
    said = "".join([*pieces, re.escape(template[at:])])
    return re.compile(
        rf"(?:Undecided \((?P<reason>[^()]*)\): )?(?:(?P<nothing>{'|'.join(map(re.escape, NOTHING))})|(?P<said>{said}))"
        r"(?: What refutes it: (?P<refutes>.+?)\.)?(?: It holds in (?P<which>these scopes|this scope): (?P<scopes>.+)\.)?"
    )


def sentence_anew(template: str, name: str, english: str, figures: Mapping[str, str]) -> str:
    """The one of a summary's sentences that has the part of that name. Another language may part them otherwise."""
    if language() == ENGLISH:
        return english
    for one in re.split(f"(?<={_FULL_STOP})", translated(template)):
        told = {"".join(found) for found in PLACEHOLDER.findall(one)}
        if told and told <= figures.keys() and any(found[1] == name for found in PLACEHOLDER.findall(one)):
            return Phrase(english, one, {key: anew(words) for key, words in figures.items()})
    return english
