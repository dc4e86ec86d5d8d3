"""What ``mqlab diagnose`` makes of the logs of a recorded run, of other seeds and logging than those its signs are from."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path

import pytest

import scenarios
from analysis.diagnosis.diagnosis import diagnose
from harness.paths import PACKAGES

PACKED = PACKAGES / "tests" / "data" / "yardstick" / "run.json.xz"
CLEAN = (
    "dead-letter.4.6.0.incident-moments.d1",
    "dead-letter.4.6.0.incident-unscaled.d1",
    "dead-letter.5.3.3.incident-moments.d1",
    "dead-letter.5.3.3.incident-unscaled.d1",
    "name-server-divergence.4.6.0.baseline.d1",
    "name-server-divergence.4.6.0.incident-forgotten-topic.d1",
    "name-server-divergence.5.3.3.baseline.d1",
    "name-server-divergence.5.3.3.incident-forgotten-topic.d1",
)
"""Nothing happens in them that a broker or a name server writes of: messages that are retried, a topic that is forgotten."""
CLIENTS = (
    "name-server-divergence.4.6.0.incident-server-paused.r1",
    "name-server-divergence.5.3.3.incident-cut.r1",
    "ordered-lock-handover.5.3.3.baseline.r1",
    "ordered-lock-handover.5.3.3.fix-graceful-shutdown.r1",
    "queue-number-mismatch.4.6.0.baseline.brokers-3.r2",
    "queue-number-mismatch.5.3.3.baseline.brokers-3.r2",
)
"""Trials whose clients see nothing of an incident."""
OF_THE_KILLED = (
    "name-server-divergence.4.6.0.incident-broker-killed.r1",
    "name-server-divergence.5.3.3.incident-broker-killed.r1",
)
"""Trials whose clients could not connect to a broker that was killed, which is all that their logs have of it."""
SHOWN = {
    "append-stall.4.6.0.incident-stock-logging.d1": "append-lock-over-1s",
    "append-stall.5.3.3.incident-stock-logging.d1": "append-lock-over-1s",
    "append-stall.4.6.0.freeze.incident-stock-logging.d1": "append-lock-over-1s",
    "append-stall.5.3.3.freeze.incident-stock-logging.d1": "append-lock-over-1s",
    "dead-letter.4.6.0.baseline.d1": "dead-letter",
    "dead-letter.5.3.3.baseline.d1": "dead-letter",
    "name-server-divergence.4.6.0.incident-cut.d1": "name-server-divergence",
    "name-server-divergence.5.3.3.incident-cut.d1": "name-server-divergence",
    "name-server-divergence.4.6.0.incident-server-paused.d1": "name-server-divergence",
    "name-server-divergence.5.3.3.incident-server-paused.d1": "name-server-divergence",
    "ordered-lock-handover.4.6.0.incident-as-documented.d2": "ordered-lock-handover",
    "ordered-lock-handover.5.3.3.incident-as-documented.d2": "ordered-lock-handover",
    "queue-number-mismatch.4.6.0.baseline.d2": "queue-number-mismatch",
    "queue-number-mismatch.5.3.3.baseline.d2": "queue-number-mismatch",
}
"""The deployment of the baseline has the other arms' trials as well."""
ALSO = {"append-stall", "append-lock-over-1s", "broker-leaves-keys-move"}
"""What the host itself does, and what a name server that is cut off drops besides."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of these deployments and trials, as they were."""
    folder = tmp_path_factory.mktemp("recorded")
    for name, content in json.loads(lzma.decompress(PACKED.read_bytes())).items():
        parts = Path(name).parts
        of_nodes = parts[0] == "deployments" and parts[1] in (*CLEAN, *SHOWN)
        if ".log" in parts[-1] and (of_nodes or (parts[:1] == ("trials",) and parts[1] in (*CLIENTS, *OF_THE_KILLED))):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    return folder


def _incidents(path: Path) -> set[str]:
    return {one.found.incident for one in diagnose([path], scenarios.INCIDENTS, ()).incidents}


@pytest.mark.parametrize("deployment", CLEAN)
def test_nothing_is_found_where_nothing_happened(deployment: str, run: Path) -> None:
    assert _incidents(run / "deployments" / deployment) == set()


@pytest.mark.parametrize("trial", CLIENTS)
def test_nothing_is_found_in_logs_of_clients_to_which_nothing_happened(trial: str, run: Path) -> None:
    assert list((run / "trials" / trial / "clients").rglob("rocketmq_client.log"))
    assert _incidents(run / "trials" / trial / "clients") == set()


@pytest.mark.parametrize("trial", OF_THE_KILLED)
def test_by_clients_alone_a_broker_that_was_killed_is_possibly_gone(trial: str, run: Path) -> None:
    found = diagnose([run / "trials" / trial / "clients"], scenarios.INCIDENTS, ()).incidents
    assert {(one.found.incident, one.found.sure) for one in found} == {("broker-gone", "possible")}


@pytest.mark.parametrize("deployment", SHOWN)
def test_the_incident_is_named_and_no_other_that_did_not_happen(deployment: str, run: Path) -> None:
    found = _incidents(run / "deployments" / deployment)
    assert SHOWN[deployment] in found
    assert found - {SHOWN[deployment]} <= ALSO


@pytest.mark.parametrize("deployment", [*CLEAN, *SHOWN])
def test_with_a_tenth_of_the_lines_gone_it_is_never_wrong(deployment: str, run: Path, tmp_path: Path) -> None:
    draw = random.Random(deployment)
    for path in (run / "deployments" / deployment).rglob("*.log*"):
        copy = tmp_path / path.relative_to(run)
        copy.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True)
        copy.write_bytes(b"".join(line for line in lines if draw.random() > 0.1))
    found = _incidents(tmp_path / "deployments" / deployment)
    assert found <= ({SHOWN[deployment]} | ALSO if deployment in SHOWN else set())
