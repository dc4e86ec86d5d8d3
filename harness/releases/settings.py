"""Every setting of a release's brokers and clients with its default, read once from its classes and kept as data::

python -m harness.releases.settings RELEASE

What a broker is told in its broker.conf under a name that is not here it ignores without a word
(``MixAll.properties2Object``).
"""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.errors import ReleaseError, UsageError
from harness.program import carried_out
from harness.releases.compile import compiled_classes
from harness.releases.jars import ensure_jars, known_releases
from harness.releases.java import Java, find_java

FOLDER = Path(__file__).with_name("defaults")
ROCKETMQ = "org.apache.rocketmq"
BROKER = ("common.BrokerConfig", "store.config.MessageStoreConfig", "remoting.netty.NettyServerConfig",
          "remoting.netty.NettyClientConfig", "auth.config.AuthConfig", "tieredstore.MessageStoreConfig")  # fmt: skip
CODES = ("common.protocol.ResponseCode", "remoting.protocol.ResponseCode")
"""Of 4.x and of 5.x; both have those of RemotingSysResponseCode by inheritance."""
CLIENT = ("client.ClientConfig", "client.producer.DefaultMQProducer", "client.consumer.DefaultMQPushConsumer")
OF_THE_MACHINE = frozenset(
    {"brokerIP1", "brokerIP2", "brokerName", "rocketmqHome", "namesrvAddr", "clientIP", "instanceName", "listenPort"}
    | {"consumeTimestamp"}
)
"""Names, addresses and a time, which every broker and client has its own of, or is given at its start."""

BY_PROCESSORS = "by the number of processors"
READ_S_MAX = 120
_HOME = "/home/rocketmq"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Defaults by name: of what the machine decides they say that, names and addresses are empty, and ``?`` is one that the
    class does not tell."""

    broker: Mapping[str, str]
    client: Mapping[str, str]
    codes: Mapping[str, str]
    """The numbers of answers by their names."""


@cache
def settings_of(release: str) -> Settings:
    """What is kept of a release. Raises UsageError where nothing is."""
    path = FOLDER / f"{release}.json"
    if not path.is_file():
        raise UsageError.unknown("release", release, known_releases())
    return Settings(**json.loads(path.read_text("utf-8")))


def read_settings_of(release: str, java: Java) -> Settings:
    """Ask a release's own classes. Raises ReleaseError."""
    few, many = (_read(release, java, processors) for processors in (2, 64))
    broker, client, codes = (_joined(few, many, classes) for classes in (BROKER, CLIENT, CODES))
    return Settings(broker=broker, client=client, codes=codes)


_Rows = Mapping[tuple[str, str], str]


def _joined(few: _Rows, many: _Rows, classes: Sequence[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name in classes:
        for (of, setting), value in few.items():
            if of == f"{ROCKETMQ}.{name}":
                said = value if many[of, setting] == value else BY_PROCESSORS
                found.setdefault(setting, []).append("" if setting in OF_THE_MACHINE else said)
    # Some names are of two classes, both of which take the value.
    return {setting: " and ".join(dict.fromkeys(values)) for setting, values in sorted(found.items())}


def _read(release: str, java: Java, processors: int) -> _Rows:
    jars = ensure_jars(release)
    classes = compiled_classes(FOLDER, jars, java)
    command = [
        str(java.executable), f"-XX:ActiveProcessorCount={processors}", f"-Duser.home={_HOME}", "-Drocketmq.home.dir=",
        "-cp", os.pathsep.join(map(str, (classes, *jars))), "Defaults",
        *(f"{ROCKETMQ}.{one}" for one in (*BROKER, *CLIENT, *CODES)),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=READ_S_MAX, check=False)
    rows = [line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 3]
    if run.returncode or not rows:
        raise ReleaseError(f"the settings of {release} cannot be read: {run.stderr.strip()[-500:]}")
    return {(of, setting): value for of, setting, _, value in rows}


def main(words: Sequence[str]) -> None:
    """Write the file of the release that is named."""
    (release,) = words
    found = read_settings_of(release, find_java())
    (FOLDER / f"{release}.json").write_text(json.dumps(dataclasses.asdict(found), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(carried_out(main, sys.argv[1:], "harness.releases.settings RELEASE", most=1))
