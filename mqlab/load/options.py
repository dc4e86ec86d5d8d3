"""``mqlab load``'s options, and the load that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from harness.backends.topologies import TOPOLOGIES
from harness.clients.commands import SendSettings
from harness.clients.python.clients import CLIENTS
from harness.errors import UsageError, shown
from harness.generator.options import USERS_MAX, LoadOptions
from harness.generator.shapes import SHAPES, Replay, Shape, read_replay, shape_named
from harness.model.thresholds import NOUN, parse_threshold
from mqlab.kinds import (
    ADDRESS,
    FILE,
    IP_ADDRESS,
    NAME_SERVERS,
    NETWORK,
    NEW_FOLDER,
    PORT,
    RATE,
    RELEASE,
    RELEASES_SAID,
    RUN_NAME,
    SECONDS,
    SEED,
    TOPIC,
    Kind,
    whole,
)
from mqlab.load import faults as load_faults
from mqlab.options import DEFAULT_RUNS, Adder, Command, add_access, add_analysis, add_settings

MODES = ("async", "sync", "oneway", "batch", "transaction")
ROUTES = ("normal", "selector", "fixed")
DISTRIBUTIONS = ("cycle", "uniform", "zipf", "hot")
ZIPF_EXPONENT, HOT_SHARE, SKEW_MAX = 1.0, 0.5, 10.0
BODY_BYTES_MAX = 4 * 2**20
"""``maxMessageSize`` of org.apache.rocketmq.client.producer.DefaultMQProducer and of the broker."""
DURATION_S = 30.0
USERS, USERS_OF_CURVES = 20, 100
"""A rate changes in steps of one user's share, which should be small for a ramp or a replay."""
IN_FLIGHT_ASYNC = 32
"""Messages on their way at once for each user of an asynchronous closed loop; in every other mode it is one."""
SYNC_THREADS, PYTHON_THREADS = 32, 8
"""Threads of an open loop that waits for answers: so many messages can be on their way at once."""
THREADS_MAX = 4096
LOOPBACK = "127.0.0.1"
WEB_PORT = 8089
"""Locust's own default."""


def add_thresholds(command: argparse.ArgumentParser) -> None:
    """``--fail-if``."""
    command.add_argument(
        "--fail-if", type=Kind(noun=NOUN, read=parse_threshold), action="append", default=[], metavar="NAME>VALUE",
        help="of a load: exit 1 where 'p99>50ms' (p50, p99, p99.9), 'failed>0.1%%' (failed, unknown), 'lost>0' (lost, twice, "
        "out-of-order) or 'accepted<480' (a second) is so, 2 where it cannot be told; may be repeated",
    )  # fmt: skip


def add_command(add: Adder, run: Command) -> None:
    """``load``, carried out by ``run``."""
    command = add("load", run, "run a load by itself, steered by Locust, and judge what arrived")
    command.add_argument("--release", type=RELEASE, metavar="R", help=f"start a cluster of {RELEASES_SAID}")
    add_options(command)
    add_settings(command, of_incident=False)
    command.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    add_analysis(command)
    add_thresholds(command)


def add_options(command: argparse.ArgumentParser) -> None:
    """Options that say what the load is and where it goes."""
    where = command.add_argument_group("where to")
    where.add_argument(
        "--topology",
        choices=sorted(TOPOLOGIES),
        default="single",
        help="of a cluster that is started here; article: two masters with slaves, three name servers; default: single",
    )  # fmt: skip
    where.add_argument(
        "--queues",
        type=whole(1, 1024),
        default=8,
        metavar="N",
        help="queues a broker of a topic that is made; default: 8",
    )
    where.add_argument(
        "--namesrv",
        "-n",
        type=Kind(noun=NAME_SERVERS.noun, read=lambda text: ",".join(NAME_SERVERS.read(text))),
        metavar="HOST:PORT;...",
        help="a cluster that is there, instead of one of our own",
    )
    where.add_argument(
        "--allow-target",
        action="append",
        type=NETWORK,
        default=[],
        metavar="CIDR",
        help="a network beside loopback that load may go to",
    )
    add_access(where)
    where.add_argument(
        "--proxy",
        type=ADDRESS,
        metavar="HOST:PORT",
        help="of that cluster, for --client grpc; ours gets one of its own",
    )
    where.add_argument("--topic", "-t", type=TOPIC, default="mqlab-load", help="default: mqlab-load")
    where.add_argument("--create-topic", action="store_true", help="make the topic on that cluster if it is not there")
    where.add_argument(
        "--keep-groups", action="store_true", help="leave the consumers' group and its retry topic on that cluster"
    )

    what = command.add_argument_group("what")
    what.add_argument("--mode", choices=MODES, help="default: async; of Python's own clients: sync")
    what.add_argument(
        "--route", choices=ROUTES, default="normal",
        help="normal: the client picks the queue; selector: the key does, from the route as it is; "
        "fixed: the key was given a queue beforehand. The last two are for ordered messages; default: normal",
    )  # fmt: skip
    what.add_argument("--batch", type=whole(1, 4096), default=16, metavar="N", help="messages of a batch; default: 16")
    what.add_argument(
        "--keys",
        type=whole(0, 1_000_000),
        default=64,
        metavar="N",
        help="different keys a producer; 0: none; default: 64",
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
    what.add_argument(
        "--timeout-ms", type=whole(1, 600_000), default=3000, metavar="MS", help="of a send; default: 3000"
    )
    what.add_argument(
        "--client",
        choices=("java", *CLIENTS),
        default="java",
        help="which client sends; of Python's, native is the package rocketmq 0.4.4, grpc speaks to a proxy; default: java",
    )
    what.add_argument("--client-release", type=RELEASE, metavar="R", help="of the Java client; default: the cluster's")
    what.add_argument(
        "--consumers", type=whole(0, 64), default=0, metavar="N", help="consumer processes that verify; default: 0"
    )
    what.add_argument("--ordered", action="store_true", help="they consume in order")

    much = command.add_argument_group("how much")
    users = f"Locust's, at the peak; default: {USERS}, for a ramp or a replay {USERS_OF_CURVES}"
    much.add_argument(
        "--rate", type=RATE, default=1000.0, metavar="HZ", help="messages a second at the peak; default: 1000"
    )
    much.add_argument(
        "--closed", action="store_true", help="as much as goes through: an answer makes room for the next"
    )
    much.add_argument(
        "--in-flight",
        type=whole(1, 100_000),
        metavar="N",
        help=f"of a closed loop, a user; default: async {IN_FLIGHT_ASYNC}, else 1",
    )
    much.add_argument("--users", type=whole(1, USERS_MAX), metavar="N", help=users)
    much.add_argument("--shape", choices=SHAPES, default="constant", help="of the rate over time; default: constant")
    much.add_argument(
        "--replay", type=FILE, metavar="FILE", help="the rate of a recorded history.jsonl, as rate and shape"
    )
    much.add_argument(
        "--duration",
        type=SECONDS,
        metavar="S",
        help=f"0: until stopped, the default with --web; else {DURATION_S:g} is",
    )
    much.add_argument(
        "--threads",
        type=whole(1, THREADS_MAX),
        metavar="N",
        help=f"of senders that wait; default: {SYNC_THREADS}, Python's own clients {PYTHON_THREADS}",
    )

    load_faults.add_options(command)

    locust = command.add_argument_group("Locust")
    locust.add_argument(
        "--web",
        nargs="?",
        const=WEB_PORT,
        type=PORT,
        default=0,
        metavar="PORT",
        help=f"its page on loopback; default: {WEB_PORT}",
    )
    locust.add_argument(
        "--processes", type=whole(1, 64), default=1, metavar="N", help="its workers on this machine; default: 1"
    )
    locust.add_argument(
        "--expect-workers",
        type=whole(0, 1000),
        default=0,
        metavar="N",
        help="wait for so many in all, from other machines too",
    )
    locust.add_argument(
        "--bind", type=IP_ADDRESS, default=LOOPBACK, metavar="ADDRESS", help="of its master; default: 127.0.0.1"
    )
    locust.add_argument(
        "--master-port", type=PORT, default=0, metavar="PORT", help="of its master; default: a free one"
    )
    locust.add_argument("--join", type=ADDRESS, metavar="HOST:PORT", help="be workers of a master on another machine")
    locust.add_argument(
        "--run-name", type=RUN_NAME, metavar="NAME", help="in every body; the same on all machines of a load"
    )
    command.add_argument("--seed", type=SEED, default=1, help="draws keys and sizes; default: 1")
    command.add_argument("--record-only", action="store_true", help="judge it later, with mqlab runs analyze")


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
    amount = _amount(options)
    _check(options, amount.duration_s)
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


def _check(options: argparse.Namespace, duration_s: float) -> None:
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
    _check_machines(options)
    if options.ordered and not options.consumers:
        raise UsageError("--ordered says how consumers consume", advice="Give --consumers as well.")
    load_faults.check_options(options, duration_s)
    if options.keep_groups and not (options.namesrv and options.consumers):
        raise UsageError(
            "--keep-groups is of consumers on a cluster of yours", advice="Give --namesrv and --consumers."
        )
    if (options.credentials or options.tls or options.tls_ca) and (not options.namesrv or options.client != "java"):
        raise UsageError(
            "--credentials and --tls are of a cluster of yours and its Java client",
            advice="Give --namesrv, and leave --client out.",
        )
    if options.namesrv and options.release:
        raise UsageError("--release starts a cluster and --namesrv names one", advice="Give one of the two.")


def _check_machines(options: argparse.Namespace) -> None:
    others = options.expect_workers > options.processes
    if options.join:
        if (
            options.consumers
            or options.fault
            or options.web
            or options.expect_workers
            or options.master_port
            or options.bind != LOOPBACK
        ):
            raise UsageError(
                "--join only brings workers to a load",
                advice="Its consumers, faults, page and master's options are given to the load that is joined.",
            )
        if not options.namesrv:
            raise UsageError("--join sends to the cluster of the load that it joins", advice="Name it with --namesrv.")
    elif options.bind != LOOPBACK and not others:
        raise UsageError("--bind is for workers of other machines", advice="Say with --expect-workers how many in all.")
    if (options.join or others) and not options.run_name:
        raise UsageError("all parts of a load have one name", advice="Give each the same --run-name.")
    if others and not options.namesrv:
        raise UsageError("workers of other machines have to know the cluster", advice="Name it with --namesrv.")


def _check_python(options: argparse.Namespace) -> None:
    can = CLIENTS[options.client].can
    if options.mode not in can.modes:
        raise UsageError(
            f"--client {options.client} has no {options.mode} sends", advice=f"It has {', '.join(can.modes)}."
        )
    if options.route == "fixed" or (options.route == "selector" and options.mode not in can.ordered_modes):
        raise UsageError(
            f"--client {options.client} cannot send {options.mode} to a {options.route} queue",
            advice=f"Its ordered sends go by --route selector, with --mode {' or '.join(can.ordered_modes)}.",
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
    if options.mode == "async" or (java and options.mode == "oneway"):
        return 1
    if options.threads is not None:
        return int(options.threads)
    if options.closed:
        return min(THREADS_MAX, int(options.users * _in_flight(options)))
    return SYNC_THREADS if java else PYTHON_THREADS


def _distribution(text: str) -> tuple[str, float]:
    name, _, number = text.partition(":")
    if name not in DISTRIBUTIONS:
        raise UsageError.unknown("key distribution", name, DISTRIBUTIONS)
    try:
        skew = float(number) if number else {"zipf": ZIPF_EXPONENT, "hot": HOT_SHARE}.get(name, 0.0)
    except ValueError:
        raise UsageError(f"--key-distribution {shown(text)}: {shown(number)} is no number") from None
    if not 0 <= skew <= SKEW_MAX:
        raise UsageError(f"--key-distribution {shown(text)}: {shown(number)} is not between 0 and {SKEW_MAX:g}")
    if name == "hot" and not 0 < skew < 1:
        raise UsageError(f"--key-distribution {shown(text)}: a share lies between 0 and 1")
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
        raise UsageError(f"--size {shown(text)} is not BYTES or BYTES:WEIGHT,...") from None
    if not all(1 <= size <= BODY_BYTES_MAX for size in sizes) or not all(0 < weight <= 1e9 for weight in weights):
        raise UsageError(f"--size {shown(text)}: sizes are 1 to {BODY_BYTES_MAX:,}, weights above 0 and at most 1e9")
    return sizes, tuple(weight / sum(weights) for weight in weights)
