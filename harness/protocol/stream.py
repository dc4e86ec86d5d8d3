"""Frames over one socket. Each is sent and received by a deadline, and is of a bounded size."""

import socket
import struct

from harness.errors import AnswerError
from harness.protocol.deadline import Deadline
from harness.protocol.frames import Frame

FRAME_BYTES_MAX = 64 * 1024 * 1024
"""Four times what RocketMQ's own clients take by default (com.rocketmq.remoting.frameMaxLength)."""
HEADER_BYTES_MAX = 1024 * 1024
"""A header has a remark, which may be a stack trace, and a few fields."""
READ_BYTES = 64 * 1024


class FrameStream:
    """What comes from the node ``by``. After an error it is not to be used any more."""

    def __init__(self, connected: socket.socket, by: str) -> None:
        self._socket, self._by = connected, by
        self._received = bytearray()

    def send(self, octets: bytes, deadline: Deadline) -> None:
        """Send all of it. Raises TimeoutError, OSError."""
        with memoryview(octets) as left:
            at = 0
            while at < len(left):
                self._socket.settimeout(deadline.left_s())
                at += self._socket.send(left[at:])

    def receive(self, deadline: Deadline) -> Frame:
        """The next frame. Raises TimeoutError, OSError, and AnswerError where it is none or too long."""
        deadline.left_s()  # what has come already would else be read for ever where more and more comes
        length = self._number(deadline)
        if not 4 <= length <= FRAME_BYTES_MAX:
            raise AnswerError.nonsense(self._by, f"a frame of {length:,} bytes (is it a RocketMQ node?)")
        word = self._number(deadline)
        serialisation, header_bytes = word >> 24, word & 0xFFFFFF
        if header_bytes > min(length - 4, HEADER_BYTES_MAX):
            raise AnswerError.nonsense(self._by, f"a header of {header_bytes:,} bytes in a frame of {length:,}")
        header = self._take(header_bytes, deadline)
        return Frame(serialisation=serialisation, header=header, body=self._take(length - 4 - header_bytes, deadline))

    def _number(self, deadline: Deadline) -> int:
        (number,) = struct.unpack(">I", self._take(4, deadline))
        return int(number)

    def _take(self, count: int, deadline: Deadline) -> bytes:
        while len(self._received) < count:
            self._socket.settimeout(deadline.left_s())
            part = self._socket.recv(READ_BYTES)
            if not part:
                raise ConnectionResetError("it hung up in the middle of its answer")
            self._received += part
        with memoryview(self._received) as received:
            taken = bytes(received[:count])
        del self._received[:count]
        return taken
