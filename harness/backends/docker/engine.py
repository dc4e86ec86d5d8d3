"""The Docker Engine that is used: where its socket is, and which compose drives it.

Only an engine of this machine is used, by its socket: a cluster listens on loopback, which is this machine's.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import docker
from docker.errors import DockerException

from harness.errors import DockerError

DEFAULT_SOCKET = Path("/var/run/docker.sock")
COMMAND_S_MAX = 30
ANSWER_S_MAX = 240
"""A start of a container, where other work fills the cores."""

ENGINE_ERRORS = (DockerException, OSError)
"""What the SDK raises when the engine refuses, and when it does not answer (requests' own errors are OSError)."""

_START_ADVICE = (
    "Start Docker, set DOCKER_HOST=unix:///PATH to its socket, or start a daemon of the lab's own: "
    'eval "$(tools/docker_daemon.sh start)" (root, and the package docker.io).'
)
_COMPOSE_ADVICE = "Install the compose plugin of Docker (docker compose), or the package docker-compose."


@dataclass(frozen=True, kw_only=True)
class Compose:
    """``docker compose`` (version 2 or newer) or the old ``docker-compose``. ``command`` starts it."""

    command: tuple[str, ...]
    version: str

    @property
    def is_plugin(self) -> bool:
        """Whether it is ``docker compose``."""
        return len(self.command) > 1


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An engine that answers."""

    socket: Path
    version: str
    api: str
    cgroup: str
    is_desktop: bool = False
    """Whether this is Docker Desktop, whose containers run in a virtual machine."""

    @property
    def host(self) -> str:
        """Its address, in the form of DOCKER_HOST."""
        return f"unix://{self.socket}"

    def client(self) -> docker.DockerClient:
        """A client of the Docker SDK; close it after use."""
        return docker.DockerClient(base_url=self.host, version="auto", timeout=ANSWER_S_MAX)

    @contextmanager
    def asked(self, wish: str, *, advice: str = "") -> Iterator[docker.DockerClient]:
        """A client for one question, closed after it.

        Raises:
            DockerError: the engine refuses, or does not answer in time: ``wish`` says what could not be done.
        """
        client = None
        try:
            client = self.client()
            yield client
        except ENGINE_ERRORS as error:
            raise DockerError(f"{wish}: {_why(error)}", advice=advice) from error
        finally:
            if client is not None:
                client.close()


def find_engine() -> Engine:
    """The engine of DOCKER_HOST, else of the docker command's context, else of the default socket.

    Raises:
        DockerError: none answers there, or it is not on this machine.
    """
    socket = engine_socket()
    try:
        client = docker.DockerClient(base_url=f"unix://{socket}", version="auto", timeout=COMMAND_S_MAX)
    except ENGINE_ERRORS as error:
        raise DockerError(f"no Docker Engine answers at {socket}: {_why(error)}", advice=_START_ADVICE) from error
    try:
        facts = client.version()
        info = client.info()
    except ENGINE_ERRORS as error:
        raise DockerError(f"the Docker Engine at {socket} fails: {_why(error)}", advice=_START_ADVICE) from error
    finally:
        client.close()
    return Engine(
        socket=socket,
        version=str(facts.get("Version", "unknown")),
        api=str(facts.get("ApiVersion", "unknown")),
        cgroup=f"v{info.get('CgroupVersion', '1')}",
        is_desktop="Docker Desktop" in str(info.get("OperatingSystem", "")),
    )


def _why(error: BaseException) -> str:
    """In the system's own words where an error of the system is behind it: the SDK quotes errors within errors."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error)


def engine_socket() -> Path:
    """Where the engine's socket should be.

    Raises:
        DockerError: DOCKER_HOST or the docker command's context names an engine that is reached over a network.
    """
    host = os.environ.get("DOCKER_HOST") or _context_host()
    if not host:
        return DEFAULT_SOCKET
    scheme, _, path = host.partition("://")
    if scheme != "unix" or not path.startswith("/"):
        raise DockerError(
            f"the Docker Engine at {host} is not one of this machine's sockets",
            advice="The lab's clusters live on loopback, so their engine must be here: set DOCKER_HOST=unix:///PATH.",
        )
    return Path(path)


def _context_host() -> str:
    return _output("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")


def find_compose() -> Compose:
    """``docker compose`` where it is, else the old ``docker-compose``.

    Raises:
        DockerError: there is neither.
    """
    if version := _output("docker", "compose", "version", "--short"):
        return Compose(command=("docker", "compose"), version=version.removeprefix("v"))
    if version := _output("docker-compose", "version", "--short"):
        return Compose(command=("docker-compose",), version=version)
    raise DockerError("neither docker compose nor docker-compose is installed", advice=_COMPOSE_ADVICE)


@cache
def docker_command() -> str:
    """The path of the docker command.

    Raises:
        DockerError: it is not installed.
    """
    path = shutil.which("docker")
    if path is None:
        raise DockerError("the docker command is not installed", advice="Install Docker's client (docker.io).")
    return path


def _output(*command: str) -> str:
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""
