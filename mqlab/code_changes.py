"""What the code that expectations name became in a newer release: ``python -m mqlab.code_changes 5.3.3 5.5.0``.

An expectation may say "unchanged" only where this does.
"""

import sys
from collections.abc import Iterator

import scenarios
from harness.errors import ReleaseError
from harness.releases.compare import compare, names_in


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
                of_class = f" (in its class: {', '.join(change.changed)})" if change.changed else ""
                yield f"{claim.id}: {name} {'changed' if change.concerned else 'is the same'}{of_class}"


def main(releases: list[str]) -> None:
    """Print the lines."""
    before, after = releases
    for line in lines(before, after):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
