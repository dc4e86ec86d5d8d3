"""The backend that a command asks for: how it starts a cluster, and what a run has to note about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.backends.abilities import ABILITIES
from harness.backends.cluster import Cluster, ClusterSpec
from harness.backends.local import start_local
from harness.errors import DockerError
from harness.leases.leases import Leases
from harness.releases.java import Java

if TYPE_CHECKING:
    from harness.backends.docker.compose import Docker

BACKENDS = tuple(ABILITIES)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Starts clusters: as processes, or in containers where ``docker`` is given."""

    java: Java
    docker: Docker | None = None

    @property
    def name(self) -> str:
        """The backend's name in records."""
        return "compose" if self.docker else "local"

    def start(
        self,
        spec: ClusterSpec,
        folder: Path,
        leases: Leases,
        *,
        until_s: float,
        port: int | None = None,
        run_folder: Path | None = None,
    ) -> Cluster:
        """Start a cluster and wait until it can be used; see ``start_local`` and ``start_compose``."""
        if self.docker is None:
            return start_local(spec, folder, leases, self.java, until_s=until_s, port=port)
        from harness.backends.docker.compose import start_compose

        return start_compose(
            spec, folder, leases, self.java, self.docker, until_s=until_s, port=port, run_folder=run_folder
        )

    def notes(self) -> tuple[str, ...]:
        """Sentences about the backend for readers of the run."""
        if self.docker is None:
            return ()
        engine, compose = self.docker.engine, self.docker.compose
        words = " ".join(compose.command)
        return (
            f"Docker Engine {engine.version}, {words} {compose.version}, control groups {engine.cgroup}",
            *(
                f"image {image.tag} ({f'Java {image.java}' if image.java else 'not built here'}) {image.id}"
                for image in self.docker.images.values()
            ),
        )


def choose_backend(
    name: str, image: str, releases: Sequence[str], java: Java, say: Callable[[str], None] = lambda _: None
) -> Backend:
    """The backend of that name, with the images of the releases in the engine.

    Raises:
        DockerError: it needs Docker, and no engine of this machine answers, or compose or the image is missing.
    """
    if name == "local":
        return Backend(java=java)
    # The Docker SDK is loaded only where it is used.
    from harness.backends.docker.compose import Docker
    from harness.backends.docker.engine import find_compose, find_engine
    from harness.backends.docker.image import ensure_image, find_image, own_tag

    engine, compose = find_engine(), find_compose()
    if engine.is_desktop:
        raise DockerError(
            "Docker Desktop runs containers in a virtual machine, whose loopback is not this machine's",
            advice="Use the local backend, or the compose files by hand with compose/desktop.yaml.",
        )
    images = {}
    for release in releases:
        if not image and find_image(engine, own_tag(release)) is None:
            say(f"building the image {own_tag(release)}")
        images[release] = ensure_image(engine, release, java, image)
    return Backend(java=java, docker=Docker(engine=engine, compose=compose, images=images))
