"""One connection to another machine by the system's OpenSSH client: a script on its standard input, and what that answers.

Nobody is asked anything: BatchMode, keys or an agent alone, known hosts alone, no forwarding. What the far side runs is one
constant command, ``exec /bin/sh -s``; words are quoted once, for that sh. The script is one compound command, so that a connection
that is cut within it has begun nothing. No key, password or agent's answer is ever read here.

Standard library only: the healer process imports this.
"""

import contextlib
import os
import secrets
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CONNECT_S_MAX = 8
ANSWER_S_MAX = 25.0
ANSWER_BYTES_MAX = 4_000_000
SAID_BYTES_MAX = 20_000

OPTIONS = (
    "BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={CONNECT_S_MAX}", "ConnectionAttempts=1",
    "ServerAliveInterval=3", "ServerAliveCountMax=2", "PasswordAuthentication=no", "KbdInteractiveAuthentication=no",
    "NumberOfPasswordPrompts=0", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes", "Tunnel=no",
    "PermitLocalCommand=no", "RemoteCommand=none", "RequestTTY=no", "SessionType=default", "StdinNull=no",
    "ForkAfterAuthentication=no", "ControlMaster=no", "ControlPath=none", "UpdateHostKeys=no", "LogLevel=ERROR",
)  # fmt: skip
"""Over whatever the user's own configuration of ssh says."""

FAR_COMMAND = "exec /bin/sh -s"
FAR_SIDE = Path(__file__).parent / "far_side.sh"


class SshError(RuntimeError):
    """The far side could not be asked, in a sentence; ``advice`` is what to do."""

    def __init__(self, says: str, advice: str = "") -> None:
        super().__init__(says)
        self.says = says
        self.advice = advice


@dataclass(frozen=True, kw_only=True)
class SshTarget:
    """Where to, as a nodes file says it. What is not given is the ssh configuration's."""

    host: str
    """``USER@HOST`` or ``HOST``."""
    port: int | None = None
    identity: str = ""
    known_hosts: str = ""

    def command(self) -> list[str]:
        """The client with all of its words."""
        words = [shutil.which("ssh") or "/usr/bin/ssh", "-T", "-x", "-a"]
        for option in OPTIONS:
            words += ["-o", option]
        if self.port is not None:
            words += ["-p", str(self.port)]
        if self.identity:
            words += ["-i", self.identity, "-o", "IdentitiesOnly=yes"]
        if self.known_hosts:
            words += ["-o", f'UserKnownHostsFile="{self.known_hosts}"', "-o", "GlobalKnownHostsFile=/dev/null"]
        return [*words, "--", self.host, FAR_COMMAND]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the far side said: the words of each line behind its first word, which says what it is about."""

    lines: Sequence[tuple[str, str]]
    refused: str = ""
    """Why it did nothing, as one of the script's words and what that is about."""
    at: float = field(default_factory=time.monotonic)

    def of(self, about: str) -> list[str]:
        """The lines about something."""
        return [rest for first, rest in self.lines if first == about]


def ask(target: SshTarget, action: str, *words: str, token: str = "", timeout_s: float = ANSWER_S_MAX) -> Answer:
    """Let the far side do one of the actions of far_side.sh. ``token`` is of a fault. Raises SshError within the time."""
    mark = token or secrets.token_hex(16)
    text = FAR_SIDE.read_text()
    script = "\n".join(
        [
            "{",
            f"T={shlex.quote(mark)}",
            f"f={shlex.quote(text)}",
            'eval "$f"',
            f"{shlex.join([action, *words])} </dev/null",
            "say end",
            "exit 0",
            "}",
            "",
        ]
    )
    code, out, said = _run(target, script, timeout_s)
    lines = [line.removeprefix(f"{mark} ") for line in out.split("\n") if line.startswith(f"{mark} ")]
    if not lines or lines[-1] != "end":
        raise _failed(target, code, said, timeout_s, bool(lines))
    parts = [line.partition(" ") for line in lines[:-1]]
    refused = next((rest for first, _, rest in parts if first == "no"), "")
    return Answer(lines=[(first, rest) for first, _, rest in parts], refused=refused)


def _run(target: SshTarget, script: str, timeout_s: float) -> tuple[int | None, str, str]:
    """Exit code (None: the time was over), standard output and what the client said."""
    with tempfile.TemporaryFile() as given:
        given.write(script.encode())
        given.seek(0)
        try:
            popen = subprocess.Popen(
                target.command(), stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise SshError(f"ssh cannot be started: {error.strerror}", "Install OpenSSH's client.") from error
    try:
        return _heard(popen, timeout_s)
    finally:
        # A ProxyCommand of the user's is of the same group.
        if popen.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(popen.pid, signal.SIGKILL)
            popen.wait()
        for stream in (popen.stdout, popen.stderr):
            assert stream is not None
            stream.close()


def _heard(popen: "subprocess.Popen[bytes]", timeout_s: float) -> tuple[int | None, str, str]:
    assert popen.stdout is not None
    assert popen.stderr is not None
    out, said = bytearray(), bytearray()
    room = {popen.stdout: (out, ANSWER_BYTES_MAX), popen.stderr: (said, SAID_BYTES_MAX)}
    deadline_s = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for stream in room:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return None, out.decode(errors="replace"), said.decode(errors="replace")
            for key, _ in selector.select(left_s):
                got = os.read(key.fd, 65536)
                heard, most = room[key.fileobj]  # type: ignore[index]
                heard += got[: max(0, most - len(heard))]
                if not got:
                    selector.unregister(key.fileobj)
    try:
        code = popen.wait(max(0.1, deadline_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        code = None
    return code, out.decode(errors="replace"), said.decode(errors="replace")


_SAYINGS: Sequence[tuple[Collection[str], str, str]] = (
    (
        ("IDENTIFICATION HAS CHANGED", "host key for", "has changed"),
        "{host} shows another host key than the known one",
        "Look whether it is that machine, before you change known_hosts.",
    ),
    (
        ("host key is known", "Host key verification failed"),
        "the host key of {host} is not known",
        "Log in once by hand (ssh {host}), and compare the key's fingerprint.",
    ),
    (
        ("Permission denied", "Too many authentication failures"),
        "{host} lets nobody in by the keys at hand, and no password is ever asked for",
        "Try ssh -o BatchMode=yes {host} true; it has to work without a question.",
    ),
    (
        ("timed out", "not responding", "Timeout"),
        "{host} does not answer",
        "Try ssh {host} true.",
    ),
)


def _failed(target: SshTarget, code: int | None, said: str, timeout_s: float, began: bool) -> SshError:
    host = target.host
    if code is None:
        return SshError(f"{host} has not answered in {timeout_s:g} s", f"Try ssh {host} true.")
    for needles, says, advice in _SAYINGS:
        if any(needle in said for needle in needles):
            return SshError(says.format(host=host), advice.format(host=host))
    if began:
        return SshError(f"the connection to {host} was cut within its answer", f"Try ssh {host} true.")
    last = [line for line in said.splitlines() if line.strip()]
    words = f": {ascii(last[-1].strip()[:200])[1:-1]}" if last else ""
    return SshError(f"ssh to {host} has failed{words}", f"Try ssh {host} true; its login shell has to be a shell.")
