"""A topic's numbers of write and read queues are changed while traffic runs, and mended at the end."""

from harness.model.faults import ResizeTopic
from harness.trial import (
    CanWaitUntilRead,
    HasQueueNumbers,
    Healed,
    Injected,
    Injection,
    Injections,
    LoadSession,
    TrialContext,
    able,
)


def resize(fault: ResizeTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """Take the steps one after another, by what mqadmin updateTopic sends to every broker of the topic; stay after each."""
    topic = able(load, HasQueueNumbers)
    for writes, reads, stay_s in fault.steps:
        if fault.drained and reads < topic.numbers[1]:
            able(load, CanWaitUntilRead).wait_until_read(reads)
        topic.resize(writes, reads)
        trial.stay(stay_s)
    words = "; ".join(f"write {writes} read {reads}" for writes, reads, _ in fault.steps)
    return Injected(target=trial.record.topic, detail=words)


def mend(fault: ResizeTopic, trial: TrialContext, load: LoadSession) -> Healed:
    """Give it the numbers that mend it."""
    able(load, HasQueueNumbers).resize(*fault.mended)
    return Healed()


INJECTIONS: Injections = {ResizeTopic: Injection(name="admin call", inject=resize, heal=mend)}
