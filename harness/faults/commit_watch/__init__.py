"""Commits of the transient store pool are counted, and nothing else is done: a Byteman rule in the broker's own JVM."""

from harness.backends.cluster import masters
from harness.clock import mono_ns
from harness.faults.rules import asked_rule
from harness.model.faults import CommitWatch
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

APART_SHARE = 0.75
"""Of the timer's period: a commit that comes so long after the one before was not woken by a message."""


def watch(fault: CommitWatch, trial: TrialContext, load: LoadSession) -> Injected:
    """Count those of the first master for the cell's ``watch_ms``. Raises ClientError."""
    broker, begun_ns = masters(trial.cluster)[0], mono_ns()
    asked_rule(broker, f"CommitHelper begin {APART_SHARE * fault.period_ms}", 2)
    trial.stay(float(trial.params["watch_ms"]) / 1000)
    commits, apart = asked_rule(broker, "CommitHelper end", 2)
    ended_ns = mono_ns()
    if commits:
        detail = f"{apart} of {commits} commits"
        trial.events.reading(
            "commit_after_period_share", apart / commits, target=broker.name, moment="after", detail=detail
        )
    return Injected(
        target=broker.name,
        detail=f"{commits} commits were seen",
        exercised=commits > 0,
        injecting_ns=begun_ns,
        injected_ns=begun_ns,
        healing_ns=ended_ns,
        healed_ns=ended_ns,
    )


INJECTIONS: Injections = {CommitWatch: Injection(name="none", inject=watch)}
