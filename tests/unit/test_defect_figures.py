"""docs/defects: what it quotes is the ledger's, and each defect of the newest release that users reported has its text."""

from __future__ import annotations

import dataclasses
import re

import pytest

import scenarios
from harness.errors import LedgerError
from harness.model.findings import Finding, PartResult
from harness.model.verdicts import VerdictKind
from harness.releases.jars import recorded_releases
from mqlab.ask.recorded import committed_ledger
from tools.defect_figures import ACTUAL, FOLDER, document

NEWEST = recorded_releases()[-1]
PAGES = sorted(FOLDER.glob("*.md"))
ALL = "\n".join(page.read_text("utf-8") for page in PAGES)
TEXT = (
    "### A defect\n\n- **Seen**: it.\n- **Actual** (X-some-thing-01{parts}: {old}): old words\n  of two lines\n"
    "- **Cause**: this.\n"
)


@pytest.fixture(scope="module")
def line() -> Finding:
    one = next(one for one in committed_ledger() if (one.release, one.backend) == (NEWEST, "local"))
    parts = (
        PartResult(name="late", verdict=VerdictKind.CONFIRMED, values=(10.25, 11.5)),
        PartResult(name="lost", verdict=VerdictKind.CONFIRMED, values=(3.0, 3.0)),
    )
    return dataclasses.replace(
        one, claim="X-some-thing-01", verdict=VerdictKind.REFUTED, summary=f"It was {'so ' * 60}late.", parts=parts
    )


def test_the_committed_quotations_are_those_of_the_ledger() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text == document(text, committed_ledger()), f"{page.name}: python -m tools.ledger --recompute"


def test_a_quotation_is_replaced_as_a_whole_with_the_values_that_it_names(line: Finding) -> None:
    older = dataclasses.replace(line, release=recorded_releases()[0], summary="Of another release.")
    made = document(TEXT.format(parts=", late, lost", old="confirmed"), [line, older])
    (found,) = ACTUAL.finditer(made)
    words = " ".join(found[0].split())
    assert words.startswith("- **Actual** (X-some-thing-01, late, lost: refuted): It was so so")
    assert words.endswith("so late. By deployment: late 10.2 to 11.5; lost 3.")
    assert made.replace(found[0], "") == "### A defect\n\n- **Seen**: it.\n- **Cause**: this.\n"
    assert max(map(len, made.splitlines())) <= 132
    assert document(made, [line]) == made


@pytest.mark.parametrize(("parts", "lacks"), [(", never", "X-some-thing-01, never"), ("", "X-some-thing-01")])
def test_what_the_ledger_has_not_is_refused(line: Finding, parts: str, lacks: str) -> None:
    ledger = [line] if parts else [dataclasses.replace(line, backend="compose")]
    with pytest.raises(LedgerError, match=f"quotes {lacks}, which the ledger has not"):
        document(TEXT.format(parts=parts, old="confirmed"), ledger)


def test_each_defect_of_the_newest_release_that_users_reported_has_its_text() -> None:
    found = {
        line.claim: line.verdict for line in committed_ledger() if (line.release, line.backend) == (NEWEST, "local")
    }
    has = {claim for one in scenarios.ALL for claim in one.faces.values() if found.get(claim) is VerdictKind.CONFIRMED}
    assert has
    assert [claim for claim in sorted(has) if f"({claim}" not in ALL] == [], (
        "write how to see it, or why it is no defect"
    )


def test_each_text_names_arms_of_its_incident() -> None:
    steps = re.findall(
        r"^- \*\*Steps\*\*: `mqlab verify (\S+) --arm (\S+) --release (\S+)`(.*?)^- ",
        ALL,
        re.M | re.S,
    )
    assert steps
    for name, arm, release, others in steps:
        arms = {one.name: one for one in scenarios.find(name).arms}
        for named in (arm, *re.findall(r"`((?:incident|fix|better)-[\w-]+)`", others)):
            assert release == NEWEST
            assert release in (arms[named].releases or recorded_releases()), (name, named)


def test_the_index_names_every_text() -> None:
    index = (FOLDER / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"\]\(([\w-]+\.md)\)", index)) == [one.name for one in PAGES if one.name != "README.md"]
