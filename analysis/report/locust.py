"""What Locust itself counted: of a load by itself, and of each trial of an incident that it steered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from analysis.evidence.trials import TrialFacts
from analysis.report.document import Table
from analysis.verdicts.numbers import number
from harness.bounded import parsed, read_whole
from harness.rundir.reading import RunDirectory

COUNTS = "locust.json"
COUNTS_BYTES_MAX = 2**24
LINKS_MAX = 40
"""So many of the trials' files have a link; the others lie beside them."""


def locust_counts(folder: Path) -> tuple[int | None, int | None]:
    """Requests and failures by Locust's own account in a trial's folder; None for both where it wrote none."""
    try:
        tests = parsed(read_whole(folder / COUNTS, COUNTS_BYTES_MAX).decode())["tests"]
        return sum(int(test["requests"]) for test in tests), sum(int(test["failures"]) for test in tests)
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None, None


def locust_errors(folder: Path) -> Mapping[str, int]:
    """How often each error came, by its name, by Locust's own account; empty where it wrote none."""
    found: Counter[str] = Counter()
    try:
        for test in parsed(read_whole(folder / COUNTS, COUNTS_BYTES_MAX).decode())["tests"]:
            found.update({str(name): int(count) for name, count in test["errors"].items()})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return {}
    return dict(found)


def locust_tables(run: RunDirectory, trials: Iterable[TrialFacts]) -> Mapping[str, Sequence[Table]]:
    """By incident: what Locust counted in each trial that it steered, beside the sends of the trial's histories."""
    rows: dict[str, list[tuple[str, ...]]] = {}
    links: dict[str, dict[str, str]] = {}
    for facts in trials:
        trial = facts.trial
        folder = f"trials/{trial.trial}"
        requests, failures = locust_counts(run.path / folder)
        if requests is None or failures is None:
            continue
        row = (trial.trial, number(requests), number(failures), number(facts.sends))
        rows.setdefault(trial.incident, []).append(row)
        links.setdefault(trial.incident, {})[trial.trial] = f"{folder}/{COUNTS}"
    return {
        incident: (
            Table(
                title="What Locust counted",
                columns=("trial", "requests", "failures", "sends in the histories"),
                rows=tuple(found),
                note="Locust's users made the rate. Its counts are a second account of the same sends.",
                links=dict(list(links[incident].items())[:LINKS_MAX]),
            ),
        )
        for incident, found in rows.items()
    }
