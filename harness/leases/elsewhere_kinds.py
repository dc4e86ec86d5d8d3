"""How what a fault has done to a node of another machine is undone, by ssh; see far_side.sh for what undoes it there without us.

Its own machine heals it by its deadline, whatever becomes of this one. A lease brings that forward when the lab dies. Standard
library only.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from harness.leases.ssh import SshError, SshTarget, ask
from harness.leases.store import Healable, LeaseData, LeaseRecord

STOPPED_ELSEWHERE, KILLED_ELSEWHERE = "stopped-elsewhere", "killed-elsewhere"
ACTIONS = {STOPPED_ELSEWHERE: "go_on", KILLED_ELSEWHERE: "start_again"}
"""What ends each, as far_side.sh calls it."""

HEAL_S_MAX = 12.0
"""For one connection that heals. A machine that does not answer keeps the healing of others no longer than that."""
OVER_S = 10.0
"""So long after its deadline its own machine has healed it."""


def elsewhere_data(name: str, target: SshTarget, token: str, boot: str, words: Sequence[str]) -> LeaseData:
    """The data of a lease. ``words`` are those of the guard: pid, start, seconds until it heals, and of a kill the rest."""
    return {
        "name": name,
        "target": json.dumps(asdict(target)),
        "token": token,
        "boot": boot,
        "words": json.dumps(list(words)),
        "seconds": int(words[2]),
    }


class _Elsewhere:
    """A process of another machine that was stopped or killed. data: see ``elsewhere_data``."""

    survives_boot: bool = True

    def __init__(self, kind: str) -> None:
        self._action = ACTIONS[kind]

    def describe(self, lease: LeaseRecord) -> str:
        what = "stop signal" if self._action == "go_on" else "kill"
        return f"{what} of {lease.data.get('name')} (pid {_words(lease)[0]} on {_target(lease).host})"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return not _is_over(lease)

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        """All at once, since a machine that hangs takes its whole time."""
        done: dict[str, tuple[str, bool]] = {}

        def undo(lease: LeaseRecord) -> None:
            done[lease.id] = self._undone(lease)

        threads = [threading.Thread(target=undo, args=(lease,), daemon=True) for lease in leases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HEAL_S_MAX + 5.0)
        return {lease.id: done.get(lease.id, ("it was not answered", False)) for lease in leases}

    def _undone(self, lease: LeaseRecord) -> tuple[str, bool]:
        data = lease.data
        try:
            answer = ask(
                _target(lease), "heal", str(data["boot"]), self._action, *_words(lease), token=str(data["token"]),
                timeout_s=HEAL_S_MAX,
            )  # fmt: skip
        except SshError as error:
            if _is_over(lease):
                return f"{error.says}; its own machine has healed it by its deadline", True
            return f"{error.says}; its own machine heals it within {data['seconds']} s of the fault", False
        if answer.refused:
            return f"its machine could not ({answer.refused})", _is_over(lease)
        if answer.of("healed") == ["boot"]:
            return "its machine was started anew since", True
        return ("continued" if self._action == "go_on" else "started again"), True


def _is_over(lease: LeaseRecord) -> bool:
    """Whether its own machine has healed it by now."""
    if not lease.owner.is_of_this_boot():
        return False
    return time.monotonic_ns() > lease.created_mono_ns + int((int(lease.data["seconds"] or 0) + OVER_S) * 1e9)


def _target(lease: LeaseRecord) -> SshTarget:
    return SshTarget(**json.loads(str(lease.data["target"])))


def _words(lease: LeaseRecord) -> list[str]:
    return [str(word) for word in json.loads(str(lease.data["words"]))]


ELSEWHERE_KINDS: Mapping[str, Healable] = {kind: _Elsewhere(kind) for kind in ACTIONS}
