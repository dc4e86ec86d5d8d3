"""What the user hears when Spark's Java process ends in the middle of an analysis."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import analysis.spark
from analysis.spark import HEAP_MB_MAX, SparkPlace, closing_session, heap_mb
from analysis.spark_settings import HEAP_MB
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
    assert "mqlab runs analyze" in raised.value.advice
    assert stopped == ["stopped"]


def test_an_error_of_our_own_stays_what_it_is(monkeypatch: pytest.MonkeyPatch, stopped: list[str]) -> None:
    _spark(monkeypatch, stopped, code=None)
    with pytest.raises(ZeroDivisionError), closing_session(SparkPlace()):
        raise ZeroDivisionError
    assert stopped == ["stopped"]


@pytest.mark.parametrize(
    ("evidence_mb", "free_mb", "heap"),
    [
        (0, 100_000, HEAP_MB),
        (300, 100_000, HEAP_MB),
        (760, 100_000, 2280),
        (760, 4_000, 1600),
        (760, 500, HEAP_MB),
        (17_000, 100_000, HEAP_MB_MAX),
    ],
    ids=["nothing", "a run of minutes", "a run of hours", "little memory", "less than it needs", "50 million records"],
)
def test_the_heap_grows_with_the_evidence_as_far_as_memory_is_free(evidence_mb: int, free_mb: int, heap: int) -> None:
    assert heap_mb(evidence_mb * 2**20, free_mb * 2**20) == heap


def test_histories_and_logs_of_a_run_are_its_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis.spark, "HEAP_OF_EVIDENCE", 1000)
    monkeypatch.setattr(analysis.spark, "HEAP_OF_FREE_MAX", 1_000_000)
    for name in (
        "trials/t/history/clients.jsonl",
        "deployments/d/broker-a/logs/store.log.1",
        "deployments/d/commitlog",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 2**20)
    assert SparkPlace().for_evidence(tmp_path) == SparkPlace(heap_mb=2000, history_bytes=2**20)
