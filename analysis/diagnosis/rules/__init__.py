"""Which events together are which pattern: a function from all logs to what it finds, one file a family."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.diagnosis.found import Found, Logs
from analysis.diagnosis.rules import (
    appends,
    consumers,
    delayed,
    disk,
    groups,
    locks,
    offsets,
    registrations,
    routes,
    sends,
    slaves,
    stores,
    topics,
    transactions,
    unreachable,
)

RULES: tuple[Callable[[Logs], Iterator[Found]], ...] = (
    locks.handover,
    locks.own_lock,
    appends.slow,
    appends.refused,
    appends.threw,
    appends.queue_full,
    appends.pool_exhausted,
    appends.files_late,
    appends.pool_loss,
    registrations.flood,
    registrations.divergence,
    registrations.left_and_returned,
    groups.equal_ids,
    groups.subscriptions,
    groups.offsets_reset,
    groups.forgotten,
    groups.never_known,
    consumers.put_off,
    consumers.offset_loop,
    routes.without,
    unreachable.gone,
    unreachable.never_reached,
    stores.map_failed,
    stores.not_writable,
    offsets.past_the_end,
    slaves.acknowledged_without,
    slaves.reads_refused,
    delayed.failed,
    sends.stored_twice,
    sends.tried_without_time,
    disk.full,
    disk.near_the_limit,
    topics.dead_letters,
    topics.queue_numbers,
    topics.made_anew,
    transactions.asked_again,
    transactions.unreadable,
)
