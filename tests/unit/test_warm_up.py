"""A producer is warm when the broker answers: what a warm-up of which too little was answered brings about."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError
from harness.load import open_loop
from harness.load.open_loop import WARM_UPS_MAX, WarmProducers
from harness.model.loads import OpenLoopSends
from harness.trial import TrialContext

ANSWERED, REFUSED, UNANSWERED = "ok", "failed", "unknown"


class _Client:
    """Writes one history a warm-up; each has so many sends of so many outcomes as ``warm_ups`` says."""

    def __init__(self, warm_ups: list[tuple[str, str]]) -> None:
        self.warm_ups = warm_ups
        self.begun = 0
        self.rates_hz: list[float] = []
        self._path = Path()

    def open_history(self, path: Path) -> None:
        self._path = path

    def start_schedule(self, spec: Any) -> None:
        earlier, later = self.warm_ups[self.begun]
        self.begun += 1
        self.rates_hz.append(spec.rate_hz)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = (
            {"type": "send", "n": seq + 1, "seq": seq, "outcome": earlier if seq < spec.operations // 2 else later}
            for seq in range(spec.operations)
        )
        self._path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")

    def schedule_state(self, _name: str) -> SimpleNamespace:
        return SimpleNamespace(is_through=True)

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args, **_more: None


def _producers(folder: Path, client: _Client, monkeypatch: pytest.MonkeyPatch) -> WarmProducers:
    monkeypatch.setattr(open_loop, "create_topic", lambda *_args, **_more: None)
    monkeypatch.setattr(open_loop, "masters_of", lambda *_args: [SimpleNamespace()])
    monkeypatch.setattr(open_loop, "namesrv_addresses", lambda _cluster: "127.0.0.1:1")
    trial = SimpleNamespace(
        cluster=SimpleNamespace(folder=folder),
        record=SimpleNamespace(incident="append-stall"),
        client=lambda *_args, **_more: client,
    )
    return WarmProducers(cast(TrialContext, trial))


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED])
def test_a_warm_up_counts_by_its_later_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    client = _Client([(UNANSWERED, answer)])
    assert _producers(tmp_path, client, monkeypatch).instance_for(OpenLoopSends()) == "producer"
    assert client.begun == 1


def test_a_warm_up_is_repeated_until_its_later_sends_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _Client([(UNANSWERED, UNANSWERED), (ANSWERED, UNANSWERED), (UNANSWERED, ANSWERED)])
    producers = _producers(tmp_path, client, monkeypatch)
    load = OpenLoopSends()
    assert producers.instance_for(load) == producers.instance_for(load)
    assert client.begun == 3


def test_each_warm_up_that_was_not_answered_asks_half_as_much_of_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _Client([(UNANSWERED, UNANSWERED)] * 6 + [(ANSWERED, ANSWERED)])
    _producers(tmp_path, client, monkeypatch).instance_for(OpenLoopSends())
    assert client.rates_hz == [800.0, 400.0, 200.0, 100.0, 50.0, 50.0, 50.0]


def test_a_broker_that_never_answers_ends_the_trial_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _Client([(ANSWERED, UNANSWERED)] * WARM_UPS_MAX)
    with pytest.raises(ClientError, match=f"had no answer to most sends of {WARM_UPS_MAX} warm-ups"):
        _producers(tmp_path, client, monkeypatch).instance_for(OpenLoopSends())
    assert client.begun == WARM_UPS_MAX
