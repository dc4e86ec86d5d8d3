"""What the user hears when Spark's Java process ends in the middle of an analysis."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import analysis.spark
from analysis.spark import SparkPlace, closing_session
from harness.errors import AnalysisError


@pytest.fixture
def stopped() -> list[str]:
    return []


def _spark(monkeypatch: pytest.MonkeyPatch, stopped: list[str], *, code: int | None) -> None:
    gateway = SimpleNamespace(proc=SimpleNamespace(poll=lambda: code))
    context = SimpleNamespace(_gateway=gateway)
    made = SimpleNamespace(sparkContext=context, stop=lambda: stopped.append("stopped"))
    monkeypatch.setattr(analysis.spark, "spark_session", lambda place: made)


def test_a_java_that_has_ended_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch, stopped: list[str]) -> None:
    _spark(monkeypatch, stopped, code=3)
    with pytest.raises(AnalysisError, match="ended in the middle") as raised, closing_session(SparkPlace()):
        raise ConnectionRefusedError("py4j")
    assert "mqlab analyze" in raised.value.advice
    assert stopped == ["stopped"]


def test_an_error_of_our_own_stays_what_it_is(monkeypatch: pytest.MonkeyPatch, stopped: list[str]) -> None:
    _spark(monkeypatch, stopped, code=None)
    with pytest.raises(ZeroDivisionError), closing_session(SparkPlace()):
        raise ZeroDivisionError
    assert stopped == ["stopped"]
