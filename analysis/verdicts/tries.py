"""What a trial showed, as plain values: the tries of one trial and measure, which the record keeps and verdicts are made from.

A try is what can go wrong once (a death, an owner, a stall); what counts as one is said by the measure's catalogue.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.model.cells import Parameters, ParameterValue, matches


@dataclass(frozen=True, kw_only=True)
class Try:
    """One try. Of its values (the queues of one owner) how many there are, the least, the median, the largest, the mean.

    ``censored`` of the values mean "at least this". ``proof`` says where two records of different origin show the try, so
    that it can refute a "never"; empty where there is one record only.
    """

    name: str
    n: int
    min: float
    median: float
    max: float
    mean: float
    censored: int = 0
    proof: str = ""

    @classmethod
    def of(cls, name: str, values: Sequence[tuple[float, bool]], proof: str = "") -> Try:
        """From at least one value, each with whether it is censored."""
        numbers = [value for value, _ in values]
        return cls(
            name=name,
            n=len(numbers),
            min=min(numbers),
            median=statistics.median(numbers),
            max=max(numbers),
            mean=math.fsum(numbers) / len(numbers),
            censored=sum(censored for _, censored in values),
            proof=proof,
        )


@dataclass(frozen=True, kw_only=True)
class Tries:
    """The tries of one trial and measure; ``cell`` are the arm's parameters, ``params`` the measure's own.

    ``discarded`` is why the trial does not count (``harness.model.verdicts.Discard``), empty where it does; ``superseded``:
    it was repeated. ``hiccup_ms`` is the worst oversleep of the host's probe. A trial that counts and could not be measured has
    a row without a try.
    """

    trial: str
    deployment: str
    release: str
    arm: str
    cell: Parameters
    measure: str
    params: Parameters = field(default_factory=dict)
    injection: str = ""
    hiccup_ms: float = 0.0
    discarded: str = ""
    superseded: bool = False
    tries: tuple[Try, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the trial counts; how noisy the host may have been is asked by each part for itself."""
        return not is_left_out(self.discarded, self.superseded)

    @property
    def where(self) -> Parameters:
        """The cell's parameters and the measure's own."""
        return {**self.cell, **self.params}

    def shows(self, where: Mapping[str, Sequence[ParameterValue]]) -> bool:
        """Whether its parameters are among those."""
        return matches(self.where, where)


@dataclass(frozen=True, kw_only=True)
class HistoryTries(Tries):
    """What the one history of a run shows of a part of the kind *this run*: one try, whose value counts violations.

    Without a try it could not be told. ``words`` say what was found, or why nothing was; ``file``, relative to the run's directory,
    and ``line`` are where the first violation stands.
    """

    words: str
    file: str = ""
    line: int = 0

    @property
    def violations(self) -> float:
        """How many there are, as far as it can be told."""
        return sum(one.max for one in self.tries)


def is_left_out(discarded: str | None, superseded: bool) -> bool:
    """Whether a trial counts for no claim: it was discarded, or repeated. What verdicts count and what pages show is asked here."""
    return bool(discarded or superseded)


def deployments_of(tries: Iterable[Tries]) -> list[str]:
    """Their deployments, each once, in their order."""
    return list(dict.fromkeys(item.deployment for item in tries))
