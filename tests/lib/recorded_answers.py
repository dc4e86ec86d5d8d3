"""Answers of real nodes, and seeded mutations of their frames.

``tests/data/answers`` has what name servers and brokers of two releases answered, with both serialisations of headers. Paths and
ports of the machine that they ran on are other ones.
"""

from __future__ import annotations

import base64
import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from harness.paths import PACKAGES

FOLDER = PACKAGES / "tests" / "data" / "answers"
OPAQUE_AT = 5
"""Of a binary header: behind code, language and version."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An answer of a node of ``kind`` (Broker, NameServer) to a request ``code``. ``header`` and ``body`` are as they came."""

    release: str
    kind: str
    code: int
    serialisation: int
    header: bytes
    body: bytes

    def frame(self, opaque: int) -> bytes:
        """The frame as an answer to the request of that number."""
        header = self.header
        if self.serialisation == 0:
            header = re.sub(rb'"opaque":\d+', b'"opaque":%d' % opaque, header)
        else:
            header = header[:OPAQUE_AT] + struct.pack(">i", opaque) + header[OPAQUE_AT + 4 :]
        lengths = struct.pack(">II", 4 + len(header) + len(self.body), self.serialisation << 24 | len(header))
        return lengths + header + self.body


def recorded_answers() -> list[Recorded]:
    """All that were recorded."""
    return [
        Recorded(
            release=line["release"],
            kind=line["kind"],
            code=line["code"],
            serialisation=line["serialisation"],
            header=base64.b64decode(line["header"]),
            body=line["body"].encode(),
        )
        for path in sorted(FOLDER.glob("*.jsonl"))
        for line in map(json.loads, path.read_text("utf-8").splitlines())
    ]


# --- mutations ----------------------------------------------------------------------------------------------------------

ODD = (
    b"null", b"[]", b"{}", b"-1", b"1e999", b'"x"', b'""', b"true", b"9" * 5_000, b"2147483648", b"[" * 3_000, b"\xff\xfe",
    b'"\\ud800"', b"\x1b[2J", b"{0:1}", b"NaN", b"\x00", b'"203.0.113.7:10911"',
)  # fmt: skip
_VALUE = re.compile(rb'(?<=[:,\[{=])("(?:[^"\\]|\\.)*"|-?\d+|true|false|null)')


def _flips(frame: bytes, chance: random.Random) -> bytes:
    octets = bytearray(frame)
    for _ in range(chance.randint(1, 8)):
        octets[chance.randrange(len(octets))] = chance.randrange(256)
    return bytes(octets)


def _flips_in_front(frame: bytes, chance: random.Random) -> bytes:
    """Lengths, serialisation and the first fields of a binary header."""
    octets = bytearray(frame)
    octets[chance.randrange(min(40, len(octets)))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(octets)


def _cut(frame: bytes, chance: random.Random) -> bytes:
    return frame[: chance.randrange(len(frame))]


def _lacks_a_part(frame: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(8, len(frame))
    return _with_lengths(frame, frame[8:begin] + frame[begin + chance.randint(1, 200) :])


def _has_a_part_twice(frame: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(8, len(frame))
    end = begin + chance.randint(1, 200)
    return _with_lengths(frame, frame[8:end] + frame[begin:])


def _has_another_value(frame: bytes, chance: random.Random) -> bytes:
    """A value of the JSON in header or body, or of a setting, is another one."""
    places = list(_VALUE.finditer(frame, 8))
    if not places:
        return _flips(frame, chance)
    place = chance.choice(places)
    return _with_lengths(frame, frame[8 : place.start()] + chance.choice(ODD) + frame[place.end() :])


def _with_lengths(frame: bytes, rest: bytes) -> bytes:
    """Of the right length; the header's is what it was, so that what was taken from it is missing at its end."""
    return struct.pack(">I", 4 + len(rest)) + frame[4:8] + rest


def _in_header_and_length(frame: bytes, chance: random.Random) -> bytes:
    """A value of the header is another one, and its length is right."""
    (word,) = struct.unpack(">I", frame[4:8])
    header, body = frame[8 : 8 + (word & 0xFFFFFF)], frame[8 + (word & 0xFFFFFF) :]
    places = list(_VALUE.finditer(header))
    if not places:
        return _flips_in_front(frame, chance)
    place = chance.choice(places)
    header = header[: place.start()] + chance.choice(ODD) + header[place.end() :]
    return struct.pack(">II", 4 + len(header) + len(body), word & 0xFF000000 | len(header)) + header + body


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flips,
    _flips_in_front,
    _cut,
    _lacks_a_part,
    _has_a_part_twice,
    _has_another_value,
    _has_another_value,
    _in_header_and_length,
)


def mutated(frame: bytes, chance: random.Random) -> bytes:
    """The frame after one to three mutations."""
    for _ in range(chance.randint(1, 3)):
        if len(frame) > 8:
            frame = chance.choice(MUTATIONS)(frame, chance)
    return frame
