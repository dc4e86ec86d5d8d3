"""The child process that holds one of Python's own clients; ``harness.clients.worker`` is its twin for Java.

It takes the same commands, follows the same schedule and writes the same records.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from harness.clients.commands import SendSettings
from harness.clients.python.client import Opening
from harness.clients.python.clients import CLIENTS
from harness.clients.python.load import GIVE_UP_S, Load
from harness.clients.python.native_log import calls_of, log_lines
from harness.clients.python.schedule import Schedule
from harness.clients.serve import serve
from harness.clock import ANCHOR_PERIOD_S, take_anchor
from harness.rundir.files import JsonValue
from harness.rundir.lines import RecordLog

END_S_MAX = 4.0


class PythonWorker:
    """The commands of ``harness.clients.worker.Worker``, by the same names."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._process = str(spec["process"])
        self.client = str(spec["client"])
        self.only_broker = str(spec["only_broker"])
        self._open = CLIENTS[spec["kind"]]
        self._logs = Path(spec["logs"])
        self._give_up_s = float(spec.get("give_up_s", GIVE_UP_S))
        self._history: RecordLog | None = None
        self._producers: dict[str, dict[str, Any]] = {}
        """What each is made from, by the names of Opening's fields."""
        self._accepted: set[int] = set()
        """Sends of traced producers, of which the library's log has to have a call."""
        self._loads: dict[str, Load] = {}
        threading.Thread(target=self._anchor_forever, daemon=True).start()

    def record(self, kind: str, values: Mapping[str, JsonValue]) -> None:
        """Write one record of this process's history."""
        if self._history is not None:
            self._history.write(kind, {"process": self._process, **values})
        if kind == "send" and values["outcome"] == "ok" and self._producers[str(values["instance"])]["traced"]:
            self._accepted.add(cast(int, values["seq"]))

    def _anchor(self) -> None:
        anchor = take_anchor()
        self.record("anchor", {"mono_ns": anchor.mono_ns, "wall_us": anchor.wall_us})

    def _anchor_forever(self) -> None:
        wake = threading.Event()
        while not wake.wait(ANCHOR_PERIOD_S):
            self._anchor()

    def open_history(self, path: str) -> None:
        """Write to ``path`` from now on."""
        self._history = RecordLog(Path(path))
        self._anchor()

    def close_history(self) -> str:
        """Close the history; the kernel has every record already. Returns why its calls are not all there, if so."""
        if self._history is None:
            return ""
        problem = self._record_calls() if any(made["traced"] for made in self._producers.values()) else ""
        self._anchor()
        history, self._history = self._history, None
        history.end(process=self._process)
        return problem

    def _record_calls(self) -> str:
        """Record the calls that the library's log tells of, by the present offset of the wall clock."""
        offset_ns = take_anchor().offset_ns
        seen = set()
        try:
            for call in calls_of(log_lines(self._logs)):
                seen.add(int(call.tag))
                at_ns = call.wall_us * 1000 - offset_ns
                self.record("call", {"seq": int(call.tag), "broker": call.broker, "at_ns": at_ns})
        except (OSError, ValueError) as error:
            return str(error)
        missing = self._accepted - seen
        return f"the library's log has no call of {len(missing)} accepted sends" if missing else ""

    def start_producer(
        self, instance: str, group: str, namesrv: str, transactional: bool, settings: Mapping[str, Any]
    ) -> None:
        """Remember what the producer is made from; the load makes one for each of its threads."""
        retries = settings.get("retries", 0)
        self._producers[instance] = {
            "instance": instance,
            "group": group,
            "namesrv": namesrv,
            "retries": retries,
            "traced": False,
        }

    def record_calls(self, instance: str, brokers: Mapping[str, str]) -> None:
        """Record every call of this producer that hands a message to the network, when the history is closed."""
        self._producers[instance]["traced"] = True

    def start_schedule(
        self, name: str, instance: str, rate_hz: float, start_ns: int, operations: int, settings: Mapping[str, Any]
    ) -> None:
        """Start an open loop."""
        self._start(name, instance, settings, Schedule(start_ns, rate_hz), operations)

    def start_saturation(self, name: str, instance: str, settings: Mapping[str, Any]) -> None:
        """Start a closed loop."""
        self._start(name, instance, settings, None, 0)

    def _start(
        self, name: str, instance: str, settings: Mapping[str, Any], schedule: Schedule | None, operations: int
    ) -> None:
        opening = Opening(sends=SendSettings(**settings), logs=self._logs, **self._producers[instance])
        self._loads[name] = Load(self, opening, self._open, schedule, operations, self._give_up_s)

    def steer(self, name: str, to: float) -> None:
        """Set a load's rate, or its number of sending threads."""
        self._loads[name].steer(to)

    def take(self, name: str) -> dict[str, object]:
        """What has ended since this was asked last."""
        return self._loads[name].take()

    def schedule_state(self, name: str) -> dict[str, int | bool]:
        """How many sends were due, were issued and have ended, and whether more will come."""
        load = self._loads[name]
        load.give_up()
        return {"due": load.due(), "issued": load.issued, "ended": load.ended, "sending": load.sending}

    def abandon(self, name: str) -> int:
        """Forget what was due and has not been issued; returns how much that is."""
        return self._loads[name].abandon()

    def stop_schedule(self, name: str) -> None:
        """No further send is issued."""
        self._loads[name].stopped = True

    def end(self) -> None:
        """Let what is under way be answered and recorded, then close the history."""
        for load in self._loads.values():
            load.stopped = True
        deadline = time.monotonic() + END_S_MAX
        while any(load.issued != load.ended for load in self._loads.values()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.close_history()
        for load in self._loads.values():
            load.shut_down()


if __name__ == "__main__":
    serve(PythonWorker)
