"""What the articles get wrong, as the README lists it: claims in the articles' own words, with the releases that refute them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from harness.model.findings import Finding
from harness.model.verdicts import HOLDS_IN_PART, REFUTED_IN_PART, VerdictKind
from tools.recorded.must_know import WIDTH

MARKERS = ("<!-- articles:begin -->", "<!-- articles:end -->")

CLAIMS = (
    "ORDER-02",
    "ORDER-06",
    "ORDER-07",
    "ORDER-09",
    "BUSY-02",
    "BUSY-10",
    "BUSY-12",
    "POOL-07",
    "TOPICS-06",
    "TOPICS-08",
    "SENDS-01",
    "AVOID-02",
    "AVOID-04",
)
"""Those that somebody would act on. One that is in no article, or that no release refutes, is left out."""
WORDS: Mapping[str, str] = {
    VerdictKind.REFUTED: "is refuted on", REFUTED_IN_PART: "is refuted in part on", HOLDS_IN_PART: "holds in part on",
}  # fmt: skip


def articles_wrong(lines: Sequence[Finding], statuses: Mapping[str, Mapping[str, str]]) -> str:
    """A list item for each of these claims; ``statuses`` are by claim and release."""
    says = {line.claim: line.says for line in lines if line.article}
    items = []
    for claim in CLAIMS:
        of = statuses.get(claim, {})
        told = [f"{words} {_where(of, status)}" for status, words in WORDS.items() if status in of.values()]
        if told and claim in says:
            items.append(f'- "{says[claim].rstrip(".")}" {", and ".join(told)} ({claim}).')
    wrapped = (
        textwrap.wrap(one, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for one in items
    )
    return "\n".join(line for of_one in wrapped for line in of_one)


def _where(of: Mapping[str, str], status: str) -> str:
    releases = [release for release in sorted(of) if of[release] == status]
    return "all releases" if len(releases) == len(of) > 1 else ", ".join(releases)
