"""A rolling upgrade, restart by restart: what was lost, came again, failed, and for how long nothing was accepted.

A message belongs to the last restart that had begun when its send ended, the first one's begin at the trial's: what was on its
way when a node was stopped is that restart's. A trial without restarts is one step of role ``none``. The kind of send is the end
of the topic's name. Messages are told by their sequence numbers, which producers and consumers record alike: a queue's offset
may be given twice by a store that forgot its end. Loss and repetition are judged where the drain was complete.

:func:`lost_messages` lists what the counts are of.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together, trials_of
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place
from analysis.verdicts.losses import LostMessage

BOTH = {"role": "role", "send": "send"}


def observe(inputs: Inputs) -> DataFrame:
    """By restart and kind of send; how long each took."""
    trials = _trials(inputs)
    restarts = _restarts(inputs.records.events, trials)
    sends = _sends(inputs.records.sends, trials, restarts)
    return together(_messages(sends, inputs.records.consumptions), _unsent(sends), _silent(sends), _took(restarts))


def lost_messages(inputs: Inputs) -> list[LostMessage]:
    """Every acknowledged message that nobody got, of all trials whose drain was complete; by trial, step and place."""
    trials = _trials(inputs)
    restarts = _restarts(inputs.records.events, trials)
    lost = _with_times(_sends(inputs.records.sends, trials, restarts), inputs.records.consumptions).where(
        "times IS NULL"
    )
    stops = _stops(restarts)
    later = F.array_min(F.filter("stops_ns", lambda stop: stop >= F.col("started_ns")))
    rows = lost.join(F.broadcast(stops), ["trial", "broker"], "left").select(
        "trial",
        "step",
        "role",
        "node",
        *[F.coalesce(name, F.lit("")).alias(name) for name in ("from_release", "to_release")],
        "back",
        "topic",
        F.coalesce("key", F.lit("")).alias("key"),
        "seq",
        F.coalesce("broker", F.lit("")).alias("broker"),
        F.col("queue").cast("int").alias("queue"),
        F.col("offset").cast("long").alias("offset"),
        _seconds(F.col("started_ns") - F.coalesce("stopping_ns", "fault_ns")).alias("sent_s"),
        _seconds(later - F.col("started_ns")).alias("stop_s"),
        F.col("at")["file"].alias("file"),
        F.col("at")["line"].alias("line"),
    )
    # Piece by piece: where a store is lost there are a hundred thousand.
    in_order = rows.orderBy("trial", "step", "topic", "broker", "queue", "offset", "sent_s", "seq")
    return [LostMessage(**row.asDict()) for row in in_order.toLocalIterator()]


def _trials(inputs: Inputs) -> DataFrame:
    return trials_of(inputs, "steps").select("trial", "deployment", "fault_ns", "hold_to_ns", "fault_line", "drained")


def _restarts(events: DataFrame, trials: DataFrame) -> DataFrame:
    """A row for each restart with its window ``from_ns`` to below ``to_ns``; one of role ``none`` where there was none."""
    told = events.where("type = 'restart'").select(
        "trial",
        "step",
        "role",
        "node",
        "from_release",
        "to_release",
        "stopping_ns",
        "ready_ns",
        F.col("n").alias("line"),
    )
    of_trial = Window.partitionBy("trial").orderBy("step")
    of_node = Window.partitionBy("trial", "node").orderBy("step")
    joined = trials.join(told, "trial", "left")
    return joined.select(
        *trials.columns,
        F.coalesce("step", F.lit(0)).alias("step"),
        F.coalesce("role", F.lit("none")).alias("role"),
        F.coalesce("node", F.lit("no node")).alias("node"),
        "from_release",
        "to_release",
        (F.row_number().over(of_node) > 1).alias("back"),
        "stopping_ns",
        "ready_ns",
        F.coalesce("line", "fault_line").alias("line"),
        F.when(F.lag("stopping_ns").over(of_trial).isNull(), F.lit(0)).otherwise(F.col("stopping_ns")).alias("from_ns"),
        F.coalesce(F.lead("stopping_ns").over(of_trial), F.lit(2**62)).alias("to_ns"),
    )


def _sends(sends: DataFrame, trials: DataFrame, restarts: DataFrame) -> DataFrame:
    """Every send with its restart and the end of its topic's name."""
    steps = restarts.drop("deployment", "fault_ns", "hold_to_ns", "fault_line", "drained", "ready_ns")
    ended_ns = F.coalesce("finished_ns", "started_ns")
    kind = F.element_at(F.split("topic", "-"), -1).alias("send")
    of_trials = sends.join(F.broadcast(trials), "trial").select(
        *trials.columns,
        kind,
        *("topic", "key", "seq", "broker", "queue", "offset", "outcome", "started_ns"),
        ended_ns.alias("ended_ns"),
        place().alias("at"),
    )
    within = (F.col("ended_ns") >= F.col("from_ns")) & (F.col("ended_ns") < F.col("to_ns"))
    return of_trials.join(F.broadcast(steps), "trial").where(within)


def _stops(restarts: DataFrame) -> DataFrame:
    """When the master of each broker was told to end; its node has the broker's name."""
    of_broker = restarts.where("role = 'master'").groupBy("trial", F.col("node").alias("broker"))
    return of_broker.agg(F.collect_list("stopping_ns").alias("stops_ns"))


def _with_times(sends: DataFrame, consumptions: DataFrame) -> DataFrame:
    """Acknowledged messages with the ``times`` that each came, null where it never did. A group has the kind as the end of its
    name, too."""
    kind = F.element_at(F.split("group", "-"), -1).alias("send")
    seen = (
        consumptions.where("outcome = 'ok' AND seq IS NOT NULL")
        .groupBy("trial", kind, "seq")
        .agg(F.count("*").alias("times"), F.max_by(place(), "started_ns").alias("last_at"))
    )
    return sends.where("outcome = 'ok' AND drained").join(seen, ["trial", "send", "seq"], "left")


def _messages(sends: DataFrame, consumptions: DataFrame) -> DataFrame:
    """Acknowledged messages that nobody got, and those that came again."""
    sent = _with_times(sends, consumptions)
    lost, again = F.col("times").isNull(), F.greatest(F.col("times") - 1, F.lit(0))
    # Of both kinds together: what a store loses it loses of all topics, so that a restart is one try.
    steps = sent.groupBy("trial", "deployment", "step", "role", "node", "line").agg(
        F.count_if(lost).alias("lost"),
        F.coalesce(F.sum(again), F.lit(0)).alias("again"),
        F.count("*").alias("messages"),
        F.min_by("at", F.when(lost, F.col("seq"))).alias("lost_at"),
        F.min_by("last_at", F.when(F.col("times") > 1, F.col("seq"))).alias("again_at"),
    )
    said, role = "{node}: {value} of {messages} acknowledged messages", {"role": "role"}
    return observations(
        steps,
        Value("step_lost_count", "lost", f"{said} were never consumed", at=_or_restart("lost_at"), params=role),
        Value("step_again_count", "again", f"{said} came again", at=_or_restart("again_at"), params=role),
    )


def _unsent(sends: DataFrame) -> DataFrame:
    failed = F.col("outcome") != "ok"
    steps = sends.groupBy("trial", "deployment", "step", "role", "node", "send", "line").agg(
        F.avg(failed.cast("double")).alias("share"),
        F.count_if(failed).alias("failed"),
        F.count("*").alias("count"),
        F.min_by("at", F.when(failed, F.col("seq"))).alias("failed_at"),
    )
    said = "{node}, {send}: {failed} of {count} sends were not acknowledged"
    return observations(steps, Value("step_failed_share", "share", said, at=_or_restart("failed_at"), params=BOTH))


def _silent(sends: DataFrame) -> DataFrame:
    """Times between acknowledgements next to each other, by kind and by key, up to the end of the hold."""
    ok = sends.where("outcome = 'ok' AND ended_ns <= hold_to_ns")
    before_ns, before_of_key_ns = (
        F.lag("ended_ns").over(Window.partitionBy("trial", "send", *more).orderBy("ended_ns"))
        for more in ((), ("key",))
    )
    has_key = F.coalesce(F.col("key"), F.lit("")) != ""
    gaps = ok.withColumns(
        {
            "silent_ns": F.col("ended_ns") - before_ns,
            "key_silent_ns": F.when(has_key, F.col("ended_ns") - before_of_key_ns),
        }
    ).where("ended_ns >= fault_ns")
    steps = gaps.groupBy("trial", "deployment", "step", "role", "node", "send", "line").agg(
        F.max("silent_ns").alias("silent_ns"),
        F.max_by("at", "silent_ns").alias("silent_at"),
        F.max("key_silent_ns").alias("key_silent_ns"),
        F.max_by("at", "key_silent_ns").alias("key_at"),
    )
    said = "{node}, {send}: the acknowledgement that ended the longest time without one"
    return observations(
        steps,
        Value("step_silent_s", F.col("silent_ns") / SECOND_NS, said, at=_or_restart("silent_at"), params=BOTH),
        Value("step_key_silent_s", F.col("key_silent_ns") / SECOND_NS, f"{said} of a key", at="key_at", params=BOTH),
    )


def _took(restarts: DataFrame) -> DataFrame:
    took_s = (F.col("ready_ns") - F.col("stopping_ns")) / SECOND_NS
    return observations(
        restarts.where("step > 0"),
        Value(
            "step_took_s",
            took_s,
            "{node}: told to end, and usable again",
            at=in_events("line"),
            params={"role": "role"},
        ),
    )


def _or_restart(at: str) -> Column:
    return F.coalesce(at, in_events("line"))


def _seconds(ns: Column) -> Column:
    """With milliseconds."""
    return F.round(ns / SECOND_NS, 3)
