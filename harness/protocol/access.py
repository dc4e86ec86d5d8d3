"""How a cluster lets somebody in: with keys, where its brokers ask who sends a request, and by TLS.

A value of this holds the path of the keys' file and never the keys, so that no record, command line or environment has them.
"""

import base64
import hashlib
import hmac
import re
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from harness.bounded import read_whole
from harness.errors import AccessDeniedError, ClientError, ConfigurationError
from harness.printable import excerpt
from harness.protocol.frames import Answer, Fields

ACCESS_KEY, SIGNATURE = "AccessKey", "Signature"
"""``SessionCredentials`` of org.apache.rocketmq.acl.common, the same in all releases."""
DENIED = re.compile(
    r"AclException|uthentication failed|uthorization failed|username cannot be null|check signature failed"
    r"|no permission to access|^User:.* (is not found|not found|is disabled)"
)
"""In remarks: of ``PlainPermissionManager`` (4.x), and of the handlers of org.apache.rocketmq.auth (5.3 and newer)."""
KEYS_BYTES_MAX, CERTIFICATES_BYTES_MAX = 2**16, 2**24
_LINE = re.compile(r"\s*(accessKey|secretKey)\s*[:=]\s*(['\"]?)([!-~]+?)\2\s*")


@dataclass(frozen=True, kw_only=True)
class Keys:
    """An access key and its secret key."""

    access_key: str
    secret_key: str = field(repr=False)

    def sign(self, fields: Fields, body: bytes) -> dict[str, str]:
        """The header's fields with who sends them and the signature that brokers compute, too: of all values, in the order of
        their names, and the body (``AclUtils.combineRequestContent``)."""
        signed = {**{name: str(value) for name, value in fields.items()}, ACCESS_KEY: self.access_key}
        content = "".join(value for _, value in sorted(signed.items())).encode() + body
        digest = hmac.new(self.secret_key.encode(), content, hashlib.sha1).digest()
        return {**signed, SIGNATURE: base64.b64encode(digest).decode()}


@dataclass(frozen=True, kw_only=True)
class Access:
    """``credentials`` is a file with an accessKey and a secretKey; ``tls_ca`` one of certificates, one of which has to have signed
    the nodes' own. Without it any certificate is taken, as RocketMQ's clients do by themselves."""

    credentials: Path | None = None
    tls: bool = False
    tls_ca: Path | None = None

    def keys(self) -> Keys | None:
        """What the file has, None without one. Raises ConfigurationError."""
        return None if self.credentials is None else read_keys(self.credentials)

    def jvm_options(self) -> tuple[str, ...]:
        """What a Java client's JVM needs (``TlsSystemConfig``; in its test mode it takes any certificate)."""
        if not self.tls:
            return ()
        if self.tls_ca is None:
            return ("-Dtls.enable=true",)
        checked = {
            "test.mode.enable": "false",
            "client.authServer": "true",
            "client.trustCertPath": self.tls_ca.absolute(),
        }
        return ("-Dtls.enable=true", *(f"-Dtls.{key}={value}" for key, value in checked.items()))

    def secured(self, plain: socket.socket, address: str) -> socket.socket:
        """The connection as it is to be used. The socket's timeout is for the whole handshake.

        Raises ClientError: the node does not take TLS, or has another certificate.
        """
        if not self.tls:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if self.tls_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                # OpenSSL itself would read a file of any length; what is no ASCII are comments.
                found = read_whole(self.tls_ca, CERTIFICATES_BYTES_MAX).decode("ascii", "ignore")
                context.load_verify_locations(cadata=found)
            except (OSError, ValueError) as error:
                raise ConfigurationError(
                    f"{self.tls_ca} has no certificates", advice="Give a PEM file with --tls-ca."
                ) from error
        try:
            return context.wrap_socket(plain)
        except ssl.SSLCertVerificationError as error:
            raise ClientError(
                f"the certificate of {address} is not signed by one of {self.tls_ca}: {error.verify_message}",
                advice="Give the file of the one that signed it with --tls-ca.",
            ) from error
        except OSError as error:
            raise ClientError(
                f"{address} does not take TLS: {error}", advice="Leave --tls out if its tls.server.mode is disabled."
            ) from error


OPEN = Access()
"""Nobody is asked who he is, and nothing is encrypted."""


def read_keys(path: Path) -> Keys:
    """The keys of a file of ``accessKey: ...`` and ``secretKey: ...``, as RocketMQ's own conf/tools.yml; ``=`` does as well.

    Raises ConfigurationError, which names a line and never says what stands there.
    """
    advice = "Two lines, accessKey: ... and secretKey: ..., as RocketMQ's conf/tools.yml has them."
    found: dict[str, str] = {}
    try:
        lines = read_whole(path, KEYS_BYTES_MAX).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read as keys", advice=advice) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match[1] in found:
            raise ConfigurationError(f"{path}:{number} is no accessKey or secretKey, or a second one", advice=advice)
        found[match[1]] = match[3]
    if missing := {"accessKey", "secretKey"} - found.keys():
        raise ConfigurationError(f"{path} has no {' and no '.join(sorted(missing))}", advice=advice)
    return Keys(access_key=found["accessKey"], secret_key=found["secretKey"])


def check_let_in(address: str, request: int, answer: Answer, keys: Keys | None) -> None:
    """Raises AccessDeniedError: the node asks for keys, or does not let these do it."""
    if not DENIED.search(answer.remark):
        return
    said = excerpt(answer.remark.partition(", org.apache.")[0].rpartition("Exception: ")[2])
    if keys is None:
        raise AccessDeniedError(
            f"{address} asks who sends request {request}, and no keys were given: {said}",
            advice="Give --credentials FILE with an accessKey and a secretKey.",
        )
    raise AccessDeniedError(
        f"{address} does not let {keys.access_key} send request {request}: {said}",
        advice="Look whether both keys are those of the cluster, and what the account is allowed.",
    )
