"""What is left when the harness is killed with -9: nothing of ours, and everything else."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.leases import proc
from harness.leases.healing import clean
from harness.leases.store import leases_in
from harness.paths import PACKAGES
from harness.wait import wait_until
from tests.lib.guards import kill_both

GONE_WITHIN_S = 2.0

Start = Callable[[str], "Owner"]


class Owner:
    """A harness process that runs a script and then says which processes it has started."""

    def __init__(self, script: str, state_dir: Path) -> None:
        source = "import os, signal, subprocess, sys, time\nfrom pathlib import Path\n"
        source += "from harness.leases.leases import *\nfrom harness.leases.store import *\n"
        # The tests themselves may run under nohup, and an ignored signal is inherited.
        source += f"signal.signal(signal.SIGHUP, signal.SIG_DFL)\nstate_dir = Path({str(state_dir)!r})\n"
        source += textwrap.dedent(script)
        # Another working folder than the repository's: the healer has to find its way from anywhere.
        self.popen = subprocess.Popen(
            [sys.executable, "-c", source],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            cwd=state_dir.parent,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline().strip()

    def processes(self) -> list[proc.ProcessId]:
        found = [proc.identify(int(pid)) for pid in self.say().split()]
        assert found
        assert all(process is not None and process.is_alive() for process in found)
        return [process for process in found if process is not None]

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()


@pytest.fixture
def start(state_dir: Path) -> Iterator[Start]:
    owners: list[Owner] = []

    def _start(script: str) -> Owner:
        owners.append(Owner(script, state_dir))
        return owners[-1]

    state_dir.mkdir()
    yield _start
    for owner in owners:
        owner.kill()
        assert owner.popen.stdout is not None
        owner.popen.stdout.close()


def wait_gone(*processes: proc.ProcessId) -> float:
    """Seconds until all are gone; fails when that takes too long."""
    started_s = time.monotonic()
    left = proc.wait_gone(processes, timeout_s=GONE_WITHIN_S)
    assert left == []
    return time.monotonic() - started_s


def wait_healed(state_dir: Path) -> None:
    wait_until("the last lease to be removed", lambda: not leases_in(state_dir), timeout_s=5)


def wait_logged(state_dir: Path, *words: str) -> None:
    """The healer strikes a lease off first and says so after."""

    def said() -> bool:
        log = (state_dir / "healer.log").read_text()
        return all(word in log for word in words)

    wait_until(f"the healer to say {', '.join(words)}", said, timeout_s=5)


SPAWN_THREE = """
    leases = Leases.open(state_dir)
    children = [leases.spawn(["sleep", "300"], name=f"node-{i}", until_s=300) for i in range(3)]
    print(*[child.pid for child in children], leases.healer_pid, flush=True)
    time.sleep(300)
"""


def test_nothing_is_left_when_the_owner_is_killed(start: Start, state_dir: Path) -> None:
    owner = start(SPAWN_THREE)
    processes = owner.processes()
    owner.kill()
    wait_gone(*processes)
    wait_healed(state_dir)
    wait_logged(state_dir, *[f"killed {process.pid}" for process in processes[:3]])


def test_what_the_children_started_is_gone_as_well(start: Start, state_dir: Path, tmp_path: Path) -> None:
    owner = start(f"""
        leases = Leases.open(state_dir)
        leases.spawn(["sh", "-c", "setsid sleep 300 & echo $! > {tmp_path}/pid; wait"], name="load", until_s=300)
        while not (pid := Path("{tmp_path}/pid").exists() and Path("{tmp_path}/pid").read_text().strip()):
            time.sleep(0.01)
        print(pid, flush=True)
        time.sleep(300)
    """)
    [grandchild] = owner.processes()
    owner.kill()
    wait_gone(grandchild)
    wait_healed(state_dir)


def test_a_stopped_child_is_gone_as_well(start: Start, state_dir: Path) -> None:
    owner = start("""
        leases = Leases.open(state_dir)
        child = leases.spawn(["sleep", "300"], name="broker-a", until_s=300)
        leases.hold("stopped-process", child.identity(), until_s=300)
        child.send_signal(signal.SIGSTOP)
        print(child.pid, flush=True)
        time.sleep(300)
    """)
    [child] = owner.processes()
    wait_until("the stop", child.is_stopped, timeout_s=5)
    owner.kill()
    wait_gone(child)
    wait_healed(state_dir)


def test_a_stopped_process_of_the_users_goes_on_and_stays(start: Start, state_dir: Path) -> None:
    with subprocess.Popen(["sleep", "300"]) as theirs:
        process = proc.identify(theirs.pid)
        assert process is not None
        owner = start(f"""
            from harness.leases import proc
            from harness.leases.process import stop_process
            process = proc.identify({theirs.pid})
            data = {{"name": "broker-a", "pid": process.pid, "start_ticks": process.start_ticks, "token": None}}
            stop_process(Leases.open(state_dir), process, data, until_s=300)
            print(process.pid, flush=True)
            time.sleep(300)
        """)
        assert owner.processes() == [process]
        assert process.is_stopped()
        owner.kill()
        wait_until("it to go on", lambda: not process.is_stopped(), timeout_s=60)
        wait_healed(state_dir)
        assert process.is_alive()
        theirs.kill()


def test_a_killed_node_of_the_users_is_started_again(start: Start, state_dir: Path, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "300"]) as theirs:
        owner = start(f"""
            from harness.leases import proc
            from harness.leases.given_kinds import KILLED_PROCESS, start_data
            process = proc.identify({theirs.pid})
            data = start_data("broker-a", process, "127.0.0.1:1", ("sh", "-c", "env > started"), Path({str(tmp_path)!r}))
            Leases.open(state_dir).hold(KILLED_PROCESS, data, until_s=300)
            proc.send_signal(process, None, signal.SIGKILL)
            print(flush=True)
            time.sleep(300)
        """)
        owner.say()
        owner.kill()
    wait_healed(state_dir)
    wait_logged(state_dir, f"kill of broker-a (pid {theirs.pid}): started again")
    wait_until("its command to run", lambda: "PATH=" in (tmp_path / "started").read_text(), timeout_s=60)
    assert "MQLAB_LEASE" not in (tmp_path / "started").read_text()


def test_a_node_of_the_users_that_was_not_killed_yet_is_left_alone(
    start: Start, state_dir: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(["sleep", "300"]) as theirs:
        owner = start(f"""
            from harness.leases import proc
            from harness.leases.given_kinds import KILLED_PROCESS, start_data
            data = start_data(
                "broker-a", proc.identify({theirs.pid}), "127.0.0.1:1", ("touch", "started"), Path({str(tmp_path)!r})
            )
            Leases.open(state_dir).hold(KILLED_PROCESS, data, until_s=300)
            print(flush=True)
            time.sleep(300)
        """)
        owner.say()
        owner.kill()
        wait_until("the lease to be removed", lambda: not leases_in(state_dir), timeout_s=60)
        assert not (tmp_path / "started").exists()
        theirs.kill()


def test_a_process_is_found_when_its_pid_was_never_written_down(start: Start, state_dir: Path) -> None:
    owner = start("""
        leases = Leases.open(state_dir)
        real = subprocess.Popen
        def killed_after_fork(*args, **options):
            child = real(*args, **options)
            print(child.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        subprocess.Popen = killed_after_fork
        leases.spawn(["sleep", "300"], name="broker-a", until_s=300)
    """)
    child = proc.identify(int(owner.say()))
    owner.popen.wait(10)
    assert child is not None
    wait_gone(child)
    wait_healed(state_dir)
    wait_logged(state_dir, "(being started): killed")


def test_a_process_that_shows_up_after_its_owners_death_is_found(start: Start, state_dir: Path) -> None:
    # As when the owner dies between fork and exec: the intent is there, and the process that carries the token
    # appears a moment later.
    owner = start("""
        leases = Leases.open(state_dir)
        def late(*args, env, **options):
            subprocess_run(["sh", "-c", "sleep 0.2; exec env MQLAB_LEASE=$1 sleep 300", "-", env["MQLAB_LEASE"]])
            os.kill(os.getpid(), signal.SIGKILL)
        real = subprocess.Popen
        def subprocess_run(argv):
            print(real(argv).pid, flush=True)
        subprocess.Popen = late
        leases.spawn(["sleep", "300"], name="broker-a", until_s=300)
    """)
    child = proc.identify(int(owner.say()))
    owner.popen.wait(10)
    assert child is not None
    wait_gone(child)
    wait_healed(state_dir)


def test_an_intent_without_a_process_is_removed(start: Start, state_dir: Path) -> None:
    owner = start("""
        leases = Leases.open(state_dir)
        subprocess.Popen = lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL)
        leases.spawn(["sleep", "300"], name="broker-a", until_s=300)
    """)
    assert owner.popen.wait(10) == -signal.SIGKILL
    wait_healed(state_dir)


def test_a_forked_child_that_lives_on_does_not_hide_its_parents_death(start: Start, state_dir: Path) -> None:
    owner = start("""
        leases = Leases.open(state_dir)
        child = leases.spawn(["sleep", "300"], name="broker-a", until_s=300)
        forked = os.fork()
        if forked == 0:
            leases.close()  # It owns nothing, so this must not end its parent's processes.
            time.sleep(1.0)
            os._exit(0)
        time.sleep(0.3)
        print(child.pid, forked, flush=True)
        time.sleep(300)
    """)
    child, forked = owner.processes()
    owner.kill()
    wait_gone(child)
    assert forked.is_alive()
    wait_healed(state_dir)


def test_kept_processes_outlive_their_owner_until_they_are_cleaned(start: Start, state_dir: Path) -> None:
    owner = start("""
        with Leases.open(state_dir) as leases:
            kept = leases.spawn(["sleep", "300"], name="broker-a", until_s=300, kept=True)
            later = leases.spawn(["sleep", "300"], name="broker-b", until_s=300)
            other = leases.spawn(["sleep", "300"], name="client", until_s=300)
            later.keep()
            print(kept.pid, later.pid, other.pid, leases.healer_pid, flush=True)
    """)
    kept, later, other, healer = (proc.identify(int(pid)) for pid in owner.say().split())
    assert kept is not None
    assert later is not None
    assert healer is not None
    assert owner.popen.wait(10) == 0
    if other is not None:  # else it was gone before we looked: the owner's block ends as soon as it has spoken
        wait_gone(other)
    assert clean(state_dir) == []
    assert kept.is_alive()
    assert later.is_alive()
    assert healer.is_alive()
    healed = clean(state_dir, include_kept=True)
    assert sorted(result.what for result in healed) == [
        f"process broker-a (pid {kept.pid})",
        f"process broker-b (pid {later.pid})",
    ]
    wait_gone(kept, later, healer)


def test_a_kept_process_of_a_killed_owner_still_ends_with_its_time(start: Start, state_dir: Path) -> None:
    owner = start("""
        leases = Leases.open(state_dir)
        kept = leases.spawn(["sleep", "300"], name="broker-a", until_s=1.5, kept=True)
        other = leases.spawn(["sleep", "300"], name="client", until_s=300)
        print(kept.pid, other.pid, leases.healer_pid, flush=True)
        time.sleep(300)
    """)
    kept, other, healer = owner.processes()
    owner.kill()
    wait_gone(other)
    assert kept.is_alive()
    assert proc.wait_gone([kept, healer], timeout_s=4) == []
    wait_healed(state_dir)


def test_one_owners_death_does_not_touch_another_owner(start: Start, state_dir: Path) -> None:
    first, second = start(SPAWN_THREE), start(SPAWN_THREE)
    theirs, ours = first.processes(), second.processes()
    first.kill()
    wait_gone(*theirs)
    assert all(process.is_alive() for process in ours)
    assert len(leases_in(state_dir)) == 3
    second.kill()
    wait_gone(*ours)
    wait_healed(state_dir)


def test_nothing_is_left_when_the_healer_is_killed_with_its_owner(start: Start, state_dir: Path) -> None:
    owner = start(SPAWN_THREE)
    *children, healer = owner.processes()
    # Both stand still first, as far as it can be had at one moment.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(owner.popen.pid, number)
        os.kill(healer.pid, number)
    wait_gone(healer, *children)
    wait_healed(state_dir)
    wait_logged(
        state_dir, "takes the place of a healer that was killed", *[f"killed {child.pid}" for child in children]
    )
    wait_until("every guard to leave", lambda: not guards_of(state_dir), timeout_s=5)


def test_a_stopped_process_of_the_users_goes_on_when_the_healer_is_killed_with_its_owner(
    start: Start, state_dir: Path
) -> None:
    with subprocess.Popen(["sleep", "300"]) as theirs:
        process = proc.identify(theirs.pid)
        assert process is not None
        owner = start(f"""
            from harness.leases import proc
            from harness.leases.process import stop_process
            process = proc.identify({theirs.pid})
            data = {{"name": "broker-a", "pid": process.pid, "start_ticks": process.start_ticks, "token": None}}
            leases = Leases.open(state_dir)
            stop_process(leases, process, data, until_s=300)
            print(leases.healer_pid, flush=True)
            time.sleep(300)
        """)
        [healer] = owner.processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            os.kill(owner.popen.pid, number)
            os.kill(healer.pid, number)
        wait_until("it to go on", lambda: not process.is_stopped(), timeout_s=60)
        wait_healed(state_dir)
        assert process.is_alive()
        theirs.kill()


def test_kept_processes_stay_when_the_healer_is_killed_with_its_owner(start: Start, state_dir: Path) -> None:
    owner = start("""
        leases = Leases.open(state_dir)
        kept = leases.spawn(["sleep", "300"], name="broker-a", until_s=3, kept=True)
        other = leases.spawn(["sleep", "300"], name="client", until_s=300)
        print(kept.pid, other.pid, leases.healer_pid, flush=True)
        time.sleep(300)
    """)
    kept, other, healer = owner.processes()
    os.kill(healer.pid, signal.SIGKILL)
    owner.kill()
    wait_gone(other)
    assert kept.is_alive()
    assert proc.wait_gone([kept], timeout_s=6) == []
    wait_healed(state_dir)


PROGRAM = """
from harness.leases.with_parent import end_with_parent
end_with_parent()
print("up", flush=True)
import time
time.sleep(300)
"""


def start_programs(how: str) -> str:
    """A script that starts a program that ends with its parent, in a thread that does not live on, and then does ``how``."""
    return f"""
        import threading
        leases = Leases.open(state_dir)
        program = []
        def in_a_thread():
            child = leases.spawn([sys.executable, "-c", {PROGRAM!r}], name="client", until_s=300, stdout=subprocess.PIPE)
            child.stdout.readline()
            program.append(child)
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()
        [child] = program
        node = leases.spawn(["sleep", "300"], name="broker-a", until_s=300)
        time.sleep(0.3)
        {how}
        print(child.pid, node.pid, leases.healer_pid, leases.understudy_pid, flush=True)
        time.sleep(300)
    """


@pytest.mark.parametrize("how", ["pass", "child.send_signal(signal.SIGSTOP)"])
def test_a_program_ends_with_its_owner_when_nobody_heals(start: Start, state_dir: Path, how: str) -> None:
    owner = start(start_programs(how))
    program, node, healer, understudy = owner.processes()
    kill_both(healer.pid, understudy.pid)
    assert program.is_alive()
    owner.kill()
    wait_gone(program)
    assert node.is_alive(), "a node is none of them"
    clean(state_dir)


def test_a_program_whose_owner_is_gone_before_it_can_ask_ends_by_itself(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "MQLAB_PARENT": "1"}
    asked = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, timeout=60, check=False
    )
    assert (asked.returncode, asked.stdout) == (1, b"")


def test_a_program_that_a_user_starts_ends_with_nobody() -> None:
    script = PROGRAM.replace("time.sleep(300)", "")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    asked = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, timeout=60, check=False
    )
    assert (asked.returncode, asked.stdout) == (0, b"up\n")


def guards_of(state_dir: Path) -> list[int]:
    """Healers and understudies of the state folder that live."""
    mark = f"\0{state_dir}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if mark in command and b"harness.leases.healer" in command:
                    found.append(int(entry.name))
    return found


def test_clean_does_their_work_when_the_understudy_was_killed_as_well(start: Start, state_dir: Path) -> None:
    owner = start(SPAWN_THREE.replace("leases.healer_pid", "leases.healer_pid, leases.understudy_pid"))
    *children, healer, understudy = owner.processes()
    kill_both(healer.pid, understudy.pid)
    owner.kill()
    assert all(child.is_alive() for child in children)
    healed = clean(state_dir)
    assert len(healed) == 3
    assert all(result.complete for result in healed)
    assert not any(child.is_alive() for child in children)


def test_a_terminals_interrupt_ends_the_owner_and_the_healer_does_the_rest(start: Start, state_dir: Path) -> None:
    owner = start(SPAWN_THREE)
    processes = owner.processes()
    owner.popen.send_signal(signal.SIGHUP)  # Not caught: the process is gone at once, as by a closed terminal.
    assert owner.popen.wait(5) == -signal.SIGHUP
    wait_gone(*processes)
    wait_healed(state_dir)
