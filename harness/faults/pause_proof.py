"""What shows that something stood still: its processes were stopped and computed nothing, and its port was silent.

A process that is stopped by mistake shows the first alone: another one goes on answering at the node's address.
"""

import threading
import time
from collections.abc import Sequence

from harness.backends.cluster import Node
from harness.clock import mono_ns
from harness.faults.questions import Question
from harness.host.listeners import serve
from harness.host.standstill import Look, look, why_not_still
from harness.leases.proc import ProcessId
from harness.trial import Healed

ANSWER_S_MAX = 30.0
"""In which a node that goes on has answered what it was asked while it stood still."""
SILENT_S_MIN = 2.0
"""A node that runs answers within milliseconds, and within a second on a machine that has far more to do than it can."""
STOPPING_S_MAX = 10.0
"""In which the last thread has stopped: one that waits for a disk does so afterwards."""
SHORTEST_S_MAX = 2.0
"""For so long a pause goes on whose time is over before its last thread has stopped: each has to come to a core for that."""
_PAUSE_S_MAX = 86_400.0
_POLL_S = 0.01


class Pause:
    """What shows that processes stand still, looked for from their pause on.

    ::

        pause = Pause(trial.cluster.pause_node(node.name, until_s=60), node)
        ...
        pause.ends()
        trial.cluster.resume_node(node.name)
        healed = pause.shown("paused for 3000 ms", trial.cancel)
    """

    def __init__(self, processes: Sequence[ProcessId], node: Node | None = None, *, asks: bool = True) -> None:
        """They have just been stopped. ``node`` is what they are, which is asked something unless ``asks`` is False."""
        self._processes = processes
        self._node = node
        self._asks = asks
        self._question: Question | None = None
        self._serve: bool | None = None
        self._first = self._last = self._looks()
        self._over_ns = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="pause", daemon=True)
        self._thread.start()

    def _looks(self) -> list[Look]:
        return [look(process) for process in self._processes]

    def _look_on(self) -> None:
        deadline = time.monotonic() + STOPPING_S_MAX
        while any(one.running for one in self._first) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            found = self._looks()
            # What was looked at before the end was looked at within the pause.
            if self._is_over.is_set():
                break
            self._first = found
        if self._node is not None:
            if self._asks and not self._is_over.is_set():
                self._question = Question(self._node, timeout_s=_PAUSE_S_MAX)
            self._serve = serve(self._processes, self._node.address) if self._processes else None

    def ends(self) -> None:
        """Look once more: they go on in a moment."""
        self._is_over.set()
        self._last = self._looks()
        deadline = time.monotonic() + SHORTEST_S_MAX
        while any(one.running and one.threads for one in self._last) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            self._last = self._looks()
        self._over_ns = mono_ns()

    @property
    def has_answered(self) -> bool:
        """Whether nothing more is to come of what the node was asked."""
        return not self._thread.is_alive() and (self._question is None or self._question.has_ended)

    def shown(self, achieved: str, cancel: threading.Event) -> Healed:
        """What there was to see, in words behind what was achieved. They go on by now, and an answer is waited for."""
        over_ns = mono_ns()
        self._thread.join(STOPPING_S_MAX)
        no_answer = "" if self._question is None else self._question.wait(ANSWER_S_MAX, cancel)
        denied = [*self._denied_by_processes(), *self._denied_by_node()]
        unsure = self._unsure(no_answer)
        words = denied or unsure or self._shown()
        return Healed(
            achieved=f"{achieved}: {'; '.join(words)}",
            exercised=False if denied else None if unsure else True,
            healed_ns=over_ns,
        )

    def _denied_by_processes(self) -> list[str]:
        # One whose threads were all stopped at the end, and not before, has not gone on in between.
        pairs = ((last if first.running else first, last) for first, last in zip(self._first, self._last, strict=True))
        return [words for first, last in pairs if (words := why_not_still(first, last))]

    def _denied_by_node(self) -> list[str]:
        """Somebody was there who should have stood still."""
        if self._node is None:
            return []
        why, address = [], self._node.address
        if self._serve is False:
            pids = ", ".join(str(process.pid) for process in self._processes)
            why.append(f"another process than {pids} takes connections to {address}")
        if (asked := self._question) is not None and asked.ended_ns is not None and asked.ended_ns < self._over_ns:
            after_ms = (asked.ended_ns - asked.asked_ns) / 1e6
            why.append(
                f"{address} was to stand still: {asked.failed}"
                if asked.failed
                else f"{address} answered within {after_ms:.0f} ms while it was to stand still"
            )
        return why

    def _unsure(self, no_answer: str) -> list[str]:
        """Why it cannot be told whether the node was what stood still."""
        if not self._processes:
            return ["none of its processes can be seen from here"]
        if unseen := next((one.unseen for one in (*self._last, *self._first) if one.unseen), ""):
            return [unseen]
        if self._node is None:
            return []
        asked, address = self._question, self._node.address
        if no_answer:
            return [f"{address} did not answer again: {no_answer}"]
        silent_s = 0.0 if asked is None else (self._over_ns - asked.asked_ns) / 1e9
        if self._serve is None and silent_s < SILENT_S_MIN:
            return [
                f"it cannot be seen who takes connections to {address}, and {silent_s:.1f} s of silence do not tell"
            ]
        return []

    def _shown(self) -> list[str]:
        pids = ", ".join(str(process.pid) for process in self._processes)
        why = [
            f"the {sum(one.threads for one in self._last)} threads of process {pids} stood still and computed nothing"
        ]
        if (asked := self._question) is not None and self._node is not None and asked.ended_ns is not None:
            silent_ms, after_ms = (self._over_ns - asked.asked_ns) / 1e6, (asked.ended_ns - self._over_ns) / 1e6
            why.append(
                f"{self._node.address} left a request of it unanswered for {silent_ms:.0f} ms and answered it "
                f"{after_ms:.0f} ms after it went on"
            )
        return why
