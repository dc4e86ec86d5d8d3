"""Bodies of messages, as clients in Python make and read them."""

import zlib

import pytest

from harness.clients.python.body import make_body, read_body


@pytest.mark.parametrize("count", [1, 128, 4096, 4097, 100_000])
def test_a_body_has_its_length_and_reads_back(count: int) -> None:
    body = make_body("run-1", 17, 123_456_789_012, count)
    assert len(body) == max(count, len(b"run-1 17 123456789012 ") + 8)
    assert body.isascii()
    assert b"\0" not in body
    assert read_body(body, "run-1") == (17, 123_456_789_012)
    assert read_body(body[:40] + b"x" + body[41:], "run-1") is None or count < 41


def test_what_clients_compress_stays_about_as_long() -> None:
    large = make_body("run-1", 17, 123_456_789_012, 8192)
    assert len(zlib.compress(large, 5)) > 0.8 * len(large)
    assert make_body("run-1", 18, 123_456_789_012, 8192) != large
    assert make_body("run-1", 17, 123_456_789_012, 4096).count(b".") > 4000
