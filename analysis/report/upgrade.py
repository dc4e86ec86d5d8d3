"""What an upgrade changes for whoever runs a cluster: better, worse, and what alerts and retries hang on.

Made from a ledger, from the words of the releases' logs and from their own settings. A part of a claim counts when its number
moved (:mod:`analysis.report.changes`), its verdict differs between two releases that both decide it, or one of them has shown what
the other has not; which way is better is said by its measure. What has no decided cell on both is listed, and is not compared.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.report.changes import changes, has_moved, of_release
from analysis.report.upgrade_settings import SettingsChanged
from analysis.verdicts.claims import sentence_with
from analysis.verdicts.order import is_between, natural_key
from harness.language import phrase
from harness.model.alert_lines import ALERT_LINES
from harness.model.findings import Finding, PartResult
from harness.model.log_events import WORDINGS, Wording
from harness.model.measures import MEASURES, Better
from harness.model.rules import Claim, Fold, Kind, Part, Role
from harness.model.verdicts import VerdictKind

BETTER: str = phrase("better")
WORSE: str = phrase("worse")
SIGN: str = phrase("log lines and codes")
OTHER: str = phrase("otherwise different")
TRADE: str = phrase("better in one way and worse in another")
"""Of one arm of an incident some parts get better and others worse: sends that are accepted, and lost."""

CHANCE: str = phrase("may be chance")
"""Seen on one of the two, in so few tries that luck alone would bring it about more often than once in twenty times."""
CHANCE_MAX = 0.05

BY_TRIES = (Kind.UNIVERSAL, Kind.EXISTENCE)

COUNTEREXAMPLES, AS_CLAIMED = phrase("counterexamples: "), phrase("as claimed: ")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One part of a claim, in the words of both releases; ``counts`` says what these count where they do not say so.

    The figures are of the part alone, the words of the claim's whole sentence.
    """

    sort: str
    claim: str
    part: str
    incident: str
    arm: str
    says: str
    injection: str
    before: str
    after: str
    counts: str = ""
    before_from: str = ""
    after_from: str = ""
    """Where either is from, if it was not measured on its own release."""
    figure_before: str = ""
    figure_after: str = ""
    counts_what_holds: bool = False
    """Of the figures, where they count tries: whether of those that are as claimed, or of those that are not."""


@dataclass(frozen=True, kw_only=True)
class WordsChanged:
    """What logs say of one kind of event; empty where a release writes nothing of it."""

    event: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """What the record says of upgrading a cluster node by node; ``to`` are the releases that it was measured to.

    ``findings`` are the claims' sentences, with their verdicts; empty where these two releases have no recorded run. ``order`` is
    what was upgraded, one node after another, and ``first`` what is to be done before a master is stopped.
    """

    incident: str
    to: tuple[str, ...]
    order: tuple[str, ...] = ()
    first: str = ""
    findings: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a release that is not recorded: how many claims are carried over, by where from, and those that are unknown.

    ``command`` would decide these, in about so many minutes.
    """

    release: str
    carried: Mapping[str, int]
    unknown: tuple[str, ...]
    command: str
    minutes: int


OPEN_NAMED_MAX = 4
"""Of the incidents that are not settled so many are named, and measured by the command."""


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """The command that measures what is open, and about how long it takes."""

    command: str
    minutes: int


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Everything between two releases of brokers, and of clients."""

    before: str
    after: str
    client_before: str
    client_after: str
    compared: int
    changes: tuple[Change, ...]
    words: tuple[WordsChanged, ...]
    settings: SettingsChanged
    undecided: Mapping[str, tuple[str, ...]]
    """By incident, the claims of which one release at least has no decided cell."""
    rolled: Rolled
    known: tuple[Known, ...] = ()
    open: Measuring = Measuring(command="mqlab verify INCIDENT --plan", minutes=0)
    """Of the first of what is ``undecided``."""


NOT_ROLLED = Rolled(incident="", to=())
"""No incident is one of upgrading node by node."""


def upgrade(
    lines: Sequence[Finding], claims: Mapping[str, Claim], settings: SettingsChanged, before: str, after: str,
    client_before: str = "", client_after: str = "", rolled: Rolled = NOT_ROLLED, known: tuple[Known, ...] = (),
) -> Upgrade:  # fmt: skip
    """Compare two releases. ``claims`` are the rules by their ids, ``rolled`` names the incident of an upgrade node by node and to
    which releases it goes. Raises LedgerError for a release of which there is no line."""
    # A finding of that incident is of both releases already.
    local = [line for line in lines if line.backend == "local" and line.incident != rolled.incident]
    compared = changes(local, before, after)
    incident_of = {line.claim: line.incident for line in local}
    open_claims: dict[str, list[str]] = {}
    for claim in sorted({*compared.undecided, *compared.missing}, key=natural_key):
        open_claims.setdefault(incident_of[claim], []).append(claim)
    return Upgrade(
        before=before,
        after=after,
        client_before=client_before or before,
        client_after=client_after or after,
        compared=compared.compared,
        changes=tuple(_traded(list(_changes(local, claims, before, after)))),
        words=tuple(words_changed(before, after)),
        settings=settings,
        undecided={incident: tuple(found) for incident, found in open_claims.items()},
        rolled=_rolled(lines, rolled, before, after),
        known=known,
    )


def _rolled(lines: Sequence[Finding], rolled: Rolled, before: str, after: str) -> Rolled:
    """Its findings are by the release that is upgraded from."""
    found = (
        (line.claim, line.status, line.summary)
        for line in lines
        if (line.incident, line.release, line.backend) == (rolled.incident, before, "local") and after in rolled.to
    )
    return dataclasses.replace(rolled, findings=tuple(found))


# --- claims ---------------------------------------------------------------------------------------------------------------


def _changes(lines: Sequence[Finding], claims: Mapping[str, Claim], before: str, after: str) -> Iterator[Change]:
    old, new = of_release(lines, before), of_release(lines, after)
    for entry in sorted(old.keys() & new.keys(), key=lambda entry: natural_key(" ".join(entry))):
        line, claim = old[entry], claims.get(entry[0])
        rules = {part.name: part for part in claim.parts} if claim else {}
        parts = {part.name: part for part in new[entry].parts}
        for was in line.parts:
            now, rule = parts.get(was.name), rules.get(was.name)
            if claim is None or now is None or rule is None or rule.role is Role.CONTROL or not _differs(was, now):
                continue
            counts, before_words, after_words = _words(claim, rule, line, new[entry])
            yield Change(
                sort=CHANCE
                if _may_be_chance(was, now)
                else sort_of(rule, (now.estimate or 0.0) > (was.estimate or 0.0)),
                claim=entry[0],
                part=was.name,
                incident=line.incident,
                arm=rule.of.arm,
                says=line.says,
                injection=entry[2],
                before=before_words,
                after=after_words,
                counts=counts,
                before_from=line.provenance,
                after_from=new[entry].provenance,
                figure_before=was.words,
                figure_after=now.words,
                counts_what_holds=rule.kind is not Kind.UNIVERSAL,
            )


def _words(claim: Claim, rule: Part, was: Finding, now: Finding) -> tuple[str, str, str]:
    """What is counted, where neither a sentence nor the part's name says it, and the words of both.

    A part is told by the claim's sentence, which says what happened; its name may be of that or of what the claim has instead.
    """
    before, after = ({part.name: part for part in line.parts} for line in (was, now))
    told = [sentence_with(claim, rule.name, parts) for parts in (before, after)]
    if all(told):
        return "", told[0], told[1]
    counts = {Kind.UNIVERSAL: COUNTEREXAMPLES, Kind.FACT: AS_CLAIMED}.get(rule.kind, "")
    return counts, before[rule.name].words, after[rule.name].words


def _may_be_chance(was: PartResult, now: PartResult) -> bool:
    if Kind(was.kind) not in BY_TRIES or has_moved(was, now):
        return False
    more, less = sorted((was, now), key=lambda one: one.estimate or 0.0, reverse=True)
    return _by_luck(more, less) > CHANCE_MAX


def _by_luck(more: PartResult, less: PartResult) -> float:
    """Fisher's exact test: how often as many of all events or more fall into the tries of ``more``, if both have one rate."""
    tries, others = more.tries or 0, less.tries or 0
    events = (more.events or 0) + (less.events or 0)
    ways = (math.comb(tries, n) * math.comb(others, events - n) for n in range(more.events or 0, events + 1))
    return sum(ways) / math.comb(tries + others, events)


def _traded(found: Sequence[Change]) -> Iterator[Change]:
    sorts_of: dict[tuple[str, str, str], set[str]] = {}
    for one in found:
        sorts_of.setdefault((one.incident, one.arm, one.injection), set()).add(one.sort)
    for one in found:
        is_traded = one.sort in (BETTER, WORSE) and {BETTER, WORSE} <= sorts_of[one.incident, one.arm, one.injection]
        yield dataclasses.replace(one, sort=TRADE) if is_traded else one


def _differs(was: PartResult, now: PartResult) -> bool:
    decided = VerdictKind.UNDECIDED not in (was.verdict, now.verdict)
    differs = decided and was.verdict is not now.verdict and was.estimate != now.estimate
    return has_moved(was, now) or differs or _shown_by_one(was, now)


def _shown_by_one(was: PartResult, now: PartResult) -> bool:
    """A verified event of one release, which the other one has not shown in its tries, however few they are."""
    if Kind(was.kind) not in BY_TRIES or not was.tries or not now.tries:
        return False
    without, other = sorted((was, now), key=lambda one: one.events or 0)
    return not without.events and bool(other.events) and other.verdict is not VerdictKind.UNDECIDED


def sort_of(part: Part, rises: bool) -> str:
    """Whether a part's number that rises, or falls, is good for whoever runs a cluster."""
    better = MEASURES[part.of.measure].better
    if better is Better.SIGN:
        return SIGN
    good = ((better is Better.MORE) - (better is Better.LESS)) * _way(part)
    if not good:
        return OTHER
    return BETTER if (good > 0) is rises else WORSE


def _way(part: Part) -> int:
    """1 where the part's number rises with its measure, -1 where it falls, 0 where that cannot be said."""
    if part.kind is Kind.LAW or part.fold is Fold.SLOPE:
        return 0
    if part.fold is Fold.SHARE:
        low, high = part.within
        return (high is None) - (low is None)
    if part.kind in (Kind.QUANTITY, Kind.COMPARISON, Kind.SHARE):
        return 1
    # Of a universal one the tries are counted that break it, of the others those that are so.
    above = 1 if part.relation == ">=" else -1
    return -above if part.kind is Kind.UNIVERSAL else above


# --- words of logs --------------------------------------------------------------------------------------------------------


def words_changed(before: str, after: str) -> Iterator[WordsChanged]:
    """Kinds of events, and lines that alarms may hang on, that read differently in the two releases."""
    for event in dict.fromkeys(wording.event for wording in WORDINGS):
        old, new = (
            tuple(one.words.strip() for one in WORDINGS if one.event is event and _is_of(one, release))
            for release in (before, after)
        )
        if old != new:
            yield WordsChanged(event=str(event), before=old, after=new)
    for line in ALERT_LINES:
        old, new = (
            tuple(one.words.strip() for one in line.wordings if is_between(release, one.since, one.until))
            for release in (before, after)
        )
        if old != new:
            yield WordsChanged(event=line.tells, before=old, after=new)


def lines_known() -> int:
    """Of how many kinds of lines the lab knows the words of each release; what it does not know may read differently as well."""
    return len({str(wording.event) for wording in WORDINGS} | {line.tells for line in ALERT_LINES})


def _is_of(wording: Wording, release: str) -> bool:
    lacks = wording.lacking is not None and is_between(release, *wording.lacking)
    return is_between(release, wording.since, wording.until) and not lacks
