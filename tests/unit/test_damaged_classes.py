"""Class files of somebody else's build: whatever stands in one, reading it ends, in what it says or in one sentence."""

from __future__ import annotations

import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ReleaseError
from harness.releases.class_file import methods, names, statements, texts
from harness.releases.dead_keys import dead_keys

READERS: tuple[Callable[[bytes], object], ...] = (methods, names, statements, texts)
INVOKE = b"\xb6\x00\x07"


def _text(word: str) -> bytes:
    return b"\x01" + struct.pack(">H", len(word)) + word.encode()


def _class(code: bytes, *, extends: str = "B", name: str = "A", member: bytes = b"\x0a\x00\x04\x00\x08") -> bytes:
    """A class file with one method of this code; ``member`` is its constant 7, which an invocation may name."""
    pool = (_text("Code"), _text("setX"), _text("()V"), b"\x07\x00\x05", _text(name), b"\x07\x00\x09", member,
            b"\x0c\x00\x02\x00\x03", _text(extends))  # fmt: skip
    body = struct.pack(">HHI", 1, 1, len(code)) + code + bytes(4)
    head = b"\xca\xfe\xba\xbe" + bytes(4) + struct.pack(">H", len(pool) + 1) + b"".join(pool)
    return (
        head
        + struct.pack(">HHHHHH", 0, 4, 6, 0, 0, 1)
        + struct.pack(">HHHHHI", 0, 2, 3, 1, 1, len(body))
        + body
        + bytes(2)
    )


def test_the_class_that_is_damaged_here_can_be_read() -> None:
    (method,) = methods(_class(INVOKE))
    assert (method.name, method.calls) == ("setX", ("setX",))
    assert (names(_class(INVOKE)).name, names(_class(INVOKE)).extends) == ("A", "B")


@pytest.mark.parametrize("hostile", [
    _class(INVOKE, member=b"\x0a\x00\x07\x00\x07"),
    _class(b"\xaa" + bytes(7) + struct.pack(">ii", 0, -4)),
    _class(b"\xaa" + bytes(7) + struct.pack(">ii", 2**31 - 1, -(2**31))),
    _class(b"\xb6"), _class(b"\xb6\x00\x63"), _class(b"\xc4"), _class(INVOKE, member=b"\x63\x00\x07\x00\x07"),
], ids=["circle", "switch that stays", "switch back", "cut", "no constant", "wide", "tag"])  # fmt: skip
def test_code_that_leads_nowhere_is_one_sentence(hostile: bytes) -> None:
    with pytest.raises(ReleaseError, match="a class file in the release's jars is damaged"):
        methods(hostile)


def test_a_switch_of_four_thousand_million_cases_ends() -> None:
    statements(_class(b"\xab" + bytes(7) + struct.pack(">i", -1)))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_end_in_what_they_say_or_in_one_error(seed: int) -> None:
    draw, refused = random.Random(seed), 0
    for _ in range(500):
        data = bytearray(_class(INVOKE * 3 + b"\x12\x02\xb2\x00\x07\xaa" + bytes(14)))
        for _ in range(draw.choice((1, 2, 5))):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 0x7F, 0xAA, 0xAB, 0xFF))
        for read in READERS:
            try:
                read(bytes(data[: draw.choice((len(data), draw.randrange(len(data))))]))
            except ReleaseError:
                refused += 1
    assert 100 < refused < 2000


def test_classes_that_extend_each_other_are_a_family(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "rocketmq-broker-1.jar", "w") as jar:
        jar.writestr("A.class", _class(INVOKE, name="A", extends="B"))
        jar.writestr("B.class", _class(INVOKE, name="B", extends="A"))
    assert dead_keys([tmp_path / "rocketmq-broker-1.jar"], ["A"]) <= {"x"}
