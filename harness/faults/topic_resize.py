"""A topic's numbers of write and read queues are changed while traffic runs, and mended at the end."""

from __future__ import annotations

from harness.errors import ClientError
from harness.load.queue_numbers import QueueNumbersSession
from harness.model.faults import ResizeTopic
from harness.trial import LoadSession, NeedsNothing, TrialContext


class ResizeByAdmin(NeedsNothing):
    """The request that mqadmin updateTopic sends, to every broker of the topic."""

    way = "admin call"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Take the steps one after another, and stay after each of them as long as it says."""
        session, fault = _session(load), _fault(trial)
        words = "; ".join(f"write {writes} read {reads}" for writes, reads, _ in fault.steps)
        for state in ("asked", "injecting"):
            trial.events.fault(fault.kind, state, target=trial.record.topic, detail=words)
        for writes, reads, stay_s in fault.steps:
            session.resize(writes, reads)
            trial.stay(stay_s)
        trial.events.fault(fault.kind, "injected", target=trial.record.topic, detail=words)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Give it the numbers that mend it."""
        fault = _fault(trial)
        trial.events.fault(fault.kind, "healing", target=trial.record.topic)
        _session(load).resize(*fault.mended)
        trial.events.fault(fault.kind, "healed", target=trial.record.topic)


def _session(load: LoadSession) -> QueueNumbersSession:
    if not isinstance(load, QueueNumbersSession):
        raise ClientError("this load has no topic to resize", advice="Use a fault that goes with the arm's load.")
    return load


def _fault(trial: TrialContext) -> ResizeTopic:
    assert isinstance(trial.arm.fault, ResizeTopic)
    return trial.arm.fault
