"""The agent of every node's JVM, and what else keeps a node inside the lab: its sockets, its name lookups, its temporary files.

A node listens on loopback and connects to its own cluster's nodes, whatever its release and its settings say
(``node_guard/MqlabBorder.java``); it ends when its lease does, though nobody is left to end it (``NodeGuard.java``).
"""

import os
import socket
import zipfile
from collections.abc import Iterable
from pathlib import Path

from harness.releases.compile import compiled_classes
from harness.releases.jars import TOOLS, ensure_jars
from harness.releases.java import Java

SOURCES = Path(__file__).with_name("node_guard")
REFUSED = "refused.txt"
"""In a node's folder: where it wanted to go and was not let, ``WHAT ADDRESS:PORT`` a line; only where there is any."""

TEMPORARY = "tmp"
"""In a node's folder: its temporary folder, which a broker of 5.x leaves 12.6 MB in each time that it starts."""
ANY_LOOPBACK = "*"
"""Of peers: every address of loopback, where the cluster's own are not known."""

_ASM = "org/jboss/byteman/objectweb/asm/"
_MANIFEST = "Manifest-Version: 1.0\nPremain-Class: mqlab.NodeGuard\nCan-Redefine-Classes: true\n\n"


def guard_jar(java: Java) -> Path:
    """The agent, which is made once of its sources, and of what of Byteman rewrites classes."""
    tools = ensure_jars(TOOLS)
    classes = compiled_classes(SOURCES, tools, java)
    jar = classes.with_suffix(".jar")
    if not jar.exists():
        draft = jar.with_suffix(f".{os.getpid()}.tmp")
        byteman = next(path for path in tools if path.name.startswith("byteman"))
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as made, zipfile.ZipFile(byteman) as source:
            made.writestr("META-INF/MANIFEST.MF", _MANIFEST)
            for path in sorted(classes.rglob("*.class")):
                made.write(path, path.relative_to(classes).as_posix())
            for name in source.namelist():
                if name.startswith(_ASM) and name.endswith(".class") and "/" not in name.removeprefix(_ASM):
                    made.writestr(name, source.read(name))
        draft.replace(jar)
    return jar


def guard_options(home: Path, jar: Path) -> tuple[str, ...]:
    """The options of the JVM of the node with this folder, which win over those before them."""
    return (
        f"-javaagent:{jar}={home / 'guard.properties'}",
        # Native sockets would not ask.
        "-Dio.netty.transport.noNative=true",
        "-Dio.grpc.netty.shaded.io.netty.transport.noNative=true",
        # Names are looked up in a file, and no name server of the network hears of them.
        f"-Djdk.net.hosts.file={home / 'hosts'}",
        f"-Djava.io.tmpdir={home / TEMPORARY}",
        # Java would leave a file in the machine's temporary folder when it is killed.
        "-XX:-UsePerfData",
    )


def write_guard(home: Path, peers: Iterable[str], leases: Path) -> None:
    """What the agent reads: each ADDRESS:PORT that the node may connect to, and the folder of the lease files."""
    (home / TEMPORARY).mkdir(exist_ok=True)
    (home / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
    text = guard_settings(peers=peers, told=str(home / REFUSED), leases=str(leases))
    (home / "guard.properties").write_text(text, encoding="ascii")


def guard_settings(*, peers: Iterable[str], told: str, leases: str) -> str:
    """The agent's own file."""
    settings = {"peers": ",".join(sorted(peers)), "told": told, "leases": leases}
    return "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())


def _escaped(text: str) -> str:
    """As ``java.util.Properties`` reads it."""
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def refusals(home: Path) -> list[str]:
    """Where the node with this folder wanted to go and was not let, each once."""
    try:
        return (home / REFUSED).read_text("ascii", "replace").splitlines()
    except FileNotFoundError:
        return []
