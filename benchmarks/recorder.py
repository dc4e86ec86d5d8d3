"""What recording a message costs: the client's side of a send with the history and without it, alternating in one run.

A producer that answers at once stands for client and broker, so that the difference is the recorder's alone: formatting
the record, appending it, and preparing the file. Printed is the CPU time a message, and the difference with its 95 %
interval over the rounds (bootstrap).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness.clients.java import LOAD_JVM_OPTIONS
from harness.releases.compile import RECORDER_SOURCES, compiled_classes
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.java import find_java
from harness.releases.jvm import MODULE_FLAGS

SOURCES = Path(__file__).parent / "cost"
WARM_UP, SENDS = 300_000, 400_000


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median and its 95 % bootstrap interval."""
    draws = np.random.default_rng(1).choice(values, size=(2000, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)


def measure(release: str, rounds: int) -> None:
    """In a JVM of its own: print the two costs and their difference."""
    import jpype

    java = find_java()
    jars = ensure_jars(release)
    recorder = compiled_classes(RECORDER_SOURCES, jars, java)
    cost = compiled_classes(SOURCES, [recorder, *jars], java)
    jpype.startJVM(
        str(java.jvm_library), *LOAD_JVM_OPTIONS, *MODULE_FLAGS, classpath=[str(p) for p in (cost, recorder, *jars)]
    )
    measured = jpype.JClass("mqlab.Cost").measure
    with_ns, without_ns = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 2):
            path = Path(folder) / f"{number}.jsonl"
            on, off = measured(str(path), SENDS if number > 1 else WARM_UP), measured("", SENDS)
            records = path.read_bytes().count(b"\n")
            # The end mark is one more.
            assert records == (SENDS if number > 1 else WARM_UP) + 1, f"{records} records"
            path.unlink()
            if number > 1:
                with_ns.append(float(on))
                without_ns.append(float(off))
    middle, low, high = interval([on - off for on, off in zip(with_ns, without_ns, strict=True)])
    on, off = interval(with_ns)[0], interval(without_ns)[0]
    print(f"{release:8} {on:9.0f} {off:9.0f} {middle:9.0f} ({low:.0f} to {high:.0f})", flush=True)


def main() -> None:
    """One line a release, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--release", default="")
    options = parser.parse_args()
    if options.release:
        measure(options.release, options.rounds)
        return
    print("CPU nanoseconds a message, this side of the client")
    print(
        f"{'release':8} {'with':>9} {'without':>9} {'recorder':>9} (95 % interval of {options.rounds} rounds)",
        flush=True,
    )
    for release in (recorded_releases()[0], recorded_releases()[-1]):
        subprocess.run([sys.executable, __file__, "--release", release, "--rounds", str(options.rounds)], check=True)


if __name__ == "__main__":
    main()
