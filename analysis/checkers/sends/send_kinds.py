"""Kinds of send: what became of the sends to a broker at fault, by producer, each of which has its own kind.

An instance's name has all of its kind: route, mode, retries, avoidance and topic (harness/model/send_kinds.py), and the client
where it is one of Python's (harness/model/python_sends.py). Sends count that began while the fault was on; *aimed* are those whose
first attempt was for the broker that it was done to, or that failed before any. An attempt is a call that handed the message to the
network client, also one that found no connection, but not one whose time was over before (RemotingTooMuchRequestException); of
Python's clients it is a line of their library's own log. A one-way send has failed where its sender was told of an error.

Copies are counted by the places in the stores at which a reader found the message when all was over; the two measures by key
are of Java's producers with the client's defaults.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, is_of, observations, together, trials_of
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place
from harness.model.faults import AppendStall, PoolJam, UnheardBroker
from harness.model.python_sends import GONE_S as PYTHON_GONE_S
from harness.model.python_sends import PythonSendKinds
from harness.model.send_kinds import BOTH, GONE_S, KIND_PARAMS

TOO_LATE = "RemotingTooMuchRequestException"
NOT_REFUSED_NS = SECOND_NS // 2
"""Longer than a request may wait: what comes so shortly before the end of a jam or a stall is taken, not refused."""
LAST_BROKER = "broker-b"
"""Where there is no fault, the broker to which it would be done."""

_PARAMS = {name: name for name in KIND_PARAMS}


def observe(inputs: Inputs) -> DataFrame:
    """By producer, and by key of those with defaults."""
    sends = _sends(inputs).persist()
    aimed = sends.where("aimed")
    return together(_producers(sends), _endings(aimed), _keys(inputs, sends, aimed))


def _windows(inputs: Inputs) -> DataFrame:
    """When the fault was on, and the broker that it was done to."""
    begun = F.coalesce("injected_ns", "fault_ns")
    gone_s = F.when(is_of(PythonSendKinds), F.lit(PYTHON_GONE_S)).otherwise(F.lit(GONE_S))
    unheard = F.col("fault") == UnheardBroker.kind
    routes_follow = F.when(unheard, (gone_s * SECOND_NS).cast("long")).otherwise(F.lit(0))
    jam_over = F.when(F.col("fault").isin(PoolJam.kind, AppendStall.kind), F.col("healed_ns") - NOT_REFUSED_NS)
    return trials_of(inputs, "send_kinds").select(
        "trial",
        "deployment",
        "drained",
        F.coalesce(F.substring_index("fault_target", " ", 1), F.lit(LAST_BROKER)).alias("faulty"),
        (begun + routes_follow).alias("from_ns"),
        F.least(F.coalesce(jam_over, "hold_to_ns"), "hold_to_ns").alias("to_ns"),
    )


def _sends(inputs: Inputs) -> DataFrame:
    """A row for each send that began during the fault, with its kind, its attempts and its copies."""
    counts = F.col("error").isNull() | (F.col("error") != TOO_LATE)
    calls = inputs.records.calls.groupBy("trial", "seq").agg(
        F.count_if(counts).alias("tried"),
        F.min_by("broker", "at_ns").alias("first_broker"),
        F.count_distinct(F.when(counts, F.col("broker"))).alias("brokers"),
    )
    copies = inputs.records.consumptions.groupBy("trial", "seq").agg(
        F.count_distinct("broker", "queue", "offset").alias("copies")
    )
    kind = F.split("instance", "-", len(KIND_PARAMS) + 1)
    told = F.col("error").isNotNull() | (F.col("outcome") != "ok") & (kind[1] != "oneway")
    of_trials = inputs.records.sends.drop("topic").join(F.broadcast(_windows(inputs)), "trial")
    return (
        of_trials.where("started_ns BETWEEN from_ns AND to_ns")
        .join(calls, ["trial", "seq"], "left")
        .join(copies, ["trial", "seq"], "left")
        .withColumns(
            {
                "send": F.concat_ws("-", kind[0], kind[1]),
                "retries": kind[2],
                "avoidance": kind[3],
                "topic": kind[4],
                "client": F.get(kind, 5),
                "failed": told,
                "tried": F.coalesce("tried", F.lit(0)),
                "brokers": F.coalesce("brokers", F.lit(0)),
                "copies": F.when(F.col("drained"), F.coalesce("copies", F.lit(0))),
                "at": place(),
            }
        )
        .withColumn("aimed", F.coalesce(F.col("first_broker") == F.col("faulty"), F.col("failed")))
    )


def _producers(sends: DataFrame) -> DataFrame:
    aimed, failed, stored = F.col("aimed"), F.col("failed"), F.col("copies") > 0
    took_s = (F.col("finished_ns") - F.col("started_ns")) / SECOND_NS
    is_read, lost = F.col("copies").isNotNull(), ~failed & (F.col("copies") == 0)
    each = sends.groupBy("trial", "deployment", "instance", *_PARAMS).agg(
        F.count("*").alias("begun"),
        F.count_if(aimed).alias("aimed"),
        F.median(F.when(aimed, F.col("tried"))).alias("attempts_median"),
        F.max(F.when(aimed, F.col("tried"))).alias("attempts_most"),
        F.max(F.when(aimed, F.col("brokers"))).alias("brokers_most"),
        F.median(F.when(aimed, took_s)).alias("took_s"),
        F.count_if(failed).alias("failed"),
        F.avg(F.when(aimed & failed & is_read, stored.cast("int"))).alias("failed_stored"),
        F.sum(F.when(is_read, (failed & stored).cast("int"))).alias("yet_stored"),
        F.sum(F.when(is_read, F.greatest(F.col("copies") - 1, F.lit(0)))).alias("further"),
        F.sum(F.when(is_read, lost.cast("int"))).alias("lost"),
        F.coalesce(F.max_by("at", F.when(aimed, F.col("tried"))), F.min("at")).alias("at"),
    )
    said = "{instance}: {failed} of {begun} sends failed, {aimed} were for the faulty broker"
    values: dict[str, Column | str] = {
        "aimed_count": "aimed",
        "attempts_median": "attempts_median",
        "attempts_most": "attempts_most",
        "brokers_tried_most": "brokers_most",
        "aimed_took_s": "took_s",
        "failed_for_good_share": F.col("failed") / F.col("begun"),
        "failed_stored_share": "failed_stored",
        "failed_stored_count": "yet_stored",
        "copies_count": "further",
        "untold_loss_count": "lost",
    }
    return observations(each, *[Value(name, column, said, at="at", params=_PARAMS) for name, column in values.items()])


def _endings(aimed: DataFrame) -> DataFrame:
    """How they ended for their sender: ``ok``, the class of the error and its code, or that nobody answers."""
    error = F.concat_ws(" ", "error", "code")
    ended = F.when(F.col("error").isNotNull(), error).when(F.col("outcome") == "ok", F.lit("ok"))
    counted = (
        aimed.withColumn("ended", F.coalesce(ended, F.lit("unanswered")))
        .groupBy("trial", "deployment", "instance", *_PARAMS, "ended")
        .agg(F.count("*").alias("sends"), F.min("at").alias("at"))
    )
    of_all = F.sum("sends").over(Window.partitionBy("trial", "instance"))
    return observations(
        counted.withColumn("share", F.col("sends") / of_all),
        Value("ended_share", "share", "{instance}: {sends} ended with {ended}", at="at", params={**_PARAMS, "ended": "ended"}),
    )  # fmt: skip


def _keys(inputs: Inputs, sends: DataFrame, aimed: DataFrame) -> DataFrame:
    """Of producers of Java's with defaults, and of keys that were for the faulty broker."""
    default = F.expr(f"retries = 'two' AND avoidance = 'off' AND topic = '{BOTH}' AND copies IS NOT NULL")
    keys = aimed.where(default).groupBy("trial", "deployment", "key", *KIND_PARAMS).agg(
        F.sum(F.greatest(F.col("copies") - 1, F.lit(0))).alias("further"), F.min("at").alias("sent_at")
    )  # fmt: skip
    of_key = Window.partitionBy("trial", "send", "key", "broker", "queue").orderBy("offset")
    before = F.max("seq").over(of_key.rowsBetween(Window.unboundedPreceding, -1))
    again = F.col("seq") <= F.col("highest_before")
    places = inputs.records.consumptions.select("trial", "seq", "broker", "queue", "offset", place().alias("read_at"))
    kept = places.dropDuplicates(["trial", "seq", "broker", "queue", "offset"])
    disorder = (
        kept.join(sends.where(default).select("trial", "seq", "send", "key"), ["trial", "seq"])
        .withColumn("highest_before", before)
        .groupBy("trial", "send", "key")
        .agg(F.count_if(again).alias("disorder"), F.min(F.when(again, F.col("read_at"))).alias("read_at"))
    )
    found = keys.join(disorder, ["trial", "send", "key"], "left").fillna(0, ["disorder"])
    at = F.coalesce("read_at", "sent_at")
    return observations(
        found,
        Value("copies_of_key_count", "further", "{send}, {key}: {value} further copies", at=at, params=_PARAMS),
        Value("disorder_of_key_count", "disorder", "{send}, {key}: {value} after a later one", at=at, params=_PARAMS),
    )
