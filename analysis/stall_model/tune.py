"""Which ``waitTimeMillsInSendQueue`` and ``osPageCacheBusyTimeOutMills`` for a load: refused sends by the model of a stall.

The model (``model.py`` beside this) is checked against every cell of append-stall that is run; here it is asked about
stalls and a rate that a user names, or about the appends that a store log tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.stall_model.model import PERIOD_MS, Stall, predict
from harness.model.rocketmq import PCBUSY_CLEAN_QUEUE, REJECTREQUEST, TIMEOUT_CLEAN_QUEUE


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a pair of settings gives over all of the stalls: refused sends by keyword.

    ``waits_ms`` is how long a send may wait in the queue before it is refused or taken, at these stalls.
    """

    wait_ms: float
    busy_ms: float
    timeout_clean_queue: float
    pcbusy_clean_queue: float
    rejectrequest: float
    waits_ms: float

    @property
    def refused(self) -> float:
        """All of them."""
        return self.timeout_clean_queue + self.pcbusy_clean_queue + self.rejectrequest


def choices(
    stalls_ms: Sequence[float], rate_hz: float, waits_ms: Sequence[float], busy_ms: Sequence[float], threads: int
) -> list[Choice]:
    """Every pair of the given settings, in their order."""
    found = []
    for busy in busy_ms:
        for wait in waits_ms:
            each = [
                predict(Stall(stall_ms=stall, rate_hz=rate_hz, wait_ms=wait, busy_ms=busy, threads=threads))
                for stall in stalls_ms
            ]
            longest = max(stalls_ms, default=0.0)
            found.append(
                Choice(
                    wait_ms=wait,
                    busy_ms=busy,
                    timeout_clean_queue=sum(one[TIMEOUT_CLEAN_QUEUE] for one in each),
                    pcbusy_clean_queue=sum(one[PCBUSY_CLEAN_QUEUE] for one in each),
                    rejectrequest=sum(one[REJECTREQUEST] for one in each),
                    waits_ms=min(longest, wait + PERIOD_MS, busy + PERIOD_MS if longest > busy else longest),
                )
            )
    return found


def choices_table(found: Sequence[Choice], stalls_ms: Sequence[float], rate_hz: float) -> str:
    """For people."""
    longest = f", the longest {max(stalls_ms):g} ms" if stalls_ms else ""
    lines = [
        f"{len(stalls_ms)} stalled appends{longest}, at {rate_hz:g} sends a second; predicted, not measured:",
        "",
        f"{'wait':>8} {'busy':>8} {'refused':>10} {'TIMEOUT_CLEAN':>14} {'PCBUSY_CLEAN':>13} {'REJECT':>8} {'may wait':>10}",
    ]
    lines += [
        f"{one.wait_ms:>5g} ms {one.busy_ms:>5g} ms {one.refused:>10.0f} {one.timeout_clean_queue:>14.0f} "
        f"{one.pcbusy_clean_queue:>13.0f} {one.rejectrequest:>8.0f} {one.waits_ms:>7.0f} ms"
        for one in found
    ]
    return "\n".join(
        [
            *lines,
            "",
            "wait is waitTimeMillsInSendQueue, busy osPageCacheBusyTimeOutMills. A refused send may be repeated by its client; one",
            "that waits longer than the client's timeout (3000 ms by default) is lost to it although it may be stored.",
            "Check the form on your machine: mqlab verify append-stall, then mqlab runs model RUN_DIR.",
        ]
    )
