"""``mqlab load``'s options, and the load that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.backends.topologies import TOPOLOGIES
from harness.clients.commands import SendSettings
from harness.errors import UsageError
from harness.generator.options import LoadOptions
from harness.generator.shapes import SHAPES, Replay, Shape, read_replay, shape_named
from harness.releases.jars import known_releases
from mqlab.options import DEFAULT_RUNS, Adder, Command, add_analysis

MODES = ("async", "sync", "oneway", "batch", "transaction")
ROUTES = ("normal", "selector", "fixed")
DISTRIBUTIONS = ("cycle", "uniform", "zipf", "hot")
ZIPF_EXPONENT, HOT_SHARE = 1.0, 0.5
DURATION_S = 30.0
USERS, USERS_OF_CURVES = 20, 100
"""A rate changes in steps of one user's share, which should be small for a ramp or a replay."""
IN_FLIGHT_ASYNC = 32
"""Messages on their way at once for each user of an asynchronous closed loop; in every other mode it is one."""
SYNC_THREADS, PYTHON_THREADS = 32, 8
"""Threads of an open loop that waits for answers: so many messages can be on their way at once."""
WEB_PORT = 8089
"""Locust's own default."""
CLIENTS = ("java", "native", "python2", "grpc")


def add_command(add: Adder, run: Command) -> None:
    """``load``, carried out by ``run``."""
    command = add("load", run, "run a load by itself, steered by Locust, and judge what arrived")
    command.add_argument("--release", default="", metavar="R", help=f"start a cluster of {', '.join(known_releases())}")
    add_options(command)
    command.add_argument(
        "--out", type=Path, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    add_analysis(command)


def add_options(command: argparse.ArgumentParser) -> None:
    """Options that say what the load is and where it goes."""
    where = command.add_argument_group("where to")
    where.add_argument(
        "--topology", choices=sorted(TOPOLOGIES), default="single", help="of our own cluster; default: single"
    )
    where.add_argument(
        "--queues", type=int, default=8, metavar="N", help="queues a broker of a topic that is made; default: 8"
    )
    where.add_argument(
        "--namesrv", default="", metavar="HOST:PORT,...", help="a cluster that is there, instead of one of our own"
    )
    where.add_argument(
        "--allow-target",
        action="append",
        default=[],
        metavar="CIDR",
        help="a network beside loopback that load may go to",
    )
    where.add_argument(
        "--proxy", default="", metavar="HOST:PORT", help="of that cluster, for --client grpc; ours gets one of its own"
    )
    where.add_argument("--topic", default="mqlab-load", help="default: mqlab-load")
    where.add_argument("--create-topic", action="store_true", help="make the topic on that cluster if it is not there")

    what = command.add_argument_group("what")
    what.add_argument("--mode", choices=MODES, help="default: async; of Python's own clients, which have none: sync")
    what.add_argument(
        "--route", choices=ROUTES, default="normal",
        help="normal: the client picks the queue; selector: the key does, from the route as it is; "
        "fixed: the key was given a queue beforehand. The last two are for ordered messages; default: normal",
    )  # fmt: skip
    what.add_argument("--batch", type=int, default=16, metavar="N", help="messages of a batch; default: 16")
    what.add_argument(
        "--keys", type=int, default=64, metavar="N", help="different keys a producer; 0: none; default: 64"
    )
    what.add_argument(
        "--key-distribution", default="uniform", metavar="D",
        help=f"cycle, uniform, zipf[:EXPONENT] ({ZIPF_EXPONENT:g}) or hot[:SHARE of one key] ({HOT_SHARE:g}); default: uniform",
    )  # fmt: skip
    what.add_argument(
        "--size",
        default="128",
        metavar="BYTES|BYTES:WEIGHT,...",
        help="of a body, or how its sizes are spread; default: 128",
    )
    what.add_argument("--timeout-ms", type=int, default=3000, metavar="MS", help="of a send; default: 3000")
    what.add_argument(
        "--client", choices=CLIENTS, default="java", help="which client sends; grpc is for 5.x; default: java"
    )
    what.add_argument("--client-release", default="", metavar="R", help="of the Java client; default: the cluster's")
    what.add_argument(
        "--consumers", type=int, default=0, metavar="N", help="consumer processes that verify; default: 0"
    )
    what.add_argument("--ordered", action="store_true", help="they consume in order")

    much = command.add_argument_group("how much")
    users = f"Locust's, at the peak; default: {USERS}, for a ramp or a replay {USERS_OF_CURVES}"
    much.add_argument(
        "--rate", type=float, default=1000.0, metavar="HZ", help="messages a second at the peak; default: 1000"
    )
    much.add_argument(
        "--closed", action="store_true", help="as much as goes through: an answer makes room for the next"
    )
    much.add_argument(
        "--in-flight", type=int, metavar="N", help=f"of a closed loop, a user; default: async {IN_FLIGHT_ASYNC}, else 1"
    )
    much.add_argument("--users", type=int, metavar="N", help=users)
    much.add_argument("--shape", choices=SHAPES, default="constant", help="of the rate over time; default: constant")
    much.add_argument(
        "--replay", type=Path, metavar="FILE", help="the rate of a recorded history.jsonl, as rate and shape"
    )
    much.add_argument(
        "--duration", type=float, metavar="S", help=f"0: until stopped; default: {DURATION_S:g}, with --web 0"
    )
    much.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help=f"of senders that wait; default: {SYNC_THREADS}, Python's own clients {PYTHON_THREADS}",
    )

    locust = command.add_argument_group("Locust")
    locust.add_argument(
        "--web",
        nargs="?",
        const=WEB_PORT,
        type=int,
        default=0,
        metavar="PORT",
        help=f"its page on loopback; default: {WEB_PORT}",
    )
    locust.add_argument("--processes", type=int, default=1, metavar="N", help="its workers on this machine; default: 1")
    locust.add_argument(
        "--expect-workers", type=int, default=0, metavar="N", help="wait for so many in all, from other machines too"
    )
    locust.add_argument("--bind", default="127.0.0.1", metavar="ADDRESS", help="of its master; default: 127.0.0.1")
    locust.add_argument("--master-port", type=int, default=0, metavar="PORT", help="of its master; default: a free one")
    locust.add_argument("--join", default="", metavar="HOST:PORT", help="be workers of a master on another machine")
    locust.add_argument(
        "--run-name", default="", metavar="NAME", help="in every body; the same on all machines of a load"
    )
    command.add_argument("--seed", type=int, default=1, help="draws keys and sizes; default: 1")
    command.add_argument("--record-only", action="store_true", help="judge it later, with mqlab analyze")


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Rate over time."""

    rate_hz: float
    shape: Shape
    duration_s: float


def load_options_of(options: argparse.Namespace, run: str) -> LoadOptions:
    """The load that the options ask for.

    Raises:
        UsageError: options that contradict each other, or are no numbers.
    """
    if options.users is None:
        options.users = USERS_OF_CURVES if options.replay or options.shape == "ramp" else USERS
    options.mode = options.mode or ("async" if options.client == "java" else "sync")
    _check(options)
    amount = _amount(options)
    per_user = _in_flight(options) if options.closed else amount.rate_hz / options.users
    distribution, skew = _distribution(options.key_distribution)
    sizes, shares = parse_sizes(options.size)
    return LoadOptions(
        users=options.users,
        per_user=per_user,
        closed=options.closed,
        duration_s=amount.duration_s,
        shape=tuple(amount.shape),
        sends=SendSettings(
            topic=options.topic,
            mode=options.mode,
            route=options.route,
            run=run,
            threads=_threads(options),
            keys=options.keys,
            key_distribution=distribution,
            key_skew=skew,
            body_bytes=sizes,
            body_shares=shares,
            batch=options.batch if options.mode == "batch" else 1,
            timeout_ms=options.timeout_ms,
            seed=options.seed,
        ),
    )


def _check(options: argparse.Namespace) -> None:
    for name in ("users", "processes", "queues", "batch", "timeout_ms"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1")
    if options.rate <= 0:
        raise UsageError("--rate must be above 0")
    if options.route == "selector" and options.mode in ("batch", "transaction"):
        raise UsageError(
            f"a {options.mode} send takes no selector",
            advice="A batch goes to a fixed queue; a transaction chooses itself.",
        )
    if options.route == "fixed" and options.mode == "transaction":
        raise UsageError("a transactional send chooses its queue itself", advice="Leave --route out.")
    if options.route != "normal" and options.keys < 1:
        raise UsageError(f"--route {options.route} goes by keys", advice="Give --keys at least 1.")
    if options.client != "java":
        _check_python(options)
    if options.ordered and not options.consumers:
        raise UsageError("--ordered says how consumers consume", advice="Give --consumers as well.")
    if options.namesrv and options.release:
        raise UsageError("--release starts a cluster and --namesrv names one", advice="Give one of the two.")


PYTHON_MODES: Mapping[str, tuple[str, ...]] = {
    "native": ("sync", "oneway", "batch"),
    "python2": ("sync", "oneway"),
    "grpc": ("sync",),
}


def _check_python(options: argparse.Namespace) -> None:
    modes = PYTHON_MODES[options.client]
    if options.mode not in modes:
        raise UsageError(f"--client {options.client} has no {options.mode} sends", advice=f"It has {', '.join(modes)}.")
    if options.route == "fixed" or (options.route == "selector" and options.mode == "batch"):
        raise UsageError(
            f"--client {options.client} cannot send {options.mode} to a {options.route} queue",
            advice="Its ordered sends go by --route selector, one message at a time.",
        )
    if options.client == "grpc" and options.namesrv and not options.proxy:
        raise UsageError("--client grpc speaks to a proxy", advice="Name that cluster's with --proxy HOST:PORT.")


def _amount(options: argparse.Namespace) -> Amount:
    duration_s = options.duration if options.duration is not None else 0.0 if options.web else DURATION_S
    if options.replay:
        replay: Replay = read_replay(options.replay)
        return Amount(rate_hz=replay.rate_hz, shape=replay.seconds, duration_s=options.duration or replay.duration_s)
    if options.shape != "constant" and not duration_s:
        raise UsageError(f"--shape {options.shape} fills a time", advice="Give --duration.")
    return Amount(rate_hz=options.rate, shape=shape_named(options.shape, duration_s), duration_s=duration_s)


def _in_flight(options: argparse.Namespace) -> float:
    if options.in_flight is not None:
        return float(options.in_flight)
    return float(IN_FLIGHT_ASYNC if options.mode == "async" else 1)


def _threads(options: argparse.Namespace) -> int:
    """Threads of the sender. A send that waits for its answer needs one; a closed loop as many as messages on their
    way."""
    java = options.client == "java"
    if java and options.mode in ("async", "oneway"):
        return 1
    if options.threads is not None:
        return int(options.threads)
    if options.closed:
        return int(options.users * _in_flight(options))
    return SYNC_THREADS if java else PYTHON_THREADS


def _distribution(text: str) -> tuple[str, float]:
    name, _, number = text.partition(":")
    if name not in DISTRIBUTIONS:
        raise UsageError.unknown("key distribution", name, DISTRIBUTIONS)
    try:
        skew = float(number) if number else {"zipf": ZIPF_EXPONENT, "hot": HOT_SHARE}.get(name, 0.0)
    except ValueError:
        raise UsageError(f"--key-distribution {text}: {number} is no number") from None
    if name == "hot" and not 0 < skew < 1:
        raise UsageError(f"--key-distribution {text}: a share lies between 0 and 1")
    return name, skew


def parse_sizes(text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Sizes in bytes and their shares: ``128`` or ``128:5,1024:3,65536:2``.

    Raises:
        UsageError: it is neither.
    """
    try:
        pairs = [part.partition(":") for part in text.split(",")]
        sizes = tuple(int(size) for size, _, _ in pairs)
        weights: Sequence[float] = [float(weight) if colon else 1.0 for _, colon, weight in pairs]
    except ValueError:
        raise UsageError(f"--size {text} is not BYTES or BYTES:WEIGHT,...") from None
    if min(sizes) < 1 or min(weights) <= 0:
        raise UsageError(f"--size {text}: sizes and weights are above 0")
    return sizes, tuple(weight / sum(weights) for weight in weights)
