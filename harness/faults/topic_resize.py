"""A topic's numbers of write and read queues are changed while traffic runs, and mended at the end."""

from __future__ import annotations

from harness.model.faults import ResizeTopic
from harness.trial import HasQueueNumbers, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able


class ResizeByAdmin(Injection[ResizeTopic]):
    """The request that mqadmin updateTopic sends, to every broker of the topic."""

    name = "admin call"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Take the steps one after another, and stay after each of them as long as it says."""
        topic = able(load, HasQueueNumbers)
        for writes, reads, stay_s in self.fault.steps:
            topic.resize(writes, reads)
            trial.stay(stay_s)
        words = "; ".join(f"write {writes} read {reads}" for writes, reads, _ in self.fault.steps)
        return Injected(target=trial.record.topic, detail=words)

    def heal(self, trial: TrialContext, load: LoadSession) -> Healed:
        """Give it the numbers that mend it."""
        able(load, HasQueueNumbers).resize(*self.fault.mended)
        return Healed()


INJECTIONS: Injections = {ResizeTopic: ResizeByAdmin}
