"""Whether a node answers: one small request to its own port, which changes nothing there."""

import threading

from harness.backends.cluster import Node
from harness.clock import mono_ns
from harness.errors import AccessDeniedError, LabError
from harness.model import rocketmq
from harness.protocol.connection import Connection
from harness.protocol.frames import Fields

GONE_S_MAX = 5.0
"""For an answer of a node that is to be gone: where nobody listens any more a connection is refused at once."""
_POLL_S = 0.05


def question_to(node: Node) -> tuple[int, Fields]:
    """A broker says how it is configured, a name server where a topic is that all brokers have; whatever it answers will do."""
    if node.kind == "broker":
        return rocketmq.GET_BROKER_CONFIG, {}
    return rocketmq.GET_ROUTEINFO_BY_TOPIC, {"topic": rocketmq.SELF_TEST_TOPIC}


def answers(node: Node, *, timeout_s: float = GONE_S_MAX) -> bool:
    """Whether it answers within so long."""
    try:
        with Connection(node.address, timeout_s=timeout_s, access=node.access) as connection:
            connection.ask(*question_to(node))
    except AccessDeniedError:
        return True
    except LabError:
        return False
    return True


class Question:
    """A request on a connection and in a thread of its own, whose answer may come as late as it likes.

    The kernel takes the connection and the request also for a process that stands still: the answer comes when that goes on.
    """

    def __init__(self, node: Node, *, timeout_s: float) -> None:
        """It is given up after ``timeout_s``."""
        self._node = node
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self.asked_ns = mono_ns()
        self.ended_ns: int | None = None
        """When the answer came, or it turned out that there will be none."""
        self.failed = ""
        """Why there is none, in words."""
        self._thread = threading.Thread(target=self._ask, name=f"question to {node.name}", daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        failed = f"what {self._node.address} answered cannot be read"
        try:
            with Connection(
                self._node.address, timeout_s=self._timeout_s, access=self._node.access
            ) as self._connection:
                self._connection.ask(*question_to(self._node))
            failed = ""
        except AccessDeniedError:
            failed = ""
        except LabError as error:
            failed = str(error)
        finally:
            self.failed = failed
            self.ended_ns = mono_ns()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.ended_ns is not None

    def wait(self, seconds: float, cancel: threading.Event) -> str:
        """Wait for the answer, but not longer, nor when ``cancel`` is set; nobody waits for it then any more.

        Returns why there is none, in words, empty where there is one.
        """
        deadline_ns = mono_ns() + int(seconds * 1e9)
        while not self.has_ended and mono_ns() < deadline_ns and not cancel.is_set():
            self._thread.join(_POLL_S)
        if self.has_ended:
            return self.failed
        if self._connection is not None:
            self._connection.hang_up()
        return "stopped by the user" if cancel.is_set() else f"{seconds:g} s were not enough"
