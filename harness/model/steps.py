"""What happens in the hold of an arm, step by step; ``harness/run/steps.py`` carries each out.

A step that says ``outcome`` gives it as a reading of the trial: 1 where it came about and 0 where it did not, which is then a
result. Without one it has to come about, and a trial in which it does not shows nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

READ = "read_value"
READING = "reading"
"""The measure that an incident's own readings are values of, and its parameter, which is the name of one."""
LINES = "lines"
"""``OUTCOME-lines`` is the reading that counts the lines which an outcome left."""

OWN_MODULE = "own_incident_"
"""Names of the modules that the files of users' incidents are executed as begin so."""

Asked = Callable[[Any], Any]
"""A function of the incident's own file; it is given the trial as ``harness/run/here.py`` has it."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Base of all steps. ``takes_s`` is about how long it takes, as plans count it."""

    takes_s: ClassVar[float] = 1.0

    took: str = ""
    """The reading that is for how many seconds it went on; empty where nobody asks."""

    @property
    def words(self) -> str:
        """It says what it is, for whoever reads the run."""
        return re.sub(r"(?<!^)(?=[A-Z])", " ", type(self).__name__).lower()

    @property
    def seconds(self) -> float:
        """It takes so long, and at most so long where it waits for something."""
        return self.takes_s

    def readings(self) -> tuple[str, ...]:
        """These are the names of the readings that it gives, beside how long it took."""
        return ()

    def all_readings(self) -> tuple[str, ...]:
        """These are the names of all readings that it gives."""
        return (*self.readings(), *([self.took] if self.took else []))


@dataclass(frozen=True, kw_only=True)
class Stay(Step):
    """So many seconds pass."""

    stay_s: float

    @property
    def words(self) -> str:
        """It says for how long it stays."""
        return f"stay {self.stay_s:g} s"

    @property
    def seconds(self) -> float:
        """It takes the seconds that it stays."""
        return self.stay_s


@dataclass(frozen=True, kw_only=True)
class Until(Step):
    """Wait until ``is_so`` answers with something true, ``wait_s_max`` at most.

    ``outcome`` is 1 where it became so, and ``OUTCOME-s`` is after how many seconds.
    """

    what: str
    is_so: Asked
    wait_s_max: float = 60.0
    outcome: str = ""

    @property
    def words(self) -> str:
        """It says what is waited for."""
        return f"until {self.what}"

    @property
    def seconds(self) -> float:
        """It takes so long at most."""
        return self.wait_s_max

    def readings(self) -> tuple[str, ...]:
        """One reading is whether it became so, and one is when."""
        return (self.outcome, f"{self.outcome}-s") if self.outcome else ()


@dataclass(frozen=True, kw_only=True)
class Heal(Step):
    """The faults of a kind that earlier steps have left on end now."""

    fault: str

    @property
    def words(self) -> str:
        """It says which faults end."""
        return f"heal {self.fault}"


@dataclass(frozen=True, kw_only=True)
class StopNode(Step):
    """A node ends: by SIGTERM, as an operator stops it, or by SIGKILL. What no step starts again is started when all is over."""

    takes_s = 10.0

    node: str
    kill: bool = False

    @property
    def words(self) -> str:
        """It says which node ends, and how."""
        return f"{'kill' if self.kill else 'stop'} {self.node}"


@dataclass(frozen=True, kw_only=True)
class StartNode(Step):
    """A node that was stopped starts on its store, and can be used.

    ``conf`` and ``jvm`` are settings and options of this start alone; with them a node that runs is stopped before. ``outcome`` is
    1 where it came up, and ``OUTCOME-lines`` is how many lines that ``says`` (a regular expression) finds it wrote since then. One
    that did not come up stays down until another step starts it.
    """

    takes_s = 20.0

    node: str
    conf: Mapping[str, str] = field(default_factory=dict)
    jvm: tuple[str, ...] = ()
    outcome: str = ""
    says: str = ""

    @property
    def words(self) -> str:
        """It says which node starts."""
        return f"start {self.node}"

    def readings(self) -> tuple[str, ...]:
        """One reading is whether it came up, and one is how many lines it said."""
        return (self.outcome, f"{self.outcome}-{LINES}") if self.outcome else ()


@dataclass(frozen=True, kw_only=True)
class StartClient(Step):
    """A Java client of its own starts, and ends again: a producer that sends one message, or a consumer of a group.

    ``settings`` are bean properties of it by name; its topic is the trial's unless another one is named. ``outcome`` is 1 where it
    was served, and ``OUTCOME-lines`` is 1 where ``says`` (a regular expression) is found in what it was refused with.
    """

    takes_s = 8.0

    does: Literal["send", "consume"] = "send"
    topic: str = ""
    group: str = "mqlab-step"
    tags: str = "*"
    body_bytes: int = 128
    settings: Mapping[str, bool | int | str] = field(default_factory=dict)
    outcome: str = ""
    says: str = ""

    @property
    def words(self) -> str:
        """It says what the client does."""
        return f"a client that {self.does}s"

    def readings(self) -> tuple[str, ...]:
        """One reading is whether it was served, and one is what it was told."""
        return (self.outcome, f"{self.outcome}-{LINES}") if self.outcome else ()


class GroupLeaves(Step):
    """The consumers of the load shut down, as an application that stops; the load has to be one whose consumers can."""

    takes_s = 5.0


class GroupReturns(Step):
    """They start again, and have their queues. What no step has return does not."""

    takes_s = 30.0


@dataclass(frozen=True, kw_only=True)
class SetLive(Step):
    """Settings of a running broker, or of all masters, are changed, and set back when all is over."""

    settings: Mapping[str, str]
    node: str = ""

    @property
    def words(self) -> str:
        """It says which settings change."""
        return f"set {', '.join(f'{key}={value}' for key, value in self.settings.items())}"


@dataclass(frozen=True, kw_only=True)
class MakeTopics(Step):
    """So many topics come, ``PREFIX-0`` and on, on each master, until all of them have a route; they are deleted at the end."""

    topics: int
    queues: int = 4
    prefix: str = "own"

    @property
    def words(self) -> str:
        """It says how many topics come."""
        return f"make {self.topics} topics"

    @property
    def seconds(self) -> float:
        """It takes about a second for some hundred of them."""
        return 1.0 + self.topics / 100


@dataclass(frozen=True, kw_only=True)
class Do(Step):
    """A function of the incident's own file is called."""

    what: str
    by: Asked

    @property
    def words(self) -> str:
        """It says what the function does."""
        return self.what


@dataclass(frozen=True, kw_only=True)
class Read(Step):
    """A function of the incident's own file gives a number, or whether something is so, which is a reading of the trial.

    One that gives None has read nothing.
    """

    reading: str
    by: Asked

    @property
    def words(self) -> str:
        """It says which reading it gives."""
        return f"read {self.reading}"

    def readings(self) -> tuple[str, ...]:
        """It gives that one."""
        return (self.reading,)
