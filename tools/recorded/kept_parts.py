"""Which parts of a claim's rule go on, when the rule becomes another one: what was recorded under it stays in their odds.

A rule is fixed before the runs that it judges, part by part. A part that asks for the same as before was so, whatever became of its
neighbours; one that is new or another starts anew. Which ones go on is written into the journal when the reason of the change is.
"""

from __future__ import annotations

from analysis.ledger.journal import Journal
from harness.model.rules import Claim


def asked_by(rule: str, claim: Claim, journal: Journal) -> frozenset[str]:
    """The hashes of the claim's parts of today that the rule with that hash asked for, through all changes since."""
    parts = frozenset(part.hash() for part in claim.parts)
    later = {entry.was: entry for entry in journal.of("rule") if entry.about == claim.id and entry.was}
    while rule != claim.rule_hash():
        change = later.pop(rule, None)
        if change is None:
            return frozenset()
        parts &= frozenset(change.kept)
        rule = change.hash
    return parts
