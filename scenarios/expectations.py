"""What is expected of releases, in fewer words where several agree."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.claims import Expectation
from harness.model.verdicts import VerdictKind

RELEASES_4X = ("4.6.0", "4.9.7")
RELEASES = (*RELEASES_4X, "5.3.3")


def expect(
    verdict: VerdictKind, because: str, source: str, releases: tuple[str, ...] = RELEASES
) -> Mapping[str, Expectation]:
    """The same of each of these releases."""
    return dict.fromkeys(releases, Expectation(verdict=verdict, because=because, source=source))


def on_4x_and_5x(on_4x: Expectation, on_5x: Expectation) -> Mapping[str, Expectation]:
    """One of 4.6.0 and 4.9.7, another of 5.3.3."""
    return {release: on_4x if release in RELEASES_4X else on_5x for release in RELEASES}
