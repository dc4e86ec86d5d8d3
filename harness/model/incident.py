"""What befalls users: what they see, how logs show it, and what to do. What replays it is a ``Scenario``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.model.log_events import Logged, LogPattern

REPOSITORY = "https://github.com/apache/rocketmq"
NOTHING_REPLAYS = "nothing replays"
"""What each output says of an incident that is no ``Scenario``, before its name or ``it``."""


@dataclass(frozen=True, kw_only=True)
class Sign:
    """What an incident leaves in logs; ``because`` says for the reader what these events mean.

    ``pattern`` is what a rule of ``analysis.diagnosis`` makes of the events. Without one each of the events shows the incident by
    itself, unless its node has one of ``unless`` as well; ``against`` says what may speak against it all the same, and ``lines``
    are some of a log that has it, by which a test finds it. Those events count that have the field ``having``;
    fewer lines than ``at_least``, none more than ``gap_s`` seconds after another one, are none. ``by_clients``: the node that
    writes them is no broker.

    ``beside`` are events that come of it and do not show it by themselves. ``over`` are those that say that it has ended, and
    ``over_because`` what they mean. Where other incidents have the same events, ``words`` is a regular expression that a line has
    to have to be of this one, and of none of the others.
    """

    events: tuple[Logged, ...]
    because: str
    pattern: LogPattern | None = None
    unless: tuple[Logged, ...] = ()
    against: str = ""
    lines: tuple[str, ...] = ()
    having: str = ""
    at_least: int = 1
    gap_s: float = 60.0
    by_clients: bool = False
    beside: tuple[Logged, ...] = ()
    over: tuple[Logged, ...] = ()
    over_because: str = ""
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Incident:
    """An incident; ``article`` and ``summary`` are for whom it has to be explained to. One that is no ``Scenario`` is replayed by
    nothing.

    ``symptom`` is what users see, ``advice`` what to do, in the one wording that all outputs have. ``cures`` are claims whose
    verdicts say what the advice does. Of the lab's own each has a ``sign``, or ``no_sign`` says why logs have none and what to
    look at instead.
    """

    name: str
    title: str
    article: str = ""
    summary: str = ""
    symptom: str = ""
    threads: tuple[str, ...] = ()
    """Where users reported it, as ``issues/285`` or ``pull/3460`` below the repository of RocketMQ."""
    faces: Mapping[str, str] = field(default_factory=dict)
    """Under a short phrase the claim that a release has this face when it is confirmed, or a CVE. One with a single face needs no
    phrase."""
    advice: str = ""
    cures: tuple[str, ...] = ()
    sign: Sign | None = None
    no_sign: str = ""
    audited: tuple[str, ...] = ()
    """The kinds of the audit's findings that tell of it."""
    audited_as_itself: str = ""
    """The kind of one that is told under its name."""

    @property
    def is_replayed(self) -> bool:
        """Whether there are arms of it, which ``mqlab verify`` runs."""
        return False
