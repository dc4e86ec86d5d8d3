"""README.md, docs/*.md and docs/defects: what is cited of a claim, a verdict on a release or a figure, stands in the ledger."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import scenarios
from harness.model.findings import Finding
from harness.paths import PACKAGES
from harness.releases.jars import recorded_releases
from mqlab.ask.recorded import committed_ledger

README = PACKAGES / "README.md"
PAGES = (README, *sorted((PACKAGES / "docs").glob("*.md")), *sorted((PACKAGES / "docs" / "defects").glob("*.md")))
CLAIM = re.compile(r"\b(?:X-[a-z0-9]+(?:-[a-z0-9]+)*|BUSY|POOL|ORDER|QUEUES|TOPICS|NAMES|SENDS|AVOID)-\d\d\b")
SHORT = re.compile(r"(?<![\w-])-(\d\d)\b")
"""``-03`` after a claim is another one of the same family."""
VERDICT = re.compile(r"(?<!expected )\b(confirmed|refuted|undecided)\b", re.IGNORECASE)
THEN = re.compile(r"\b(?:became|been|be|was|were|left)\b[^.;]*$|->\s*$")
"""Before a verdict: what it was once, or was to be. Or an arrow, whose releases stand elsewhere."""
RELEASE = re.compile(r"\b\d\.(?:x\b|\d+\.\d+\b)|\b(?:all|every) releases?\b")
LIST = re.compile(rf"\s*(?:\([^)]*\)\s*)?(?:on|of|:)?\s*((?:(?:,\s*|\s*and\s+)?(?:{RELEASE.pattern}))+)")
SENTENCE = re.compile(r"(?<=[.;!?])\s+(?=\W*[A-Z0-9-])|;\s|<br>|\s\|\s|\n\s*\n|\n(?=[-#|] )")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
WAY = re.compile(r"\b(?:by (freeze)|(byteman|freeze)\))")

Verdicts = Mapping[tuple[str, str], Mapping[str, str]]
"""By claim and release: of each injection, in processes, the verdict."""


@dataclass(frozen=True, kw_only=True)
class Cited:
    """That a page says so of a claim on a release."""

    claim: str
    release: str
    verdict: str
    way: str
    sentence: str

    def agrees(self, ledger: Verdicts) -> bool:
        """A way of injection that is not named is any of those that the ledger has."""
        found = ledger.get((self.claim, self.release), {})
        return self.verdict in ([found.get(self.way)] if self.way else found.values())


def releases_in(words: str) -> list[str]:
    """Of ``4.6.0``, of ``5.x``, of all."""
    named = RELEASE.findall(words)
    return [
        one
        for one in recorded_releases()
        if any(name == one or name == f"{one[0]}.x" or name.startswith(("all", "every")) for name in named)
    ]


def cited(text: str) -> Iterator[Cited]:
    """What the sentences of a page say of claims; one that names no claim, no release or no verdict says nothing."""
    family = ""
    for sentence in (" ".join(one.split()) for one in SENTENCE.split(text)):
        full = CLAIM.findall(sentence)
        family = full[-1][:-3] if full else family
        claims = [*full, *(f"{family}-{number}" for number in SHORT.findall(sentence) if family)]
        way = WAY.search(sentence)
        for verdict in VERDICT.finditer(sentence):
            before, after = sentence[: verdict.start()], sentence[verdict.end() :]
            if THEN.search(before):
                continue
            listed = LIST.match(after)
            releases = releases_in(listed[1] if listed else before)
            for claim in _of(verdict, sentence, claims):
                for release in releases:
                    yield Cited(
                        claim=claim, release=release, verdict=verdict[0].lower(),
                        way=next(filter(None, way.groups()), "") if way else "", sentence=sentence,
                    )  # fmt: skip


def _of(verdict: re.Match[str], sentence: str, claims: list[str]) -> list[str]:
    """The claim that the verdict follows at once, else all of the sentence."""
    near = re.search(rf"({CLAIM.pattern})(?: is|:|,| on [\d., and x]+(?: is|:))? $", sentence[: verdict.start()])
    return [near[1]] if near else list(dict.fromkeys(claims))


@pytest.fixture(scope="module")
def ledger() -> Verdicts:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in committed_ledger():
        if line.backend == "local":
            found.setdefault((line.claim, line.release), {})[line.injection] = str(line.verdict)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_verdict_that_a_page_cites_is_the_ledgers(page: Path, ledger: Verdicts) -> None:
    wrong = [one for one in cited(page.read_text("utf-8")) if not one.agrees(ledger)]
    assert [f"{one.claim} on {one.release} is not {one.verdict}: {one.sentence}" for one in wrong] == []


def test_pages_do_cite_verdicts() -> None:
    count = {page.name: len(list(cited(page.read_text("utf-8")))) for page in PAGES}
    assert count["incidents.md"] > 50
    assert sum(count[page.name] for page in PAGES if page.parent.name == "defects") > 7
    assert count["first-hour.md"] >= 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("X-a-b-01: confirmed on 4.6.0, 5.3.3, refuted on 5.5.0", [("X-a-b-01", "4.6.0", "confirmed"),
         ("X-a-b-01", "5.3.3", "confirmed"), ("X-a-b-01", "5.5.0", "refuted")]),
        ("ORDER-06 on 4.9.7: undecided. A graceful", [("ORDER-06", "4.9.7", "undecided")]),
        ("measured: 4.9.7: it stood. (ORDER-07, refuted)", []),
        ("TOPICS-01 on 5.3.3 is confirmed, master", [("TOPICS-01", "5.3.3", "confirmed")]),
        ("Confirmed on 5.5.0, and no defect: it fails (X-a-b-02)", [("X-a-b-02", "5.5.0", "confirmed")]),
        ("X-a-b-01 became undecided on 5.3.3, where it had been confirmed.", []),
        ("X-a-b-03 is refuted on 5.3.3 where it was expected to be confirmed.", [("X-a-b-03", "5.3.3", "refuted")]),
        ("X-a-b-03 is odd. So -06 is undecided on 5.x.", [("X-a-b-06", "5.3.3", "undecided"), ("X-a-b-06", "5.5.0", "undecided")]),
        ("(BUSY-20 by freeze, refuted on 4.6.0 and 5.5.0 in a run)", [("BUSY-20", "4.6.0", "refuted"),
         ("BUSY-20", "5.5.0", "refuted")]),
        ("not on 4.6.0 (X-a-b-01 is refuted: AClass)", [("X-a-b-01", "4.6.0", "refuted")]),
    ],
)  # fmt: skip
def test_what_a_sentence_says(text: str, said: list[tuple[str, str, str]]) -> None:
    assert [(one.claim, one.release, one.verdict) for one in cited(text)] == said


def test_a_sentence_that_the_ledger_contradicts_is_found() -> None:
    ledger = {
        ("BUSY-20", "4.6.0"): {"byteman": "confirmed", "freeze": "refuted"},
        ("ORDER-06", "4.9.7"): {"signal": "undecided"},
    }
    text = "BUSY-20 by freeze is {} on 4.6.0. BUSY-20 is {} on 4.6.0. ORDER-06 is {} on 4.9.7."
    assert all(one.agrees(ledger) for one in cited(text.format("refuted", "confirmed", "undecided")))
    assert not any(one.agrees(ledger) for one in cited(text.format("confirmed", "undecided", "refuted")))


def test_what_the_articles_get_wrong_is_refuted_where_the_readme_says_so(ledger: Verdicts) -> None:
    text = README.read_text("utf-8")
    points = re.search(r"\*\*What the articles get wrong\*\*.*?\n\n(.*?)\n\n", text, re.DOTALL)
    assert points is not None
    wrong = []
    for point in points[1].split("\n- "):
        measured = {
            claim: [one for one in recorded_releases() if (claim, one) in ledger] for claim in CLAIM.findall(point)
        }
        for claim, on in measured.items():
            assert on, f"no release has {claim}"
            for release in releases_in(point) or on:
                if "refuted" not in ledger.get((claim, release), {}).values():
                    wrong.append(f"{claim} is not refuted on {release}: {point}")
    assert wrong == []
    assert len(points[1].split("\n- ")) > 5


def uncited(point: str, lines: list[Finding]) -> list[str]:
    """The numbers of a sentence that none of its claims has, rounded as they are; settings are the claims', too.

    Of the releases that it names, or of all.
    """
    claims, releases = CLAIM.findall(point), releases_in(point) or recorded_releases()
    readings = [one.reading for scenario in scenarios.ALL for one in scenario.claims if one.id in claims]
    of_them = [line for line in lines if line.claim in claims and line.release in releases]
    words = [word for line in of_them for word in (line.summary, line.says, *line.settings)]
    known = [float(number) for number in NUMBER.findall(" ".join([*readings, *words]).replace(",", ""))]
    said = NUMBER.findall(SHORT.sub("", CLAIM.sub("", RELEASE.sub("", point)))) if claims else []
    return [one for one in said if float(one) not in (round(number, len(one.partition(".")[2])) for number in known)]


def test_figures_that_the_readme_cites_with_a_claim_are_the_ledgers() -> None:
    points = [
        point
        for readme in (README, README.with_suffix(".zh-CN.md"))
        for point in re.findall(r"^- (.*)$", readme.read_text("utf-8"), re.MULTILINE)
    ]
    wrong = {point: numbers for point in points if (numbers := uncited(point, committed_ledger()))}
    assert wrong == {}
    assert sum(bool(CLAIM.search(point) and re.search(r"\d+ s\b", point)) for point in points) > 3


def test_a_figure_that_the_ledger_does_not_have_is_found() -> None:
    line = next(one for one in committed_ledger() if one.claim == "ORDER-09")
    summary = "In 27 of 112 owners, at worst 8,248 ms; 1.06 s."
    lines = [dataclasses.replace(line, release="4.6.0", summary=summary, says="", settings=())]
    assert uncited("On 4.6.0 in 27 of 112, 8248 ms (ORDER-09); 1.1 s", lines) == []
    assert uncited("In 27 of 112 (ORDER-09)", lines) == []
    assert uncited("On 5.x in 27 of 112 (ORDER-09)", lines) == ["27", "112"]
    assert uncited("In 9 of 112 owners (ORDER-09)", lines) == ["9"]
    assert uncited("In 9 of 112 owners", lines) == []
