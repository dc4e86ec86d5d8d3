"""What is expected of releases, in fewer words where several agree."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model import Expectation, VerdictKind

RELEASES = ("4.6.0", "4.9.7", "5.3.3")


def on_all(verdict: VerdictKind, because: str, source: str) -> Mapping[str, Expectation]:
    """The same of every release."""
    return {release: Expectation(verdict=verdict, because=because, source=source) for release in RELEASES}


def on_4x_and_5x(on_4x: Expectation, on_5x: Expectation) -> Mapping[str, Expectation]:
    """One of 4.6.0 and 4.9.7, another of 5.3.3."""
    return {release: on_5x if release.startswith("5.") else on_4x for release in RELEASES}
