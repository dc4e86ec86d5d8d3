"""Keep what bisections have found in ``scenarios/since.jsonl``, which only grows.

mqlab bisect CLAIM --from A --to B --json > FILE.json
python -m tools.since FILE.json...
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import scenarios
from analysis.ledger.lines import decode_line, lines_text
from analysis.ledger.since import RECORDED, SINCE, Bisected, load_since
from harness.errors import LedgerError

MEASURED = "measured"


def kept(path: Path) -> Bisected:
    """A bisection's document as the file has it: without folders of the machine that it was made on. Raises LedgerError."""
    found = decode_line(Bisected, json.loads(path.read_text("utf-8")), str(path))
    releases = (one if one.by == RECORDED else dataclasses.replace(one, by=MEASURED) for one in found.releases)
    return dataclasses.replace(found, releases=tuple(releases))


def main(names: list[str]) -> None:
    """Append those that are not there yet."""
    path = Path(scenarios.__file__).with_name(SINCE)
    lines = list(load_since(path))
    for name in names:
        if not (found := kept(Path(name))).boundaries:
            raise LedgerError(f"{name} has no boundary", advice="Leave it out.")
        lines += [] if found in lines else [found]
    path.write_text(lines_text(lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
