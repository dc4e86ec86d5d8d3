"""A broker.conf is read as Java reads it, and what no release reads as it was meant is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigurationError
from harness.model.broker_conf import ConfFile
from harness.releases.properties import read_conf


def conf(tmp_path: Path, data: bytes) -> ConfFile:
    path = tmp_path / "broker.conf"
    path.write_bytes(data)
    return read_conf(path)


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        (b"# mine\n\n brokerName = broker-a \naclEnable=\n! old\n", {"brokerName": "broker-a ", "aclEnable": ""}),
        (b"brokerName : a\nbrokerId 0\nlistenPort=1:2\n", {"brokerName": "a", "brokerId": "0", "listenPort": "1:2"}),
        (b"namesrvAddr = a:1;\\\r\n   b:2\r\nbrokerId=1\r", {"namesrvAddr": "a:1;b:2", "brokerId": "1"}),
        (b"a\\ b=\\u4e2d\\t\\q\n=x\nalone", {"a b": "\u4e2d\tq", "": "x", "alone": ""}),
        (b"# \xd6\xd0\xce\xc4\nbrokerName=a\n", {"brokerName": "a"}),
        (b"", {}),
    ],
)
def test_it_is_read_as_java_reads_it(tmp_path: Path, data: bytes, settings: dict[str, str]) -> None:
    found = conf(tmp_path, data)
    assert found.settings == settings
    assert not found.oddities


def test_each_key_has_the_line_that_it_begins_in(tmp_path: Path) -> None:
    found = conf(tmp_path, b"! by hand\r\n\r\nnamesrvAddr = a:1;\\\r\n  b:2\r\nbrokerId 0\rlistenPort=1\n")
    assert {key: entry.line for key, entry in found.entries.items()} == {
        "namesrvAddr": 3,
        "brokerId": 5,
        "listenPort": 6,
    }


def test_of_a_key_that_stands_twice_the_last_value_counts_and_is_told(tmp_path: Path) -> None:
    found = conf(tmp_path, b"brokerId=0\nbrokerName=a\nbrokerId=1\n")
    assert found.settings == {"brokerName": "a", "brokerId": "1"}
    (odd,) = found.oddities
    assert (odd.kind, odd.line) == ("set-twice", 3)
    assert odd.says == "line 3: brokerId is set a second time; the value of line 1 is lost"


def test_a_byte_order_mark_costs_the_first_key(tmp_path: Path) -> None:
    found = conf(tmp_path, b"\xef\xbb\xbfbrokerId=1\nbrokerName=a\n")
    assert "brokerId" not in found.settings
    assert [one.kind for one in found.oddities if one.kind != "not-ascii"] == ["byte-order-mark"]
    assert "part of its first key" in found.oddities[0].says


@pytest.mark.parametrize(("written", "says"), [
    ("storePathRootDir=D:\\data\\store", 'line 1: storePathRootDir is "D:datastore" to a broker, since a \\ is taken away'),
    ("storePathRootDir=C:\\\nbrokerId=0",
     "line 1: a \\ at a line's end makes the next line a part of it, so that brokerId is not set"),
])  # fmt: skip
def test_a_backslash_that_a_broker_takes_away_is_named(tmp_path: Path, written: str, says: str) -> None:
    (odd,) = conf(tmp_path, written.encode()).oddities
    assert (odd.kind, odd.says) == ("backslash", says)
    assert odd.advice == "Write / in place of \\ in a path."


@pytest.mark.parametrize(
    "written", ["a=C:\\\\ok\\\\log", "a=b\\\n  c", "a\\ b=c", "a=x\\:y", "a=\\u0041", "namesrvAddr=a:1;\\\n  b:2"]
)
def test_a_backslash_that_is_meant_is_not_named(tmp_path: Path, written: str) -> None:
    assert not conf(tmp_path, written.encode()).oddities


@pytest.mark.parametrize("first", [b"# mine\n", b"!\r\n", b"\n", b"\r\n"])
def test_a_byte_order_mark_before_a_comment_or_an_empty_line_costs_nothing(tmp_path: Path, first: bytes) -> None:
    found = conf(tmp_path, b"\xef\xbb\xbf" + first + b"brokerName=a\n")
    assert (found.settings, found.oddities) == ({"brokerName": "a"}, ())


def test_a_byte_order_mark_is_told_with_the_key_that_it_costs(tmp_path: Path) -> None:
    (one,) = conf(tmp_path, b"\xef\xbb\xbfbrokerName=a\nbrokerId=0\n").oddities
    assert one.says.endswith("which a broker takes for a part of its first key: brokerName is not read")
    assert one.advice == "Save it as UTF-8 without a byte order mark."


@pytest.mark.parametrize("value", ["192.0.2.41 #mine", "true  # on", "8 // tuned", "#nothing", "a\t#b"])
def test_a_comment_behind_a_value_is_named(tmp_path: Path, value: str) -> None:
    (odd,) = conf(tmp_path, f"\nbrokerIP1={value}\n".encode()).oddities
    assert (odd.kind, odd.line) == ("comment-in-value", 2)
    assert odd.says.startswith(f'line 2: brokerIP1 is "{value}": '.replace("\t", "\\t"))


@pytest.mark.parametrize("value", ["a#b", "http://host/x", "a;b!", "1"])
def test_what_is_no_comment_is_not_named(tmp_path: Path, value: str) -> None:
    assert not conf(tmp_path, f"brokerIP1={value}\n".encode()).oddities


def test_bytes_beyond_ascii_in_a_value_are_named(tmp_path: Path) -> None:
    found = conf(tmp_path, "brokerName=\u4e2d\n".encode("gbk"))
    assert found.settings == {"brokerName": "\xd6\xd0"}
    (odd,) = found.oddities
    assert (odd.kind, odd.advice) == ("not-ascii", "Write such characters as \\uXXXX, or leave them out.")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            b"a=1\n# \\users\n\nb=C:\\users\\x\nc=2\n",
            r"broker\.conf:4: '\\\\users' is no \\uXXXX: a broker with this file does not start",
        ),
        (b"\xff\xfea\x00=\x001\x00", r"broker\.conf:1: it is UTF-16"),
        (b' {"rocketMQClusterName": "c"}', r"is JSON, as a proxy's file is"),
        (b"x=1\n" * 300_000, "more than 1,048,576 bytes"),
        (b"".join(b"k%d=1\n" % number for number in range(1001)), "conf:1001: it has more than 1,000 keys"),
    ],
)
def test_what_no_broker_starts_with_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        conf(tmp_path, data)


def test_lines_that_go_on_without_an_end_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_bytes(b"a=1\nb=1" + b"\\\n x" * 100_000 + b"\n")
    with pytest.raises(ConfigurationError, match=r"broker\.conf:2: more than 1,000 lines go on in the next one"):
        read_conf(path)
    path.write_bytes(b"a=1\nb=1" + b"\\\n x" * 900 + b"\nc=" + b"\\\\\n" * 1 + b"d=2\n")
    assert read_conf(path).settings["d"] == "2"


def test_a_file_that_is_not_there_and_a_folder_are_errors_of_configuration(tmp_path: Path) -> None:
    for path in (tmp_path / "none.conf", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            read_conf(path)
