"""The process that holds every group's owner ends, stands still, or loses its network."""

import dataclasses

from harness.backends.abilities import PROCESSES
from harness.clients.java import JavaClient
from harness.clock import mono_ns
from harness.faults.network import cut_processes, ports_of, why_no_firewall
from harness.faults.pause_proof import Pause
from harness.host.abilities import Abilities
from harness.host.cgroups import unified_root
from harness.leases import proc
from harness.model.faults import (
    CutOffOwners,
    KillOwners,
    KillStoppingOwners,
    PauseOwners,
    ShutDownOwners,
    SilenceOwners,
)
from harness.trial import HasOwners, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able

PAUSED_S_MAX = 120.0


def owners_of(load: LoadSession) -> JavaClient:
    """The process that holds the owners. Raises ClientError where the load has none."""
    return able(load, HasOwners).owners()


def _killed(owners: JavaClient) -> Injected:
    """One that has ended by itself before does not count as killed."""
    was_running = owners.is_running()
    done = _gone(owners, *owners.kill())
    detail = owners.name if was_running else f"{owners.name} had ended before it was killed"
    return dataclasses.replace(done, detail=detail, exercised=was_running)


def _gone(owners: JavaClient, before_ns: int, gone_ns: int) -> Injected:
    achieved_ms = (gone_ns - before_ns) / 1e6
    return Injected(
        target=_pid(owners), detail=owners.name, achieved_ms=achieved_ms, injecting_ns=before_ns, injected_ns=gone_ns
    )


def _pid(owners: JavaClient) -> str:
    return f"pid {owners.pid}"


def kill(fault: KillOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGKILL; returns when the process is gone. The owners stay dead."""
    return _killed(owners_of(load))


def shut_down(fault: ShutDownOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """``consumer.shutdown()`` on every owner, all at once; returns when every call has. The owners stay away."""
    owners, before_ns = owners_of(load), mono_ns()
    owners.shut_down_consumers()
    return _gone(owners, before_ns, mono_ns())


def kill_stopping(fault: KillStoppingOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """Begin the stop, wait for the grace, and SIGKILL; the fault's time is that of the kill."""
    owners = owners_of(load)
    owners.shut_down_consumers(first_s=fault.first_s)
    trial.stay(fault.grace_s)
    return _killed(owners)


def pause(fault: PauseOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGSTOP under a lease, and SIGCONT when the hold, which lasts the cell's ``pause_s``, is over."""
    owners = owners_of(load)
    pause_s = float(trial.params["pause_s"])
    from_ns, still = _stopped(owners, trial, until_s=max(PAUSED_S_MAX, 2 * pause_s))

    def resume() -> Healed:
        still.ends()
        paused_ms = owners.resume()
        return dataclasses.replace(still.shown(f"paused for {paused_ms:.0f} ms", trial.cancel), achieved_ms=paused_ms)

    return Injected(target=_pid(owners), detail=owners.name, asked_ms=pause_s * 1000, injected_ns=from_ns, end=resume)


def silence(fault: SilenceOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGSTOP under a lease; the process never goes on, and is ended with the hold."""
    owners = owners_of(load)
    from_ns, still = _stopped(owners, trial, until_s=trial.until_s)

    def kill() -> Healed:
        still.ends()
        owners.kill()
        return still.shown("silent until it was ended", trial.cancel)

    return Injected(target=_pid(owners), detail=owners.name, injected_ns=from_ns, end=kill)


def _stopped(owners: JavaClient, trial: TrialContext, *, until_s: float) -> tuple[int, Pause]:
    """Stop the process: when it stood still, and what shows that it does."""
    process = proc.identify(owners.pid)
    owners.pause(trial.leases, until_s=until_s)
    return mono_ns(), Pause([] if process is None else [process])


def cut_off(fault: CutOffOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """Drop packets between the process, which works on, and every node; it is ended with the hold, and never comes back."""
    owners = owners_of(load)
    ports = sorted({port for node in trial.cluster.nodes for port in ports_of(node)})
    cut = cut_processes(trial.leases, [(owners.pid, ports)], until_s=trial.until_s)

    def end() -> Healed:
        # It ends while it is cut off still.
        try:
            owners.kill()
        finally:
            healed = cut.end()
        return healed

    return Injected(target=_pid(owners), detail=owners.name, end=end)


def why_no_cut(host: Abilities) -> str | None:
    """It needs a firewall, and control groups by which one process's packets are told from those of others."""
    if unified_root() is None:
        return "control groups of version 2 are not mounted"
    return why_no_firewall(host)


INJECTIONS: Injections = {
    KillOwners: Injection(name="signal", inject=kill),
    ShutDownOwners: Injection(name="client call", inject=shut_down),
    KillStoppingOwners: Injection(name="client call and signal", inject=kill_stopping),
    PauseOwners: Injection(name="signal", inject=pause),
    SilenceOwners: Injection(name="signal", inject=silence),
    CutOffOwners: Injection(
        name="iptables",
        asks="root, iptables and control groups of version 2",
        inject=cut_off,
        needs=PROCESSES,
        can=why_no_cut,
    ),
}
