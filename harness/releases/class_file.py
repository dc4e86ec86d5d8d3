"""What a class file in a release's jar says: its texts, and what a method calls and compares with.

For settings that a release knows, and for claims that only its code can answer. Layouts and lengths are those of the
Java Virtual Machine Specification, chapters 4 and 6.5.
"""

import hashlib
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from harness.errors import ReleaseError
from harness.releases.jars import ensure_jars

Number = int | float

_UTF8, _INTEGER, _FLOAT, _LONG, _DOUBLE, _CLASS, _STRING = 1, 3, 4, 5, 6, 7, 8
_MEMBERS = (9, 10, 11)
_NAME_AND_TYPE = 12
_OTHER_BYTES = {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}

_BIPUSH, _SIPUSH, _LDC, _LDC_W, _LDC2_W = 0x10, 0x11, 0x12, 0x13, 0x14
_TABLESWITCH, _LOOKUPSWITCH, _WIDE, _IINC = 0xAA, 0xAB, 0xC4, 0x84
_INVOKES = (0xB6, 0xB7, 0xB8, 0xB9)
_ALOAD, _ALOAD_0, _ALOAD_3, _GETSTATIC, _GETFIELD = 0x19, 0x2A, 0x2D, 0xB2, 0xB4
_PUTFIELD = 0xB5
_NEW = 0xBB
_ENDS = frozenset((0x57, 0xA7, *range(0xAC, 0xB2), 0xBF))
"""pop, goto, returns and athrow: no text goes from before one of them to behind it."""
_BUILDERS = frozenset(("java/lang/StringBuilder", "java/lang/StringBuffer"))
_ANSWERS = frozenset(("setRemark", "createResponseCommand", "buildErrorResponse", "returnResponse"))
"""Methods that take the text of an answer."""
DEPTH_MAX = 3
"""A member leads to a name with its type, and that to two texts."""
PRINTED = "printed"
_PRINTS = "java/io/PrintStream"
LEVELS = ("error", "warn", "info", "debug", "trace")
_NAMES_A_CONSTANT = frozenset((_LDC_W, _LDC2_W, *range(0xB2, 0xBC), 0xBD, 0xC0, 0xC1, 0xC5))
_LENGTHS: Mapping[int, int] = {
    **dict.fromkeys((0x10, 0x12, 0xBC, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9), 2),
    **dict.fromkeys((0x11, 0x13, 0x14, _IINC, *range(0x99, 0xA9), *range(0xB2, 0xB9), 0xBB, 0xBD), 3),
    **dict.fromkeys((0xC0, 0xC1, 0xC6, 0xC7), 3),
    **dict.fromkeys((0xB9, 0xBA, 0xC8, 0xC9), 5),
    0xC5: 4,
}
"""Bytes of each instruction with its operands; all others have one byte."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """``calls`` are the names of the methods that it invokes, ``numbers`` its constants above a byte, both in order.

    ``loaded`` has for each call the objects that are put on the stack since the call before: fields by their names, local
    variables by their numbers ("0" is ``this``).

    ``descriptor`` has the types of its parameters and of its result (4.3.3). ``digest`` is the same for two methods of
    the same instructions and constants, wherever these lie in the two files.
    """

    name: str
    descriptor: str
    calls: tuple[str, ...]
    loaded: tuple[tuple[str, ...], ...]
    numbers: tuple[Number, ...]
    digest: str
    gets: tuple[str, ...] = ()
    puts: tuple[str, ...] = ()
    """The fields that it reads, and the fields of objects that it sets."""
    targets: frozenset[tuple[str, str, str]] = frozenset()
    """Of each method that it invokes the class, with slashes, the name and the descriptor."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """Of a class file: the class, the class that it extends, and every field and method that it names, each by its class and
    its name. Classes are written as in class files, with slashes."""

    name: str
    extends: str
    members: frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A text that a method logs, or that it puts into an exception or an answer. ``{}`` stands for what differs from time to time.

    ``level`` is the method of the logger, such as ``warn``, or ``printed``, and empty of an exception or an answer.
    """

    method: str
    level: str
    text: str


@cache
def method_of(release: str, class_name: str, method: str) -> Method:
    """The first method of that name of a class in a release's jars.

    Raises ReleaseError when the release has no such class, or the class no such method.
    """
    for found in methods(class_of(release, class_name)):
        if found.name == method:
            return found
    raise ReleaseError(f"{class_name} of {release} has no method {method}")


def has_class(release: str, class_name: str) -> bool:
    """Whether a jar of RocketMQ's own in the release has a class of this name."""
    return f"{class_name.replace('.', '/')}.class" in _jars_by_entry(release)


def class_names(release: str) -> tuple[str, ...]:
    """Every class in RocketMQ's own jars of the release, in the order of their names."""
    entries = (entry for entry in _jars_by_entry(release) if entry.startswith("org/apache/rocketmq/"))
    return tuple(
        sorted(entry.removesuffix(".class").replace("/", ".") for entry in entries if entry.endswith(".class"))
    )


@lru_cache(256)
def class_of(release: str, class_name: str) -> bytes:
    """A class file of RocketMQ's own from a release's jars. Raises ReleaseError when none has it."""
    entry = class_name.replace(".", "/") + ".class"
    jar = _jars_by_entry(release).get(entry)
    if jar is None:
        raise ReleaseError(f"no jar of {release} has {class_name}")
    with zipfile.ZipFile(jar) as archive:
        return archive.read(entry)


@cache
def _jars_by_entry(release: str) -> Mapping[str, Path]:
    """The first of RocketMQ's own jars of the release that has an entry of this name."""
    found: dict[str, Path] = {}
    for jar in ensure_jars(release):
        if "rocketmq-" in jar.name:
            with zipfile.ZipFile(jar) as archive:
                for entry in archive.namelist():
                    found.setdefault(entry, jar)
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, layout: str) -> int:
        size = struct.calcsize(">" + layout)
        (value,) = struct.unpack_from(">" + layout, self._data, self.at)
        self.at += size
        return int(value)

    def skip(self, count: int) -> None:
        self.at += count

    def bytes(self, count: int) -> bytes:
        self.skip(count)
        return self._data[self.at - count : self.at]


@contextmanager
def _of_a_class() -> Iterator[None]:
    """What a damaged or hostile class file leads to is one error. Raises ReleaseError."""
    try:
        yield
    except (struct.error, LookupError, ValueError, TypeError, AssertionError, OverflowError) as error:
        raise ReleaseError("a class file in the release's jars is damaged") from error


@_of_a_class()
def methods(class_file: bytes) -> list[Method]:
    """Every method of a class file that has code. Raises ReleaseError: it is damaged."""
    return list(_methods(class_file))


def _methods(class_file: bytes) -> Iterator[Method]:
    for name, descriptor, code, constants in _codes(_Reader(class_file)):
        yield _method(name, descriptor, code, constants)


def _codes(reader: _Reader) -> Iterator[tuple[str, str, bytes, Mapping[int, object]]]:
    """Of each method that has code its name, its descriptor, its code and the class's constants."""
    reader.skip(8)
    constants = _constants(reader)
    reader.skip(6)
    reader.skip(2 * reader.take("H"))
    for _ in range(reader.take("H")):
        reader.skip(6)
        for _ in range(reader.take("H")):
            reader.skip(2)
            reader.skip(reader.take("I"))
    for _ in range(reader.take("H")):
        reader.skip(2)
        name, descriptor = str(constants[reader.take("H")]), str(constants[reader.take("H")])
        for _ in range(reader.take("H")):
            kind, length = constants[reader.take("H")], reader.take("I")
            body = reader.bytes(length)
            if kind == "Code":
                yield name, descriptor, body[8 : 8 + struct.unpack_from(">I", body, 4)[0]], constants


@_of_a_class()
def statements(class_file: bytes) -> list[Statement]:
    """What the methods of a class file log, print, throw and answer, in the order of their code.

    Raises ReleaseError: it is damaged.
    """
    codes = _codes(_Reader(class_file))
    return [one for name, _, code, constants in codes for one in _statements(name, code, constants)]


def _statements(method: str, code: bytes, constants: Mapping[int, object]) -> Iterator[Statement]:
    before = 0
    ready: list[str] = []
    built: list[str] | None = None  # of a StringBuilder: its texts, and {} for each value
    at = 0
    while at < len(code):
        opcode, length = code[at], _length(code, at)
        if opcode in (_LDC, _LDC_W):
            index = code[at + 1] if opcode == _LDC else struct.unpack_from(">H", code, at + 1)[0]
            value = constants.get(index)
            text = constants.get(value[0]) if isinstance(value, tuple) and len(value) == 1 else None
            if isinstance(text, str):
                (ready if built is None else built).append(text)
        elif opcode == _NEW:
            if _class_name(constants, struct.unpack_from(">H", code, at + 1)[0]) in _BUILDERS:
                built = []
        elif opcode in _INVOKES:
            of, name = _member(constants, struct.unpack_from(">H", code, at + 1)[0])
            if of in _BUILDERS and built is not None:
                if name == "append" and code[before] not in (_LDC, _LDC_W):
                    built.append("{}")
                elif name == "toString":
                    ready.append("".join(built))
                    built = None
            elif of.endswith("Logger") and name in LEVELS:
                if ready:
                    yield Statement(method=method, level=name, text=max(ready, key=len))
                ready, built = [], None
            elif of == _PRINTS and name in ("printf", "println", "print", "format"):
                if ready:
                    yield Statement(method=method, level=PRINTED, text=max(ready, key=len))
                ready, built = [], None
            elif built is None and (name in _ANSWERS or (name == "<init>" and of.endswith("Exception"))):
                yield from (Statement(method=method, level="", text=text) for text in ready)
                ready = []
        elif opcode in _ENDS:
            ready = []
        before = at
        at += length


@_of_a_class()
def names(class_file: bytes) -> Names:
    """What a class file is called and what it names. Raises ReleaseError: it is damaged."""
    reader = _Reader(class_file)
    reader.skip(8)
    constants = _constants(reader)
    reader.skip(2)
    name, extends = (_class_name(constants, reader.take("H")) for _ in range(2))
    pairs = (value for value in constants.values() if isinstance(value, tuple) and len(value) == 2)
    # A member is a class with a name and a type; the pair of a name and a type begins with a text.
    members = (
        (_class_name(constants, one), _resolved(constants, two)) for one, two in pairs if _is_class(constants, one)
    )
    return Names(
        name=name,
        extends=extends,
        members=frozenset((of, str(two[0])) for of, two in members if isinstance(two, tuple)),
    )


def _is_class(constants: Mapping[int, object], index: int) -> bool:
    value = constants.get(index)
    return isinstance(value, tuple) and len(value) == 1


def _class_name(constants: Mapping[int, object], index: int) -> str:
    value = _resolved(constants, index)
    return str(value[0]) if isinstance(value, tuple) else ""


@_of_a_class()
def texts(class_file: bytes) -> list[str]:
    """Every UTF-8 constant of a class file, among which are the names of its methods. Raises ReleaseError: it is damaged."""
    reader = _Reader(class_file)
    reader.skip(8)
    return [value for value in _constants(reader).values() if isinstance(value, str)]


def _constants(reader: _Reader) -> dict[int, object]:
    """The constant pool by index: texts, numbers, and the indexes that another entry consists of."""
    found: dict[int, object] = {}
    index, count = 1, reader.take("H")
    while index < count:
        tag = reader.take("B")
        if tag == _UTF8:
            found[index] = reader.bytes(reader.take("H")).decode("utf-8", "replace")
        elif tag in (_INTEGER, _FLOAT, _LONG, _DOUBLE):
            layout = {_INTEGER: "i", _FLOAT: "f", _LONG: "q", _DOUBLE: "d"}[tag]
            (found[index],) = struct.unpack(">" + layout, reader.bytes(struct.calcsize(">" + layout)))
        elif tag in (*_MEMBERS, _NAME_AND_TYPE):
            found[index] = (reader.take("H"), reader.take("H"))
        elif tag in (_CLASS, _STRING):
            found[index] = (reader.take("H"),)
        else:
            reader.skip(_OTHER_BYTES[tag])
        index += 2 if tag in (_LONG, _DOUBLE) else 1  # these two take two places
    return found


def _method(name: str, descriptor: str, code: bytes, constants: Mapping[int, object]) -> Method:
    calls: list[str] = []
    loaded: list[tuple[str, ...]] = []
    objects: list[str] = []
    gets: list[str] = []
    puts: list[str] = []
    targets: set[tuple[str, str, str]] = set()
    numbers: list[Number] = []
    digest = hashlib.sha256()
    at = 0
    while at < len(code):
        opcode, length = code[at], _length(code, at)
        digest.update(_in_any_file(code[at : at + length], constants))
        value: object = None
        if opcode in _INVOKES:
            index = struct.unpack_from(">H", code, at + 1)[0]
            calls.append(_member_name(constants, index))
            targets |= _target(constants, index)
            loaded.append(tuple(objects))
            objects.clear()
        elif opcode in (_GETSTATIC, _GETFIELD):
            objects.append(_member_name(constants, struct.unpack_from(">H", code, at + 1)[0]))
            gets.append(objects[-1])
        elif opcode == _PUTFIELD:
            puts.append(_member_name(constants, struct.unpack_from(">H", code, at + 1)[0]))
        elif opcode == _ALOAD or _ALOAD_0 <= opcode <= _ALOAD_3:
            objects.append(str(code[at + 1] if opcode == _ALOAD else opcode - _ALOAD_0))
        elif opcode == _SIPUSH:
            (value,) = struct.unpack_from(">h", code, at + 1)
        elif opcode == _LDC:
            value = constants.get(code[at + 1])
        elif opcode in (_LDC_W, _LDC2_W):
            value = constants.get(struct.unpack_from(">H", code, at + 1)[0])
        if isinstance(value, int | float):
            numbers.append(value)
        at += length
    return Method(
        name=name,
        descriptor=descriptor,
        calls=tuple(calls),
        loaded=tuple(loaded),
        numbers=tuple(numbers),
        digest=digest.hexdigest(),
        gets=tuple(gets),
        puts=tuple(puts),
        targets=frozenset(targets),
    )


def _in_any_file(instruction: bytes, constants: Mapping[int, object]) -> bytes:
    """An instruction with the constant that it names instead of that constant's index."""
    if instruction[0] == _LDC:  # the short form of the next one, for a low index
        return repr((_LDC_W, _resolved(constants, instruction[1]))).encode()
    if instruction[0] in _NAMES_A_CONSTANT:
        return repr((instruction[0], _resolved(constants, struct.unpack_from(">H", instruction, 1)[0]))).encode()
    return instruction


def _resolved(constants: Mapping[int, object], index: int, depth: int = DEPTH_MAX) -> object:
    value = constants.get(index)
    if depth == 0:
        raise ValueError("constants that lead to each other")
    return tuple(_resolved(constants, one, depth - 1) for one in value) if isinstance(value, tuple) else value


def _member_name(constants: Mapping[int, object], index: int) -> str:
    return _member(constants, index)[1]


def _member(constants: Mapping[int, object], index: int) -> tuple[str, str]:
    """The class of a field or method, and its name."""
    member = constants[index]
    assert isinstance(member, tuple)
    name_and_type = constants[member[1]]
    assert isinstance(name_and_type, tuple)
    # What invokedynamic calls has no class.
    of = _class_name(constants, member[0]) if member[0] in constants else ""
    return of, str(constants[name_and_type[0]])


def _target(constants: Mapping[int, object], index: int) -> set[tuple[str, str, str]]:
    found = _resolved(constants, index)
    # What invokedynamic names has no class.
    match found:
        case ((str(of),), (str(name), str(descriptor))):
            return {(of, name, descriptor)}
    return set()


def _length(code: bytes, at: int) -> int:
    opcode = code[at]
    if opcode == _WIDE:
        return 6 if code[at + 1] == _IINC else 4
    if opcode not in (_TABLESWITCH, _LOOKUPSWITCH):
        return _LENGTHS.get(opcode, 1)
    aligned = at + 4 - at % 4
    if opcode == _LOOKUPSWITCH:
        pairs = struct.unpack_from(">I", code, aligned + 4)[0]
        return int(aligned + 8 + 8 * pairs - at)
    low, high = struct.unpack_from(">ii", code, aligned + 4)
    if low > high:
        raise ValueError("a switch of no length")
    return int(aligned + 12 + 4 * (high - low + 1) - at)
