"""A user's broker.conf full of addresses, paths and peers, and what of it may be in a node's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.releases.user_settings import read_broker_conf

HOSTILE_CONF = Path(__file__).parents[1] / "data" / "border" / "broker.conf"
KEPT = {"flushDiskType": "SYNC_FLUSH", "maxMessageSize": "4194304", "waitTimeMillsInSendQueue": "1500"}
"""What of it is let in, as it is."""

LEADS_OUT = (
    "10.0.0.1", "10.0.0.1:9876", "010.0.0.1", "10.1", "2130706433", "0x7f000001", "[2001:db8::7]", "[2001:db8::7]:10911",
    "2001:db8::7", "::ffff:10.0.0.1", "fe80::1%eth0", "host:10911", "n0-host:40911;n1-host:40912", "mq.prod.example",
    "mq.prod.example.", "prod-host.", "user@host", "user:secret@host", "http://host", "https://host/x", "file:///etc/passwd",
    "jdbc:mysql://host/db", "//host/share", "\\\\host\\share", "C:\\data", "/data", "/", "~", "~/x", "~root/x", "./x", "..",
    "../../x", "x/../../y", "$HOME/x", "${HOME}", "%HOME%/x", "a,10.0.0.1", "a;host:1", "1s 5s host:1", "x=host:1",
    "\\u0031\\u0030.0.0.1", "prod\\", "a\nbrokerIP1=10.0.0.1", "a\rb", "\u202e1.0.0.01", "\uff11\uff10.0.0.1",
    "10\u30020\u30020\u30021", "{\"addr\":\"host:1\"}", "host\t", "xn--bcher-kva.example", "bücher",
)  # fmt: skip
"""Values that are an address, a path or a peer, or become one when they are read as a properties file."""


def hostile_conf() -> dict[str, str]:
    """By its keys, of which KEPT are harmless."""
    return read_broker_conf(HOSTILE_CONF)


def conf_of(path: Path) -> dict[str, str]:
    """A conf that a node was started with: every line is ``key=value``, and no character of it has another meaning."""
    text = path.read_text("utf-8")
    assert "\\" not in text
    return dict(line.split("=", 1) for line in text.splitlines())


def strangers(conf: Mapping[str, str], home: Path) -> Iterator[str]:
    """The settings of a node's conf whose value may be an address or a path, and is neither of this host's loopback nor below
    the node's folder."""
    for key, value in conf.items():
        if value == "{}":
            continue
        inner = re.sub(rf"(?<![\w/.]){re.escape(str(home))}(?=/|$)[\w./-]*", "", value) if ".." not in value else value
        inner = re.sub(r"(?<![\w.])127\.0\.0\.1(:\d+)?(?![\w.])", "", inner)
        if re.search(r"[:/@~$\\{\[]|[A-Za-z]\w*\.\w|\d\.\d+\.", inner):
            yield f"{key}={value}"


LEADS_OUT_JVM = {"http.proxyHost": "proxy.prod.example", "java.io.tmpdir": "/nowhere"}
"""Properties of a broker's JVM that do the same."""
