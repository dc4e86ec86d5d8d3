"""A group that has consumed what its broker has not written to disk yet."""

from dataclasses import dataclass

from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.loads import LoadValue


@dataclass(frozen=True, kw_only=True)
class UnflushedTail(LoadValue):
    """``history`` messages that are on disk, and ``tail`` ones after them that are not when the fault comes. A group has all.

    Until the fault is healed nothing more is sent; then come ``sent_back`` messages. With ``waits`` the group asks for no message
    from the fault on until these are stored, as one that is busy elsewhere.
    """

    history: int = 200
    tail: int = 30
    """With bodies of 128 bytes less than three pages: four are flushed within half a second (``flushCommitLogLeastPages``)."""
    sent_back: int = 0
    waits: bool = False
    rate_hz: float = 100.0
    heartbeat_ms: int = 3_000
    """``heartbeatBrokerInterval`` of the consumer: a broker that was restarted knows it that soon."""
    groups: int = 1
    queues: int = 1
    body_bytes: int = 128

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """While it sends, which is some seconds."""
        return self.rate_hz
