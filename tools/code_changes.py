"""What the code that expectations name became in a newer release: ``python -m tools.code_changes 5.3.3 5.5.0``.

An expectation may be the same for both only where this says so, or where ``scenarios.releases.READ`` has the difference.
"""

import sys
from collections.abc import Iterator, Sequence

import scenarios
from harness.errors import ReleaseError
from harness.model.scenario import Scenario
from harness.program import carried_out
from harness.releases.compare import compare, names_in
from scenarios.releases import READ


def lines(before: str, after: str) -> Iterator[str]:
    """A line a claim and named class or member, whose code is the same, changed, or not there."""
    for scenario in scenarios.ALL:
        for claim in scenario.claims:
            expected = claim.expected.get(before)
            for name in names_in(expected.source) if expected else ():
                try:
                    change = compare(name, before, after)
                except ReleaseError as error:
                    yield f"{claim.id}: {error}"
                    continue
                read = READ.get(after, {}).get(name)
                became = (
                    "is the same" if not change.concerned else f"changed, and was read: {read}" if read else "changed"
                )
                yield f"{claim.id}: {name} {became}{_beside(change.changed)}"


def unread(before: str, after: str, of: Sequence[Scenario] = scenarios.ALL) -> Iterator[str]:
    """The claims that expect the same of both releases, by code that is not the same and was not read in the newer one."""
    for claim in (claim for scenario in of for claim in scenario.claims):
        expected = claim.expected.get(before)
        if expected is None or expected != claim.expected.get(after):
            continue
        for name in names_in(expected.source):
            try:
                if compare(name, before, after).concerned and name not in READ.get(after, {}):
                    yield f"{claim.id}: {name}"
            except ReleaseError as error:
                yield f"{claim.id}: {error}"


def _beside(changed: Sequence[str]) -> str:
    """How much else of the class is not what it was, by the first few names."""
    if not changed:
        return ""
    more = f" and {len(changed) - 4} more" if len(changed) > 5 else ""
    return f" (in its class: {', '.join(changed[: 4 if more else 5])}{more})"


def main(releases: list[str]) -> None:
    """Print the lines."""
    before, after = releases
    for line in lines(before, after):
        print(line)


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "tools.code_changes OLDER NEWER", least=2, most=2))
