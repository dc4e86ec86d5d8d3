"""What an upgrade changes for whoever runs a cluster: better, worse, and what alerts and retries hang on.

Made from a ledger, from the words of the releases' logs and from their own settings. A part of a claim counts when its number
moved (:mod:`analysis.report.changes`) or its verdict differs between two releases that both decide it; which way is better is
said by its measure. For what has no decided cell on both, nothing is said, and it is listed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.ledger.lines import LedgerLine, LedgerPart
from analysis.report.changes import changes, has_moved, of_release
from analysis.report.upgrade_settings import SettingsChanged
from analysis.verdicts.order import natural_key
from harness.model.log_events import WORDINGS
from harness.model.rules import Claim, Fold, Kind, Part, Role
from harness.model.verdicts import VerdictKind

MORE_IS_BETTER = frozenset(
    {"throughput_per_s", "refused_then_ok_share", "refused_ok_soon_share", "append_short_share", "topics_at_limit"}
    | {"next_retry_reached", "pending_retry_kept", "online_kept", "retry_topic_returns", "offline_deleted_share"}
    | {"read_in_hold_share"}
    | {"diagnosed_right", "client_ids_count", "least_tag_share"}
)
LESS_IS_BETTER = frozenset(
    {"lost_count", "lost_lone_count", "lost_on_slave_count", "duplicate_count", "out_of_order_count", "overlap_ms"}
    | {"key_out_of_order_count", "unsent_share", "queues_of_key_count", "refused_for_good_count", "stranded_count"}
    | {"illegal_queue_count", "retry_late_s", "other_delay_s", "latency_p50_ms", "latency_p99_ms", "latency_max_ms"}
    | {"failed_count", "unknown_count", "handover_s", "handover_part_s", "message_delay_max_s", "delayed_over_1s_count"}
    | {"delayed_in_10s_count", "taken_while_paused", "granted_after_restart", "restart_handover_s"}
    | {"restart_delay_max_s", "foreign_lock_granted", "lock_requests_per_s", "lock_log_bytes_per_s", "rejected_count"}
    | {"rejected_within_1s_max", "refused_count", "attempts", "failed_share", "stored_unsure_count", "probe_worst_ms"}
    | {"probe_median_ms", "probe_unanswered_count", "failed_send_share", "duplicate_messages", "late_messages"}
    | {"through_s", "notice_s", "append_mean_ms", "append_longest_ms", "append_over_500_count", "faults_per_append"}
    | {"append_faults", "route_absent_s", "views_differ_s", "server_silent_s", "unregistered_s", "broker_back_s"}
    | {"topic_back_s", "bytes_per_topic", "dead_letter_share", "ok_after_ms", "queue_depth", "refused_after_share"}
    | {"unaccepted_in_cure_count", "unread_share", "doubled_share", "passed_over_share", "retry_copies_count"}
    | {"unaccepted_after_share", "copies_count", "failed_stored_count", "unaccepted_last_share", "deleted_log_mb"}
    | {"lock_wait_s", "join_gap_s", "put_off_pull_count", "delivered_again_share"}
    | {"again_s", "median_again_s", "slowest_again_s", "doubled_elsewhere_count", "heartbeats_per_s"}
    | {"refused_in_hold_share", "waited_flush_share"}
    | {"consumed_again_share", "skipped_after_share", "past_end_count", "send_took_ms"}
    | {"thread_busy_share", "asked_again_count", "committed_twice_count"}
    | {"history_read_share", "undelivered_share", "delivery_late_s", "dropped_count", "delivered_again_count"}
    | {"step_lost_count", "step_again_count", "step_failed_share", "step_silent_s", "step_key_silent_s", "step_took_s"}
)
SIGNS = frozenset(
    {"lock_lines_waiting", "unlock_lines", "first_lock_lines", "takeover_lines", "wait_logged_share", "store_log_line"}
    | {"slow_append_lines", "refusal_code", "has_article_phrase", "size_lines", "ok_lines", "registration_failures"}
    | {"refusals_logged", "log_file_exists", "lock_lines_in_file"}
)
"""What is read in log files and answers: an alert or a client's retry may hang on it, whichever way it moves."""

BETTER, WORSE, SIGN, OTHER = "better", "worse", "log lines and codes", "otherwise different"
TRADE = "better in one way and worse in another"
"""Of one arm of an incident some parts get better and others worse: sends that are accepted, and lost."""

CHANCE = "may be chance"
"""Seen on one of the two, in so few tries that the intervals of both rates overlap."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One part of a claim, in the words of both releases; ``counts`` says what these count where they do not say so."""

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


@dataclass(frozen=True, kw_only=True)
class WordsChanged:
    """What logs say of one kind of event; empty where a release writes nothing of it."""

    event: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """What the record says of upgrading a cluster node by node; ``to`` are the releases that it was measured to.

    ``findings`` are the claims' sentences, with their verdicts; empty where these two releases have no recorded run.
    """

    incident: str
    to: tuple[str, ...]
    findings: tuple[tuple[str, str, str], ...] = ()


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


NOT_ROLLED = Rolled(incident="", to=())
"""No incident is one of upgrading node by node."""


def upgrade(
    lines: Sequence[LedgerLine], claims: Mapping[str, Claim], settings: SettingsChanged, before: str, after: str,
    client_before: str = "", client_after: str = "", rolled: Rolled = NOT_ROLLED,
) -> Upgrade:  # fmt: skip
    """Compare two releases. ``claims`` are the rules by their ids, ``rolled`` names the incident of an upgrade node by node and to
    which releases it goes. Raises LedgerError for a release that is not recorded."""
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
    )


def _rolled(lines: Sequence[LedgerLine], rolled: Rolled, before: str, after: str) -> Rolled:
    """Its findings are by the release that is upgraded from."""
    found = (
        (line.claim, str(line.verdict), line.summary)
        for line in lines
        if (line.incident, line.release, line.backend) == (rolled.incident, before, "local") and after in rolled.to
    )
    return dataclasses.replace(rolled, findings=tuple(found))


# --- claims ---------------------------------------------------------------------------------------------------------------


def _changes(lines: Sequence[LedgerLine], claims: Mapping[str, Claim], before: str, after: str) -> Iterator[Change]:
    old, new = of_release(lines, before), of_release(lines, after)
    for entry in sorted(old.keys() & new.keys(), key=lambda entry: natural_key(" ".join(entry))):
        line, claim = old[entry], claims.get(entry[0])
        rules = {part.name: part for part in claim.parts} if claim else {}
        parts = {part.name: part for part in new[entry].parts}
        for was in line.parts:
            now, rule = parts.get(was.name), rules.get(was.name)
            if now is None or rule is None or rule.role is Role.CONTROL or not _differs(was, now):
                continue
            by_tries = rule.kind in (Kind.UNIVERSAL, Kind.EXISTENCE) and not has_moved(was, now)
            yield Change(
                sort=CHANCE if by_tries else sort_of(rule, (now.estimate or 0.0) > (was.estimate or 0.0)),
                claim=entry[0],
                part=was.name,
                incident=line.incident,
                arm=rule.of.arm,
                says=line.says,
                injection=entry[2],
                before=was.words,
                after=now.words,
                counts="counterexamples: " if rule.kind is Kind.UNIVERSAL else "",
            )


def _traded(found: Sequence[Change]) -> Iterator[Change]:
    sorts_of: dict[tuple[str, str, str], set[str]] = {}
    for one in found:
        sorts_of.setdefault((one.incident, one.arm, one.injection), set()).add(one.sort)
    for one in found:
        is_traded = one.sort in (BETTER, WORSE) and {BETTER, WORSE} <= sorts_of[one.incident, one.arm, one.injection]
        yield dataclasses.replace(one, sort=TRADE) if is_traded else one


def _differs(was: LedgerPart, now: LedgerPart) -> bool:
    decided = VerdictKind.UNDECIDED not in (was.verdict, now.verdict)
    return has_moved(was, now) or (decided and was.verdict is not now.verdict and was.estimate != now.estimate)


def sort_of(part: Part, rises: bool) -> str:
    """Whether a part's number that rises, or falls, is good for whoever runs a cluster."""
    measure = part.of.measure
    if measure in SIGNS:
        return SIGN
    good = (measure in MORE_IS_BETTER) - (measure in LESS_IS_BETTER)
    good *= _way(part)
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
    """Kinds of events whose lines read differently in the two releases."""
    for event in dict.fromkeys(wording.event for wording in WORDINGS):
        old, new = (
            tuple(one.words.strip() for one in WORDINGS if one.event is event and _is_of(one.releases, release))
            for release in (before, after)
        )
        if old != new:
            yield WordsChanged(event=str(event), before=old, after=new)


def _is_of(releases: str, release: str) -> bool:
    return not releases or releases == f"{release.partition('.')[0]}.x"
