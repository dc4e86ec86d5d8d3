"""Leases within one living owner, and what is and is not touched when leftovers are cleaned."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.errors import LeaseError
from harness.leases import healer_process, healing, proc
from harness.leases.healing import PROCESS, STOPPED_PROCESS, clean
from harness.leases.leases import Leases
from harness.leases.store import LeaseRecord, LeaseStore, LeaseValue, Owner, leases_in
from harness.paths import state_home
from harness.wait import wait_until
from tests.lib.guards import kill_both

SLEEP = ["sleep", "300"]


@pytest.fixture
def foreigner() -> Iterator[proc.ProcessId]:
    """A process that has nothing to do with the lab."""
    popen = subprocess.Popen(SLEEP)
    process = proc.identify(popen.pid)
    assert process is not None
    yield process
    popen.kill()
    popen.wait()


@pytest.fixture
def dead_owner() -> Owner:
    """An owner of this boot whose process is gone."""
    popen = subprocess.Popen(["true"])
    owner = Owner.of(popen.pid)
    popen.wait()
    return owner


def written(
    state_dir: Path,
    owner: Owner,
    data: Mapping[str, LeaseValue],
    *,
    kind: str = PROCESS,
    kept: bool = False,
    until_s: float = 600,
    lease_id: str = "0123456789abcdef",
    age_s: int = 60,
) -> LeaseRecord:
    """A lease that is written down by hand, as an owner left it."""
    now_ns = time.monotonic_ns()
    record = LeaseRecord(
        id=lease_id,
        kind=kind,
        data=data,
        owner=owner,
        kept=kept,
        created="2026-11-21T08:15:00+00:00",
        created_mono_ns=now_ns - age_s * 1_000_000_000,
        until_mono_ns=now_ns + int(until_s * 1e9),
    )
    LeaseStore(state_dir).write(record)
    return record


def carrier(token: str) -> subprocess.Popen[bytes]:
    """A process with a lease's token, as the harness starts it."""
    return subprocess.Popen(SLEEP, env={**os.environ, proc.TOKEN_VARIABLE: token}, start_new_session=True)


# --- in the ordinary course -------------------------------------------------------------------------------------------


def test_a_process_is_written_down_before_it_exists(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    seen: list[Mapping[str, LeaseValue]] = []

    def spying(*args: object, **options: object) -> subprocess.Popen[bytes]:
        seen.extend(record.data for record in leases_in(state_dir))
        return real(*args, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", spying)
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="broker-a", until_s=60)
        [after] = leases_in(state_dir)
    assert [(data["name"], data["pid"]) for data in seen] == [("broker-a", None)]
    assert (after.data["pid"], after.data["argv"]) == (process.pid, "sleep 300")


def test_leaving_the_block_ends_the_processes_and_removes_the_leases(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        processes = [leases.spawn(SLEEP, name=f"client-{index}", until_s=60) for index in range(3)]
        healer = proc.identify(leases.healer_pid)
        assert healer is not None
        assert healer.is_alive()
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 3
    assert leases_in(state_dir) == []
    assert not healer.is_alive()


def test_an_error_in_the_block_ends_them_too(state_dir: Path) -> None:
    started = []

    def interrupted() -> None:
        with Leases.open(state_dir) as leases:
            started.append(leases.spawn(SLEEP, name="client", until_s=60))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    [process] = started
    assert process.returncode == -signal.SIGKILL


def test_a_kill_returns_when_the_process_was_gone_and_releases_the_lease(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="owner", until_s=60)
        before_ns = time.monotonic_ns()
        gone_ns = process.kill()
        assert before_ns < gone_ns <= time.monotonic_ns()
        assert process.returncode == -signal.SIGKILL
        assert leases_in(state_dir) == []


def test_a_kill_takes_what_the_process_started_with_it(state_dir: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with Leases.open(state_dir) as leases:
        process = leases.spawn(["sh", "-c", f"sleep 300 & echo $! > {pid_file}; wait"], name="load", until_s=60)
        grandchild = proc.identify(int(wait_until("the pid", lambda: pid_file.read_text() or None, timeout_s=10)))
        assert grandchild is not None
        assert grandchild.is_alive()
        process.kill()
        assert not grandchild.is_alive()


def test_a_process_whose_first_thread_has_ended_is_still_ours_and_alive(state_dir: Path) -> None:
    script = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    with Leases.open(state_dir) as leases:
        process = leases.spawn([sys.executable, "-c", script], name="jvm", until_s=60)
        identity = proc.identify(process.pid)
        assert identity is not None

        def first_thread_has_ended() -> bool:
            state = proc.read_stat(process.pid)
            return state is not None and state.code == "Z"

        wait_until("the first thread's end", first_thread_has_ended, timeout_s=10)
        assert identity.is_alive()
        assert identity.has_token(process.token)
        assert proc.wait_gone([identity], timeout_s=0.05) == [identity]
        process.kill()
        assert not identity.is_alive()
        assert process.returncode == -signal.SIGKILL


def test_terminate_waits_for_the_process_to_end_by_itself(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="broker-a", until_s=60)
        assert process.terminate(grace_s=5) is True
        assert process.returncode == -signal.SIGTERM
        assert leases_in(state_dir) == []


def test_terminate_kills_after_the_grace(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        argv = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"]
        process = leases.spawn(argv, name="broker-a", until_s=60, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert process.terminate(grace_s=0.2) is False
        assert process.returncode == -signal.SIGKILL


def test_waiting_too_short_is_an_error_and_long_enough_the_exit_code(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(["sh", "-c", "sleep 0.3; exit 7"], name="client", until_s=60)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        assert process.wait(10) == 7
        assert process.poll() == 7


def test_a_program_that_does_not_exist_is_an_error_and_leaves_no_lease(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        with pytest.raises(LeaseError, match="cannot start broker-a"):
            leases.spawn(["/no/such/java"], name="broker-a", until_s=60)
        assert leases_in(state_dir) == []


def test_a_process_is_not_started_when_it_cannot_be_written_down(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with Leases.open(state_dir) as leases:
        monkeypatch.setattr(os, "fsync", full)
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("it was started"))
        with pytest.raises(LeaseError, match="No space left"):
            leases.spawn(SLEEP, name="broker-a", until_s=60)
        monkeypatch.undo()
    assert list((state_dir / "leases").iterdir()) == []


def test_a_state_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LeaseError, match="state folder"):
        Leases.open(tmp_path / "file" / "state")


def test_a_lease_of_a_kind_that_nobody_can_heal_is_refused(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases, pytest.raises(LeaseError, match="'frozen-file-system'"):
        leases.hold("frozen-file-system", {}, until_s=10)


def test_closed_leases_start_nothing(state_dir: Path) -> None:
    leases = Leases.open(state_dir)
    leases.close()
    assert leases.close() == []
    with pytest.raises(LeaseError, match="closed"):
        leases.spawn(SLEEP, name="broker-a", until_s=60)


def test_many_threads_share_the_leases(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        healer_pid = leases.healer_pid

        def trial() -> None:
            for _ in range(4):
                leases.spawn(SLEEP, name="client", until_s=60)
            leases.spawn(SLEEP, name="victim", until_s=60).kill()

        with ThreadPoolExecutor(6) as pool:
            for result in [pool.submit(trial) for _ in range(6)]:
                result.result()
        assert len(leases_in(state_dir)) == 24
        assert leases.healer_pid == healer_pid
        assert len(leases.close()) == 24


def test_the_healer_survives_the_signals_of_a_terminal(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        healer = proc.identify(leases.healer_pid)
        assert healer is not None
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(healer.pid, number)
        process = leases.spawn(SLEEP, name="broker-a", until_s=0.2)
        assert process.wait(10) == -signal.SIGKILL
        assert healer.is_alive()
        assert os.getsid(healer.pid) == healer.pid != os.getsid(0)


def test_the_healer_is_no_descendant_of_a_lease_that_the_harness_runs_under(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(proc.TOKEN_VARIABLE, "outer")
    with Leases.open(state_dir) as leases:
        leases.spawn(SLEEP, name="broker-a", until_s=60)
        assert proc.with_tokens({"outer"}) == {}


def test_what_leads_out_of_the_lab_enters_no_process_of_it(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leads_out = {
        "JAVA_TOOL_OPTIONS": "-javaagent:/opt/apm.jar", "_JAVA_OPTIONS": "-Djdk.net.hosts.file=/etc/hosts",
        "JDK_JAVA_OPTIONS": "-Djdk.net.usePlainSocketImpl=true", "CLASSPATH": "/opt/apm.jar", "NAMESRV_ADDR": "10.0.0.1:9876",
        "ROCKETMQ_HOME": "/opt/rocketmq", "ROCKETMQ_ZONE": "prod", "ROCKSDB_SHAREDLIB_DIR": "/opt/rocksdb",
        "GRPC_PROXY_EXP": "proxy:3128", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317", "PROMETHEUS_CONFIG": "/etc/prom",
        "http_proxy": "http://proxy:3128", "HTTPS_PROXY": "http://proxy:3128", "grpc_proxy": "proxy:3128", "ALL_PROXY": "proxy",
    }  # fmt: skip
    own = {"PATH": os.environ["PATH"], "rocketmq.broker.rebalance.lockMaxLiveTime": "15000", "JAVA_HOME": "/opt/java"}
    for name, value in {**leads_out, **own}.items():
        monkeypatch.setenv(name, value)
    with Leases.open(state_dir) as leases:
        for given in (None, {**leads_out, **own}):
            process = leases.spawn(SLEEP, name="broker-a", until_s=60, env=given)
            has = dict(one.split("=", 1) for one in _environment(process.pid))
            assert not has.keys() & leads_out.keys()
            assert own.items() <= has.items()


def _environment(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/environ").read_text().rstrip("\0").split("\0")


def guards_of(leases: Leases) -> tuple[proc.ProcessId, proc.ProcessId]:
    """Its healer and that one's understudy."""
    leases.ensure_healer()
    healer, understudy = proc.identify(leases.healer_pid), proc.identify(leases.understudy_pid)
    assert healer is not None
    assert understudy is not None
    assert healer.is_alive()
    assert understudy.is_alive()
    return healer, understudy


def test_the_understudy_is_no_descendant_of_the_healer_and_ends_with_it(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        healer, understudy = guards_of(leases)
        leases.spawn(SLEEP, name="broker-a", until_s=60)
        parent = int(Path(f"/proc/{understudy.pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        assert parent not in (healer.pid, os.getpid())
        assert os.getsid(understudy.pid) == understudy.pid
        assert os.getpgid(understudy.pid) == understudy.pid
        assert proc.TOKEN_VARIABLE.encode() not in Path(f"/proc/{understudy.pid}/environ").read_bytes()
    assert not healer.is_alive()
    assert not understudy.is_alive()


def test_the_understudy_takes_the_place_of_a_healer_that_was_killed(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        first = leases.spawn(SLEEP, name="broker-a", until_s=60)
        healer, understudy = guards_of(leases)
        os.kill(healer.pid, signal.SIGKILL)
        assert proc.wait_gone([healer], timeout_s=5) == []
        second = leases.spawn(SLEEP, name="broker-b", until_s=0.3)
        assert leases.healer_pid == understudy.pid
        # It guards: it ends the lease that is over, and leaves the other alone.
        assert second.wait(10) == -signal.SIGKILL
        assert first.poll() is None
        wait_until("an understudy of its own", lambda: guards_of(leases)[1] != understudy, timeout_s=5)
        guards = guards_of(leases)
    assert not any(guard.is_alive() for guard in guards)


def test_the_healer_replaces_an_understudy_that_was_killed(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        for _ in range(3):
            healer, understudy = guards_of(leases)
            os.kill(understudy.pid, signal.SIGKILL)

            def replaced(one: proc.ProcessId = understudy) -> bool:
                leases.ensure_healer()
                return leases.understudy_pid != one.pid

            wait_until("another understudy", replaced, timeout_s=5)
            assert guards_of(leases)[0] == healer
        guards = guards_of(leases)
    assert not any(guard.is_alive() for guard in guards)


def test_both_are_replaced_at_the_next_lease_when_both_were_killed(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        first = leases.spawn(SLEEP, name="broker-a", until_s=60)
        killed = guards_of(leases)
        kill_both(*(guard.pid for guard in killed))
        second = leases.spawn(SLEEP, name="broker-b", until_s=0.3)
        assert not {*guards_of(leases)} & {*killed}
        assert second.wait(10) == -signal.SIGKILL
        assert first.poll() is None


def test_an_understudy_that_does_not_take_over_is_an_error_and_what_runs_is_left(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(healer_process, "TAKE_OVER_S_MAX", 0.3)
    with Leases.open(state_dir) as leases:
        first = leases.spawn(SLEEP, name="broker-a", until_s=60)
        healer, understudy = guards_of(leases)
        os.kill(understudy.pid, signal.SIGSTOP)
        try:
            os.kill(healer.pid, signal.SIGKILL)
            assert proc.wait_gone([healer], timeout_s=5) == []
            with pytest.raises(LeaseError, match=f"understudy \\(pid {understudy.pid}\\) has not taken its place"):
                leases.spawn(SLEEP, name="broker-b", until_s=60)
        finally:
            os.kill(understudy.pid, signal.SIGCONT)
        monkeypatch.undo()
        leases.spawn(SLEEP, name="broker-b", until_s=60)
        assert leases.healer_pid == understudy.pid
        assert first.poll() is None


# --- the end of a lease's time ----------------------------------------------------------------------------------------


def test_a_process_is_ended_when_its_time_is_over(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        started_s = time.monotonic()
        process = leases.spawn(SLEEP, name="broker-a", until_s=0.4)
        other = leases.spawn(SLEEP, name="broker-b", until_s=60)
        assert process.wait(10) == -signal.SIGKILL
        assert 0.4 <= time.monotonic() - started_s < 2.0
        assert other.poll() is None
        assert "broker-a" in wait_until("the log", lambda: (state_dir / "healer.log").read_text() or None, timeout_s=5)


def test_a_renewed_lease_lives_longer(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="broker-a", until_s=3.0)  # time enough to renew it on a busy host
        process.lease.renew(60)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3.5)


def test_a_stopped_process_goes_on_when_the_time_is_over(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="broker-a", until_s=60)
        identity = proc.identify(process.pid)
        assert identity is not None
        lease = leases.hold(STOPPED_PROCESS, process.identity(), until_s=0.5)
        process.send_signal(signal.SIGSTOP)
        wait_until("the stop", identity.is_stopped, timeout_s=5, poll_s=0.005)
        wait_until("the healer", lambda: not identity.is_stopped(), timeout_s=5)
        wait_until("the lease's end", lambda: not lease.is_held, timeout_s=5)
        assert process.poll() is None


def test_a_stopped_process_can_be_healed_earlier(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="broker-a", until_s=60)
        identity = proc.identify(process.pid)
        assert identity is not None
        lease = leases.hold(STOPPED_PROCESS, process.identity(), until_s=60)
        process.send_signal(signal.SIGSTOP)
        wait_until("the stop", identity.is_stopped, timeout_s=5, poll_s=0.005)
        healed = lease.heal()
        assert (healed.action, healed.complete) == ("continued", True)
        assert not identity.is_stopped()
        assert not lease.is_held


# --- what is touched and what is not ----------------------------------------------------------------------------------


def test_clean_ends_what_a_dead_owner_left(state_dir: Path, dead_owner: Owner) -> None:
    record = written(state_dir, dead_owner, {"name": "broker-a", "pid": None, "start_ticks": None})
    popen = carrier(record.id)
    [healed] = clean(state_dir)
    assert healed.action == f"killed {popen.pid}"
    assert popen.wait(5) == -signal.SIGKILL
    assert leases_in(state_dir) == []


def hide_environments_for(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in exec has no environment yet; on a busy machine that takes a while."""
    shown_s = time.monotonic() + seconds
    real = proc._environment_of
    monkeypatch.setattr(proc, "_environment_of", lambda pid: real(pid) if time.monotonic() >= shown_s else b"")


def test_a_child_that_does_not_show_its_token_yet_can_be_killed(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Leases.open(state_dir) as leases:
        hide_environments_for(60, monkeypatch)
        process = leases.spawn(SLEEP, name="owner", until_s=60)
        process.kill()
        assert process.returncode == -signal.SIGKILL
        assert leases_in(state_dir) == []


@pytest.mark.parametrize("pid_is_known", [True, False])
def test_a_fresh_process_that_does_not_show_its_token_yet_is_waited_for(
    state_dir: Path, dead_owner: Owner, monkeypatch: pytest.MonkeyPatch, pid_is_known: bool
) -> None:
    popen = carrier("fresh")
    process = proc.identify(popen.pid)
    assert process is not None
    known: dict[str, LeaseValue] = {"name": "broker-a", "pid": process.pid, "start_ticks": process.start_ticks}
    data: Mapping[str, LeaseValue] = known if pid_is_known else {"name": "broker-a", "pid": None, "start_ticks": None}
    written(state_dir, dead_owner, data, lease_id="fresh", age_s=0)
    hide_environments_for(0.3, monkeypatch)
    [healed] = clean(state_dir)
    assert healed.action == f"killed {popen.pid}"
    assert popen.wait(5) == -signal.SIGKILL


def test_a_stopped_fresh_process_that_does_not_show_its_token_yet_is_waited_for(
    state_dir: Path, dead_owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = carrier("fresh")
    try:
        process = proc.identify(popen.pid)
        assert process is not None
        popen.send_signal(signal.SIGSTOP)
        wait_until("the stop", process.is_stopped, timeout_s=5, poll_s=0.005)
        data: dict[str, LeaseValue] = {
            "name": "x",
            "pid": process.pid,
            "start_ticks": process.start_ticks,
            "token": "fresh",
        }
        written(state_dir, dead_owner, data, kind=STOPPED_PROCESS, age_s=0)
        hide_environments_for(0.3, monkeypatch)
        [healed] = clean(state_dir)
        assert healed.action == "continued"
        assert not process.is_stopped()
    finally:
        popen.kill()
        popen.wait()


def test_a_lease_whose_process_is_gone_is_just_removed(state_dir: Path, dead_owner: Owner) -> None:
    written(state_dir, dead_owner, {"name": "broker-a", "pid": dead_owner.pid, "start_ticks": dead_owner.start_ticks})
    [healed] = clean(state_dir)
    assert (healed.action, healed.complete) == ("it is gone", True)
    assert leases_in(state_dir) == []


@pytest.mark.parametrize("ticks_off", [0, 1])
@pytest.mark.parametrize("kind", [PROCESS, STOPPED_PROCESS])
def test_a_process_that_got_a_recycled_pid_is_not_touched(
    state_dir: Path, dead_owner: Owner, foreigner: proc.ProcessId, ticks_off: int, kind: str
) -> None:
    # Even the start time may agree by chance (10 ms resolution); without the token it is not ours.
    os.kill(foreigner.pid, signal.SIGSTOP)
    wait_until("the stop", foreigner.is_stopped, timeout_s=5, poll_s=0.005)
    data: dict[str, LeaseValue] = {
        "name": "x",
        "pid": foreigner.pid,
        "start_ticks": foreigner.start_ticks + ticks_off,
        "token": "t",
    }
    written(state_dir, dead_owner, data, kind=kind)
    [healed] = clean(state_dir)
    assert healed.action == "it is gone"
    assert foreigner.is_alive()
    assert foreigner.is_stopped()


def test_a_process_with_another_token_is_not_touched(state_dir: Path, dead_owner: Owner) -> None:
    popen = carrier("0123456789abcdef-and-more")
    try:
        written(state_dir, dead_owner, {"name": "x", "pid": None, "start_ticks": None}, lease_id="0123456789abcdef")
        clean(state_dir)
        assert popen.poll() is None
    finally:
        popen.kill()
        popen.wait()


def test_leases_of_a_living_owner_are_not_touched(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        process = leases.spawn(SLEEP, name="broker-a", until_s=60)
        assert clean(state_dir, include_kept=True) == []
        assert process.poll() is None


def test_two_owners_do_not_touch_each_other(state_dir: Path) -> None:
    with Leases.open(state_dir) as first:
        ours = first.spawn(SLEEP, name="broker-a", until_s=60)
        with Leases.open(state_dir) as second:
            theirs = second.spawn(SLEEP, name="broker-b", until_s=60)
            healers = {first.healer_pid, second.healer_pid}
        assert len(healers) == 2
        assert theirs.returncode == -signal.SIGKILL
        assert ours.poll() is None
        assert [record.data["name"] for record in leases_in(state_dir)] == ["broker-a"]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(state_dir: Path, dead_owner: Owner) -> None:
    record = written(state_dir, dead_owner, {"name": "broker-a", "pid": None, "start_ticks": None})
    popen = carrier(record.id)
    [planned] = clean(state_dir, dry_run=True)
    assert (planned.what, planned.action) == ("process broker-a (being started)", "would be healed")
    assert popen.poll() is None
    assert leases_in(state_dir) == [record]
    clean(state_dir)
    assert popen.wait(5) == -signal.SIGKILL


def test_leases_of_an_earlier_boot_are_dropped_without_touching_anything(
    state_dir: Path, dead_owner: Owner, foreigner: proc.ProcessId
) -> None:
    earlier = dataclasses.replace(dead_owner, boot_id="00000000-0000-0000-0000-000000000000")
    data: dict[str, LeaseValue] = {"name": "broker-a", "pid": foreigner.pid, "start_ticks": foreigner.start_ticks}
    record = written(state_dir, earlier, data, kept=True)
    popen = carrier(record.id)
    try:
        [healed] = clean(state_dir)
        assert healed.action == "gone with an earlier boot"
        assert leases_in(state_dir) == []
        assert popen.poll() is None
        assert foreigner.is_alive()
    finally:
        popen.kill()
        popen.wait()


def test_an_owner_of_an_earlier_boot_is_dead_even_if_its_pid_runs(dead_owner: Owner) -> None:
    here = Owner.of(os.getpid())
    assert here.is_alive()
    assert not dataclasses.replace(here, boot_id="another").is_alive()
    assert not dataclasses.replace(here, start_ticks=here.start_ticks + 1).is_alive()


def test_leases_of_another_container_are_left_to_it_until_their_time_is_over(
    state_dir: Path, dead_owner: Owner
) -> None:
    elsewhere = dataclasses.replace(dead_owner, namespace="pid:[1]")
    data: dict[str, LeaseValue] = {"name": "broker-a", "pid": None, "start_ticks": None}
    written(state_dir, elsewhere, data, lease_id="running")
    written(state_dir, elsewhere, data, lease_id="over", until_s=-1)
    [healed] = clean(state_dir, include_kept=True)
    assert healed.lease == "over"
    assert [record.id for record in leases_in(state_dir)] == ["running"]
    LeaseStore(state_dir).remove("running")


def test_kept_leases_stay_until_they_are_asked_for_or_over(state_dir: Path, dead_owner: Owner) -> None:
    data: dict[str, LeaseValue] = {"name": "broker-a", "pid": None, "start_ticks": None}
    written(state_dir, dead_owner, data, kept=True, lease_id="kept")
    written(state_dir, dead_owner, data, kept=True, lease_id="over", until_s=-1)
    assert [healed.lease for healed in clean(state_dir)] == ["over"]
    assert [healed.lease for healed in clean(state_dir, include_kept=True, only=lambda record: False)] == []
    assert [healed.lease for healed in clean(state_dir, include_kept=True)] == ["kept"]


@pytest.mark.parametrize(
    "content",
    ["", "{", '{"schema": 1}', '{"schema": 2}', "[]", "null", '{"schema": 1, "owner": 3}', "\x00\x00"],
)
def test_a_damaged_lease_is_reported_and_set_aside(state_dir: Path, dead_owner: Owner, content: str) -> None:
    written(state_dir, dead_owner, {"name": "broker-a", "pid": None, "start_ticks": None}, lease_id="whole")
    (state_dir / "leases" / "broken.json").write_text(content)
    healed = {result.lease: result for result in clean(state_dir)}
    assert healed["whole"].complete
    assert "set aside" in healed["broken"].action
    assert (state_dir / "damaged" / "broken.json").read_text() == content
    assert clean(state_dir) == []


def test_a_lease_cut_anywhere_is_damaged_and_never_misread(state_dir: Path, dead_owner: Owner) -> None:
    record = written(state_dir, dead_owner, {"name": "broker-a", "pid": None, "start_ticks": None})
    text = record.to_json()
    assert LeaseRecord.from_json(text) == record
    for length in range(len(text) - 1):  # Without its newline it is still whole.
        with pytest.raises(ValueError, match=r".*"):
            LeaseRecord.from_json(text[:length])
    clean(state_dir)


def test_the_processes_of_a_damaged_lease_are_named_and_not_touched(state_dir: Path) -> None:
    LeaseStore(state_dir)
    (state_dir / "leases" / "broken.json").write_text("{")
    popen = carrier("broken")
    try:
        wait_until("the token", lambda: proc.with_tokens({"broken"}) or None, timeout_s=5)
        [healed] = clean(state_dir)
        assert str(popen.pid) in healed.action
        assert not healed.complete
        assert popen.poll() is None
    finally:
        popen.kill()
        popen.wait()


def test_a_damaged_lease_does_not_keep_the_healer_from_its_work(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        (state_dir / "leases" / "broken.json").write_text("{")
        process = leases.spawn(SLEEP, name="broker-a", until_s=0.3)
        assert process.wait(10) == -signal.SIGKILL
    clean(state_dir)


# --- other kinds ------------------------------------------------------------------------------------------------------


class Recording:
    """A kind that writes down when it was healed."""

    survives_boot = False

    def __init__(self, healed: list[str], error: Exception | None = None) -> None:
        self.healed = healed
        self.error = error

    def describe(self, lease: LeaseRecord) -> str:
        return f"thing {lease.data['name']}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return True

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        if self.error is not None:
            raise self.error
        self.healed += [str(lease.data["name"]) for lease in leases]
        return {lease.id: ("undone", True) for lease in leases}


def test_what_came_last_is_healed_first(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healed: list[str] = []
    monkeypatch.setattr(
        healing, "HEALABLE", {"mount-of-a-test": Recording(healed), "freeze-of-a-test": Recording(healed)}
    )
    with Leases.open(state_dir) as leases:
        for kind, name in [
            ("mount-of-a-test", "m1"),
            ("freeze-of-a-test", "f1"),
            ("freeze-of-a-test", "f2"),
            ("mount-of-a-test", "m2"),
        ]:
            leases.hold(kind, {"name": name}, until_s=60)
    assert healed == ["m2", "f2", "f1", "m1"]


def test_what_one_kind_cannot_heal_does_not_keep_others_from_it_and_is_not_forgotten(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    healed: list[str] = []
    kinds = {"mount-of-a-test": Recording(healed), "freeze-of-a-test": Recording(healed, OSError(16, "busy"))}
    monkeypatch.setattr(healing, "HEALABLE", kinds)
    leases = Leases.open(state_dir)
    leases.hold("mount-of-a-test", {"name": "m1"}, until_s=60)
    leases.hold("freeze-of-a-test", {"name": "f1"}, until_s=60)
    with pytest.raises(LeaseError, match=r"thing f1: failed: .*busy"):
        leases.close()
    assert healed == ["m1"]
    [left] = leases_in(state_dir)
    assert left.data["name"] == "f1"
    kill_both(leases.healer_pid, leases.understudy_pid)  # They would try again for a minute.
    LeaseStore(state_dir).remove(left.id)


def test_a_released_lease_is_not_healed(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healed: list[str] = []
    monkeypatch.setattr(healing, "HEALABLE", {"mount-of-a-test": Recording(healed)})
    with Leases.open(state_dir) as leases:
        lease = leases.hold("mount-of-a-test", {"name": "m1"}, until_s=60)
        lease.update({"device": "/dev/loop7"})
        assert json.loads((state_dir / "leases" / f"{lease.record.id}.json").read_text())["data"] == {
            "name": "m1",
            "device": "/dev/loop7",
        }
        lease.release()
        lease.renew(90)  # Too late: it must not come back.
        assert not lease.is_held
    assert healed == []


def test_a_kind_of_a_newer_version_is_left_alone_and_reported(state_dir: Path, dead_owner: Owner) -> None:
    written(state_dir, dead_owner, {}, kind="teleporter")
    [healed] = clean(state_dir)
    assert not healed.complete
    assert "does not know" in healed.action
    [left] = leases_in(state_dir)
    LeaseStore(state_dir).remove(left.id)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"MQLAB_HOME": "/lab", "XDG_STATE_HOME": "/xdg"}, "/lab/state"),
        ({"XDG_STATE_HOME": "/xdg"}, "/xdg/rocketmq-incident-lab"),
        ({}, str(Path.home() / ".local/state/rocketmq-incident-lab")),
    ],
)
def test_the_state_folder_follows_the_environment(environment: dict[str, str], expected: str) -> None:
    assert str(state_home(environment)) == expected
