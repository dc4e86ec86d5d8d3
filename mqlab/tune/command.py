"""``mqlab tune``: what settings of the send queue would refuse, predicted; or settings and loads of an incident, measured."""

from __future__ import annotations

import argparse
import dataclasses

from rich.console import Console

from harness.errors import EXIT_OK, UsageError
from harness.model.measures import MEASURES
from harness.releases.jars import recorded_releases
from mqlab.kinds import (
    FILE_OR_FOLDER,
    INCIDENT,
    MILLISECONDS,
    NAME,
    NEW_FOLDER,
    PARAMETER,
    RATE,
    SEED,
    Kind,
    number,
    one_of,
    several,
    text_of,
    whole,
)
from mqlab.options import DEFAULT_RUNS, Adder, add_backend_options, add_releases, add_settings, add_spark, print_json
from mqlab.run.resume import add_resume, require_resumed
from mqlab.tune.sweep import read_swept
from mqlab.tune.sweeping import sweep

SWEEP = text_of(
    Kind(noun="PREFIX.KEY=VALUE,VALUE with broker, broker-jvm, client or load before the dot", read=read_swept)
)
OF_A_PREDICTION = ("rate", "stall", "log", "wait", "busy", "threads")
WAITS_MS, BUSY_MS = (200.0, 400.0, 600.0, 800.0), (1000.0,)


def add_command(add: Adder) -> None:
    """``tune``."""
    command = add(
        "tune", tune, "settings for your load: refused sends predicted, or an incident's settings swept and measured"
    )
    command.add_argument(
        "incidents", nargs="*", type=INCIDENT, metavar="INCIDENT", help="to sweep settings of; see `mqlab explain`"
    )
    predict = command.add_argument_group("predicted, without a cluster, by the model of a stall")
    predict.add_argument("--rate", type=RATE, metavar="HZ", help="sends a second to one broker")
    predict.add_argument("--stall", type=several(MILLISECONDS), metavar="MS,...", help="appends that took so long")
    predict.add_argument(
        "--log", type=FILE_OR_FOLDER, nargs="+", help="store logs to take slow appends from (over 500 ms)"
    )
    predict.add_argument(
        "--wait",
        type=several(MILLISECONDS),
        metavar="MS,...",
        help="waitTimeMillsInSendQueue; default: 200,400,600,800",
    )
    predict.add_argument(
        "--busy", type=several(MILLISECONDS), metavar="MS,...", help="osPageCacheBusyTimeOutMills; default: 1000"
    )
    predict.add_argument("--threads", type=whole(1, 1024), metavar="N", help="sendMessageThreadPoolNums; default: 1")
    command.add_argument("--json", action="store_true", help="machine-readable")
    _add_sweep(command)


def _add_sweep(command: argparse.ArgumentParser) -> None:
    measured = command.add_argument_group("measured, on real clusters")
    measured.add_argument(
        "--sweep", action="append", type=SWEEP, default=[], metavar="PREFIX.KEY=VALUE,VALUE", help="values of a setting, "
        "as --set names it, or of the load: load.rate_hz, load.stall_ms, a field of it; may be repeated for a grid",
    )  # fmt: skip
    measured.add_argument(
        "--sample", type=whole(2, 500), metavar="N", help="so many points of the grid, drawn by --seed"
    )
    measured.add_argument(
        "--goal", type=one_of("measure", lambda: list(MEASURES)), metavar="MEASURE",
        help="what is to become less (`mqlab explain --measures`); default: the incident's first, such as rejected_count",
    )  # fmt: skip
    measured.add_argument(
        "--margin", type=number(0, 100), default=10.0, metavar="PERCENT",
        help="of what is there now: a smaller difference does not count; default: 10",
    )  # fmt: skip
    measured.add_argument(
        "--deployments", type=whole(1, 100), metavar="N",
        help="of each point, at most; it ends sooner when it is decided; default: 13. With --resume: more than before",
    )  # fmt: skip
    measured.add_argument(
        "--minutes", type=number(1, 10_000), default=60.0, metavar="N",
        help="refuse what may take longer; default: 60",
    )  # fmt: skip
    add_releases(command, f"the newest, {recorded_releases()[-1]}")
    measured.add_argument("--arm", type=NAME, metavar="ARM", help="default: its first incident arm")
    measured.add_argument(
        "--param", action="append", type=PARAMETER, default=[], metavar="NAME=VALUE",
        help="of the arm's cell or load, the same at all points, such as stall_ms=300; may be repeated",
    )  # fmt: skip
    measured.add_argument("--injection", type=NAME, metavar="NAME", help="how appends are stalled; default: byteman")
    measured.add_argument("--seed", type=SEED, default=1, help="draws the order, the load and a sample; default: 1")
    measured.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    add_resume(measured, "go on with a sweep, as it was started")
    measured.add_argument("--plan", action="store_true", help="say what would be run, how long it takes, and stop")
    add_backend_options(command)
    add_settings(command)
    add_spark(measured)
    command.set_defaults(
        verb="tune", all=False, quick=False, trials=None, register=False, bundle=None, topology=None, of_bundle=False
    )


def tune(options: argparse.Namespace, console: Console) -> int:
    """Predict what settings of the send queue would refuse, or sweep."""
    predicts = [name for name in OF_A_PREDICTION if getattr(options, name) is not None]
    if options.incidents or options.sweep or options.resume:
        if predicts:
            raise UsageError(
                f"--{predicts[0]} is of a prediction, and a sweep measures",
                advice="Leave it out, or leave incident and --sweep out. --sweep load.NAME=... sweeps a load.",
            )
        if options.resume and (options.incidents or options.sweep):
            raise UsageError("a sweep goes on as it was started", advice="Give --resume RUN_DIR alone.")
        require_resumed(options)
        return sweep(options, console)
    if options.rate is None:
        raise UsageError(
            "nothing says what to tune",
            advice="Give --rate HZ and --stall MS to have it predicted, or INCIDENT and --sweep to have it measured.",
        )
    return predict(options)


def predict(options: argparse.Namespace) -> int:
    """By the model of a stall."""
    from analysis.diagnosis.diagnosis import read_logs
    from analysis.diagnosis.reading import log_files
    from analysis.diagnosis.slow_appends import slow_appends
    from analysis.stall_model.tune import choices, choices_table

    logged = slow_appends(read_logs(log_files(options.log)), 0).appends if options.log else ()
    stalls_ms = [*(options.stall or ()), *(append.ms for append in logged)]
    if not stalls_ms:
        raise UsageError(
            "there is no stalled append to ask about",
            advice="Give --stall 450,700 or --log store.log with slow appends.",
        )
    waits_ms, busy_ms = options.wait or WAITS_MS, options.busy or BUSY_MS
    found = choices(stalls_ms, options.rate, waits_ms, busy_ms, options.threads or 1)
    if options.json:
        print_json([{**dataclasses.asdict(one), "refused": one.refused} for one in found])
    else:
        print(choices_table(found, stalls_ms, options.rate))
    return EXIT_OK
