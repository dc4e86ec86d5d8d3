"""Which lines of a block are worth a look: most begin with a date as the ones before them, and say nothing that is asked for.

Words are looked for in the whole block at once, and the layout of its lines in one array, so that only lines that have a word,
or do not begin as expected, are ever made an object of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind
from numpy.typing import NDArray

from analysis.diagnosis.moments import DAY_S, column_of

GOES_ON = (
    b"\t",
    b" ",
    b"Caused by:",
    b"java.",
    b"javax.",
    b"org.",
    b"io.",
    b"com.",
    b"...",
    b"\r",
    b"\n",
    b"}",
    b"Suppressed:",
    b"For more information, please visit the url",
    b"See http",
)
"""How a line begins that goes on from the one above it: an exception and its frames."""
COLUMNS_MAX = 4

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def _one_of(characters: bytes) -> Mask:
    """For each value of a byte whether it is one of these."""
    table = np.zeros(256, np.bool_)
    table[list(characters)] = True
    return table


_GOING_ON, _DIGIT, _SEPARATOR = _one_of(b"\t \r\n}"), _one_of(b"0123456789"), _one_of(b"-/.")
_COLON, _LINE_END = ord(":"), ord("\n")


def goes_on(line: bytes) -> bool:
    """Whether a line goes on from the one above it."""
    return not line or line.startswith(GOES_ON)


class Words:
    """Words to look for. Which of them a line has is said by their places in the list, each once."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self.words = tuple(words)
        self._distinct = tuple(dict.fromkeys(words))
        # The matches of this kind do not overlap, and are found several times as fast as all of them would be.
        self._search = BytesAhoCorasick(self._distinct, matchkind=MatchKind.LeftmostFirst)
        at = {word: [one for one, other in enumerate(self.words) if other == word] for word in self._distinct}
        self._sure = [
            tuple(sorted(one for other in self._distinct if other in word for one in at[other]))
            for word in self._distinct
        ]
        # A match that is not given begins in one that is: it lies in there, or goes on behind it.
        hidden = [
            [other for other in self._distinct if other not in word and _rests(word, other)] for word in self._distinct
        ]
        self._hidden = [tuple((other, tuple(at[other])) for other in others) for others in hidden]
        self._behind = [
            tuple({part for other in others for part in _rests(word, other)})
            for word, others in zip(self._distinct, hidden, strict=True)
        ]
        """What comes right behind a word where another one that begins in it goes on."""

    def found(self, lines: Lines) -> dict[int, tuple[int, ...]]:
        """The words of each line that has any, in their order, by the line's number from 0."""
        matches = self._search.find_matches_as_indexes(lines.block)
        if not matches:
            return {}
        places = np.fromiter((start for _, start, _ in matches), np.int64, len(matches))
        found: dict[int, tuple[int, ...]] = {}
        block, sure, behind = lines.block, self._sure, self._behind
        for at, (word, _, end) in zip(np.searchsorted(lines.ends, places).tolist(), matches, strict=True):
            has = sure[word]
            if block.startswith(behind[word], end):
                line = lines[at]
                has = _both(has, (one for other, numbers in self._hidden[word] if other in line for one in numbers))
            before = found.get(at)
            found[at] = has if before is None else _both(before, has)
        return found


def _both(some: Iterable[int], others: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*some, *others}))


def _rests(word: bytes, other: bytes) -> list[bytes]:
    """The rests of another word that begins in this one and is longer than what is left of it."""
    begun = (word[at:] for at in range(len(word)))
    return [other[len(one) :] for one in begun if len(one) < len(other) and other.startswith(one)]


@dataclass
class Layouts:
    """Where the lines of a file have their time, as those at its beginning do: after how many bytes of something else."""

    dated: list[int] = field(default_factory=lambda: [0])
    undated: list[int] = field(default_factory=list)

    def learn(self, line: bytes) -> None:
        """A line of the file's beginning."""
        found = None if goes_on(line) else column_of(line)
        if found is not None:
            column, dated = found
            columns = self.dated if dated else self.undated
            if column not in columns and len(columns) < COLUMNS_MAX:
                columns.append(column)


class Lines:
    """The lines of a block, by their numbers from 0."""

    def __init__(self, block: bytes) -> None:
        self.block = block
        self._bytes = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(self._bytes == _LINE_END)
        # The last line of a file may have no end.
        self.ends: Numbers = ends if block.endswith(b"\n") else np.append(ends, len(block))
        self.starts: Numbers = np.concatenate(([0], self.ends[:-1] + 1))
        self.regular: Mask = np.zeros(len(self.ends), np.bool_)
        """Those that begin with a date, or have it where the file's first lines have theirs."""

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, at: int) -> bytes:
        return self.block[self.starts[at] : self.ends[at]]

    def irregular(self, layouts: Layouts) -> list[int]:
        """The lines that must be looked at one by one, whatever they say: those that do not begin as others do.

        Of lines that have a time without a date only those are given between which it jumps back, as at midnight.
        """
        going_on = _GOING_ON[self._at(0)]
        for column in layouts.dated:
            self.regular |= self._dated(column)
        self.regular &= ~going_on
        rest = ~(self.regular | going_on)
        chosen: set[int] = set()
        for column in layouts.undated:
            timed = np.flatnonzero(rest & self._timed(column))
            if len(timed):
                rest[timed] = False
                chosen |= self._jumps(timed, column)
        return sorted(chosen.union(np.flatnonzero(rest).tolist()))

    def _at(self, column: int, lines: Numbers | None = None) -> NDArray[np.uint8]:
        """The byte of each line in this column; that of a line's end where the line is shorter."""
        starts, ends = (self.starts, self.ends) if lines is None else (self.starts[lines], self.ends[lines])
        places = starts + column
        # A block's last line may have no end, of which there would be no byte.
        inside = places < ends
        return np.where(inside, self._bytes[np.where(inside, places, 0)], np.uint8(_LINE_END))

    def _dated(self, column: int) -> Mask:
        """Such as 2026-11-23 13:33 in this column."""
        separator = self._at(column + 4)
        dated: Mask = _SEPARATOR[separator] & (self._at(column + 7) == separator) & (self._at(column + 13) == _COLON)
        return dated & _DIGIT[self._at(column)] & _DIGIT[self._at(column + 3)]

    def _timed(self, column: int) -> Mask:
        """Such as 13:33:52 in this column."""
        timed: Mask = (self._at(column + 2) == _COLON) & (self._at(column + 5) == _COLON)
        for one in (0, 1, 3, 4, 6, 7):
            timed &= _DIGIT[self._at(column + one)]
        return timed

    def _jumps(self, timed: Numbers, column: int) -> set[int]:
        """The first and the last of these lines, and those before and after their time jumps back."""
        tens = [self._at(column + one, timed).astype(np.int64) - ord("0") for one in (0, 1, 3, 4, 6, 7)]
        seconds = (tens[0] * 10 + tens[1]) * 3600 + (tens[2] * 10 + tens[3]) * 60 + tens[4] * 10 + tens[5]
        back = np.flatnonzero(np.diff(seconds) < -DAY_S / 4)
        return {int(timed[0]), int(timed[-1]), *timed[back].tolist(), *timed[back + 1].tolist()}
