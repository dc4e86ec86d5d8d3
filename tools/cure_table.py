"""The table of docs/tune.md: of each failure and release the best setting, by what ``mqlab explain sends`` says.

``python -m tools.cure_table`` writes it anew; so does ``python -m tools.ledger`` with the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.model.findings import Finding
from harness.paths import PACKAGES
from harness.releases.jars import recorded_releases
from harness.rundir.files import replace_file
from mqlab.ask.advise import BEST, NOT_MEASURED, OPEN, PRICE, Advice, advice
from mqlab.ask.recorded import committed_ledger
from scenarios.send_advice import FAILURES
from tools.recorded.readme import between_markers

UNDECIDED = "undecided"
DOCUMENT = PACKAGES / "docs" / "tune.md"
MARKERS = ("<!-- cures:begin -->", "<!-- cures:end -->")
HEAD = """| failure | releases | best | its price | what else was asked |
|---|---|---|---|---|
"""


def document(text: str, ledger: Sequence[Finding]) -> str:
    """The page with its table as the ledger has it. Raises LedgerError where it has no place for it."""
    return between_markers(text, table(ledger), DOCUMENT.name, MARKERS)


def table(ledger: Sequence[Finding]) -> str:
    """A row for each failure and the releases of which the same is said."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for failure in FAILURES:
        for release in recorded_releases():
            cells = (f"{failure}: {FAILURES[failure].what}", *_cells(advice(ledger, release, [failure])))
            rows.setdefault(cells, []).append(release)
    return HEAD + "\n".join(
        f"| {' | '.join([failure, ', '.join(releases), *cells])} |" for (failure, *cells), releases in rows.items()
    )


def _cells(found: Sequence[Advice]) -> Iterator[str]:
    """What is best, its price, and what else was asked; the command has what shows it."""
    best = [one for one in found if one.answer == BEST]
    yield _each(one.setting for one in best) or _none_is_best(found)
    prices = [(PRICE[said.speaks_for], said) for one in best for said in one.costs if said.speaks_for is not None]
    yield _each(f"{word}: {said}" for word, said in prices) or (NOT_MEASURED if best else "")
    yield _each([*_others(found), *_unknown(found)])


def _none_is_best(found: Sequence[Advice]) -> str:
    is_open = [one for one in found if one.answer == OPEN]
    if not is_open:
        return "nothing that was tried"
    return UNDECIDED if any(said.measured != NOT_MEASURED for one in is_open for said in one.because) else NOT_MEASURED


def _others(found: Sequence[Advice]) -> Iterator[str]:
    for one in found:
        if one.answer not in (BEST, OPEN) and any(said.speaks_for is not None for said in one.because):
            yield f"{one.setting} {one.answer}"


def _unknown(found: Sequence[Advice]) -> Iterator[str]:
    """The claims that would tell more; the command has their questions."""
    for one in found:
        said = [said for said in (*one.because, *one.costs) if said.speaks_for is None]
        is_decided = one.answer != OPEN and any(told.speaks_for is not None for told in one.because)
        if said and not is_decided:
            measured = UNDECIDED if any(told.measured != NOT_MEASURED for told in said) else NOT_MEASURED
            yield f"{one.setting}: {measured} ({', '.join(dict.fromkeys(told.claim for told in said))})"


def _each(cells: Iterable[str]) -> str:
    return "<br>".join(cells)


def write() -> None:
    """Write it from the committed ledger. Raises LedgerError."""
    replace_file(DOCUMENT, document(DOCUMENT.read_text("utf-8"), committed_ledger()))


if __name__ == "__main__":
    write()
