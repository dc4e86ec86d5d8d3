"""This checkout beside another one, such as the commit before: what a message costs to record, and what a load sends.

``python benchmarks/beside.py /path/of/the/other --rounds 9``. In each round both checkouts are measured by their own
``recorder.py`` and ``load.py``, in an order that alternates. Printed are the rounds' ratios, this one by the other: messages
recorded in a CPU second, and messages a second at saturation. Above 1 is better. Intervals are 95 %, bootstrapped over the rounds.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.recorder import interval

HERE = Path(__file__).resolve().parents[1]
LOAD_KIND = "ours sync 64"


def run(checkout: Path, *words: str) -> str:
    """What a benchmark of a checkout prints."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, *words], cwd=checkout, env=environment, capture_output=True, text=True, check=True, timeout=900
    )
    return done.stdout


def recorded_per_s(checkout: Path, release: str) -> float:
    """Messages recorded in a second of one core."""
    printed = run(checkout, "benchmarks/recorder.py", "--release", release, "--rounds", "3")
    # Its line is the last: a release's own logging may say something before.
    return 1e9 / float(printed.splitlines()[-1].split()[1])


def sent_per_s(checkout: Path, release: str) -> float:
    """Messages a second of the load at saturation, with its history on."""
    words = ("--only", "saturation", "--release", release, "--sizes", "128", "--rounds", "1", "--kinds", LOAD_KIND)
    printed = run(checkout, "benchmarks/load.py", *words)
    found = re.search(rf"{LOAD_KIND}\s+([\d,]+)", printed)
    assert found, printed
    return float(found[1].replace(",", ""))


WHAT: dict[str, Callable[[Path, str], float]] = {"recorder": recorded_per_s, "load": sent_per_s}


def main() -> None:
    """A line for each benchmark and release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="its folder; without it nothing is measured")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--release", default="4.6.0,5.3.3")
    parser.add_argument("--only", choices=list(WHAT), nargs="*", default=list(WHAT))
    options = parser.parse_args()
    if options.other is None:
        print("name the folder of another checkout to be measured beside it")
        return
    for name in options.only:
        for release in options.release.split(","):
            ratios = []
            for number in range(options.rounds):
                order = [HERE, options.other] if number % 2 == 0 else [options.other, HERE]
                measured = {checkout: WHAT[name](checkout, release) for checkout in order}
                ratios.append(measured[HERE] / measured[options.other])
                print(f"  {name} {release}: {ratios[-1]:.3f}", flush=True)
            middle, low, high = interval(ratios)
            print(f"{name:9} {release:6} {middle:.3f} ({low:.3f} to {high:.3f}) in {options.rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
