"""What each fault says of itself: all of them are walked, so that none says without evidence that it took effect."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.model import faults as library
from harness.model.faults import FAULTS, Fault, NoFault, Proof
from harness.paths import PACKAGES

HERE = "unit/test_faults_without_effect.py"
KERNEL = "unit/test_kernel_faults_without_effect.py"
WITHOUT_EFFECT: Mapping[str, str] = {
    "CutOffOwners": f"{KERNEL}::test_a_cut_that_dropped_nothing_took_no_effect",
    "CollectOwners": "unit/test_standstills.py::test_a_full_collection_is_proved_by_the_log_of_the_jvm",
    "ThrottleOwners": f"{KERNEL}::test_writes_below_the_limit_or_past_it_were_not_throttled",
    "LockOwners": "unit/test_standstills.py::test_a_lock_of_the_application_counts_if_several_listeners_wait_for_it",
    "ResizeTopic": f"{HERE}::test_a_topic_whose_numbers_the_name_servers_do_not_list_is_not_resized",
    "RollingUpgrade": "unit/test_rolling_upgrade.py::test_a_node_that_is_of_another_release_than_it_was_started_as_is_no_upgrade",
    "CrossFrameLimit": "unit/test_flood.py::test_a_flood_that_makes_no_topic_or_crosses_no_limit_took_no_effect",
    "TopicMoments": f"{HERE}::test_a_retry_topic_that_is_there_after_its_deletion_was_not_deleted",
    "RestartNameServer": f"{HERE}::test_a_name_server_that_is_the_same_process_was_not_restarted",
    "EarlyTopic": "unit/test_early_topic.py::test_a_topic_that_was_not_made_or_came_too_late_is_not_early",
    "IdleBroker": "unit/test_idle_broker.py::test_a_broker_that_was_sent_something_was_not_idle",
    "UnheardBroker": f"{HERE}::test_a_name_server_that_goes_on_listing_a_broker_hears_it",
    "ForgottenTopic": f"{HERE}::test_a_name_server_that_has_a_route_all_the_same_forgot_no_topic",
    "RecreateTopic": "unit/test_recreate_topic.py::test_a_topic_that_a_node_has_all_the_same_was_not_made_anew",
    "DeleteTopic": "unit/test_delete_topic.py::test_a_topic_that_a_node_has_all_the_same_was_not_deleted",
    "ResetOffsets": "unit/test_reset_offsets.py::test_a_group_that_goes_on_from_where_it_was_was_not_set_back",
    "MoreQueues": f"{HERE}::test_a_topic_whose_numbers_the_name_servers_do_not_list_is_not_resized",
    "NetworkCut": f"{KERNEL}::test_a_cut_that_dropped_nothing_took_no_effect",
    "NetworkDelay": f"{KERNEL}::test_a_delay_that_delayed_nothing_took_no_effect",
    "PauseNode": "unit/test_node_pause.py::test_a_pause_of_another_process_did_not_take_effect",
    "StoppedSlave": "unit/test_stopped_slave.py::test_a_slave_that_did_not_stand_still_shows_it",
    "FlappingNode": "unit/test_node_pause.py::test_a_pause_of_another_process_did_not_take_effect",
    "JavaRule": f"{HERE}::test_an_own_rule_that_took_no_effect_says_so",
    "SlowBroker": f"{HERE}::test_sends_that_no_rule_held_up_were_not_slow",
    "SlowFlush": "unit/test_slow_flush.py::test_a_broker_that_flushed_nothing_was_not_slowed",
    "ReadOnlyBroker": f"{HERE}::test_a_broker_that_is_listed_as_writable_is_not_read_only",
    "DiskFull": f"{KERNEL}::test_a_disk_with_more_room_than_was_asked_is_not_full",
    "DiskFilled": f"{KERNEL}::test_a_disk_with_more_room_than_was_asked_is_not_full",
    "ThrottledWrites": f"{KERNEL}::test_writes_below_the_limit_or_past_it_were_not_throttled",
    "DirtyPages": "root/test_faults_of_the_kernel.py::test_a_neighbour_that_wrote_too_little_says_that_it_took_no_effect",
    "CommitWatch": "unit/test_commit_watch.py::test_a_broker_that_commits_nothing_shows_nothing",
    "AppendThrows": f"{HERE}::test_a_rule_that_stamped_nothing_threw_nothing",
    "DeliveryThrows": f"{HERE}::test_a_rule_that_stamped_nothing_threw_nothing",
    "DispatchThrows": f"{HERE}::test_a_rule_that_stamped_nothing_threw_nothing",
    "PageCacheNeighbour": f"{KERNEL}::test_a_neighbour_that_wrote_too_little_or_a_limit_that_was_left_took_no_effect",
    "LimitedPageCache": f"{KERNEL}::test_a_neighbour_that_wrote_too_little_or_a_limit_that_was_left_took_no_effect",
    "ColdReads": "unit/test_cold_reads.py::test_reads_from_memory_are_no_trial",
}
"""Of each fault that says by itself that it took effect, or that was done: a test in which it did not happen."""

SAYS_SO = {Proof.HELD, Proof.DONE}
"""Other proofs are stamps and lengths that the analysis compares (``tests/unit/test_verdict_inputs.py``)."""


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.kind)
def test_every_fault_that_says_so_has_a_test_in_which_it_took_no_effect(kind: type[Fault]) -> None:
    assert (kind.__name__ in WITHOUT_EFFECT) == bool(SAYS_SO & {*kind.proofs})
    if kind.__name__ in WITHOUT_EFFECT:
        file, _, name = WITHOUT_EFFECT[kind.__name__].partition("::")
        tree = ast.parse((PACKAGES / "tests" / file).read_text("utf-8"))
        assert name in {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.kind)
def test_every_fault_says_what_shows_it(kind: type[Fault]) -> None:
    assert bool(kind.shown_by) is not issubclass(kind, NoFault)
    assert not kind.shown_by.endswith(".")
    assert "shown_by" not in {field.name for field in dataclasses.fields(kind)}, "no experiment's hash has it"


def test_no_injection_says_without_evidence_that_it_took_effect() -> None:
    found = []
    for path in sorted(Path(library.__file__).parents[1].joinpath("faults").rglob("*.py")):
        for one in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(one, ast.keyword) and one.arg == "exercised" and _is_true(one.value):
                found.append(f"{path.name}:{one.value.lineno}")
    assert found == []


def _is_true(value: ast.expr) -> bool:
    """Whether an expression can be nothing else than True, as far as its form tells."""
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        return any(map(_is_true, value.values))
    if isinstance(value, ast.BoolOp | ast.IfExp):
        parts = value.values if isinstance(value, ast.BoolOp) else [value.body, value.orelse]
        return all(map(_is_true, parts))
    return isinstance(value, ast.Constant) and value.value is True
