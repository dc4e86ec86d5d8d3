"""One incident a file: its topology, load, arms and claims, as values."""

from __future__ import annotations

from harness.errors import UsageError
from harness.model.scenario import Scenario
from scenarios import (
    append_lock_over_1s,
    append_stall,
    broker_leaves_keys_move,
    busy_broker_of_two,
    dead_letter,
    name_server_divergence,
    ordered_lock_handover,
    ordered_lock_ratio,
    ordered_lock_restart,
    ordered_lock_tuning,
    ordered_migration,
    page_cache_pressure,
    page_cache_stress,
    pool_exhausted,
    pool_loss,
    pool_loss_slave,
    queue_number_mismatch,
    retry_topic_flood,
    send_queue_full,
    sync_flush_power_loss,
)

ALL: tuple[Scenario, ...] = (
    ordered_lock_handover.SCENARIO,
    ordered_lock_ratio.SCENARIO,
    ordered_lock_tuning.SCENARIO,
    ordered_lock_restart.SCENARIO,
    queue_number_mismatch.SCENARIO,
    broker_leaves_keys_move.SCENARIO,
    ordered_migration.SCENARIO,
    append_stall.SCENARIO,
    append_lock_over_1s.SCENARIO,
    retry_topic_flood.SCENARIO,
    dead_letter.SCENARIO,
    name_server_divergence.SCENARIO,
    busy_broker_of_two.SCENARIO,
    send_queue_full.SCENARIO,
    pool_exhausted.SCENARIO,
    pool_loss.SCENARIO,
    pool_loss_slave.SCENARIO,
    sync_flush_power_loss.SCENARIO,
    page_cache_stress.SCENARIO,
    page_cache_pressure.SCENARIO,
)
"""Every incident, in the order in which ``mqlab list`` shows them."""

QUICK: tuple[Scenario, ...] = (ordered_lock_handover.SCENARIO, append_stall.SCENARIO)
"""What a run that names nothing does, in minutes: one incident that mostly waits, and one that measures milliseconds."""


def find(name: str) -> Scenario:
    """The incident of that name.

    Raises:
        UsageError: there is none; the advice names the nearest.
    """
    for scenario in ALL:
        if scenario.name == name:
            return scenario
    raise UsageError.unknown("incident", name, (scenario.name for scenario in ALL))
