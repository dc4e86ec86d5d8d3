"""docs/yardstick.md: the verdicts of seven incidents as 1a6e474 recorded them, beside those of the committed ledger.

``python -m mqlab.yardstick_table`` writes it anew; so does ``mqlab ledger`` with the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.ledger.record import Record, Summary, read_record
from analysis.verdicts.numbers import estimate
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding, PartResult
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.rundir.files import replace_file
from harness.rundir.manifest import FREEZE
from mqlab.recorded import FOLDER_OF_RECORD, committed_ledger

DOCUMENT = PACKAGES / "docs" / "yardstick.md"
RUN = "yardstick"
"""What the record calls the runs of 1a6e474."""
HEAD = """# Seven incidents, then and now

append-stall, busy-broker-of-two, pool-loss, ordered-lock-handover, dead-letter, queue-number-mismatch and name-server-divergence
were run on 4.6.0 and 5.3.3 on 1a6e474, before the code was laid out anew. What
[those runs](../tests/data/yardstick/README.md) came to is kept. Their {count} findings stand here beside
[the ledger](../scenarios/LEDGER.md), which has other runs, by the rules of today. Written by `mqlab ledger`; do not edit it.

{same} of the {count} verdicts are the same, {other} differ. "Then" has each part's estimate with its interval, "now" what is found
of the parts that are not confirmed, or of all where all are.

| claim | release | then | now | why |
|---|---|---|---|---|
"""
UNEXPLAINED = "nobody has said why yet"
NO_TRIAL = "no trial of today's rule and experiment is recorded yet"
A_PART = "of a part that is new or another one"
EVERY_MASTER = (
    "each master stalls now, and refusals of all are counted; of one that stalls alone half of them is arithmetic"
)
ONE_IS_ENOUGH = "one counterexample refutes it now; before, the share of those that agreed had to be above a half"
BECAUSE: Mapping[str, str] = {
    "BUSY-06": EVERY_MASTER,
    "BUSY-12": "stalls of 250, 700 and 1200 ms are judged beside those of 450 ms; after a second all that wait are refused",
    "BUSY-14 (freeze)": "stalls in which the broker stopped by itself count now; in some, nothing was refused for the page cache",
    "BUSY-19": EVERY_MASTER,
    "BUSY-20 (freeze)": f"{ONE_IS_ENOUGH} ([what was seen](findings.md))",
    "NAMES-01": "who tells a server is read off the brokers' logs: a broker of 5.x registers a lost topic anew by itself",
    "NAMES-03": "messages that wait are compared with those consumed twice; before, there had to be some of each",
    "NAMES-04": "avoidance, which is half of the claim, is on now; before, sends were retried only",
    "ORDER-06": ONE_IS_ENOUGH,
    "ORDER-15": "only a stop of seconds would explain the delay: the bound is 2.2 s now; half a second is within the host's noise",
    "ORDER-18": "that the timer sends the first request is no part of it any more: the article says when it comes",
    "POOL-04": "what a death takes at the default intervals is a part now: some ten messages, not what comes in 200 ms",
    "TOPICS-08": "what times out is asked for, too: its second retry comes after ten seconds again",
    "POOL-07": "deaths with a loss are counted; before, the interval of the mean number of messages reached down to none",
    "QUEUES-04": "groups that were behind on a busy host left messages when the read queues went a minute later "
    "([how long to wait](findings.md))",
    "QUEUES-03": "it is asked of three brokers, too, where the second member gets a third",
}
"""Why a verdict is another one where trials of today's rule are recorded, by what the rules ask; ``(freeze)`` is of that alone."""


def document(then: Iterable[Summary], lines: Sequence[Finding]) -> str:
    """Its text."""
    pairs = [(one, _now(one, lines)) for one in then if one.run == RUN]
    pairs.sort(key=lambda pair: (natural_key(pair[0].claim), natural_key(pair[0].release), pair[0].injection))
    other = [(one, line) for one, line in pairs if line.verdict is not one.verdict]
    head = HEAD.format(count=len(pairs), same=len(pairs) - len(other), other=len(other))
    return head + "".join(_row(one, line) for one, line in other)


def _now(one: Summary, lines: Iterable[Finding]) -> Finding:
    """That of local processes; what makes a fault may have a further name by now, but a freeze is one."""
    (line,) = (
        line
        for line in lines
        if (line.claim, line.release, line.backend) == (one.claim, one.release, one.backend)
        and (line.injection == FREEZE) == (one.injection == FREEZE)
    )
    return line


def _row(one: Summary, line: Finding) -> str:
    name = f"{one.claim} (freeze)" if one.injection == FREEZE else one.claim
    before = ", and what was seen before refutes it" if line.verdict is VerdictKind.REFUTED else ""
    untried = [part.name for part in line.parts if not part.tries]
    if line.trials and untried and line.verdict is VerdictKind.UNDECIDED:
        why = f"{A_PART}, {', '.join(untried)}, {NO_TRIAL}"
    else:
        why = BECAUSE.get(name, UNEXPLAINED) if line.trials else f"{NO_TRIAL}{before}"
    then = f"{_verdict(one.verdict, one.reason)}: {'; '.join(map(_estimate, one.parts))}"
    now = f"{_verdict(line.verdict, line.reason)}{''.join(_found(line.parts)) if line.trials else ''}"
    return f"| {name} | {one.release} | {then} | {now} | {why} |\n"


def _verdict(verdict: VerdictKind, reason: str) -> str:
    return f"{verdict} ({reason})" if reason else str(verdict)


def _estimate(part: PartResult) -> str:
    return f"{part.name} {estimate(part.estimate, part.low, part.high, part.unit)}"


def _found(parts: Sequence[PartResult]) -> Iterator[str]:
    shown = [part for part in parts if part.verdict is not VerdictKind.CONFIRMED] or parts
    for number, part in enumerate(shown):
        yield f"{'; ' if number else ': '}{part.name} {part.words}"


def write(record: Record | None = None) -> None:
    """Write it from the committed record and ledger. Raises LedgerError."""
    summaries = (record or read_record(FOLDER_OF_RECORD)).summaries
    replace_file(DOCUMENT, document(summaries, committed_ledger()))


if __name__ == "__main__":
    write()
