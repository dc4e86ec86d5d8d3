"""An image of a release without a registry: the verified jars, this host's Java with its libraries, and bash.

The layout is the published image's (``apache/rocketmq``), so that the same compose files start both:
``/home/rocketmq/rocketmq-RELEASE/{lib,conf,bin}``, named by ROCKETMQ_HOME. The engine imports it as one layer; nothing
is run, and nothing is fetched.
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from docker.errors import ImageNotFound

from harness.backends.docker.engine import Engine
from harness.errors import DockerError
from harness.paths import cache_home
from harness.releases.guard import ANY_LOOPBACK, guard_jar, guard_settings
from harness.releases.jars import ensure_jars, jars_sha256
from harness.releases.java import Java
from harness.releases.node_logging import write_node_logging
from harness.releases.settings import Feature, has
from harness.scratch import scratch_folder

REPOSITORY = "mqlab/rocketmq"
IMAGE_LABEL = "mqlab.image"
LIBRARY_S_MAX = 30

_JAVA = Path("/opt/java")
_LOADER_CACHE = Path("/etc/ld.so.cache")
_COMMANDS = ("cat", "ls", "mkdir", "sleep")
_JAVA_LEFT_OUT = frozenset({"jmods", "include", "man", "docs", "legal", "demo", "src.zip", "ct.sym"})
_JAVA_COMMANDS = frozenset({"java", "jcmd"})
_NEEDS_A_DISPLAY = re.compile(r"lib(awt_xawt|jawt|splashscreen|atk-wrapper)\b.*\.so")
GUARD = "/opt/mqlab"
TOOLS_LOGGING = '<configuration><root level="OFF"/></configuration>\n'
"""A logback configuration, without which mqadmin of 4.x does not start; its results go to standard output."""
_USERS = "root:x:0:0:root:/root:/bin/bash\n"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that the engine has. ``java`` is empty where the image is not ours."""

    tag: str
    id: str
    java: str = ""
    bytes: int = 0


def own_tag(release: str) -> str:
    """The name of our image of a release."""
    return f"{REPOSITORY}:{release}"


def find_image(engine: Engine, tag: str) -> Image | None:
    """The image of that name where the engine has it."""
    with engine.asked(f"the Docker Engine does not say whether it has {tag}") as client:
        try:
            found = client.images.get(tag)
        except ImageNotFound:
            return None
    labels = found.labels or {}
    return Image(tag=tag, id=str(found.id), java=labels.get("mqlab.java", ""), bytes=int(found.attrs.get("Size", 0)))


def ensure_image(engine: Engine, release: str, java: Java, wanted: str = "") -> Image:
    """The image to start a release's nodes from: the one that is ``wanted``, else ours, which is built where it is not.

    Ours is built again when the committed jars or this host's Java are not those that it was made of.

    Raises:
        DockerError: the engine does not have the image that is wanted, or cannot import ours.
    """
    if wanted:
        tag = wanted if ":" in wanted.rpartition("/")[2] else f"{wanted}:{release}"
        if found := find_image(engine, tag):
            return found
        raise DockerError(
            f"the Docker Engine has no image {tag}",
            advice=f"docker pull {tag}, where a registry can be reached; else leave --image out and ours is built.",
        )
    found = find_image(engine, own_tag(release))
    return found if found and _is_current(engine, release, java) else build_image(engine, release, java)


def _is_current(engine: Engine, release: str, java: Java) -> bool:
    with engine.asked(f"the Docker Engine does not say what {own_tag(release)} was made of") as client:
        labels = client.images.get(own_tag(release)).labels
    return {key: labels.get(key) for key in _labels(release, java)} == _labels(release, java)


def build_image(engine: Engine, release: str, java: Java) -> Image:
    """Build our image of a release and give it its name.

    Raises:
        DockerError: this host's Java or bash cannot be copied, or the engine refuses the image.
    """
    home = f"/home/rocketmq/rocketmq-{release}"
    environment = {
        "JAVA_HOME": str(_JAVA),
        "LANG": "C.UTF-8",
        "PATH": f"{_JAVA}/bin:/usr/local/bin:/usr/bin:/bin",
        "ROCKETMQ_HOME": home,
        "ROCKETMQ_VERSION": release,
    }
    changes = [f'ENV {key}="{value}"' for key, value in environment.items()]
    changes += [f'LABEL {key}="{value}"' for key, value in _labels(release, java).items()]
    changes += [f"WORKDIR {home}", 'CMD ["bash"]']
    cache_home().mkdir(parents=True, exist_ok=True)
    with (
        engine.asked(f"{own_tag(release)} could not be built") as client,
        tempfile.NamedTemporaryFile(dir=cache_home(), prefix="image-", suffix=".tar") as layer,
    ):
        with tarfile.open(fileobj=layer, mode="w") as tar:
            _write_layer(tar, release, java, home)
        layer.flush()
        client.api.import_image_from_file(layer.name, repository=REPOSITORY, tag=release, changes=changes)
    if (built := find_image(engine, own_tag(release))) is None:
        raise DockerError(f"the Docker Engine took {own_tag(release)}, and does not have it")
    return built


def remove_images(engine: Engine) -> list[str]:
    """Remove every image of ours that no container uses; returns their names.

    Raises:
        DockerError: the engine refuses.
    """
    removed = []
    with engine.asked("an image could not be removed", advice="End what uses it: mqlab cluster down.") as client:
        for image in client.images.list(filters={"label": IMAGE_LABEL}):
            removed.append(", ".join(image.tags) or str(image.id))
            client.images.remove(str(image.id), force=True)
    return removed


def _labels(release: str, java: Java) -> Mapping[str, str]:
    lock = hashlib.sha256(jars_sha256(release).encode() + Path(__file__).read_bytes()).hexdigest()
    made = {"mqlab.made-of": lock, "mqlab.guard": guard_jar(java).stem, "mqlab.java": java.version}
    return {IMAGE_LABEL: "1", "mqlab.release": release, **made}


# --- the one layer ----------------------------------------------------------------------------------------------------


def _write_layer(tar: tarfile.TarFile, release: str, java: Java, home: str) -> None:
    """Files as they are on this host, owned by root; times are kept, since Java's class archive checks them."""
    _add_folder(tar, "/tmp", mode=0o1777)
    _add_text(tar, "/etc/passwd", _USERS)
    _add_text(tar, "/etc/group", "root:x:0:\n")
    _add_text(tar, "/etc/nsswitch.conf", "hosts: files dns\n")
    if _LOADER_CACHE.exists():
        tar.add(_LOADER_CACHE, arcname=str(_LOADER_CACHE), filter=_owned_by_root)
    programs = {Path("/bin") / name: _command(name) for name in ("bash", *_COMMANDS)}
    runtime = dict(_java_files(java))
    jars = ensure_jars(release)
    linked = _libraries([*programs.values(), *runtime.values()]) | _libraries_of_jars(jars)
    for target, source in {**programs, **runtime, **linked}.items():
        tar.add(source, arcname=str(target), filter=_owned_by_root)
    _add_link(tar, "/bin/sh", "bash")
    guard = guard_jar(java)
    tar.add(guard, arcname=f"{GUARD}/guard.jar", filter=_owned_by_root)
    # For nodes that compose files alone bring up: the lab's own bring theirs.
    _add_text(
        tar, f"{GUARD}/guard.properties", guard_settings(peers=[ANY_LOOPBACK], told="/tmp/refused.txt", leases="/")
    )
    for jar in jars:
        tar.add(jar, arcname=f"{home}/lib/{jar.name}", filter=_owned_by_root)
    _add_folder(tar, f"{home}/bin", mode=0o755)
    _add_folder(tar, f"{home}/conf", mode=0o755)
    if not has(release, Feature.OWN_LOGBACK):
        _add_stock_logging(tar, release, home)


def _add_stock_logging(tar: tarfile.TarFile, release: str, home: str) -> None:
    """The logging configuration, without which 4.x does not start; 5.x has it in its jars."""
    with scratch_folder() as folder:
        write_node_logging(release, home=folder, logs=folder, stock=True)
        for file in sorted((folder / "conf").iterdir()):
            _add_text(tar, f"{home}/conf/{file.name}", file.read_text().replace(str(folder), "${user.home}"))
    _add_text(tar, f"{home}/conf/logback_tools.xml", TOOLS_LOGGING)


def _command(name: str) -> Path:
    path = shutil.which(name)
    if path is None:
        raise DockerError(f"{name} is not installed, and an image of ours carries this host's")
    return Path(path).resolve()


def _java_files(java: Java) -> Iterator[tuple[Path, Path]]:
    for folder, names, files in os.walk(java.home, followlinks=True):
        names[:] = sorted(name for name in names if name not in _JAVA_LEFT_OUT)
        for name in sorted(files):
            path = Path(folder) / name
            inner = path.relative_to(java.home)
            is_wanted = name not in _JAVA_LEFT_OUT and not _NEEDS_A_DISPLAY.match(name)
            if is_wanted and path.exists() and (inner.parts[0] != "bin" or name in _JAVA_COMMANDS):
                yield _JAVA / inner, path.resolve()


def _libraries_of_jars(jars: Iterable[Path]) -> dict[Path, Path]:
    """The libraries that native code inside the jars is linked with: 5.5.0's RocksDB needs some that Java does not."""
    with scratch_folder() as folder:
        native = []
        for jar in jars:
            with zipfile.ZipFile(jar) as archive:
                native += [Path(archive.extract(name, folder)) for name in archive.namelist() if name.endswith(".so")]
        return _libraries(native)


def _libraries(programs: Iterable[Path]) -> dict[Path, Path]:
    """The libraries that the programs and libraries are linked with, as this host's loader finds them."""
    found: dict[Path, Path] = {}
    for program in programs:
        if not _is_linked(program):
            continue
        run = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=LIBRARY_S_MAX, check=False)
        for line in run.stdout.splitlines():
            match = re.match(r"\s*(?:\S+ => )?(/\S+) \(0x", line)
            if match and not match.group(1).startswith(str(program.parent)):
                found[Path(match.group(1))] = Path(match.group(1)).resolve()
    return found


def _is_linked(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _add_text(tar: tarfile.TarFile, path: str, text: str) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.size = len(text.encode())
    tar.addfile(member, io.BytesIO(text.encode()))


def _add_folder(tar: tarfile.TarFile, path: str, *, mode: int) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.type, member.mode = tarfile.DIRTYPE, mode
    tar.addfile(member)


def _add_link(tar: tarfile.TarFile, path: str, target: str) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.type, member.linkname = tarfile.SYMTYPE, target
    tar.addfile(member)
