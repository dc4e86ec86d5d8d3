"""What shows that a node stood still: with processes that are stopped, and with others that should have been."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from harness.backends.cluster import Node
from harness.faults import pause_proof
from harness.faults.pause_proof import Pause
from harness.faults.questions import answers
from harness.host.listeners import serve
from harness.host.ports import free_port
from harness.host.standstill import TICKS_MAX, look, why_not_still
from harness.leases import proc
from harness.leases.proc import ProcessId
from harness.trial import Healed
from harness.wait import wait_until
from tests.lib.answering import Answering, answering

NEVER = threading.Event()
WAIT_S_MAX = 60.0


@pytest.fixture
def broker() -> Iterator[Answering]:
    with answering() as one:
        yield one


@pytest.fixture
def decoy() -> Iterator[Answering]:
    with answering() as one:
        yield one


def _ticks(process: ProcessId) -> int:
    stat = proc.read_stat(process.pid)
    assert stat is not None
    return stat.cpu_ticks


def _asked(pause: Pause) -> None:
    wait_until("it to be asked", lambda: pause._question is not None, timeout_s=WAIT_S_MAX, poll_s=0.001)


def _ended(pause: Pause, paused: Answering) -> Healed:
    pause.ends()
    paused.go_on()
    return pause.shown("paused", NEVER)


# --- nodes ------------------------------------------------------------------------------------------------------------


def test_a_node_that_stands_still_answers_when_it_goes_on(broker: Answering) -> None:
    pause = Pause(broker.stop(), broker.node)
    _asked(pause)
    assert not pause.has_answered
    healed = _ended(pause, broker)
    assert healed.exercised is True, healed.achieved
    assert f"threads of process {broker.process.pid} stood still and computed nothing" in healed.achieved
    assert f"{broker.node.address} left a request of it unanswered" in healed.achieved
    assert pause.has_answered


def test_a_process_that_is_not_the_node_touches_nothing(broker: Answering, decoy: Answering) -> None:
    pause = Pause(decoy.stop(), broker.node)
    wait_until("the node's answer", lambda: pause.has_answered, timeout_s=WAIT_S_MAX)
    healed = _ended(pause, decoy)
    assert healed.exercised is False
    assert f"another process than {decoy.process.pid} takes connections to {broker.node.address}" in healed.achieved
    assert f"{broker.node.address} answered within" in healed.achieved


def test_a_process_that_is_not_the_node_shows_however_short_its_pause_was(broker: Answering, decoy: Answering) -> None:
    healed = _ended(Pause(decoy.stop(), broker.node), decoy)
    assert healed.exercised is False
    assert "another process" in healed.achieved


def test_the_shortest_pause_is_shown_by_the_process_alone(broker: Answering) -> None:
    healed = _ended(Pause(broker.stop(), broker.node, asks=False), broker)
    assert healed.exercised is True, healed.achieved
    assert healed.achieved.endswith("stood still and computed nothing")


def test_a_node_that_nobody_stopped_did_not_stand_still(broker: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause_proof, "STOPPING_S_MAX", 0.2)
    pause = Pause([broker.process], broker.node)
    wait_until("the node's answer", lambda: pause.has_answered, timeout_s=WAIT_S_MAX)
    healed = _ended(pause, broker)
    assert healed.exercised is False
    assert f"threads of process {broker.process.pid} were not stopped" in healed.achieved


def test_a_node_that_went_on_meanwhile_did_not_stand_still() -> None:
    with answering(computes=True) as broker:
        pause = Pause(broker.stop(), broker.node)
        _asked(pause)
        before = _ticks(broker.process)
        broker.go_on()
        wait_until("it to compute", lambda: _ticks(broker.process) > before + TICKS_MAX, timeout_s=WAIT_S_MAX)
        broker.stop()
        healed = _ended(pause, broker)
    assert healed.exercised is False
    assert "clock ticks while it was to stand still" in healed.achieved


def test_a_node_that_ended_meanwhile_did_not_stand_still(broker: Answering) -> None:
    pause = Pause(broker.stop(), broker.node)
    os.kill(broker.process.pid, signal.SIGKILL)
    wait_until("its end", lambda: not broker.process.is_alive(), timeout_s=WAIT_S_MAX)
    pause.ends()
    healed = pause.shown("paused", NEVER)
    assert healed.exercised is False
    assert f"process {broker.process.pid} has ended" in healed.achieved


def test_a_node_that_never_answers_again_may_have_been_silent_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause_proof, "ANSWER_S_MAX", 0.2)
    with answering(answers=False) as broker:
        pause = Pause(broker.stop(), broker.node)
        _asked(pause)
        healed = _ended(pause, broker)
        assert healed.exercised is None
        assert f"{broker.node.address} did not answer again: 0.2 s were not enough" in healed.achieved
        wait_until("nobody to wait for it", lambda: pause.has_answered, timeout_s=WAIT_S_MAX)


def test_nobody_is_waited_for_when_the_user_stops_the_run(broker: Answering) -> None:
    cancel = threading.Event()
    cancel.set()
    pause = Pause(broker.stop(), broker.node)
    _asked(pause)
    pause.ends()
    healed = pause.shown("paused", cancel)
    assert healed.exercised is None
    assert healed.achieved.endswith("did not answer again: stopped by the user")
    broker.go_on()


def test_where_nobody_listens_nothing_stood_still(decoy: Answering) -> None:
    nobody = Node(name="broker-a", kind="broker", address=f"127.0.0.1:{free_port()}")
    pause = Pause(decoy.stop(), nobody)
    wait_until("the refusal", lambda: pause.has_answered, timeout_s=WAIT_S_MAX)
    healed = _ended(pause, decoy)
    assert healed.exercised is False
    assert "refused" in healed.achieved


def test_where_it_cannot_be_seen_who_listens_silence_tells_once_it_is_long_enough(
    broker: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause_proof, "serve", lambda processes, address: None)
    short = _ended(Pause(broker.stop(), broker.node), broker)
    assert short.exercised is None
    assert "of silence do not tell" in short.achieved
    monkeypatch.setattr(pause_proof, "SILENT_S_MIN", 0.1)
    pause = Pause(broker.stop(), broker.node)
    _asked(pause)
    NEVER.wait(0.2)
    assert _ended(pause, broker).exercised is True


def test_a_pause_of_processes_that_cannot_be_seen_shows_nothing(broker: Answering) -> None:
    pause = Pause([], broker.node, asks=False)
    pause.ends()
    healed = pause.shown("paused", NEVER)
    assert (healed.exercised, healed.achieved) == (None, "paused: none of its processes can be seen from here")
    pause = Pause([], broker.node)
    wait_until("the node's answer", lambda: pause.has_answered, timeout_s=WAIT_S_MAX)
    pause.ends()
    assert pause.shown("paused", NEVER).exercised is False, "that it answered is seen all the same"


def test_a_process_without_a_port_is_shown_by_its_threads(broker: Answering) -> None:
    assert _ended(Pause(broker.stop()), broker).exercised is True
    pause = Pause([broker.process])
    pause.ends()
    assert pause.shown("paused", NEVER).exercised is False


# --- what it rests on -------------------------------------------------------------------------------------------------


def test_each_thread_counts() -> None:
    me = proc.identify(os.getpid())
    assert me is not None
    others = [threading.Thread(target=threading.Event().wait, args=(WAIT_S_MAX,), daemon=True) for _ in range(3)]
    for other in others:
        other.start()
    found = look(me)
    assert found.threads >= 4
    assert "threads of process" in found.running
    assert look(ProcessId(pid=me.pid, start_ticks=me.start_ticks + 1)).running == f"process {me.pid} has ended"


def test_a_tick_is_no_computing(broker: Answering) -> None:
    broker.stop()
    wait_until("each thread to stop", lambda: not look(broker.process).running, timeout_s=WAIT_S_MAX)
    still = look(broker.process)
    assert why_not_still(still, look(broker.process)) == ""
    broker.go_on()


def test_who_serves_an_address(broker: Answering, decoy: Answering) -> None:
    assert serve([broker.process], broker.node.address) is True
    assert serve([decoy.process], broker.node.address) is False
    assert serve([decoy.process, broker.process], broker.node.address) is True
    assert serve([broker.process], f"127.0.0.1:{free_port()}") is None, "nobody listens"
    assert serve([ProcessId(pid=2**22 + 1, start_ticks=1)], broker.node.address) is None, "it has ended"


def test_who_listens_everywhere_serves_what_no_other_one_does() -> None:
    with answering("0.0.0.0") as everywhere:
        port = everywhere.node.address.rsplit(":", 1)[1]
        assert serve([everywhere.process], f"127.0.0.1:{port}") is True
    me = proc.identify(os.getpid())
    assert me is not None
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as both:
        assert serve([me], f"127.0.0.1:{both.getsockname()[1]}") is True
    with socket.create_server(("::ffff:127.0.0.1", 0), family=socket.AF_INET6, dualstack_ipv6=True) as mapped:
        assert serve([me], f"127.0.0.1:{mapped.getsockname()[1]}") is True
        assert serve([me], f"127.0.0.2:{mapped.getsockname()[1]}") is None


def test_a_node_answers_until_it_is_gone(broker: Answering) -> None:
    assert answers(broker.node)
    os.kill(broker.process.pid, signal.SIGKILL)
    wait_until("its end", lambda: not answers(broker.node), timeout_s=WAIT_S_MAX)
