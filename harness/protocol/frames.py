"""RocketMQ's frames: a request as bytes, and bytes as an answer.

A frame is: total length (4 bytes), header length with the serialisation in its first byte (4 bytes, 0 is JSON), the
header, the body. All releases accept JSON headers.
"""

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

IS_ANSWER = 1
"""The lowest bit of a header's ``flag``: ``RemotingCommand.RPC_TYPE``."""

_INTEGER_KEY = re.compile(rb"([{,]\s*)(\d+)(\s*:)")
"""fastjson writes integer keys without quotes (``{0:"127.0.0.1:10911"}``), which is no JSON."""

Fields = Mapping[str, str | int]
"""What a request's header says beyond its code."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response: ``code`` 0 is success, ``remark`` says why it is not. ``version`` is the number of who answers."""

    code: int
    remark: str
    fields: Mapping[str, str]
    body: bytes
    version: int = 0

    def json(self) -> dict[str, Any]:
        """The body, an object that fastjson wrote."""
        try:
            read = json.loads(self.body or b"{}")
        except ValueError:
            read = json.loads(_INTEGER_KEY.sub(rb'\1"\2"\3', self.body))
        assert isinstance(read, dict)
        return read


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


def read_answer(frame: bytes) -> tuple[int, Answer] | None:
    """The number of the request that is answered, and the answer; None when the frame is a request itself.

    ``frame`` is what follows the total length.
    """
    header_length = struct.unpack(">I", frame[:4])[0] & 0xFFFFFF
    header = json.loads(frame[4 : 4 + header_length])
    if not int(header.get("flag", IS_ANSWER)) & IS_ANSWER:
        return None
    answer = Answer(
        code=int(header.get("code", -1)),
        remark=str(header.get("remark") or ""),
        fields=header.get("extFields") or {},
        body=frame[4 + header_length :],
        version=int(header.get("version") or 0),
    )
    return int(header.get("opaque", -1)), answer
