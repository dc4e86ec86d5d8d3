from __future__ import annotations

import inspect

import pytest

from harness import errors
from harness.errors import LabError, NodeStartError, UsageError, WaitTimeout, nearest

EXIT_CODES = {
    "AnalysisError": 4,
    "UsageError": 3,
    "AccessDeniedError": 3,
    "ConfigurationError": 3,
    "PortTakenError": 3,
    "JavaNotFoundError": 3,
    "RunDirectoryError": 3,
    "LedgerError": 3,
    "DockerError": 3,
    "TargetNotAllowedError": 3,
    "ReleaseError": 4,
    "NodeStartError": 4,
    "ClientError": 4,
    "AnswerError": 4,
    "WaitTimeout": 4,
    "LeaseError": 4,
    "DiskFullError": 4,
    "Interrupted": 130,
}


def test_every_error_has_the_exit_code_of_the_command_lines_contract() -> None:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, LabError)]
    found = {kind.__name__: kind.exit_code for kind in classes if kind is not LabError}
    assert found == EXIT_CODES


def test_an_error_says_what_happened_and_what_to_do() -> None:
    error = errors.PortTakenError("port 9876 is taken", advice="Choose another one with --port.")
    assert (str(error), error.advice) == ("port 9876 is taken", "Choose another one with --port.")


def test_an_unknown_name_is_answered_with_the_nearest_ones() -> None:
    error = UsageError.unknown("incident", "Append-Stal", ["append-stall", "ordered-lock-handover"])
    assert str(error) == "unknown incident 'Append-Stal'"
    assert error.advice == "Did you mean append-stall?"


def test_an_unknown_name_like_no_other_is_answered_with_all_known_ones() -> None:
    assert UsageError.unknown("release", "zzz", ["5.3.3", "4.6.0"]).advice == "Known: 4.6.0, 5.3.3."
    assert UsageError.unknown("release", "zzz", []).advice == ""


def test_of_many_names_the_nearest_are_told_and_how_many_there_are() -> None:
    many = [f"brokerSetting{number}" for number in range(400)] + ["aclEnable"]
    advice = UsageError.unknown("setting", "nope", many).advice
    assert advice.startswith("None of the 401 known ones is near; the nearest: ")
    assert len(advice) < 200
    assert UsageError.unknown("setting", "aclEnabled", many).advice == "Did you mean aclEnable?"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("waitTimeMilsInSendQueue", ["waitTimeMillsInSendQueue"]),
        ("WAITTIMEMILLSINSENDQUEUE", ["waitTimeMillsInSendQueue"]),
        ("brokerName", ["brokerName", "brokerNames"]),
        ("q", []),
    ],
)
def test_nearest_is_best_first_and_ignores_case(word: str, expected: list[str]) -> None:
    assert nearest(word, ["brokerNames", "waitTimeMillsInSendQueue", "brokerName"]) == expected


def test_a_node_that_did_not_start_shows_its_last_lines() -> None:
    error = NodeStartError("broker-a ended with code 1", log_lines=["Address already in use"])
    assert str(error) == "broker-a ended with code 1; its last lines were:\n    Address already in use"
    assert str(NodeStartError("broker-a ended with code 1")) == "broker-a ended with code 1"


def test_a_timeout_says_what_was_waited_for_and_what_was_seen_last() -> None:
    error = WaitTimeout("the route of T", waited_s=2.04, last_state="broker-a only")
    assert str(error) == "waited 2.0 s for the route of T, in vain; last seen: broker-a only"
