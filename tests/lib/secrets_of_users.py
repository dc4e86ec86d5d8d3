"""Secrets in every place where a user's settings may have one: whatever he passes on of a run must hold none of them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

PLANTED = "hunter2"
"""Part of each secret."""

CONF = f"""\
# secretKey={PLANTED}-in-a-comment
flushDiskType=SYNC_FLUSH
accessKey={PLANTED}-of-an-account
secretKey: {PLANTED}-behind-a-colon
my.password {PLANTED}-behind-a-blank
secret\\u004bey2={PLANTED}-by-an-escaped-name
pwd={PLANTED}-set-twice
pwd={PLANTED}-again
initAuthenticationUser={{"username":"admin","password":"{PLANTED}-in-json"}}
innerClientAuthenticationCredentials={{"accessKey":"{PLANTED}",\\
  "secretKey":"{PLANTED}-on-a-second-line"}}
mirrorUrl=https://admin:{PLANTED}@mirror/x
tls.server.keyPath=/etc/{PLANTED}/server.key
tls.client.keyPassword={PLANTED}12345678
options=-Dpassword={PLANTED}
objectStoreSecretKey={PLANTED}  # {PLANTED}
export dbPassword={PLANTED}-of-a-shell
waitTimeMillsInSendQueue=400
"""

SETS = (
    f'broker.initAuthenticationUser={{"username":"admin","password":"{PLANTED}"}}',
    f"broker.objectStoreAccessKey={PLANTED}",
    f"broker-jvm.my.password={PLANTED}",
    f"broker-jvm.tls.server.keyPath=/etc/{PLANTED}.key",
    f"client.my.secretKey={PLANTED}",
)


def places_of_secrets(folder: Path) -> Iterator[Path]:
    """Each file of a folder that holds one, packed or not."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            if PLANTED.encode() in data:
                yield path
