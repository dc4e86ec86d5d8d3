"""Options that every JVM of the lab is started with."""

from pathlib import Path


def gc_log_option(path: Path) -> str:
    """The unified log of collections, safepoints and handshakes, in UTC, bounded to 16 MB.

    While a handshake waits for a thread, whoever asks for a safepoint waits as well, and no safepoint is logged for it.
    """
    return f"-Xlog:gc*,safepoint,handshake:file={path}:utctime,uptime,level,tags:filecount=2,filesize=8M"


MODULE_FLAGS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
)
"""Packages of Java that RocketMQ needs opened in all releases: cleaners and mapped buffers."""
