"""The tables as Markdown. ``python -m analysis.verdicts.simulation.tables`` renews them in README.md beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.verdicts import events
from analysis.verdicts.simulation import by_events, by_sides
from harness.paths import PACKAGES

PAGE = PACKAGES / "analysis" / "verdicts" / "simulation" / "README.md"

MARK = "<!-- simulated: python -m analysis.verdicts.simulation.tables -->\n"


def tables() -> str:
    """All of them, each with a sentence that says what it shows."""
    return "\n".join([_deployments(), _distance(), _looks(), _pairs(), _facts(), _never(), _rates(), _topped_up()])


def _deployments() -> str:
    rows = []
    for between in (0.0, 0.5, 1.0):
        for units in (5, 21):
            for count in (5, 9):
                found = by_sides.values(1, between, units, count)
                figures = (by_sides.coverage(found), *(by_sides.confirmed(found, bound) for bound in (0, 1, 2)))
                rows.append([f"{between:g}", units, count, *map(_percent, figures)])
    return _table(
        "Quantities (Q), shares (S) and laws (L). The deployments' own standard deviation is a multiple of that of the tries "
        "inside one; the bound lies at the truth (a verdict is then false), or 1 and 2 standard deviations of a try beyond it.",
        ("between", "tries", "deployments", "range holds the truth", "false", "power at 1", "power at 2"),
        rows,
    )


def _distance() -> str:
    sizes = (5, 9, 15, 25)
    rows = []
    for distance in (1.0, 1.5, 2.0, 3.0):
        found = by_sides.values(2, 0.0, 1, sizes[-1])
        rows.append([f"{distance:g}", *(_percent(by_sides.confirmed(found[:, :size], distance)) for size in sizes)])
    return _table(
        "Power by the distance of the bound in standard deviations of what deployments give. Undecided at 5 thus means that the "
        "bound lies within about two of them.",
        ("distance", *(f"{size} deployments" for size in sizes)),
        rows,
    )


def _looks() -> str:
    found = by_sides.values(3, 0.0, 1, 200)
    asked = {"5 deployments, one look": range(5, 6), "4 runs of 5, judged after each": range(5, 21, 5)}
    asked |= {"10 runs of 5, judged after each": range(5, 51, 5), "200 deployments, judged after each": range(1, 201)}
    rows = [[words, _percent(by_sides.ever_confirmed(found, looks))] for words, looks in asked.items()]
    return _table(
        "Judging again after every run. The truth lies at the bound, so that each verdict is false; the rule promises 5 %.",
        ("looks", "false verdicts"),
        rows,
    )


def _pairs() -> str:
    rows = []
    for ratio in (0.4, 0.6, 0.75):
        decided = [by_sides.pairs_decide(4, pairs, ratio, 0.75, 0.3, 0.1) for pairs in (5, 9)]
        rows.append([f"{ratio:g}", *map(_percent, decided)])
    return _table(
        "Comparisons (C) with a bound of 0.75. Both arms of a pair share a drift of 30 %, each has noise of 10 % of its own. At "
        "0.75 a verdict is false.",
        ("true ratio", "5 pairs confirm", "9 pairs confirm"),
        rows,
    )


def _facts() -> str:
    shares = (0.5, 0.8, 0.95)
    rows = [[count, *(_percent(by_events.fact_passes(5, share, count)) for share in shares)] for count in (1, 2, 3, 5)]
    return _table(
        "Facts (F): what is so in a share of all deployments only, and passes for a fact. Two deployments are few: facts use "
        "all that other claims of the scenario need.",
        ("deployments", *(f"so in {_percent(share)}" for share in shares)),
        rows,
    )


def _never() -> str:
    rows = []
    for rate in (0.025, 0.05, 0.1, 0.2):
        for together in (0.0, 0.3, 1.0):
            seen = [
                by_events.refuted(by_events.counts(6, rate, deployments, tries, together))
                for deployments, tries in ((5, 8), (20, 2), (5, 21))
            ]
            rows.append([_percent(rate), f"{together:g}", *map(_percent, seen)])
    return _table(
        f'Never (U): how often the counterexample is seen that refutes; else it reads "not seen in 40 tries, below '
        f'{_percent(events.limit_of_none(40))}". Tries that go wrong together are worth as many as there are deployments, which '
        "is why both numbers are asked for and printed. Happens (E) is confirmed as often as this.",
        ("rate", "correlation", "5 deployments of 8", "20 of 2", "5 of 21"),
        rows,
    )


def _rates() -> str:
    rows = []
    for rate in (0.05, 0.2, 0.5):
        for together in (0.0, 0.1, 0.3):
            found = by_events.counts(7, rate, 5, 21, together)
            rows.append([_percent(rate), f"{together:g}", *map(_percent, by_events.coverage(found, 21, rate))])
    return _table(
        "Printed rates, in 5 deployments of 21 tries: how often the 95 % interval holds the rate. Rare events that come together "
        "are covered by neither; their number of deployments stands beside them.",
        ("rate", "correlation", "Clopper-Pearson", "Korn-Graubard from 3 deployments on"),
        rows,
    )


def _topped_up() -> str:
    rows = []
    for distance in (0.5, 1.0, 1.5, 2.0):
        found = by_sides.values(8, 0.0, 1, 17)
        covered, decided = by_sides.topped_up(found, distance, (5, 9, 13, 17))
        rows.append([f"{distance:g}", _percent(decided), _percent(covered)])
    return _table(
        "Ranges after top-ups: deployments are added (5, 9, 13, 17) until there is a verdict. The verdict's error stays below "
        "5 %; the range is that of its number of deployments and loses what is shown here.",
        ("distance of the bound", "decided", "range holds the truth"),
        rows,
    )


def _table(says: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [says, "", f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def renew() -> None:
    """Replace what stands below the mark of the page."""
    kept, _, _ = PAGE.read_text().partition(MARK)
    PAGE.write_text(f"{kept}{MARK}\n{tables()}")


if __name__ == "__main__":
    renew()
