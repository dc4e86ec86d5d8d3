"""RocketMQ's frames: a request as bytes, and bytes as an answer.

A frame is: total length (4 bytes), header length with the serialisation in its first byte (4 bytes), the header, the body.
All releases accept JSON headers. A node answers with them or, where its JVM has -Drocketmq.serialize.type=ROCKETMQ, with binary
ones (org.apache.rocketmq.remoting.protocol.RocketMQSerializable, the same in 4.6.0 and 5.5.0).
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import AnswerError
from harness.printable import excerpt
from harness.protocol.fastjson import JsonObject, read_json, whole_number

IS_ANSWER = 1
"""The lowest bit of a header's ``flag``: ``RemotingCommand.RPC_TYPE``."""
INT_MIN, INT_MAX = -(2**31), 2**31 - 1
Fields = Mapping[str, str | int]
"""What a request's header says beyond its code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """What came from a node: the serialisation of its header, the header and the body."""

    serialisation: int
    header: bytes
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Header:
    """The header of a frame. ``flag`` tells answers from requests, ``opaque`` is the number of the request."""

    code: int
    version: int
    opaque: int
    flag: int
    remark: str
    fields: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response: ``code`` 0 is success, ``remark`` says why it is not. ``version`` is the number of who answers, ``by`` names it.

    What is asked of it has to be there, else AnswerError is raised.
    """

    code: int
    remark: str
    fields: Mapping[str, str]
    body: bytes
    version: int = 0
    by: str = "a node"

    def json(self) -> dict[str, Any]:
        """The body, an object that fastjson wrote."""
        return dict(self.written().values)

    def written(self) -> JsonObject:
        """The same, with values that are looked at as they are asked for."""
        return JsonObject.of(read_json(self.body or b"{}", self.by), self.by)

    def field(self, name: str) -> str:
        """A field of the header."""
        if (value := self.fields.get(name)) is None:
            raise AnswerError.nonsense(self.by, f"a header without {name}")
        return value

    def number(self, name: str) -> int:
        """A field of the header that is a whole number."""
        if (number := whole_number(self.field(name))) is None:
            raise AnswerError.nonsense(self.by, f"{name} is {excerpt(self.field(name))}, which is no whole number")
        return number

    def text(self) -> str:
        """The body as a text."""
        try:
            return self.body.decode()
        except UnicodeDecodeError as error:
            raise AnswerError.nonsense(self.by, f"text that is not UTF-8 ({error})") from error


Version = tuple[int, ...]
"""Such as (4, 9, 7); empty where it is not known."""

_FIRST_VERSION, _VERSIONS_OF_MAJOR, _VERSIONS_OF_MINOR = 212, 200, 20
"""``V4_0_0_SNAPSHOT`` of MQVersion.Version. From there on each release has two numbers, and ten follow each other."""


def numbered_version(number: int) -> Version:
    """The release of a header's version, empty of older ones than 4.0.0, and where a node told none.

    It is the place in MQVersion.Version, which is the same in 4.6.0, 4.9.7, 5.3.3 and 5.5.0.
    """
    if number < _FIRST_VERSION:
        return ()
    majors, rest = divmod(number - _FIRST_VERSION, _VERSIONS_OF_MAJOR)
    minor, rest = divmod(rest, _VERSIONS_OF_MINOR)
    return 4 + majors, minor, rest // 2


def request_frame(opaque: int, code: int, fields: Fields, body: bytes = b"") -> bytes:
    """A request whose answer will carry the number ``opaque``."""
    header = json.dumps(
        {
            "code": code,
            "language": "PYTHON",
            "version": 0,
            "opaque": opaque,
            "flag": 0,
            "remark": None,
            "extFields": {name: str(value) for name, value in fields.items()},
            "serializeTypeCurrentRPC": "JSON",
        }
    ).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def read_answer(frame: Frame, by: str) -> tuple[int, Answer] | None:
    """The number of the request that the node ``by`` answers, and the answer; None when the frame is a request itself.

    Raises AnswerError, which names the node: the frame is none of RocketMQ's.
    """
    if frame.serialisation not in _HEADERS:
        raise AnswerError.nonsense(by, f"a header of serialisation {frame.serialisation}")
    header = _HEADERS[frame.serialisation](frame.header, by)
    if not header.flag & IS_ANSWER:
        return None
    answer = Answer(
        code=header.code,
        remark=header.remark,
        fields=header.fields,
        body=frame.body,
        version=header.version,
        by=by,
    )
    return header.opaque, answer


def _json_header(text: bytes, by: str) -> Header:
    header = JsonObject.of(read_json(text, by), by)
    remark, values = header.values.get("remark"), header.child("extFields").values
    if not isinstance(remark, str | None):
        raise AnswerError.nonsense(by, "a remark that is no text")
    fields = {name: value for name, value in values.items() if isinstance(value, str)}
    for name in values.keys() - fields.keys():
        raise AnswerError.nonsense(by, f"a header whose {excerpt(name)} is no text")
    return Header(
        code=header.number("code", INT_MIN, INT_MAX),
        version=header.number("version", INT_MIN, INT_MAX, default=0),
        opaque=header.number("opaque", INT_MIN, INT_MAX),
        flag=header.number("flag", INT_MIN, INT_MAX, default=IS_ANSWER),
        remark=remark or "",
        fields=fields,
    )


# --- binary headers -----------------------------------------------------------------------------------------------------


class _Octets:
    """Bytes that are taken from the front. Raises AnswerError where there are too few."""

    def __init__(self, octets: bytes, by: str) -> None:
        self._octets, self._by, self._at = octets, by, 0

    def is_empty(self) -> bool:
        return self._at == len(self._octets)

    def take(self, count: int) -> bytes:
        left = len(self._octets) - self._at
        if not 0 <= count <= left:
            raise AnswerError.nonsense(self._by, f"a binary header that names {count:,} bytes where {left:,} are left")
        taken = self._octets[self._at : self._at + count]
        self._at += count
        return taken

    def number(self, form: str) -> int:
        """A number in one of struct's forms, with the highest byte first."""
        number: int = struct.unpack(f">{form}", self.take(struct.calcsize(f">{form}")))[0]
        return number

    def text(self, form_of_length: str) -> str:
        octets = self.take(self.number(form_of_length))
        try:
            return octets.decode()
        except UnicodeDecodeError as error:
            raise AnswerError.nonsense(self._by, f"a binary header that is not UTF-8 ({error})") from error


def _binary_header(octets: bytes, by: str) -> Header:
    rest = _Octets(octets, by)
    code, _language, version = rest.number("h"), rest.number("b"), rest.number("h")
    opaque, flag, remark = rest.number("i"), rest.number("i"), rest.text("i")
    fields, pairs = dict[str, str](), _Octets(rest.take(rest.number("i")), by)
    while not pairs.is_empty():
        name = pairs.text("h")
        fields[name] = pairs.text("i")
    return Header(code=code, version=version, opaque=opaque, flag=flag, remark=remark, fields=fields)


_HEADERS: Mapping[int, Callable[[bytes, str], Header]] = {0: _json_header, 1: _binary_header}
"""By ``SerializeType`` of org.apache.rocketmq.remoting.protocol: JSON, ROCKETMQ."""
