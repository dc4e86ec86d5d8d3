"""Readings that steps of an incident's own file have taken; each is an observation as it stands."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analysis.checkers.answers import probed
from analysis.checkers.base import Inputs
from harness.model.measures import READING


def observe(inputs: Inputs) -> DataFrame:
    """One observation for each."""
    return probed(inputs, "own_readings", READING.key)
